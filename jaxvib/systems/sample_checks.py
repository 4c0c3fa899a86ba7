"""Checks of the parameters of many samples, before anything is compiled."""

from collections.abc import Iterator, Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..foundation.arrays import is_concrete
from .impact import LinearSystem
from .parameters import parameter_at, parameters, replace


def check_samples(system: Any, values: Mapping[str, np.ndarray]) -> None:
    """Raise `ValueError` for an unknown path, or the first sample out of its range.

    `values`: by path, of shape (samples,). The first sample is checked as a whole.
    """
    for path, value in values.items():
        if not len(value):
            raise ValueError(f"{path} = []; allowed: one sample or more")
    replace(system, {path: value[0] for path, value in values.items()})
    for path, value in values.items():
        inside = parameter_at(system, path).allowed.contains(value)
        _refuse_first(~np.asarray(inside), system, values)


def check_batch(system: Any, systems: Any, values: Mapping[str, np.ndarray]) -> None:
    """Raise `ValueError` for the first sample whose numbers contradict each other.

    What `replace` checks of a single system: ranges of the results of formulas, and
    parts whose method `contradicts` returns whether their numbers do, of one or of a
    batch. **Arguments:** `systems`: `system` with the samples along a leading axis of
    all arrays; `values`: the samples, by path.
    """
    declared = parameters(system)
    results = parameters(systems) if system.formulas else {}
    for path, _ in system.formulas:
        inside = declared[path].allowed.contains(np.asarray(results[path].value))
        _refuse_first(~np.asarray(inside), system, values)
    for part in _parts(systems):
        _refuse_first(np.asarray(part.contradicts()), system, values)


def value_faults(system: Any) -> dict[str, Any]:
    """Return, by sentence, whether values of a system with traced ones are refused.

    What `replace` checks beside the range of each given value: results of formulas, and
    parts whose numbers contradict each other.
    """
    found = {}
    known = parameters(system)
    for path, _ in system.formulas:
        allowed = known[path].allowed
        found[f"{path} is not in {allowed}"] = ~allowed.contains(known[path].value)
    if (linear := getattr(system, "linear", None)) is not None:
        masses = jnp.diagonal(linear.matrices()[0])
        found["a degree of freedom has no mass"] = jnp.any(masses <= 0)
    for part in _parts(system):
        if not is_concrete(part) and not isinstance(part, LinearSystem):
            name = f"{type(part).__name__} {getattr(part, 'name', None) or ''}".strip()
            found[f"the values of {name} contradict each other"] = part.contradicts()
    return found


def _refuse_first(wrong: np.ndarray, system, values: Mapping[str, np.ndarray]) -> None:
    """Raise the error of the first sample that is wrong, naming the sample."""
    found = np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1))
    if not found.size:
        return
    first = int(found[0])
    sample = {path: value[first] for path, value in values.items()}
    try:
        replace(system, sample)
    except ValueError as error:
        given = ", ".join(f"{path} = {float(value):g}" for path, value in sample.items())
        raise ValueError(f"sample {first}, {given}: {error}") from None


def _parts(node: Any) -> Iterator[Any]:
    """Yield the parts of a system whose numbers may contradict each other."""
    if isinstance(node, tuple | list):
        for item in node:
            yield from _parts(item)
    elif isinstance(node, eqx.Module):
        if hasattr(node, "contradicts"):
            yield node
        for name in node.__dataclass_fields__:
            yield from _parts(getattr(node, name, None))
