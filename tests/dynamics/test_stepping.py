"""Checked against: diffrax at 1e-13, tests.independent, a closed form, single lanes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.engines import engine_for
from jaxvib.dynamics.flow import observe_with_monodromy, solve_system
from jaxvib.ensemble import Reason
from jaxvib.systems.equation import Equation
from jaxvib.systems.system import System
from tests.independent import TwoBody, motion
from tests.systems_table import SOFT


class DuffingEquation(Equation):
    """The rates of Duffing's oscillator."""

    amplitude: jax.Array

    def vector_field(self, time, state):
        x, v = state
        force = self.amplitude * jnp.cos(1.2 * time)
        return jnp.stack([v, -0.2 * v + x - x**3 + force])


class Duffing(System):
    """A system with the least that an engine asks for."""

    amplitude: jax.Array

    def equation(self):
        return DuffingEquation(self.amplitude)

    def rest(self):
        return jnp.zeros(2)

    def period(self):
        return jnp.asarray(2 * jnp.pi / 1.2)


START = jnp.array([0.5, 0.1])


@pytest.fixture(scope="module")
def ends():
    def run(engine, rtol):
        def end(amplitude, state):
            system = Duffing(amplitude)
            return jv.flow(system, state, 0.0, 7.0, rtol=rtol, engine=engine)

        def whole(amplitude):
            columns = jax.jacfwd(end, (0, 1))(amplitude, START)
            return end(amplitude, START), *columns

        return jax.jit(jax.vmap(whole))(jnp.array([0.1, 0.25, 0.3]))

    return run("stepping", 1e-10), run("diffrax", 1e-13)


@pytest.mark.slow
def test_states_and_columns_are_those_of_diffrax(ends):
    for ours, theirs in zip(*ends, strict=True):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=3e-9 * scale)


def test_a_bad_lane_has_its_reason_and_no_lane_feels_it():
    @jax.jit
    def run(amplitudes):
        return jax.vmap(
            lambda a: solve_system(
                Duffing(a), START, 0.0, 3.0, rtol=1e-8, engine="stepping"
            )
        )(amplitudes)

    good, bad = run(jnp.array([0.1, 0.2, 0.3])), run(jnp.array([0.1, jnp.nan, 0.3]))
    assert [int(code) for code in bad.result] == [0, Reason.BAD_PARAMETER, 0]
    assert np.all(np.isnan(bad.state[1]))
    np.testing.assert_array_equal(good.state[::2], bad.state[::2])
    np.testing.assert_array_equal(good.result, 0)


@pytest.mark.slow
def test_contacts_are_observed_and_none_is_missed():
    system = jv.two_body_impact(contact=jv.HertzContact(SOFT))
    state = jnp.array([0.02, 0.17, 0.4, -0.3])
    seen = jax.jit(
        lambda s: observe_with_monodromy(
            s, state, 0.0, 2.2, rtol=1e-11, grazing=1e-9, engine="stepping"
        )
    )(system)
    expected = motion(TwoBody(contact_stiffness=SOFT), np.asarray(state), 0, 2.2, [])
    np.testing.assert_allclose(seen.state, expected.state, rtol=0, atol=1e-9)
    np.testing.assert_allclose(seen.monodromy, expected.monodromy, rtol=0, atol=1e-6)
    assert int(seen.observables.onsets[0]) == len(expected.meetings)


def test_it_is_taken_when_asked_for_and_refused_at_hard_stops():
    assert engine_for(Duffing(jnp.asarray(0.1)), "stepping", 1) == ("stepping", "requested")
    stop = jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), jnp.eye(1), jnp.eye(1)),
        (jv.Contact([1.0], 0.1, jv.RestitutionContact(0.5)),),
    )
    with pytest.raises(ValueError, match="'stepping': contact law RestitutionContact"):
        jv.flow(stop, jnp.zeros(2), 0.0, 1.0, engine="stepping")


def test_float32_evaluates_rates_in_float32_and_keeps_the_state_in_float64():
    told, rates, time = set(), jnp.linspace(0.5, 2.0, 16), 100.25
    late = 1e6  # where float32 tells times no closer than to 0.06

    def field(t, x, p):
        told.add((t.dtype.name, x.dtype.name, p["rate"].dtype.name))
        return jnp.stack([p["rate"] * x[1], -p["rate"] * x[0], jnp.cos(2 * jnp.pi * t)])

    @jax.jit
    @jax.vmap
    def end(rate):
        system = jv.forced_system(field, parameters={"rate": rate}, period=1.0, dimension=3)
        told.clear()  # of what the system was checked with
        start = jnp.array([1.0, 0.0, 0.0])
        return jv.flow(
            system, start, late, late + time, rtol=1e-6, engine="stepping",
            precision="float32",
        )  # fmt: skip

    found = end(rates)
    assert told == {("float32",) * 3}
    assert found.dtype == jnp.float64
    turned = rates * time
    swung = np.full(16, np.sin(2 * np.pi * time) / (2 * np.pi))
    exact = np.stack([np.cos(turned), -np.sin(turned), swung], axis=1)
    # Seven digits of a rate are its phase at the end to 1e-5.
    np.testing.assert_allclose(found, exact, rtol=0, atol=2e-5)


def test_float32_is_refused_where_the_error_does_not_allow_it():
    system, state = Duffing(jnp.asarray(0.1)), START
    with pytest.raises(ValueError, match="rtol = 1e-10 in float32 is not in"):
        jv.flow(system, state, 0.0, 1.0, engine="stepping", precision="float32")
    with pytest.raises(ValueError, match="of a system with contacts, several loads"):
        jv.flow(
            jv.two_body_impact(), jnp.zeros(4), 0.0, 1.0, rtol=1e-5, engine="stepping",
            precision="float32",
        )  # fmt: skip
    with pytest.raises(ValueError, match="allowed: 'stepping'"):
        jv.flow(system, state, 0.0, 1.0, rtol=1e-5, precision="float32")
    with pytest.raises(ValueError, match="precision = 'float16'; allowed"):
        jv.flow(system, state, 0.0, 1.0, engine="stepping", precision="float16")
