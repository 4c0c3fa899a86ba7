"""Packages that import their public names when first used, and name misspelt ones."""

import functools
import importlib
import re
import sys
import types
from collections.abc import Iterable
from pathlib import Path

from .suggestions import unknown_key, with_nearest_arguments

# A statement such as `from .contact import HertzContact as HertzContact`.
_EXPORT = re.compile(r"^\s+from (\.[\w.]*\w) import (\w+) as \2$", re.MULTILINE)


def export_lazily(package: str) -> None:
    """Import the public names of a package when they are first used.

    To be called by its `__init__.py`, as the alternative to its `from .module import
    name as name` statements under `if TYPE_CHECKING:`, from which names and modules are
    read. Each class of a system or of a result takes half a millisecond to create; few
    programs use a tenth of them. Functions are wrapped by `with_nearest_arguments`.
    """
    sys.modules[package].__class__ = _LazyPackage


class _LazyPackage(types.ModuleType):
    """A package whose public names are imported when they are first used."""

    @functools.cached_property
    def _exports(self) -> dict[str, str]:
        """The module of each public name."""
        source = Path(str(self.__file__)).read_text(encoding="utf-8")
        return {name: module for module, name in _EXPORT.findall(source)}

    def __getattr__(self, name: str):
        if name == "__all__":
            return sorted(self._exports)
        if name.startswith("__") or name not in self._exports:
            raise _missing(self.__name__, name, self._exports)
        module = importlib.import_module(self._exports[name], self.__name__)
        value = with_nearest_arguments(getattr(module, name))
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value) -> None:
        # An imported module becomes an attribute of its package. A public name of the
        # same spelling replaces it, as where names are imported at once.
        if isinstance(value, types.ModuleType) and name in self._exports:
            if value.__name__ != f"{self.__name__}{self._exports[name]}":
                return  # the name is exported by another module
            value = with_nearest_arguments(getattr(value, name))
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._exports})


def _missing(package: str, name: str, known: Iterable[str]) -> AttributeError:
    if name.startswith("_"):
        return AttributeError(f"module {package!r} has no attribute {name!r}")
    return AttributeError(unknown_key(f"name in {package}", name, known), name=name)
