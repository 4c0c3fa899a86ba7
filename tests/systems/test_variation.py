"""Checked against: forces written out by hand, and the periods of the laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.systems.linear_part import linear_part
from jaxvib.systems.variation import at_time

ONE = np.ones(1)
LINEAR = jv.LinearSystem([[2.0]], [[0.1]], [[8.0]])
MESH = jv.HarmonicLoad(0.3, 4.0)


def gears(mesh, *loads, spring=None):
    flanks = jv.backlash([1.0], 0.2, jv.LinearContact(50.0), "mesh", mesh)
    springs = (jv.NonlinearSpring(ONE, jv.PolynomialLaw([3.0, 1.0]), "shaft", spring),)
    return jv.ImpactSystem(LINEAR, flanks, loads, springs=springs)


def push(law):
    return jv.AppliedLoad(ONE, law, "push")


def test_forces_are_multiplied_by_one_plus_the_variation():
    wave = jv.HarmonicLoad(0.5, 2.0)
    equation = gears(MESH, push(wave), spring=wave).equation()
    time, place, speed = 0.7, 0.25, -0.4
    mesh, shaft = 1 + 0.3 * np.cos(4 * time), 1 + 0.5 * np.cos(2 * time)
    force = 8 * place + 0.1 * speed + mesh * 50 * (place - 0.1)
    force += shaft * (3 * place + place**2) - 0.5 * np.cos(2 * time)
    rate = equation.vector_field(time, jnp.asarray([place, speed]))
    np.testing.assert_allclose(rate, [speed, -force / 2], rtol=1e-14)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_lanes_equal_a_loop_in_both_precisions(dtype):
    contacts = jax.tree.map(lambda x: x.astype(dtype), gears(MESH).contacts)
    depth = jnp.asarray(0.2, dtype)

    @jax.jit
    def force(time):
        return at_time(contacts, time)[0].law.force(depth)

    times = jnp.linspace(0.0, 1.0, 4, dtype=dtype)
    found = jax.vmap(force)(times)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, [force(time) for time in times])


def test_variations_are_parameters_without_a_unit():
    known = jv.parameters(gears(MESH))
    assert known["contacts.mesh-ahead.variation.amplitude"].unit == ""
    assert known["contacts.mesh-ahead.variation.frequency"].unit == "rad/s"
    other = jv.replace(gears(MESH), {"contacts.mesh-behind.variation.amplitude": 0.1})
    assert other.contacts[1].variation.amplitude == 0.1
    assert other.contacts[0].variation.amplitude == 0.3


@pytest.mark.parametrize(
    ("loads", "spring", "period"),
    [
        ((), None, np.pi / 2),
        ((push(jv.ConstantLoad(1.0)),), None, np.pi / 2),
        ((push(jv.HarmonicLoad(1.0, 6.0)),), None, np.pi),
        ((push(jv.HarmonicLoad(1.0, 6.0)),), jv.FourierLoad(1.0, [0.1], [0.0]), 2 * np.pi),
        ((), jv.ConstantLoad(0.1), np.pi / 2),
    ],
)
def test_the_period_is_that_of_loads_and_variations(loads, spring, period):
    np.testing.assert_allclose(gears(MESH, *loads, spring=spring).period(), period)


def test_periods_that_do_not_fit_are_refused():
    message = "loads and variations have periods 2.*, 1.5.* s without a common one"
    with pytest.raises(ValueError, match=message):
        gears(MESH, push(jv.HarmonicLoad(1.0, np.sqrt(7.0))))
    with pytest.raises(ValueError, match=r"springs.shaft.variation = StepLoad is not per"):
        gears(None, spring=jv.StepLoad(0.1, 1.0)).period()
    with pytest.raises(ValueError, match=r"loads = \(\) is empty"):
        gears(None).period()


def test_a_variation_of_a_hard_stop_is_refused():
    with pytest.raises(ValueError, match="variation of a hard stop"):
        jv.Contact(ONE, 0.1, jv.RestitutionContact(0.5), "stop", MESH)


def test_a_slope_that_varies_has_no_linear_part():
    with pytest.raises(ValueError, match=r"springs.shaft.variation: the slope"):
        linear_part(gears(None, spring=MESH))
    assert linear_part(gears(MESH)).matrices()[2] == 11.0  # contacts are left out


def test_an_equilibrium_is_that_of_the_mean():
    weight = push(jv.ConstantLoad(4.0))
    found = jv.static_equilibrium(gears(MESH, weight, spring=MESH)).state
    expected = jv.static_equilibrium(gears(None, weight)).state
    np.testing.assert_allclose(found, expected, atol=1e-14)
    fixed = jv.static_equilibrium(gears(jv.ConstantLoad(0.5), weight)).state[0]
    force = 8 * fixed + 75 * (fixed - 0.1) + 3 * fixed + fixed**2
    np.testing.assert_allclose(force, 4.0, rtol=1e-12)
