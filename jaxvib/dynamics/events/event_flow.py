"""Event-driven integration as differentiable functions and kernels."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ...ensemble import Reason
from ...foundation.arrays import combine_arrays
from ...foundation.types import Number
from ...kernels import Kernel
from ...kernels.calls.derivative_rule import with_rule
from ...kernels.calls.kernel_cache import cached_kernel
from ...kernels.lower import tangents
from ..measure import Measure
from ..motion import Motion, Want, in_succession
from ..observables import init_observables
from ..sensitivities import (
    MOST_SENSITIVITIES,
    basis_of,
    contract_tangents,
    perturbed,
    value_and_tangent,
)
from .engine import Request, integrate_events, integrate_periods
from .scalar_system import ORDER


def event_problem(
    static: PyTree,
    state: Array,
    parameters: PyTree,
    t0: Number,
    t1: Number,
    rtol: Number,
    order: int = ORDER,
    measure: type[Measure] | None = None,
) -> Motion:
    """Integrate a system event by event; differentiable.

    `static`: the part of the system without parameters; `order`: see `Request`. Each
    event's time depends on state and parameters through its last Newton step, so that
    the sensitivities, all computed together, are exact for the steps taken. So are
    higher derivatives, forward and reverse; from the third on they are compiled by XLA,
    which takes minutes with Hertz contacts. With a `measure` the end is the state
    followed by its integrals along the motion.
    """

    def ended(state, parameters, t0, t1, rtol):
        want = Want(rtol, measure=measure)
        found = motion_kernel(static, order)(state, parameters, t0, t1, want)
        return found if measure is None else _with_sum(found)

    def rule(primals, tangents):
        (state, *rest, rtol), (d_state, *d_rest, _) = primals, tangents
        given, changes = (state, tuple(rest)), (d_state, tuple(d_rest))
        moving, changes, others = perturbed(given, changes)
        basis, weights = basis_of(*moving, *changes)
        if basis is None:
            found = run(*primals)
            return found, _tangent_of_state(jnp.zeros_like(found.state))
        sensitivities = _sensitivities_of(static, order, measure)

        # The tolerance is passed, not closed over: it may differ between lanes.
        def sensitivities_along(rows):
            return sensitivities(moving, rows, (others, rtol))

        if len(weights) > MOST_SENSITIVITIES:
            moved = contract_tangents(
                lambda rows: sensitivities_along(rows)[1], basis, weights
            )
            return run(*primals), _tangent_of_state(moved)
        end, sensitivities, (result, steps) = sensitivities_along(basis)
        moved = jnp.tensordot(weights, sensitivities, 1)
        return Motion(end, result, steps), _tangent_of_state(moved)

    run = with_rule(ended, rule)
    start = jax.tree.map(jnp.asarray, (state, parameters))
    return run(*start, *(jnp.asarray(number, float) for number in (t0, t1, rtol)))


def periods_problem(
    static: PyTree,
    state: Array,
    parameters: PyTree,
    period: Number,
    count: int,
    rtol: Number,
    *,
    at_once: int,
    order: int = ORDER,
) -> Motion:
    """Return the states after each of `count` periods, and a reason code; differentiable.

    `at_once`: the number of periods in one loop, a divisor of `count`.
    """

    def run(state, parameters, period, rtol):
        go, want = motion_kernel(static, order), Want(rtol, periods=at_once)

        def group(state, going):
            return go(state, parameters, 0.0, going * period, want)

        return in_succession(group, state, count // at_once)

    def one_by_one(state, parameters, period, rtol):
        def go(state, going):
            end = going * period
            found = event_problem(static, state, parameters, 0.0, end, rtol, order)
            return found._replace(states=found.state[None])

        return in_succession(go, state, count)

    rule = functools.partial(value_and_tangent, one_by_one)
    start = jax.tree.map(jnp.asarray, (state, parameters))
    return with_rule(run, rule)(*start, *(jnp.asarray(x, float) for x in (period, rtol)))


# Kernels of event-driven motions: the code around them is small for XLA. A kernel is
# compiled once per structure of a system, for all values of its parameters.


@functools.lru_cache(maxsize=64)
def motion_kernel(static: PyTree, order: int = ORDER) -> Kernel:
    """Return the kernel from (state, parameters, t0, t1, want) to a `Motion`.

    It has a program for each static part of `want`.
    """

    def motion(state, parameters, t0, t1, want):
        system = combine_arrays(parameters, static)
        wanted = _observed if want.times is None else _sampled
        return wanted(system, state, t0, t1, want, order)

    return cached_kernel(motion, static, order)


def _sampled(system, state, t0, t1, want: Want, order: int) -> Motion:
    """Return states and contact forces at times, with holding forces of hard stops."""
    equation, times = system.equation(), want.times

    def to(state, begin, end):
        request = Request(order=order)
        found = integrate_events(equation, state, begin, end, want.rtol, request)
        forces = equation.at(end).forces_at(found.state)
        return found, (found.state, forces + found.forces)

    def step(last, span):
        state, result = last
        found, seen = to(state, *span)
        result = jnp.where(result == Reason.SUCCESS, found.result, result)
        return (found.state, result), seen

    begun, first = to(state, times[0], times[0])
    spans = jnp.stack([times[:-1], times[1:]], axis=1)
    (end, result), rest = jax.lax.scan(step, (begun.state, begun.result), spans)
    states, forces = (
        jnp.concatenate([one[None], many]) for one, many in zip(first, rest, strict=True)
    )
    return Motion(end, result, states=states, forces=forces)


def _observed(system, state, t0, t1, want: Want, order: int) -> Motion:
    """Return a motion with everything that is wanted of it but samples."""
    equation, seen, rows = system.equation(), want.observables, None
    if want.grazing is not None and seen is None:
        seen = init_observables(t0, state, equation)
    if want.monodromy:
        rows = jnp.eye(state.shape[0])
    elif want.along is not None:
        rows = want.along[None]
    measure = None if want.measure is None else want.measure.of(system)
    whole = equation, t0, t1, want.rtol, want.grazing
    arrays, rest = eqx.partition(whole, eqx.is_array)

    def go(state, others, steady=False):
        arrays, seen = others
        equation, t0, t1, rtol, grazing = eqx.combine(arrays, rest)
        differentiated = rows is not None
        request = Request(grazing, seen, measure, differentiated, steady, order)
        if want.periods is not None:
            found = integrate_periods(equation, state, t1, want.periods, rtol, request)
            return found.states, found
        found = integrate_events(equation, state, t0, t1, rtol, request)
        return found.state, found

    if rows is None:
        moved, found = None, go(state, (arrays, seen))[1]
    else:
        _, moved, found = _first_sensitivities(go, state, rows, (arrays, seen))
    forces = None
    if want.forces:
        forces = equation.at(t1).forces_at(found.state) + found.forces
    found = found._replace(forces=forces)
    if moved is None:
        return found
    if want.monodromy:
        return found._replace(monodromy=moved.T)
    return found._replace(along=moved[0])


@functools.lru_cache(maxsize=64)
def _sensitivities_of(static, order, measure):
    """Return a function from (moving, rows, others) to end, sensitivities and the rest.

    `moving`: the leaves of (state, (parameters, t0, t1)) that are `perturbed`. Its first
    derivatives are a kernel as well.
    """

    def go(moving, others, steady):
        others, rtol = others
        state, (parameters, t0, t1) = eqx.combine(moving, others)
        system = combine_arrays(parameters, static)
        request = Request(differentiated=True, steady=steady, order=order)
        if measure is not None:  # its derivative needs the pace of contacts
            request = request._replace(steady=False, measure=measure.of(system))
        found = integrate_events(system.equation(), state, t0, t1, rtol, request)
        if measure is not None:
            found = _with_sum(found)
        return found.state, (found.result, found.steps)

    def along(moving, rows, others):
        return _first_sensitivities(go, moving, rows, others)

    def turned(moving, rows, others, change):
        """Return the tangents of the value and of its sensitivities."""
        d_moving, (d_rows, d_others) = change

        def pushed(where):
            moving, d_moving = where
            whole, changes = (moving, others), (d_moving, d_others)
            value, moved, _ = jax.jvp(
                lambda *known: go(*known, steady=False), whole, changes, has_aux=True
            )
            return (value, moved), ()

        where, along_rows = (moving, d_moving), (rows, d_rows)
        (_, moved), (_, sensitivities), _ = _along_rows(pushed, where, along_rows)
        return moved, sensitivities

    known = static, order, measure
    compiled, second = cached_kernel(along, *known), cached_kernel(turned, *known)

    turn = with_rule(second, functools.partial(value_and_tangent, turned))

    def rule(primals, tangents):
        moving, rows, others = primals
        d_moving, *d_others = tangents
        found = sensitivities(*primals)
        basis, weights = basis_of(moving, (rows, others), d_moving, tuple(d_others))
        turns = jax.vmap(functools.partial(turn, *primals))
        if basis is None:
            changes = tuple(map(jnp.zeros_like, found[:2]))
        else:
            changes = contract_tangents(turns, basis, weights)
        no_change = np.zeros((), jax.dtypes.float0)
        return found, (*changes, (no_change, no_change))

    sensitivities = with_rule(compiled, rule)
    return sensitivities


def _along_rows(function, moving, rows):
    """Return a value of `function(moving)`, its sensitivities along rows, and the rest."""
    if tangents.is_lowering():
        return tangents.values_and_tangents(function, moving, rows)
    return _mapped_along_rows(function, moving, rows)


def _mapped_along_rows(function, moving, rows):
    def sensitivity(row):
        return jax.jvp(function, (moving,), (row,), has_aux=True)

    return jax.vmap(sensitivity, out_axes=(None, 0, None))(rows)


def _first_sensitivities(go, moving, rows, others):
    """Return a value of `go(moving, others, steady)`, its sensitivities, and the rest.

    Those along `rows` of changes of `moving`, (rows, ...); `go` returns a value and
    auxiliary output. Their derivatives need what a `steady` pace omits.
    """

    def along(map_rows, steady, moving, rows, others):
        return map_rows(lambda moving: go(moving, others, steady), moving, rows)

    sensitivities = jax.custom_jvp(functools.partial(along, _along_rows, True))
    whole = functools.partial(along, _mapped_along_rows, False)
    sensitivities.defjvp(functools.partial(jax.jvp, whole))
    return sensitivities(moving, rows, others)


def _tangent_of_state(change) -> Motion:
    no_change = np.zeros((), jax.dtypes.float0)
    return Motion(change, no_change, no_change)


def _with_sum(found: Motion) -> Motion:
    end = jnp.concatenate([found.state, found.integral])
    return Motion(end, found.result, found.steps)
