"""Types of arguments that several packages share."""

import numpy as np
from jaxtyping import Array

AnyArray = Array | np.ndarray  # NumPy on the host avoids compilation
Number = AnyArray | np.number | float  # or an array of numbers
Integer = AnyArray | np.integer | int  # or an array of integers
