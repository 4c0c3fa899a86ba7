"""Checked against: textbook equations, the paper, NLEVP, VPCS SDLL04, finite elements."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from finite_elements import eigenvalues
from scipy.optimize import brentq

import jaxvib as jv

KINDS = ("clamped", "hinged", "sliding", "free")
FEW_ENDS = [
    ("clamped", "free"), ("hinged", "hinged"), ("sliding", "sliding"), ("free", "free"),
]  # fmt: skip
PAPER_BEAM = jv.Beam(1.0, 0.675, 7e10 * 5.20833e-10, ("clamped", "free"))


def given(**fields):
    return fields


def paper_system(mass=0.1):
    return jv.BeamWithBodies(
        PAPER_BEAM, [0.1, 0.5, 0.9], [0.1] * 3, [0.1] * 3, np.eye(3), mass * np.eye(3)
    )


def textbook_wave_numbers(ends, count):
    """Roots of the bare beam's equation, scaled by 1 / cosh so that it never overflows."""
    pair = frozenset(ends)

    def sech(x):
        return 2 * np.exp(-x) / (1 + np.exp(-2 * x))

    equations = {
        frozenset({"clamped"}): lambda x: np.cos(x) - sech(x),
        frozenset({"free"}): lambda x: np.cos(x) - sech(x),
        frozenset({"clamped", "free"}): lambda x: np.cos(x) + sech(x),
        frozenset({"clamped", "hinged"}): lambda x: np.sin(x) - np.cos(x) * np.tanh(x),
        frozenset({"free", "hinged"}): lambda x: np.sin(x) - np.cos(x) * np.tanh(x),
        frozenset({"clamped", "sliding"}): lambda x: np.sin(x) + np.cos(x) * np.tanh(x),
        frozenset({"free", "sliding"}): lambda x: np.sin(x) + np.cos(x) * np.tanh(x),
        frozenset({"hinged"}): np.sin,
        frozenset({"sliding"}): np.sin,
        frozenset({"hinged", "sliding"}): np.cos,
    }
    equation = equations[pair]
    grid = np.arange(0.3, np.pi * (count + 2), 0.5)
    signs = np.sign(equation(grid))
    brackets = np.flatnonzero(signs[1:] * signs[:-1] < 0)[:count]
    return np.array([brentq(equation, grid[i], grid[i + 1], xtol=1e-14) for i in brackets])


@pytest.mark.parametrize(
    "ends",
    [
        # 200 modes take more than a second; the fast pairs have every end
        pytest.param(pair, marks=() if pair in FEW_ENDS else pytest.mark.slow)
        for pair in itertools.combinations_with_replacement(KINDS, 2)
    ],
)
def test_first_200_modes_of_a_bare_beam(ends):
    modes = jv.beam_eigenvalues(jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0, ends)), count=200)
    rigid = int(np.sum(modes.values == 0))
    assert bool(modes.certified)
    held = sum({"clamped": 2, "hinged": 1, "sliding": 1, "free": 0}[end] for end in ends)
    # a beam that can shift and turn has 4 roots at 0, one that can do either has 2
    assert rigid == (0 if held >= 2 and set(ends) != {"sliding"} else 4 - 2 * (held > 0))
    expected = textbook_wave_numbers(ends, 200 - rigid) ** 2
    np.testing.assert_allclose(modes.values[rigid:].imag, expected, rtol=1e-12)
    assert np.all(np.abs(modes.values.real) <= 1e-12 * np.abs(modes.values))


def test_the_paper_s_example_to_every_printed_digit():
    modes = jv.beam_eigenvalues(paper_system(), radius=5000.0)
    assert bool(modes.certified)
    assert len(modes.values) == 11
    assert np.round(complex(modes.values[3]), 3) == -0.255 + 25.839j
    assert np.round(complex(modes.values[4]), 3) == -0.235 + 161.938j
    np.testing.assert_allclose(modes.values[:3].imag, 0.866, atol=5e-4)


