"""Lazy imports of jaxvib's packages, for modules that are loaded with every config.

Checking a config takes a fraction of the second that importing JAX takes.
"""

import importlib
from types import ModuleType


def library(folder: str) -> ModuleType:
    """Return the package `jaxvib.<folder>`, imported (with JAX) on first use."""
    return importlib.import_module(f"jaxvib.{folder}")
