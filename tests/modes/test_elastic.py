"""Checked against: exact modes of a cantilever; finite elements; static solutions."""

import itertools

import jax
import numpy as np
import pytest

import jaxvib as jv
from tests.modal_cantilever import cantilever_frequencies

CANTILEVER = jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0))


def test_a_cantilever_has_its_exact_modes_and_residual_flexibility():
    found = jv.elastic_structure(CANTILEVER, 3, {"tip": 1.0})
    exact = cantilever_frequencies(3)
    np.testing.assert_allclose(found.frequencies, exact, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.direction("tip")), 2.0, rtol=1e-11)
    residual = 1 / 3 - np.sum(4 / exact**2)
    truncation = found.truncation("tip", contact_stiffness=1e3)
    np.testing.assert_allclose(truncation.residual, residual, rtol=1e-8)
    np.testing.assert_allclose(truncation.of_structure, 3 * residual, rtol=1e-8)
    np.testing.assert_allclose(truncation.of_contact, 1e3 * residual, rtol=1e-8)


def elements(count: int, *others) -> jv.systems.Assembled:
    """Return a clamped beam of unit length in finite elements, with other modules."""
    names = ["ground", *(f"n{k}" for k in range(1, count + 1))]
    pairs = itertools.pairwise(names)
    beams = [
        jv.BeamModule(*pair, length=1 / count, bending_stiffness=1.0, mass_per_length=1.0)
        for pair in pairs
    ]
    return jv.assemble([*beams, *others])


@pytest.mark.slow  # compiles a beam with bodies, 30 s
def test_a_beam_with_bodies_agrees_with_finite_elements():
    # An oscillator on a spring, a lumped mass and a rotary inertia.
    beam = jv.BeamWithBodies(
        jv.Beam(1.0, 1.0, 1.0),
        positions=[0.4, 1.0, 1.0],
        link_stiffness=[50.0, 0.0, 0.0],
        link_map=[[1.0], [0.0], [0.0]],
        mass=[[0.3]],
        link_inertance=[0.0, 0.2, 0.05],
        turns=[False, False, True],
    )
    found = jv.elastic_structure(beam, 5, {"tip": 1.0, "ball": "body.0", "inner": 0.6})
    parts = [
        jv.Spring("n8.y", "ball", stiffness=50.0),
        jv.PointMass("ball", mass=0.3),
        jv.PointMass("n20.y", mass=0.2),
        jv.PointInertia("n20.angle", inertia=0.05),
    ]
    points = {"tip": "n20.y", "ball": "ball", "inner": "n12.y"}
    other = jv.elastic_structure(elements(20, *parts), 5, points)
    np.testing.assert_allclose(found.frequencies, other.frequencies, rtol=2e-5)
    np.testing.assert_allclose(np.abs(found.shapes), np.abs(other.shapes), atol=2e-4)

    def static(structure):
        seen = structure.shapes / structure.frequencies[None]
        return seen @ seen.T + structure.residual

    # Cubic elements are exact under forces at their nodes.
    np.testing.assert_allclose(static(found), static(other), rtol=1e-8)


def test_the_residual_of_matrices_is_the_static_solution_less_the_modes():
    source = elements(6)
    found = jv.elastic_structure(source, 3, {"pair": {"n6.y": 1.0, "n3.y": -1.0}})
    along = source.direction({"n6.y": 1.0, "n3.y": -1.0})
    static = along @ np.linalg.solve(source.stiffness, along)
    kept = np.sum((found.direction("pair") / found.frequencies) ** 2)
    np.testing.assert_allclose(found.residual[0, 0], static - kept, rtol=1e-8)


def test_all_modes_of_matrices_give_the_same_motion():
    source = jv.assemble([
        jv.TranslationTranslation("ground", "a", mass=2.0, stiffness=9.0, damping=0.09),
        jv.TranslationTranslation("a", "b", mass=1.0, stiffness=4.0, damping=0.04),
    ])  # fmt: skip
    structure = jv.elastic_structure(source, 2)
    assert structure.names == ("a", "b")
    law, push = jv.HertzContact(200.0), jv.HarmonicLoad(1.0, 1.5)

    def motion(linear):
        stop = jv.Contact(linear.direction({"b": 1.0, "a": -1.0}), 0.1, law)
        load = jv.AppliedLoad(linear.direction("b"), push)
        system = jv.ImpactSystem(linear, [stop], [load])
        return jv.flow(system, system.rest(), 0.0, 12.0)

    modal = structure.displacements(motion(structure))
    np.testing.assert_allclose(modal, motion(source)[:2], rtol=1e-8)


def stop_stiffness(length, bending_stiffness):
    beam = jv.BeamWithBodies(jv.Beam(length, 1.0, bending_stiffness))
    structure = jv.elastic_structure(beam, 3, {"tip": length})
    return structure.stop("tip", 0.0).law.stiffness


@pytest.mark.slow  # compiles derivatives of a beam's modes, 30 s
def test_derivatives_by_the_beam_follow_its_scaling():
    stiffness, slopes = jax.value_and_grad(stop_stiffness, (0, 1))(2.0, 3.0)
    np.testing.assert_allclose(slopes[0], -3 * stiffness / 2.0, rtol=1e-7)
    np.testing.assert_allclose(slopes[1], stiffness / 3.0, rtol=1e-7)


