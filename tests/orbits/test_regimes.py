"""Checked against: single orbits, independent transients, the linear response."""

import jax
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import SettlingSettings, orbit_trajectories, regimes
from jaxvib.orbits.shooting.motion_kernels import shooting_kernel
from tests.independent import TwoBody, settle

system = jv.two_body_impact()
SAMPLES = {
    # The last two: a chaotic motion and one that no solver can follow.
    "load.amplitude": [300.0, 500.0, 800.0, 500.0, 1000.0, 1e200],
    "load.frequency": [5.8, 5.8, 6.5, 5.0, 7.2, 6.0],
}


@pytest.fixture(scope="module")
def found():
    return regimes(system, SAMPLES)


def test_each_sample_equals_its_single_call(found):
    for lane in range(4):
        values = {path: SAMPLES[path][lane] for path in SAMPLES}
        varied = jv.replace(system, values)
        alone = jv.periodic_orbit(varied, found.state[lane], int(found.periods[lane]))
        assert found.result[lane] == found.watched[lane] == 0
        np.testing.assert_allclose(found.state[lane], alone.state, rtol=1e-7)
        assert found.contacts[lane] == int(alone.contacts)
        assert found.stable[lane] == int(alone.stable) == 1


@pytest.mark.slow  # compiles orbit and sweep anew, 2 s
def test_a_single_orbit_and_a_sweep_share_their_program(found):
    shooting_kernel.cache_clear()
    jv.periodic_orbit(system, found.state[0])
    regimes(system, {path: values[:1] for path, values in SAMPLES.items()})
    assert shooting_kernel.cache_info().currsize == 1


@pytest.mark.slow  # a reference of 60 periods by scipy, 5 s
def test_an_independent_transient_converges_to_the_same_motion(found):
    for lane in (1, 2):
        other = TwoBody(
            contact_stiffness=float(system.contact.stiffness),
            load_amplitude=SAMPLES["load.amplitude"][lane],
            load_frequency=SAMPLES["load.frequency"][lane],
        )
        state = settle(other, 60 * int(found.periods[lane]))[-1]
        np.testing.assert_allclose(found.state[lane], state, atol=2e-4)


def test_a_bad_sample_is_recorded_and_loses_nothing_else(found):
    assert Reason(found.result[5]).failed
    assert np.isnan(found.max_contact_force[5])


def test_order_and_neighbours_change_no_bit(found):
    turned = regimes(system, {path: values[::-1] for path, values in SAMPLES.items()})
    back = jax.tree.map(lambda leaf: leaf[::-1], turned)
    jax.tree.map(np.testing.assert_array_equal, back, found)


@pytest.mark.slow  # compiles regimes for three phases, 3 s
def test_a_torus_is_one_whenever_in_its_period_it_is_looked_at():
    # At phase 0 the load's period begins in the midst of an impact.
    phases = np.array([0.0, 1.5, 3.0])
    point = {"load.amplitude": np.full(3, 285.7), "load.frequency": np.full(3, 6.952)}
    found = regimes(system, point | {"load.phase": phases})
    assert (found.result == Reason.QUASI_PERIODIC).all()
    assert (np.abs(found.lyapunov_exponent) < 3 * found.lyapunov_error).all()
    np.testing.assert_allclose(found.amplitude, found.amplitude[:1].repeat(3, 0), rtol=1e-3)


def test_traces_close_and_carry_their_forces(found):
    chosen = {path: values[:4] for path, values in SAMPLES.items()}
    some = jax.tree.map(lambda leaf: leaf[:4], found)
    traces = orbit_trajectories(system, chosen, some, points=65)
    assert traces.times.shape == (4, 65)
    np.testing.assert_allclose(traces.times[:, -1], some.period, rtol=1e-12)
    np.testing.assert_allclose(traces.states[:, -1], traces.states[:, 0], atol=1e-5)
    assert np.all(
        traces.contact_force.max(axis=(1, 2)) <= some.max_contact_force * (1 + 1e-6)
    )


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ({"load.amplitud": [1.0]}, "did you mean 'load.amplitude'"),
        ({"load.frequency": [5.0, 6.0], "gap": [0.1]}, "samples have shapes"),
        ({}, "samples have shapes"),
        ({"gap": [0.05, np.nan]}, r"gap = nan m is not in \[0, inf\)"),
    ],
)
def test_bad_samples_are_named(samples, message):
    with pytest.raises(ValueError, match=message):
        regimes(system, samples)


@pytest.mark.parametrize("periods", [40, 10**12])
def test_no_longer_periods_are_looked_for_than_segments_hold(periods):
    with pytest.raises(ValueError, match=f"max_periods = {periods:g}".replace("+", ".")):
        regimes(system, SAMPLES, settings=SettlingSettings(max_periods=periods))


def test_more_points_of_a_trace_than_fit_are_refused(found):
    with pytest.raises(ValueError, match=r"points = 1e.12 is not in"):
        orbit_trajectories(system, SAMPLES, found, points=10**12)


def test_an_unknown_engine_is_refused_where_it_is_set():
    with pytest.raises(ValueError, match=r"engine = 'evnet'; .*did you mean 'event'"):
        SettlingSettings(engine="evnet")


