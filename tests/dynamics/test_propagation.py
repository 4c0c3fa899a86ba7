"""Checked against: scipy's matrix exponential and integrators, closed forms, 50 digits."""

import itertools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import jaxvib as jv

ENDS = ("periodic", "free", "clamped", "hinged")
# Each takes more than a second to compile.
FEW = ["periodic", "hinged", *(pytest.param(e, marks=pytest.mark.slow) for e in ENDS[1:3])]
RNG = np.random.default_rng(5)


def state_of(chain):
    state = RNG.normal(size=(4, chain.bodies))
    if chain.ends == "hinged":
        state[np.ix_([0, 2], [0, -1])] = 0
    return state


def flat(chain, state):
    """Return (q, v) over the chain's degrees of freedom."""
    parts = np.asarray(state).reshape(2, 2, -1).swapaxes(1, 2).reshape(2, -1)
    return parts[:, chain.moving].reshape(-1)


def exponential(matrices, time):
    mass, damping, stiffness = (np.asarray(m) for m in matrices)
    size = len(mass)
    below = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
    matrix = np.vstack([np.hstack([np.zeros((size, size)), np.eye(size)]), below])
    return scipy.linalg.expm(matrix * time)


@pytest.mark.parametrize("ends", FEW)
@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_a_chain_moves_as_its_matrix_exponential(ends, gamma):
    chain = jv.BeamChain(bodies=6, gamma=gamma, ends=ends)
    state = state_of(chain)
    times = [0.0, 0.7, 12.0]
    found = jv.propagate(chain, state, times)
    assert found.shape == (3, 4, 6)
    for time, moved in zip(times, found, strict=True):
        expected = exponential(chain.matrices(), time) @ flat(chain, state)
        np.testing.assert_allclose(flat(chain, moved), expected, rtol=0, atol=2e-12)


