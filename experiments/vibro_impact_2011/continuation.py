"""The paper's continuation in the load, with and without Newton's correction.

The paper computes the monodromy matrix and the derivative with respect to the load from
five Cauchy problems, and takes each step from the linear system. Here the five problems
are solved by the independent integration of the tests, and the step is checked by
continuing the same branch with every point corrected. The saving, the transients, is
measured by direct integration to the steady state at the same loads.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from jaxvib.branches.equations.point import orbit_at, shooting_at
from tests.independent import TwoBody, motion

PATH = "load.amplitude"
SAME = 1e-7  # of a motion's size: how near a transient has to come to its steady state
RTOL = 1e-9


def five_cauchy_problems(stiffness: float, state) -> dict:
    """Return how far jaxvib's columns are from the paper's five Cauchy problems."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    rival = TwoBody(contact_stiffness=stiffness)

    def image(state, amplitude):
        loaded = jv.replace(system, {PATH: amplitude})
        return jv.flow(loaded, state, 0.0, loaded.period(), rtol=1e-10)

    matrix, column = jax.jit(jax.jacfwd(image, (0, 1)))(np.asarray(state), 500.0)
    run = motion(rival, state, 0.0, rival.period, ("load_amplitude",))
    return {
        "monodromy": float(
            np.abs(matrix - run.monodromy).max() / np.abs(run.monodromy).max()
        ),
        "column by the load": float(
            np.abs(column - run.columns[:, 0]).max() / np.abs(run.columns).max()
        ),
    }


@eqx.filter_jit
def linearised(system, value, state, periods, rtol):
    """Return the residual r, M - I and dr/dp of the period map in one solve."""

    def residual(state, value):
        there = jv.replace(system, {PATH: value})
        image = jv.flow(
            there, state, 0.0, periods.astype(float) * there.period(), rtol=rtol
        )
        return image - state, image - state

    value = jnp.asarray(value, float)
    (matrix, column), rest = jax.jacfwd(residual, (0, 1), has_aux=True)(state, value)
    return rest, matrix, column


@eqx.filter_jit
def uncorrected_orbit(system, state, *settings):
    """Return the motion from a state; `settings`: periods and two tolerances."""
    found = shooting_at(system, state, *settings)
    return orbit_at(system, state, found, *settings)


def paper_steps(system, orbit, bounds, size):
    """Return values, states and residuals of the paper's steps of one size, both ways.

    A step changes the state by (M - I) ds = -r - (dr/dp) dp and is not corrected.
    """
    periods, rtol = orbit.periods, jnp.asarray(1e-8)

    def towards(bound):
        value, state = float(jv.parameters(system)[PATH].value), orbit.state
        while value != bound:
            residual, matrix, column = linearised(system, value, state, periods, rtol)
            step = np.sign(bound - value) * min(size, abs(bound - value))
            state = state + jnp.linalg.solve(matrix, -residual - column * step)
            value += step
            there = jv.replace(system, {PATH: value})
            seen = uncorrected_orbit(there, state, periods, rtol, 1e-2 * rtol)
            if int(seen.result) != jv.Reason.SUCCESS:
                return
            yield value, np.asarray(state), float(seen.residual)

    low, high = (list(towards(bound)) for bound in bounds)
    first = float(jv.parameters(system)[PATH].value), np.asarray(orbit.state), 0.0
    return (np.array(column) for column in zip(*low[::-1], first, *high, strict=True))


