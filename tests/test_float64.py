"""Checked against: what is switched on, off and on again."""

import jax
import numpy as np
import pytest

import jaxvib as jv

impact = jv.two_body_impact()
matrices = jv.LinearSystem(np.eye(2), np.eye(2), np.eye(2))
beam = jv.oscillators_on_beam(jv.Beam(1.0, 2.0, 3.0), [0.7], [1.0], [3.0])
state = np.array([0.0, 0.05, 0.0, 0.0])
CALLS = {
    "flow": lambda: jv.flow(impact, state, 0.0, 1.0),
    "simulate": lambda: jv.simulate(impact, state, [0.0, 1.0]),
    "periodic_orbit": lambda: jv.periodic_orbit(impact),
    "natural_frequencies": lambda: jv.natural_frequencies(matrices),
    "damped_modes": lambda: jv.modes.damped_modes(matrices),
    "frequency_response": lambda: jv.frequency_response(matrices, [1.0], force=0),
    "propagate": lambda: jv.propagate(matrices, state, [0.0, 1.0]),
    "beam_eigenvalues": lambda: jv.beam_eigenvalues(beam, count=3),
    "map_samples": lambda: jv.map_samples(lambda x: x, np.arange(3.0)),
    "two_body_impact": jv.two_body_impact,
    "replace": lambda: jv.replace(impact, {"gap": 0.1}),
}


@pytest.fixture
def float32():
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.mark.usefixtures("float32")
@pytest.mark.parametrize("verb", CALLS)
def test_without_float64_every_verb_says_what_is_missing(verb):
    with pytest.raises(ValueError, match="jax_enable_x64 = False"):
        CALLS[verb]()


@pytest.mark.slow  # compiles each function that takes a list, 4 s
def test_lists_are_states_times_frequencies_and_directions():
    found = jv.propagate(matrices, [1, 0, 0, 0], [0.0, 1.0])
    same = jv.propagate(matrices, np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0]))
    np.testing.assert_array_equal(found, same)
    response = jv.frequency_response(matrices, [0.5, 2.0], force=[1.0, 0.0], at=(0, 1))
    np.testing.assert_array_equal(response, 0)
    chain = jv.BeamChain(3)
    rest = [[0.0] * 3] * 4
    np.testing.assert_array_equal(jv.propagate(chain, rest, [0.0]), [rest])
    np.testing.assert_array_equal(jv.dynamics.step_chain(chain, rest, 1.0, 8), rest)
    assert float(chain.energies(rest).total) == 0.0
    assert chain.bands([0.0, 1.0]).lower.shape == (2,)
    jitted = jax.jit(lambda x: jv.propagate(matrices, [x, 0.0, 0.0, 0.0], [0.0]))
    np.testing.assert_array_equal(jitted(1.0), [[1.0, 0.0, 0.0, 0.0]])
    refused = r"state = \['up'\] is not a number; allowed: one in SI"
    with pytest.raises(ValueError, match=refused):
        jv.flow(impact, ["up"], 0.0, 1.0)