@pytest.mark.slow  # compiles a beam with one damper, 3 s
def test_the_hinged_beam_with_a_damper_of_nlevp_and_slepc():
    beam = jv.Beam(1.0, 0.674, 7e10 * 0.05 * 0.005**3 / 12, ("hinged", "hinged"))
    system = jv.BeamWithBodies(beam, [0.5], [0.0], [5.0])
    modes = jv.beam_eigenvalues(system, count=20)
    assert bool(modes.certified)
    assert np.round(complex(modes.values[0]), 5) == -7.42298 + 72.23065j
    # the damper stands in a node of every second mode
    even = modes.values[1::2]
    np.testing.assert_allclose(even.real, 0.0, atol=1e-9)
    bare = (2 * np.pi * np.arange(1, 11)) ** 2 * np.sqrt(
        beam.bending_stiffness / beam.mass_per_length
    )
    np.testing.assert_allclose(even.imag, bare, rtol=1e-13)


def test_vpcs_sdll04_a_sprung_mass_on_a_hinged_beam():
    beam = jv.Beam(10.0, 78.0, 7.8e5, ("hinged", "hinged"))
    mass = 0.01 * 780.0
    stiffness = mass * (np.pi / 10) ** 4 * 7.8e5 / 78.0
    system = jv.BeamWithBodies(beam, [2.5], [stiffness], [0.0], [[1.0]], [[mass]])
    hertz = np.asarray(jv.beam_eigenvalues(system, count=3).values.imag) / (2 * np.pi)
    np.testing.assert_array_equal(np.round(hertz, 4), [1.4937, 1.6506, 6.2874])


def test_a_cantilever_with_a_tip_mass_as_heavy_as_itself():
    system = jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0), [1.0], [0.0], link_inertance=[1.0])
    roots = np.sqrt(jv.beam_eigenvalues(system, count=3).values.imag)
    np.testing.assert_allclose(roots, [1.24791741, 4.03113944, 7.13413224], atol=5e-9)


