"""What tells one function and its numbers from all others, as bytes.

Functions and classes of this library, and of those below it, are known by their names.
A function of somebody else's is known by what it is made of: its code, what it encloses,
its defaults, and what it takes from its module; a class by its fields, its methods and the
classes below it. Where that ends at something whose code may change unseen, such as
another module, nothing is told.
"""

import dataclasses
import hashlib
import inspect
import io
import pickle
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

# Whose functions and classes stay what they are as long as the versions do.
_KNOWN = (
    "jaxvib",
    "jax",
    "jaxlib",
    "jaxtyping",
    "equinox",
    "diffrax",
    "numpy",
    "math",
    "functools",
    "abc",
    "builtins",
    "copyreg",
    "dataclasses",
    "typing",
)


class Description(NamedTuple):
    """What tells a pytree from others, `None` where its code may change unseen.

    `taken`: what the functions in it take from around them just now.
    """

    told: bytes | None
    taken: list["Taken"]

    def holds(self) -> bool:
        """Return whether all that was taken is still what it was."""
        return all(taken.is_the_same() for taken in self.taken)


class Taken(NamedTuple):
    """A global or an enclosed variable that a function takes: where, and what it was.

    `told`: of what can change without being another object; `None` of numbers, functions.
    """

    where: dict[str, Any] | types.CellType
    name: str
    value: Any
    told: bytes | None

    def is_the_same(self) -> bool:
        """Return whether the function would take the same now."""
        if isinstance(self.where, dict):
            value = self.where.get(self.name, _NOTHING)
        else:
            value = self.where.cell_contents
        if value is not self.value:
            return False
        return self.told is None or self.told == _Describer.of(value).told


_NOTHING = object()
_CHANGEABLE = list | dict | set | bytearray | np.ndarray


def described(what: Any) -> Description:
    """Return what tells a pytree from others."""
    return _Describer.of(what)


def packed(what: Any) -> bytes | None:
    """Return a pytree as bytes to be read again, `None` if it holds others' code."""
    buffer = io.BytesIO()
    try:
        _Packer(buffer).dump(what)
    except Exception:  # whatever stops somebody's class from being pickled: not kept
        return None
    return buffer.getvalue()


def _is_known(module) -> bool:
    return str(module).partition(".")[0] in _KNOWN


class _Packer(pickle.Pickler):
    """Pickles numbers, names and what the library and those below it define."""

    def reducer_override(self, obj):
        code = type | types.FunctionType | types.BuiltinFunctionType
        if isinstance(obj, code) and not _is_known(obj.__module__):
            raise pickle.PicklingError(f"{obj!r} may change")
        return NotImplemented


class _Describer(pickle.Pickler):
    """Pickles others' functions as well, by what they are made of: to be compared alone.

    `within`: functions that are being told already; `taken`: by all of them; `unseen`:
    what has code that may change unseen.
    """

    def __init__(self, buffer, within=(), taken=None, unseen=None):
        super().__init__(buffer)
        self._within = within
        self.taken: list[Taken] = [] if taken is None else taken
        self.unseen: list[Any] = [] if unseen is None else unseen

    @classmethod
    def of(cls, what: Any) -> Description:
        """Return the description of a pytree."""
        buffer = io.BytesIO()
        describer = cls(buffer)
        try:
            describer.dump(what)
        except Exception:  # whatever stops somebody's class from being pickled
            return Description(None, describer.taken)
        told = None if describer.unseen else buffer.getvalue()
        return Description(told, describer.taken)

    def reducer_override(self, obj):
        if isinstance(obj, types.ModuleType):
            if not _is_known(obj.__name__):
                self.unseen.append(obj)
            return str, (f"module {obj.__name__}",)
        if isinstance(obj, jax.core.Tracer):
            self.unseen.append(obj)
            return str, ("a number that is traced",)
        if isinstance(obj, types.CodeType):
            return tuple, (_parts_of_code(obj),)
        if isinstance(obj, types.FunctionType) and not _has_a_name(obj):
            return str, (self._told(obj),)
        if isinstance(obj, type) and not _is_known(obj.__module__):
            return tuple, (_parts_of_class(obj),)
        if isinstance(obj, types.BuiltinFunctionType) and not _is_known(obj.__module__):
            self.unseen.append(obj)
            return str, (obj.__qualname__,)
        return NotImplemented

    def _told(self, function: types.FunctionType) -> str:
        if function in self._within:  # it calls itself
            return f"outer {self._within.index(function)}"
        buffer, within = io.BytesIO(), (*self._within, function)
        inner = _Describer(buffer, within, self.taken, self.unseen)
        taken = list(_taken_by(function))
        self.taken += taken
        names = [(each.name, each.value) for each in taken]
        defaults = function.__defaults__, function.__kwdefaults__
        inner.dump((function.__code__, defaults, names))
        return f"function {hashlib.sha256(buffer.getvalue()).hexdigest()}"


def _has_a_name(function: types.FunctionType) -> bool:
    return _is_known(function.__module__) and "<" not in function.__qualname__


def _taken_by(function: types.FunctionType) -> Iterator[Taken]:
    """Yield what a function takes from around it: globals by their names, and cells."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    places: list[tuple[Any, str, Any]] = [
        (cell, name, cell.cell_contents) for name, cell in cells
    ]
    around = function.__globals__
    names = sorted(_names_in(function.__code__) & around.keys())
    places += [(around, name, around[name]) for name in names]
    for where, name, value in places:
        changes = isinstance(value, _CHANGEABLE)
        told = _Describer.of(value).told if changes else None
        yield Taken(where, name, value, told)


def _parts_of_class(one: type) -> tuple:
    """Return what a class is made of: those below it, its fields, and all it defines."""
    members = {
        name: _function_in(value)
        for name, value in sorted(vars(one).items())
        if name not in _ABOUT
    }
    if "__init__" in members and members["__init__"].__code__.co_filename == "<string>":
        del members["__init__"]  # written by `dataclasses` from the fields
    fields = [
        (field.name, field.default, field.default_factory, dict(field.metadata))
        for field in (dataclasses.fields(one) if dataclasses.is_dataclass(one) else ())
    ]
    return type(one), one.__qualname__, one.__bases__, fields, members


# What a class says of itself that follows from the rest, or does nothing.
_ABOUT = {
    "__abstractclassvars__",
    "__abstractmethods__",
    "__abstractvars__",
    "__annotate__",
    "__annotate_func__",
    "__annotations__",
    "__annotations_cache__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__match_args__",
    "__module__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}


def _function_in(member: Any) -> Any:
    """Return the function that a method, a property or what wraps one calls."""
    if isinstance(member, staticmethod | classmethod):
        return type(member).__name__, inspect.unwrap(member.__func__)
    if isinstance(member, property):
        return "property", member.fget, member.fset
    return inspect.unwrap(member) if callable(member) else member


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code may look up in its module."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(_names_in, inner))


def _parts_of_code(code: types.CodeType) -> tuple:
    """Return what code does, wherever it stands."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    does = code.co_code, code.co_exceptiontable, code.co_flags
    return does, code.co_consts, names, counts
