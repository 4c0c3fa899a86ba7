"""Checked against: closed forms; Hamiltonian matrices, with peaks in 30 digits."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import peaks_measure
from jaxvib.design.measures.response_peaks import response_peaks

LOW, HIGH = 0.5, 200.0


def body(stiffness, damping):
    link = jv.TranslationTranslation(
        "ground", "body", mass=1.0, stiffness=stiffness, damping=damping, first_mass=0.0
    )
    return jv.assemble([link])


def chain(masses, stiffnesses, dampings):
    def matrix(values):
        return np.diag(values + np.append(values[1:], 0.0)) - (
            np.diag(values[1:], 1) + np.diag(values[1:], -1)
        )

    return jv.LinearSystem(np.diag(masses), matrix(dampings), matrix(stiffnesses))


@jax.jit
def peak_of_one_body(stiffness, damping):
    linear = jv.replace(
        body(1.0, 1.0),
        {
            "modules.ground-body.stiffness": stiffness,
            "modules.ground-body.damping": damping,
        },
    )
    return response_peaks(linear, "body", "body", 1.0, HIGH, 1)[0]


def test_peaks_of_one_body_and_their_derivatives_are_the_closed_form_at_any_damping():
    def closed_form(stiffness, damping):
        return 1 / (damping * jnp.sqrt(stiffness - damping**2 / 4))

    ratios = np.array([0.6, 0.1, 0.02, 0.01, 0.005, 0.002, 1e-3, 1e-4, 1e-6, 1e-8])
    ratios, frequencies = np.meshgrid(ratios, [9.9, 10.0, 10.1, 33.0])
    places = frequencies.ravel() ** 2, 2 * (ratios * frequencies).ravel()
    both = [
        jax.jit(jax.vmap(jax.value_and_grad(function, (0, 1))))(*places)
        for function in (peak_of_one_body, closed_form)
    ]
    jax.tree.map(lambda *pair: np.testing.assert_allclose(*pair, rtol=1e-10), *both)


@pytest.mark.slow  # third derivatives of its programs are compiled
def test_second_derivatives_are_those_of_a_peak_that_moves():
    # 1 / (2 k z sqrt(1 - z^2)) by its damping and stiffness
    found = jax.hessian(peak_of_one_body, (0, 1))(100.0, 2.0)
    closed = jax.hessian(lambda k, c: 1 / (c * jnp.sqrt(k - c**2 / 4)), (0, 1))(100.0, 2.0)
    np.testing.assert_allclose(found, closed, rtol=1e-10)


def _highest_by_hamiltonians(mass, damping, stiffness, push, pick):
    """Return the highest |h| from LOW to HIGH and the damping ratio of its pole."""
    size = len(mass)
    state = np.block(
        [
            [np.zeros((size, size)), np.eye(size)],
            [-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)],
        ]
    )
    into = np.append(np.zeros(size), np.linalg.solve(mass, push))
    out = np.append(pick, np.zeros(size))

    def height(frequency):
        dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
        return abs(pick @ np.linalg.solve(dynamic, push))

    poles = np.linalg.eigvals(state)
    places = np.clip(np.abs(poles.imag), LOW, HIGH)
    best = max([LOW, HIGH, *places], key=height)
    for _ in range(8):
        level = height(best)
        across = np.outer(into, into) / level, -np.outer(out, out) / level
        values = np.linalg.eigvals(np.block([[state, across[0]], [across[1], -state.T]]))
        crossed = np.clip(np.sort(np.abs(values.imag)), LOW, HIGH)
        best = max([best, *(crossed[1:] + crossed[:-1]) / 2], key=height)
    if best in (LOW, HIGH):
        return height(best)
    near = np.min(np.abs(1j * best - poles))
    return _refined(mass, damping, stiffness, push, pick, best, 0.05 * near)


def _refined(mass, damping, stiffness, push, pick, here, step):
    """Return the height of the peak near `here`, by parabolas in 30 digits."""
    mass, damping, stiffness = map(mpmath.matrix, (mass, damping, stiffness))

    def square(frequency):
        dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
        found = mpmath.lu_solve(dynamic, mpmath.matrix(push))
        return abs(mpmath.fdot(pick, found)) ** 2

    here, step = mpmath.mpf(here), mpmath.mpf(step)
    for _ in range(12):
        below, value, above = (square(here + part * step) for part in (-1, 0, 1))
        if max(below, above) >= value:
            here = here + step * (1 if above > below else -1)
            continue
        move = step * (below - above) / (2 * (below - 2 * value + above))
        here, step = here + move, max(abs(move), step * 1e-4)
        if step < here * 1e-18:
            break
    return float(mpmath.sqrt(square(here)))


@pytest.mark.parametrize("size", [3, pytest.param(6, marks=pytest.mark.slow)])  # 30 digits
def test_the_highest_peak_of_random_chains_is_the_norm_by_hamiltonians(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        ratio = 10 ** rng.uniform(-6, np.log10(0.9))
        masses, stiffnesses = rng.uniform(0.5, 2.0, size), 10 ** rng.uniform(1, 3, size)
        dampings = 2 * ratio * np.sqrt(stiffnesses * masses) * rng.uniform(0.3, 1.5, size)
        system = chain(masses, stiffnesses, dampings)
        places = [int(place) for place in rng.integers(size, size=2)]
        found = float(response_peaks(system, *places, LOW, HIGH, 2)[0])
        directions = [np.eye(size)[place] for place in places]
        matrices = [np.asarray(matrix) for matrix in system.matrices()]
        with mpmath.workdps(30):
            expected = _highest_by_hamiltonians(*matrices, *directions)
        assert found == pytest.approx(expected, rel=1e-12)


def test_an_end_of_the_band_counts_where_it_is_higher_than_the_peaks_within():
    system = jv.LinearSystem(
        np.diag([1.0, 0.05]), [[0.07, -0.05], [-0.05, 0.05]], [[6.0, -5.0], [-5.0, 5.0]]
    )

    def height(frequency):
        return float(abs(jv.frequency_response(system, frequency, force=0, at=0)))

    found = np.asarray(response_peaks(system, 0, 0, 1.02, 30.0, 2))
    assert found[0] == pytest.approx(height(1.02), rel=1e-12)
    inner = np.abs(jv.frequency_response(system, np.linspace(9, 12, 3001), force=0, at=0))
    assert found[1] == pytest.approx(inner.max(), rel=1e-6)
    # below the first resonance the response rises to the upper end; from rest it falls
    # where damping is strong
    assert float(response_peaks(system, 0, 0, 0.2, 0.8, 2)[0]) == pytest.approx(height(0.8))
    heavy = jv.LinearSystem(np.eye(2), 10.0 * np.eye(2), 4.0 * np.eye(2))
    assert float(response_peaks(heavy, 0, 0, 0.0, 5.0, 2)[0]) == pytest.approx(0.25)


def test_two_peaks_of_equal_height_are_both_found():
    # two bodies apart, pushed and seen together: each peak is that of its own body, but
    # for the other's flank of about 1e-3 of it, 90 degrees behind
    dampings, squares = np.array([0.01, 0.005]), np.array([100.0, 400.0])
    system = jv.LinearSystem(np.eye(2), np.diag(dampings), np.diag(squares))
    found = response_peaks(system, [1.0, 1.0], [1.0, 1.0], 1.0, 50.0, 2)
    np.testing.assert_allclose(found, 10.0, rtol=1e-4)
    assert float(found[0]) > float(found[1])


@pytest.mark.parametrize("size", [3, pytest.param(12, marks=pytest.mark.slow)])  # compiles
def test_an_undamped_resonance_in_the_band_is_infinite_and_one_beyond_it_is_not(size):
    none = np.zeros(size)
    system = chain(np.ones(size), 100.0 + np.arange(size), none)
    assert float(response_peaks(system, 0, 0, 0.1, 50.0, 2)[0]) == np.inf
    highest = float(jv.natural_modes(system).frequencies[-1])
    low = 1.5 * highest
    expected = abs(jv.frequency_response(system, low, force=0, at=0))
    found = response_peaks(system, 0, 0, low, 10 * highest, 2)[0]
    assert float(found) == pytest.approx(float(expected), rel=1e-12)


def test_a_place_that_no_force_reaches_stays_at_rest():
    system = jv.LinearSystem(np.eye(2), np.diag([0.1, 0.2]), np.diag([100.0, 400.0]))
    np.testing.assert_allclose(response_peaks(system, 0, 1, 1.0, 50.0, 2), 0.0, atol=1e-16)


@pytest.mark.parametrize(
    ("low", "high", "count", "message"),
    [
        (5.0, 5.0, 1, "band from 5.0 to 5.0 rad/s"),
        (-1.0, 5.0, 1, "band from -1.0"),
        (1.0, np.inf, 1, "band from 1.0 to inf"),
        (1.0, 5.0, 0, "count = 0"),
    ],
)
def test_a_band_without_peaks_is_named(low, high, count, message):
    with pytest.raises(ValueError, match=message):
        peaks_measure("body", "body", low, high, count)
