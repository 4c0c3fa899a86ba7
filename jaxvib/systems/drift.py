"""Coordinates along which a system drifts: its motions repeat but for a shift."""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..foundation.arrays import (
    array_namespace,
    is_concrete,
    partition_arrays,
    stop_gradient,
    to_numpy,
)
from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import unknown_key
from ..foundation.types import AnyArray
from ..kernels.map_rows import map_rows
from .roles import Linear
from .system import System, state_shape

# Of the largest rate: a shift changes the rates by rounding only.
_UNCHANGED = 1e-8
# Sizes of the states, each with both signs, where rates are compared: of two opposite
# states at most one closes a contact. The shifts are as large as the states.
_SIZES = (1e-3, 0.1, 1.0)
_TIMES = 4  # at which rates are compared, per period

AnySystem = TypeVar("AnySystem", bound=System)


class Drift(NamedTuple):
    r"""A shift that maps motions to motions: $\varphi^t(s + a d) = \varphi^t(s) + a d$.

    `direction` $d$, as long as a state; `place`: the component by which $a$ is measured,
    $a = s_k / d_k$. `step`: the shifts $a$ are its multiples, such as turns of
    $2\pi$; any shift if None.
    """

    direction: tuple[float, ...]
    place: int
    step: float | None = None

    def coordinate(self, states: Float[Any, "*rows n"]) -> Float[Any, "*rows"]:
        """Return the shift $a$ of states from where the coordinate is zero."""
        return states[..., self.place] / self.direction[self.place]

    def shifted_back(
        self, states: Float[Any, "*rows n"], away: Float[Any, "*rows"]
    ) -> Float[Any, "*rows n"]:
        """Return states without their shift `away`, or the nearest multiple of `step`.

        The measured component is exact.
        """
        xp = array_namespace(states, away)
        if self.step is not None:
            away = self.step * xp.round(away / self.step)
        along = np.reshape(self.direction, (1,) * (states.ndim - 1) + (-1,))
        return states - away[..., None] * xp.asarray(along)


def drifting(
    system: AnySystem, along: str | Mapping[str, float], step: float | None = None
) -> AnySystem:
    r"""Return a system whose motions may repeat but for a shift along a coordinate.

    A capsule moves by the same distance in each period, a drill or a pendulum may turn:

    $$s(t + nT) = s(t) + a\,d$$

    with the shift's direction $d$, in which nothing holds the system, and the progress
    $a$ per period of the motion. All functions then treat states that differ by a shift
    as equal: `periodic_orbit`, `regimes`, `bifurcation_diagram` and `basins` find such
    motions, branches continue them, and orbits have a `progress`. States at t = 0 are
    given with a coordinate of zero, or less than half a step from it. The multiplier of
    a shift of any length, which would be 1, is given as 0; among the exponents of
    `lyapunov_exponents` its 0 remains.

        capsule = jv.drifting(capsule, {"capsule": 1.0, "mass": 1.0})
        rotor = jv.drifting(rotor, "angle", step=2 * np.pi)

    **Arguments:** `along`: the name of a displacement (or of a state), or some with
    their coefficients in $d$, the first of which measures the progress. `step`: the
    smallest shift that leaves the system as it is, if not all shifts do: $2\pi$ for the
    angle of a pendulum. The progress is then a multiple of it.

    **Raises:** `ValueError` for an unknown name, or a shift that changes the equation of
    motion; `TypeError` for a system of a class that cannot drift.

    >>> pushed = jv.forced_system(
    ...     lambda t, x, p: [x[1], jnp.cos(t) * (1 + jnp.sin(t)) - p["drag"] * x[1] + 0.1],
    ...     parameters={"drag": 0.5},
    ...     period=2 * np.pi,
    ...     dimension=2,
    ...     states=("place", "speed"),
    ... )
    >>> orbit = jv.periodic_orbit(jv.drifting(pushed, "place"))
    >>> round(float(orbit.progress), 6)  # 0.1 / 0.5 m/s for a period
    1.256637
    """
    names = [field.name for field in dataclasses.fields(system)]
    if "drift" not in names:
        raise TypeError(
            f"drift of {type(system).__name__}; allowed: a system of bodies, "
            "a forced_system or an autonomous_system"
        )
    given = {along: 1.0} if isinstance(along, str) else dict(along)
    drift = _drift_of(system, given, step)
    found = object.__new__(type(system))  # as unflattening does, without `__init__`
    for name in names:
        object.__setattr__(found, name, getattr(system, name))
    object.__setattr__(found, "drift", drift)
    check_drift(found)
    return found


def _drift_of(system: System, given: Mapping[str, float], step: float | None) -> Drift:
    """Return the drift along named components of a state."""
    names = system.state_names
    direction = np.zeros(len(names))
    for name, coefficient in given.items():
        if name not in names:
            raise ValueError(unknown_key("displacement", name, system.freedom_names))
        direction[names.index(name)] = coefficient
    if not given or not direction.all(where=direction != 0) or not direction.any():
        raise ValueError(f"along = {given!r}; allowed: names with coefficients but 0")
    if not np.isfinite(direction).all():
        raise ValueError(f"along = {given!r}; allowed: finite coefficients")
    if step is not None:
        check_range("step", step, "", Range(above=0.0))
    first = names.index(next(name for name in given if direction[names.index(name)]))
    entries = tuple(map(float, direction))
    return Drift(entries, first, None if step is None else float(step))


