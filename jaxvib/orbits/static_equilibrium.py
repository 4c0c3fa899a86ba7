"""Where a system rests under its weights and preloads, contacts closed or not."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._environment import require_float64
from .._quantity import reported
from .._reported import Reported
from ..ensemble import Reason, raise_if_empty
from ..systems.impact import EquationOfMotion, ImpactSystem
from ..systems.loads import changing
from .implicit import implicit_root

# Each solves one linear system, and the damping falls tenfold in one at most: hundreds are
# needed only where contacts close and open in turn.
_MOST_ITERATIONS = 300
# Forces that do not balance by more than this part of their sizes are still too large.
_BALANCED = 1e-13
# How much a damping of the steps may grow and shrink from one to the next.
_GROWS, _SHRINKS = 4.0, 0.1


class StaticEquilibrium(Reported):
    """A state at rest in which all forces balance, and those of the contacts.

    `state`, `contact_force` and `penetration` are differentiable with respect to every
    parameter of the system; which contacts are closed stays as it is.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(1.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> jv.static_equilibrium(resting).state.round(6).tolist()
    [0.001667, 0.005, 0.0, 0.0]
    """

    state: Float[Array, " state"] = reported("state at rest", "", ("state",))
    contact_force: Float[Array, " contacts"] = reported("contact force", "N", ("contact",))
    penetration: Float[Array, " contacts"] = reported(
        "penetration, negative while apart", "m", ("contact",)
    )
    closed: Bool[Array, " contacts"] = reported(
        "whether a contact bears a force", "", ("contact",)
    )
    residual: Float[Array, ""] = reported("forces that are left, in parts of the largest")
    iterations: Int[Array, ""] = reported("steps of Newton's method")
    result: Int[Array, ""] = reported("reason code")


def static_equilibrium(system: ImpactSystem, *, throw: bool = True) -> StaticEquilibrium:
    r"""Return where a system rests under its constant loads, if all others are taken off.

    With the forces $F_c$ of elastic contacts and springs, and $\lambda$ of hard stops,

    $$C q + \sum_c n_c F_c(n_c^T q - g_c) + \sum_j n_j \lambda_j = f, \qquad
      \lambda_j \ge 0, \quad z_j \le 0, \quad \lambda_j z_j = 0.$$

    Solved by Newton's method on the contacts that are closed, as in an implicit step of
    motion that is ever longer; whether a stop is closed is asked anew in each step (a
    primal-dual active set). Works under `jit`, `vmap` and differentiation.

    **Raises:** `ValueError` for a system that is not one of bodies with contacts, or has
    dry friction, with which it rests in many places; `RuntimeError` with the reason where
    a single call finds none, as of a body that nothing bears, unless `throw=False`.

    **Source:** Kelley and Keyes, *SIAM J. Numer. Anal.* 35 (1998) 508; Hintermueller, Ito
    and Kunisch, *SIAM J. Optim.* 13 (2002) 865.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(9.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> bool(jv.static_equilibrium(resting).closed[0])
    True
    """
    require_float64()
    equation = eqx.filter_eval_shape(lambda s: s.equation(), system)
    if not isinstance(equation, EquationOfMotion):
        raise ValueError(
            f"static_equilibrium of {type(system).__name__}; allowed: bodies with contacts "
            "and loads; of an autonomous field: equilibrium"
        )
    _refuse_frictions(equation)
    found = _found(system)
    raise_if_empty("static_equilibrium", throw, found.result, found.state)
    return found


def gaps_from_equilibrium(system: ImpactSystem) -> ImpactSystem:
    """Return a system whose gaps, as they are given, count from its static equilibrium.

    That is the one with all contacts open; gaps else count from where nothing is strained.
    **Raises:** as `static_equilibrium`.

    >>> weight = jv.AppliedLoad([0.0, 1.0], jv.ConstantLoad(1.0))
    >>> resting = jv.ImpactSystem(tower, contacts=stopped.contacts, loads=(weight,))
    >>> round(float(jv.orbits.gaps_from_equilibrium(resting).contacts[0].gap), 5)
    0.015
    """
    _refuse_frictions(system)
    free = dataclasses.replace(system, contacts=())
    count = system.degrees_of_freedom
    place = static_equilibrium(free).state[:count]
    return eqx.tree_at(
        lambda s: [contact.gap for contact in s.contacts],
        system,
        [contact.gap + contact.direction @ place for contact in system.contacts],
    )


def _refuse_frictions(system: ImpactSystem | EquationOfMotion) -> None:
    if system.frictions:
        raise ValueError(
            "frictions hold a system in many places; allowed: a system without dry "
            "friction, whose equilibrium is one of them"
        )


class _Rest(NamedTuple):
    """A place, the forces of hard stops, which of these bear, and how steps go on."""

    place: Float[Array, " n"]
    forces: Float[Array, " hard"]
    active: Bool[Array, " hard"]
    damping: Float[Array, ""]
    left: Float[Array, ""]
    moved: Float[Array, ""]
    iterations: Int[Array, ""]


class _Statics:
    """The balance of forces of an equation of motion, as accelerations."""

    def __init__(self, equation: EquationOfMotion):
        hard = equation.hard_contacts()
        pairs = list(zip(equation.contacts, equation.contact_responses, strict=True))
        stops = [pair for pair, is_hard in zip(pairs, hard, strict=True) if is_hard]
        others = [pair for pair, is_hard in zip(pairs, hard, strict=True) if not is_hard]
        moving = {id(load) for load in changing(equation.loads)}
        steady = [
            (load, response)
            for load, response in zip(equation.loads, equation.load_responses, strict=True)
            if id(load) not in moving
        ]
        none = jnp.zeros((0, equation.stiffness.shape[0]))
        self.soft = eqx.tree_at(
            lambda e: (e.contacts, e.contact_responses, e.loads, e.load_responses),
            equation,
            (*_apart(others), *_apart(steady)),
        )
        self.directions = jnp.stack([c.direction for c, _ in stops]) if stops else none
        self.responses = jnp.stack([r for _, r in stops]) if stops else none
        self.gaps = jnp.stack([c.gap for c, _ in stops]) if stops else jnp.zeros(0)
        self.offset = equation.offset

    def free(self, place):
        """Return the accelerations of a place at rest, without hard stops."""
        state = jnp.concatenate([place + self.offset, jnp.zeros_like(place)])
        return jnp.split(self.soft.vector_field(0.0, state), 2)[1]

    def depths(self, place):
        """Return the penetrations of the hard stops, m."""
        return self.directions @ place - self.gaps

    def balance(self, place, forces, active):
        """Return what must be 0: accelerations, and z or the force of each stop."""
        left = self.free(place) - forces @ self.responses
        return jnp.concatenate([left, jnp.where(active, self.depths(place), forces)])


def _apart(pairs):
    return tuple(one for one, _ in pairs), tuple(other for _, other in pairs)


@eqx.filter_jit
def _found(system) -> StaticEquilibrium:
    leaves, static = eqx.partition(system, eqx.is_inexact_array)

    def statics_of(leaves):
        return _Statics(eqx.combine(leaves, static).equation())

    last, scale = _solved(statics_of(jax.tree.map(jax.lax.stop_gradient, leaves)))
    size = last.place.shape[0]

    def residual(root, known):
        leaves, active = known
        return statics_of(leaves).balance(root[:size], root[size:], active > 0)

    root = jnp.concatenate([last.place, last.forces])
    root = implicit_root(residual, root, (leaves, last.active.astype(float)))
    good = last.left <= _BALANCED**0.5 * scale
    finite = jnp.all(jnp.isfinite(root))
    code = jnp.where(good, Reason.SUCCESS, Reason.ITERATION_LIMIT)
    code = jnp.where(finite, code, Reason.DIVERGED).astype(jnp.int32)
    root = jnp.where(code == Reason.SUCCESS, root, jnp.nan)
    equation = system.equation()
    # NaN in all of it where there is none.
    state = jnp.concatenate([root[:size] + equation.offset, 0.0 * root[:size]])
    depths = equation.penetrations(state)
    forces, number = equation.contact_forces(depths, jnp.zeros_like(depths)), 0
    for j, hard in enumerate(equation.hard_contacts()):
        if hard:
            forces, number = forces.at[j].set(root[size + number]), number + 1
    closed = forces > 0
    left = last.left / scale
    return StaticEquilibrium(state, forces, depths, closed, left, last.iterations, code)


def _solved(statics: _Statics):
    """Return the last step, and the size of the accelerations that balance in it."""
    size = statics.offset.shape[0]
    count = statics.gaps.shape[0]
    slopes = jax.jacfwd(statics.free)
    start = jnp.zeros(size)
    pulled = jnp.max(jnp.abs(statics.free(start)), initial=0.0)
    stiffness = jnp.max(jnp.abs(jnp.diagonal(slopes(start))), initial=0.0)
    damping = jnp.where(stiffness > 0, stiffness, 1.0)

    def scale_of(place, forces):
        terms = jnp.abs(slopes(place)) @ jnp.abs(place) + jnp.abs(statics.free(place))
        held = jnp.abs(forces) @ jnp.abs(statics.responses)
        least = jnp.finfo(float).tiny
        return jnp.maximum(jnp.max(terms + held, initial=0.0) + pulled, least)

    def step(rest: _Rest) -> _Rest:
        free, slope = statics.free(rest.place), slopes(rest.place)
        depths = statics.depths(rest.place)
        # A force and the depth that a stiffness of the bodies' own would take it to.
        held = jnp.sum(statics.directions * statics.responses, axis=1)
        active = depths + rest.forces * held / rest.damping > 0
        matrix = jnp.zeros((size + count, size + count))
        matrix = matrix.at[:size, :size].set(rest.damping * jnp.eye(size) - slope)
        matrix = matrix.at[:size, size:].set(statics.responses.T)
        rows = jnp.where(active[:, None], statics.directions, 0.0)
        matrix = matrix.at[size:, :size].set(rows)
        matrix = matrix.at[size:, size:].set(jnp.diag(jnp.where(active, 0.0, 1.0)))
        wanted = jnp.concatenate([free, jnp.where(active, -depths, 0.0)])
        found = jnp.linalg.solve(matrix, wanted)
        place, forces = rest.place + found[:size], found[size:]
        left = jnp.max(jnp.abs(statics.free(place) - forces @ statics.responses))
        grown = jnp.clip(left / jnp.maximum(rest.left, 1e-300), _SHRINKS, _GROWS)
        moved = jnp.max(jnp.abs(found[:size]), initial=0.0)
        changed = jnp.any(active != rest.active)
        moved = jnp.where(changed, jnp.inf, moved)
        count_now = rest.iterations + 1
        return _Rest(place, forces, active, rest.damping * grown, left, moved, count_now)

    def unfinished(rest: _Rest):
        still = rest.moved <= _BALANCED * jnp.max(jnp.abs(rest.place), initial=0.0)
        done = still & (rest.left <= _BALANCED**0.5 * scale_of(rest.place, rest.forces))
        finite = jnp.all(jnp.isfinite(rest.place))
        return ~done & finite & (rest.iterations < _MOST_ITERATIONS)

    none = jnp.zeros(count)
    first = _Rest(
        start, none, none > 0, damping, pulled, jnp.asarray(jnp.inf), jnp.asarray(0)
    )
    last = jax.lax.while_loop(unfinished, step, first)
    return last, scale_of(last.place, last.forces)