def steps(stiffness: float, sizes=(20.0, 5.0, 1.0)) -> dict:
    """Return how far the paper's own step drifts from the branch, for steps in N."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    orbit = jv.periodic_orbit(system)
    corrected = jv.continue_orbit(system, orbit, PATH, (100.0, 1000.0))
    fold = next(point for point in corrected.bifurcations if point.kind == "fold")
    report = {
        "five Cauchy problems": five_cauchy_problems(stiffness, orbit.state),
        "with correction": {
            "points": len(corrected.parameter),
            "fold, N": float(fold.parameter),
            "to, N": float(corrected.parameter.max()),
            "largest error bar of a state": float(corrected.orbits.state_error.max()),
        },
    }
    for size in sizes:
        values, states, residuals = paper_steps(system, orbit, (100.0, 1000.0), size)
        deviation = {}
        for amplitude in (1000.0, 700.0, 300.0, 200.0, 140.0):
            point = int(np.abs(values - amplitude).argmin())
            there = jv.replace(system, {PATH: values[point]})
            near = int(np.abs(corrected.parameter - values[point]).argmin())
            true = jv.periodic_orbit(there, corrected.states[near])
            deviation[f"{values[point]:g} N"] = float(
                np.abs(states[point] - true.state).max() / np.abs(true.state).max()
            )
        beyond = values < fold.parameter
        report[f"without, steps of {size:g} N"] = {
            "points": len(values),
            "relative deviation from the branch": deviation,
            "points below the fold, where there is no such motion": int(beyond.sum()),
            "their smallest |s(T) - s(0)|": float(residuals[beyond].min(initial=np.inf)),
        }
    return report


def distance(system, state, target):
    """Return how far two states are from each other, per size of the motion."""
    frequency = 2 * jnp.pi / system.period()
    weights = jnp.concatenate([jnp.full(2, frequency), jnp.ones(2)])
    return jnp.max(jnp.abs(state - target) * weights) / jnp.max(jnp.abs(target) * weights)


def settled(system, start, load, target):
    """Return after how many periods a transient is the target, and how far it is then."""
    system = jv.replace(system, {PATH: load})

    def go_on(carry):
        state, periods = carry
        return (distance(system, state, target) > SAME) & (periods < 1000)

    def one_period(carry):
        state, periods = carry
        return jv.flow(system, state, 0.0, system.period(), rtol=RTOL), periods + 1

    state, periods = jax.lax.while_loop(go_on, one_period, (start, 0))
    return periods, distance(system, state, target)


def stepped(system, start, load, target):
    """Return the state at another load by the paper's step and Newton's corrections.

    And how often s(T) was computed with its five columns.
    """

    def residual(state, load):
        loaded = jv.replace(system, {PATH: load})
        image = jv.flow(loaded, state, 0.0, loaded.period(), rtol=RTOL)
        return image - state, image - state

    def change(state, load, by):
        columns = jax.jacfwd(residual, (0, 1), has_aux=True)
        (matrix, column), left = columns(state, load)
        return jnp.linalg.solve(matrix, -left - column * by)

    def go_on(carry):
        _, moved, count = carry
        return (moved > SAME) & (count < 20)

    def correction(carry):
        state, _, count = carry
        # The first is the paper's step, from the load before.
        first = count == 0
        here = jnp.where(first, load, target)
        new = state + change(state, here, jnp.where(first, target - load, 0.0))
        moved = jnp.where(first, jnp.inf, distance(system, state, new))
        return new, moved, count + 1

    state, _, count = jax.lax.while_loop(go_on, correction, (start, jnp.inf, 0))
    return state, count


@eqx.filter_jit
def at_each(function, system, *columns):
    """Return a function at each of many loads, one after the other."""
    return jax.lax.map(lambda row: function(system, *row), columns)


def timed(function):
    """Return a result and the processor seconds of a compiled call, the least of five."""
    result, seconds = jax.block_until_ready(function()), []
    for _ in range(5):
        begin = time.process_time()
        jax.block_until_ready(function())
        seconds.append(time.process_time() - begin)
    return result, min(seconds)


def without_transients(stiffness: float) -> dict:
    """Return what a branch costs beside transients to the same motions."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    orbit = jv.periodic_orbit(system)

    def follow():
        return jv.continue_orbit(system, orbit, PATH, (200.0, 1000.0))

    branch, seconds = timed(follow)
    first = int(np.argmin(np.abs(branch.parameter - 500.0)))
    others = np.delete(np.arange(len(branch.parameter)), first)
    before = others + np.sign(first - others)
    loads, states = branch.parameter[others], branch.states[others]
    previous = branch.parameter[before], branch.states[before]

    def steps():
        return at_each(stepped, system, previous[1], previous[0], loads)

    (found, counts), alone = timed(steps)
    misses = jax.vmap(lambda *pair: distance(system, *pair))(found, states)
    rows = {}
    rest = np.broadcast_to(system.rest(), states.shape)
    for name, starts in (("from rest", rest), ("from the load before", previous[1])):

        def integrate(starts=starts):
            return at_each(settled, system, starts, loads, states)

        (periods, away), spent = timed(integrate)
        rows[name] = {
            "the same motion at": f"{int((away <= SAME).sum())} of {len(loads)} loads",
            "periods, median": float(np.median(periods)),
            "periods, most": int(periods.max()),
            "processor ms a load": 1e3 * spent / len(loads),
            "periods for one computation with columns": float(
                np.median(periods) / np.mean(counts)
            ),
            "times the steps alone": spent / alone,
            "times continue_orbit": spent / len(loads) / seconds * len(branch.parameter),
        }
    return {
        "loads": len(loads),
        "direct integration": rows,
        "the paper's step and Newton's corrections alone": {
            "computations of s(T) with its five columns, mean": float(np.mean(counts)),
            "furthest from the branch, per size": float(misses.max()),
            "processor ms a load": 1e3 * alone / len(loads),
        },
        "continue_orbit, with multipliers and evidence": {
            "processor ms a load": 1e3 * seconds / len(branch.parameter)
        },
    }
