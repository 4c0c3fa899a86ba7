"""What tells one function and its numbers from all others, as bytes.

Functions and classes of this library, and of those below it, are known by their names.
A function of somebody else's is known by what it is made of: its code, what it encloses,
its defaults, and what it takes from its module and from those that it names; a class by its
fields, its methods and the classes below it; an object by its class and its fields. Where
that ends at something whose code may change unseen, such as C, nothing is told.
"""

import dataclasses
import dis
import hashlib
import inspect
import io
import pickle
import sys
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

    `taken`: what the functions in it take from around them just now; `changing`: others'
    objects and classes in it, and the state of each.
    """

    told: bytes | None
    taken: list["Taken"]
    changing: list[tuple[Any, "_State"]]

    def holds(self) -> bool:
        """Return whether all that was taken is still what it was."""
        return all(taken.is_the_same() for taken in self.taken) and all(
            state.is_of(what) for what, state in self.changing
        )


class Taken(NamedTuple):
    """A global or an enclosed variable that a function takes: where, and what it was.

    `state`: of what can change without being another object; `None` of numbers, functions.
    """

    where: dict[str, Any] | types.CellType
    name: str
    value: Any
    state: "_State | None"

    def is_the_same(self) -> bool:
        """Return whether the function would take the same now."""
        if isinstance(self.where, dict):
            value = self.where.get(self.name, _NOTHING)
        else:
            value = self.where.cell_contents
        if value is not self.value:
            return False
        return self.state is None or self.state.is_of(value)


class _State(NamedTuple):
    """What an object holds just now: what changes in place, and the rest by identity."""

    changing: bytes
    fixed: list[Any]

    @classmethod
    def of(cls, what: Any) -> "_State":
        """Return the state of a container, an object or a class."""
        if isinstance(what, type):
            what = {name: each for name, each in vars(what).items() if name not in _ABOUT}
        buffer = io.BytesIO()
        pickler = _StatePickler(buffer)
        try:
            pickler.dump(what)
        except Exception:  # it holds a lock, a file: no more than which they are
            return cls(b"", list(getattr(what, "__dict__", {}).values()))
        return cls(buffer.getvalue(), pickler.fixed)

    def is_of(self, what: Any) -> bool:
        """Return whether an object is still in this state."""
        now = _State.of(what)
        return (
            now.changing == self.changing
            and len(now.fixed) == len(self.fixed)
            and all(new is old for new, old in zip(now.fixed, self.fixed, strict=True))
        )


class _StatePickler(pickle.Pickler):
    """Pickles what changes in place; what is replaced, or told of apart, is `fixed`."""

    def __init__(self, buffer):
        super().__init__(buffer)
        self.fixed: list[Any] = []

    def persistent_id(self, obj):
        if not isinstance(obj, _FIXED):
            return None
        self.fixed.append(obj)
        return len(self.fixed)


_NOTHING = object()
_CHANGEABLE = list | dict | set | bytearray | np.ndarray
_FIXED = (
    type
    | types.FunctionType
    | types.BuiltinFunctionType
    | types.ModuleType
    | types.MemberDescriptorType
    | types.GetSetDescriptorType
    | property
    | staticmethod
    | classmethod
    | jax.Array
)


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


class _Met(NamedTuple):
    """What is met on the way: taken by functions, able to change, changing unseen."""

    taken: list[Taken]
    changing: list[Any]
    unseen: list[Any]


class _Describer(pickle.Pickler):
    """Pickles others' functions as well, by what they are made of: to be compared alone.

    `within`: functions that are being told already; `met`: what all of them hold.
    """

    def __init__(self, buffer, within=(), met: "_Met | None" = None):
        super().__init__(buffer)
        self._within, self._met = within, met or _Met([], [], [])

    @classmethod
    def of(cls, what: Any) -> Description:
        """Return the description of a pytree."""
        buffer = io.BytesIO()
        describer = cls(buffer)
        taken, changing, unseen = describer._met
        try:
            describer.dump(what)
        except Exception:  # whatever stops somebody's class from being pickled
            unseen.append(what)
        states = [(each, _State.of(each)) for each in changing]
        return Description(None if unseen else buffer.getvalue(), taken, states)

    def reducer_override(self, obj):
        own = obj if isinstance(obj, type) else type(obj)
        if not _is_known(own.__module__):
            self._met.changing.append(obj)
        if isinstance(obj, types.ModuleType):
            if not _is_known(obj.__name__):
                self._met.unseen.append(obj)
            return str, (f"module {obj.__name__}",)
        if isinstance(obj, jax.core.Tracer):
            self._met.unseen.append(obj)
            return str, ("a number that is traced",)
        if isinstance(obj, types.CodeType):
            return tuple, (_parts_of_code(obj),)
        if isinstance(obj, types.FunctionType) and not _has_a_name(obj):
            return str, (self._told(obj),)
        if isinstance(obj, type) and not _is_known(obj.__module__):
            return tuple, (_parts_of_class(obj),)
        if isinstance(obj, types.BuiltinFunctionType) and not _is_known(obj.__module__):
            self._met.unseen.append(obj)
            return str, (obj.__qualname__,)
        return NotImplemented

    def _told(self, function: types.FunctionType) -> str:
        if function in self._within:  # it calls itself
            return f"outer {self._within.index(function)}"
        buffer, within = io.BytesIO(), (*self._within, function)
        inner = _Describer(buffer, within, self._met)
        taken = list(_taken_by(function))
        self._met.taken.extend(taken)
        names = [(each.name, _told_apart(each.value)) for each in taken]
        defaults = function.__defaults__, function.__kwdefaults__
        inner.dump((function.__code__, defaults, names))
        return f"function {hashlib.sha256(buffer.getvalue()).hexdigest()}"


def _has_a_name(function: types.FunctionType) -> bool:
    return _is_known(function.__module__) and "<" not in function.__qualname__


def _taken_by(function: types.FunctionType) -> Iterator[Taken]:
    """Yield what a function takes from around it: cells, and globals by their names."""
    code, around = function.__code__, function.__globals__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    names = _names_in(code)
    places: list[tuple[Any, str, Any]] = [
        (cell, name, cell.cell_contents) for name, cell in cells
    ]
    places += [(around, name, around[name]) for name in sorted(names & around.keys())]
    imported = sorted(set(_imported_by(code)) & sys.modules.keys())
    places += [(sys.modules, name, sys.modules[name]) for name in imported]
    seen = set()
    while places:
        where, name, value = places.pop(0)
        changes = isinstance(value, _CHANGEABLE)
        yield Taken(where, name, value, _State.of(value) if changes else None)
        if isinstance(value, types.ModuleType) and value.__name__ not in seen:
            seen.add(value.__name__)
            if not _is_known(value.__name__):
                inside = vars(value)
                places += [(inside, n, inside[n]) for n in sorted(names & inside.keys())]


def _told_apart(value: Any) -> Any:
    """Return what is told of a value: of a module its name, as what is taken follows."""
    return value.__name__ if isinstance(value, types.ModuleType) else value


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


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code and all code that is written in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes_in(inner)


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code may look up, those that it has as text among them."""
    names: set[str] = set()
    for each in _codes_in(code):
        names.update(each.co_names)
        names.update(name for name in each.co_consts if isinstance(name, str))
    return names


def _imported_by(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the modules that code imports where it runs."""
    for each in _codes_in(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname == "IMPORT_NAME":
                yield instruction.argval


def _parts_of_code(code: types.CodeType) -> tuple:
    """Return what code does, wherever it stands."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    does = code.co_code, code.co_exceptiontable, code.co_flags
    return does, code.co_consts, names, counts
