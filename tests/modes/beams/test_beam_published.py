"""Checked against: printed frequencies of beams that carry bodies, masses and springs.

Table 1 of "Frequency Equation of Flexural Vibrating Cantilever Beam Considering the
Rotary Inertial Moment of an Attached Mass", Mathematical Problems in Engineering (2017),
article 1568019: the first five frequencies, in the beam's own units. The massless
cantilever with a mass of MOOSE's test dyn_euler_small_added_mass_eigen: 0.25 Hz. The
tables of VPCS SDLL04 and SDLL15 (Guide de validation des progiciels de calcul de
structures, AFNOR 1990), as code_aster's tests sdll04a and sdll15a give them. Hodges and
Pierce, Introduction to Structural Dynamics and Aeroelasticity (2011), problem 3.14 and
tables 3.10 and 3.11, as AeroBeams.jl's examples give them.
"""

import equinox as eqx
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
    system = jv.lumped_masses_on_beam(beam, [1.0], [float(mass)], [abs(float(inertia))])
    if inertia < 0:  # which no body has, so that it must be put in
        turned = np.where(system.turns, -1.0, 1.0) * system.link_inertance
        system = eqx.tree_at(lambda each: each.link_inertance, system, turned)
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


# SDLL04: a sprung mass at a quarter, tuned to the first frequency, by its mass ratio
SPRUNG = {
    0.0: (1.5707, 6.2831),
    0.001: (1.546, 1.5958, 6.2336),
    0.01: (1.4937, 1.6506, 6.2874),
}
MISPRINT = {6.2336: 6.2836}  # between the neighbours' 6.2831 and 6.2874


def hertz(system, count):
    modes = jv.beam_eigenvalues(system, count=count)
    assert bool(modes.certified)
    return np.asarray(modes.values).imag / (2 * np.pi)


@pytest.mark.parametrize("ratio", SPRUNG)
def test_a_hinged_beam_with_a_sprung_mass_is_sdll04_s_but_for_a_misprint(ratio):
    beam = jv.Beam(10.0, 78.0, 2e11 * 0.39e-5, ("hinged", "hinged"))
    mass, spring = 780 * ratio, 75979.1 * ratio
    places = [2.5] * (ratio > 0)
    count = len(places)
    system = jv.oscillators_on_beam(beam, places, [mass] * count, [spring] * count)
    printed = [MISPRINT.get(value, value) for value in SPRUNG[ratio]]
    # the last printed digit is rounded in some and cut off in others
    np.testing.assert_allclose(hertz(system, len(printed)), printed, atol=1e-4)


def test_a_tube_with_a_mass_at_its_tip_is_sdll15_s():
    outer, inner = 0.175, 0.16
    area, moment = np.pi * (outer**2 - inner**2), np.pi / 4 * (outer**4 - inner**4)
    beam = jv.Beam(10.0, 7800.0 * area, 2.1e11 * moment, ("clamped", "free"))
    found = hertz(jv.lumped_masses_on_beam(beam, [10.0], [1000.0]), 4)
    for ours, word in zip(found, ["1.65", "16.07", "50.02", "103.2"], strict=True):
        assert abs(ours - float(word)) < 10.0 ** -len(word.partition(".")[2])


@pytest.mark.slow  # compiles two systems of their own, 4 s
def test_an_inertia_at_a_hinge_and_a_spring_that_turns_are_hodges_and_pierce_s():
    beam = jv.Beam(1.0, 1.0, 1.0, ("clamped", "hinged"))
    inertia = jv.lumped_masses_on_beam(beam, [1.0], [0.0], [1.0])
    assert round(2 * np.pi * hertz(inertia, 1)[0], 5) == 1.99048
    # a hinge on a spring that turns: deflection held, slope on a spring
    beam = jv.Beam(1.0, 1.0, 1.0, ("hinged", "free"))
    sprung = jv.BeamWithBodies(beam, [0.0], [1.0], turns=[True])
    first, second = 2 * np.pi * hertz(sprung, 2)
    assert (round(first, 5), round(second, 4)) == (1.5573, 16.2501)
