"""Detection of functions of the library that a process has replaced by others.

A cached program is that of the library's files. Where a function or a method of a loaded
module has been replaced, as by `unittest.mock` or for an experiment, programs are traced.
"""

import functools
import itertools
import operator
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

from .fingerprint import is_installed, stays

_PACKAGE = __name__.partition(".")[0]
_CACHED = type(functools.cache(lambda: None))
_WRAPPERS: Any = staticmethod, classmethod, functools.partial, _CACHED


def is_patched() -> bool:
    """Return whether a loaded module or class has a function that is defined elsewhere."""
    return _SCAN.is_foreign()


class _Scan:
    """The members of the library's modules and classes when they were last examined.

    `members`: these, as live mappings, for so many `modules`; `values`: all their values
    in which nothing was foreign, compared by identity, as that takes a twentieth of the
    time of examining them; `clean`: the same for each mapping. Several threads may use it:
    they share nothing but values that were examined.
    """

    def __init__(self):
        self.modules, self.members = 0, []
        self.values, self.clean = [], {}

    def is_foreign(self) -> bool:
        """Return whether a module or a class has a function that is defined elsewhere."""
        if self.modules != len(sys.modules):
            self.modules, self.members = len(sys.modules), _members()
        values = _values(self.members)
        if len(values) == len(self.values) and all(map(operator.is_, values, self.values)):
            return False
        members = _members()
        if any(self._is_foreign_in(each, number) for number, each in enumerate(members)):
            return True
        self.members, self.values = members, values
        return False

    def _is_foreign_in(self, members: Mapping[str, Any], number: int) -> bool:
        values, known = tuple(members.values()), self.clean.get(number, ())
        if len(values) == len(known) and all(map(operator.is_, values, known)):
            return False
        if any(map(_is_foreign, values)):
            return True
        self.clean[number] = values
        return False


def _values(members: Sequence[Mapping[str, Any]]) -> list:
    return list(itertools.chain.from_iterable(each.values() for each in members))


def _members() -> list[Mapping[str, Any]]:
    """Return the members of all modules and classes, as live mappings."""
    found: list[Mapping[str, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE:
            inside = vars(module)
            found.append(inside)
            found += [
                vars(value)
                for value in list(inside.values())  # other threads may import
                if isinstance(value, type) and value.__module__ == name
            ]
    return found


_SCAN = _Scan()


def _is_foreign(value: Any) -> bool:
    if isinstance(value, type):
        return not _is_fixed(value.__module__)
    kind = type(value).__module__
    if isinstance(value, _WRAPPERS):  # all of them name the function that they wrap
        value = getattr(value, "func", None) or getattr(value, "__wrapped__", value)
    if isinstance(value, types.FunctionType):
        return not _is_fixed(value.__globals__.get("__name__"))
    return kind == "unittest.mock" or not _is_fixed(kind)


@functools.cache
def _is_fixed(module: str | None) -> bool:
    """Return whether a module belongs to this library, to Python or to a package."""
    generated = str(module).startswith("namedtuple_")  # by `collections.namedtuple`
    return generated or stays(module) or is_installed(module)
