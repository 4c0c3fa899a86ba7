"""Large linear systems with a few contacts, by exact motion of their linear part."""

from .block_form import BlockForm as BlockForm
from .block_form import block_form as block_form
from .piecewise_exact_flow import piecewise_exact_flow as piecewise_exact_flow
