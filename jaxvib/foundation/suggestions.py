"""Error messages for unknown names, with suggestions, and for wrong arguments."""

import collections.abc
import difflib
import functools
import inspect
import itertools
import types
import typing
from collections.abc import Iterable
from typing import Any

from .text import truncate

_MOST_COMPARED = 1000  # names: takes a second
_LONGEST_COMPARED = 200  # characters: the cost is quadratic


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to `key`, or `None`."""
    known = list(itertools.islice(known, _MOST_COMPARED))
    near = difflib.get_close_matches(key[:_LONGEST_COMPARED], known, n=1, cutoff=0.4)
    return near[0] if near else None


def unknown_key(kind: str, key: str, known: Iterable[str]) -> str:
    """Return the message for an unknown key, with a suggestion."""
    near = nearest(key, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(known))}"
    return f"unknown {kind} {key!r}; {hint}"


@functools.cache
def with_nearest_arguments(found: Any) -> Any:
    """Wrap a function so that wrong arguments give helpful messages.

    `two_body_impact(main_mas=1.0)` then suggests `main_mass`, and
    `periodic_orbit("quick")` asks for a system. Anything but a plain function is
    returned unchanged. Cached: the same function gives the same wrapper.
    """
    if not inspect.isfunction(found):
        return found
    kinds = inspect.signature(found).parameters
    annotations = {name: each.annotation for name, each in kinds.items()}
    positional = [
        name for name, each in kinds.items() if each.kind is not each.KEYWORD_ONLY
    ]

    @functools.wraps(found)
    def called(*given, **named):
        check_keywords(found, named)
        for name, value in [*zip(positional, given, strict=False), *named.items()]:
            if name in annotations:  # not those of `**`
                _check_kind(name, value, annotations[name])
        return found(*given, **named)

    return called


def check_keywords(found: Any, named: Iterable[str]) -> None:
    """Raise `TypeError` for unknown argument names of a function or class."""
    for name in named:
        known = _arguments(found)
        if known is not None and name not in known:
            raise TypeError(unknown_key(f"argument of {found.__name__}()", name, known))


@functools.cache
def _arguments(found: Any) -> list[str] | None:
    """Return the names of keyword arguments, `None` if any name is accepted."""
    called = found.__init__ if isinstance(found, type) else found
    kinds = inspect.signature(called).parameters
    if any(each.kind is each.VAR_KEYWORD for each in kinds.values()):
        return None
    named = [name for name, each in kinds.items() if each.kind is not each.POSITIONAL_ONLY]
    return [name for name in named if name != "self"]


def _check_kind(name: str, value: object, annotation: Any) -> None:
    """Raise `TypeError` unless a value is an instance of an annotated class.

    Numeric arguments raise `ValueError` for text, and for a list in place of a scalar.
    """
    kinds, numbers, scalar = _kinds(annotation)
    if kinds and not isinstance(value, kinds):
        allowed = " or ".join(sorted(map(_named, kinds)))
        what = f" = {truncate(repr(value), 60)}" if isinstance(value, str | float) else ""
        kind = type(value).__name__
        raise TypeError(f"{name}{what} is of type {kind}; allowed: {allowed}")
    listed = isinstance(value, list | tuple)
    texts = value if listed else [value]
    if numbers and any(isinstance(each, str) for each in texts):
        shown = truncate(repr(value), 60)
        raise ValueError(f"{name} = {shown} is not a number; allowed: one in SI units")
    shape = (len(value),) if listed else getattr(value, "shape", ())
    if scalar and shape:
        raise ValueError(f"{name} has shape {shape}; allowed: (), a number")


@functools.cache
def _kinds(annotation: Any) -> tuple[tuple[type, ...], bool, bool]:
    """Return (classes of this library, whether numeric, whether scalar)."""
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    parts = typing.get_args(annotation) if union else (annotation,)
    kinds = tuple(typing.get_origin(part) or part for part in parts)
    if all(map(_is_jaxvib_class, kinds)):
        return kinds, False, False
    arrays = [kind for kind in kinds if _root(kind) in ("jaxtyping", "numpy")]
    texts = str in kinds or any(str in typing.get_args(part) for part in parts)
    numbers = not texts and bool(arrays or {float, int} & set(kinds))
    plain = {float, int, type(None)}
    scalar = numbers and all(
        kind in plain or getattr(kind, "dim_str", None) == "" for kind in kinds
    )
    return (), numbers, scalar


def _is_jaxvib_class(kind: Any) -> bool:
    callable_ = kind is collections.abc.Callable
    ours = isinstance(kind, type) and (_root(kind) == "jaxvib" or _named(kind) == _SYSTEM)
    return callable_ or kind is type(None) or ours


def _root(kind: Any) -> str:
    return getattr(kind, "__module__", "").partition(".")[0]


def _named(kind: type) -> str:
    names = {"Callable": "a function", "NoneType": "None", "Module": _SYSTEM}
    return names.get(kind.__name__, kind.__name__)


_SYSTEM = "a system"
