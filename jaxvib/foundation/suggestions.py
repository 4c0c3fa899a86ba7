"""Error messages for unknown names, with suggestions, and for wrong arguments."""

import difflib
import functools
import inspect
import itertools
from collections.abc import Iterable
from typing import Any

from .argument_checks import check_argument

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
                check_argument(name, value, annotations[name])
        return found(*given, **named)

    return called


def check_keywords(found: Any, named: Iterable[str]) -> None:
    """Raise `TypeError` for unknown argument names of a function or class."""
    for name in named:
        known = _arguments(found)
        if known is not None and name not in known:
            raise TypeError(unknown_key(f"argument of {found.__name__}()", name, known))


class CheckedKeywords:
    """Base of classes whose misspelt arguments are named with the nearest one."""

    def __new__(cls, *given, **named):
        """Create an instance. **Raises:** `TypeError` for a misspelt argument."""
        check_keywords(cls, named)
        return super().__new__(cls)


@functools.cache
def _arguments(found: Any) -> list[str] | None:
    """Return the names of keyword arguments, `None` if any name is accepted."""
    called = found.__init__ if isinstance(found, type) else found
    kinds = inspect.signature(called).parameters
    if any(each.kind is each.VAR_KEYWORD for each in kinds.values()):
        return None
    named = [name for name, each in kinds.items() if each.kind is not each.POSITIONAL_ONLY]
    return [name for name in named if name != "self"]
