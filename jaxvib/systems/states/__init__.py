"""First-order states beside bodies: their laws, one in each file, and their coupling."""

from .coil import CoilCircuit as CoilCircuit
from .coupled import CoupledEquation as CoupledEquation
from .coupled import check_elements as check_elements
from .coupled import named_states as named_states
from .element import StateElement as StateElement
from .element import StateLaw as StateLaw
from .maxwell import MaxwellElement as MaxwellElement
from .piezoelectric import PiezoelectricCircuit as PiezoelectricCircuit