def check_drift(system: System) -> None:
    """Raise `ValueError` if a system is known to change under the shift of its drift."""
    if system.drift is None or not is_concrete(partition_arrays(system)[0]):
        return
    with jax.ensure_compile_time_eval():
        rates, gaps = to_numpy(_changes(system))
    if not (rates.any() or gaps.any()):
        return
    drift, names = system.drift, system.state_names
    named = {n: c for n, c in zip(names, drift.direction, strict=True) if c}
    whose = "a gap"
    if rates.any():
        whose = f"the derivative of {names[int(np.argmax(rates))]!r}"
    by = "a shift" if drift.step is None else f"a shift by {drift.step:g}"
    raise ValueError(
        f"drift along {named}: {by} changes {whose}; allowed: a direction in which "
        f"nothing holds the system{_suggestion(system)}"
    )


def _suggestion(system: System) -> str:
    """Return directions in which nothing holds a mechanical system, as text."""
    if not (system.mechanical and isinstance(system, Linear)):
        return ", or the `step` of one in which it repeats"
    parts = (*system.contacts, *system.springs)
    stiffness = np.asarray(system.matrices()[2])
    rows = [*stiffness, *(np.asarray(part.direction) for part in parts)]
    rows = [row / np.linalg.norm(row) for row in rows if np.any(row)]
    free = np.eye(len(stiffness))
    if rows:
        _, sizes, right = np.linalg.svd(np.stack(rows))
        free = right[np.sum(sizes > 1e-10 * sizes[0]) :]
    if len(free) != 1:
        return ", of which there is none" if not len(free) else ""
    share = free[0] / free[0][np.argmax(np.abs(free[0]))]
    named = zip(system.freedom_names, share.round(9).tolist(), strict=True)
    return f", such as { {name: value for name, value in named if value} }"


def is_invariant(system: System) -> Bool[Any, ""]:
    """Return whether a shift leaves the rates and the gaps of a system as they are."""
    rates, gaps = _changes(system)
    return ~(jnp.any(rates) | jnp.any(gaps))


def _changes(system: System) -> tuple[Bool[Array, " n"], Bool[Array, " contacts"]]:
    """Return which rates and which gaps a shift changes, at some times and states."""
    drift, equation = system.drift, system.equation()
    assert drift is not None
    shape = state_shape(system)
    rng = np.random.default_rng(3)
    some = np.stack([size * rng.normal(size=shape) for size in _SIZES])
    shifts = np.full(len(_SIZES), drift.step) if drift.step else 0.7 * np.array(_SIZES)
    moved = some, some + shifts[:, None] * np.asarray(drift.direction)
    lead = shifts[:, None] * np.asarray(drift.direction)
    states = jnp.asarray(np.concatenate([some, -some]))
    moved = states + jnp.asarray(np.concatenate([lead, lead]))
    period = jnp.zeros(()) if system.autonomous else jnp.asarray(system.period(), float)
    times = period * jnp.asarray((np.arange(_TIMES) * 0.6180339887498949 + 0.1) % 1.0)

    def differences(pair):
        here, there = pair

        def at(time):
            rate = equation.vector_field(time, here)
            return jnp.abs(equation.vector_field(time, there) - rate), jnp.abs(rate)

        apart, size = map_rows(at, times)
        gap = equation.penetrations(here)
        gaps = jnp.abs(equation.penetrations(there) - gap), jnp.abs(gap)
        return *(jnp.max(part, axis=0) for part in (apart, size)), *gaps

    apart, size, gaps, depth = map_rows(differences, (states, moved))
    changed = jnp.any(~(apart <= _UNCHANGED * size), axis=0)
    return changed, jnp.any(~(gaps <= _UNCHANGED * depth), axis=0)


def modulo_drift(system: System, states: AnyArray, start: AnyArray | None = None) -> Any:
    """Return states (..., n) shifted back to the drift coordinate of `start`, or to 0.

    `start` is a constant of this: after a period a motion returns to the coordinate
    where it began, whose derivative is then 0, and its monodromy matrix has the
    multiplier 0 instead of 1 in the direction of the shift.
    """
    drift = system.drift
    if drift is None:
        return states
    away = drift.coordinate(states)
    if start is not None:
        away = away - stop_gradient(drift.coordinate(start))
    return drift.shifted_back(states, away)


def across_drift(system: System, changes: AnyArray) -> Any:
    """Return changes (..., n) of a state without their part along the drift.

    Unchanged if shifts are multiples of a step: no change of a state is such a shift.
    """
    drift = system.drift
    if drift is None or drift.step is not None:
        return changes
    return drift.shifted_back(changes, drift.coordinate(changes))


def progress_between(drift: Drift, start: AnyArray, end: AnyArray) -> Any:
    """Return the shift from a state to another that is equal but for it."""
    lead = drift.coordinate(end - start)
    if drift.step is None:
        return lead
    return drift.step * array_namespace(lead).round(lead / drift.step)
