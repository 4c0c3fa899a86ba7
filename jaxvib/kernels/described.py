"""What tells one function and its numbers from all others, as bytes.

Functions and classes of this library, and of those below it, are known by their names.
A function of somebody else's is known by what it is made of: its code, what it encloses,
its defaults, and what it takes from its module and from those that it names; a class by its
fields, its methods and the classes below it; an object by its class and its fields. Where
that ends at something whose code may change unseen, such as C or another package that is
installed, nothing is told.
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
from pathlib import Path
from typing import Any, NamedTuple

import jax

from .held import PROTOCOL, State, Taken, reduced

# Whose functions and classes stay what they are as long as the versions do, and what they
# hold as well.
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
    objects and classes in it, and the state of each; `whole`: whether these are all.
    """

    told: bytes | None
    taken: list[Taken]
    changing: list[tuple[Any, State]]
    whole: bool

    def holds(self) -> bool:
        """Return whether all that was taken is known to be what it was."""
        return (
            self.whole
            and all(taken.is_the_same() for taken in self.taken)
            and all(state.is_of(what) for what, state in self.changing)
        )


def described(what: Any) -> Description:
    """Return what tells a pytree from others."""
    return _Describer.of(what)


def _is_known(module) -> bool:
    return str(module).partition(".")[0] in _KNOWN


def _stays(module) -> bool:
    """Return whether a module's code stays, if not what it holds: Python's own as well."""
    return _is_known(module) or str(module).partition(".")[0] in sys.stdlib_module_names


def _is_installed(module) -> bool:
    """Return whether a module is of a package that somebody has installed."""
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


class _Met(NamedTuple):
    """What is met on the way: taken by functions, able to change, changing unseen."""

    taken: list[Taken]
    changing: list[Any]
    unseen: list[Any]


class _Describer(pickle.Pickler):
    """Pickles others' functions as well, by what they are made of: to be compared alone.

    `within`: functions and classes that are being told; `met`: what all of them hold.
    """

    def __init__(self, buffer, within=(), met: "_Met | None" = None):
        super().__init__(buffer, PROTOCOL)
        self._within, self._met = within, met or _Met([], [], [])

    @classmethod
    def of(cls, what: Any) -> Description:
        """Return the description of a pytree."""
        buffer = io.BytesIO()
        describer = cls(buffer)
        taken, changing, unseen = describer._met
        whole = True
        try:
            describer.dump(what)
        except Exception:  # whatever somebody's class has thought of
            whole = False
        states = [(each, State.of(each)) for each in changing]
        told = buffer.getvalue() if whole and not unseen else None
        return Description(told, taken, states, whole)

    def reducer_override(self, obj):
        if isinstance(obj, type):
            return self._told_class(obj)
        if not _is_known(type(obj).__module__):
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
            return self._told_function(obj)
        if isinstance(obj, types.BuiltinFunctionType) and not _is_known(obj.__module__):
            self._met.unseen.append(obj)
            return str, (obj.__qualname__,)
        if isinstance(obj, types.FunctionType | types.BuiltinFunctionType):
            return NotImplemented  # by its name
        try:
            return reduced(obj)
        except Exception:  # a lock, a file
            self._met.unseen.append(obj)
            return str, (type(obj).__qualname__,)

    def _told_function(self, function: types.FunctionType) -> Any:
        if function in self._within or _is_installed(function.__module__):
            return self._named(function)
        taken = list(_taken_by(function))
        self._met.taken.extend(taken)
        names = [(each.name, _told_apart(each.value)) for each in taken]
        defaults = function.__defaults__, function.__kwdefaults__
        return self._told_by(function, (function.__code__, defaults, names))

    def _told_class(self, one: type) -> Any:
        if _stays(one.__module__):
            return NotImplemented  # by its name
        if one in self._within or _is_installed(one.__module__):
            return self._named(one)
        self._met.changing.append(one)
        return self._told_by(one, _parts_of_class(one))

    def _named(self, what: Any) -> Any:
        """Return the name of what is told already, or is another version's next time."""
        if what in self._within:
            return str, (f"outer {self._within.index(what)}",)
        self._met.unseen.append(what)
        return str, (what.__qualname__,)

    def _told_by(self, what: Any, parts: Any) -> Any:
        buffer = io.BytesIO()
        _Describer(buffer, (*self._within, what), self._met).dump(parts)
        return str, (f"{type(what)} {hashlib.sha256(buffer.getvalue()).hexdigest()}",)


def _has_a_name(function: types.FunctionType) -> bool:
    return _stays(function.__module__) and "<" not in function.__qualname__


def _taken_by(function: types.FunctionType) -> Iterator[Taken]:
    """Yield what a function takes from around it: cells, and globals by their names."""
    code, around = function.__code__, function.__globals__
    names = _names_in(code)
    cells = zip(function.__closure__ or (), code.co_freevars, strict=True)
    places: list[tuple[Any, str]] = list(cells)
    places += [(around, name) for name in sorted(names & around.keys())]
    imported = set(_imported_by(code)) & sys.modules.keys()
    places += [(sys.modules, name) for name in sorted(imported)]
    seen = set()
    while places:
        taken = Taken.now(*places.pop(0))
        yield taken
        value = taken.value
        if isinstance(value, types.ModuleType) and value.__name__ not in seen:
            seen.add(value.__name__)
            if not _is_known(value.__name__):
                inside = vars(value)
                places += [(inside, name) for name in sorted(names & inside.keys())]


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
