"""Checked against: the mended equations, body by body, and the overlay of beam modules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv

ENDS = ("periodic", "free", "clamped", "hinged")
RNG = np.random.default_rng(3)


def test_inner_bodies_accelerate_as_the_mended_equations_say():
    m, j, b, length = 2.0, 0.3, 5.0, 0.7
    chain = jv.BeamChain.from_physical(
        5, mass=m, inertia=j, length=length, bending_stiffness=b, ends="free"
    )
    y, phi = RNG.normal(size=(2, 5))
    force, moment = chain.forces(jnp.asarray([y, phi]))
    i = slice(1, -1)
    up, down = slice(2, None), slice(None, -2)
    shift = 12 / length**3 * (y[up] - 2 * y[i] + y[down])
    turn = 6 / length**2 * (phi[up] - phi[down])
    np.testing.assert_allclose(force[i], b * (shift - turn), rtol=1e-13)
    shift = 6 / length**2 * (y[up] - y[down])
    turn = 2 / length * (phi[up] + 4 * phi[i] + phi[down])
    np.testing.assert_allclose(moment[i], b * (shift - turn), rtol=1e-13)
    np.testing.assert_allclose(chain.inertias, j, rtol=1e-15)


@pytest.mark.parametrize("ends", ENDS)
def test_the_overlay_of_beam_modules_gives_the_same_matrices(ends):
    bodies = 5
    beams = bodies + {"periodic": 0, "free": -1, "clamped": 1, "hinged": -1}[ends]
    chain = jv.BeamChain(
        bodies, 1.7, ends, mass=2.0, length=0.6, bending_stiffness=3.0,
        mass_factors=RNG.uniform(0.5, 2, bodies),
        inertia_factors=RNG.uniform(0.5, 2, bodies),
        stiffness_factors=RNG.uniform(0.5, 2, beams),
    )  # fmt: skip
    overlay = chain.assembled()
    place = np.array([overlay.names.index(name) for name in chain.names])
    for mine, theirs in zip(chain.matrices(), overlay.matrices(), strict=True):
        theirs = np.asarray(theirs)[np.ix_(place, place)]
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-13)
    assert len(chain.names) == 2 * bodies - (2 if ends == "hinged" else 0)


@pytest.mark.parametrize("ends", ENDS)
def test_a_place_is_a_freedom_s_name(ends):
    chain = jv.BeamChain(bodies=5, ends=ends)
    np.testing.assert_array_equal(
        chain.direction({"2.y": 1.0, "3.angle": -0.5}),
        [{"2.y": 1.0, "3.angle": -0.5}.get(name, 0.0) for name in chain.names],
    )
    with pytest.raises(ValueError, match=r"did you mean '2\.y'"):
        chain.direction("2.x")


@pytest.mark.parametrize("ends", ENDS)
def test_forces_and_energies_are_those_of_the_matrices(ends):
    chain = jv.BeamChain(bodies=6, gamma=0.8, ends=ends)
    state = RNG.normal(size=(4, 6))
    if ends == "hinged":
        state[np.ix_([0, 2], [0, 5])] = 0
    mass, _, stiffness = chain.matrices()
    place, rate = state.reshape(2, 2, 6).swapaxes(1, 2).reshape(2, 12)[:, chain.moving]
    force = np.zeros(12)
    force[chain.moving] = -stiffness @ place
    found = np.asarray(chain.forces(jnp.asarray(state[:2]))).T.reshape(-1)
    np.testing.assert_allclose(found, force, atol=1e-13)
    energies = chain.energies(state)
    assert float(energies.potential) == pytest.approx(place @ stiffness @ place / 2)
    kinetic = rate @ mass @ rate / 2
    assert float(energies.translational + energies.rotational) == pytest.approx(kinetic)
    # the dimensionless energies as they are defined
    assert float(energies.translational) == pytest.approx(np.sum(state[2] ** 2) / 2)
    assert float(energies.rotational) == pytest.approx(np.sum(state[3] ** 2) / (12 * 0.8))


def test_energies_of_many_times_are_those_of_each():
    chain = jv.BeamChain(bodies=4, gamma=1.0)
    states = RNG.normal(size=(3, 4, 4))
    many = chain.energies(states).total
    np.testing.assert_allclose(many, [chain.energies(s).total for s in states], rtol=1e-15)


@settings(max_examples=30)
@given(q=st.floats(-np.pi, np.pi), gamma=st.floats(1e-3, 1e3))
def test_both_branches_are_the_roots_of_the_dispersion_relation(q, gamma):
    bands = branches(gamma, q)
    # the two equations with e^(i q n), their matrix made symmetric
    a, d = 2 - 2 * np.cos(q), gamma * (4 + 2 * np.cos(q))
    squares = np.array([bands.lower, bands.upper]) ** 2
    np.testing.assert_allclose(squares.sum(), a + d, rtol=1e-14)
    product = 8 * gamma * np.sin(q / 2) ** 4
    np.testing.assert_allclose(squares.prod(), product, rtol=1e-13, atol=1e-300)


@jax.jit
def branches(gamma, q):
    return jv.BeamChain(bodies=4, gamma=gamma).bands(q)


def test_group_velocities_are_slopes_of_the_branches_on_their_whole_range():
    chain = jv.BeamChain(bodies=4, gamma=1.3)
    q = np.linspace(-np.pi, np.pi, 9)  # 0 and the edges among them
    step = 1e-5
    ahead, behind = chain.bands(q + step), chain.bands(q - step)
    bands = chain.bands(q)
    lower = (ahead.lower - behind.lower) / (2 * step)
    upper = (ahead.upper - behind.upper) / (2 * step)
    np.testing.assert_allclose(bands.lower_velocity, lower, atol=1e-9)
    np.testing.assert_allclose(bands.upper_velocity, upper, atol=1e-9)


def test_branches_that_meet_have_values_and_slopes():
    chain = jv.BeamChain(bodies=4, gamma=2.0)
    bands = chain.bands(jnp.pi)
    np.testing.assert_allclose([bands.lower, bands.upper], 2.0, rtol=1e-15)
    assert np.isfinite(bands.upper_velocity)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bodies": 2}, r"bodies = 2 is not in \[3"),
        ({"bodies": 2.5}, "bodies = 2.5 is not a whole number"),
        ({"bodies": 8, "ends": "clampd"}, "unknown ends 'clampd'; did you mean 'clamped'"),
        ({"bodies": 8, "gamma": 0.0}, "gamma = 0 is not in"),
        ({"bodies": 8, "mass_factors": [1.0]}, r"mass_factors has shape \(1,\)"),
    ],
)
def test_bad_chains_are_refused_by_name(values, message):
    with pytest.raises(ValueError, match=message):
        jv.BeamChain(**values)


def test_dense_matrices_beyond_the_memory_are_refused_before_any_is_made():
    many = jv.BeamChain(bodies=10**6, gamma=0.1, ends="free")
    for call in (
        lambda: jv.propagate(many, np.zeros((4, 10**6)), [0.0]),
        lambda: jv.natural_frequencies(many),
        many.matrices,
    ):
        with pytest.raises(ValueError, match=r"bodies = 1000000: each .* has 32 TB; allow"):
            call()


def test_a_state_of_another_shape_is_refused():
    chain = jv.BeamChain(bodies=4, gamma=1.0)
    with pytest.raises(ValueError, match=r"state has shape \(4, 5\)"):
        chain.energies(np.zeros((4, 5)))
    with pytest.raises(ValueError, match=r"state has shape \(4, 5\)"):
        jv.propagate(chain, np.zeros((4, 5)), [0.0])
