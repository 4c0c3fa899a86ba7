"""Lazy imports, for modules that are loaded with every config.

Checking a config takes a fraction of the second that importing JAX takes.
"""

import importlib
from types import ModuleType


class _Lazy(ModuleType):
    def __getattr__(self, name: str):
        return getattr(importlib.import_module(self.__name__), name)


def lazily(name: str) -> ModuleType:
    """Return a module, such as `jax.numpy`, that is imported when it is first used."""
    return _Lazy(name)


def library(folder: str) -> ModuleType:
    """Return the module `jaxvib.<folder>`, imported (with JAX) when it is first used."""
    return lazily(f"jaxvib.{folder}")
