"""Scalar programs of JAX, compiled by LLVM for the lanes of a processor's vectors."""

from .kernel import Kernel as Kernel
from .kernel import kernel as kernel
