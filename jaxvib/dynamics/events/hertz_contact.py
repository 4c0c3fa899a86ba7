r"""Motion in Hertz contact: Taylor steps in a variable that is smooth at its ends.

With $u = \sqrt z$ and $dt = u\, d\tau$ the force $K z^{3/2} = K u^3$ and all rates are
polynomials, so that onset and release are regular points. If several contacts are
closed, $dt = u_1 u_2 \dots d\tau$ and $2\,du_i/d\tau = \dot z_i \prod_{j \ne i} u_j$.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ...foundation.types import Number
from ...systems.base.event_form import product_term
from .damped import closes, damped_signal, force_factor
from .factors import ScaledSeries
from .flight import ONSET, Step, onset_signal, pushes
from .friction import events_of, friction_signals
from .hard_stop import active_contacts, constrained, signal_of
from .normal_forces import limit_scales, limit_sizes
from .rows import extend, where
from .scalar_system import (
    ScalarSystem,
    acceleration_term,
    along,
    cosine_and_sine,
    gap_series,
)
from .series import (
    first_of,
    first_root,
    first_to_meet,
    log2,
    radius,
    refined,
    smallest,
    square_term,
)
from .sliding import FrictionSeries
from .springs import SpringSeries


class HertzContactSeries:
    """Power series in tau: displacements, velocities, time and the roots u.

    At a steady pace u and dt/dtau have no tangents, and the tangent of the force $K
    u^3$ is that of $K z^{3/2}$: dz is smooth, but $du = dz / 2u$ is not at onset and
    release.
    """

    def __init__(self, motion: ScalarSystem, lane):
        self.motion, self.touching = motion, lane.touching
        self.pushing = pushes(motion, lane.touching)
        self.position = [[x] for x in lane.position]
        self.velocity = [[v] for v in lane.velocity]
        self.acceleration: list[list] = [[] for _ in lane.position]
        self.time = [lane.time]
        self.clock = LoadSeries([*motion.pushed, *motion.varied])
        self.factors: list[list] = [[] for _ in motion.varied]
        self.scaled = ScaledSeries(motion.contacts)
        self.roots = [[u] for u in motion.still(lane.roots)]
        self.depths: list[list] = [[] for _ in lane.roots]
        self.squares: list[list] = [[] for _ in lane.roots]
        self.cubes: list[list] = [[] for _ in lane.roots]
        self.grips: list[list] = [[] for _ in lane.roots]
        self.own: list[list] = [[] for _ in lane.roots]
        self.others: list[list] = [[] for _ in lane.roots]
        self.before: list[list] = [[] for _ in lane.roots]
        self.behind: list[list] = [[] for _ in lane.roots]
        self.speeds: list[list] = [[] for _ in lane.roots]
        self.held = active_contacts(motion, lane.touching, lane.sliding)
        self.sliding = lane.sliding
        self.spring_series = SpringSeries(motion.springs)
        self.friction_series = FrictionSeries(motion.frictions, lane.sliding)
        self.holding: list[list] = [[] for _ in motion.holders]
        self.dt_dtau: list = []
        self.cosines, self.sines, self.angles = [], [], []
        for load in motion.loads:
            angle = load.frequency * lane.time + load.phase
            cosine, sine = motion.still(cosine_and_sine(angle))
            self.cosines.append([cosine])
            self.sines.append([sine])
            self.angles.append([angle])
        for order in range(motion.order_in_contact):
            self._extend(order)

    def _extend(self, k: int) -> None:
        self._append_pace(k)
        motion, share = self.motion, 1 / (k + 1)
        pushed = self._pushed(k)
        place = [row[k] for row in self.position]
        rates = [row[k] for row in self.velocity]
        forces = self._forces(k, place, rates)
        loads = [*self._waves(k), *pushed]
        terms = acceleration_term(motion, place, rates, forces, loads)
        terms = self.spring_series.pulled(terms, place, self.factors)
        terms = self.friction_series.slid(terms, rates, forces)
        terms, holds = constrained(motion, self.held, terms)
        extend(self.holding, holds)
        extend(self.acceleration, terms)
        grown = []
        for i, j in enumerate(motion.hertz):
            self.speeds[i].append(along(motion.contacts[j], rates))
            growth = self.speeds[i][k]
            if len(motion.hertz) > 1:
                growth = product_term(self.speeds[i], self.others[i], k)
                growth = jnp.where(self.touching[j], growth, 0.0)
            grown.append(motion.still(growth * (share / 2)))
        new = [
            [product_term(self.dt_dtau, rate, k) * share for rate in self.velocity],
            [product_term(self.dt_dtau, rate, k) * share for rate in self.acceleration],
            grown,
            [
                product_term(self.dt_dtau, sine, k) * motion.still(load.frequency) * -share
                for load, sine in zip(motion.loads, self.sines, strict=True)
            ],
            [
                product_term(self.dt_dtau, cosine, k) * motion.still(load.frequency) * share
                for load, cosine in zip(motion.loads, self.cosines, strict=True)
            ],
        ]
        series = [self.position, self.velocity, self.roots, self.cosines, self.sines]
        for rows, values in zip(series, new, strict=True):
            extend(rows, values)
        self.time.append(self.dt_dtau[k] * share)
        for load, angle in zip(motion.loads, self.angles, strict=True):
            angle.append(load.frequency * self.time[-1])

    def _pushed(self, k: int) -> list:
        """Append the order k of each factor; return that of each load."""
        terms, count = self.clock.terms(self.time, k), len(self.motion.pushes)
        extend(self.factors, terms[count:])
        return terms[:count]

    def _append_pace(self, k: int) -> None:
        """Append the order k of dt/dtau, of its factors, and of each u squared."""
        hertz = self.motion.hertz
        squares = [square_term(u, k) for u in self.roots]
        if len(hertz) == 1:
            self.dt_dtau.append(self.roots[0][k])
            self.squares[0].append(squares[0])
            return
        open_factor = 1.0 if k == 0 else 0.0
        for i, j in enumerate(hertz):
            self.own[i].append(jnp.where(self.touching[j], self.roots[i][k], open_factor))
        self._append_products(k)
        dt_dtau = product_term(self.own[0], self.others[0], k)
        others = [other[k] for other in self.others]
        self.dt_dtau.append(dt_dtau)
        extend(self.squares, squares)
        for row, other in zip(self.others, others, strict=True):
            row[k] = other

    def _append_products(self, k: int) -> None:
        """Append order k of the products of all factors but one.

        From the products of all factors before it and of all after it: each computed
        anew would take as many products as there are ways to divide k among them.
        """
        last = len(self.own) - 1
        _extend_products(self.before, self.own, k)
        _extend_products(self.behind, self.own[::-1], k)
        for i, row in enumerate(self.others):
            if 0 < i < last:
                pair = self.before[i - 1], self.behind[last - i - 1]
                row.append(product_term(*pair, k))
            else:
                row.append((self.before if i else self.behind)[last - 1][k])

    def _forces(self, k: int, place: list, rates: list) -> list:
        forces, number = [], 0
        for j, contact in enumerate(self.motion.contacts):
            force: Any = 0.0
            if contact.hertz:
                cube = self._cube(number, contact, place, k)
                if contact.damped:
                    cube = self._resisted(number, contact, cube, rates, k)
                force = self.scaled.term(j, contact.stiffness * cube, self.factors)
                if len(self.motion.hertz) > 1:
                    force = jnp.where(self.touching[j], force, 0.0)
                number += 1
            elif contact.linear:
                force = contact.linear_force(place, rates, k)
                force = self.pushing[j] * self.scaled.term(j, force, self.factors)
            forces.append(force)
        return forces

    def _cube(self, number: int, contact, place: list, k: int):
        """Return the coefficient of order k of z^1.5."""
        root, squares = self.roots[number], self.squares[number]
        if not self.motion.steady:
            return _cube_term(root, squares)
        self.depths[number].append(contact.depth(place, k))
        return _pressed_term(root, squares, self.depths[number])

    def _resisted(self, number: int, contact, cube, rates: list, k: int):
        """Return the coefficient of order k of z^1.5 (1 + c dz/dt)."""
        speed = along(contact, rates)
        self.cubes[number].append(cube)
        self.grips[number].append(force_factor(contact, 0.0, speed, 1.0 if k == 0 else 0.0))
        return product_term(self.cubes[number], self.grips[number], k)

    def _waves(self, k: int) -> list:
        """Return the coefficient of order k of each load's cosine."""
        if not self.motion.steady:
            rows = zip(self.cosines, self.sines, self.angles, strict=True)
            return [_turned(cosine[k], sine, angle) for cosine, sine, angle in rows]
        rows = zip(self.motion.loads, self.cosines, self.sines, self.angles, strict=True)
        return [
            _driven(cosine[k], sine, self.time[1:], angle[0], load.frequency)
            for load, cosine, sine, angle in rows
        ]