CASES = {
    f"oscillators on {left}-{right}": (
        given(ends=(left, right), positions=[0.2, 0.55, 0.9], stiffness=[3.0, 200.0, 50.0],
             damping=[0.1, 0.5, 0.0], link_map=np.eye(3), mass=np.diag([0.1, 2.0, 0.3])))
    for left, right in itertools.product(KINDS, KINDS)
}  # fmt: skip
CLAMPED = ("clamped", "free")
CASES |= {
    "rigid body on two links": given(
        ends=("hinged", "hinged"), positions=[0.3, 0.6], stiffness=[50.0, 80.0],
        damping=[0.3, 0.1], link_map=[[1.0, -0.15], [1.0, 0.15]],
        mass=np.diag([0.7, 0.01])),
    "nearly rigid links": given(
        ends=CLAMPED, positions=[0.3, 1.0], stiffness=[1e6, 1e6], damping=[0.0, 0.0],
        link_map=np.eye(2), mass=np.diag([0.7, 0.2])),
    "chain with one link": given(
        ends=CLAMPED, positions=[0.7], stiffness=[30.0], damping=[0.2],
        link_map=[[1.0, 0.0, 0.0]], mass=np.eye(3),
        body_stiffness=10 * np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])),
    "tied to the ground": given(
        ends=CLAMPED, positions=[0.4], stiffness=[30.0], damping=[0.2], link_map=[[1.0]],
        mass=[[0.5]], body_stiffness=[[7.0]], body_damping=[[0.3]]),
    "coincident links": given(
        ends=CLAMPED, positions=[0.5, 0.5, 0.5], stiffness=[10.0] * 3, damping=[0.1] * 3,
        link_map=np.eye(3), mass=np.diag([1.0, 1.1, 1.2])),
    "at both ends": given(
        ends=("free", "free"), positions=[0.0, 1.0], stiffness=[10.0, 5.0],
        damping=[0.1, 0.1], link_map=np.eye(2), mass=np.diag([1.0, 0.5])),
    "at a clamped end": given(
        ends=CLAMPED, positions=[0.0, 0.4], stiffness=[10.0, 5.0], damping=[0.1, 0.1],
        link_map=np.eye(2), mass=np.diag([1.0, 0.5])),
    "overdamped": given(
        ends=CLAMPED, positions=[0.4, 0.9], stiffness=[3.0, 5.0], damping=[40.0, 9.0],
        link_map=np.eye(2), mass=np.diag([1.0, 0.5])),
    "gyroscopic": given(
        ends=CLAMPED, positions=[0.5, 0.8], stiffness=[10.0] * 2, damping=[0.1] * 2,
        link_map=np.eye(2), mass=np.eye(2), body_damping=[[0.0, 5.0], [-5.0, 0.0]]),
    "massless node": given(
        ends=CLAMPED, positions=[0.5, 0.8], stiffness=[10.0] * 2, damping=[0.1] * 2,
        link_map=np.eye(2), mass=np.diag([1.0, 0.0]),
        body_stiffness=[[1.0, -1.0], [-1.0, 1.0]]),
    "active coupling": given(
        ends=CLAMPED, positions=[0.5, 0.8], stiffness=[10.0] * 2, damping=[0.0] * 2,
        link_map=np.eye(2), mass=np.eye(2), coupling=[[3.0, 1.0], [0.0, -2.0]]),
    "lumped masses": given(
        ends=("hinged", "free"), positions=[0.5, 1.0], stiffness=[0.0] * 2,
        damping=[0.0] * 2, inertance=[0.6, 0.2]),
    "lumped inertia": given(
        ends=CLAMPED, positions=[0.6, 1.0], stiffness=[0.0] * 2, damping=[0.0] * 2,
        inertance=[0.05, 0.02], turns=[True, True]),
    "rotational links": given(
        ends=CLAMPED, positions=[0.5, 0.8], stiffness=[10.0] * 2, damping=[0.1] * 2,
        link_map=np.eye(2), mass=np.diag([0.1, 2.0]), turns=[True, False]),
    "springs and dampers to the ground": given(
        ends=("sliding", "free"), positions=[0.2, 0.8], stiffness=[30.0, 500.0],
        damping=[2.0, 0.0]),
    "free beam held by a damper": given(
        ends=("free", "free"), positions=[0.3], stiffness=[0.0], damping=[3.0]),
}  # fmt: skip


def system_of(case):
    return jv.BeamWithBodies(
        jv.Beam(1.0, 1.0, 1.0, case["ends"]),
        case["positions"],
        case["stiffness"],
        case["damping"],
        case.get("link_map"),
        case.get("mass"),
        case.get("body_damping"),
        case.get("body_stiffness"),
        case.get("coupling"),
        None,
        case.get("inertance"),
        case.get("turns"),
    )


