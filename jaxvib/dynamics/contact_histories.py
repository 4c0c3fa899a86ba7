"""Forces, impulses and losses of contacts along a motion."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ..foundation.arrays import require_concrete, to_numpy
from ..foundation.quantity import floats, result_field
from ..foundation.result_repr import ResultRepr
from ..systems.annular import annular
from ..systems.event_form import form_of
from ..systems.impact import ImpactSystem
from ..systems.law import force_of
from ..systems.parameters import part_names
from ..systems.two_bodies import TwoBodyImpact
from .engines.engine import forces_in
from .flow import checked_state, observe, simulate
from .integrated_system import IntegratedSystem
from .mean_powers import lost_powers
from .step_polynomial import sign_crossings, step_polynomial

_GAUSS = tuple(np.asarray(x) for x in np.polynomial.legendre.leggauss(8))
_GAUSS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2  # on (0, 1)
_CELLS = 16  # a period: quintics then err by 8e-8 of its amplitude
_BLOCK = 4096  # cells integrated at a time, whose states are kept in memory


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
    result: Int[Array, ""] = result_field("reason code")
    names: tuple[str, ...] = eqx.field(static=True)

    @property
    def work_rates(self) -> Float[Array, " contacts"]:
        """The mean power lost in each contact over the motion, W."""
        return (self.losses[-1] - self.losses[0]) / (self.times[-1] - self.times[0])


def contact_histories(
    system: ImpactSystem | TwoBodyImpact,
    state: Real[ArrayLike, " state"] | Sequence,
    times: Real[ArrayLike, " times"] | Sequence,
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
    Integrals are Gauss quadratures on quintics of the penetration, each over a sixteenth
    of the fastest period with all contacts closed at most, split where the penetration
    changes sign. A force that ends before, such as that of `KelvinVoigtContact`, is
    integrated less exactly.

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
    start = checked_state(system, state)
    requested = to_numpy(floats("times", times))
    if requested.ndim != 1 or requested.size < 2 or not np.all(np.diff(requested) > 0):
        raise ValueError("times do not ascend; allowed: two ascending times or more, s")
    averages, shortest = _periods(system, start, requested, rtol)
    grid = _grid(requested, averages, shortest)
    states, moved, result = _sampled(system, equation, start, grid, requested, rtol)
    sums = np.zeros((3, len(grid), len(system.contacts)))
    sums[:, 1:] = np.cumsum(_integrals(equation, grid, grid[0], moved), axis=1)
    impulses, moments, losses = sums
    # The integral of the impulse.
    doubly = (grid - grid[0])[:, None] * impulses - moments
    here = np.searchsorted(grid, requested)
    forces = to_numpy(jax.vmap(forces_in(equation))(requested, states))
    impulses, losses, rubbed = impulses[here], losses[here], np.zeros_like(forces)
    if round_ := annular(system.contacts):
        found, code = _annular_impulses(system, start, requested, rtol)
        impulses[:, round_], losses[:, round_], rubbed[:, round_] = found[..., round_]
        result = result or code
    averaged = forces.copy()
    for c, period in enumerate(averages):
        if period > 0:
            averaged[:, c] = _averaged(grid, doubly[:, c], requested, period)
    parts = requested, states, forces, averaged, impulses, losses, rubbed, result
    return ContactHistories(*map(jnp.asarray, parts), tuple(part_names(system.contacts)))


def _annular_impulses(system, start, times, rtol) -> tuple[np.ndarray, np.ndarray]:
    """Return impulses, losses and those to friction, (3, times, contacts), and a code.

    They are integrated with the motion: |r| is less smooth than the displacements.
    """
    count = len(system.contacts)
    metered = IntegratedSystem(system, _annular_rates, 3 * count)
    extended = jnp.concatenate([start, jnp.zeros(3 * count)])
    motion = simulate(metered, extended, times, rtol)
    sums = to_numpy(motion.states)[:, start.shape[0] :].reshape(-1, 3, count)
    return np.moveaxis(sums, 1, 0), to_numpy(motion.result)


def _annular_rates(equation, time, state):
    now = equation.at(time)
    motion = now.penetrations(state), now.closing_rates(state)
    lost, rubbed = lost_powers(equation, time, state)
    return jnp.concatenate([now.contact_forces(*motion), lost, rubbed])


def _periods(system, start, times, rtol) -> tuple[list[float], float]:
    """Return each linear stop's period of averages, s, 0 for others, and the shortest.

    The shortest is that with all contacts closed, as stiff as at their deepest.
    """
    linear = [
        contact.variation is None and _is_linear(contact.law) and contact.has_linear_gap
        for contact in system.contacts
    ]
    deepest = np.ones(len(linear))  # where a linear law has the slope of any other depth
    if not all(linear):
        seen = observe(system, start, times[0], times[-1], rtol=rtol, grazing=0.0)[1]
        deepest = np.where(linear, deepest, to_numpy(seen.deepest))
    slopes = [
        jax.grad(lambda z, law=contact.law: force_of(law, z, jnp.zeros(())))(depth)
        * _stiffening(contact, times)
        for contact, depth in zip(system.contacts, deepest, strict=True)
    ]
    along = [to_numpy(contact.rows) for contact in system.contacts]
    mass, _, stiffness = map(to_numpy, system.matrices())
    lower = np.linalg.cholesky(mass)
    squares = np.linalg.solve(lower, np.linalg.solve(lower, stiffness).T)
    ends = np.cumsum([len(rows) for rows in along])[:-1]
    along = np.split(np.linalg.solve(lower, np.concatenate(along).T).T, ends)

    def period(closed):
        total = squares + sum(
            max(float(k), 0.0) * np.outer(row, row) for k, rows in closed for row in rows
        )  # fmt: skip
        return 2 * np.pi / np.sqrt(np.linalg.eigvalsh((total + total.T) / 2)[-1])

    every = list(zip(slopes, along, strict=True))
    averages = [
        period([every[c]]) if law_is_linear else 0.0
        for c, law_is_linear in enumerate(linear)
    ]
    return averages, period(every)


def _stiffening(contact, times) -> float:
    """Return the largest factor of a contact's force due to its variation."""
    if contact.variation is None:
        return 1.0
    between = jnp.linspace(times[0], times[-1], 1000)
    return float(jnp.max(1 + jax.vmap(contact.variation.force)(between)))


