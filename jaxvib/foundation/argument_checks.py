"""Checks of arguments against the annotations of public functions."""

import collections.abc
import functools
import numbers
import os
import types
import typing
from collections.abc import Callable
from typing import Any, NamedTuple

from .text import truncate

_SYSTEM = "a system"
_NONE = type(None)
_SHOWN = str | float | int | complex


class _Kind(NamedTuple):
    """One alternative of an annotation: which values it accepts, and its name."""

    accepts: Callable[[Any], bool]
    name: str
    is_numeric: bool = False
    is_scalar: bool = False
    is_real: bool = False
    # How many numbers a tuple has, 0 if any number of them.
    count: int = 0
    # Values of a mapping, or plain ones of a list, are checked against this annotation.
    of_values: Any = Any
    has_text_keys: bool = False


def check_argument(name: str, value: object, annotation: Any) -> None:
    """Raise `TypeError` or `ValueError` unless a value fits an annotation.

    Only what says so without an import of JAX or NumPy is looked at: classes, numbers
    and lists of these, text, mappings. Shapes and ranges are left to the function.
    """
    kinds = _kinds(annotation)
    accepting = [kind for kind in kinds if kind.accepts(value)]
    if not accepting:
        raise _unfit(name, value, kinds)
    if not all(kind.is_numeric for kind in accepting):
        for kind in accepting:
            for key, each in _items(value):
                if kind.has_text_keys and not isinstance(key, str):
                    raise TypeError(f"{name} has the key {key!r}; allowed: texts as keys")
                check_argument(f"{name}[{key!r}]", each, kind.of_values)
        return
    if any(kind.is_real for kind in accepting) and _is_complex(value):
        shown = truncate(repr(value), 60)
        raise ValueError(f"{name} = {shown} is not real; allowed: real numbers")
    if all(kind.is_scalar for kind in kinds if kind.is_numeric):
        check_scalar(name, value)


def check_scalar(name: str, value: object) -> None:
    """Raise `ValueError` for a list or an array in place of a number."""
    shape = (len(value),) if isinstance(value, list | tuple) else _shape(value)
    if shape:
        raise ValueError(f"{name} has shape {shape}; allowed: (), a number")


def _items(value: object) -> list[tuple[Any, Any]]:
    """Return what is checked of a mapping or list: of a list what is no object."""
    if isinstance(value, collections.abc.Mapping):
        return list(value.items())
    listed = value if isinstance(value, list | tuple) else ()
    plain = _SHOWN | bytes | list | tuple | dict | None
    return [(k, x) for k, x in enumerate(listed) if isinstance(x, plain) or _is_array(x)]


def _unfit(name: str, value: Any, kinds: tuple[_Kind, ...]) -> Exception:
    allowed = " or ".join(sorted({kind.name for kind in kinds}, key=str.casefold))
    shown = truncate(repr(value), 60)
    numeric = any(kind.is_numeric for kind in kinds)
    listed = value if isinstance(value, list | tuple) else [value]
    if numeric and any(isinstance(each, str) for each in listed):
        return ValueError(f"{name} = {shown} is not a number; allowed: one in SI units")
    scalar = all(kind.is_scalar for kind in kinds if kind.is_numeric)
    if numeric and scalar and isinstance(value, list | tuple):
        shape = (len(value),)
        return ValueError(f"{name} has shape {shape}; allowed: (), a number")
    if numeric and (isinstance(value, list | tuple) or hasattr(value, "dtype")):
        return ValueError(f"{name} = {shown} is not an array of numbers")
    counted = any(kind.count for kind in kinds)
    if counted and hasattr(value, "__len__") and _is_numeric(value):
        return TypeError(f"{name} has length {len(value)}; allowed: {allowed}")
    if value is None:
        return TypeError(f"{name} = None; allowed: {allowed}")
    what = f" = {shown}" if isinstance(value, _SHOWN) else ""
    return TypeError(f"{name}{what} is of type {type(value).__name__}; allowed: {allowed}")


@functools.cache
def _kinds(annotation: Any) -> tuple[_Kind, ...]:
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    parts = typing.get_args(annotation) if union else (annotation,)
    parts = [typing.get_origin(x) if typing.get_args(x) == (Any,) else x for x in parts]
    kinds = tuple(map(_kind, parts))
    if collections.abc.Sequence in parts and any(kind.is_numeric for kind in kinds):
        numeric = [kind for kind in kinds if kind.name != "a list"]  # a list of numbers
        return (*numeric, _Kind(_is_numeric, "numbers", is_numeric=True, is_real=True))
    return kinds


