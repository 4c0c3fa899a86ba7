"""Large linear systems with a few contacts, by exact motion of their modes."""

from .modal_flow import modal_flow as modal_flow
from .modal_form import ModalForm as ModalForm
from .modal_form import modal_form as modal_form