def _is_linear(law) -> bool:
    form = form_of(law)
    if form is None or form.hertz or form.damping is not None:
        return False
    return form.restitution is None and not form.stops


def _grid(times, averages, shortest):
    """Return the times of averages, in cells of a sixteenth of a period at most."""
    shifts = {sign * period for period in averages for sign in (-1, 0, 1)}
    points = np.unique(np.concatenate([times + shift for shift in shifts]))
    points = points[points >= times[0]]
    parts = np.maximum(np.ceil(_CELLS * np.diff(points) / shortest), 1).astype(int)
    first = np.repeat(points[:-1], parts)
    within = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    cells = first + within * np.repeat(np.diff(points) / parts, parts)
    return np.append(cells, points[-1])


def _sampled(system, equation, state, grid, requested, rtol):
    """Return the states at the requested times, the contacts' motion, and a reason code."""
    kept, moved, result = [], [], 0
    for begin in range(0, len(grid) - 1, _BLOCK):  # not all states fit into memory
        times = grid[begin : begin + _BLOCK + 1]
        motion = simulate(system, state, times, rtol)
        result = result or int(motion.result)
        state = motion.states[-1]
        selected = np.isin(times, requested) & (np.arange(len(times)) >= (begin > 0))
        kept.append(to_numpy(motion.states)[selected])
        moving = _contact_motions(equation, times, motion.states)
        moved.append(to_numpy(moving)[begin > 0 :])
    return np.concatenate(kept), np.concatenate(moved), np.asarray(result)


@jax.jit
def _contact_motions(equation, times, states):
    """Return penetrations, their rates and accelerations, (times, 3, contacts)."""

    def one(time, state):
        rate = equation.vector_field(time, state)
        return jnp.stack(equation.contact_motion(state, rate))

    return jax.vmap(one)(times, states)


@jax.jit
def _integrals(equation, grid, begin, moved):
    """Return the integrals of force, time times force and loss, (3, cells, contacts)."""

    def cell(t0, t1, before, after):
        length = t1 - t0
        depth = step_polynomial(length, tuple(before), tuple(after))
        crosses = (before[0] > 0) != (after[0] > 0)
        (tau,) = sign_crossings([depth], [crosses])
        split = jnp.where(crosses, tau, 0.5)

        def part(low, high):
            def node(x, weight):
                tau = low + (high - low) * x
                motion = depth.value(tau), depth.slope(tau) / length
                rates = _rates(equation, t0 + tau * length, begin, *motion)
                return (weight * length * (high - low))[None] * rates

            return jnp.sum(jax.vmap(node)(*_GAUSS), axis=0)

        return part(jnp.zeros_like(split), split) + part(split, jnp.ones_like(split))

    found = jax.vmap(cell)(grid[:-1], grid[1:], moved[:-1], moved[1:])
    return jnp.moveaxis(found, 1, 0)


def _rates(equation, times, begin, depths, speeds):
    """Return force, time times force and lost power, (3, contacts), at their times."""

    def at(time):
        now = equation.at(time)
        return jnp.stack(
            [now.contact_forces(depths, speeds), now.lost_powers(depths, speeds)]
        )

    # Each contact is split at its own onset, and so has its own times.
    force, power = jnp.einsum("cic->ic", jax.vmap(at)(times))
    return jnp.stack([force, (times - begin) * force, power])


def _averaged(grid, doubly, times, period):
    """Return a force's average, twice over a period, from its twofold integral."""

    def at(when):  # before the start there is no force
        return np.where(when < grid[0], 0.0, doubly[np.searchsorted(grid, when)])

    return (at(times + period) - 2 * at(times) + at(times - period)) / period**2
