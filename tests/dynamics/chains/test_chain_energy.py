"""Checked against: closed forms of the band integral, balances, exact motion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import jaxvib as jv

ENDS = ("periodic", "free", "clamped", "hinged")
RNG = np.random.default_rng(11)


def test_energy_of_translation_converges_to_the_closed_form():
    chain = jv.BeamChain(bodies=8, gamma=1.0)
    split = jv.dynamics.equilibrium_split(chain)
    np.testing.assert_allclose(split.translational, (np.sqrt(6) - 1) / 4, rtol=1e-12)
    np.testing.assert_allclose(split.rotational, (3 - np.sqrt(6)) / 4, rtol=1e-12)
    given_turning = jv.dynamics.equilibrium_split(chain, rotational=1.0)
    np.testing.assert_allclose(given_turning.translational, split.rotational, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.1, 2.0, 10.0])
def test_the_equilibrium_is_the_integral_over_the_zone(gamma):
    def passed(q):
        a, d = 2 - 2 * np.cos(q), gamma * (4 + 2 * np.cos(q))
        coupling = 6 * gamma * np.sin(q) ** 2
        return coupling / ((a - d) ** 2 + 4 * coupling + 1e-300) / np.pi

    expected = quad(passed, 0, np.pi, epsabs=1e-13, limit=200)[0]
    split = jv.dynamics.equilibrium_split(jv.BeamChain(bodies=8, gamma=gamma))
    np.testing.assert_allclose(split.rotational, expected, rtol=1e-9)
    np.testing.assert_allclose(split.translational, 0.5 - expected, rtol=1e-9)


@pytest.mark.slow
def test_the_split_over_time_is_the_mean_over_random_chains():
    chain = jv.BeamChain(bodies=64, gamma=1.0)
    keys = jax.random.split(jax.random.key(1), 256)
    times = jnp.array([0.0, 0.8, 3.0, 9.0])

    @jax.jit
    @jax.vmap
    def energies_of(key):
        state = jv.dynamics.random_velocities(chain, key)
        return chain.energies(jv.propagate(chain, state, times))

    energies = energies_of(keys)
    mean = np.asarray(energies.total)[:, :1].mean()
    expected = jv.dynamics.kinetic_split(chain, times)
    for name in ("translational", "rotational"):
        found = np.asarray(getattr(energies, name)) / mean
        error = found.std(0) / np.sqrt(len(found)) + 1e-12
        distance = np.abs(found.mean(0) - np.asarray(getattr(expected, name)))
        assert np.all(distance < 4 * error)
    late = jv.dynamics.kinetic_split(chain, jnp.linspace(300.0, 500.0, 64))
    settled = jv.dynamics.equilibrium_split(chain)
    np.testing.assert_allclose(late.rotational.mean(), settled.rotational, atol=2e-3)


@pytest.mark.parametrize("ends", ENDS)
def test_fluxes_close_the_balance_of_each_body(ends):
    chain = jv.BeamChain(bodies=5, gamma=1.4, ends=ends)
    state = RNG.normal(size=(4, 5))
    if ends == "hinged":
        state[np.ix_([0, 2], [0, 4])] = 0
    state = jnp.asarray(state)
    weights = jnp.stack([chain.masses, chain.inertias])
    rate = jnp.concatenate([state[2:], chain.forces(state[:2]) / weights])
    change = jax.jvp(
        lambda s: jv.dynamics.energy_field(chain, s).density, (state,), (rate,)
    )[1]
    field = jv.dynamics.energy_field(chain, state)
    arriving = -np.asarray(chain.on_bodies(field.flux, -1.0))
    np.testing.assert_allclose(change, arriving, atol=1e-12)
    total = chain.energies(state).total
    inside = field.density.sum()
    if ends != "clamped":  # there half of the last beams is the walls'
        np.testing.assert_allclose(inside, total, rtol=1e-13)


def test_beams_are_cubics_with_their_moment_and_shear():
    chain = jv.BeamChain(bodies=3, gamma=1.0, ends="free", length=0.7,
                         bending_stiffness=3.0)  # fmt: skip
    shape = np.polynomial.Polynomial([0.2, -0.1, 0.5, 0.8])
    at = 0.7 * np.arange(3)
    state = np.zeros((4, 3))
    state[0], state[1] = shape(at), shape.deriv()(at)
    beams = jv.dynamics.beam_shapes(chain, state, 5)
    x = at[:2, None] + np.asarray(beams.positions)[None, :]
    np.testing.assert_allclose(beams.deflection, shape(x), rtol=1e-12)
    np.testing.assert_allclose(beams.moment, 3.0 * shape.deriv(2)(x), rtol=1e-11)
    np.testing.assert_allclose(beams.shear, 3.0 * 6 * 0.8, rtol=1e-11)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.slow
def test_a_packet_travels_with_the_group_velocity_of_its_branch(upper):
    chain = jv.BeamChain(bodies=256, gamma=1.0)
    state = jv.dynamics.wave_packet(chain, 80.0, 12.0, 1.0, upper=upper)
    moved = jv.propagate(chain, state, [0.0, 60.0])
    density = np.asarray(
        jax.vmap(lambda s: jv.dynamics.energy_field(chain, s).density)(moved)
    )
    centre = (density * np.arange(256)).sum(1) / density.sum(1)
    bands = chain.bands(1.0)
    velocity = float(bands.upper_velocity if upper else bands.lower_velocity)
    np.testing.assert_allclose((centre[1] - centre[0]) / 60.0, velocity, atol=0.01)


def test_random_velocities_and_kicks_have_the_requested_energy():
    chain = jv.BeamChain(bodies=512, gamma=2.0, ends="hinged", mass=3.0)
    state = jv.dynamics.random_velocities(chain, jax.random.key(0), 0.7, 0.25)
    energies = chain.energies(state)
    np.testing.assert_allclose(energies.translational / 512, 0.75 * 0.7, rtol=0.2)
    np.testing.assert_allclose(energies.rotational / 512, 0.25 * 0.7, rtol=0.2)
    assert float(energies.potential) == 0.0
    one = jv.dynamics.kick(chain, 3, 2.0, 1.0)
    assert float(chain.energies(one).translational) == pytest.approx(6.0)
    with pytest.raises(ValueError, match="body = 512 is not in"):
        jv.dynamics.kick(chain, 512, 1.0)
    with pytest.raises(ValueError, match="rotational = 2 is not in"):
        jv.dynamics.random_velocities(chain, jax.random.key(0), 1.0, 2.0)


@pytest.mark.parametrize(("wrong", "message"), [
    (lambda chain, state: jv.dynamics.energy_field(chain, state[:, 1:]), r"\(4, 5\)"),
    (lambda chain, state: jv.dynamics.beam_shapes(chain, [3.0]), r"shape \(1,\)"),
    (lambda chain, state: jv.dynamics.chain_fields(chain, state, []), "times has shape"),
    (lambda chain, state: jv.dynamics.kinetic_split(chain, [np.nan]), "times = nan s"),
    (lambda chain, state: jv.dynamics.equilibrium_split(chain, 2.0), "rotational = 2 is"),
    (
        # Steps of forces go forward: a step back would be one, of any length.
        lambda chain, state: jv.dynamics.chain_motion(
            chain, state, [1.0, 0.5], forces=(jv.dynamics.CubicGround(1.0, 1.0),)
        ),
        "times = 1, 0.5 s do not ascend",
    ),
])  # fmt: skip
def test_bad_states_and_times_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong(jv.BeamChain(6, 1.0), np.zeros((4, 6)))
