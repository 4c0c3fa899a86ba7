"""The message for a name that nobody knows: which known one is nearest."""

import difflib
import functools
import inspect
import itertools
from collections.abc import Iterable
from typing import Any

_MOST_COMPARED = 1000  # names: a second's work
_LONGEST_COMPARED = 200  # characters: comparing takes their square


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like `key`, if any does."""
    known = list(itertools.islice(known, _MOST_COMPARED))
    near = difflib.get_close_matches(key[:_LONGEST_COMPARED], known, n=1, cutoff=0.4)
    return near[0] if near else None


def unknown_key(kind: str, key: str, known: Iterable[str]) -> str:
    """Return the message for a key that nobody knows, with the nearest one."""
    near = nearest(key, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(known))}"
    return f"unknown {kind} {key!r}; {hint}"


@functools.cache
def with_nearest_arguments(found: Any) -> Any:
    """Return a function that names the nearest argument of one that it does not have.

    `two_body_impact(main_mas=1.0)` is then told of `main_mass` as a wrong key in a config
    is. What is no plain function is returned as it is, and the same one each time.
    """
    if not inspect.isfunction(found):
        return found
    kinds = inspect.signature(found).parameters
    if any(each.kind is each.VAR_KEYWORD for each in kinds.values()):
        return found
    known = [name for name, each in kinds.items() if each.kind is not each.POSITIONAL_ONLY]

    @functools.wraps(found)
    def called(*given, **named):
        for name in named:
            if name not in known:
                raise TypeError(unknown_key(f"argument of {found.__name__}()", name, known))
        return found(*given, **named)

    return called
