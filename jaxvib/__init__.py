"""Massive parameter studies and gradient-based design of vibrating, impacting systems."""

import functools
import importlib
import re
from types import ModuleType
from typing import Any

from .foundation.environment import use_enough_threads, use_float64
from .foundation.gc_pause import gc_paused
from .foundation.suggestions import unknown_key

use_float64()
use_enough_threads()

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    with gc_paused():  # imports leave no garbage
        return _found(name)


def _found(name: str) -> Any:
    folder = _public().get(name)
    if folder:
        return _subpackage(name) if folder == "." else getattr(_subpackage(folder), name)
    if name == "__all__":
        return sorted({*_public(), *_systems()})
    if name.startswith("_"):
        raise AttributeError(f"module 'jaxvib' has no attribute {name!r}")
    if name in _systems():
        return getattr(_subpackage("systems"), name)
    raise AttributeError(unknown_key("name in jaxvib", name, __dir__()), name=name)


def __dir__() -> list[str]:
    return sorted({*_public(), *_systems(), "__version__"})


@functools.cache
def _public() -> dict[str, str]:
    """Return the folder of each public name, "." for the folders themselves.

    The names stand in `__init__.pyi`, where type checkers and editors read them;
    `systems` exports all of its names here. Subpackages are imported when first used, so
    that `import jaxvib` and `jaxvib --help` stay fast.
    """
    with open(f"{__file__}i", encoding="utf-8") as stub:
        found = re.findall(r"^from \.(\w*) import (\w+)", stub.read(), re.MULTILINE)
    return {name: folder or "." for folder, name in found}


def _systems() -> list[str]:
    """Return the public names of `jaxvib.systems`."""
    return _subpackage("systems").__all__


def _subpackage(name: str) -> ModuleType:
    return importlib.import_module(f".{name}", __name__)
