"""Forces, impulses and losses of contacts along a motion."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..drawing.plottable import ResultRepr
from ..foundation.arrays import require_concrete, to_numpy
from ..foundation.quantity import Range, check_range, floats, result_field
from ..systems.base.event_form import form_of
from ..systems.base.law import force_of
from ..systems.impact import ImpactSystem
from ..systems.parameters import part_names
from ..systems.two_bodies import TwoBodyImpact
from .engines.engine import forces_in
from .flow import checked_state
from .measures import ContactSums, integrals

_LOOSER = 100.0  # tolerance of the motion by whose change the errors are estimated


class ContactHistories(ResultRepr):
    """Contacts along a motion, at given times.

    `averaged_forces` are those of linear stops averaged twice over the fastest
    oscillation of the system with that stop closed, and `forces` elsewhere.

    >>> times = np.linspace(0.0, 2.0, 21)
    >>> seen = jv.dynamics.contact_histories(stopped, stopped.rest(), times)
    >>> bool(seen.impulses[-1, 0] > 0)
    True
    """

    times: Float[Array, " times"] = result_field("time", "s", ("time",))
    states: Float[Array, "times state"] = result_field("state", "", ("time", "state"))
    forces: Float[Array, "times contacts"] = result_field(
        "contact force", "N", ("time", "contact")
    )
    averaged_forces: Float[Array, "times contacts"] = result_field(
        "averaged contact force", "N", ("time", "contact")
    )
    impulses: Float[Array, "times contacts"] = result_field(
        "impulse of the contact since the start", "N s", ("time", "contact")
    )
    losses: Float[Array, "times contacts"] = result_field(
        "energy lost in the contact since the start", "J", ("time", "contact")
    )
    friction_losses: Float[Array, "times contacts"] = result_field(
        "energy lost to the contact's own friction since the start",
        "J",
        ("time", "contact"),
    )
    averaged_force_errors: Float[Array, "times contacts"] = result_field(
        "error of the averaged contact force", "N", ("time", "contact")
    )
    impulse_errors: Float[Array, "times contacts"] = result_field(
        "error of the impulse", "N s", ("time", "contact")
    )
    loss_errors: Float[Array, "times contacts"] = result_field(
        "error of the energy lost in the contact", "J", ("time", "contact")
    )
    friction_loss_errors: Float[Array, "times contacts"] = result_field(
        "error of the energy lost to the contact's friction", "J", ("time", "contact")
    )
    result: Int[Array, ""] = result_field("reason code")
    names: tuple[str, ...] = eqx.field(static=True)

    @property
    def work_rates(self) -> Float[Array, " contacts"]:
        """The mean power lost in each contact over the motion, W."""
        return self.losses[-1] / (self.times[-1] - self.times[0])

    @property
    def work_rate_errors(self) -> Float[Array, " contacts"]:
        """The errors of the mean powers, W."""
        return self.loss_errors[-1] / (self.times[-1] - self.times[0])


def contact_histories(
    system: ImpactSystem | TwoBodyImpact,
    state: Real[ArrayLike, " state"] | Sequence[Any],
    times: Real[ArrayLike, " times"] | Sequence[Any],
    rtol: Real[Array, ""] | float = 1e-9,
) -> ContactHistories:
    r"""Return forces, impulses and losses of contacts of a motion from `state`.

    A hard stop on an elastic structure, see `ElasticStructure.stop`, makes the fastest
    mode in contact oscillate: the force itself does not converge with the number of
    modes, but its average over the period $T$ of that oscillation, taken twice, does:

    $$\bar F(t) = \int_{-T}^{T} \Bigl(1 - \frac{|s|}{T}\Bigr) \frac{F(t + s)}{T} ds.$$

    Forces before `times[0]` count as 0; the motion is continued to `times[-1]` + T. The
    losses are those of damped contacts and of the friction of annular ones, which are
    also given apart; `energy_balance` has those of friction elements.
    Forces and powers are integrated with the motion: event-driven by Gauss quadratures on
    each step, otherwise under the error control of time stepping. Errors are the changes
    at a tolerance a hundred times as large.

    **Raises:** `ValueError` for hard stops by restitution, which have no force, and as
    `simulate`.

    >>> times = np.linspace(0.0, orbit.period, 9)
    >>> seen = jv.dynamics.contact_histories(system, orbit.state, times)
    >>> seen.impulses.shape
    (9, 1)
    """
    require_concrete("contact_histories", system, state, times, rtol)
    equation = system.equation()
    if any(equation.hard_contacts()):
        raise ValueError(
            "contacts: a RestitutionContact has no force; allowed: contacts with a force"
        )
    if not system.contacts:
        raise ValueError("contacts is empty; allowed: one contact or more")
    check_range("rtol", rtol, "", Range(above=0.0, at_most=0.1))
    start = checked_state(system, state)
    requested = to_numpy(floats("times", times))
    if requested.ndim != 1 or requested.size < 2 or not np.all(np.diff(requested) > 0):
        raise ValueError("times do not ascend; allowed: two ascending times or more, s")
    averages = _periods(system)
    shifts = {sign * period for period in averages for sign in (-1, 0, 1)}
    grid = np.unique(np.concatenate([requested + shift for shift in shifts]))
    grid = grid[grid >= requested[0]]
    place, sums, result = np.searchsorted(grid, requested), [], 0
    for factor in (_LOOSER, 1.0):
        tolerance = jnp.minimum(jnp.asarray(rtol, float) * factor, 0.1)
        every = jnp.asarray(grid)
        states, summed, code = integrals(system, ContactSums, start, every, tolerance)
        result = result or int(code)
        parts = np.moveaxis(to_numpy(summed).reshape(len(grid), 4, -1), 1, 0)
        impulses, moments, losses, rubbed = parts
        doubly = grid[:, None] * impulses - moments  # the integral of the impulse
        states = states[place]
        forces = to_numpy(jax.vmap(forces_in(equation))(jnp.asarray(requested), states))
        averaged = forces.copy()
        for c, period in enumerate(averages):
            if period > 0:
                averaged[:, c] = _averaged(grid, doubly[:, c], requested, period)
        sums.append((averaged, impulses[place], losses[place], rubbed[place]))
    errors = [np.abs(a - b) for a, b in zip(*sums, strict=True)]
    found = requested, states, forces, *sums[1], *errors, np.asarray(result)
    return ContactHistories(*map(jnp.asarray, found), tuple(part_names(system.contacts)))


def _periods(system) -> list[float]:
    """Return each linear stop's period of averages, s, 0 for other contacts."""
    mass, _, stiffness = map(to_numpy, system.matrices())
    lower = np.linalg.cholesky(mass)

    def period(contact):
        linear = contact.variation is None and contact.has_linear_gap
        if not (linear and _is_linear(contact.law)):
            return 0.0
        slope = jax.grad(lambda z: force_of(contact.law, z, jnp.zeros(())))(1.0)
        (row,) = to_numpy(contact.rows)
        total = stiffness + max(float(slope), 0.0) * np.outer(row, row)
        squares = np.linalg.solve(lower, np.linalg.solve(lower, total).T)
        return 2 * np.pi / np.sqrt(np.linalg.eigvalsh((squares + squares.T) / 2)[-1])

    return [period(contact) for contact in system.contacts]


def _is_linear(law) -> bool:
    form = form_of(law)
    if form is None or form.hertz or form.damping is not None:
        return False
    return form.restitution is None and not form.stops


def _averaged(grid, doubly, times, period):
    """Return a force's average, twice over a period, from its twofold integral."""

    def at(when):  # before the start there is no force
        return np.where(when < grid[0], 0.0, doubly[np.searchsorted(grid, when)])

    return (at(times + period) - 2 * at(times) + at(times - period)) / period**2
