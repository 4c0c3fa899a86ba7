"""Checked against: the paper's Green functions in 50 digits, finite elements, its print."""

import mpmath
import numpy as np
import pytest
from finite_elements import eigenvalues
from paper_determinant import (
    BENDING,
    LENGTH,
    LINK,
    MASS_PER_LENGTH,
    POSITIONS,
    green_function,
    paper_determinant,
)

import jaxvib as jv


def paper_system(mass=0.1):
    beam = jv.Beam(LENGTH, MASS_PER_LENGTH, BENDING, ("clamped", "free"))
    return jv.oscillators_on_beam(beam, POSITIONS, [mass] * 3, [LINK] * 3, [LINK] * 3)


@pytest.fixture(scope="module")
def modes():
    return jv.beam_eigenvalues(paper_system(), radius=5000.0)


def test_the_paper_s_determinant_vanishes_at_our_eigenvalues(modes):
    with mpmath.workdps(50):
        for value in np.asarray(modes.values):
            ours = mpmath.mpc(complex(value))
            near = [ours * (1 + mpmath.mpf("1e-20")), ours]
            root = mpmath.findroot(paper_determinant, near, solver="secant", verify=False)
            assert abs(root - ours) < 2e-15 * abs(ours)


@pytest.mark.slow  # compiles shapes, 10 s
def test_mode_shapes_are_the_paper_s_sums_of_green_functions(modes):
    points = np.linspace(0.0, 1.0, 401)  # as in test_beam_eigenvalues.py: one program
    at_points, at_links = modes.shape(points), modes.shape(np.array(POSITIONS))
    points, shapes = points[::50], at_points[:, ::50]
    with mpmath.workdps(50):
        for i, value in enumerate(np.asarray(modes.values)):
            greens = [green_function(mpmath.mpc(complex(value)), a) for a in POSITIONS]
            forces = LINK * (1 + value) * (modes.bodies[i] - at_links[i])
            for x, ours in zip(points, shapes[i], strict=True):
                terms = (complex(g(x)) * f for g, f in zip(greens, forces, strict=True))
                # the soft links' motion is 1e5 times the beam's: its rounding shows here
                assert complex(sum(terms)) == pytest.approx(complex(ours), abs=5e-12)


def test_every_value_below_5000_is_that_of_finite_elements(modes):
    time = LENGTH**2 * np.sqrt(MASS_PER_LENGTH / BENDING)
    link = LINK * LENGTH**3 / BENDING
    bodies = 0.1 / (MASS_PER_LENGTH * LENGTH) * np.eye(3)
    arguments = (("clamped", "free"), POSITIONS, [link] * 3, [link / time] * 3)
    elements = eigenvalues(*arguments, np.eye(3), bodies, elements=8, degree=11) / time
    inside = elements[np.abs(elements) < 5000.0]
    assert bool(modes.certified)
    assert len(modes.values) == len(inside) == 11
    ours, theirs = (v[np.argsort(v.imag)] for v in (np.asarray(modes.values), inside))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_the_printed_digits_determine_the_masses_to_within_five_percent():
    printed = np.array([-0.255 + 25.839j, -0.235 + 161.938j])
    agreeing = [
        mass
        for mass in (0.09, 0.0951, 0.1, 0.105, 0.11)
        if np.all(
            np.round(np.asarray(jv.beam_eigenvalues(paper_system(mass), 5).values)[3:], 3)
            == printed
        )
    ]
    assert agreeing == [0.0951, 0.1, 0.105]
