"""Nested tables by dotted paths."""

from collections.abc import Iterator, Mapping


def flattened(table: Mapping, prefix: str = "") -> dict[str, object]:
    """Flatten nested tables to dotted paths."""
    flat: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            flat |= flattened(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def differences(one: Mapping, other: Mapping) -> Iterator[tuple[str, object, object]]:
    """Yield the path and both values, None for a missing one, where tables differ."""
    here, there = flattened(one), flattened(other)
    for path in {**here, **there}:
        if here.get(path) != there.get(path):
            yield path, here.get(path), there.get(path)
