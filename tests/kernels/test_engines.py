"""Checked against: the same motions compiled by XLA alone, without any kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.flow import observe, observe_with_monodromy, solve_system
from jaxvib.kernels import Kernel, kernel

NUMBER = 64


def motion(system, engine, periods=1.0, rtol=1e-9):
    """Return the function from (amplitude, frequency) to where a motion is in the end."""

    def run(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane = jv.replace(system, values)
        solution = solve_system(
            lane, lane.rest(), 0.0, periods * lane.period(), rtol=rtol, engine=engine
        )
        return solution.state, solution.result, solution.steps

    return run


def drawn(first, second):
    """Return two columns of numbers, the same in whatever order the tests go."""
    random = np.random.default_rng(4)
    return random.uniform(*first, NUMBER), random.uniform(*second, NUMBER)


def loads():
    return drawn((200, 800), (5, 8))


def by_xla(function, arguments):
    """Return what XLA computes of lanes where no function within is a kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", lambda self, *given: self._function(*given))
        jax.clear_caches()  # of parts that were traced with kernels in them
        program = jax.jit(jax.vmap(function)).lower(*arguments)
        assert "jaxvib_" not in program.as_text()  # as its calls of kernels are named
        found = program.compile()(*map(jnp.asarray, arguments))
    jax.clear_caches()
    return found


def agree(function, arguments, rtol):
    compiled = kernel(function)
    assert not compiled.unsupported_reason(*(argument[0] for argument in arguments))
    found = jax.tree.leaves(compiled.map(*arguments))
    wanted = jax.tree.leaves(by_xla(function, arguments))
    for one, other in zip(found, wanted, strict=True):
        if one.dtype == float:
            size = np.max(np.abs(np.where(np.isfinite(other), other, 0)), initial=0)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * size)
        else:
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_motions_between_hard_stops_are_those_of_xla():
    system = jv.two_body_impact(contact=jv.RestitutionContact(0.7))
    agree(motion(system, "event", 3.0), loads(), 1e-12)


def duffing(engine):
    system = jv.forced_system(
        lambda t, x, p: jnp.stack(
            [x[1], -0.3 * x[1] + x[0] - x[0] ** 3 + p["a"] * jnp.cos(p["w"] * t)]
        ),
        parameters={"a": 0.37, "w": 1.2},
        period=lambda p: 2 * jnp.pi / p["w"],
        dimension=2,
        largest_step=0.25,  # or the field is looked at 512 times, each written down
    )

    def run(a, w):
        lane = jv.replace(system, {"a": a, "w": w})
        start = jnp.array([1.0, 0.0])
        return solve_system(lane, start, 0.0, lane.period(), rtol=1e-9, engine=engine).state

    return run, drawn((0.1, 0.5), (1, 2))


def test_a_field_by_diffrax_is_that_of_xla():
    agree(*duffing("diffrax"), 1e-9)  # a step may be taken or not by a last bit


@pytest.mark.slow
def test_motions_of_two_bodies_are_those_of_xla():
    agree(motion(jv.two_body_impact(), "event"), loads(), 1e-11)


@pytest.mark.slow
def test_motions_of_two_bodies_by_diffrax_are_those_of_xla_but_for_steps_at_onsets():
    """Until bodies touch, steps are the same. At an onset a last bit takes a step or not.

    Those that follow are others, as many or not: such motions are no farther from one of a
    tighter tolerance, by another engine, than XLA's are.
    """
    system, arguments = jv.two_body_impact(), loads()
    by_diffrax = motion(system, "diffrax")
    found, result, steps = kernel(by_diffrax).map(*arguments)
    wanted, its_result, its_steps = by_xla(by_diffrax, arguments)
    np.testing.assert_array_equal(result, its_result)

    def exactly(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane, settings = jv.replace(system, values), {"rtol": 1e-12, "grazing": 1e-9}
        return observe(lane, lane.rest(), 0.0, lane.period(), engine="event", **settings)

    exact, observables, _ = kernel(exactly).map(*arguments)
    size, apart = np.abs(exact).max(), observables.onsets[:, 0] == 0
    assert 0.5 < apart.mean() < 0.9
    np.testing.assert_array_equal(np.asarray(steps)[apart], np.asarray(its_steps)[apart])
    np.testing.assert_allclose(found[apart], wanted[apart], rtol=0, atol=1e-11 * size)
    errors, its_errors = (
        np.abs(np.asarray(states) - exact).max(axis=1) for states in (found, wanted)
    )
    assert max(errors.max(), its_errors.max()) < 1e-7 * size  # at a tolerance of 1e-9
    assert np.median(errors) < 2 * np.median(its_errors)


@pytest.mark.slow
def test_observables_and_monodromies_are_those_of_xla():
    system = jv.two_body_impact()

    def run(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane = jv.replace(system, values)
        settings = {"rtol": 1e-9, "grazing": 1e-9, "engine": "event"}
        end = lane.period()
        seen = observe_with_monodromy(lane, lane.rest(), 0.0, end, **settings)
        return seen, observe(lane, lane.rest(), 0.0, end, **settings)

    agree(run, loads(), 1e-8)