@pytest.mark.slow  # compiles an orbit and its derivatives
def test_an_orbit_depends_on_frequencies_damping_and_gap():
    structure = jv.elastic_structure(CANTILEVER, 3, {"tip": 1.0}, damping_ratio=0.05)
    stop = structure.stop("tip", gap=0.02, stiffness=50.0)
    load = jv.AppliedLoad(structure.direction("tip"), jv.HarmonicLoad(0.05, 3.3))
    system = jv.ImpactSystem(structure, [stop], [load])

    def tip(value, path):
        moved = jv.replace(system, {path: value})
        orbit = jv.periodic_orbit(moved)
        return moved.linear.displacements(orbit.state)[0]

    frequency = float(structure.frequencies[1])
    for path, value in (
        ("linear.frequencies.1", frequency),
        ("linear.damping_ratio", 0.05),
        ("contacts.tip.gap", 0.02),
    ):
        slope = jax.grad(tip)(value, path)
        ahead, behind = (tip(value * (1 + h), path) for h in (1e-4, -1e-4))
        np.testing.assert_allclose(slope, (ahead - behind) / (2e-4 * value), rtol=1e-5)


def test_rayleigh_damping_has_its_modal_ratios():
    found = jv.elastic_structure(
        CANTILEVER, 3, {"tip": 1.0}, mass_damping=0.2, stiffness_damping=1e-3
    )
    ratios = 0.1 / found.frequencies + 0.5e-3 * found.frequencies
    np.testing.assert_allclose(jv.natural_modes(found).damping_ratios, ratios, rtol=1e-12)


@pytest.mark.slow  # compiles beams with other dampers, 15 s
def test_dampers_of_the_source_are_kept_only_if_modes_stay_uncoupled():
    spring = jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=4.0, damping=0.4)
    other = jv.TranslationTranslation("a", "b", mass=1.0, stiffness=1.0, damping=0.1)
    kept = jv.elastic_structure(jv.assemble([spring, other]), 2)
    expected = jv.natural_modes(jv.assemble([spring, other])).damping_ratios
    np.testing.assert_allclose(kept.damping_ratio, expected, rtol=1e-12)
    coupled = jv.replace(jv.assemble([spring, other]), {"modules.a-b.damping": 0.3})
    with pytest.raises(ValueError, match="damping couples modes"):
        jv.elastic_structure(coupled, 2)
    jv.elastic_structure(coupled, 2, damping_ratio=0.01)
    damped = jv.oscillators_on_beam(jv.Beam(1.0, 1.0, 1.0), [0.5], [0.1], [5.0], [0.1])
    with pytest.raises(ValueError, match="dampers couple"):
        jv.elastic_structure(damped, 2, {"tip": 1.0})
    bare = jv.oscillators_on_beam(jv.Beam(1.0, 1.0, 1.0), [0.5], [0.1], [5.0])
    replaced = jv.elastic_structure(damped, 2, {"tip": 1.0}, damping_ratio=0.01)
    undamped = jv.elastic_structure(bare, 2, {"tip": 1.0})
    np.testing.assert_allclose(replaced.frequencies, undamped.frequencies, rtol=1e-12)


FLOATING = jv.LinearSystem(np.eye(3), np.zeros((3, 3)), np.diag([0.0, 0.0, 1.0]))
# Two modes share half of their slight damping, beside one with ten million times more.
SLIGHT = [[1e-4, 5e-5, 0.0], [5e-5, 1e-4, 0.0], [0.0, 0.0, 1e3]]
COUPLED = jv.LinearSystem(np.eye(3), SLIGHT, np.diag([1.0, 4.0, 1e8]))


@pytest.mark.parametrize(
    ("message", "make"),
    [
        ("modes = 0", lambda: jv.elastic_structure(CANTILEVER, 0, {"tip": 1.0})),
        (
            "modes = 1 leaves out a rigid-body mode",
            lambda: jv.elastic_structure(FLOATING, 1, {"a": [1.0, 0.0, 0.0]}),
        ),
        (
            "damping couples modes",
            lambda: jv.elastic_structure(COUPLED, 3, {"a": [1.0, 0.0, 0.0]}),
        ),
        ("tip = 2 m", lambda: jv.elastic_structure(CANTILEVER, 2, {"tip": 2.0})),
        ("points = None", lambda: jv.elastic_structure(CANTILEVER, 2)),
        ("body of point", lambda: jv.elastic_structure(CANTILEVER, 2, {"a": "body.0"})),
        ("modes = 9", lambda: jv.elastic_structure(elements(2), 9)),
        ("did you mean", lambda: jv.elastic_structure(elements(2), 2, ["n2.z"])),
        ("rigid-body", lambda: jv.elastic_structure(
            jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0, ends=("hinged", "free"))), 3,
            {"tip": 1.0})),
        ("residual = None",
         lambda: jv.ElasticStructure([1.0], [[1.0]], ["a"]).stop("a", 0)),
        ("shapes has shape", lambda: jv.ElasticStructure([1.0], [[1.0]], ["a", "b"])),
        ("names = ", lambda: jv.ElasticStructure([1.0], [[1.0], [1.0]], ["a", "a"])),
        ("at the stop", lambda: jv.elastic_structure(elements(1), 2).stop("n1.y", 0.0)),
        ("linear part", lambda: jv.elastic_structure(jv.ImpactSystem(elements(1)), 1)),
    ],
)  # fmt: skip
def test_bad_input_is_named(message, make):
    with pytest.raises(ValueError, match=message):
        make()
