"""Physical parameters by dotted paths, as used in Python, configs and results."""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike

from ..foundation.arrays import is_concrete
from ..foundation.quantity import Range, check_range, check_shape, floats, real_array
from ..foundation.suggestions import unknown_key as unknown_key
from ..foundation.units import rotational_unit
from .parameter_formulas import formula_values

System = TypeVar("System", bound=eqx.Module)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A physical parameter of a system: its value and its declaration."""

    value: Any
    unit: str
    description: str
    allowed: Range


def parameters(system: object) -> dict[str, Parameter]:
    """Return all physical parameters of a system by path, such as `attached.mass`.

    A path joins field names from the system down by dots; elements of a tuple are named
    by their `name` if they have one (followed by `-2`, `-3` ... if it is repeated),
    otherwise by position. Parameters of a `forced_system` have the user's names,
    followed by the keys, positions and fields of a pytree, as in
    `network.layers.0.weight`.

    >>> len(jv.parameters(system))
    11
    >>> jv.parameters(system)["gap"].unit
    'm'
    """
    return {".".join(keys): entry for keys, (_, entry) in _walk(system).items()}


def parameter_at(system: object, path: str) -> Parameter:
    """Return the parameter at a path, or an entry of an array such as `gains.1`.

    **Raises:** `ValueError` for an unknown path, or that of a whole array.

    >>> jv.parameter_at(system, "gap").unit
    'm'
    """
    known = parameters(system)
    base, position = whole_path(path, known)
    found = known[base]
    shape = np.shape(found.value)
    if len(position) != len(shape):
        raise ValueError(
            f"{path} is an array of shape {shape}; allowed: paths of single numbers, "
            f"such as {'.'.join((path, *'0' * len(shape)))}"
        )
    return dataclasses.replace(found, value=found.value[position]) if position else found


def enclosing_bounds(
    parameter: Parameter,
    path: str,
    bounds: tuple[float, float] | np.ndarray,
    values: ArrayLike,
) -> tuple[float, float]:
    """Return bounds of a parameter.

    **Raises:** `ValueError` for bounds out of its range, that are equal, or that do not
    enclose all `values`.
    """
    low, high = (float(bound) for bound in bounds)
    for bound in (low, high):
        check_range(f"bounds of {path}", bound, parameter.unit, parameter.allowed)
    values = np.atleast_1d(np.asarray(values))
    out = values[~((low <= values) & (values <= high))]
    if out.size or low == high:
        value = out[0] if out.size else values[0]
        raise ValueError(
            f"bounds = ({low:g}, {high:g}) {parameter.unit} do not enclose {path} = "
            f"{value:g} {parameter.unit}"
        )
    return low, high


def replace(system: System, values: Mapping[str, object]) -> System:
    """Return a system with new values at some paths.

    An entry of an array is addressed by its index, `positions.1` or `mass.0.0`. Works
    under `jit`, `vmap` and differentiation, so that any parameter can be swept or
    optimised.

    **Raises:** `ValueError` for an unknown path (with a suggestion), a value out of its
    range or of another shape, a parameter defined by a formula (`derived`), and what
    checks of the changed parts and their owners raise. Where traced values are out of
    their range, results are NaN.

    >>> float(jv.replace(system, {"load.amplitude": 400.0}).load.amplitude)
    400.0
    """
    known = {".".join(keys): found for keys, found in _walk(system).items()}
    declared = {path: entry for path, (_, entry) in known.items()}
    formulas = dict(getattr(system, "formulas", ()))
    for path in values:
        if (base := whole_path(path, declared)[0]) in formulas:
            raise ValueError(
                f"{base} is given by {formulas[base]!r}; allowed: other parameters"
            )
    if formulas:
        now = {path: entry.value for path, entry in declared.items()}
        values = {**values, **formula_values(formulas, {**now, **values})}
    news: dict[tuple, object] = {}
    for path, value in values.items():
        base, entry_of = whole_path(path, declared)
        where, entry = known[base]
        check_range(path, value, entry.unit, entry.allowed)
        new, shape = real_array(value), () if entry_of else np.shape(entry.value)
        check_shape(path, new, shape)
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
    """Run a module's checks, unless it has traced values."""
    checks = [kind.__dict__.get("__check_init__") for kind in type(part).__mro__]
    if isinstance(part, eqx.Module) and any(checks) and is_concrete(part):
        for check in filter(None, checks):
            check(part)


