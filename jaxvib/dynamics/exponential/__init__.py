"""Large linear systems with a few contacts, by exact motion of their linear part."""

from .modal_form import ModalForm as ModalForm
from .modal_form import modal_form as modal_form
from .piecewise_exact_flow import piecewise_exact_flow as piecewise_exact_flow
