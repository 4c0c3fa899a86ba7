"""What every engine asks of an equation of motion."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Real

Time = Real[Array, ""] | float


class Equation(eqx.Module):
    r"""The equation $\dot y = f(t, y)$ of a system, ready to be evaluated.

    To add one, write an `equinox.Module` whose leaves are the numbers that $f$ needs, with
    what does not depend on time and state (an inverse, say) computed once, and a
    `vector_field` of scalar mathematics: `jax.vmap` makes the ensemble. Everything else
    has a default, that of a field without contacts of which nothing else is known.

    Where bodies touch, write all of `penetrations`, `closing_rates`, `contact_forces`,
    `contact_motion` and `contact_reach`; where contacts are damped, `lost_powers` and
    `damped_contacts`; where states hold velocities, `displacements` and `displaced`. What
    is known of the field is told by `divergence`, `contraction`, `hard_contacts`,
    `may_pulse`, `may_jump`, `next_break`, `repeats_in` and `largest_step`.
    """

    largest_step = None  # in periods, where a user gives one
    frictions = ()
    springs = ()

    @abc.abstractmethod
    def vector_field(self, time: Time, state: Float[Array, " state"]) -> Array:
        """Return the state's rate of change at a time, s."""

    def displacements(self, time: Time, state, rate) -> tuple[Array, Array, Array]:
        """Return what has an amplitude, its rate and its second rate at a time, s."""
        _, curve = jax.jvp(self.vector_field, (time, state), (jnp.ones_like(time), rate))
        return state, rate, curve

    def displaced(self, state: Float[Array, " state"]) -> Float[Array, " n"]:
        """Return what of a state has an amplitude: all of it."""
        return state

    def divergence(self) -> Float[Array, ""]:
        """Return that of the vector field, 1/s, NaN where it is no constant."""
        return jnp.asarray(jnp.nan)

    def contraction(self, onsets: Int[Array, " contacts"]) -> Float[Array, ""]:
        """Return the determinant of the impacts, by each contact's onsets: 1 of none."""
        return jnp.ones(())

    def penetrations(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return each contact's penetration, m, negative while apart: there are none."""
        return jnp.zeros(0, state.dtype)

    def closing_rates(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the rate of each contact's penetration, m/s: there are none."""
        return jnp.zeros(0, state.dtype)

    def contact_forces(self, penetrations: Array, rates: Array) -> Array:
        """Return each contact's force, N, at penetrations, m, and their rates, m/s."""
        return penetrations

    def lost_powers(self, penetrations: Array, rates: Array) -> Array:
        """Return what each contact loses, W, at penetrations, m, and their rates, m/s."""
        return jnp.zeros_like(penetrations)

    def forces_at(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return each contact's force, N, in a state; NaN where that is not known."""
        depths = self.penetrations(state)
        forces = self.contact_forces(depths, self.closing_rates(state))
        return jnp.where(jnp.isnan(depths), depths, forces)

    def contact_motion(self, state, rate) -> tuple[Array, Array, Array]:
        """Return z (m), dz/dt and d2z/dt2 of each contact from a state and its rate."""
        z = self.penetrations(state)
        return z, z, z

    def contact_reach(self, sizes: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return how far displacements of given sizes move each contact at most, m."""
        return jnp.zeros(0, sizes.dtype)

    def hard_contacts(self) -> tuple[bool, ...]:
        """Return which contacts act by impulses."""
        return ()

    def damped_contacts(self) -> tuple[bool, ...]:
        """Return which contacts lose energy by the rate of their penetration."""
        return ()

    def may_pulse(self) -> bool:
        """Return whether the field may change in a time that its state does not tell."""
        return True

    def may_jump(self) -> bool:
        """Return whether the field may jump where its state passes something."""
        return True

    def next_break(self, time: Time) -> Float[Array, ""] | None:
        """Return when the field breaks next after a time, s; None if it never does."""
        return None

    def repeats_in(self, span: Time) -> Time:
        """Return the time in which the field repeats, s: a `span` if none is known."""
        return span
