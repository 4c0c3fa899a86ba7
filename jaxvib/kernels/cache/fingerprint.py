"""Fingerprints of functions and of the values that they capture.

Functions and classes of this library and of its dependencies are identified by name. A
user's function is identified by its code, closure, defaults, and the globals that it
uses, directly or through other functions; a class by its fields, methods and base
classes; an object by its class and fields. Where that ends at code that may change
unnoticed, such as C or another installed package, there is no fingerprint.
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

from .closure_state import PROTOCOL, CapturedVariable, State, reduced

# Packages whose functions, classes and contents are fixed by their versions.
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


class Fingerprint(NamedTuple):
    """The fingerprint of a pytree, `None` if its code may change unnoticed.

    `captured`: the variables that its functions capture; `changing`: the users' objects
    and classes in it, with their states; `whole`: whether these lists are complete.
    """

    digest: bytes | None
    captured: list[CapturedVariable]
    changing: list[tuple[Any, State]]
    whole: bool

    def is_current(self) -> bool:
        """Return whether nothing that the fingerprint depends on has changed."""
        return (
            self.whole
            and all(variable.is_the_same() for variable in self.captured)
            and all(state.is_of(what) for what, state in self.changing)
        )


def fingerprint(what: Any) -> Fingerprint:
    """Return the fingerprint of a pytree."""
    return _Fingerprinter.of(what)


def _is_builtin(module) -> bool:
    return str(module).partition(".")[0] in _KNOWN


def stays(module) -> bool:
    """Return whether a module's code is fixed, including the standard library's."""
    return _is_builtin(module) or str(module).partition(".")[0] in sys.stdlib_module_names


def is_installed(module) -> bool:
    """Return whether a module belongs to an installed package."""
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


class _Encountered(NamedTuple):
    """Objects found: captured by functions, mutable, and changing unnoticed."""

    captured: list[CapturedVariable]
    changing: list[Any]
    unseen: list[Any]


class _Fingerprinter(pickle.Pickler):
    """A pickler that also serialises users' functions; for comparison, not for loading.

    `within`: functions and classes being processed; `met`: objects met in all of them.
    """

    def __init__(self, buffer, within=(), met: "_Encountered | None" = None):
        super().__init__(buffer, PROTOCOL)
        self._within, self._met = within, met or _Encountered([], [], [])

    @classmethod
    def of(cls, what: Any) -> Fingerprint:
        """Return the fingerprint of a pytree."""
        buffer = io.BytesIO()
        describer = cls(buffer)
        captured, changing, unseen = describer._met
        complete = True
        try:
            describer.dump(what)
        except Exception:  # raised by a user's class
            complete = False
        states = [(each, State.of(each)) for each in changing]
        digest = buffer.getvalue() if complete and not unseen else None
        return Fingerprint(digest, captured, states, complete)

    def reducer_override(self, obj):
        if isinstance(obj, type):
            return self._digest_class(obj)
        if not _is_builtin(type(obj).__module__):
            self._met.changing.append(obj)
        if isinstance(obj, types.ModuleType):
            if not _is_builtin(obj.__name__):
                self._met.unseen.append(obj)
            return str, (f"module {obj.__name__}",)
        if isinstance(obj, jax.core.Tracer):
            self._met.unseen.append(obj)
            return str, ("a number that is traced",)
        if isinstance(obj, types.CodeType):
            return tuple, (_parts_of_code(obj),)
        if isinstance(obj, types.FunctionType) and not _has_a_name(obj):
            return self._digest_function(obj)
        if isinstance(obj, types.BuiltinFunctionType) and not _is_builtin(obj.__module__):
            self._met.unseen.append(obj)
            return str, (obj.__qualname__,)
        if isinstance(obj, types.FunctionType | types.BuiltinFunctionType):
            return NotImplemented  # by name
        try:
            return reduced(obj)
        except Exception:  # a lock, a file
            self._met.unseen.append(obj)
            return str, (type(obj).__qualname__,)

    def _digest_function(self, function: types.FunctionType) -> Any:
        if function in self._within or is_installed(function.__module__):
            return self._object_name(function)
        captured = list(_captured_by(function))
        self._met.captured.extend(captured)
        names = [(each.name, _module_reference(each.value)) for each in captured]
        defaults = function.__defaults__, function.__kwdefaults__
        return self._digest_by(function, (function.__code__, defaults, names))

    def _digest_class(self, one: type) -> Any:
        if stays(one.__module__):
            return NotImplemented  # by name
        if one in self._within or is_installed(one.__module__):
            return self._object_name(one)
        self._met.changing.append(one)
        return self._digest_by(one, _parts_of_class(one))

    def _object_name(self, what: Any) -> Any:
        """Return the name of an outer or installed object, without fingerprint."""
        if what in self._within:
            return str, (f"outer {self._within.index(what)}",)
        self._met.unseen.append(what)
        return str, (what.__qualname__,)

    def _digest_by(self, what: Any, parts: Any) -> Any:
        buffer = io.BytesIO()
        _Fingerprinter(buffer, (*self._within, what), self._met).dump(parts)
        return str, (f"{type(what)} {hashlib.sha256(buffer.getvalue()).hexdigest()}",)


def _has_a_name(function: types.FunctionType) -> bool:
    return stays(function.__module__) and "<" not in function.__qualname__


def _captured_by(function: types.FunctionType) -> Iterator[CapturedVariable]:
    """Yield the variables that a function captures: closure cells and globals."""
    code, around = function.__code__, function.__globals__
    names = _names_in(code)
    cells = zip(function.__closure__ or (), code.co_freevars, strict=True)
    places: list[tuple[Any, str]] = list(cells)
    places += [(around, name) for name in sorted(names & around.keys())]
    imported = set(_imported_by(code)) & sys.modules.keys()
    places += [(sys.modules, name) for name in sorted(imported)]
    seen = set()
    while places:
        variable = CapturedVariable.now(*places.pop(0))
        yield variable
        value = variable.value
        if isinstance(value, types.ModuleType) and value.__name__ not in seen:
            seen.add(value.__name__)
            if not _is_builtin(value.__name__):
                inside = vars(value)
                places += [(inside, name) for name in sorted(names & inside.keys())]


def _module_reference(value: Any) -> Any:
    """Replace a module by its name; variables used from it are listed separately."""
    return value.__name__ if isinstance(value, types.ModuleType) else value


def _parts_of_class(one: type) -> tuple:
    """Return the parts of a class: bases, fields and members."""
    members = {
        name: _function_in(value)
        for name, value in sorted(vars(one).items())
        if name not in _ABOUT
    }
    if "__init__" in members and members["__init__"].__code__.co_filename == "<string>":
        del members["__init__"]  # generated by `dataclasses` from the fields
    fields = [
        (field.name, field.default, field.default_factory, dict(field.metadata))
        for field in (dataclasses.fields(one) if dataclasses.is_dataclass(one) else ())
    ]
    return type(one), one.__qualname__, one.__bases__, fields, members


# Class attributes that follow from the others or have no effect.
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
    """Unwrap the function of a method, a property or a wrapper."""
    if isinstance(member, staticmethod | classmethod):
        return type(member).__name__, inspect.unwrap(member.__func__)
    if isinstance(member, property):
        return "property", member.fget, member.fset
    return inspect.unwrap(member) if callable(member) else member


def _codes_in(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and all nested ones."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes_in(inner)


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code may look up, including its string constants."""
    names: set[str] = set()
    for each in _codes_in(code):
        names.update(each.co_names)
        names.update(name for name in each.co_consts if isinstance(name, str))
    return names


def _imported_by(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the modules that code imports at run time."""
    for each in _codes_in(code):
        for instruction in dis.get_instructions(each):
            if instruction.opname == "IMPORT_NAME":
                yield instruction.argval


def _parts_of_code(code: types.CodeType) -> tuple:
    """Return the parts of a code object that do not depend on its location."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    does = code.co_code, code.co_exceptiontable, code.co_flags
    return does, code.co_consts, names, counts
