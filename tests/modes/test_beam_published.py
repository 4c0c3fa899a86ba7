"""Checked against: printed frequencies of a cantilever with a rigid body at its tip.

Table 1 of "Frequency Equation of Flexural Vibrating Cantilever Beam Considering the
Rotary Inertial Moment of an Attached Mass", Mathematical Problems in Engineering (2017),
article 1568019: the first five frequencies, in the beam's own units. And the massless
cantilever with a mass of MOOSE's test dyn_euler_small_added_mass_eigen: 0.25 Hz.
"""

import numpy as np
import pytest

import jaxvib as jv

# (mass, rotary inertia): frequencies as printed
PRINTED = {
    (100, 1): "0.1749603 22.30366 61.66046 120.90684 199.86943",
    (10, 1): "0.6054297 22.47413 61.83822 121.0850 200.0480",
    (1, 100): "2.950242 23.93841 63.43232 122.7265 201.7208",
    (1, 10): "2.91158 23.93129 63.42955 122.7251 201.71991",
    (1, 1): "2.55044 23.86031 63.40190 122.71062 201.71107",
    (1, 0.1): "1.70226 23.17405 63.1286 122.5668 201.6229",
    (1, 0.01): "1.571098 19.13831 60.72695 121.2014 200.7639",
    (1, 0.001): "1.55867 16.57872 53.50208 113.2826 194.2422",
    (1, 0): "1.557298 16.25009 50.89584 105.1983 179.2320",
}


def frequencies(mass, inertia, count):
    beam = jv.Beam(1.0, 1.0, 1.0, ("clamped", "free"))
    system = jv.lumped_masses_on_beam(beam, [1.0], [float(mass)], [float(inertia)])
    modes = jv.beam_eigenvalues(system, count=count)
    assert bool(modes.certified)
    return np.asarray(modes.values)


@pytest.mark.parametrize("body", PRINTED)
def test_the_table_is_ours_with_the_inertia_s_sign_turned_round(body):
    # its frequency equation lets the inertia help the beam to turn, so that a real pair
    # (growth) stands in for one of the frequencies; digit for digit it is otherwise ours
    mass, inertia = body
    values = frequencies(mass, -inertia, 7)
    oscillating = np.sort(values[values.imag > 1e-6].imag)[:5]
    for ours, word in zip(oscillating, PRINTED[body].split(), strict=True):
        unit = 10.0 ** -len(word.partition(".")[2])
        assert abs(ours - float(word)) <= 0.51 * unit
    assert np.sum(values.real > 1e-6) == (inertia > 0)


def test_an_inertia_of_the_right_sign_slows_every_motion():
    without = frequencies(1, 0, 5).imag
    for inertia in (0.001, 0.1, 10):
        assert np.all(frequencies(1, inertia, 5).imag < without)


def test_a_cantilever_without_mass_of_its_own_is_moose_s():
    # a beam needs some mass: a millionth of what it carries
    mass = 0.01899772
    beam = jv.Beam(4.0, 1e-6 * mass / 4.0, 1e4 * 1e-4, ("clamped", "free"))
    modes = jv.beam_eigenvalues(jv.lumped_masses_on_beam(beam, [4.0], [mass]), count=1)
    assert bool(modes.certified)
    assert float(modes.values[0].imag) / (2 * np.pi) == pytest.approx(0.25, rel=1e-6)
