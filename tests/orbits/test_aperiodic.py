"""Checked against: maps whose motions and exponents are known in closed form."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.flow import observe
from jaxvib.dynamics.observables import largest_forces
from jaxvib.ensemble import Reason
from jaxvib.kernels.calls.kernel import Kernel
from jaxvib.orbits.searches.aperiodic import LOOKS, WINDOW
from jaxvib.orbits.shooting.classification import Classification, classify, limit_of
from jaxvib.orbits.shooting.orbit_shooting import scales
from jaxvib.orbits.shooting.settling import GRAZING, track_aperiodic

GOLDEN = (np.sqrt(5) - 1) / 2
UNITS = np.ones(2)
RATES = [0.999 * np.exp(0.7j), 0.99 * np.exp(2.0j), 0.9 + 0j]
COUNTS = pytest.mark.parametrize("count", [512, 1024, 2048])


@functools.cache
def classifying(smooth):
    return jv.kernel(lambda *motion: classify(*motion, smooth))


def classified(states, growth, units, smooth=None) -> Classification:
    """Return the classes of a motion, or of many."""
    if np.ndim(growth) == 1:
        return classifying(smooth).on_host(states, growth, units)
    return classifying(smooth).map(states, growth, units)


def torus(count, decay=0.0):
    """Return states on a smooth closed curve, with the growth along its tangent."""
    angle = 2 * np.pi * GOLDEN * np.arange(count + 1)
    states = np.stack([np.cos(angle) + 0.2 * np.cos(2 * angle), np.sin(angle)], axis=1)
    speed = np.log(np.hypot(np.sin(angle) + 0.4 * np.sin(2 * angle), np.cos(angle)))
    size = np.exp(-decay * np.arange(count))
    return states[1:] * size[:, None], np.diff(speed) - decay


def logistic(rate, count, start=0.3, skip=2000):
    states, growth = np.empty(count), np.empty(count)
    x = start
    for k in range(-skip, count):
        slope, x = abs(rate * (1 - 2 * x)), rate * x * (1 - x)
        if k >= 0:
            states[k], growth[k] = x, np.log(max(slope, 1e-12))
    return np.stack([states, states**2], axis=1), growth


@COUNTS
def test_a_torus_is_quasi_periodic(count):
    found = classified(*torus(count), UNITS)
    assert found.code == Reason.QUASI_PERIODIC
    assert abs(found.exponent) < 1e-5


@COUNTS
def test_a_torus_is_quasi_periodic_though_it_is_seen_in_the_midst_of_impacts(count):
    states, growth = torus(count)
    angle = 2 * np.pi * GOLDEN * np.arange(1, count + 1)
    states[:, 1] = np.cos(angle / 2) * np.sign(np.sin(angle / 2))  # jumps where it is 1
    assert classified(states, growth, UNITS, smooth=1).code == Reason.QUASI_PERIODIC
    assert classified(states, growth, UNITS).code == Reason.UNDECIDED_MOTION


@COUNTS
@pytest.mark.parametrize(("rate", "exponent"), [(4.0, np.log(2)), (3.9, 0.4945)])
def test_a_chaotic_map_is_chaotic(count, rate, exponent):
    found = classified(*logistic(rate, count), UNITS)
    assert found.code == Reason.CHAOTIC
    assert abs(found.exponent - exponent) < 5 * found.error + 1e-3


@pytest.mark.parametrize(("rate", "repeats"), [(3.83, 3), (3.5, 4), (3.74, 5), (3.554, 8)])
def test_windows_of_a_map_recur(rate, repeats):
    found = classified(*logistic(rate, 512), UNITS)
    assert (found.code, found.repeats) == (Reason.SUCCESS, repeats)


@pytest.mark.parametrize("decay", [1e-4, 1e-3])
def test_a_beat_that_dies_out_slowly_is_no_torus(decay):
    found = classified(*torus(512, decay), UNITS)
    assert found.code == Reason.TRANSIENT
    np.testing.assert_allclose(found.exponent, -decay, rtol=0.05)


def spiral(count, multiplier, periods=1):
    """Return states that spiral into an orbit of some periods, and where it is."""
    k = np.arange(count)
    turns = multiplier ** (k // periods)
    orbit = np.stack([np.cos(2 * np.pi * k / periods), np.sin(2 * np.pi * k / periods)], 1)
    orbit = 2 * orbit if periods > 1 else np.tile([1.0, 2.0], (count, 1))
    apart = 0.1 * np.stack([turns.real, turns.imag], axis=1)
    return orbit + apart, orbit


@pytest.mark.parametrize("periods", [1, 3])
def test_a_slow_spiral_is_seen_to_end_in_its_orbit(periods):
    states, orbit = spiral(512, 0.999 * np.exp(0.7j), periods)
    guess = limit_of(states, np.full(2, 2.0), periods)
    np.testing.assert_allclose(guess, orbit[-1], atol=1e-7)
    growth = np.full(512, np.log(0.999) / periods)
    assert classified(states, growth, np.full(2, 2.0)).code != Reason.QUASI_PERIODIC


def test_the_limits_of_many_motions_have_the_bits_of_each_alone():
    rates = [0.999 * np.exp(0.7j), 0.99 * np.exp(2.0j), 0.9995 + 0j]
    states = np.stack([spiral(512, rate, 2)[0] for rate in rates])
    units = np.array([[1.0, 2.0], [3.0, 0.5], [1.0, 1.0]])
    limits = limit_of(states, units, 2)
    for each in zip(limits, states, units, strict=True):
        np.testing.assert_array_equal(each[0], limit_of(*each[1:], 2))


def test_a_real_multiplier_is_seen_through_too():
    states, orbit = spiral(512, 0.9995 + 0j)
    np.testing.assert_allclose(limit_of(states, UNITS, 1), orbit[-1], atol=1e-6)


def test_an_unbounded_motion_is_not_chaotic():
    states, _ = torus(512)
    growth = np.full(512, 0.02)
    runs = states * np.exp(0.02 * np.arange(512))[:, None]
    assert classified(runs, growth, UNITS).code == Reason.UNDECIDED_MOTION


def test_noise_about_zero_is_undecided():
    draw = np.random.default_rng(7)
    states = draw.normal(size=(512, 2))
    found = classified(states, draw.normal(size=512), UNITS)
    assert found.code == Reason.UNDECIDED_MOTION


def test_a_motion_that_comes_to_rest_on_a_stop_is_not_chaotic():
    # A period in which its neighbours meet: it forgets all, and so repeats itself.
    states, growth = logistic(3.9, 512)
    growth[300] = np.log(1e-10)
    found = classified(states, growth, UNITS)
    assert found.code == Reason.TRANSIENT
    assert np.isnan(found.exponent)


def test_motions_classified_at_once_have_the_classes_and_numbers_of_each_alone():
    motions = [torus(512), torus(512, 1e-3), logistic(3.9, 512), logistic(3.83, 512)]
    states, growth = (np.stack(parts) for parts in zip(*motions, strict=True))
    found = classified(states, growth, np.ones((4, 2)))
    assert len(set(found.code)) == 4
    for lane, motion in enumerate(motions):
        alone = classified(*motion, UNITS)
        assert [column[lane] for column in found] == list(alone)


def test_large_systems_are_judged_in_memory_with_the_bits_of_small_ones():
    motions = [torus(512), torus(512, 1e-3), logistic(3.9, 512), logistic(3.83, 512)]
    states, growth = (np.stack(parts) for parts in zip(*motions, strict=True))
    found = [
        Kernel(lambda *motion: classify(*motion), in_memory=in_memory).map(
            states, growth, np.ones((4, 2))
        )
        for in_memory in (False, True)
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [256, 512, 1536])
def test_the_numbers_of_a_class_are_those_of_its_formulas(count):
    motions = [torus(count), torus(count, 1e-3), logistic(3.9, count)]
    motions += [
        (spiral(count, rate)[0], np.full(count, np.log(abs(rate)))) for rate in RATES
    ]
    states, growth = (np.stack(parts) for parts in zip(*motions, strict=True))
    units = np.array([1.0, 2.0])
    found = classified(states, growth, np.stack([units] * len(motions)))
    for lane, (points, rates) in enumerate(zip(states / units, growth, strict=True)):
        halves = rates[: count // 2], rates[count // 2 :]
        begin, end, whole = map(weighted, (*halves, rates))
        moments = np.hstack([points, np.sin(3 * points)])
        apart = weighted(moments[: count // 2]) - weighted(moments[count // 2 :])
        spread = np.max(np.abs(apart) / np.maximum(moments.std(axis=0), 1e-300))
        np.testing.assert_allclose(found.spread[lane], spread, rtol=1e-8, atol=1e-11)
        blocks = rates.reshape(8, -1).mean(axis=1)
        exponent, error = blocks.mean(), blocks.std(ddof=1) / np.sqrt(8)
        if found.code[lane] != Reason.CHAOTIC:
            exponent = whole
            error = max(abs(begin - end), abs(whole - begin), abs(whole - end), 5e-6)
        np.testing.assert_allclose(found.exponent[lane], exponent, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(found.error[lane], error, rtol=1e-10, atol=1e-13)
        assert found.repeats[lane] == first_repeat(points, min(end, 0.0))


def weighted(values):
    place = (np.arange(len(values)) + 0.5) / len(values)
    return np.average(values, axis=0, weights=np.exp(-1 / (place * (1 - place))))


def first_repeat(points, rate):
    """Return after how many periods the last eight points recur, or will."""
    half = len(points) // 2

    def apart(end, period):
        return np.abs(points[end - 8 : end] - points[end - 8 - period : end - period]).max()

    periods = range(1, half - 8)
    period = next((p for p in periods if apart(len(points), p) < 1e-3), 0)
    recurs = period if period and apart(len(points), period) < 1e-6 else 0
    if rate > -1.5e-5 or not period or period > half // 2 or recurs == 1:
        return recurs
    for p in range(1, period + 1):
        shrinks = np.log(apart(len(points), p) / apart(half + 9, p))
        if 0.5 < shrinks / (rate * (len(points) - 9 - half)) < 2:
            return p
    return recurs


def test_noise_about_zero_is_rarely_chaotic_at_any_of_the_looks():
    # The exponent is 0 exactly: a motion that is judged again and again must not be
    # called chaotic once its average happens to be high. By four errors, 5 of them are.
    draw = np.random.default_rng(7)
    growth, states = (
        draw.normal(size=(400, 14 * WINDOW)),
        draw.normal(size=(400, 14 * WINDOW, 2)),
    )
    wrong = np.zeros(400, bool)
    for windows, judged in LOOKS[1:-1]:
        part = slice((windows - judged) * WINDOW, windows * WINDOW)
        found = classified(states[:, part], growth[:, part], np.ones((400, 2)))
        wrong |= found.code == Reason.CHAOTIC
    assert wrong.sum() <= 2


def test_a_spiral_that_goes_nearly_round_in_eleven_periods_is_not_of_period_eleven():
    # After eleven periods it recurs to 1e-7, after one to 1e-5 only.
    states, _ = spiral(1536, 0.995 * np.exp(2j * np.pi / 11 * (1 + 1e-5)))
    growth = np.full(512, np.log(0.995))
    found = classified(states[-512:], growth, np.full(2, 2.0))
    assert found.repeats in (0, 1)


@pytest.mark.parametrize("around", [32, 37, 714])
@pytest.mark.parametrize("periods", [1, 5])
def test_where_a_slow_spiral_recurs_by_chance_is_not_its_period(around, periods):
    # the multiplier comes nearly round after so many turns, and no earlier
    count, rate = 2048, 0.0016
    angle = 2 * np.pi * GOLDEN if around > count // 4 else 2 * np.pi * 3 / around
    states, _ = spiral(count, np.exp(-rate * periods + 1j * angle), periods)
    found = classified(states, np.full(count, -rate), np.full(2, 2.0))
    assert (found.code, found.repeats) == (Reason.SUCCESS, periods)


def test_the_records_of_a_window_are_the_extremes_of_its_periods():
    # Each period observed alone searches all its extremes: none is bounded away.
    system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude=800.0, frequency=6.0))
    start, periods = jnp.array([0.01, 0.0, 0.0, 0.0]), 40
    along = jnp.array([0.5, 0.5, 0.5, 0.5])
    window = track_aperiodic(system, start, along, periods, 1e-9, "event")
    grazing = GRAZING * scales(system, start)[0]
    states = np.vstack([start, window.records.states[:-1]])
    alone = [
        observe(
            system, s, 0.0, system.period(), rtol=1e-9, grazing=grazing, engine="event"
        )[1]
        for s in jnp.asarray(states)
    ]
    records = window.records
    forces = [float(largest_forces(system.equation(), seen)[0]) for seen in alone]
    assert records.force == pytest.approx(max(forces), rel=1e-6)
    assert records.onsets == sum(int(seen.onsets[0]) for seen in alone)
    highest = np.max([seen.highest for seen in alone], axis=0)
    lowest = np.min([seen.lowest for seen in alone], axis=0)
    np.testing.assert_allclose(records.highest, highest, rtol=1e-7)
    np.testing.assert_allclose(records.lowest, lowest, rtol=1e-7)