@jax.custom_jvp
def _cube_term(series, squares):
    """Return the last coefficient of a series cubed; its tangent takes one product."""
    return product_term(squares, series, len(squares) - 1)


@_cube_term.defjvp
def _cube_rule(primals, tangents):
    series, squares = primals
    change = product_term(squares, tangents[0], len(squares) - 1)
    return _cube_term(series, squares), 3 * change


@jax.custom_jvp
def _pressed_term(roots, squares, depths):
    """Return the last coefficient of a series cubed; its tangent is that of z^1.5."""
    return product_term(squares, roots, len(squares) - 1)


@_pressed_term.defjvp
def _pressed_rule(primals, tangents):
    roots, squares, _ = primals
    change = product_term(roots, tangents[2], len(squares) - 1)
    return _pressed_term(*primals), 1.5 * change


@jax.custom_jvp
def _driven(cosine, sines, later, angle, frequency):
    """Return the last coefficient of a cosine; its tangent is that of its angle.

    `later`: the time's coefficients from order 1 on, which have no tangents.
    """
    return cosine


@_driven.defjvp
def _driven_rule(primals, tangents):
    cosine, sines, later, _, _ = primals
    *_, ahead, faster = tangents
    change = ahead * sines[-1]
    if later:
        change = change + faster * product_term(sines[:-1], later, len(later) - 1)
    return cosine, -change


