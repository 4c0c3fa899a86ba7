"""Physical parameters by their dotted paths, the same in Python, configs and results."""

import collections
import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import equinox as eqx
import numpy as np

from .._nearest import unknown_key as unknown_key
from .._quantity import Range, check_range, real_array

System = TypeVar("System", bound=eqx.Module)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One physical parameter of a system: its value and what was declared of it."""

    value: Any
    unit: str
    description: str
    allowed: Range


def parameters(system: object) -> dict[str, Parameter]:
    """Return every physical parameter of a system by its path, `attached.mass` say.

    A path names fields from the system down, joined by dots; the elements of a tuple
    are named by their `name` where they have one (followed by `-2`, `-3` ... where it
    comes again) and by their position otherwise.
    """
    return {".".join(keys): entry for keys, (_, entry) in _walk(system).items()}


def replace(system: System, values: Mapping[str, object]) -> System:
    """Return a system with other values on some of its paths.

    Works under `jit`, `vmap` and differentiation, so that any parameter can be swept
    or optimised.

    **Raises:** `ValueError` for an unknown path (naming the nearest one), a value out
    of its range or of another shape.
    """
    known = {".".join(keys): found for keys, found in _walk(system).items()}
    places, news = [], []
    for path, value in values.items():
        if path not in known:
            raise ValueError(unknown_key("parameter", path, known))
        where, entry = known[path]
        check_range(path, value, entry.unit, entry.allowed)
        new = real_array(value)
        if new.shape != np.shape(entry.value):
            raise ValueError(
                f"{path} has shape {new.shape}; allowed: {np.shape(entry.value)}"
            )
        places.append(where)
        news.append(new)
    return eqx.tree_at(lambda tree: [_get(tree, where) for where in places], system, news)


def _walk(node, keys=(), where=()) -> dict:
    found = {}
    if isinstance(node, eqx.Module):
        for field in dataclasses.fields(node):
            value = getattr(node, field.name)
            step = (*where, field.name)
            if value is None:
                continue  # left out, like a coupling that follows from others
            if "range" in field.metadata:
                entry = Parameter(
                    value,
                    field.metadata["unit"],
                    field.metadata["description"],
                    field.metadata["range"],
                )
                found[(*keys, field.name)] = (step, entry)
            else:
                found |= _walk(value, (*keys, field.name), step)
    elif isinstance(node, tuple):
        seen = collections.Counter()
        for position, item in enumerate(node):
            name = getattr(item, "name", None) or str(position)
            seen[name] += 1
            if seen[name] > 1:
                name = f"{name}-{seen[name]}"
            found |= _walk(item, (*keys, name), (*where, position))
    return found


def _get(node, where):
    for step in where:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node
