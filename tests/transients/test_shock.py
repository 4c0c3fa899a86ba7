"""Checked against: closed forms in 30 digits, scipy's lsim, and other units."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath as mp
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


FIELDS = "highest", "lowest", "maximax", "residual", "displacement"


def pieces_of(shape, height, duration):
    """Return (beginning, end, exponent, coefficients): sums of c e^(m t), or c0 + c1 t."""
    if shape == "half_sine":
        return [(0, duration, 1j * mp.pi / duration, [height / (2j), -height / (2j)])]
    if shape == "rectangle":
        return [(0, duration, None, [height, 0])]
    if shape == "ramp":  # and a drop to 0
        return [(0, duration, None, [0, height / duration])]
    half = duration / 2
    rise = height / half
    return [(0, half, None, [0, rise]), (half, duration, None, [height, -rise])]


def exact_extremes(pieces, w, ratio):
    """Return the fields of an oscillator's shock spectrum, exact to 20 digits."""
    with mp.workdps(50):
        w, ratio = mp.mpf(w), mp.mpf(ratio) + mp.mpf(10) ** -22 * (ratio == 1)
        roots = [w * (-ratio + sign * mp.sqrt(ratio**2 - 1)) for sign in (1, -1)]
        z, v, found = mp.mpf(0), mp.mpf(0), [[], []]
        later = 40 / (ratio * w) if ratio > 0.3 else 2 * mp.pi / w
        after = pieces[-1][1]
        for begin, end, power, c in [*pieces, (after, after + later, None, [0, 0])]:
            if power is None:  # z = p + q t
                q = -c[1] / w**2
                p = (-c[0] - 2 * ratio * w * q) / w**2
                forced = [(0, p, q)]
            else:
                forced = [(sign * power, -c[k] / ((sign * power) ** 2
                           + 2 * ratio * w * sign * power + w**2), 0)
                          for k, sign in enumerate((1, -1))]  # fmt: skip
            left = [z - sum(p for _, p, _ in forced),
                    v - sum(m * p + q for m, p, q in forced)]  # fmt: skip
            one = (left[1] - roots[1] * left[0]) / (roots[0] - roots[1])
            terms = [*forced, (roots[0], one, 0), (roots[1], left[0] - one, 0)]

            def at(t, order, terms=terms):
                grown = (m**order * p * mp.exp(m * t) for m, p, _ in terms)
                ramp = sum(q for *_, q in terms)
                return mp.re(sum(grown) + ramp * [t, 1, 0, 0][min(order, 3)])

            def acceleration(t, order, at=at):
                return -2 * ratio * w * at(t, order + 1) - w**2 * at(t, order)

            length = mp.mpf(end) - begin
            for signal, seen in ((acceleration, found[0]), (at, found[1])):
                steps = 8 + int(mp.ceil(w * length * max(1, 2 * ratio) / 0.4))
                times = [length * k / steps for k in range(steps + 1)]
                rates = [signal(t, 1) for t in times]
                turns = [k for k in range(steps) if rates[k] * rates[k + 1] < 0]
                places = [
                    mp.findroot(functools.partial(signal, order=1), times[k : k + 2],
                                solver="anderson", tol=1e-40, maxsteps=60, verify=False)
                    for k in turns
                ]  # fmt: skip
                seen += [(end == after + later, signal(t, 0))
                         for t in [times[0], times[-1], *places]]  # fmt: skip
            z, v = at(length, 0), at(length, 1)
        values = [x for _, x in found[0]] + [mp.mpf(0)]
        residual = max(abs(x) for late, x in found[0] if late)
        moved = max(abs(x) for _, x in found[1])
        high, low = max(values), min(values)
        return [float(x) for x in (high, low, max(high, -low), residual, moved)]


def law_of(shape, height, duration):
    if shape != "ramp":
        return jv.PulseLoad(shape, height, 0.0, duration)
    return jv.RecordLoad([0.0, duration], [0.0, height])


def shares_of_errors(shape, height, duration, w, ratio):
    """Return the errors over the error bars of each field, and over its scale."""
    found = jv.shock_spectrum(law_of(shape, height, duration), [w], ratio)
    exact = exact_extremes(pieces_of(shape, height, duration), w, ratio)
    off = np.array([float(getattr(found, f)[0]) - x for f, x in zip(FIELDS, exact,
                    strict=True)])  # fmt: skip
    bars = [float(found.error[0])] * 4 + [float(found.displacement_error[0])]
    scales = [exact[2]] * 4 + [exact[4]]
    return np.abs(off) / bars, np.abs(off) / scales


@pytest.mark.parametrize("ratio", [0.0, 0.05, 0.98, 0.999, 1.0, 1.2, 10.0])
@pytest.mark.parametrize("shape", ["half_sine", "ramp"])
def test_error_bars_hold_all_extremes_at_any_damping(shape, ratio):
    covered, relative = shares_of_errors(shape, 10.0, 1.0, 6.0, ratio)
    assert np.all(covered <= 1)
    assert np.all(relative < (5e-6 if shape == "half_sine" else 1e-12))


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
        ({"damping_ratio": 11.0}, "damping_ratio = 11"),
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