# these need a compiled form of their own
COMPILED_ALONE = ("lumped inertia", "rotational links", "active coupling")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in COMPILED_ALONE)) for n in CASES],
)
def test_eigenvalues_are_those_of_finite_elements(name):
    case = CASES[name]
    modes = jv.beam_eigenvalues(system_of(case), count=10)
    assert bool(modes.certified)
    assert np.max(modes.residuals) < 1e-13
    elements = eigenvalues(**case, elements=6, degree=11)[:10]
    zeros = int(np.sum(modes.values == 0))
    ours = np.asarray(modes.values[zeros:])
    theirs = elements[np.abs(elements) > 1e-4][: len(ours)]
    nearest = np.min(np.abs(ours[:, None] - theirs) / np.abs(ours[:, None]), axis=1)
    # two values of the same modulus may come in either order at the end of the list
    np.testing.assert_array_less(nearest, 1e-8)
    ours, theirs = (v[np.lexsort((v.real, np.round(v.imag, 6)))] for v in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("side", [0, 1])
def test_elastic_supports(side):
    ends = ["free", "free"]
    ends[1 - side] = "hinged"
    theirs = eigenvalues(ends, supports=[(float(side), 40.0, 3.0)], elements=6, degree=11)
    ends[side] = jv.ElasticSupport(40.0, 3.0)
    beam = jv.Beam(1.0, 1.0, 1.0, ends)
    modes = jv.beam_eigenvalues(jv.BeamWithBodies(beam), count=6)
    assert bool(modes.certified)
    np.testing.assert_allclose(modes.values.imag, theirs[:6].imag, rtol=1e-9)


def test_a_critically_damped_body_is_listed_twice():
    # at the clamped end it never feels the beam: (lambda + 1)^2 = 0
    system = jv.BeamWithBodies(PAPER_BEAM, [0.0], [0.1], [0.2], [[1.0]], [[0.1]])
    modes = jv.beam_eigenvalues(system, count=4)
    assert bool(modes.certified)
    np.testing.assert_allclose(modes.values[:2], -1.0, rtol=1e-12)
    np.testing.assert_array_equal(modes.multiplicities, [2, 2, 1, 1])


@pytest.mark.slow  # compiles the same shapes
def test_mode_shapes_fulfil_the_body_s_equation_and_the_ends():
    system = paper_system()
    modes = jv.beam_eigenvalues(system, radius=5000.0)
    at_links = modes.shape(system.positions)
    values = modes.values[:, None]
    link = 0.1 + 0.1 * values
    residual = values**2 * 0.1 * modes.bodies + link * (modes.bodies - at_links)
    np.testing.assert_allclose(residual, 0.0, atol=1e-9 * np.abs(link * at_links).max())
    shapes = modes.shape(np.linspace(0.0, 1.0, 401))
    np.testing.assert_allclose(shapes[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.max(np.abs(shapes), axis=1), 1.0, atol=1e-4)


@pytest.mark.slow  # compiles values and their derivatives, 13 s
def test_derivatives_of_values_and_shapes_are_differences():
    system = paper_system()
    system = jv.replace(system, {"mass": np.diag([0.1, 0.05, 0.02])})

    @jax.jit
    def put(positions, stiffness):
        return jv.replace(system, {"positions": positions, "link_stiffness": stiffness})

    def values(positions, stiffness):
        return jv.beam_eigenvalues(put(positions, stiffness), count=5).values

    positions, stiffness = jnp.array([0.1, 0.5, 0.9]), jnp.array([0.1, 0.1, 0.1])
    by_position, by_stiffness = jax.jacfwd(values, (0, 1))(positions, stiffness)
    assert by_position.shape == (5, 3)
    step = jnp.array([0.0, 1e-5, 0.0])
    difference = values(positions + step, stiffness) - values(positions - step, stiffness)
    np.testing.assert_allclose(by_position[:, 1], difference / 2e-5, rtol=1e-6, atol=1e-7)
    difference = values(positions, stiffness + step) - values(positions, stiffness - step)
    np.testing.assert_allclose(by_stiffness[:, 1], difference / 2e-5, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (given(positions=[1.5], link_stiffness=[1.0]), "positions = 1.5 m is not in"),
        (given(positions=[0.5], link_stiffness=[1.0, 2.0]), "link_stiffness has shape"),
        (given(positions=[0.5], link_stiffness=[np.nan]), "link_stiffness = nan N/m"),
    ],
)
def test_bad_systems_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        jv.BeamWithBodies(PAPER_BEAM, **arguments)


def test_bad_ends_and_counts_are_named():
    with pytest.raises(ValueError, match="'pinned' is not one of clamped"):
        jv.Beam(1.0, 1.0, 1.0, ("pinned", "free"))
    with pytest.raises(ValueError, match="count = 0"):
        jv.beam_eigenvalues(paper_system(), count=0)
    with pytest.raises(ValueError, match="radius = -1"):
        jv.beam_eigenvalues(paper_system(), radius=-1)
