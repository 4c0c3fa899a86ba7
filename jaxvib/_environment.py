"""The one place where jaxvib sets up JAX: float64 from here on."""

import os
import sys


def use_float64() -> None:
    """Switch 64-bit numbers on, whether JAX has been imported already or not.

    Contacts last a thousandth of a period and press bodies into each other by a ten
    thousandth of their travel: in float32 nothing would be left of the force.
    """
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", True)
    else:
        os.environ["JAX_ENABLE_X64"] = "1"  # read by JAX when it is imported