@pytest.mark.parametrize(
    "bodies", [5, pytest.param(8, marks=pytest.mark.slow)]
)  # one second each to compile
def test_waves_and_modes_agree_on_a_periodic_chain(bodies):
    chain = jv.BeamChain(bodies=bodies, gamma=1.3)
    alike = jv.BeamChain(bodies=bodies, gamma=1.3, mass_factors=np.ones(bodies))
    state = state_of(chain)
    waves, modes = (jv.propagate(c, state, [3.0, 1e2]) for c in (chain, alike))
    np.testing.assert_allclose(waves[0], modes[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(waves[1], modes[1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.slow
def test_energy_is_kept_for_a_hundred_thousand_units_of_time(ends):
    chain = jv.BeamChain(bodies=32, gamma=1.0, ends=ends)
    state = state_of(chain)
    if ends in ("periodic", "free"):
        # a chain that drifts away loses digits of its strains to its place
        state[2] -= state[2].mean()
        state[3] -= state[3].mean() if ends == "free" else 0
        arm = np.arange(32) - 15.5
        state[2] -= arm * (arm @ state[2]) / (arm @ arm) if ends == "free" else 0
    energy = chain.energies(jv.propagate(chain, state, [0.0, 1e3, 1e5])).total
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_one_wave_turns_by_the_frequency_of_its_branch():
    bodies, waves = 12, 2
    chain = jv.BeamChain(bodies=bodies, gamma=0.4)
    q = 2 * np.pi * waves / bodies
    a, coupling = 2 - 2 * np.cos(q), np.sin(q)
    bands = chain.bands(q)
    for frequency in (float(bands.lower), float(bands.upper)):
        # from Y'' = -a Y - i sin q phi: phi = (w^2 - a)/(i sin q) Y
        turn = (frequency**2 - a) / (1j * coupling)
        wave = np.exp(1j * q * np.arange(bodies))
        amplitudes = np.array([1, turn, -1j * frequency, -1j * frequency * turn])

        def at(time, amplitudes=amplitudes, wave=wave, frequency=frequency):
            return (amplitudes[:, None] * wave * np.exp(-1j * frequency * time)).real

        found = jv.propagate(chain, at(0.0), [0.0, 5.0, 777.0])
        for time, moved in zip([0.0, 5.0, 777.0], found, strict=True):
            np.testing.assert_allclose(moved, at(time), atol=1e-11)


@pytest.mark.slow
def test_a_million_units_of_time_keep_ten_digits():
    # 50 digits: the modes of the smallest chain from the matrices of the overlay
    chain = jv.BeamChain(bodies=3, gamma=1.0, ends="clamped")
    state = state_of(chain)
    mpmath.mp.dps = 50
    stiffness = np.asarray(chain.matrices()[2])
    matrix = mpmath.matrix(6, 6)
    masses = [1, mpmath.mpf(1) / 6] * 3
    entries = np.round(stiffness * 12).astype(int)  # 12 C is whole for b = 1/12
    np.testing.assert_allclose(entries / 12, stiffness, atol=1e-15)
    for i, j in itertools.product(range(6), range(6)):
        root = mpmath.sqrt(masses[i] * masses[j])
        matrix[i, j] = mpmath.mpf(int(entries[i, j])) / 12 / root
    squares, vectors = mpmath.eigsy(matrix)
    place = [mpmath.mpf(float(x)) for x in flat(chain, state)]
    time = mpmath.mpf(10) ** 6
    expected = []
    modal = []
    for k in range(6):
        w = mpmath.sqrt(squares[k])
        q = sum(vectors[i, k] * mpmath.sqrt(masses[i]) * place[i] for i in range(6))
        v = sum(vectors[i, k] * mpmath.sqrt(masses[i]) * place[6 + i] for i in range(6))
        modal.append(mpmath.cos(w * time) * q + mpmath.sin(w * time) / w * v)
    for i in range(6):
        total = sum(vectors[i, k] * modal[k] for k in range(6))
        expected.append(float(total / mpmath.sqrt(masses[i])))
    moved = jv.propagate(chain, state, [1e6])[0]
    # rounding of the frequencies, 4e-16 of 1e6 units each
    np.testing.assert_allclose(flat(chain, moved)[:6], expected, atol=2e-8)


@pytest.mark.slow  # compiles a damped system and its response, 3 s
def test_a_damped_assembly_moves_as_an_independent_integration():
    system = jv.assemble(
        [
            jv.TranslationTranslation("ground", "a", mass=2.0, stiffness=9.0, damping=0.3),
            jv.TranslationTranslation("a", "b", mass=1.0, stiffness=4.0, damping=0.1),
        ]
    )
    load = jv.AppliedLoad(system.direction("b"), jv.HarmonicLoad(3.0, 1.7, 0.4))
    driven = jv.ImpactSystem(system, loads=(load,))
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())

    def field(time, state):
        push = [0.0, 3.0 * np.cos(1.7 * time + 0.4)]
        return np.concatenate(
            [state[2:], np.linalg.solve(mass, push - stiffness @ state[:2]
                                        - damping @ state[2:])]
        )  # fmt: skip

    start, times = np.array([0.1, -0.2, 0.3, 0.0]), np.array([0.0, 2.0, 30.0])
    solved = solve_ivp(field, (0, 30), start, "DOP853", times, rtol=1e-12, atol=1e-13)
    found = jv.propagate(driven, start, times)
    np.testing.assert_allclose(found, solved.y.T, rtol=0, atol=1e-10)
    # what stays is the frequency response
    late = jv.propagate(driven, start, [2000.0])[0]
    response = jv.frequency_response(system, [1.7], force="b")[0]
    steady = (response * 3.0 * np.exp(1j * (1.7 * 2000.0 + 0.4))).real
    np.testing.assert_allclose(late[:2], steady, atol=1e-9)


@pytest.mark.slow
def test_exact_motion_can_be_mapped_and_differentiated():
    def moved(gamma, state):
        return jv.propagate(jv.BeamChain(bodies=4, gamma=gamma), state, [2.0])[0]

    state = jnp.asarray(RNG.normal(size=(4, 4)))
    slope = jax.jit(jax.jacfwd(moved))(1.0, state)
    step = 1e-5
    difference = (moved(1.0 + step, state) - moved(1.0 - step, state)) / (2 * step)
    np.testing.assert_allclose(slope, difference, atol=1e-9)
    many = jax.vmap(lambda s: moved(1.0, s))(jnp.stack([state, 2 * state]))
    np.testing.assert_allclose(many[1], 2 * many[0], rtol=1e-12)


@pytest.mark.parametrize(("stiffness", "mass"), [(1.0, 1.0), (1e4, 1e-10), (1e-6, 1e3)])
def test_an_oscillator_of_any_frequency_moves_as_the_closed_form(stiffness, mass):
    frequency, ratio = np.sqrt(stiffness / mass), 1e-4
    damping = 2 * ratio * frequency * mass
    load, weight = jv.HarmonicLoad(stiffness, 0.7 * frequency), jv.ConstantLoad(stiffness)
    system = jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[damping]], [[stiffness]]),
        loads=[jv.AppliedLoad([1.0], law) for law in (load, weight)],
    )
    # in units of 1/w the response to cos(0.7 t) + 1 from x = 2, x' = -1
    forced = 1 / (1 - 0.7**2 + 2j * ratio * 0.7)
    root = -ratio + 1j * np.sqrt(1 - ratio**2)
    place, rate = 1 - forced.real, -1 - (0.7j * forced).real
    free = place - 1j * (rate - root.real * place) / root.imag
    turns = np.array([0.3, 1e2, 1e4])
    moved = free * np.exp(root * turns), forced * np.exp(0.7j * turns)
    expected = [1 + sum(moved).real, (root * moved[0] + 0.7j * moved[1]).real]
    found = jv.propagate(system, [2.0, -frequency], turns / frequency)
    np.testing.assert_allclose(found[:, 0], expected[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[:, 1] / frequency, expected[1], rtol=0, atol=1e-11)


def test_nonlinear_systems_are_refused():
    with pytest.raises(ValueError, match="has contacts"):
        jv.propagate(jv.two_body_impact(), np.zeros(4), [0.0])


@pytest.mark.parametrize("times", [[[0.0]], [np.inf], [1j]])
def test_times_that_are_not_a_list_of_numbers_are_named(times):
    with pytest.raises(ValueError, match="times"):
        jv.propagate(jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]), [1.0, 0.0], times)


def test_hinged_ends_that_move_are_named():
    chain = jv.BeamChain(bodies=4, gamma=1.0, ends="hinged")
    for row, end in ((0, 0), (2, -1)):
        state = jnp.zeros((4, 4)).at[row, end].set(1e-3)
        with pytest.raises(ValueError, match="state moves y of the bodies 0, 3"):
            jv.propagate(chain, state, [0.0])