def _kind(part: Any) -> _Kind:
    """Return the kind of one alternative; one that is not known accepts anything."""
    if isinstance(part, typing.TypeVar):
        part = part.__bound__
    kind = typing.get_origin(part) or part
    of = typing.get_args(part)
    if part is _NONE:
        return _Kind(lambda value: value is None, "None")
    if kind is collections.abc.Callable:
        return _Kind(callable, "a function")
    if isinstance(kind, type):
        found = _TABLE.get(kind)
        if found is not None:
            return found
        if issubclass(kind, os.PathLike):
            return _Kind(lambda value: isinstance(value, os.PathLike), "a path")
        if _root(kind) == "jaxvib" or kind.__name__ == "Module":
            name = _SYSTEM if kind.__name__ == "Module" else kind.__name__
            return _Kind(lambda value: isinstance(value, kind), name)
        if issubclass(kind, collections.abc.Mapping):
            of_keys, of_values = of if len(of) == 2 else (Any, Any)
            return _Kind(
                lambda value: isinstance(value, collections.abc.Mapping),
                "a mapping",
                of_values=of_values,
                has_text_keys=of_keys is str,
            )
        if issubclass(kind, collections.abc.Sequence):
            return _of_sequence(kind, of)
        if _root(kind) in ("jaxtyping", "numpy", "jaxlib", "jax"):
            return _of_arrays(kind)
    return _Kind(lambda _: True, "anything")


def _of_sequence(kind: type, of: tuple[Any, ...]) -> _Kind:
    if of and all(each is float for each in of) and kind is tuple and len(of) > 1:
        count = len(of)
        return _Kind(
            lambda value: _are_numbers(value, count), f"{count} numbers", count=count
        )
    if of and set(of) <= {float, int, complex, ...}:
        return _Kind(_are_listed, "numbers", is_numeric=True, is_real=complex not in of)
    one = of[0] if of and isinstance(of[0], type) else None
    name = "text" if one is str else getattr(one, "__name__", "").lower()
    ours = (
        of
        and of[1:] in ((), (...,))
        and all(map(_is_ours, typing.get_args(of[0]) or of[:1]))
    )
    of_values = of[0] if ours else Any
    accepts = _are_texts if one is str else _are_objects if ours else _is_list
    return _Kind(accepts, f"a list of {name}s" if name else "a list", of_values=of_values)


def _is_ours(part: Any) -> bool:
    return isinstance(part, type) and _root(part) == "jaxvib"


def _of_arrays(kind: type) -> _Kind:
    if kind.__name__ == "PyTree":
        return _Kind(lambda _: True, "anything")
    dimensions = getattr(kind, "dim_str", kind.__name__)
    scalar = dimensions in ("", "number", "bool", "integer")
    real = kind.__name__.startswith(("Real", "Float", "Int"))
    name = "a number" if scalar else "numbers"
    return _Kind(_is_numeric, name, is_numeric=True, is_scalar=scalar, is_real=real)


def _root(kind: type) -> str:
    return getattr(kind, "__module__", "").partition(".")[0]


def _shape(value: object) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _is_complex(value: object) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return isinstance(value, complex) or kind == "c"


def _is_list(value: object) -> bool:
    text = isinstance(value, str | bytes | type | collections.abc.Mapping)
    single = hasattr(value, "dtype") and not _shape(value)
    return hasattr(value, "__iter__") and not text and not single


def _are_texts(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(each, str) for each in value)
    return _are_objects(value)


def _are_objects(value: object) -> bool:
    return _is_list(value) and (not hasattr(value, "dtype") or not _is_numeric(value))


def _are_listed(value: object) -> bool:
    return _is_numeric(value) and _is_list(value)


def _is_whole(value: object) -> bool:
    if hasattr(value, "dtype"):
        return getattr(value.dtype, "kind", "i") in "iub" and not _shape(value)
    return isinstance(value, numbers.Integral)


def _is_numeric(value: object) -> bool:
    if isinstance(value, list | tuple):
        inner = [each for each in value if isinstance(each, list | tuple)]
        even = not inner or len(inner) == len(value)
        even = even and len({len(each) for each in inner}) <= 1
        return even and all(map(_is_numeric, value))
    if hasattr(value, "dtype"):
        return getattr(value.dtype, "kind", "f") not in "OSUVMm"
    return _is_array(value) or isinstance(value, numbers.Number | range)


def _is_array(value: object) -> bool:
    return any(hasattr(value, name) for name in ("dtype", "__array__", "__jax_array__"))


def _are_numbers(value: Any, count: int) -> bool:
    if not _is_numeric(value):
        return False
    shape = (len(value),) if isinstance(value, list | tuple) else _shape(value)
    return shape == (count,)


_TABLE = {
    str: _Kind(lambda value: isinstance(value, str), "a text"),
    bool: _Kind(lambda value: isinstance(value, bool) or _is_whole(value), "True or False"),
    int: _Kind(_is_whole, "a whole number", is_numeric=True, is_scalar=True),
    float: _Kind(_is_numeric, "a number", is_numeric=True, is_scalar=True, is_real=True),
    complex: _Kind(_is_numeric, "a number", is_numeric=True, is_scalar=True),
}
