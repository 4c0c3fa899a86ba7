"""Coordinates in which a system drifts: its motions are periodic up to a shift."""

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
from ..kernels.lower.tangents import map_rows
from .base.roles import Linear
from .base.system import System, state_shape
from .base.system_repr import with_field
from .loads import time_varying
from .variation import varies

# Of the rates, and of those of a unit of the shift: a shift changes them by rounding only.
_UNCHANGED = 1e-11
# (size of a state, shift) where rates are compared, each with both signs of the state: of
# two opposite states at most one closes a contact. No two shifts have a common divisor,
# lest a system that repeats in steps passes for one that is free.
_TRIALS = (
    (1e-3, 0.6180339887498949e-3), (0.1, 0.07548776662466927), (1.0, 0.5698402909980532),
    (1.0, 27.319173), (1.0, -31.830988), (1.0, 2718.281828), (1.0, -3141.592653),
)  # fmt: skip
_STEPS = (1, 1, 1, 3, -4, 25, -30)  # the same shifts where they are multiples of a step
_EXACT = 1e-13  # of the sum of a row's terms: rounding of a stiffness matrix
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
    r"""Return a system whose motions may be periodic up to a shift of a coordinate.

    A capsule moves by the same distance in each period, a drill or a pendulum may turn:

    $$s(t + nT) = s(t) + a\,d$$

    with the shift's direction $d$, in which the system is not restrained, and the progress
    $a$ per period of the motion. All functions then treat states that differ by a shift
    as equal: `periodic_orbit`, `regimes`, `bifurcation_diagram` and `basins` find such
    motions, branches continue them, and orbits have a `progress`. States at
    t = 0 are given with a coordinate of zero, or less than half a step from it. The
    multiplier of a shift of any length, which would be 1, is given as 0; among the
    exponents of `lyapunov_exponents` its 0 remains.

        capsule = jv.drifting(capsule, {"capsule": 1.0, "mass": 1.0})
        rotor = jv.drifting(rotor, "angle", step=2 * np.pi)

    **Arguments:** `along`: the name of a displacement (or of a state), or some with
    their coefficients in $d$, the first of which measures the progress. `step`: the
    smallest shift under which the system is invariant, unless every one is: $2\pi$ for the
    angle of a pendulum. The progress is then a multiple of it.

    **Raises:** `ValueError` for an unknown name, a coefficient or step out of range, a
    shift that changes the equation of motion, or a step of a system that is invariant
    under every shift; `TypeError` for a system of a class that cannot drift. Matrices are
    compared exactly; all else at some states, and shifts of up to some thousand units.

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
    drift = _drift_of(system, _coefficients(along), step)
    found = with_field(system, "drift", drift)
    check_drift(found)
    of_any_length = with_field(system, "drift", drift._replace(step=None))
    if drift.step is not None and _is_free(of_any_length):
        raise ValueError(
            f"step = {drift.step:g}, but the system is invariant under a shift of any "
            "length; allowed: None"
        )
    return found


def _is_free(system: System) -> bool:
    """Return whether a system is known not to change under the shift of its drift."""
    try:
        check_drift(system)
    except ValueError:
        return False
    return is_concrete(partition_arrays(system)[0])


def _coefficients(along: object) -> dict[str, float]:
    """Return the coefficients of components by name. **Raises:** `ValueError`."""
    given = {along: 1.0} if isinstance(along, str) else along
    numbers = isinstance(given, Mapping) and all(
        isinstance(name, str)
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and np.isfinite(value)
        and value
        for name, value in given.items()
    )
    if not numbers or not given:
        raise ValueError(
            f"along = {along!r}; allowed: a name, or names with finite non-zero "
            "coefficients, such as {'capsule': 1.0}"
        )
    assert isinstance(given, Mapping)
    return {name: float(value) for name, value in given.items()}


def _drift_of(system: System, given: Mapping[str, float], step: float | None) -> Drift:
    """Return the drift along named components of a state."""
    names = system.state_names
    direction = np.zeros(len(names))
    for name, coefficient in given.items():
        if name not in names:
            raise ValueError(unknown_key("name in along", name, names))
        direction[names.index(name)] = coefficient
    if step is not None:
        if not is_concrete(step):
            raise ValueError("step is traced; allowed: a concrete number")
        check_range("step", step, "", Range(above=0.0))
    first = names.index(next(iter(given)))
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
        f"the system is not restrained{_suggestion(system)}"
    )


def _suggestion(system: System) -> str:
    """Return directions in which a mechanical system is not restrained, as text."""
    if not (system.mechanical and isinstance(system, Linear)):
        return ", or the `step` of one in which it is periodic"
    parts = [np.asarray(part.rows) for part in (*system.contacts, *system.springs)]
    stiffness = np.asarray(system.matrices()[2])
    rows = np.concatenate([stiffness, *parts])
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
    some = np.stack([size * rng.normal(size=shape) for size, _ in _TRIALS])
    shifts = np.array([shift for _, shift in _TRIALS])
    if drift.step is not None:
        shifts = drift.step * np.array(_STEPS)
    lead = shifts[:, None] * np.asarray(drift.direction)
    allowed = _UNCHANGED * jnp.maximum(1.0, jnp.abs(jnp.asarray(np.tile(shifts, 2))))
    states = jnp.asarray(np.concatenate([some, -some]))
    moved = states + jnp.asarray(np.concatenate([lead, lead]))
    still = system.autonomous or not (time_varying(system.loads) or varies(system))
    period = jnp.zeros(()) if still else jnp.asarray(system.period(), float)
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
    changed = jnp.any(~(apart <= allowed[:, None] * size), axis=0)
    return changed | _restrained(system), jnp.any(
        ~(gaps <= allowed[:, None] * depth), axis=0
    )


def _restrained(system: System) -> Any:
    """Return which components of a state are held by the stiffness matrix, (n,).

    A soft spring beside stiff ones changes rates by less than their rounding.
    """
    assert system.drift is not None
    direction = jnp.asarray(system.drift.direction)
    restrained = jnp.zeros(direction.shape, bool)
    if not (system.mechanical and isinstance(system, Linear)) or system.drift.step:
        return restrained
    stiffness = system.matrices()[2]
    number = stiffness.shape[0]
    terms = stiffness * direction[None, :number]
    rounding = _EXACT * jnp.sum(jnp.abs(terms), axis=1)
    holds = jnp.abs(jnp.sum(terms, axis=1)) > rounding
    return restrained.at[number : 2 * number].set(holds)


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