@jax.custom_jvp
def _turned(cosine, sines, angles):
    """Return the last coefficient of a cosine; its tangent is that of the angle."""
    return cosine


@_turned.defjvp
def _turned_rule(primals, tangents):
    cosine, sines, _ = primals
    return cosine, -product_term(sines, tangents[2], len(sines) - 1)


def _extend_products(rows: list, series: list, k: int) -> None:
    """Append order k of the products of the first series, the first two and so on."""
    for i, one in enumerate(series[:-1]):
        rows[i].append(product_term(rows[i - 1], one, k) if i else one[k])


def least_root(motion: ScalarSystem, size: Number) -> Number:
    """Return the u at which contacts begin and end; `size` of the motion, m.

    It is 0 for a single contact. With several, a 0 would stop the common time variable
    of contacts that begin or end at once, and none would ever reach a 0.
    """
    return jnp.sqrt(ONSET * size) if len(motion.hertz) > 1 else 0.0


def _step_of_time(time: list, longest):
    """Return the step in tau for a part of the `longest` time, s, by the time series.

    If several contacts begin or end at once their time advances very slowly: in units
    of the pace estimated from their sizes they would take a million steps.
    """
    limit, tiny = log2(longest), jnp.finfo(float).tiny
    terms = [log2(jnp.maximum(jnp.abs(c), tiny)) for c in time[1:]]
    reach = smallest([(limit - term) / k for k, term in enumerate(terms, start=1)])
    # An eighth: as the pace grows, the series of sensitivities end before the time's
    # does.
    return jnp.where(jnp.isfinite(longest), jnp.exp2(reach - 3), longest)


