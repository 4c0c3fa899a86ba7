"""The paper's continuation in the load, with and without Newton's correction.

The paper gets the monodromy matrix and the column by the load from five Cauchy problems,
and takes each step as the linear system gives it. Here the five problems are solved by
the independent integration of the tests, and the step is judged by following the same
branch with every point corrected. What the paper saves, the transients, is measured
beside direct integration to the steady state at the same loads.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
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


def steps(stiffness: float, sizes=(20.0, 5.0, 1.0)) -> dict:
    """Return how far the paper's own step drifts from the branch, for steps in N."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    orbit = jv.periodic_orbit(system)
    corrected = jv.continue_orbit(system, orbit, PATH, (100.0, 1000.0))
    report = {
        "five Cauchy problems": five_cauchy_problems(stiffness, orbit.state),
        "with correction": {
            "points": len(corrected.parameter),
            "from, N": float(corrected.parameter[0]),
            "because": jv.reason(corrected.ends[0]),
            "to, N": float(corrected.parameter[-1]),
            "because there": jv.reason(corrected.ends[1]),
            "largest |multiplier| at the low end": float(corrected.largest_multiplier[0]),
            "largest error bar of a state": float(corrected.state_error.max()),
        },
    }
    for size in sizes:
        own = jv.continue_orbit(
            system, orbit, PATH, (100.0, 1000.0), correct=False, first_step=size,
            most_points=2000,
        )  # fmt: skip
        deviation = {}
        for amplitude in (1000.0, 700.0, 300.0, 200.0, 140.0):
            point = int(np.abs(own.parameter - amplitude).argmin())
            there = jv.replace(system, {PATH: float(own.parameter[point])})
            near = int(np.abs(corrected.parameter - own.parameter[point]).argmin())
            true = jv.periodic_orbit(there, corrected.states[near])
            deviation[f"{own.parameter[point]:g} N"] = float(
                np.abs(own.states[point] - true.state).max() / np.abs(true.state).max()
            )
        beyond = own.parameter < corrected.parameter[0]
        report[f"without, steps of {size:g} N"] = {
            "points": len(own.parameter),
            "relative deviation from the branch": deviation,
            "points below the fold, where there is no such motion": int(beyond.sum()),
            "their smallest |s(T) - s(0)|": float(own.residual[beyond].min(initial=np.inf)),
        }
    return report


def distance(system, state, target):
    """Return how far two states are from each other, per size of the motion."""
    frequency = 2 * jnp.pi / system.period()
    weights = jnp.concatenate([jnp.full(2, frequency), jnp.ones(2)])
    return jnp.max(jnp.abs(state - target) * weights) / jnp.max(jnp.abs(target) * weights)


@eqx.filter_jit
def settled(system, state, target):
    """Return after how many periods a transient is the target, and how far it is then."""

    def go_on(carry):
        state, periods = carry
        return (distance(system, state, target) > SAME) & (periods < 1000)

    def one_period(carry):
        state, periods = carry
        return jv.flow(system, state, 0.0, system.period(), rtol=RTOL), periods + 1

    state, periods = jax.lax.while_loop(go_on, one_period, (state, 0))
    return periods, distance(system, state, target)


@eqx.filter_jit
def stepped(system, state, amplitude, target):
    """Return the state at another load by the paper's step and Newton's corrections.

    And how often s(T) was computed with its five columns.
    """

    def linear(state, amplitude):
        def residual(state, amplitude):
            loaded = jv.replace(system, {PATH: amplitude})
            image = jv.flow(loaded, state, 0.0, loaded.period(), rtol=RTOL)
            return image - state, image - state

        return jax.jacfwd(residual, (0, 1), has_aux=True)(state, amplitude)

    def change(state, amplitude, by):
        (matrix, column), residual = linear(state, amplitude)
        return jnp.linalg.solve(matrix, -residual - column * by)

    def go_on(carry):
        _, moved, count = carry
        return (moved > SAME) & (count < 20)

    def correction(carry):
        state, _, count = carry
        # The first of them is the paper's step, taken at the load before.
        first = count == 0
        here = jnp.where(first, amplitude, target)
        by = jnp.where(first, target - amplitude, 0.0)
        new = state + change(state, here, by)
        moved = jnp.where(first, jnp.inf, distance(system, state, new))
        return new, moved, count + 1

    state, _, count = jax.lax.while_loop(go_on, correction, (state, jnp.inf, 0))
    return state, count


def timed(function):
    """Return a result and the processor seconds of a call that is compiled already."""
    jax.block_until_ready(function())
    begin = time.process_time()
    result = jax.block_until_ready(function())
    return result, time.process_time() - begin


def without_transients(stiffness: float) -> dict:
    """Return what a branch costs beside transients to the same motions."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    orbit = jv.periodic_orbit(system)

    def follow():
        return jv.continue_orbit(system, orbit, PATH, (200.0, 1000.0))

    branch, seconds = timed(follow)
    loads, states = branch.parameter, branch.states
    first = int(np.argmin(np.abs(loads - 500.0)))
    others = [i for i in range(len(loads)) if i != first]
    before = {i: i + int(np.sign(first - i)) for i in others}

    def steps():
        return [
            stepped(system, states[before[i]], loads[before[i]], loads[i]) for i in others
        ]

    found, alone = timed(steps)
    misses = [
        float(distance(system, state, states[i]))
        for i, (state, _) in zip(others, found, strict=True)
    ]
    rows = {}
    rest = system.rest()
    for name, starts in (
        ("from rest", {i: rest for i in others}),
        ("from the load before", {i: states[before[i]] for i in others}),
    ):

        def integrate(starts=starts):
            return [
                settled(jv.replace(system, {PATH: loads[i]}), starts[i], states[i])
                for i in others
            ]

        found_there, spent = timed(integrate)
        periods, away = np.array(found_there).T
        rows[name] = {
            "the same motion at": f"{int((away <= SAME).sum())} of {len(others)} loads",
            "periods, median": float(np.median(periods)),
            "periods, most": int(periods.max()),
            "processor ms a load": 1e3 * spent / len(others),
            "times that of the steps alone": spent / alone,
            "times that of continue_orbit": spent * len(loads) / seconds / len(others),
        }
    return {
        "loads": len(others),
        "direct integration": rows,
        "the paper's step and Newton's corrections alone": {
            "computations of s(T) with its five columns, mean": float(
                np.mean([int(count) for _, count in found])
            ),
            "furthest from the branch": max(misses),
            "processor ms a load": 1e3 * alone / len(others),
        },
        "continue_orbit, with multipliers and evidence, ms a load": 1e3
        * seconds
        / len(loads),
    }
