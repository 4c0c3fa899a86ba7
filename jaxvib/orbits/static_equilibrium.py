"""Static equilibrium under weights and preloads, with contacts and friction."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ..drawing.plottable import ResultRepr
from ..ensemble import Reason, raise_if_empty
from ..foundation.arrays import combine_arrays, partition_arrays
from ..foundation.environment import require_float64
from ..foundation.quantity import result_field
from ..systems.base.law import force_of
from ..systems.frictions.friction import sliding_share, sticking_limit
from ..systems.impact import EquationOfMotion, ImpactSystem, is_hard
from ..systems.loads import time_varying
from ..systems.variation import variations_of, without_variations
from .shooting.implicit import implicit_root

# Each iteration solves a linear system, and the damping falls at most tenfold in one:
# hundreds are needed only if contacts close and open in turn.
_MOST_ITERATIONS = 300
# Allowed imbalance of forces relative to their sizes.
_BALANCED = 1e-13
# Bounds of the change of the damping in one iteration.
_GROWS, _SHRINKS = 4.0, 0.1


class StaticEquilibrium(ResultRepr):
    """A state at rest in which all forces balance, with contact and friction forces.

    `state` and the forces are differentiable with respect to every parameter of the system;
    the sets of closed contacts and of sticking frictions are held fixed.
    `friction_force`: R of `CoulombFriction`, to be compared with the `friction_limit`.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(1.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> jv.static_equilibrium(resting).state.round(6).tolist()
    [0.001667, 0.005, 0.0, 0.0]
    """

    state: Float[Array, " state"] = result_field("state at rest", "", ("state",))
    contact_force: Float[Array, " contacts"] = result_field(
        "contact force", "N", ("contact",)
    )
    penetration: Float[Array, " contacts"] = result_field(
        "penetration, negative if open", "m", ("contact",)
    )
    closed: Bool[Array, " contacts"] = result_field(
        "whether a contact bears a force", "", ("contact",)
    )
    friction_force: Float[Array, " frictions"] = result_field(
        "friction force", "N", ("friction",)
    )
    friction_limit: Float[Array, " frictions"] = result_field(
        "sticking limit", "N", ("friction",)
    )
    residual: Float[Array, ""] = result_field("residual force, relative to the largest")
    iterations: Int[Array, ""] = result_field("Newton iterations")
    result: Int[Array, ""] = result_field("reason code")


def static_equilibrium(
    system: ImpactSystem,
    start: Float[ArrayLike, " state"] | Sequence[Any] | None = None,
    *,
    throw: bool = True,
) -> StaticEquilibrium:
    r"""Return where a system rests under its constant loads.

    Loads and variations of coefficients that are not constant are removed.

    With the forces $F_c$ of elastic contacts and springs, $\lambda$ of hard stops and R of
    dry frictions,

    $$C q + \sum_c n_c F_c(n_c^T q - g_c) + \sum_j n_j \lambda_j + \sum_f n_f R_f = f,
      \qquad \lambda_j \ge 0, \quad z_j \le 0, \quad \lambda_j z_j = 0.$$

    With friction the equilibrium is not unique. Without a `start` it is the one with
    zero friction forces. With one it is reached quasi-statically from there: a friction
    sticks at its position in `start`, with any R within its limit $\mu_s N$, or slides
    just until it can stick,

    $$|R_f| \le \mu_s N_f, \qquad R_f = \mu_s N_f\,\mathrm{sgn}\,d_f
      \text{ where } d_f = n_f^T (q - q_0) \ne 0.$$

    Sticking frictions that are parallel bear equal fractions of their limits. Starts
    far away on both sides give both ends of the interval in which a friction can hold;
    a motion with inertia may end anywhere in it. On a moving belt, R is the sliding
    force.

    Solved by Newton iteration on the closed contacts, as implicit time steps of
    increasing length; in each, the sets of closed stops and sticking frictions are
    updated (a primal-dual active set method). Works under `jit`, `vmap` and
    differentiation.

    **Arguments:** `start`: a state $(q_0, \dot q)$, (2n,), whose velocities are
    ignored. **Raises:** `ValueError` for a system other than bodies with contacts, a
    start of another shape, or one for a system without friction; `RuntimeError` with
    the reason if a single call finds none, as for a body without support, or one held
    by frictions in more directions than it has, unless `throw=False`.

    **Source:** Kelley and Keyes, *SIAM J. Numer. Anal.* 35 (1998) 508; Hintermueller, Ito
    and Kunisch, *SIAM J. Optim.* 13 (2002) 865; Leine and van de Wouw, *Stability and
    Convergence of Mechanical Systems with Unilateral Constraints* (2008), chapter 6.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(9.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> bool(jv.static_equilibrium(resting).closed[0])
    True
    >>> pad = jv.CoulombFriction([1.0, 0.0], force=2.0)
    >>> rubbing = jv.ImpactSystem(tower, loads=(weight,), frictions=(pad,))
    >>> jv.static_equilibrium(rubbing, [0.0, 0.0, 0.0, 0.0]).friction_force.tolist()
    [2]
    """
    require_float64()
    equation = eqx.filter_eval_shape(lambda s: s.equation(), system)
    if not isinstance(equation, EquationOfMotion):
        raise ValueError(
            f"static_equilibrium of {type(system).__name__}; allowed: bodies with contacts "
            "and loads; for an autonomous field use equilibrium"
        )
    if start is not None:
        if not equation.frictions:
            raise ValueError("start of a system without dry friction; allowed: None")
        start, size = jnp.asarray(start, float), 2 * equation.stiffness.shape[0]
        if start.shape != (size,):
            raise ValueError(f"start has shape {start.shape}; allowed: ({size},)")
    found = _found(system, start)
    raise_if_empty("static_equilibrium", throw, found.result, found.state)
    return found


def gaps_from_equilibrium(system: ImpactSystem) -> ImpactSystem:
    """Return a system whose given gaps are measured from its static equilibrium.

    That is the equilibrium with all contacts open and zero forces of sticking
    frictions; otherwise gaps are measured from the unstrained position. **Raises:** as
    `static_equilibrium`.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(1.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> round(float(jv.orbits.gaps_from_equilibrium(resting).contacts[0].gap), 5)
    0.015
    """
    alone = tuple(f for f in system.frictions if f.contact is None)
    free = dataclasses.replace(system, contacts=(), frictions=alone)
    count = system.degrees_of_freedom
    place = static_equilibrium(free).state[:count]
    return eqx.tree_at(
        lambda s: s.contacts,
        system,
        tuple(contact.from_place(place) for contact in system.contacts),
    )


class _ActiveConstraints(NamedTuple):
    """Which hard stops bear, which frictions stick, and the directions of sliding."""

    bears: Bool[Array, " hard"]
    sticks: Bool[Array, " frictions"]
    slid: Float[Array, " frictions"]


class _Iterate(NamedTuple):
    """State of the iteration: position, constraint forces, active sets, damping."""

    place: Float[Array, " n"]
    forces: Float[Array, " holders"]
    held: _ActiveConstraints
    damping: Float[Array, ""]
    left: Float[Array, ""]
    moved: Float[Array, ""]
    iterations: Int[Array, ""]


class _Statics:
    """The balance of forces of an equation of motion, as accelerations.

    `start`: the state in which frictions stick; None for zero forces of frictions.
    """

    def __init__(self, equation: EquationOfMotion, start):
        if variations_of(equation):
            equation = without_variations(equation)
        stops = [contact for contact in equation.contacts if is_hard(contact)]
        others = tuple(contact for contact in equation.contacts if not is_hard(contact))
        steady = tuple(load for load in equation.loads if not time_varying([load]))
        self.equation, self.offset = equation, equation.offset
        self.soft = eqx.tree_at(
            lambda e: (e.contacts, e.loads, e.frictions), equation, (others, steady, ())
        )
        frictions = equation.frictions
        holders = [*stops, *frictions]
        none = jnp.zeros((0, equation.stiffness.shape[0]))
        self.directions = _rows([h.direction for h in holders], none)
        self.responses = _rows([h.response for h in holders], none)
        self.stops = len(stops)
        self.at = _rows([contact.gap for contact in stops], none[:, 0])
        belts = _rows([friction.speed for friction in frictions], none[:, 0])
        # A body at rest on a moving belt slides on it, always in the same direction.
        self.still, self.onward = belts == 0, -jnp.sign(belts)
        self.pressing = equation.pressing_contacts()
        self.before, self.sense = _parallel_frictions(self.directions[self.stops :])
        self.may_stick = start is not None
        if start is not None:
            place = jnp.split(start, 2)[0] - self.offset
            self.at = jnp.concatenate([self.at, self.directions[self.stops :] @ place])
        else:
            self.at = jnp.concatenate([self.at, jnp.zeros_like(belts)])

    def begun(self) -> _ActiveConstraints:
        """Return the initial active sets: no stop, and all frictions that may stick."""
        sticks = self.still & self.may_stick
        slid = jnp.where(self.still, 0.0, self.onward)
        return _ActiveConstraints(jnp.zeros(self.stops, bool), sticks, slid)

    def next(self, rest: _Iterate, shift) -> _ActiveConstraints:
        """Return the next active sets; `shift`: stiffness between forces and depths."""
        away, stops = self.away(rest.place), self.stops
        own = jnp.sum(self.directions * self.responses, axis=1)
        bears = (away + rest.forces * own / shift)[:stops] > 0
        _, sticks, slid = rest.held
        if not self.may_stick:
            return _ActiveConstraints(bears, sticks, slid)
        needed = rest.forces[stops:]
        over = sticks & (jnp.abs(needed) > self.limits(rest.place) * (1 + _BALANCED))
        # The force would move the body back towards its sticking position.
        back = ~sticks & self.still & (slid * away[stops:] < 0)
        slid = jnp.where(over, jnp.sign(needed), jnp.where(back, 0.0, slid))
        return _ActiveConstraints(bears, (sticks & ~over) | back, slid)

    def free(self, place):
        """Return the accelerations of a position at rest without stops and friction."""
        state = jnp.concatenate([place + self.offset, jnp.zeros_like(place)])
        return jnp.split(self.soft.vector_field(0.0, state), 2)[1]

    def away(self, place):
        """Return the penetration of each hard stop and each friction's slip, m."""
        return self.directions @ place - self.at

    def limits(self, place):
        """Return each friction's sticking limit, N, or its sliding force on a belt."""
        return self._taken(place, lambda f: jnp.where(
            f.speed == 0, sticking_limit(f), sliding_share(f, f.speed)))  # fmt: skip

    def sticking_limits(self, place):
        """Return the largest force of sticking of each friction, N."""
        return self._taken(place, sticking_limit)

    def _taken(self, place, share):
        taken = []
        for friction, j in zip(self.equation.frictions, self.pressing, strict=True):
            pressed = 1.0
            if j is not None:
                contact = self.equation.contacts[j]
                depth = contact.direction @ place - contact.gap
                pressed = force_of(contact.law, depth, jnp.zeros_like(depth))
            taken.append(share(friction) * pressed)
        return _rows(taken, jnp.zeros(0))

    def balance(self, root, held: _ActiveConstraints):
        """Return the residual: accelerations, then a constraint's position or force."""
        place, forces = jnp.split(root, [self.offset.shape[0]])
        left = self.free(place) - forces @ self.responses
        borne = jnp.concatenate([jnp.zeros(self.stops), held.slid * self.limits(place)])
        holds = jnp.concatenate([held.bears, held.sticks])
        rows = jnp.where(holds, self.away(place), forces - borne)
        if held.sticks.shape[0] > 1:
            limits, rubs = self.limits(place), forces[self.stops :]
            most = limits[self.before]
            part = jnp.where(most > 0, limits / jnp.where(most > 0, most, 1.0), 1.0)
            shared = rubs - self.sense * part * rubs[self.before]
            later = self.before < jnp.arange(len(limits))
            both = later & held.sticks & held.sticks[self.before]
            rows = rows.at[self.stops :].set(jnp.where(both, shared, rows[self.stops :]))
        return jnp.concatenate([left, rows])


def _parallel_frictions(directions):
    """Return for each friction the first parallel one, and 1 or -1 for its direction.

    Shares of sticking parallel frictions are undetermined: equal fractions of the
    limits.
    """
    same = jnp.all(directions[:, None] == directions[None], axis=2)
    opposite = jnp.all(directions[:, None] == -directions[None], axis=2)
    first = jnp.argmax(same | opposite, axis=1) if len(directions) else jnp.zeros(0, int)
    return first, jnp.where(same[jnp.arange(len(first)), first], 1.0, -1.0)


def _rows(rows, none):
    return jnp.stack(rows) if rows else none


@eqx.filter_jit
def _found(system, start) -> StaticEquilibrium:
    leaves, static = partition_arrays(system)

    def statics_of(leaves, start):
        return _Statics(combine_arrays(leaves, static).equation(), start)

    known = jax.tree.map(jax.lax.stop_gradient, (leaves, start))
    last, scale = _solved(statics_of(*known))
    size = last.place.shape[0]

    def residual(root, known):
        leaves, start, (bears, sticks, slid) = known
        return statics_of(leaves, start).balance(
            root, _ActiveConstraints(bears > 0, sticks > 0, slid)
        )

    held = jax.tree.map(lambda flags: flags.astype(float), last.held)
    root = jnp.concatenate([last.place, last.forces])
    root = implicit_root(residual, root, (leaves, start, held))
    good = last.left <= _BALANCED**0.5 * scale
    finite = jnp.all(jnp.isfinite(root))
    code = jnp.where(good, Reason.SUCCESS, Reason.ITERATION_LIMIT)
    code = jnp.where(finite, code, Reason.DIVERGED).astype(jnp.int32)
    root = jnp.where(code == Reason.SUCCESS, root, jnp.nan)
    statics = statics_of(leaves, start)
    equation, holding = statics.equation, root[size:]
    # The whole state is NaN if there is none.
    state = jnp.concatenate([root[:size] + equation.offset, 0.0 * root[:size]])
    depths = equation.penetrations(state)
    forces, number = equation.contact_forces(depths, jnp.zeros_like(depths)), 0
    for j, hard in enumerate(equation.hard_contacts()):
        if hard:
            forces, number = forces.at[j].set(holding[number]), number + 1
    return StaticEquilibrium(
        state, forces, depths, forces > 0, holding[number:],
        statics.sticking_limits(root[:size]), last.left / scale, last.iterations, code,
    )  # fmt: skip


def _solved(statics: _Statics):
    """Return the last iteration, and the size of the balanced accelerations."""
    size, count = statics.offset.shape[0], statics.at.shape[0]
    slopes = jax.jacfwd(statics.free)
    start = jnp.zeros(size)
    pulled = jnp.max(jnp.abs(statics.free(start)), initial=0.0)
    stiffness = jnp.max(jnp.abs(jnp.diagonal(slopes(start))), initial=0.0)
    damping = jnp.where(stiffness > 0, stiffness, 1.0)
    damped = jnp.concatenate([jnp.ones(size), jnp.zeros(count)])

    def scale_of(place, forces):
        terms = jnp.abs(slopes(place)) @ jnp.abs(place) + jnp.abs(statics.free(place))
        weights = jnp.abs(forces) @ jnp.abs(statics.responses)
        least = jnp.finfo(float).tiny
        return jnp.maximum(jnp.max(terms + weights, initial=0.0) + pulled, least)

    def step(rest: _Iterate) -> _Iterate:
        # Forces and depths are compared by the damping, a stiffness of the bodies'
        # size.
        weights = statics.next(rest, rest.damping)
        root = jnp.concatenate([rest.place, rest.forces])
        matrix = jnp.diag(rest.damping * damped) - jax.jacfwd(statics.balance)(
            root, weights
        )
        change = jnp.linalg.solve(matrix, statics.balance(root, weights))
        place, forces = jnp.split(root + change, [size])
        left = jnp.max(jnp.abs(statics.balance(root + change, weights)[:size]), initial=0.0)
        grown = jnp.clip(left / jnp.maximum(rest.left, 1e-300), _SHRINKS, _GROWS)
        moved = jnp.max(jnp.abs(change[:size]), initial=0.0)
        pairs = zip(weights, rest.held, strict=True)
        changed = jnp.any(jnp.concatenate([new != old for new, old in pairs]))
        moved = jnp.where(changed, jnp.inf, moved)
        count_now = rest.iterations + 1
        return _Iterate(
            place, forces, weights, rest.damping * grown, left, moved, count_now
        )

    def unfinished(rest: _Iterate):
        still = rest.moved <= _BALANCED * jnp.max(jnp.abs(rest.place), initial=0.0)
        done = still & (rest.left <= _BALANCED**0.5 * scale_of(rest.place, rest.forces))
        finite = jnp.all(jnp.isfinite(rest.place))
        return ~done & finite & (rest.iterations < _MOST_ITERATIONS)

    begun, far = statics.begun(), jnp.asarray(jnp.inf)
    first = _Iterate(start, jnp.zeros(count), begun, damping, pulled, far, jnp.asarray(0))
    last = jax.lax.while_loop(unfinished, step, first)
    return last, scale_of(last.place, last.forces)
