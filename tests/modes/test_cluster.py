"""Checked against: split frequencies of a changed system, energies by hand, dense eigh."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import jaxvib as jv
from jaxvib.modes import slicing
from jaxvib.modes.slicing import lowest_from


def star(*, first=50.0):
    modules = [jv.PointMass(name, 2.0) for name in "habc"]
    modules += [jv.Spring("h", leaf, stiffness=k)
                for leaf, k in zip("abc", (first, 50.0, 50.0), strict=True)]  # fmt: skip
    return jv.assemble(modules)


def test_a_repeated_value_splits_as_its_cluster_says():
    paths = ["modules.h-a.stiffness", "modules.b.mass"]
    slopes = np.asarray(jv.modes.frequency_derivatives(star(), paths))
    step = 1e-4
    ahead, behind = (jv.natural_frequencies(star(first=50.0 + s)) for s in (step, -step))
    # below the point the values come in the reverse order
    pairs = np.sort(np.asarray(behind)[1:3])[::-1]
    expected = np.sort((np.asarray(ahead)[1:3] - pairs) / (2 * step))
    np.testing.assert_allclose(slopes[0, 1:3], expected, atol=1e-8)
    assert slopes[0, 0] == 0.0
    # leaves alone on a hub at rest: only b's own half moves; w = sqrt(k/m)
    assert slopes[1, 1:3].sum() < 0


@pytest.mark.slow  # compiles three chains, 4 s
@pytest.mark.parametrize("gamma", [1.0, 0.3, 4.0])
def test_a_periodic_chain_lists_both_waves_of_a_pair_and_their_slopes(gamma):
    # waves that run to the left and to the right, 2 pi k/N and its negative
    bodies = 9
    chain = jv.BeamChain(bodies, gamma)
    waves = 2 * np.pi * np.arange(bodies) / bodies

    @jax.jit
    def branches(at):
        bands = jv.BeamChain(bodies, at).bands(waves)
        return jnp.concatenate([bands.lower, bands.upper])

    values = np.asarray(branches(gamma))
    order = np.argsort(values)
    found = np.asarray(jv.natural_frequencies(chain))
    np.testing.assert_allclose(found, values[order], rtol=1e-12, atol=1e-12)
    assert (np.diff(found) < 1e-12).sum() == bodies - 1  # all but q = 0 come twice
    step = 1e-4  # the difference is right to its square
    difference = (branches(gamma + step) - branches(gamma - step)) / (2 * step)
    slopes = np.asarray(jv.modes.frequency_derivatives(chain, ["gamma"]))[0]
    np.testing.assert_allclose(slopes, difference[order], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_a_heavier_body_of_a_ring_slows_one_wave_of_each_pair():
    chain = jv.BeamChain(7, 1.0)
    slopes = np.asarray(
        jv.modes.frequency_derivatives(chain.assembled(), ["modules.0.y.mass"])
    )[0]
    step = 1e-5

    def at(mass):
        factors = np.ones(7)
        factors[0] = mass
        heavier = jv.BeamChain(7, 1.0, mass_factors=factors)
        return np.asarray(jv.natural_frequencies(heavier))

    found = np.asarray(jv.natural_frequencies(chain))
    for first in np.flatnonzero(np.diff(found) < 1e-9):
        pair = slice(first, first + 2)
        # heavier is slower: the one that is slowed comes first, below it comes last
        split = np.sort(
            (np.sort(at(1 + step)[pair]) - np.sort(at(1 - step)[pair])[::-1]) / (2 * step)
        )
        np.testing.assert_allclose(slopes[pair], split, atol=1e-8)
        assert abs(slopes[pair][1]) < 1e-12  # its node is at that body
        assert slopes[pair][0] < 0


def test_a_parameter_that_holds_a_free_system_has_no_slope_there():
    modules = [jv.PointMass("a", 1.0), jv.PointMass("b", 1.0)]
    modules += [jv.Spring("a", "b", stiffness=1.0), jv.Spring("ground", "a")]
    slopes = jv.modes.frequency_derivatives(
        jv.assemble(modules), ["modules.ground-a.stiffness"]
    )
    assert np.isnan(slopes[0, 0])
    np.testing.assert_allclose(slopes[0, 1], 0.5 / (2 * np.sqrt(2)), rtol=1e-12)


def test_an_unknown_path_is_named():
    with pytest.raises(ValueError, match=r"did you mean 'modules.h-a.stiffness'"):
        jv.modes.frequency_derivatives(star(), ["modules.h-a.stiffnes"])


def test_each_mode_names_the_modules_that_hold_its_energy():
    system = jv.assemble(
        [
            jv.TranslationTranslation("ground", "house", mass=100.0, stiffness=1e4),
            jv.TranslationTranslation("house", "antenna", mass=0.1, stiffness=1e3),
            jv.PointMass("balloon", 1.0),
        ]
    )
    shares = jv.modes.energy_shares(system)
    np.testing.assert_allclose(shares.potential.sum(0), [0, 1, 1], atol=1e-12)
    np.testing.assert_allclose(shares.kinetic.sum(0), 1, rtol=1e-12)
    assert shares.describe(0) == "0 rad/s: strained none; moving balloon 100%"
    assert "strained ground-house" in shares.describe(1)
    assert "strained house-antenna" in shares.describe(2)


@pytest.mark.slow
def test_five_thousand_bodies_have_the_closed_form_from_sparse_matrices():
    count = 5000
    names = ["ground", *(f"m{i}" for i in range(count)), "ground"]
    modules: list = [jv.PointMass(name, 2.0) for name in names[1:-1]]
    modules += [jv.Spring(a, b, stiffness=50.0) for a, b in itertools.pairwise(names)]
    found = jv.modes.lowest_frequencies(jv.assemble(modules), 6)
    closed = 10 * np.sin(np.arange(1, 7) * np.pi / (2 * (count + 1)))
    np.testing.assert_allclose(found, closed, rtol=1e-12)


@pytest.fixture(params=["dense", "sparse"])
def either(request, monkeypatch):
    """Small systems are computed as large ones are, and by LAPACK."""
    monkeypatch.setattr(slicing, "_DENSE", 500 if request.param == "dense" else 0)


def bodies_on_the_ground(stiffnesses):
    return jv.assemble(
        [
            jv.TranslationTranslation("ground", f"b{i}", mass=2.0, stiffness=2.0 * k)
            for i, k in enumerate(stiffnesses)
        ]
    )


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("count", [1, 7, 60])
def test_an_eigenvalue_of_multiplicity_sixty_is_repeated_as_often_as_requested(count):
    found = jv.modes.lowest_frequencies(bodies_on_the_ground(np.ones(60)), count)
    np.testing.assert_allclose(found, np.ones(count), rtol=1e-14)


@pytest.mark.usefixtures("either")
def test_nothing_below_the_shift_is_nearest_above_it():
    system = bodies_on_the_ground(np.arange(1.0, 61.0) ** 2)
    for shift, expected in [
        (5.4, [6, 7, 8]),
        (6.0, [6, 7, 8]),
        (58.5, [59, 60, np.nan]),
        (60.5, [np.nan, np.nan, np.nan]),
    ]:
        found = jv.modes.lowest_frequencies(system, 3, shift=shift)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("either")
def test_matrices_chains_and_unstable_systems_have_lowest_frequencies_too():
    squares = np.arange(-3.0, 57.0)
    system = jv.LinearSystem(np.eye(60), np.zeros((60, 60)), np.diag(squares))
    expected = [np.nan] * 3 + [0.0, 1.0, np.sqrt(2)]
    np.testing.assert_allclose(jv.modes.lowest_frequencies(system, 6), expected, rtol=1e-12)
    np.testing.assert_allclose(jv.modes.lowest_frequencies(system, 1, shift=0.5), [1.0])
    chain = jv.BeamChain(20)
    np.testing.assert_allclose(
        jv.modes.lowest_frequencies(chain, 12),
        jv.natural_frequencies(chain)[:12],
        atol=1e-12,
    )
    flutters = jv.LinearSystem(np.eye(2), np.eye(2), [[2.0, 0.9], [-0.9, 3.0]])
    with pytest.raises(ValueError, match="damped_modes"):
        jv.modes.lowest_frequencies(flutters, 1)


def test_a_grid_of_many_bodies_lists_every_pair_of_equal_values():
    # a net of 26 by 26 free bodies: sums of two waves, most of them twice
    side = 26
    names = [[f"m{i}-{j}" for j in range(side)] for i in range(side)]
    flat = [name for row in names for name in row]
    lines = [*names, *zip(*names, strict=True)]
    modules = [jv.PointMass(name, 2.0) for name in flat]
    modules += [
        jv.Spring(a, b, stiffness=50.0)
        for line in lines
        for a, b in itertools.pairwise(line)
    ]
    wave = 4 * 25 * np.sin(np.arange(side) * np.pi / (2 * side)) ** 2
    closed = np.sqrt(np.sort((wave[:, None] + wave).ravel()))
    system = jv.assemble(modules)
    found = jv.modes.lowest_frequencies(system, 40)
    np.testing.assert_allclose(found, closed[:40], rtol=1e-12)
    for shift, count in ((4.0, 9), (float(closed[200]), 5), (float(closed[-3]) - 1e-6, 6)):
        above = np.append(closed[closed >= shift * (1 - 1e-12)], np.full(count, np.nan))
        found = jv.modes.lowest_frequencies(system, count, shift=shift)
        np.testing.assert_allclose(found, above[:count], rtol=1e-12)


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6))
def test_no_eigenvalue_of_a_random_pencil_is_missed(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(10, 60))
    values = np.sort(np.round(rng.uniform(0, rng.choice([5, 30, 300]), size))) ** 2
    if seed % 3 == 0:
        values = np.sort(rng.lognormal(0, 3, size))
    turned = np.linalg.qr(rng.normal(size=(size, size)))[0]
    lower = np.eye(size) + 0.1 * np.tril(rng.normal(size=(size, size)), -1)
    mass = lower @ lower.T
    scale = 1 / np.sqrt(np.outer(np.diag(mass), np.diag(mass)))
    stiffness = scale * (lower @ (turned * values) @ turned.T @ lower.T)
    mass, stiffness = scale * mass, (stiffness + stiffness.T) / 2
    floor = float(rng.choice([-1e-9 * values[-1], rng.choice(values) * (1 - 1e-9) - 1e-9]))
    count = int(rng.integers(1, size + 1))
    every = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)
    found = lowest_from(csc_array(stiffness), csc_array(mass), floor, count)
    expected = every[every >= floor][:count]
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12 * values[-1])
    assert found.below == np.sum(every < floor)
    left = stiffness @ found.vectors - mass @ found.vectors * found.values
    assert np.abs(left).max(initial=0) < 1e-9 * values[-1]


def test_sparse_frequencies_are_the_lowest_of_the_dense_ones():
    names = ["ground", *(f"m{i}" for i in range(60))]
    modules = [
        jv.TranslationTranslation(a, b, mass=1.0 + i % 3, stiffness=100.0)
        for i, (a, b) in enumerate(itertools.pairwise(names))
    ]
    system = jv.assemble(modules)
    dense = np.asarray(jv.natural_frequencies(system))
    found = jv.modes.lowest_frequencies(system, 5)
    np.testing.assert_allclose(found, dense[:5], rtol=1e-9)
    free = jv.assemble([jv.PointMass("m0", 1.0), *modules[1:]])
    found = jv.modes.lowest_frequencies(free, 3)
    assert float(found[0]) == 0.0
    with pytest.raises(ValueError, match="count = 61"):
        jv.modes.lowest_frequencies(system, 61)


def test_repeated_eigenvalues_have_no_slopes_along_a_direction_of_flutter():
    ring = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.eye(2))
    with pytest.raises(ValueError, match=r"stiffness\.0\.1 makes .* unsymmetric"):
        jv.modes.frequency_derivatives(ring, ["stiffness.0.1"])
    slopes = jv.modes.frequency_derivatives(ring, ["stiffness.1.1"])
    np.testing.assert_allclose(slopes, [[0.0, 0.5]], atol=1e-15)


def test_an_unstable_mode_leaves_the_slopes_of_the_others():
    stiffness = np.diag([-1.0, 4.0])
    system = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), stiffness)
    slopes = jv.modes.frequency_derivatives(system, ["stiffness.1.1"])
    np.testing.assert_allclose(slopes, [[np.nan, 0.25]], rtol=1e-14)
