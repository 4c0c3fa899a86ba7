"""Quantities of the points of a branch, by which it is drawn."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ... import linalg
from ...drawing.labels import shared, with_unit
from ...drawing.polyline import BranchCurves
from ...dynamics.flow import simulate
from ...foundation.quantity import Range, check_range
from ...systems.base.system import System
from ...systems.parameters import unknown_key
from ..equations.point import at

Branch = Any  # its module imports this one
Measure = str | Callable[[Any], Any] | None
Components = Sequence[str | int] | None
MEASURES = ("amplitude", "state", "range", "norm", "period")
_POINTS = 1025  # of one period: highest and lowest value within 5e-6 of their distance
_CLOSED = 1e-3  # largest relative distance of the ends of a period


def measured(
    branch: Branch, measure: Measure, components: Components, system: System | None
) -> BranchCurves:
    """Return the curves of a branch, see `AbstractBranch.plot`."""
    found = branch.orbits
    moving = hasattr(found, "period")
    if measure is None:
        measure = "amplitude" if moving else "state"
    if callable(measure):
        return _function(branch, measure)
    if measure == "period" and not moving:
        raise ValueError(f"measure = 'period' of {branch.noun}, which have none")
    if measure in ("amplitude", "range"):
        return _extreme_values(branch, measure, components, system)
    if measure == "state":
        names, units = found.labels.names, found.labels.units
        chosen, names, units = _chosen(names, units, branch.states.shape[1], components)
        values = np.asarray(branch.states)[:, chosen, None]
        label = _label("state", names, units)
        return BranchCurves(label, names, values, lambda point: _state(point)[chosen, None])
    if measure == "norm":
        return _norm(branch, components, system)
    return _field(branch, measure)


def _function(branch: Branch, measure: Callable) -> BranchCurves:
    values = np.array([measure(_point(branch, i)) for i in range(len(branch.parameter))])
    if values.dtype.kind not in "fiub" or values.ndim > 2:
        shape = f"shape {values.shape[1:]} and type {values.dtype}"
        raise ValueError(f"measure returns {shape}; allowed: a real number or several")
    name = getattr(measure, "__name__", "")
    return _columns("measure" if name in ("", "<lambda>") else name, "", values)


def _field(branch: Branch, name: str) -> BranchCurves:
    fields = {each.name: each for each in dataclasses.fields(branch.orbits)}
    known = {
        key for key, field in fields.items() if "axes" in field.metadata
        and len(field.metadata["axes"]) < 2
        and not np.iscomplexobj(getattr(branch.orbits, key))
    }  # fmt: skip
    if name not in known:
        raise ValueError(unknown_key("measure", name, (*MEASURES, *sorted(known))))
    unit, words = (fields[name].metadata[key] for key in ("unit", "description"))
    values = np.asarray(getattr(branch.orbits, name), float)

    def period_at(point):
        return np.full((1, 1), float(point.period)) if hasattr(point, "of") else None

    found = _columns(words, unit, values)
    return found._replace(at=period_at) if name == "period" else found


def _columns(words: str, unit: str, values: np.ndarray) -> BranchCurves:
    values = values.reshape(len(values), -1, 1)
    count = values.shape[1]
    names = tuple(f"{words} {i}" for i in range(count)) if count > 1 else (words,)
    return BranchCurves(with_unit(words, unit), names, values)


def _extreme_values(branch: Branch, measure: str, components, system) -> BranchCurves:
    """Return amplitudes, or the lowest and highest values; equilibria rest."""
    found, states = branch.orbits, np.asarray(branch.states)
    moving = hasattr(found, "amplitude")
    count = found.amplitude.shape[1] if moving else states.shape[1]
    labels = found.labels
    names, units = labels.freedoms, labels.freedom_units
    if not moving:
        names, units = labels.names, labels.units
    chosen, names, units = _chosen(names, units, count, components)
    if measure == "amplitude":
        values = np.asarray(found.amplitude if moving else np.zeros_like(states))[..., None]
        label = _label("amplitude, (max - min)/2", names, units, "amplitude of ")
    else:
        values = _range(branch, system, count) if moving else states[..., None]
        label = _label("lowest and highest value", names, units, "lowest and highest ")

    def at_rest(point):
        if moving and point.kind != "hopf":
            return None
        state = _state(point)[chosen, None]
        return np.zeros_like(state) if measure == "amplitude" else state

    return BranchCurves(label, names, values[:, chosen], at_rest)


def _range(branch: Branch, system: System | None, count: int) -> np.ndarray:
    """Return the lowest and the highest values, (points, freedoms, 2)."""
    found = branch.orbits
    if hasattr(found, "highest"):
        return np.stack([found.lowest, found.highest], axis=-1)
    motions = _motions(branch, system, "range")[:, :, :count]
    return np.stack([motions.min(axis=1), motions.max(axis=1)], axis=-1)


def _norm(branch: Branch, components, system) -> BranchCurves:
    found, states = branch.orbits, np.asarray(branch.states)
    labels = found.labels
    chosen, *named = _chosen(labels.names, labels.units, states.shape[1], components)
    if not hasattr(found, "period"):
        norms = linalg.norm(states[:, chosen])
        label = _label("norm of the state", *named, "norm of ")
        return BranchCurves(
            label,
            ("norm",),
            norms[:, None, None],
            lambda point: linalg.norm(_state(point)[chosen])[None, None],
        )
    # The trapezoidal rule over a period, whose ends coincide.
    squares = np.sum(_motions(branch, system, "norm")[:, 1:, chosen] ** 2, axis=2)
    norms = np.sqrt(np.mean(squares, axis=1))
    label = _label("norm of the state, root mean square", *named, "root mean square of ")
    values = norms[:, None, None]
    return BranchCurves(label, ("norm",), values)


def _motions(branch: Branch, system: System | None, measure: str) -> np.ndarray:
    """Return states over one period (points, times, n), NaN where it does not close."""
    if system is None:
        raise ValueError(
            f"system = None for measure = {measure!r} of {branch.noun}; allowed: the "
            "branch's system, whose motions are computed"
        )
    parameters, periods = (np.asarray(x) for x in (branch.parameter, branch.orbits.period))
    states = []
    for i, (value, period) in enumerate(zip(parameters, periods, strict=True)):
        times = np.linspace(0.0, period, _POINTS)
        there = at(system, branch.path, value)
        motion = simulate(there, branch.states[i], times, throw=False)
        states.append(np.asarray(motion.states))
    motions = np.stack(states)
    apart = np.abs(motions[:, -1] - motions[:, 0]).max(axis=1)
    closed = apart <= _CLOSED * np.ptp(motions, axis=1).max(axis=1)
    if not closed.any():
        raise ValueError(
            "system: the branch's states do not start periodic motions of it; allowed: "
            "the system of the branch"
        )
    return np.where(closed[:, None, None], motions, np.nan)


def _chosen(names, units, count: int, components) -> tuple[list[int], tuple, tuple]:
    """Return positions, names and units of the chosen of `count` components."""
    names = names or tuple(f"component {i}" for i in range(count))
    if components is None:
        places = list(range(count))
    elif isinstance(components, str) or not len(components):
        raise ValueError(
            f"components = {components!r}; allowed: names or numbers in a list"
        )
    else:
        places = [_place(each, names) for each in components]
    return places, tuple(names[i] for i in places), tuple(units[i] for i in places if units)


def _place(component: str | int, names: tuple[str, ...]) -> int:
    if isinstance(component, str):
        if component not in names:
            raise ValueError(unknown_key("component", component, names))
        return names.index(component)
    check_range("component", component, "", Range(at_least=0, at_most=len(names) - 1))
    return int(component)


def _label(words: str, names, units, before: str = "") -> str:
    return shared(f"{before}{names[0]}" if len(names) == 1 else words, units)


def _state(point) -> np.ndarray:
    return np.asarray(point.state)


def _point(branch: Branch, i: int) -> Any:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[i], branch.orbits)
