"""Checked against: VPCS SDLD02, SDLD21, SDLL04, closed forms, scipy's eigenvalues."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv
from jaxvib.systems.linear_part import linear_part
from tests.zoo import spring


def chain_between_walls(damping=0.0, count=8):
    names = ["ground", *(f"mass{i}" for i in range(1, count + 1))]
    links = {"stiffness": 1e5, "damping": damping}
    modules = [spring(a, b, mass=10.0, **links) for a, b in itertools.pairwise(names)]
    return jv.assemble([*modules, spring(names[-1], "ground", **links)])


def cantilever(elements, *tip, ends=("ground", None), length=1.0):
    names = [ends[0], *(str(i) for i in range(1, elements)), ends[1] or "tip"]
    beams = [
        jv.BeamModule(a, b, length=length / elements, bending_stiffness=1.0,
                      mass_per_length=1.0)
        for a, b in itertools.pairwise(names)
    ]  # fmt: skip
    return jv.assemble([*beams, *tip])


def test_masses_between_walls_have_the_published_frequencies():
    hertz = jv.natural_frequencies(chain_between_walls()) / (2 * np.pi)
    closed = 100 / np.pi * np.sin(np.arange(1, 9) * np.pi / 18)
    np.testing.assert_allclose(hertz, closed, rtol=1e-13)
    published = [5.5274, 10.8868, 31.3474]
    np.testing.assert_allclose(hertz[np.array([0, 1, 7])], published, atol=5e-5)


def test_the_damped_chain_has_the_published_response():
    system = chain_between_walls(damping=50.0)
    frequencies = 2 * np.pi * np.array([5.0, 11.0])
    response = jv.frequency_response(system, frequencies, force="mass4", at="mass4")
    published = [1.0237e-4 - 8.5187e-6j, -7.3293e-6 - 1.2167e-5j]
    np.testing.assert_allclose(response, published, rtol=5e-5)
    every = jv.frequency_response(system, frequencies, force=3)
    np.testing.assert_allclose(every[:, 3], response, rtol=1e-14)


def test_cart_and_hanging_rod_have_the_printed_frequencies():
    rod = jv.TranslationRotation(
        "cart", "rod", mass=1.0, length=0.8, stiffness=3.0, gravity=9.81
    )
    system = jv.assemble([spring("ground", "cart", mass=2.0, stiffness=100.0), rod])
    found = jv.natural_frequencies(system)
    np.testing.assert_allclose(found, [4.68230877, 8.11143816], rtol=0, atol=5e-9)


def test_a_free_row_of_masses_has_a_rigid_motion_and_the_closed_form():
    names = [str(i) for i in range(6)]
    modules = [jv.PointMass(name, 2.0) for name in names]
    modules += [jv.Spring(a, b, stiffness=50.0) for a, b in itertools.pairwise(names)]
    found = jv.natural_frequencies(jv.assemble(modules))
    assert float(found[0]) == 0.0
    closed = 2 * np.sqrt(50 / 2) * np.sin(np.arange(6) * np.pi / 12)
    np.testing.assert_allclose(found[1:], closed[1:], rtol=1e-13)


def test_a_ring_and_a_star_list_repeated_values_as_often_as_they_occur():
    names = [str(i) for i in range(7)]
    masses = [jv.PointMass(name, 2.0) for name in names]
    around = itertools.pairwise([*names, names[0]])
    ring = jv.assemble([*masses, *(jv.Spring(a, b, stiffness=50.0) for a, b in around)])
    closed = np.sort(2 * 5 * np.abs(np.sin(np.arange(7) * np.pi / 7)))
    np.testing.assert_allclose(jv.natural_frequencies(ring), closed, atol=1e-13)
    star = jv.assemble(
        [*masses, *(jv.Spring("0", leaf, stiffness=50.0) for leaf in names[1:])]
    )
    closed = [0.0, *[5.0] * 5, np.sqrt(50 * 7 / 2)]
    np.testing.assert_allclose(jv.natural_frequencies(star), closed, atol=1e-13)


def test_a_mechanism_moves_freely_once_for_each_lost_link():
    # two pairs in space for themselves, and a mass on nothing
    modules = [jv.PointMass(name, 1.0) for name in "abcde"]
    modules += [jv.Spring("a", "b", stiffness=8.0), jv.Spring("c", "d", stiffness=18.0)]
    found = jv.natural_frequencies(jv.assemble(modules))
    np.testing.assert_allclose(found, [0, 0, 0, 4, 6], rtol=1e-14)
    modes = jv.natural_modes(jv.assemble(modules))
    assert int(modes.rigid) == 3


def test_an_unstable_mode_has_no_frequency():
    standing = jv.TranslationRotation(
        "cart", "rod", mass=1.0, length=0.8, stiffness=1.0, standing=True
    )
    system = jv.assemble([spring("ground", "cart", mass=2.0, stiffness=100.0), standing])
    found = np.asarray(jv.natural_frequencies(system))
    assert np.isnan(found[0])
    assert found[1] > 0


@pytest.mark.parametrize(
    ("tip", "expected"),
    [
        ((), [1.87510407, 4.69409113, 7.85475744]),
        ((jv.PointMass("tip.y", 1.0),), [1.24791741, 4.03113944, 7.13413224]),
    ],
)
def test_a_cantilever_of_beam_modules_has_the_published_wave_numbers(tip, expected):
    found = np.sqrt(jv.natural_frequencies(cantilever(24, *tip))[:3])
    # cubic elements of length h are stiffer by (beta h)^4/720 in the square
    expected = np.array(expected)
    bound = 1.05 * (expected / 24) ** 4 / 2880 + 1e-8
    assert np.all(np.abs(found / expected - 1) < bound)


def test_a_free_beam_has_two_rigid_motions():
    found = np.asarray(jv.natural_frequencies(cantilever(12, ends=("root", "tip"))))
    assert np.all(found[:2] == 0)
    np.testing.assert_allclose(np.sqrt(found[2]), 4.73004074, rtol=1e-5)


def test_a_beam_with_a_sprung_mass_has_the_published_frequencies():
    # VPCS SDLL04: hinged-hinged, the mass ratio 0.01 at a quarter, tuned to mode 1
    elements, length, stiffness, per_length = 24, 10.0, 7.8e5, 78.0
    names = [f"n{i}" for i in range(elements + 1)]
    beams = [
        jv.BeamModule(a, b, length=length / elements, bending_stiffness=stiffness,
                      mass_per_length=per_length)
        for a, b in itertools.pairwise(names)
    ]  # fmt: skip
    first = (np.pi / length) ** 2 * np.sqrt(stiffness / per_length)
    mass = 0.01 * per_length * length
    body = spring(f"n{elements // 4}.y", "body", mass=mass, stiffness=mass * first**2)
    # hinges: springs a million times as stiff as the beam
    hinges = [jv.Spring("ground", f"{n}.y", stiffness=1e12) for n in (names[0], names[-1])]
    system = jv.assemble([*beams, *hinges, body])
    hertz = jv.natural_frequencies(system)[:3] / (2 * np.pi)
    np.testing.assert_allclose(hertz, [1.4937, 1.6506, 6.2874], atol=1e-4)


def test_modes_are_mass_normalised_and_solve_the_eigenproblem():
    system = chain_between_walls(damping=50.0, count=3)
    modes = jv.natural_modes(system)
    mass, _, stiffness = system.matrices()
    np.testing.assert_allclose(modes.shapes.T @ mass @ modes.shapes, np.eye(3), atol=1e-14)
    left = stiffness @ modes.shapes
    right = mass @ modes.shapes * modes.frequencies[None, :] ** 2
    np.testing.assert_allclose(left, right, atol=1e-12 * float(abs(stiffness).max()))
    # proportional damping: 2 zeta w = w^2 c/k
    np.testing.assert_allclose(
        modes.damping_ratios, modes.frequencies * 50 / 1e5 / 2, rtol=1e-12
    )
    complex_modes = jv.modes.damped_modes(system)
    np.testing.assert_allclose(
        complex_modes.damping_ratios[:3], modes.damping_ratios, rtol=1e-11
    )
    assert np.all(np.isnan(complex_modes.values[3:]))


@pytest.mark.parametrize("damping", [0.3, 2.0, 5.0])
def test_a_damped_oscillator_has_the_roots_of_its_quadratic(damping):
    system = jv.assemble([spring("ground", "a", mass=1.0, stiffness=1.0, damping=damping)])
    modes = jv.modes.damped_modes(system)
    roots = np.roots([1.0, damping, 1.0])
    expected = sorted(roots[roots.imag >= 0], key=abs)
    found = np.asarray(modes.values)[: len(expected)]
    # a double root moves by the square root of rounding
    np.testing.assert_allclose(found, expected, rtol=1e-7 if damping == 2 else 1e-14)


@pytest.mark.parametrize("damping", [0.1, 500.0])
def test_two_free_bodies_move_together_without_a_damping_ratio(damping):
    masses, stiffness = (1.7, 0.3), 3e4
    pair = spring("a", "b", mass=masses[1], stiffness=stiffness, damping=damping)
    free = jv.assemble([jv.PointMass("a", masses[0]), pair])
    for system in (free, jv.LinearSystem(*free.matrices())):
        found = jv.modes.damped_modes(system)
        reduced = masses[0] * masses[1] / sum(masses)
        roots = np.roots([reduced, damping, stiffness])
        expected = [0, 0, *sorted(roots[roots.imag >= 0], key=abs)]
        np.testing.assert_allclose(found.values[: len(expected)], expected, rtol=1e-12)
        ratios = [np.nan, np.nan, *(-x.real / abs(x) for x in expected[2:])]
        np.testing.assert_allclose(found.damping_ratios[: len(ratios)], ratios, rtol=1e-9)
        np.testing.assert_allclose(found.shapes[:, :2], 1.0, rtol=1e-12)


def test_free_chains_have_one_motion_without_strain_each():
    for seed in range(20):
        random = np.random.default_rng(seed)
        names = [f"b{i}" for i in range(int(random.integers(2, 6)))]
        damping = 10 ** random.uniform(-2, 5)  # up to 1e9 times as fast as the slowest
        links = [
            spring(a, b, mass=10 ** random.uniform(-3, 1), damping=damping,
                   stiffness=10 ** random.uniform(2, 6))
            for a, b in itertools.pairwise(names)
        ]  # fmt: skip
        chain = jv.assemble([jv.PointMass(names[0], 1.0), *links])
        found = jv.modes.damped_modes(chain)
        values, ratios = np.asarray(found.values), np.asarray(found.damping_ratios)
        assert np.sum(values == 0) == 2 * int(jv.natural_modes(chain).rigid) == 2
        assert np.all(ratios[2:][np.isfinite(values[2:])] > 0)


def test_what_only_dampers_hold_stays_where_it_is():
    found = jv.modes.damped_modes(jv.LinearSystem([[2.0]], [[3.0]], [[0.0]]))
    np.testing.assert_allclose(found.values, [0.0, -1.5], rtol=1e-15)
    np.testing.assert_allclose(found.damping_ratios, [np.nan, 1.0])


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_random_networks_agree_with_scipy(seed):
    rng = np.random.default_rng(seed)
    names = [f"b{i}" for i in range(6)]
    modules = [jv.PointMass(n, m) for n, m in zip(names, rng.uniform(1, 9, 6), strict=True)]
    for _ in range(12):
        a, b = rng.choice([*names, "ground"], 2, replace=False)
        modules.append(jv.Spring(str(a), str(b), stiffness=rng.uniform(1, 1e3)))
    system = jv.assemble(modules)
    squares = scipy.linalg.eigh(system.stiffness, system.mass, eigvals_only=True)
    found = np.asarray(jv.natural_frequencies(system))
    np.testing.assert_allclose(found**2, squares, rtol=0, atol=1e-12 * squares[-1])


def test_slow_motions_keep_their_digits_beside_fast_ones():
    # a slow mass on a stiff pair: 1 rad/s to rounding, beside 1e6 rad/s
    system = jv.assemble(
        [
            spring("ground", "slow", mass=1.0, stiffness=1.0),
            jv.PointMass("a", 1e-6),
            jv.PointMass("b", 1e-6),
            jv.Spring("a", "b", stiffness=1e9),
            jv.Spring("ground", "a", stiffness=2e-6),
        ]
    )
    found = np.asarray(jv.natural_frequencies(system))
    np.testing.assert_allclose(found[:2], 1.0, rtol=1e-8)


def test_frequencies_can_be_mapped_and_differentiated():
    system = chain_between_walls(count=3)
    path = "modules.ground-mass1.stiffness"

    def frequencies(stiffness):
        return jv.natural_frequencies(jv.replace(system, {path: stiffness}))

    values = jnp.array([0.0, 0.7e5, 1e5])
    many = jax.jit(jax.vmap(frequencies))(values)
    np.testing.assert_allclose(many, [frequencies(v) for v in values], rtol=1e-13)
    forward = jax.jit(jax.jacfwd(frequencies))
    for value in (0.0, 1e5):  # no stiffness has a slope too
        modes = jv.natural_modes(jv.replace(system, {path: value}))
        expected = modes.shapes[0] ** 2 / (2 * modes.frequencies)
        np.testing.assert_allclose(forward(value), expected, rtol=1e-10)
    reverse = jax.jit(jax.jacrev(frequencies))(1e5)
    np.testing.assert_allclose(reverse, forward(1e5), rtol=1e-12)
    curve = jax.jit(jax.jacfwd(jax.jacfwd(frequencies)))(1e5)
    step = 1e2
    difference = (forward(1e5 + step) - forward(1e5 - step)) / (2 * step)
    np.testing.assert_allclose(curve, difference, rtol=1e-5)


def test_a_place_that_is_not_there_is_named():
    system = chain_between_walls(count=3)
    with pytest.raises(ValueError, match="degree of freedom 'mass9'; did you mean 'mass"):
        jv.frequency_response(system, [1.0], force="mass9")
    with pytest.raises(ValueError, match=r"freedom 3 is not in \[0, 3\)"):
        jv.frequency_response(system, [1.0], force=3)
    with pytest.raises(ValueError, match="no names"):
        jv.frequency_response(
            jv.LinearSystem(np.eye(1), np.eye(1), np.eye(1)), [1.0], force="a"
        )


def linear(stiffness, mass=None):
    stiffness = np.asarray(stiffness, float)
    mass = np.eye(len(stiffness)) if mass is None else mass
    return jv.LinearSystem(mass, 0 * stiffness, stiffness)


FLUTTER = [[2.0, 0.9], [-0.9, 3.0]]


@pytest.mark.parametrize("modes", [jv.natural_frequencies, jv.natural_modes])
def test_a_system_that_may_flutter_has_no_natural_modes(modes):
    system = linear(FLUTTER)
    with pytest.raises(ValueError, match=r"\[0, 1\] = 0.9 .*= -0.9.*`damped_modes`"):
        modes(system)
    with pytest.raises(ValueError, match="`damped_modes`"):
        modes(jv.ImpactSystem(system))
    values = np.asarray(jv.modes.damped_modes(system).values)[
        :2
    ]  # lambda^2 = -2.5 +- i sqrt .56
    np.testing.assert_allclose(values**2, [-2.5 + 1j * 0.56**0.5, -2.5 - 1j * 0.56**0.5])


def test_a_traced_system_that_may_flutter_has_nan():
    def frequencies(stiffness):
        return jv.natural_frequencies(
            jv.replace(linear(np.eye(2)), {"stiffness": stiffness})
        )

    symmetric = np.array([[2.0, 0.9], [0.9, 3.0]])
    found = jax.jit(jax.vmap(frequencies))(np.stack([symmetric, np.array(FLUTTER)]))
    np.testing.assert_allclose(found[0] ** 2, np.linalg.eigvalsh(symmetric), rtol=1e-14)
    assert np.isnan(found[1]).all()
    slopes = jax.jit(jax.jacfwd(frequencies))(symmetric)
    shapes = np.linalg.eigh(symmetric)[1]
    expected = np.einsum("im,jm->mij", shapes, shapes) / (2 * found[0])[:, None, None]
    np.testing.assert_allclose(slopes, expected, rtol=1e-12)


@settings(max_examples=30)
@given(
    units=st.lists(st.floats(1e-9, 1e9), min_size=3, max_size=3),
    mass=st.floats(1e-12, 1e12),
    off=st.sampled_from([0.0, 1e-9, 1.0]),
)
def test_symmetry_is_judged_whatever_the_freedoms_are_measured_in(units, mass, off):
    asymmetry = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    one = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    scale = mass * np.outer(units, units)
    heavy, stiff = scale * one, 1e6 * scale * (one + off * asymmetry)
    stiff = stiff + stiff * 1e-15 * np.array([[0, 1, 0], [0, 0, -1], [0, 0, 0]])  # rounding
    if off:
        with pytest.raises(ValueError, match="mass is not a symmetric positive definite"):
            linear(one, scale * (one + off * asymmetry))
        with pytest.raises(ValueError, match="stiffness is not a symmetric matrix"):
            jv.natural_frequencies(linear(stiff, heavy))
    else:
        found = jv.natural_frequencies(linear(stiff, heavy))
        np.testing.assert_allclose(found, 1e3, rtol=1e-13)


def test_a_mass_matrix_is_judged_by_its_own_size():
    for mass in ([[1e-9, 5e-10], [0.0, 1e-9]], [[1e-9, 1e-9], [1e-9, 1e-9]],
                 [[1e9, 0.0], [0.0, -1e-9]], [[0.0, 0.0], [0.0, 1.0]]):  # fmt: skip
        with pytest.raises(ValueError, match="mass is not a symmetric positive definite"):
            linear(np.eye(2), np.array(mass))
    small = linear(1e-12 * np.eye(2), np.array([[1e-9, 5e-10], [5e-10, 1e-9]]))
    np.testing.assert_allclose(
        jv.natural_frequencies(small), np.sqrt([1e-3 / 1.5, 1e-3 / 0.5]), rtol=1e-14
    )


def test_a_system_without_matrices_or_modules_says_so():
    forced = jv.forced_system(lambda t, x, p: -x, parameters={}, period=1.0, dimension=1)
    with pytest.raises(ValueError, match="ForcedSystem has no mass, damping"):
        linear_part(forced)
    with pytest.raises(ValueError, match="LinearSystem is not an assembly"):
        jv.modes.energy_shares(linear(np.eye(2)))


SINE = jv.FunctionLaw(lambda e, rate, p: p["k"] * jnp.sin(e) + p["c"] * jnp.sinh(rate),
                      {"k": 3.0, "c": 0.4})  # fmt: skip


@pytest.mark.parametrize(
    ("law", "stiffness", "damping"),
    [
        (jv.PolynomialLaw([5.0, 40.0, 1e6]), 5.0, 0.0),
        pytest.param(jv.PolynomialDamperLaw([0.7, 3.0]), 0.0, 0.7, marks=pytest.mark.slow),
        pytest.param(
            jv.PiecewiseLinearLaw([2.0, 9.0], breaks=[0.1]),
            2.0,
            0.0,
            marks=pytest.mark.slow,
        ),
        (SINE, 3.0, 0.4),
    ],
)
def test_springs_of_other_laws_count_by_their_slopes(law, stiffness, damping):
    tower = jv.assemble([spring("ground", "a", mass=2.0, stiffness=7.0, damping=0.3),
                         spring("a", "b", mass=1.0, stiffness=4.0)])  # fmt: skip
    along = np.array([-1.0, 1.0])
    bent = jv.ImpactSystem(tower, springs=(jv.NonlinearSpring(along, law),))
    mass, lossy, stiff = map(np.asarray, tower.matrices())
    square = np.outer(along, along)
    stiff, lossy = stiff + stiffness * square, lossy + damping * square
    expected = np.sqrt(scipy.linalg.eigvalsh(stiff, mass))
    np.testing.assert_allclose(jv.natural_frequencies(bent), expected, rtol=1e-12)
    np.testing.assert_allclose(jv.modes.lowest_frequencies(bent, 1), expected[:1], 1e-12)
    np.testing.assert_allclose(jv.natural_modes(bent).frequencies, expected, rtol=1e-12)
    response = jv.frequency_response(bent, 1.3, force="a")
    dynamic = stiff - 1.3**2 * mass + 1.3j * lossy
    np.testing.assert_allclose(response, np.linalg.inv(dynamic)[:, 0], rtol=1e-12)
    noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    same = jv.LinearSystem(mass, lossy, stiff)
    covariance = jv.response_covariance(bent, noise, [0.0, 1.0])
    straight = jv.response_covariance(same, noise, [0.0, 1.0])
    np.testing.assert_allclose(covariance, straight, rtol=1e-9, atol=1e-16)


def test_slopes_of_springs_have_derivatives():
    def lowest(slope):
        law = jv.PolynomialLaw(jnp.stack([slope, slope]))
        springs = (jv.NonlinearSpring([1.0], law),)
        free = jv.LinearSystem([[2.0]], [[0.0]], [[0.0]])
        return jv.natural_frequencies(jv.ImpactSystem(free, springs=springs))[0]

    np.testing.assert_allclose(jax.jit(jax.grad(lowest))(8.0), 0.125, rtol=1e-12)


@pytest.mark.parametrize(
    ("law", "loads", "message"),
    [
        (jv.PiecewiseLinearLaw([2.0, 9.0], breaks=[0.0]), (), "no slope at the unstrained"),
        (jv.FunctionLaw(lambda e, rate, p: p["a"] * jnp.abs(e) ** 0.5, {"a": 1.0}), (),
         "spring 0: its law has no slope"),
        (jv.PolynomialLaw([1.0, 0.0, 1.0]), (jv.AppliedLoad([1.0], jv.ConstantLoad(2.0)),),
         "constant loads strain springs"),
    ],
)  # fmt: skip
def test_springs_without_a_slope_are_refused(law, loads, message):
    free = jv.LinearSystem([[2.0]], [[0.1]], [[3.0]])
    springs = (jv.NonlinearSpring([1.0], law),)
    with pytest.raises(ValueError, match=message):
        jv.natural_frequencies(jv.ImpactSystem(free, loads=loads, springs=springs))
