"""Checked against: single spectra, finite elements, a determinant in 40 digits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from exact_determinant import errors
from finite_elements import eigenvalues

import jaxvib as jv
from jaxvib.modes.beams.certificate import missing_roots
from jaxvib.modes.beams.characteristic import dimensionless, mixing
from jaxvib.modes.beams.spectrum import certified_spectrum, padded

BEAM = jv.Beam(1.0, 1.0, 1.0, ("clamped", "free"))


def cantilever(sample):
    return jv.BeamWithBodies(
        BEAM,
        sample["positions"],
        sample["stiffness"],
        sample["damping"],
        np.eye(3),
        jnp.diag(sample["masses"]),
    )


def designs(number, seed=0):
    random = np.random.default_rng(seed)
    return {
        "positions": np.sort(random.uniform(0.05, 1.0, (number, 3)), axis=1),
        "stiffness": 10 ** random.uniform(-1, 3, (number, 3)),
        "damping": 10 ** random.uniform(-2, 0, (number, 3)),
        "masses": 10 ** random.uniform(-2, 0, (number, 3)),
    }


@pytest.mark.slow  # compiles the search for a batch, 20 s
def test_a_batch_is_certified_and_equals_finite_elements():
    samples = designs(100)
    samples["positions"][::2, 1] = samples["positions"][::2, 0]  # coincident links
    samples["damping"] = 10 ** (np.log10(samples["damping"]) * 2.75 + 1.5)  # to 1e-4
    spectra = jv.modes.beam_spectra(cantilever, samples, count=6)
    assert np.all(spectra.certified)
    assert np.all(spectra.result == 0)
    for i in range(0, 100, 9):
        sample = {name: values[i] for name, values in samples.items()}
        expected = eigenvalues(
            ("clamped", "free"), sample["positions"], sample["stiffness"],
            sample["damping"], np.eye(3), np.diag(sample["masses"]), elements=3, degree=11,
        )[:6]  # fmt: skip
        np.testing.assert_allclose(spectra.values[i], expected, rtol=1e-8)


@mixing
def spectrum(system):
    return certified_spectrum(dimensionless(system), 10, None)


@mixing
def scaled(system):
    return padded(jax.tree.map(np.asarray, dimensionless(system)))


def test_the_certificate_turns_false_when_a_root_is_dropped_doubled_or_faked():
    sample = {name: values[0] for name, values in designs(1).items()}
    found = spectrum(cantilever(sample))
    system = scaled(cantilever(sample))
    both = np.concatenate([found.values, found.values.conj()])
    radius = found.radius

    @mixing
    def missing(known):
        return missing_roots(system, radius, known)

    assert found.within == 10
    assert missing(both) == 0
    assert missing(np.delete(both, [4, 14])) == 2
    assert missing(np.append(both, [both[2], both[12]])) == -2
    assert missing(np.append(both, [-3.0 + 0j])) == -1


def test_a_slow_motion_is_not_taken_for_one_at_zero():
    # a hinged beam turns freely; the body's own rotation is held by soft springs alone
    # and by a strong damper, which makes it creep
    places, soft = np.array([0.74, 0.6, 0.7]), [0.0345, 556084.7, 0.01745]
    dampers = [0.00776, 0.02736, 37.646]
    map_to_links = np.stack([np.ones(3), places - places.mean()], axis=1)
    arguments = (places, soft, dampers, map_to_links, np.diag([0.5, 0.005]))
    beam = jv.Beam(1.0, 1.0, 1.0, ("hinged", "free"))
    modes = jv.beam_eigenvalues(jv.BeamWithBodies(beam, *arguments), count=6)
    elements = eigenvalues(("hinged", "free"), *arguments, elements=4, degree=11)
    assert bool(modes.certified)
    np.testing.assert_array_equal(np.asarray(modes.values) == 0, [True] * 2 + [False] * 4)
    slow = elements[(np.abs(elements) > 1e-4)][:4]
    np.testing.assert_allclose(modes.values[2:], slow, rtol=1e-7)


def test_two_slow_motions_beside_a_zero_are_no_second_zero():
    # the second body's spring is gone: it rests anywhere (0) or creeps to rest (-c / m)
    stiffness, dampers = [0.05151, 0.0, 2.929, 19058.0], [0.002618, 0.01254, 74.87, 67.65]
    masses = np.diag([6.377, 2.888, 9.505, 0.00311])
    arguments = ([1.0, 0.24, 0.53, 0.08], stiffness, dampers, np.eye(4), masses)
    beam = jv.Beam(1.0, 1.0, 1.0, ("hinged", "sliding"))
    modes = jv.beam_eigenvalues(jv.BeamWithBodies(beam, *arguments), count=6)
    elements = eigenvalues(("hinged", "sliding"), *arguments, elements=4, degree=11)
    assert bool(modes.certified)
    assert modes.values[0] == 0
    np.testing.assert_allclose(modes.values[1:], elements[1:6], rtol=1e-8)


def test_rigid_motions_are_exact_zeros_beside_stiff_one_sided_links():
    # what the bodies feel is not what the beam feels: rounding at 0 is the links'
    stiffness, coupling = [0.057, 841250.0], np.diag([0.08, 653940.0])
    arguments = ([1.0, 0.0], stiffness, [0.41, 0.3], np.eye(2), np.diag([0.163, 0.176]))
    beam = jv.Beam(1.0, 1.0, 1.0, ("free", "hinged"))
    system = jv.BeamWithBodies(beam, *arguments, coupling_stiffness=coupling)
    modes = jv.beam_eigenvalues(system, count=6)
    elements = eigenvalues(
        ("free", "hinged"), *arguments, coupling=coupling, elements=4, degree=11
    )
    assert bool(modes.certified)
    np.testing.assert_array_equal(modes.values[:2], 0)
    moving = elements[np.abs(elements) > 1e-3]
    np.testing.assert_allclose(modes.values[2:], moving[:4], rtol=1e-7)


def test_slow_motions_beside_stiff_one_sided_links_keep_their_digits():
    case = {
        "ends": ("hinged", "free"),
        "positions": [0.15, 0.74, 0.43],
        "stiffness": [0.0161, 188861.0, 1805.4],
        "damping": [7.53, 0.0, 0.0],
        "link_map": np.eye(3),
        "mass": np.diag([8.137, 0.00132, 0.00324]),
        "coupling": np.diag([0.0118, 98426.0, 1497.0]),
    }
    ends, *rest = case.values()
    arguments = (*rest[:-1], None, None, rest[-1])
    modes = jv.beam_eigenvalues(
        jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0, ends), *arguments), count=8
    )
    assert bool(modes.certified)
    assert np.abs(modes.values[2]) < 2e-3
    assert max(errors(case, modes)) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("ends", [("hinged", "free"), ("free", "free")])
def test_soft_and_coincident_links_and_rigid_motions_in_a_batch(ends):
    beam, random, number = jv.Beam(1.0, 1.0, 1.0, ends), np.random.default_rng(3), 64

    def carrying(sample):
        bodies = jnp.diag(sample["masses"])
        return jv.BeamWithBodies(
            beam,
            sample["positions"],
            sample["stiffness"],
            sample["damping"],
            np.eye(2),
            bodies,
        )

    places = random.uniform(0.1, 1.0, (number, 2))
    places[::2, 1] = places[::2, 0]
    samples = {
        "positions": places,
        "stiffness": 10 ** random.uniform(-1, 3, (number, 2)),
        "damping": 10 ** random.uniform(-4, 1.5, (number, 2)),
        "masses": 10 ** random.uniform(-2, 0, (number, 2)),
    }
    spectra = jv.modes.beam_spectra(carrying, samples, count=8)
    assert np.all(spectra.certified)
    rigid = {"hinged": 2, "free": 4}[ends[0]]
    np.testing.assert_array_equal(np.sum(spectra.values == 0, axis=1), rigid)
    for i in range(0, number, 7):
        sample = {name: values[i] for name, values in samples.items()}
        expected = eigenvalues(
            ends, sample["positions"], sample["stiffness"], sample["damping"],
            np.eye(2), np.diag(sample["masses"]), elements=4, degree=11,
        )  # fmt: skip
        expected = expected[np.abs(expected) > 1e-3][: 8 - rigid]
        np.testing.assert_allclose(spectra.values[i, rigid:], expected, rtol=1e-6)
