"""Physical parameters by their dotted paths, the same in Python, configs and results."""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._nearest import unknown_key as unknown_key
from .._quantity import Range, check_range, floats, real_array
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
    named as its user named them; where one is a tree, its keys, positions and fields follow
    its name, as in `network.layers.0.weight`.

    >>> len(jv.parameters(system))
    11
    >>> jv.parameters(system)["gap"].unit
    'm'
    """
    return {".".join(keys): entry for keys, (_, entry) in _walk(system).items()}


def parameter_at(system: object, path: str) -> Parameter:
    """Return the parameter, or entry of an array of them such as `gains.1`, at a path.

    **Raises:** `ValueError` for an unknown path.
    """
    known = parameters(system)
    whole, position = whole_path(path, known)
    found = known[whole]
    return dataclasses.replace(found, value=found.value[position]) if position else found


def unit_at(system: object, path: str) -> str:
    """Return the unit of the parameter, or entry of one, at a path."""
    return parameter_at(system, path).unit


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
                    place, named = (*step, position), (*keys, name)
                    if isinstance(number, Tree):
                        for inner, leaf in number.numbers():
                            entry = Parameter(number.leaves[leaf], unit, "", Range())
                            found[(*named, *inner)] = ((*place, "leaves", leaf), entry)
                    else:
                        found[named] = (place, Parameter(number, unit, "", Range()))
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


class Tree(eqx.Module):
    """A tree of numbers as one parameter: its leaves, and what puts them together.

    So it has a hash, by which programs are found, whatever containers it is made of.
    """

    leaves: tuple[Any, ...]
    structure: jax.tree_util.PyTreeDef = eqx.field(static=True)

    def numbers(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the keys on the way to each array of real numbers, and its position."""
        places = jax.tree.unflatten(self.structure, range(len(self.leaves)))
        for way, position in jax.tree_util.tree_leaves_with_path(places):
            if eqx.is_inexact_array(self.leaves[position]):
                yield tuple(_step(key) for key in way), position


def _step(key) -> str:
    """Return what a dict's key, a position or a field is called on a parameter's path."""
    for kind in ("key", "idx", "name"):
        if hasattr(key, kind):
            return str(getattr(key, kind))
    return str(key)


def named_values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by name, each an array or a `Tree` whose numbers are arrays.

    A list of numbers is an array. **Raises:** `ValueError` for a name with a dot, or
    for numbers that are not real or not finite.
    """
    values = {}
    for name, value in parameters.items():
        if "." in name:
            raise ValueError(f"parameters: name {name!r} has a dot; allowed: names without")
        leaves, structure = jax.tree.flatten(value)
        if isinstance(value, list | tuple) and all(np.ndim(leaf) == 0 for leaf in leaves):
            value, leaves = floats(name, value), []
        if not leaves or jax.tree_util.treedef_is_leaf(structure):
            check_range(name, value, "", Range())
            values[name] = real_array(value)
            continue
        tree = values[name] = Tree(tuple(map(_real_in_tree, leaves)), structure)
        for keys, position in tree.numbers():
            check_range(".".join((name, *keys)), tree.leaves[position], "", Range())
    return values


def as_given(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return parameters by name as their user gave them, for a field or a law."""
    return {
        name: jax.tree.unflatten(value.structure, value.leaves)
        if isinstance(value, Tree)
        else value
        for name, value in zip(names, values, strict=True)
    }


def _real_in_tree(leaf):
    """Return a number of a tree as an array; flags and whole tables are no parameters."""
    number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return real_array(leaf) if number or eqx.is_inexact_array(leaf) else leaf


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
