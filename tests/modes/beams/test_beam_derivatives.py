"""Checked against: central differences, finite elements, and what meets or swaps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from finite_elements import eigenvalues
from scipy.optimize import brentq, fsolve

import jaxvib as jv

CANTILEVER = jv.Beam(1.0, 1.0, 1.0, ("clamped", "free"))
HINGED = jv.Beam(1.0, 1.0, 1.0, ("hinged", "hinged"))
POINTS = np.array([0.0, 0.35, 0.5, 1.0])  # one of them is a link's
POSITIONS = jnp.array([0.2, 0.5, 0.9])


def carried(positions):
    return jv.oscillators_on_beam(
        CANTILEVER, positions, [0.3, 0.1, 0.2], [20.0, 7.0, 300.0], [0.4, 0.1, 0.2]
    )


def compare_with_differences(function, positions, steps, tolerance):
    found = jax.jacfwd(function)(positions)
    for i in range(len(positions)):
        step = jnp.zeros(len(positions)).at[i].set(steps)
        difference = (function(positions + step) - function(positions - step)) / (2 * steps)
        scale = np.abs(difference).max()
        np.testing.assert_allclose(found[..., i], difference, atol=tolerance * scale)


@pytest.mark.slow
def test_mode_shapes_follow_the_positions_of_the_links():
    def shapes_and_bodies(positions):
        modes = jv.beam_eigenvalues(carried(positions), count=6)
        parts = [modes.shape(POINTS), modes.bodies]
        return jnp.concatenate([*parts, modes.values[:, None]], axis=1)

    compare_with_differences(shapes_and_bodies, POSITIONS, 1e-5, 1e-7)


@pytest.mark.slow  # compiles responses and their derivatives, 8 s
def test_responses_follow_the_positions_of_links_force_and_points():
    @jax.jit
    def response(places):
        beam, bodies = jv.modes.beam_response(
            carried(places[:3]),
            np.array([0.7, 15.0, 90.0]),
            force_at=places[3],
            at=places[4:],
        )
        return jnp.concatenate([beam, bodies], axis=1)

    places = jnp.concatenate([POSITIONS, jnp.array([0.7, 0.31])])
    compare_with_differences(response, places, 1e-5, 1e-7)


@pytest.mark.slow
def test_undamped_curves_veer_and_their_slopes_change_places():
    def values(stiffness):
        system = jv.oscillators_on_beam(CANTILEVER, [1.0], [0.01], stiffness[None])
        return jv.beam_eigenvalues(system, count=2).values.imag

    stiffness = jnp.linspace(0.05, 0.25, 9)
    found = np.array([values(k) for k in stiffness])
    slopes = np.array([jax.jacfwd(values)(k) for k in stiffness[jnp.array([0, -1])]])
    elements = [
        eigenvalues(("clamped", "free"), [1.0], [k], [0.0], [[1.0]], [[0.01]])[:2].imag
        for k in stiffness
    ]
    np.testing.assert_allclose(found, elements, rtol=1e-8)
    gaps = found[:, 1] - found[:, 0]
    assert 0.1 < gaps.min() / found.mean() < min(gaps[0], gaps[-1]) / found.mean()
    # the oscillator's steep curve is the lower one before, the upper one after
    assert slopes[0, 0] > 5 * slopes[0, 1] > 0
    assert slopes[-1, 1] > 5 * slopes[-1, 0] > 0


def mid_span(stiffness, damping=0.0):
    return jv.oscillators_on_beam(HINGED, [0.5], [0.5], [stiffness], [damping])


@pytest.mark.slow  # compiles curves of their own, 5 s
def test_curves_that_cross_are_certified_where_they_meet():
    # mode 2 has its node under the oscillator: it cannot veer away
    second = (2 * np.pi) ** 2

    def apart(stiffness):
        values = np.asarray(jv.beam_eigenvalues(mid_span(stiffness), count=3).values.imag)
        return values[np.argsort(np.abs(values - second))[1]] - second

    crossing = brentq(apart, 150.0, 1200.0, xtol=1e-13)
    for stiffness in crossing * (1 + np.array([-1e-3, -1e-9, 0.0, 1e-9, 1e-3])):
        modes = jv.beam_eigenvalues(mid_span(stiffness), count=4)
        assert bool(modes.certified)
        near = np.abs(np.asarray(modes.values) - 1j * second) < 0.1
        assert near.sum() == 2
        elements = eigenvalues(
            ("hinged", "hinged"), [0.5], [stiffness], [0.0], [[1.0]], [[0.5]], degree=11
        )
        np.testing.assert_allclose(modes.values.imag, elements[:4].imag, rtol=1e-9)
    modes = jv.beam_eigenvalues(mid_span(crossing), count=4)
    np.testing.assert_array_equal(np.asarray(modes.multiplicities)[near], 2)


def tip(unknowns):
    stiffness, damping = unknowns
    return jv.oscillators_on_beam(CANTILEVER, [1.0], [0.05], [stiffness], [damping])


def pair(unknowns):
    return np.asarray(jv.beam_eigenvalues(tip(unknowns), count=2).values)


@pytest.mark.slow  # finds 60 pairs of eigenvalues, 5 s
def test_two_values_swap_on_the_way_round_an_exceptional_point():
    def discriminant(unknowns):
        # analytic in both, as the difference of the values is not
        one, other = pair(unknowns)
        return [((one - other) ** 2).real, ((one - other) ** 2).imag]

    point = fsolve(discriminant, [0.5, 0.1], xtol=1e-13)
    modes = jv.beam_eigenvalues(tip(point), count=4)
    assert bool(modes.certified)
    one, other = np.asarray(modes.values)[:2]
    assert abs(one - other) < 1e-5 * abs(one)
    elements = eigenvalues(
        ("clamped", "free"), [1.0], point[:1], point[1:], [[1.0]], [[0.05]], degree=11
    )
    np.testing.assert_allclose(one + other, elements[:2].sum(), rtol=1e-8)
    begin = followed = pair(point * [1.02, 1.0])
    for angle in np.linspace(0.0, 2 * np.pi, 33)[1:]:
        now = pair(point * (1 + 0.02 * np.array([np.cos(angle), np.sin(angle)])))
        swapped = np.abs(now - followed).sum() > np.abs(now[::-1] - followed).sum()
        followed = now[::-1] if swapped else now
    np.testing.assert_allclose(followed, begin[::-1], rtol=1e-10)
