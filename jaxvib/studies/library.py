"""The library's own folders, for files that are read with every config.

A config is checked in a fraction of the second that importing JAX takes.
"""

import importlib
from types import ModuleType


def library(folder: str) -> ModuleType:
    """Return `jaxvib.<folder>`, imported now if not before, and JAX with it."""
    return importlib.import_module(f"jaxvib.{folder}")