def contact_step(
    motion: ScalarSystem,
    lane: Any,
    end: Number,
    accuracy: Number,
    rate: Number,
    longest: Number,
    speed: Number,
    sizes: list,
) -> Step:
    """Step in contact to the next event, or as far as the series converge.

    The step ends where velocities are wrong by `accuracy` times `speed` or each u by
    `accuracy` times its size, at the latest after the `longest` time, s.
    """
    series = HertzContactSeries(motion, lane)
    least = least_root(motion, speed / rate)
    depths, signals, number = [], [], 0
    for contact, touches in zip(motion.contacts, lane.touching, strict=True):
        depth = motion.still(gap_series(contact, series.position))
        signal = depth
        if contact.hertz:
            root, signal = series.roots[number], onset_signal(depth, speed / rate)
            left = [root[0] - least, *root[1:]]
            signal, depth = where(touches, left, signal), where(touches, root, depth)
            number += 1
        signals.append([jnp.where(touches, -x, x) for x in signal])
        if contact.damped:
            root = left if contact.hertz else None
            known = gap_series(contact, series.position), series.velocity
            onset = ONSET * (speed / rate)
            state = touches, lane.position
            signals[-1] = damped_signal(contact, *state, *known, onset, root)
        depths.append(depth)
    # In tau; the time stands still at onset.
    dt_dtau = jnp.maximum(jnp.abs(series.dt_dtau[0]), jnp.finfo(float).tiny)
    for i, j in enumerate(motion.hard):
        known = depths[j], series.holding[i], lane.touching[j], speed / rate, rate * dt_dtau
        signals[j] = signal_of(motion.contacts[j], series.position, *known)
    holds = series.holding[len(motion.hard) :]
    limits = limit_sizes(motion, lane, rate, sizes) if motion.frictions else []
    if motion.frictions:
        known = series.velocity, holds, series.friction_series.normals, limits
        signals += friction_signals(motion, lane, *known, speed, rate * dt_dtau)
    signals.append([motion.still(series.time[0] - end), *series.time[1:]])
    rows = [*series.velocity, *series.roots]
    scales = [speed] * len(series.velocity) + sizes
    most = 1.0
    for j, size in zip(motion.hertz, sizes, strict=True):
        most = most * jnp.where(lane.touching[j], size, 1.0)
    turns = longest / most
    if len(sizes) > 1:
        turns = jnp.maximum(turns, _step_of_time(series.time, longest))
    reach = jnp.minimum(radius(rows, scales, accuracy), turns)
    if motion.frictions:
        scales = limit_scales(motion, limits, speed * rate)
        reach = jnp.minimum(reach, radius(holds, scales, accuracy))
    reach = jax.lax.stop_gradient(reach)
    several = len(motion.contacts) + len(motion.frictions) > 1
    s, near = first_root(signals, reach, several)
    meets = first_to_meet(signals, s, near, reach) if several else first_of(near)
    s = refined(signals, s, meets, reach)
    s = motion.still(s)
    for j, contact in enumerate(motion.contacts):
        if contact.damped:
            state = lane.touching[j], lane.position
            there = gap_series(contact, series.position)
            meets[j] = closes(contact, *state, meets[j], there, series.velocity, s)
    return Step(series, depths, s, *events_of(motion, meets[:-1]), meets[-1])


class LoadSeries:
    r"""Powers of the elapsed time, order by order as the time series becomes known.

    With $t = t_0 + \sum_{k>0} t_k \tau^k$ a force $\sum_m c_m (t - t_0)^m$ has the
    coefficients $\sum_{m \le k} c_m [(t - t_0)^m]_k$: each order needs the time's
    coefficients up to the same order.
    """

    def __init__(self, pushed: Sequence):
        self.pushed, self.powers = pushed, []

    def terms(self, time: list, order: int) -> list:
        """Return each load's coefficient of an order, given `time` up to that order."""
        pushed = self.pushed
        if not order:
            return [row[0] for row in pushed]
        passed = [0.0, *time[1:]]
        most = max((len(row) for row in pushed), default=1)
        if order < most:
            self.powers.append([0.0] * order)
        found = [passed[order]] if self.powers else []
        for m, below in enumerate(self.powers[:-1], start=1):
            # of two series that start at orders m and 1
            pairs = (below[i] * passed[order - i] for i in range(m, order))
            found.append(sum(pairs, 0.0))
        for power, term in zip(self.powers, found, strict=True):
            power.append(term)
        return [
            sum((c * x for c, x in zip(row[1:], found, strict=False)), 0.0)
            for row in pushed
        ]
