"""Physical parameters by their dotted paths, the same in Python, configs and results."""

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._nearest import unknown_key as unknown_key
from .._quantity import Range, check_range, real_array
from .._units import of_turning
from .following import formula_values

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
    comes again) and by their position otherwise. The parameters of a `forced_system` are
    named as its user named them.

    >>> len(jv.parameters(system))
    11
    >>> jv.parameters(system)["gap"].unit
    'm'
    """
    return {".".join(keys): entry for keys, (_, entry) in _walk(system).items()}


def unit_at(system: object, path: str) -> str:
    """Return the unit of the parameter, or entry of one, at a path."""
    known = parameters(system)
    return known[whole_path(path, known)[0]].unit


def replace(system: System, values: Mapping[str, object]) -> System:
    """Return a system with other values on some of its paths.

    An entry of an array is meant by its position, `positions.1` or `mass.0.0`. Works
    under `jit`, `vmap` and differentiation, so that any parameter can be swept or
    optimised.

    **Raises:** `ValueError` for an unknown path (naming the nearest one), a value out
    of its range or of another shape, one that follows from others (`derived`), and for
    whatever the changed parts and those that hold them refuse when they are built. Traced
    values cannot be looked at.

    >>> float(jv.replace(system, {"load.amplitude": 400.0}).load.amplitude)
    400.0
    """
    known = {".".join(keys): found for keys, found in _walk(system).items()}
    declared = {path: entry for path, (_, entry) in known.items()}
    formulas = dict(getattr(system, "formulas", ()))
    for path in values:
        if (whole := whole_path(path, declared)[0]) in formulas:
            raise ValueError(f"{whole} follows from {formulas[whole]!r}; allowed: others")
    if formulas:
        now = {path: entry.value for path, entry in declared.items()}
        values = {**values, **formula_values(formulas, {**now, **values})}
    news: dict[tuple, object] = {}
    for path, value in values.items():
        whole, entry_of = whole_path(path, declared)
        where, entry = known[whole]
        check_range(path, value, entry.unit, entry.allowed)
        new, shape = real_array(value), () if entry_of else np.shape(entry.value)
        if new.shape != shape:
            raise ValueError(f"{path} has shape {new.shape}; allowed: {shape}")
        if entry_of:
            new = jnp.asarray(news.get(where, entry.value)).at[entry_of].set(new)
        news[where] = new
    places = list(news)
    changed = eqx.tree_at(
        lambda tree: [_get(tree, where) for where in places], system, list(news.values())
    )
    holding = {where[:depth] for where in places for depth in range(len(where))}
    for where in sorted(holding, key=len, reverse=True):
        _check_as_built(_get(changed, where))
    return changed


def _check_as_built(part) -> None:
    """Raise what a module's own checks raise, unless it holds a traced value."""
    checks = [kind.__dict__.get("__check_init__") for kind in type(part).__mro__]
    traced = (isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(part))
    if isinstance(part, eqx.Module) and any(checks) and not any(traced):
        for check in filter(None, checks):
            check(part)


def whole_path(path: str, known: Mapping[str, Parameter]) -> tuple[str, tuple[int, ...]]:
    """Return the path of an array and the position in it that a path ends with.

    **Raises:** `ValueError` for an unknown path.
    """
    keys = path.split(".")
    for depth in range(len(keys), 0, -1):
        whole, rest = ".".join(keys[:depth]), keys[depth:]
        if whole in known and all(key.isdecimal() for key in rest):
            shape, position = np.shape(known[whole].value), tuple(map(int, rest))
            inside = all(i < size for i, size in zip(position, shape, strict=False))
            if not rest or (len(rest) == len(shape) and inside):
                return whole, position
    raise ValueError(unknown_key("parameter", path, known))


def _walk(node, keys=(), where=(), turned=None) -> dict:
    """Return each parameter by its keys: where it stands, and what was declared of it.

    `turned`: of a tuple's owner, which of its parts act along rotations only.
    """
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
                found[(*keys, field.metadata["name"])] = (step, entry)
            elif "named_by" in field.metadata:
                names = getattr(node, field.metadata["named_by"])
                units = getattr(node, field.metadata.get("units_by", ""), [""] * len(names))
                rows = zip(names, units, value, strict=True)
                for position, (name, unit, number) in enumerate(rows):
                    entry = Parameter(number, unit, "", Range())
                    found[(*keys, name)] = ((*step, position), entry)
            else:
                turned = getattr(node, "turned", None)
                inner = _walk(value, (*keys, field.name), step, turned)
                found |= _in_units(inner, getattr(node, "units", {}).get)
    elif isinstance(node, tuple):
        for position, (name, item) in enumerate(zip(part_names(node), node, strict=True)):
            inner = _walk(item, (*keys, name), (*where, position))
            rotates = turned is not None and turned(item)
            found |= _in_units(inner, _turning) if rotates else inner
    return found


def part_names(parts: Sequence) -> list[str]:
    """Return each part's name on parameter paths: its own, numbered, or its position."""
    seen, found = collections.Counter(), []
    for position, part in enumerate(parts):
        name = getattr(part, "name", None) or str(position)
        seen[name] += 1
        found.append(f"{name}-{seen[name]}" if seen[name] > 1 else name)
    return found


def _in_units(found: dict, unit_for: Callable[[str, str], str]) -> dict:
    """Return what was found in a part whose laws stand for something else than forces."""
    return {
        keys: (where, dataclasses.replace(entry, unit=unit_for(entry.unit, entry.unit)))
        for keys, (where, entry) in found.items()
    }


def _turning(unit: str, _) -> str:
    return of_turning(unit)


def _get(node, where):
    for step in where:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node
