"""Interface of equations of motion."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Real

from ...foundation.types import EMPTY, AnyArray, Number

Time = Real[AnyArray, ""] | float


class Equation(eqx.Module):
    r"""The equation $\dot y = f(t, y)$ of a system, ready to be evaluated.

    To add one, write an `equinox.Module` whose leaves are the numbers that $f$ needs,
    with terms independent of time and state (such as an inverse) precomputed, and a
    `vector_field` of one state: batches use `jax.vmap`. All other methods have
    defaults, for a field without contacts and without further known properties.

    For contacts, implement all of `penetrations`, `closing_rates`, `contact_forces`,
    `contact_motion` and `contact_reach`; for damped contacts, `damped_contacts`,
    `damping_powers` and `damping_energies`; for states with velocities,
    `displacements` and `displaced`.
    Field properties are declared by `divergence`, `contraction`, `hard_contacts`,
    `may_pulse`, `may_jump`, `next_breakpoint`, `repeats_in` and `largest_step`; forces
    that vary in time by `at`, `factors` and `varying_contacts`.
    """

    largest_step = None  # in periods, if set by a user
    frictions = EMPTY
    springs = EMPTY

    @abc.abstractmethod
    def vector_field(self, time: Time, state: Float[Array, " state"]) -> Array:
        """Return the state's rate of change at a time, s."""

    def at(self, time: Number) -> "Equation":
        """Return the equation with the coefficients of its forces at a time, s.

        Forces of contacts at a time are those of this equation.
        """
        return self

    def factors(self, time: Time) -> Float[Array, " varying"]:
        """Return the factors of all forces that vary in time (default: none)."""
        return jnp.zeros(0)

    def displacements(
        self, time: Time, state: Float[Array, " state"], rate: Float[Array, " state"]
    ) -> tuple[Array, Array, Array]:
        """Return the displacements and their first and second time derivatives."""
        _, curve = jax.jvp(self.vector_field, (time, state), (jnp.ones_like(time), rate))
        return state, rate, curve

    def displaced(self, state: Float[Array, " state"]) -> Float[Array, " n"]:
        """Return the components with an amplitude (default: all)."""
        return state

    def divergence(self) -> Float[Array, ""]:
        """Return the divergence of the vector field, 1/s; NaN if it is not constant."""
        return jnp.asarray(jnp.nan)

    def contraction(self, onsets: Int[Array, " contacts"]) -> Float[Array, ""]:
        """Return the determinant of all impacts, from each contact's onset count."""
        return jnp.ones(())

    def penetrations(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return each contact's penetration, m, negative if open (default: none)."""
        return jnp.zeros(0, state.dtype)

    def closing_rates(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the rate of each contact's penetration, m/s (default: none)."""
        return jnp.zeros(0, state.dtype)

    def contact_forces(self, penetrations: Array, rates: Array) -> Array:
        """Return each contact's force, N, at penetrations, m, and their rates, m/s."""
        return penetrations

    def damping_powers(self, time: Time, penetrations: Array, rates: Array) -> Array:
        r"""Return powers P of damped contacts, W: these lose $\int P\,dt - \Delta U$."""
        return jnp.zeros_like(penetrations)

    def damping_energies(self, penetrations: Array) -> Array:
        """Return the energy U stored in each damped contact, J, see `damping_powers`."""
        return jnp.zeros_like(penetrations)

    def rubbing_powers(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the power lost to each contact's own friction, W (default: none)."""
        return jnp.zeros_like(self.penetrations(state))

    def forces_at(self, state: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return each contact's force, N, in a state; NaN for NaN penetrations."""
        depths = self.penetrations(state)
        forces = self.contact_forces(depths, self.closing_rates(state))
        return jnp.where(jnp.isnan(depths), depths, forces)

    def contact_motion(
        self, state: Float[Array, " state"], rate: Float[Array, " state"]
    ) -> tuple[Array, Array, Array]:
        """Return z (m), dz/dt and d2z/dt2 of each contact from a state and its rate."""
        z = self.penetrations(state)
        return z, z, z

    def contact_reach(self, sizes: Float[Array, " state"]) -> Float[Array, " contacts"]:
        """Return the largest penetration change for displacements of given sizes, m."""
        return jnp.zeros(0, sizes.dtype)

    def hard_contacts(self) -> tuple[bool, ...]:
        """Return which contacts act by impulses."""
        return ()

    def damped_contacts(self) -> tuple[bool, ...]:
        """Return which contacts are damped."""
        return ()

    def varying_contacts(self) -> tuple[bool, ...]:
        """Return which contacts have a force that varies in time."""
        return ()

    def may_pulse(self) -> bool:
        """Return whether the forcing may have short pulses that a step could miss."""
        return True

    def may_jump(self) -> bool:
        """Return whether the field may be discontinuous in the state."""
        return True

    def next_breakpoint(self, time: Time) -> Float[Array, ""] | None:
        """Return the next break (non-smooth time) of the field, s; None if none."""
        return None

    def repeats_in(self, span: Time) -> Time:
        """Return the period of the field, s; `span` if unknown."""
        return span
