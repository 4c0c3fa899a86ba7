"""Massive parameter studies and gradient-based design of vibrating, impacting systems."""

import importlib
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from .foundation.environment import use_enough_threads, use_float64
from .foundation.gc_pause import gc_paused
from .foundation.lazy_exports import exported
from .foundation.suggestions import unknown_key

use_float64()
use_enough_threads()

__version__ = "0.2.0"

# The public names stand in `__init__.pyi`, where type checkers and editors read them.
# Subpackages are imported when first used, so that `import jaxvib` and `jaxvib --help`
# stay fast.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_FOLDERS = re.findall(r"^from \. import (\w+)", _STUB, re.MULTILINE)
_FOLDER = {name: folder[1:] for name, folder in exported(_STUB).items()}


def __getattr__(name: str) -> Any:
    with gc_paused():  # imports leave no garbage
        return _found(name)


def _found(name: str) -> Any:
    if name in _FOLDERS:
        return _subpackage(name)
    if name in _FOLDER:
        return getattr(_subpackage(_FOLDER[name]), name)
    if name == "__all__":
        return sorted([*_FOLDERS, *_FOLDER, *_systems()])
    if name.startswith("_"):
        raise AttributeError(f"module 'jaxvib' has no attribute {name!r}")
    if name in _systems():
        return getattr(_subpackage("systems"), name)
    raise AttributeError(unknown_key("name in jaxvib", name, __dir__()), name=name)


def __dir__() -> list[str]:
    return sorted([*_FOLDERS, *_FOLDER, *_systems(), "__version__"])


def _systems() -> list[str]:
    """Return the public names of `jaxvib.systems`."""
    return _subpackage("systems").__all__


def _subpackage(name: str) -> ModuleType:
    return importlib.import_module(f".{name}", __name__)
