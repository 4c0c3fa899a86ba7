"""Checked against: NumPy's roots of polynomials, and motions that are exact in modes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.modal.crossing import WITH_ENDS, bracket
from jaxvib.dynamics.motion import Want

MODES, FAST, PERIOD = 9, 40.0, 2 * np.pi


@jax.jit
def first_crossing(signals):
    found = bracket(signals, jnp.full(5, 1e-13))
    return found.found, found.place(signals)


def test_a_dip_between_two_nodes_is_found():
    # Below zero from 0.5 - w to 0.5 + w, between the two nodes in the middle of a step.
    widths = np.array([0.0, 1e-3, 1e-2, 0.05, np.nan])
    gaps = (WITH_ENDS[:, None] - 0.5) ** 2 - widths**2
    gaps[:, -1] = 0.7 - WITH_ENDS
    assert (gaps[:, :-1] >= 0).all()
    found, places = first_crossing(gaps)
    np.testing.assert_array_equal(found, [False, True, True, True, True])
    np.testing.assert_allclose(places[1:-1], 0.5 - widths[1:-1], rtol=1e-10)
    np.testing.assert_allclose(places[-1], 0.7, rtol=1e-12)


def test_the_first_of_two_dips_is_found():
    rng = np.random.default_rng(5)
    for _ in range(20):
        apart = rng.uniform(0.05, 0.3, (4, 5))
        roots = np.cumsum(apart / apart.sum(axis=0) * rng.uniform(0.3, 0.99, 5), axis=0)
        gaps = np.prod(WITH_ENDS[:, None] - roots[:, None], axis=0)
        found, places = first_crossing(gaps)
        assert np.all(found)
        np.testing.assert_allclose(places, roots[0], rtol=1e-9)


@pytest.mark.slow  # compiles the motion of two systems
def test_a_fast_touch_is_found_while_another_contact_is_closed():
    # A stop without changes of stiffness is linear, but moved by steps in contact.
    def form(law):
        unit = np.eye(MODES)
        frequencies = np.append(1 + 0.4 * np.arange(MODES - 1), FAST)
        modes = jv.ElasticStructure(frequencies, np.zeros((0, MODES)), (), 1e-4)
        stops = [
            jv.Contact(unit[0], -0.5, law(1.0)),  # closed
            jv.Contact(0.3 * unit[1] + unit[-1], 0.012, law(5.0)),
        ]
        load = jv.AppliedLoad(unit[0], jv.HarmonicLoad(0.3, 1.0))
        return modal_form(jv.ImpactSystem(modes, stops, [load]))

    state = np.zeros(2 * MODES)
    state[[0, 1, MODES - 1]] = 0.3, 0.02, 0.01
    flow = jax.jit(modal_flow)
    expected = flow(form(jv.LinearContact), state, 0.0, PERIOD, Want(1e-9)).state
    stepped = form(lambda k: jv.PiecewiseLinearContact([k], depths=[]))
    for rtol in (1e-6, 1e-9):
        found = flow(stepped, state, 0.0, PERIOD, Want(rtol)).state
        # 0.0012 at both tolerances by steps that see the mean of the fast mode.
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()
