"""Checked against: finite elements that share no code, and each system taken alone."""

import jax
import numpy as np
import pytest
from finite_elements import eigenvalues

import jaxvib as jv

KINDS = ("clamped", "hinged", "sliding", "free")


def random_case(random):
    links = int(random.integers(0, 5))
    bodies = int(random.integers(0, 5)) if links else 0

    def semidefinite(low, high):
        root = random.normal(size=(bodies, bodies))
        return root @ root.T * 10 ** random.uniform(low, high)

    damping = semidefinite(-3, 1) * (random.random() < 0.5)
    if random.random() < 0.2:
        gyroscopic = random.normal(size=(bodies, bodies))
        damping = damping + gyroscopic - gyroscopic.T
    return {
        "ends": tuple(random.choice(KINDS, 2).tolist()),
        "positions": np.round(random.random(links), 1 if random.random() < 0.3 else 2),
        "stiffness": 10 ** random.uniform(-2, 4, links),
        "damping": 10 ** random.uniform(-3, 1.5, links) * (random.random() < 0.8),
        "link_map": random.normal(size=(links, bodies)),
        "mass": semidefinite(-3, 1) + 1e-3 * np.eye(bodies),
        "body_damping": damping,
        "body_stiffness": semidefinite(-2, 3) * (random.random() < 0.7),
    }


@pytest.mark.slow
def test_random_systems_miss_nothing_and_list_nothing_twice():
    random = np.random.default_rng(5)
    for _ in range(250):
        case = random_case(random)
        system = jv.BeamWithBodies(
            jv.Beam(1.0, 1.0, 1.0, case["ends"]), *list(case.values())[1:]
        )
        modes = jv.beam_eigenvalues(system, count=10)
        assert bool(modes.certified)
        radius = float(modes.radius)
        elements = eigenvalues(**case, elements=5, degree=12)
        # rigid motions are exact zeros of ours and pairs of noise of elements
        noise = 1e-3 if np.any(modes.values == 0) else 0.0
        elements = elements[np.abs(elements) > noise]
        ours = np.asarray(modes.values)
        ours = ours[np.abs(ours) > noise]
        # the circle may hold more than 10 values, where the 10th and 11th are close
        inside = np.sum(np.abs(elements) < radius)
        assert inside >= len(ours)
        # elements of 0.01 round slow motions: (12 / h^3) eps in a stiffness
        np.testing.assert_allclose(
            np.abs(elements[: len(ours)]), np.abs(ours), rtol=1e-6, atol=1e-6
        )


@pytest.mark.slow
def test_jit_and_vmap_equal_single_calls():
    beam = jv.Beam(1.0, 1.0, 1.0, ("hinged", "free"))

    def certified_values(stiffness):
        system = jv.oscillators_on_beam(beam, [0.4], [0.3], stiffness, [0.1])
        modes = jv.beam_eigenvalues(system, count=5)
        return modes.values, modes.certified

    stiffness = np.array([[3.0], [40.0], [500.0]])
    values, certified = jax.jit(jax.vmap(certified_values))(stiffness)
    assert np.all(certified)
    for one, expected in zip(stiffness, values, strict=True):
        np.testing.assert_allclose(certified_values(one)[0], expected, rtol=1e-12)
