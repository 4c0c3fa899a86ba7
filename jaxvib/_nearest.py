"""The message for a name that nobody knows: which known one is nearest."""

import difflib
import itertools
from collections.abc import Iterable

_MOST_COMPARED = 1000  # names: a second's work
_LONGEST_COMPARED = 200  # characters


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
