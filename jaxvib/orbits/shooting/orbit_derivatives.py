"""Quantities of a periodic motion as differentiable functions of the parameters."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...dynamics.engines import Engine
from ...dynamics.flow import flow
from ...dynamics.observables import Observables, top, tracked_contacts
from ...kernels.lower.tangents import map_rows
from ...systems.base.system import System
from ...systems.drift import modulo_drift, progress_between
from .implicit import KernelFunction, with_derivative_of


class Revolution(NamedTuple):
    """A periodic motion: its system, state at t = 0, period, s, and tolerance."""

    system: System
    state: Float[Array, " n"]
    period: Any
    rtol: Any

    def after(self, time: Array, engine: str | Engine = "auto") -> Float[Array, " n"]:
        """Return the state at a time, s."""
        return flow(self.system, self.state, 0.0, time, rtol=self.rtol, engine=engine)

    def returned(self, engine: str | Engine = "auto") -> Float[Array, " n"]:
        """Return the state after the period, shifted back along a drift."""
        return modulo_drift(self.system, self.after(self.period, engine), self.state)

    def progress(self, engine: str | Engine = "auto") -> Float[Array, ""]:
        """Return the shift of the state along the drift in a period."""
        drift: Any = self.system.drift
        return progress_between(drift, self.state, self.after(self.period, engine))


def differentiable_values(
    revolution: Callable[..., Revolution],
    where: tuple,
    monodromy: Array,
    observables: Observables,
    forces: Array,
    times: Array,
    engine: str | Engine = "auto",
    key: tuple | None = None,
) -> tuple[Array, Array, Observables]:
    """Return monodromy, forces and observables with derivatives with respect to `where`.

    `revolution(*where)`: the motion as a function of its unknowns and of the parameters;
    `forces`: the largest one of each contact, N, at `times`, s. Forces and displacements
    use one mapped flow to the times of their extremes, compiled once; one component of
    each time's vector is used. `key`: on which `revolution` depends, for derivatives of
    the extremes by a kernel.
    """
    contacts, size = forces.shape[0], observables.highest.shape[0]
    # Counted from the end: displacements follow the forces, which may not be wanted.
    places = np.concatenate([np.arange(contacts), np.arange(2 * size) % size - size])
    values = jnp.concatenate([forces, observables.highest, observables.lowest])
    times = jnp.concatenate([times, observables.highest_time, observables.lowest_time])

    def monodromy_of(*where):  # differentiating it takes second derivatives
        motion = revolution(*where)

        def end(state):
            return motion._replace(state=state).returned(engine)

        return jax.jacfwd(end)(motion.state)

    def extremes_at(times, *where):
        motion = revolution(*where)
        rows = map_rows(lambda time: _forces_and_displacements(motion, time, engine), times)
        where_in = jnp.asarray(places % rows.shape[1])
        return jnp.take_along_axis(rows, where_in[:, None], axis=1)[:, 0]

    monodromy = with_derivative_of(monodromy_of, monodromy, where)
    extremes = (
        extremes_at if key is None else KernelFunction(extremes_at, (key, "extremes"))
    )
    found = with_derivative_of(extremes, values, (times, *where))
    forces, highest, lowest = jnp.split(found, [contacts, contacts + size])
    return monodromy, forces, observables._replace(highest=highest, lowest=lowest)


def _forces_and_displacements(motion: Revolution, time, engine):
    """Return the contact forces and displacements at a time of an extreme."""
    equation, there = motion.system.equation(), motion.after(time, engine)
    rate = equation.vector_field(time, there)
    depths, speeds, accelerations = equation.contact_motion(there, rate)
    # At the largest force of a tracked contact its penetration may still grow.
    tracked = tracked_contacts(equation)
    depths = jnp.where(tracked, depths, top(depths, speeds, accelerations))
    forces = equation.at(time).contact_forces(depths, speeds)
    return jnp.concatenate([forces, top(*equation.displacements(time, there, rate))])
