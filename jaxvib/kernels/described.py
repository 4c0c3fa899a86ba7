"""What tells one function and its numbers from all others, as bytes.

Functions and classes of this library, and of those below it, are known by their names.
A function of somebody else's is known by what it is made of: its code, what it encloses,
its defaults, and what it takes from its module. Where that ends at something whose code
may change unseen, such as another class or module, nothing is told.
"""

import hashlib
import io
import pickle
import types
from typing import Any

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
    "builtins",
    "copyreg",
)


def described(what: Any) -> bytes | None:
    """Return what tells a pytree from others, `None` where its code may change."""
    return _pickled(_Describer, what)


def packed(what: Any) -> bytes | None:
    """Return a pytree as bytes to be read again, `None` if it holds others' code."""
    return _pickled(_Packer, what)


def _pickled(pickler: type[pickle.Pickler], what: Any) -> bytes | None:
    buffer = io.BytesIO()
    try:
        pickler(buffer).dump(what)
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


class _Describer(_Packer):
    """Pickles others' functions as well, by what they are made of: to be compared alone."""

    def __init__(self, buffer, within=()):
        super().__init__(buffer)
        self._within = within  # functions that are being told already

    def reducer_override(self, obj):
        if isinstance(obj, types.ModuleType) and _is_known(obj.__name__):
            return str, (f"module {obj.__name__}",)
        if isinstance(obj, types.CodeType):
            return tuple, (_parts_of_code(obj),)
        if isinstance(obj, types.FunctionType) and not _has_a_name(obj):
            return str, (self._told(obj),)
        return super().reducer_override(obj)

    def _told(self, function: types.FunctionType) -> str:
        if function in self._within:  # it calls itself
            return f"outer {self._within.index(function)}"
        buffer = io.BytesIO()
        _Describer(buffer, (*self._within, function)).dump(_parts_of(function))
        return f"function {hashlib.sha256(buffer.getvalue()).hexdigest()}"


def _has_a_name(function: types.FunctionType) -> bool:
    return _is_known(function.__module__) and "<" not in function.__qualname__


def _parts_of(function: types.FunctionType) -> tuple:
    """Return what a function is made of: code, what it encloses, defaults, and globals."""
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    taken = {
        name: function.__globals__[name]
        for name in sorted(_names_in(function.__code__))
        if name in function.__globals__
    }
    defaults = function.__defaults__, function.__kwdefaults__
    return function.__code__, enclosed, defaults, taken


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names that code may look up in its module."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*map(_names_in, inner))


def _parts_of_code(code: types.CodeType) -> tuple:
    """Return what code does, wherever it stands."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return (
        code.co_code,
        code.co_consts,
        names,
        counts,
        code.co_flags,
        code.co_exceptiontable,
    )
