"""Checked against: the modal sum of the covariance in 50 digits."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

import jaxvib as jv


def exact_variances(mass, damping, stiffness, noise, direction):
    """Return the variances of the state by eigenvalues and vectors in 50 digits."""
    down, push, out = (np.asarray(x).tolist() for x in noise.matrices())
    size, whole = len(mass), 2 * len(mass) + len(out)
    with mp.workdps(50):
        inverse = mp.matrix(np.asarray(mass).tolist()) ** -1
        acting = np.hstack([-stiffness, -damping, np.outer(direction, out)])
        rows = inverse * mp.matrix(acting.tolist())
        matrix = mp.zeros(whole)
        for i in range(size):
            matrix[i, size + i] = 1
            for j in range(whole):
                matrix[size + i, j] = rows[i, j]
        for i, row in enumerate(down):
            for j, value in enumerate(row):
                matrix[2 * size + i, 2 * size + j] = value
        rates, modes = mp.eig(matrix)
        shares = mp.lu_solve(modes, mp.matrix([0] * 2 * size + push))
        part = [[modes[k, i] * shares[i] for i in range(whole)] for k in range(2 * size)]
        each = range(whole)
        weights = [[-1 / (rates[i] + mp.conj(rates[j])) for j in each] for i in each]
        density = mp.pi * mp.mpf(float(noise.density))
        return np.array([
            float(mp.re(density * mp.fsum(
                weights[i][j] * row[i] * mp.conj(row[j]) for i in each for j in each
            ))) for row in part
        ])  # fmt: skip


def stiff_system(seed):
    """Return random bodies with rates that span up to 14 decades, and their noise."""
    random = np.random.default_rng(seed)
    size = int(random.integers(1, 5))
    turn = np.linalg.qr(random.normal(size=(size, size)))[0] if seed % 3 == 0 else 1.0
    mass = np.diag(10 ** random.uniform(-6, 1, size))
    damping, stiffness = np.zeros((2, size, size))
    most = random.uniform(0, 7)
    for i in range(size):
        along = np.eye(size)[i]
        if i and random.random() < 0.7:
            along = along - np.eye(size)[int(random.integers(i))]
        damping += 10 ** random.uniform(-1, most) * np.outer(along, along)
        stiffness += 10 ** random.uniform(2, 6) * np.outer(along, along)
    if seed % 3 == 0:
        mass, damping, stiffness = (
            (x + x.T) / 2 for x in (turn @ m @ turn.T for m in (mass, damping, stiffness))
        )
    direction = random.normal(size=size)
    noise = jv.FilteredNoise.low_pass(
        10 ** random.uniform(-2, 2), 10 ** random.uniform(1, 5), random.uniform(0.1, 0.8)
    )
    return mass, damping, stiffness, noise, direction


def errors_and_bars(mass, damping, stiffness, noise, direction, **settings):
    """Return the relative errors and error bars of the variances."""
    linear = jv.LinearSystem(mass, damping, stiffness)
    found = jv.response_covariance(linear, noise, direction, with_error=True, **settings)
    exact = exact_variances(mass, damping, stiffness, noise, direction)
    variances, bars = (np.diag(x) for x in found)
    return np.abs(variances / exact - 1), bars / exact


@pytest.mark.parametrize("seed", [1, 3, 4, 9, 14])
def test_variances_of_stiff_systems_are_within_their_error_bars(seed):
    errors, bars = errors_and_bars(*stiff_system(seed))
    assert np.all(errors <= bars)
    assert np.max(errors) < 1e-8


@pytest.mark.parametrize("coupling", [1e4, 1e6])
@pytest.mark.parametrize("settings", [{}, {"time": 300.0}])
def test_a_light_body_on_a_stiff_damper_has_its_variance(coupling, settings):
    damping = np.array([[1.0 + coupling, -coupling], [-coupling, coupling]])
    stiffness = np.array([[2e6, -1e6], [-1e6, 1e6]])
    noise = jv.FilteredNoise.low_pass(1.0, 1e4, 0.25)
    system = np.diag([1.0, 1e-7]), damping, stiffness, noise, np.array([0.0, 1.0])
    errors, bars = errors_and_bars(*system, **settings)
    assert np.all(errors <= bars)
    # Rounding of 1 + coupling moves the 1, which alone holds both bodies.
    assert np.max(errors) < 4 * np.finfo(float).eps * coupling


def test_derivatives_of_any_order_are_those_of_the_closed_form():
    # One body under noise that is nearly white: pi S / (2 d k), from the filter 1e-8 off.
    noise = jv.FilteredNoise.low_pass(0.5, 1e8, 0.6)

    def variance(damping):
        linear = jv.LinearSystem(jnp.eye(1), damping[None, None], 4.0 * jnp.eye(1))
        return jv.response_covariance(linear, noise, [1.0])[0, 0]

    full = np.pi * 0.5 / (2 * 4.0)
    slope, bend = jax.jit(
        lambda d: (jax.grad(variance)(d), jax.jacfwd(jax.grad(variance))(d))
    )(jnp.asarray(0.3))
    np.testing.assert_allclose(slope, -full / 0.09, rtol=1e-6)
    np.testing.assert_allclose(bend, 2 * full / 0.027, rtol=1e-6)


@pytest.mark.parametrize("loss", [0.0, 1e-18])
def test_what_cannot_be_told_from_undamped_is_refused(loss):
    stiffness = np.array([[30.0, -10.0, 0.0], [-10.0, 25.0, -5.0], [0.0, -5.0, 7.0]])
    noise = jv.FilteredNoise.low_pass(1.0, 50.0, 0.5)

    def found(matrix):
        linear = jv.LinearSystem(
            jnp.diag(jnp.array([1.0, 2.0, 0.7])), loss * matrix, matrix
        )
        return jv.response_covariance(linear, noise, jnp.array([1.0, 0.0, 0.3]))

    with pytest.raises(ValueError, match="no stationary state"):
        found(jnp.asarray(stiffness))
    assert np.isnan(jax.jit(found)(jnp.asarray(stiffness))).all()
