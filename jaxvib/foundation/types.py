"""Types of arguments that several packages share."""

from typing import Any

import numpy as np
from jaxtyping import Array

# Default of a class attribute that a subclass may declare as a field: annotated where it
# stands, it would be a field itself and precede those of the subclass.
EMPTY: tuple[Any, ...] = ()
UNKNOWN: Any = None
AnyArray = Array | np.ndarray  # NumPy on the host avoids compilation
Number = AnyArray | np.number | float  # or an array of numbers
Integer = AnyArray | np.integer | int  # or an array of integers