@pytest.mark.slow
def test_both_engines_converge_to_the_same_motions():
    samples = {path: [*values[:5], chaotic] for (path, values), chaotic in zip(
        SAMPLES.items(), [2000 / 11, 70 / 11], strict=True)}  # fmt: skip
    one, other = (
        regimes(system, samples, settings=SettlingSettings(engine=name))
        for name in ("diffrax", "event")
    )
    np.testing.assert_array_equal(other.result, one.result)
    np.testing.assert_array_equal(other.contacts[:5], one.contacts[:5])
    np.testing.assert_allclose(other.state[:5], one.state[:5], rtol=1e-7)
    # The chaotic motion is observed for as long, elsewhere on its attractor.
    assert one.result[5] == Reason.CHAOTIC
    assert one.watched[5] == other.watched[5] >= 512
    apart = other.lyapunov_exponent[5] - one.lyapunov_exponent[5]
    errors = [found.lyapunov_error[5] for found in (one, other)]
    assert 0 < np.hypot(*errors) < 0.03
    assert abs(apart) < 4 * np.hypot(*errors)
    for field in ("contacts_per_period", "amplitude"):
        np.testing.assert_allclose(
            getattr(other, field)[5], getattr(one, field)[5], rtol=0.1
        )


def light(damping=0.006):
    """Return a body of 1 kg on 1 N/m with a stop: 0.6 % of critical damping."""
    linear = jv.LinearSystem(np.eye(1), 2 * damping * np.eye(1), np.eye(1))
    stop = jv.Contact(np.ones(1), 1.0, jv.LinearContact(100.0), "stop")
    load = jv.AppliedLoad(np.ones(1), jv.HarmonicLoad(1.0, 5.0), "push")
    return jv.ImpactSystem(linear, (stop,), (load,))


FREQUENCIES = np.array([4.3, 5.0, 5.9])
STEADY = 1 / (1 - FREQUENCIES**2 + 0.012j * FREQUENCIES)


@pytest.fixture(scope="module")
def lightly_damped():
    """Return regimes of three motions that never touch and three that touch at first.

    The free motion, which dies out, is larger than the steady one by the frequency.
    """
    samples = {
        "loads.push.law.frequency": np.tile(FREQUENCIES, 2),
        "contacts.stop.gap": np.repeat([9.0, 3.0], 3) * np.tile(abs(STEADY), 2),
    }
    return regimes(light(), samples)


def test_a_motion_without_contact_is_of_period_1(lightly_damped):
    # 384 periods are three decay times: it was called quasi-periodic.
    some = jax.tree.map(lambda leaf: leaf[:3], lightly_damped)
    assert (some.result == 0).all()
    assert (some.periods == 1).all()
    assert (some.contacts == 0).all()
    assert (some.stable == 1).all()
    expected = np.stack([STEADY.real, -FREQUENCIES * STEADY.imag], axis=1)
    np.testing.assert_allclose(some.state, expected, atol=1e-9)


def test_a_motion_that_touches_at_first_only_is_of_period_1_too(lightly_damped):
    some = jax.tree.map(lambda leaf: leaf[3:], lightly_damped)
    assert (some.result == 0).all()
    assert (some.contacts == 0).all()
    np.testing.assert_allclose(some.amplitude[:, 0], abs(STEADY), rtol=1e-6)


def test_without_damping_nothing_is_called_a_regime():
    samples = {"loads.push.law.frequency": FREQUENCIES}
    found = regimes(light(damping=0.0), samples)
    assert (found.result == Reason.UNDAMPED).all()
    assert not np.isfinite(found.lyapunov_exponent).any()


@pytest.mark.parametrize("mass", [0.1, 2.0])
def test_a_ball_whose_table_does_not_throw_it_rests(mass):
    # Its weight holds it where the table's acceleration A w^2 is below g.
    shares, up = np.linspace(0.2, 0.97, 20), np.ones(1)
    samples = {
        "loads.table.motion.amplitude": [],
        "loads.table.motion.frequency": [],
        "contacts.0.law.restitution": [],
    }
    for restitution, hertz in ((0.3, 2.0), (0.5, 5.0), (0.8, 10.0)):
        frequency = 2 * np.pi * hertz
        columns = shares * 9.81 / frequency**2, frequency, restitution
        for values, column in zip(samples.values(), columns, strict=True):
            values.extend(np.broadcast_to(column, shares.shape))
    shaken = jv.HarmonicLoad(1e-3, 2 * np.pi)
    ball = jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[0.0]], [[0.0]]),
        contacts=[jv.Contact(up, 0.0, jv.RestitutionContact(0.8))],
        loads=[
            jv.AppliedLoad(up, jv.ConstantLoad(mass * 9.81)),
            jv.BaseMotion(up, shaken, given="displacement", name="table"),
        ],
    )
    found = regimes(ball, samples)
    np.testing.assert_array_equal(found.result, Reason.SUCCESS)
    np.testing.assert_array_equal(found.periods, 1)
    np.testing.assert_array_equal(found.contacts, 0)
    np.testing.assert_allclose(found.state, 0, atol=1e-14)
    np.testing.assert_array_equal(found.stable, 1)
