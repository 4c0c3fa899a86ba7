"""Checked against: single certified spectra, and finite elements that share no code."""

import jax
import jax.numpy as jnp
import numpy as np
from finite_elements import eigenvalues

import jaxvib as jv
from jaxvib.modes.beam_spectrum import certified_spectrum, padded
from jaxvib.modes.certificate import missing_roots
from jaxvib.modes.characteristic import dimensionless, mixing

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


def test_a_batch_is_certified_and_equals_finite_elements():
    samples = designs(100)
    spectra = jv.beam_spectra(cantilever, samples, count=6)
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
