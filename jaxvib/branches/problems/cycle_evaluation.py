"""Evaluation of points on branches of cycles, with errors from two tolerances."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ... import linalg
from ...dynamics.flow import observe_with_monodromy
from ...orbits.equilibrium import FIELD_ROUNDING
from ...orbits.limit_cycle import LimitCycle, cycle_of
from ...orbits.shooting.multipliers import multiplier_error
from ...systems.base.system import System
from ...systems.drift import across_drift, modulo_drift
from ...systems.fields import state_size
from ..equations.corrector import LaneData, joined
from ..equations.cycle_equations import across, durations, graded_product

# Components are scaled by at least this part of their size on the branch.
_NEGLIGIBLE = 1e-10


class _Round(NamedTuple):
    """The flow of all segments of a cycle at one tolerance.

    `monodromy` of the whole cycle; in units of the motion, the `trivial` multiplier and
    the matrix of the `others`; changes of (state, period): the remaining Newton `step`,
    and `rounded` from rounding errors. `progress`: the shift along a drift after that
    step, and `progress_rounded` from rounding errors; None without a drift.
    """

    result: Any
    highest: Any
    lowest: Any
    residual: Any
    monodromy: Any
    trivial: Any
    others: Any
    step: Any
    rounded: Any
    condition: Any
    progress: Any
    progress_rounded: Any


def _round(system, states, times, sizes, tolerance) -> _Round:
    """Integrate the segments from their `states` over their `times`."""
    size = states.shape[1]
    period = jnp.sum(times)

    def field(states):
        rates = jax.vmap(system.equation().vector_field, (None, 0))(0.0, states)
        return across_drift(system, rates)

    def segment(state, time):
        return observe_with_monodromy(system, state, 0.0, time, rtol=tolerance, grazing=0.0)

    seen = jax.vmap(segment)(states, times)
    units = jnp.maximum(jnp.max(jnp.abs(states), axis=0), _NEGLIGIBLE * sizes)
    blocks = jnp.swapaxes(seen.monodromy, 1, 2)
    blocks = jnp.swapaxes(across_drift(system, blocks), 1, 2)
    blocks = blocks * units[None, None] / units[None, :, None]
    rates = field(states) / units[None]
    trivial, others = across(blocks, rates)
    along = rates.reshape(-1) / linalg.norm(rates.reshape(-1))
    # A change of the period is divided among the segments in proportion.
    faster = field(seen.state) * times[:, None] / units[None]
    matrix = jnp.column_stack([joined(blocks, size), faster.reshape(-1)])
    solver = linalg.inverse(jnp.vstack([matrix, jnp.append(along, 0.0)]))
    following = jnp.roll(states, -1, axis=0)
    missed = following - modulo_drift(system, seen.state, following)
    step = solver @ jnp.append((missed / units[None]).reshape(-1), 0.0)
    rounded = FIELD_ROUNDING * (jnp.sum(jnp.abs(blocks), axis=-1) + 1.0).reshape(-1)
    rounded = jnp.abs(solver) @ jnp.append(rounded, 0.0)

    def of_start(moved):
        return jnp.append(moved[:size] * units, moved[-1] * period)

    def behind(product, block):
        return block @ product, None

    monodromy, _ = jax.lax.scan(behind, jnp.eye(size), blocks)
    observables = seen.observables
    progress = _progress(system, states, times, seen, units, step, rounded)
    return _Round(
        jnp.max(seen.result),
        jnp.max(observables.highest, axis=0),
        jnp.min(observables.lowest, axis=0),
        jnp.max(jnp.abs(missed)),
        monodromy * units[:, None] / units[None],
        trivial,
        graded_product(others)[0],
        of_start(step),
        of_start(rounded),
        linalg.condition(solver),
        *progress,
    )


def _progress(system, states, times, seen, units, step, rounded) -> tuple[Any, Any]:
    """Return `progress` and `progress_rounded` of a round, see `_Round`."""
    drift = system.drift
    if drift is None:
        return None, None
    lead = jnp.sum(drift.coordinate(seen.state - states))
    if drift.step is not None:
        return drift.step * jnp.round(lead / drift.step), jnp.zeros(())
    identity = jnp.eye(states.shape[1])[None]
    blocks = jnp.swapaxes(seen.monodromy - identity, 1, 2)
    slopes = drift.coordinate(blocks) * units[None]
    field = system.equation().vector_field
    speeds = drift.coordinate(jax.vmap(field, (None, 0))(0.0, seen.state))
    slopes = jnp.append(slopes.reshape(-1), speeds @ times)
    return lead + slopes @ step, jnp.abs(slopes) @ rounded


def cycle_at(system: System, data: LaneData, x: Array) -> LimitCycle:
    """Return the cycle of a scaled point, with errors from two tolerances."""
    size = state_size(system)
    sizes = data.units[:size]
    states = x[:-2].reshape(-1, size) * sizes[None]
    times = durations(system, data, x)
    # Sequential, so that `_round` is compiled once.
    tolerances = jnp.stack([jnp.asarray(data.rtol, float), data.tight])
    round_ = functools.partial(_round, system, states, times, sizes)
    every = jax.lax.map(round_, tolerances)
    coarse, fine = (jax.tree.map(lambda leaf, i=i: leaf[i], every) for i in range(2))
    moved = jnp.abs(coarse.step - fine.step) + jnp.abs(fine.step) + fine.rounded
    error = multiplier_error(fine.others, fine.others - coarse.others)
    errors = {
        "state_error": jnp.max(moved[:size]),
        "period_error": moved[size],
        "monodromy_error": linalg.spectral_norm(fine.monodromy - coarse.monodromy),
        "multiplier_error": error + jnp.abs(fine.trivial - 1),
    }
    fields = {
        "state": states[0],
        "period": jnp.sum(times),
        "monodromy": fine.monodromy,
        "highest": fine.highest,
        "lowest": fine.lowest,
        "residual": fine.residual,
        "condition": fine.condition,
        "result": fine.result,
    }
    if system.drift is not None:
        fields["progress"] = fine.progress
        between = jnp.abs(coarse.progress - fine.progress) + fine.progress_rounded
        errors["progress_error"] = between
    parts, evidenced = (fine.trivial, fine.others), data.tight < data.rtol
    return cycle_of(system, fields, parts, errors, evidenced, fine.result)
