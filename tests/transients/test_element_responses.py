"""Checked against: scipy's DOP853 in dense output, differences, single motions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.transients import Limit
from tests.dynamics.test_elements import DAMPING, MASS, PATCH, STIFFNESS

GAP, SPAN = 2e-3, 0.5
HARD, LOSS = 1e6, 1.5
TIMES = np.array([0.0, 0.05, 0.08, 0.15, 0.22, 0.3, 0.5])
VALUES = np.array([0.0, 3.0, -4.0, 5.0, -3.0, 4.0, 0.0])
LIMITS = (Limit([1.0], 2.1e-3), Limit([-1.0], 3e-3, both=False), Limit([1.0], 1.0))
STOPS = {
    "elastic": jv.HertzContact(HARD),
    "damped": jv.HuntCrossleyContact(HARD, LOSS),
}


def harvester(law, record=None):
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    record = jv.RecordLoad(TIMES, VALUES) if record is None else record
    element = jv.StateElement([1.0], PATCH, "element")
    loads = (jv.AppliedLoad([1.0], record, "push"),)
    return jv.ImpactSystem(
        linear, (jv.Contact([1.0], GAP, law, "stop"),), loads, elements=(element,)
    )


def contact_force(name, depth, speed):
    force = HARD * np.maximum(depth, 0.0) ** 1.5
    if name == "damped":
        force = force * np.maximum(1 + LOSS * speed, 0.0)
    return force


@pytest.fixture(scope="module", params=list(STOPS))
def both(request):
    """Return the name of a stop, its system, the response, and scipy's motion."""
    name = request.param

    def rate(t, y):
        force = np.interp(t, TIMES, VALUES) - DAMPING * y[1] - STIFFNESS * y[0]
        force -= 0.05 * y[2] + contact_force(name, y[0] - GAP, y[1])
        return [y[1], force / MASS, (0.05 * y[1] - y[2] / 2e3) / 1e-5]

    times = np.linspace(0.0, SPAN, 200_001)
    found = solve_ivp(
        rate, (0.0, SPAN), [0.0] * 3, "DOP853", times, rtol=1e-11, atol=1e-13,
        max_step=5e-4,
    ).y  # fmt: skip
    system = harvester(STOPS[name])
    return name, system, jv.response(system, SPAN, limits=LIMITS, rtol=1e-10), times, found


def test_peaks_means_passages_and_contact_forces_are_those_of_scipy(both):
    name, _, found, times, (place, speed, voltage) = both
    np.testing.assert_allclose(found.highest, [place.max()], rtol=1e-6)
    np.testing.assert_allclose(found.lowest, [place.min()], rtol=1e-6)
    at = times[np.argmax(np.abs(place))]
    np.testing.assert_allclose(found.peak_time, [at], atol=1e-5)
    forces = contact_force(name, place - GAP, speed)
    np.testing.assert_allclose(found.max_contact_force, [forces.max()], rtol=2e-6)
    onsets = np.sum((place[:-1] <= GAP) & (place[1:] > GAP))
    assert int(found.contacts[0]) == onsets > 1
    means = [np.trapezoid(x, times) / SPAN for x in (place, place**2, speed**2)]
    known = found.mean[0], found.mean_square[0], found.mean_square_velocity[0]
    np.testing.assert_allclose(known, means, rtol=1e-6)
    np.testing.assert_allclose(found.state, [place[-1], speed[-1], voltage[-1]], rtol=1e-6)
    reached = times[np.argmax(place > 2.1e-3)]
    below = times[np.argmax(place < -3e-3)]
    np.testing.assert_allclose(found.first_passage, [reached, below, np.inf], atol=3e-6)


@pytest.mark.slow  # compiles a motion with its derivatives
def test_derivatives_of_peaks_and_forces_are_those_of_differences():
    system = harvester(STOPS["damped"])

    def numbers(coupling):
        changed = jv.replace(system, {"elements.element.law.coupling": coupling})
        found = jv.response(changed, 0.2, limits=LIMITS, rtol=1e-11)
        return jnp.concatenate(
            [found.peak, found.max_contact_force, found.first_passage[:1], found.state]
        )

    step = 1e-4  # errors of forces, 1e-6 N, are then 1e-5 of their slope
    differences = (numbers(0.05 + step) - numbers(0.05 - step)) / (2 * step)
    slopes = jax.jacfwd(numbers)(0.05)
    np.testing.assert_allclose(slopes, differences, rtol=2e-4, atol=1e-9)


def test_many_records_give_the_responses_of_single_ones(both):
    name, system, *_ = both
    laws = [jv.RecordLoad(TIMES, factor * VALUES) for factor in (0.4, 1.0, 1.5)]
    found = jv.responses(system, "push", laws, SPAN, limits=LIMITS)
    for i, law in enumerate(laws):
        one = jv.response(harvester(STOPS[name], law), SPAN, limits=LIMITS)
        np.testing.assert_allclose(found.peak[i], one.peak, rtol=1e-9)
        np.testing.assert_allclose(found.max_contact_force[i], one.max_contact_force)
        np.testing.assert_allclose(found.first_passage[i], one.first_passage, rtol=1e-9)
