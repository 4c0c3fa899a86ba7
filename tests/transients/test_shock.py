"""Checked against: the half sine in closed form, scipy's lsim, and other units."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv

HEIGHT, DURATION = 10.0, 0.011
FREQUENCIES = 2 * np.pi * np.geomspace(8.0, 800.0, 12)
# Laws, numbers of points and of frequencies are few: each combination is compiled anew.
HALF_SINE = jv.PulseLoad("half_sine", HEIGHT, 0.0, DURATION)
TIMES = np.arange(120) * 1e-3
VALUES = np.random.default_rng(2).normal(size=120)
OF_RECORDS = 2 * np.pi * np.array([6.0, 40.0, 190.0])


def of_a_half_sine(w):
    """Return highest, lowest and residual acceleration of an undamped oscillator."""
    p = np.pi / DURATION
    times = np.linspace(0.0, DURATION, 100_001)
    swing = np.sin(p * times) - p / w * np.sin(w * times)
    moved = HEIGHT * w**2 / (w**2 - p**2) * swing
    left = abs(2 * HEIGHT * (p / w) / (1 - (p / w) ** 2) * np.cos(w * DURATION / 2))
    return max(moved.max(), left), min(moved.min(), -left), left


def test_a_half_sine_has_its_closed_form():
    found = jv.shock_spectrum(HALF_SINE, FREQUENCIES, 0.0)
    exact = np.array([of_a_half_sine(w) for w in FREQUENCIES]).T
    fields = found.highest, found.lowest, found.residual
    for values, expected in zip(fields, exact, strict=True):
        # Lines between 1024 points of a half sine are wrong by (pi/1024)^2/8 of it.
        np.testing.assert_allclose(values, expected, atol=2e-6 * HEIGHT)
    largest = np.maximum(found.highest, -found.lowest)
    np.testing.assert_array_equal(found.maximax, largest)
    assert np.all(np.abs(found.maximax - np.maximum(exact[0], -exact[1])) <= found.error)
    # Without damping the acceleration is that of the spring.
    square = FREQUENCIES**2 * np.asarray(found.displacement)
    np.testing.assert_allclose(square, found.maximax, rtol=1e-9)
    pseudo = np.asarray(found.pseudo_velocity) * FREQUENCIES
    np.testing.assert_allclose(pseudo, found.maximax, rtol=1e-9)


powers = st.integers(-9, 9).map(lambda power: 10.0**power)


@settings(max_examples=10)
@given(length=powers, time=powers)
def test_a_spectrum_is_the_same_in_all_units(length, time):
    scale = length / time**2
    pulse = jv.PulseLoad("half_sine", HEIGHT / scale, 0.0, DURATION / time)
    found = jv.shock_spectrum(pulse, FREQUENCIES * time, 0.0)
    usual = jv.shock_spectrum(HALF_SINE, FREQUENCIES, 0.0)
    for name in ("highest", "lowest", "maximax", "residual"):
        other, expected = getattr(found, name) * scale, getattr(usual, name)
        np.testing.assert_allclose(other, expected, rtol=0, atol=1e-11 * HEIGHT)
    moved = found.displacement * length
    np.testing.assert_allclose(moved, usual.displacement, rtol=1e-11)


@pytest.mark.slow  # compiles two more spectra, 5 s
def test_a_rectangle_doubles_a_stiff_oscillator():
    pulse = jv.PulseLoad("rectangle", HEIGHT, 0.002, 0.03)
    found = jv.shock_spectrum(pulse, 2 * np.pi * np.array([50.0, 400.0]), 0.0, points=64)
    np.testing.assert_allclose(found.highest, 2 * HEIGHT, rtol=1e-6)


@pytest.mark.slow  # compiles two more spectra, 5 s
def test_a_ramp_goes_on_until_it_is_said_to_end():
    ramp, w, ratio = jv.RampLoad(HEIGHT, start=0.0, duration=0.1), 31.0, 0.05
    found = jv.shock_spectrum(ramp, [w], ratio, duration=3.0)
    system = scipy.signal.lti([2 * ratio * w, w**2], [1.0, 2 * ratio * w, w**2])
    times = np.linspace(0.0, 4.0, 40_001)
    base = np.interp(
        times, [0.0, 0.1, 3.0, 3.0001, 4.0], HEIGHT * np.array([0, 1, 1, 0, 0])
    )
    _, answer, _ = scipy.signal.lsim(system, base, times)
    np.testing.assert_allclose(found.highest[0], answer.max(), rtol=2e-4)
    np.testing.assert_allclose(found.lowest[0], answer.min(), rtol=1e-3, atol=1e-3)


@pytest.mark.slow  # compiles two spectra each, 5 to 8 s
@pytest.mark.parametrize(
    ("law", "later", "frequencies"),
    [
        (
            jv.PulseLoad("half_sine", HEIGHT, -DURATION / 2, DURATION),
            HALF_SINE,
            FREQUENCIES,
        ),
        (jv.RecordLoad(TIMES - 9.0, VALUES), jv.RecordLoad(TIMES, VALUES), OF_RECORDS),
    ],
)
def test_when_a_shock_begins_is_all_the_same(law, later, frequencies):
    now, then = (jv.shock_spectrum(each, frequencies) for each in (law, later))
    # A half sine is looked at in two pieces here and in one there.
    for name in ("highest", "lowest", "maximax", "residual"):
        np.testing.assert_allclose(getattr(now, name), getattr(then, name), rtol=1e-5)


@pytest.mark.slow  # compiles four more spectra, 7 s
def test_waves_faster_than_the_points_are_not_mistaken_for_slow_ones():
    # 1024 turns in 1 s: at 1024 points all of them are the same. Undamped from rest the
    # relative displacement of a slow oscillator is A (cos wt - cos pt)/(p^2 - w^2).
    p, w = 2 * np.pi * 1024.0, 2 * np.pi * 100.0
    law = jv.HarmonicLoad(HEIGHT, p)
    found = jv.shock_spectrum(law, [w], 0.0, duration=1.0)
    times = np.linspace(0.0, 1.0, 1_000_001)
    exact = HEIGHT * w**2 / (p**2 - w**2) * (np.cos(p * times) - np.cos(w * times))
    apart = abs(found.highest[0] - exact.max())
    assert apart <= found.error[0]
    assert found.error[0] <= 0.03 * exact.max()

    def largest(frequency):
        law = jv.HarmonicLoad(HEIGHT, frequency)
        return jv.shock_spectrum(law, [w], 0.0, duration=1.0).maximax[0]

    # Traced, it cannot be known how many points there are to be.
    assert np.isnan(jax.jit(largest)(p))
    assert np.isfinite(jax.jit(largest)(100.0))


@pytest.mark.slow  # compiles the spectrum of a record, 5 s, and 2 s each by scipy
@pytest.mark.parametrize("ratio", [0.02, 0.3])
def test_a_record_is_answered_as_scipy_answers_it(ratio):
    found = jv.shock_spectrum(jv.RecordLoad(TIMES, VALUES), OF_RECORDS, ratio)
    for i, w in enumerate(OF_RECORDS):
        system = scipy.signal.lti([2 * ratio * w, w**2], [1.0, 2 * ratio * w, w**2])
        end = TIMES[-1] + 2 * np.pi / w
        for_each = 500
        fine = np.arange(0.0, end, 1e-3 / for_each)
        base = np.interp(fine, TIMES, VALUES, right=0.0)
        _, answer, _ = scipy.signal.lsim(system, base, fine)
        spread = np.max(np.abs(answer))
        # lsim sees extremes at its own points only, and a jump to 0 as a steep line.
        np.testing.assert_allclose(found.highest[i], answer.max(), atol=2e-4 * spread)
        np.testing.assert_allclose(found.lowest[i], answer.min(), atol=2e-4 * spread)


@pytest.mark.slow  # compiles four derivatives, a minute
def test_it_can_be_differentiated_by_the_record_and_mapped():
    times = np.arange(40) * 2e-3
    values = jnp.asarray(np.random.default_rng(4).normal(size=40))

    shock = jv.RecordLoad(times, np.zeros(40))

    def largest(values, ratio):
        record = eqx.tree_at(lambda law: law.values, shock, values)
        return jv.shock_spectrum(record, np.array([60.0, 200.0]), ratio).maximax

    by_values = jax.jit(jax.jacrev(largest))(values, 0.05)
    # Of a linear oscillator twice the shock is twice the answer.
    np.testing.assert_allclose(by_values @ values, largest(values, 0.05), rtol=1e-9)
    slope = jax.jacfwd(largest, 1)(values, jnp.asarray(0.05))
    ends = [np.asarray(largest(values, 0.05 + d)) for d in (-1e-6, 1e-6)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / 2e-6, rtol=1e-4)
    both = jax.vmap(lambda v: largest(v, 0.05))(jnp.stack([values, -values]))
    np.testing.assert_allclose(both[0], both[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frequencies": [0.0]}, "frequencies = 0 rad/s"),
        ({"damping_ratio": 1.0}, "damping_ratio = 1"),
        ({"points": 1}, "points = 1"),
        ({"law": jv.HarmonicLoad(1.0, 5.0)}, "end of a shock of HarmonicLoad"),
        ({"law": jv.StepLoad(3.0, start=1.0)}, "3 m/s.2 of StepLoad remain"),
        ({"law": jv.RampLoad(3.0, 0.0, 0.1)}, "3 m/s.2 of RampLoad remain"),
        ({"duration": np.nan}, "duration = nan s"),
        ({"frequencies": []}, r"frequencies have shape \(0,\)"),
        ({"law": jv.HarmonicLoad(1.0, 1e9), "duration": 1.0}, "need 4e.09 points"),
    ],
)
def test_bad_input_is_named(arguments, message):
    given = {"law": jv.PulseLoad("triangle", 1.0, 0.0, 0.1), "frequencies": [10.0]}
    with pytest.raises(ValueError, match=message):
        jv.shock_spectrum(**{**given, **arguments})
