"""What is wanted of a motion, and what is known of it: asked and answered once."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ..ensemble import Reason
from .measure import Measure


class Want(eqx.Module):
    """What is wanted of a motion from `t0` to `t1` besides its end.

    `rtol`: the relative tolerance. The `integral` of the rates of a `measure`,
    a class. `periods`: a number of motions
    of equal length, each from 0 to t1, which follow one another: the states after each.
    An end, an integral and the states after periods can be differentiated, to any
    order; what follows cannot.

    `times`: ascending, from t0 to t1, at which states, which can be differentiated, and
    contact forces are wanted. `forces`: whether those at the end are.
    `grazing`: the depth (m) up to which a touch is not counted as a contact: with it
    contacts and displacements are observed, from the `observables` before the motion if
    there are any. `monodromy`: whether the sensitivities to the state at t0 are wanted;
    `along`: a change of that state, whose effect is. `longest`: the longest step, s,
    determined automatically if None.
    """

    rtol: Any
    times: Any = None
    grazing: Any = None
    observables: Any = None
    along: Any = None
    longest: Any = None
    periods: int | None = eqx.field(static=True, default=None)
    monodromy: bool = eqx.field(static=True, default=False)
    forces: bool = eqx.field(static=True, default=False)
    measure: type[Measure] | None = eqx.field(static=True, default=None)

    @property
    def differentiable(self) -> bool:
        """Return whether everything that is wanted can be differentiated."""
        others = self.times, self.grazing, self.observables, self.along
        return all(each is None for each in others) and not (self.monodromy or self.forces)


class Motion(NamedTuple):
    """A motion: its state at the end, a reason code, and the number of steps taken.

    And what else was wanted, else None: `observables`; the `monodromy` matrix, whose
    columns are the sensitivities to the state at the start, (n, n); the effect of a
    change, (n,) or (periods, n); states, (times, n) or (periods, n); contact forces at
    the end, (contacts,), or at times, (times, contacts), N, with the holding forces of
    hard stops; the integral since t0, (rates,) or (times, rates). A failed motion has
    NaN as its state.
    """

    state: Any
    result: Any
    steps: Any = None
    observables: Any = None
    monodromy: Any = None
    along: Any = None
    states: Any = None
    forces: Any = None
    integral: Any = None


def reason_code(final: Array, finite: Any, stops: Array) -> Int[Array, ""]:
    """Return the reason code of a motion from `finite` input that `stops` early or not."""
    code = jnp.where(stops, Reason.STEP_LIMIT, Reason.SUCCESS)
    code = jnp.where(jnp.all(jnp.isfinite(final)), code, Reason.STEP_UNDERFLOW)
    return jnp.where(finite, code, Reason.BAD_PARAMETER).astype(jnp.int32)


def in_succession(go: Callable[..., Motion], state: Array, count: int) -> Motion:
    """Return `count` motions, each from where the one before has ended, as one.

    `go(state, going)` returns one with its `states`; `going`: 1, and 0 after a failure.
    """

    def step(last, _):
        state, result = last
        found = go(state, jnp.where(result == Reason.SUCCESS, 1.0, 0.0))
        result = jnp.where(result == Reason.SUCCESS, found.result, result)
        return (found.state, result), found.states

    begun = jnp.asarray(state, float), jnp.asarray(Reason.SUCCESS, jnp.int32)
    (end, result), states = jax.lax.scan(step, begun, length=count)
    return Motion(end, result, states=states.reshape(-1, *state.shape))
