"""The message for a name that nobody knows: which known one is nearest."""

import difflib
from collections.abc import Iterable


def nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known name that looks most like `key`, if any does."""
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.4)
    return near[0] if near else None


def unknown_key(kind: str, key: str, known: Iterable[str]) -> str:
    """Return the message for a key that nobody knows, with the nearest one."""
    near = nearest(key, known)
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(sorted(known))}"
    return f"unknown {kind} {key!r}; {hint}"
