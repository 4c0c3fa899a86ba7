"""Checked against: one wave in closed form, balances, waves that pass, scipy's DOP853.

A standing wave of one branch has the potential energy E sin^2 and the kinetic energy
E cos^2, shared out as its direction says.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv


def test_averages_and_fluctuations_of_one_wave_are_its_closed_form():
    chain = jv.BeamChain(bodies=12, gamma=0.7)
    q = 2 * np.pi * 3 / 12
    lower, _, cos, sin = (float(x[0]) for x in chain.waves(jnp.array([q])))
    place = np.arange(12)
    # the lower branch is (-sin, cos) in mass-normalised coordinates
    turn = cos * np.sin(q * place) * np.sqrt(6 * 0.7)
    state = np.stack([0 * place, 0 * place, -sin * np.cos(q * place), turn])
    times = np.arange(64) * (2 * np.pi / lower) / 64  # one whole period
    moved = jax.jit(jv.dynamics.chain_motion)(chain, state, times)
    total = float(chain.energies(state).total)
    statistics = moved.statistics
    for name, share in (
        ("translational", sin**2),
        ("rotational", cos**2),
        ("potential", 1),
    ):
        mean = getattr(statistics.mean, name)
        spread = getattr(statistics.fluctuation, name)
        assert float(mean) == pytest.approx(share * total / 2, rel=1e-11)
        assert float(spread) == pytest.approx(share * total / np.sqrt(8), rel=1e-11)
    assert float(moved.energy_change) < 1e-13


@pytest.mark.parametrize(
    "ends",
    [
        "hinged",
        pytest.param("periodic", marks=pytest.mark.slow),  # 2 s each to compile
        pytest.param("free", marks=pytest.mark.slow),
        pytest.param("clamped", marks=pytest.mark.slow),
    ],
)
def test_moments_and_shears_turn_and_push_each_body(ends):
    chain = jv.BeamChain(bodies=5, gamma=1.4, ends=ends, length=0.7, bending_stiffness=2.0)
    state = np.random.default_rng(4).normal(size=(4, 5))
    if ends == "hinged":
        state[np.ix_([0, 2], [0, -1])] = 0
    fields = jv.dynamics.chain_fields(chain, state, np.linspace(0.0, 3.0, 4), frames=3)
    force, turn = chain.forces(fields.states[1, :2])
    moments, shears = np.asarray(fields.moments[1]), np.asarray(fields.shears[1])
    walls = {"clamped": 0, "periodic": 0}.get(ends, 1)
    right = np.pad(shears, (walls, walls)) if walls else shears
    after = np.pad(moments, ((walls, walls), (0, 0))) if walls else moments
    if ends == "periodic":
        left_of, right_of = np.roll(right, 1), right
        before, behind = np.roll(after, 1, 0)[:, 1], after[:, 0]
    else:
        left_of, right_of = right[:-1], right[1:]
        before, behind = after[:-1, 1], after[1:, 0]
    pushed = left_of - right_of
    if ends == "hinged":
        pushed[[0, -1]] = 0.0  # the supports take the rest
    np.testing.assert_allclose(force, pushed, atol=1e-11)
    np.testing.assert_allclose(turn, behind - before, atol=1e-11)


@pytest.mark.slow  # compiles another chain's fields, 3 s
def test_the_density_adds_up_to_the_energy_and_frames_show_every_oscillation():
    chain = jv.BeamChain(bodies=8, gamma=10.0)
    state = jv.dynamics.kick(chain, 3, 1.0)
    times = np.linspace(0.0, 50.0, 11)
    fields = jv.dynamics.chain_fields(chain, state, times)
    np.testing.assert_allclose(
        fields.density.sum(1), chain.energies(state).total, rtol=1e-12
    )
    shortest = 2 * np.pi / float(chain.bands(0.0).upper)
    assert np.diff(fields.frames).max() <= shortest / 6 + 1e-12
    expected = jv.propagate(chain, state, fields.frames)
    np.testing.assert_array_equal(fields.states, expected)


def passed_on(chain, start, time, body):
    """Return the shares of energy before and behind a body, at a time."""
    moved = jv.propagate(chain, start, [time])[0]
    density = np.asarray(jv.dynamics.energy_field(chain, moved).density)
    return density[:body].sum() / density.sum(), density[body:].sum() / density.sum()


@pytest.mark.slow
def test_a_heavy_body_turns_a_packet_back_as_its_scattering_says():
    bodies, body, q, factor = 601, 300, 1.0, 6.0
    masses = np.ones(bodies)
    masses[body] = factor
    chain = jv.BeamChain(bodies=bodies, gamma=1.0, ends="free", mass_factors=masses)
    plain = jv.BeamChain(bodies=bodies, gamma=1.0, ends="free")
    start = jv.dynamics.wave_packet(plain, 150.0, 24.0, q)
    velocity = float(plain.bands(q).lower_velocity)
    back, through = passed_on(chain, start, 300.0 / velocity, body)
    np.testing.assert_allclose(back + through, 1, rtol=1e-12)
    expected = reflection_of_a_heavy_body(q, factor)
    assert back == pytest.approx(expected, abs=0.02)
    alone, all_of_it = passed_on(plain, start, 300.0 / velocity, body)
    assert alone < 1e-6
    assert all_of_it == pytest.approx(1, abs=1e-6)


def reflection_of_a_heavy_body(q, factor, gamma=1.0):
    r"""Return the share of a wave's energy that a heavy body turns back.

    The body's inertia is a force $(f - 1) \omega^2 y_0$ on the plain chain, whose
    response there is $G$, the mean of the resolvent over the zone, with a little damping
    for waves that go out. Its imaginary part belongs to the running waves alone, so that
    the wave turned back is $(f - 1) \omega^2 \mathrm{Im}\,G / (1 - (f - 1) \omega^2 G)$.
    """
    frequency = float(jv.BeamChain(bodies=4, gamma=gamma).bands(q).lower)
    zone = 2 * np.pi * (np.arange(2**17) + 0.5) / 2**17
    square = (frequency * (1 + 2e-4j)) ** 2
    a, d = 2 - 2 * np.cos(zone), gamma * (4 + 2 * np.cos(zone))
    coupled = 6 * gamma * np.sin(zone) ** 2
    response = np.mean((d - square) / ((a - square) * (d - square) - coupled))
    strength = (factor - 1) * frequency**2
    return np.abs(strength * response.imag / (1 - strength * response)) ** 2


@pytest.mark.slow
def test_a_beam_that_is_cut_nearly_through_turns_everything_back():
    factors = np.ones(255)
    factors[127] = 1e-9
    chain = jv.BeamChain(bodies=256, gamma=1.0, ends="free", stiffness_factors=factors)
    plain = jv.BeamChain(bodies=256, gamma=1.0, ends="free")
    start = jv.dynamics.wave_packet(plain, 70.0, 10.0, 1.0)
    time = 110.0 / float(plain.bands(1.0).lower_velocity)
    back, through = passed_on(chain, start, time, 128)
    assert through < 1e-8
    assert back == pytest.approx(1, abs=1e-8)


@pytest.mark.slow
def test_a_chain_with_stop_and_springs_moves_as_an_independent_integration():
    chain = jv.BeamChain(3, 1.0, "clamped")
    forces = (
        jv.dynamics.CubicGround(0.2, 1.5),
        jv.dynamics.Stop(1, 0.1, jv.HertzContact(20.0)),
    )
    start = jv.dynamics.kick(chain, 1, 1.2, 0.3)
    times = np.linspace(0.0, 5.0, 26)

    def field(time, flat):
        y, phi, v, w = flat.reshape(4, 3)
        left, right = np.pad(y, 1)[:-2], np.pad(y, 1)[2:]
        before, after = np.pad(phi, 1)[:-2], np.pad(phi, 1)[2:]
        push = right - 2 * y + left - (after - before) / 2 - 0.2 * y - 1.5 * y**3
        push[1] -= 20.0 * max(y[1] - 0.1, 0.0) ** 1.5
        return np.concatenate([v, w, push, 3 * (right - left) - (after + 4 * phi + before)])

    flat = np.asarray(start).reshape(-1)
    solved = solve_ivp(field, (0, 5), flat, "DOP853", times, rtol=1e-11, atol=1e-12,
                       max_step=0.01).y.T.reshape(-1, 4, 3)  # fmt: skip
    depth = np.maximum(solved[:, 0, 1] - 0.1, 0)
    assert depth.max() > 0
    stored = (0.1 * solved[:, 0] ** 2 + 0.375 * solved[:, 0] ** 4).sum(1)
    stored += 0.4 * 20.0 * depth**2.5
    expected = chain.energies(solved)
    moved = jv.dynamics.chain_motion(chain, start, times, forces=forces, step=0.002)
    np.testing.assert_allclose(moved.translational, expected.translational, atol=1e-7)
    np.testing.assert_allclose(moved.potential, expected.potential + stored, atol=1e-7)
    assert float(moved.energy_change * chain.energies(start).total) < 1e-7
    usual = jv.dynamics.chain_motion(chain, start, times, forces=forces)
    np.testing.assert_allclose(usual.rotational, expected.rotational, atol=1e-4)
    shown = jv.dynamics.chain_fields(chain, start, times, 5, forces=forces, step=0.002)
    density = [jv.dynamics.energy_field(chain, state).density for state in solved]
    np.testing.assert_allclose(shown.density, density, atol=1e-7)
    flux = [jv.dynamics.energy_field(chain, state).flux for state in solved]
    np.testing.assert_allclose(shown.flux, flux, atol=1e-7)


def test_motion_can_be_mapped_over_gamma():
    state = jv.dynamics.kick(jv.BeamChain(bodies=6), 2, 1.0)
    times = jnp.linspace(0.0, 4.0, 5)

    @jax.jit
    def rotational(gamma):
        return jv.dynamics.chain_motion(
            jv.BeamChain(bodies=6, gamma=gamma), state, times
        ).rotational

    gammas = jnp.array([0.3, 1.0, 4.0])
    many = jax.jit(jax.vmap(rotational))(gammas)
    np.testing.assert_allclose(many, [rotational(g) for g in gammas], atol=1e-13)
