"""Checked against: the linear motion, and what a graze adds to M, in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

import jaxvib as jv
from jaxvib.design import Notice, notice
from jaxvib.design.measures.orbit import OrbitAnalysis
from jaxvib.design.searches.smoothness import NEAR, noticed

soft = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
FREQUENCY = 5.8


def without_contact():
    """Return the load at which the gap just closes, and the state at t = 0 per N."""
    mass, damping, stiffness = (np.asarray(m) for m in soft.matrices())
    dynamic = stiffness - FREQUENCY**2 * mass + 1j * FREQUENCY * damping
    x = np.linalg.solve(dynamic, [1.0, 0.0])
    return 0.05 / abs(x[0] - x[1]), np.concatenate([x.real, (1j * FREQUENCY * x).real])


def slope_behind_grazing(per_newton):
    """Return the derivative of tr M by the load, 1/N, where the gap begins to close.

    The gap closes to rho - a t^2 / 2 with a = w^2 gap, so that Hertz's contact, of
    stiffness 3/2 K sqrt(z), turns the velocities by the integral 3/2 K (pi / 2)
    sqrt(2 / a) rho. When it does in the linear motion, exp(A T), is nothing to the trace.
    """
    mass, damping, stiffness = (np.asarray(m) for m in soft.matrices())
    pair = np.array([1.0, -1.0])
    rates = np.block([
        [np.zeros((2, 2)), np.eye(2)],
        [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)],
    ])  # fmt: skip
    turn = np.zeros((4, 4))
    turn[2:, :2] = -np.linalg.solve(mass, np.outer(pair, pair))
    deeper = abs(pair @ (per_newton[:2] - 1j * per_newton[2:] / FREQUENCY))
    whole = 1.5 * 3.504e7 * np.pi / 2 * np.sqrt(2 / (FREQUENCY**2 * 0.05)) * deeper
    return whole * np.trace(turn @ expm(rates * 2 * np.pi / FREQUENCY))


def test_each_notice_has_its_cause_and_its_words():
    assert noticed(1.0, np.array([1]), None) == Notice.SMOOTH
    assert noticed(1.0, np.array([1, 2]), np.array([1, 2])) == Notice.SMOOTH
    assert noticed(1.0, np.array([1, 2]), np.array([1, 1])) == Notice.CROSSED_GRAZING
    assert noticed(NEAR / 2, np.array([1]), np.array([1])) == Notice.AT_GRAZING
    assert len({notice(code) for code in Notice}) == len(Notice)


@pytest.fixture(scope="module")
def grazing():
    load, per_newton = without_contact()
    guess = jnp.asarray(load * per_newton) + 0.05 * jnp.array([0.0, 1.0, 0.0, 0.0])

    def measured(amplitude):
        system = jv.replace(soft, {"load.amplitude": amplitude})
        orbit = jv.periodic_orbit(system, guess, rtol=1e-11, evidence="quick")
        numbers = jnp.stack([jnp.trace(orbit.monodromy), orbit.amplitude[0]])
        return numbers, orbit.contacts

    slopes = jax.jit(jax.jacfwd(measured, has_aux=True))
    return load, per_newton, slopes


@pytest.mark.slow
def test_an_amplitude_keeps_its_derivative_and_the_monodromy_matrix_loses_it(grazing):
    load, per_newton, slopes = grazing
    linear = abs(per_newton[0] + 1j * per_newton[2] / FREQUENCY)
    (trace, amplitude), contacts = slopes(jnp.asarray(load * (1 - 1e-4)))
    assert int(contacts) == 0
    assert float(amplitude) == pytest.approx(linear, rel=1e-7)
    assert abs(float(trace)) < 1e-9
    (trace, amplitude), contacts = slopes(jnp.asarray(load * (1 + 1e-8)))
    assert int(contacts) == 1
    assert float(amplitude) == pytest.approx(linear, rel=1e-3)
    # What is of second order in the depth is 1e-5 of it here.
    assert float(trace) == pytest.approx(slope_behind_grazing(per_newton), rel=1e-4)


@pytest.mark.slow
def test_a_motion_near_grazing_and_a_step_across_it_are_reported():
    load, per_newton = without_contact()
    guess = jnp.asarray(load * per_newton) + 0.05 * jnp.array([0.0, 1.0, 0.0, 0.0])
    look = eqx.filter_jit(OrbitAnalysis())
    outcomes = [
        look(jv.replace(soft, {"load.amplitude": load * (1 + apart)}), guess)
        for apart in (-1e-2, -1e-7, 1e-4)
    ]
    assert [int(outcome.contacts) for outcome in outcomes] == [0, 0, 1]
    before = outcomes[0].contacts
    said = [noticed(one.margin, one.contacts, before) for one in outcomes]
    assert said == [Notice.SMOOTH, Notice.AT_GRAZING, Notice.CROSSED_GRAZING]