def whole_path(path: str, known: Mapping[str, Parameter]) -> tuple[str, tuple[int, ...]]:
    """Split a path into that of an array and the index that it ends with.

    **Raises:** `ValueError` for an unknown path.
    """
    keys = path.split(".")
    for depth in range(len(keys), 0, -1):
        base, rest = ".".join(keys[:depth]), keys[depth:]
        if base in known and all(key.isdecimal() for key in rest):
            shape, position = np.shape(known[base].value), tuple(map(int, rest))
            inside = all(i < size for i, size in zip(position, shape, strict=False))
            if not rest or (len(rest) == len(shape) and inside):
                return base, position
    raise ValueError(unknown_key("parameter", path, known))


def _walk(node, keys=(), where=(), turned=None) -> dict:
    """Return (location, declaration) of each parameter by its keys.

    `turned`: of a tuple's owner, whether a part acts on rotations only.
    """
    found = {}
    if isinstance(node, eqx.Module):
        for field in dataclasses.fields(node):
            value = getattr(node, field.name)
            step = (*where, field.name)
            if value is None:
                continue  # omitted, like a coupling with a default
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
                units = field.metadata.get("units", getattr(node, "law_units", {}))
                found |= _in_units(inner, units.get)
    elif isinstance(node, tuple):
        for position, (name, item) in enumerate(zip(part_names(node), node, strict=True)):
            inner = _walk(item, (*keys, name), (*where, position))
            if turned is not None and turned(item):
                inner = _in_units(inner, lambda unit, _: rotational_unit(unit))
            found |= inner
    return found


class Tree(eqx.Module):
    """A pytree of numbers as one parameter: its leaves and its structure.

    It is hashable for the lookup of programs, whatever containers it was made of.
    """

    leaves: tuple[Any, ...]
    structure: jax.tree_util.PyTreeDef = eqx.field(static=True)

    def numbers(self) -> Iterator[tuple[tuple[str, ...], int]]:
        """Yield the keys of each real array, and its position among the leaves."""
        places = jax.tree.unflatten(self.structure, range(len(self.leaves)))
        for location, position in jax.tree_util.tree_leaves_with_path(places):
            if eqx.is_inexact_array(self.leaves[position]):
                yield tuple(_step(key) for key in location), position


def _step(key) -> str:
    """Return the name of a dict key, a position or a field on parameter paths."""
    for kind in ("key", "idx", "name"):
        if hasattr(key, kind):
            return str(getattr(key, kind))
    return str(key)


def named_values(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by name, each an array or a `Tree` of arrays.

    A list of numbers becomes an array. **Raises:** `ValueError` for a name with a dot,
    or for numbers that are not real or not finite.
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
    """Return parameters by name in the user's structure, for a field or a law."""
    return {
        name: jax.tree.unflatten(value.structure, value.leaves)
        if isinstance(value, Tree)
        else value
        for name, value in zip(names, values, strict=True)
    }


def _real_in_tree(leaf):
    """Convert a real number to an array; flags and integer tables are unchanged."""
    number = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return real_array(leaf) if number or eqx.is_inexact_array(leaf) else leaf


def part_names(parts: Sequence) -> list[str]:
    """Return the unique name of each part on parameter paths, or its position."""
    seen, found = collections.Counter(), []
    for position, part in enumerate(parts):
        name = getattr(part, "name", None) or str(position)
        seen[name] += 1
        found.append(f"{name}-{seen[name]}" if seen[name] > 1 else name)
    return found


def _in_units(found: dict, unit_for: Callable[[str, str], str]) -> dict:
    """Convert the units of a part whose laws are not forces."""
    return {
        keys: (where, dataclasses.replace(entry, unit=unit_for(entry.unit, entry.unit)))
        for keys, (where, entry) in found.items()
    }


def _get(node, where):
    for step in where:
        node = node[step] if isinstance(step, int) else getattr(node, step)
    return node
