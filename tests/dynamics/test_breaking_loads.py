"""Checked against: each law in numpy, integrated from break to break by scipy."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate

import jaxvib as jv
from jaxvib.dynamics.events import motion_kernel
from jaxvib.dynamics.motion import Want

ONE, STIFFNESS, DAMPING, HERTZ, STOP = jnp.ones(1), 30.0, 0.4, 2e3, 0.12
START, SPAN = np.array([0.02, 0.1]), 4.0
TIMES = np.array([0.0, 0.3, 0.5, 1.1, 1.7, 2.6, 3.3])
VALUES = np.array([0.0, 2.0, -1.0, 3.0, 1.0, -2.0, 0.0])
# Three-point slopes are those that numpy finds of neighbours at uneven distances.
BESSEL = scipy.interpolate.CubicHermiteSpline(
    TIMES, VALUES, np.gradient(VALUES, TIMES, edge_order=2)
)
_TURNS = np.concatenate([TIMES[:-1] - 3.3, TIMES, TIMES[1:] + 3.3])
_AGAIN = np.concatenate([VALUES[:-1], VALUES, VALUES[1:]])
REPEATED = scipy.interpolate.CubicHermiteSpline(_TURNS, _AGAIN, np.gradient(_AGAIN, _TURNS))


def pulses(begin, duration, every, shape):
    """Return a train of pulses of height 5, and its breaks."""
    starts = begin + every * np.arange(-2, 20)

    def force(t):
        x = (t - starts[starts <= t][-1]) / duration
        return 5.0 * shape(x) if x < 1 else 0.0

    return force, [starts, starts + duration, starts + duration / 2]


def chirp(t):
    s = t - 0.2
    return 4.0 * np.cos(2.0 * s + 28.0 / 6.0 * s**2) if 0 <= s < 3 else 0.0


# Each law as the library's, as a function of numpy, and its breaks.
LAWS = {
    "half sine": (
        jv.PulseLoad("half_sine", 5.0, 0.4, 0.3),
        lambda t: 5.0 * np.sin(np.pi * (t - 0.4) / 0.3) if 0.4 <= t < 0.7 else 0.0,
        [[0.4, 0.7]],
    ),
    "rectangles": (
        jv.PulseLoad("rectangle", 5.0, 0.4, 0.3, every=1.1),
        *pulses(0.4, 0.3, 1.1, lambda x: 1.0),
    ),
    "triangles": (
        jv.PulseLoad("triangle", 5.0, 0.4, 0.3, every=0.7),
        *pulses(0.4, 0.3, 0.7, lambda x: 1 - abs(2 * x - 1)),
    ),
    "record": (
        jv.RecordLoad(TIMES + 0.2, VALUES + 1.0),
        lambda t: np.interp(t, TIMES + 0.2, VALUES + 1.0, left=0.0, right=0.0),
        [TIMES + 0.2],
    ),
    "periodic record": (
        jv.RecordLoad(TIMES, VALUES, periodic=True),
        lambda t: np.interp(t % 3.3, TIMES, VALUES),
        [TIMES, TIMES + 3.3],
    ),
    "cubic record": (
        jv.RecordLoad(TIMES, VALUES, interpolation="cubic", scale=1.5),
        lambda t: 1.5 * float(BESSEL(t)) if t < 3.3 else 0.0,
        [TIMES],
    ),
    "periodic cubic record": (
        jv.RecordLoad(TIMES, VALUES, True, "cubic"),
        lambda t: float(REPEATED(t % 3.3)),
        [TIMES, TIMES + 3.3],
    ),
    "step": (jv.StepLoad(3.0, 0.6), lambda t: 3.0 * (t >= 0.6), [[0.6]]),
    "ramp": (
        jv.RampLoad(3.0, 0.6, 0.8),
        lambda t: 3.0 * np.clip((t - 0.6) / 0.8, 0.0, 1.0),
        [[0.6, 1.4]],
    ),
    "chirp": (jv.ChirpLoad(4.0, 2.0, 30.0, 3.0, start=0.2), chirp, [[0.2, 3.2]]),
}


def pushed(law, contacts=True):
    stop = jv.Contact(ONE, STOP, jv.HertzContact(HERTZ))
    linear = jv.LinearSystem([[1.0]], [[DAMPING]], [[STIFFNESS]])
    load = jv.AppliedLoad(ONE, law, name="push")
    return jv.ImpactSystem(linear, (stop,) if contacts else (), (load,))


def by_scipy(force, breaks, hertz=HERTZ):
    inside = {float(b) for row in breaks for b in row if 0 < b < SPAN}
    ends = [0.0, *sorted(inside), SPAN]
    state = START
    for begin, end in itertools.pairwise(ends):

        def rates(t, y, begin=begin, end=end):
            within = min(max(t, begin + 1e-13), end - 1e-13)
            push = force(within) - hertz * max(y[0] - STOP, 0.0) ** 1.5
            return [y[1], push - STIFFNESS * y[0] - DAMPING * y[1]]

        found = scipy.integrate.solve_ivp(
            rates, (begin, end), state, "DOP853", rtol=1e-12, atol=1e-13, max_step=0.01
        )
        state = found.y[:, -1]
    return state


@pytest.mark.parametrize("name", LAWS)
def test_a_law_is_its_formula_and_its_series(name):
    law, force, breaks = LAWS[name]
    times = np.random.default_rng(1).uniform(0.0, SPAN, 40)
    expected = [force(t) for t in times]

    @jax.jit
    @jax.vmap
    def looked_at(time):
        ahead = law.next_breakpoint(time)
        terms = law.series(time, (time + ahead) / 2, 12)
        return law.force(time), ahead, jnp.stack(terms)

    found, ahead, series = map(np.asarray, looked_at(times))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    known = np.sort(np.concatenate([np.ravel(row) for row in breaks]))
    for t, there, terms in zip(times, ahead, series, strict=True):
        later = known[known > t]
        assert np.isinf(there) or later.size
        if np.isfinite(there):
            assert np.min(np.abs(known - there)) < 1e-12
            short = min(1e-2, (there - t) / 2)
            value = sum(c * short**k for k, c in enumerate(terms))
            assert float(value) == pytest.approx(force(t + short), abs=1e-11)


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        ("periodic record", "diffrax"),
        ("chirp", "event"),
        pytest.param("rectangles", "diffrax", marks=slow),
        *(
            pytest.param(name, "event", marks=slow)
            for name in ("half sine", "triangles", "record", "step", "ramp")
        ),
    ],
)
def test_no_step_is_taken_over_a_break(name, engine):
    law, *known = LAWS[name]
    found = jv.flow(pushed(law), START, 0.0, SPAN, rtol=1e-11, engine=engine)
    np.testing.assert_allclose(found, by_scipy(*known), atol=1e-9)


def by_rectangle(amplitude, start, duration):
    """Return the state after a rectangle on an undamped body at rest: two steps."""
    w = np.sqrt(STIFFNESS)
    first, second = w * (SPAN - start), w * (SPAN - start - duration)
    height = amplitude / STIFFNESS
    place = height * (jnp.cos(second) - jnp.cos(first))
    return jnp.stack([place, height * w * (jnp.sin(first) - jnp.sin(second))])


def after_rectangle(engine, *numbers):
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[STIFFNESS]])
    load = jv.AppliedLoad(ONE, jv.PulseLoad("rectangle", *numbers))
    system = jv.ImpactSystem(linear, (), (load,))
    return jv.flow(system, jnp.zeros(2), 0.0, SPAN, rtol=1e-12, engine=engine)


@pytest.mark.parametrize(
    "engine",  # the slow one takes 2 s to compile
    ["event", pytest.param("diffrax", marks=slow)],
)
def test_derivatives_by_when_a_pulse_starts_and_ends_are_the_closed_forms(engine):
    numbers = tuple(map(jnp.asarray, (5.0, 0.4, 0.3)))

    def all_of(function):
        return function(*numbers), jax.jit(jax.jacfwd(function, argnums=(0, 1, 2)))(
            *numbers
        )

    found = all_of(lambda *p: after_rectangle(engine, *p))
    for ours, closed in zip(
        jax.tree.leaves(found), jax.tree.leaves(all_of(by_rectangle)), strict=True
    ):
        np.testing.assert_allclose(ours, closed, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["diffrax", "event"])
def test_second_derivatives_by_when_a_pulse_starts_and_ends_are_the_closed_forms(engine):
    times = jnp.array([0.4, 0.3])
    bend = [
        jax.jacfwd(jax.jacfwd(lambda t, f=f: f(5.0, *t)))(times)
        for f in (lambda *p: after_rectangle(engine, *p), by_rectangle)
    ]
    np.testing.assert_allclose(*bend, rtol=1e-7)


@pytest.mark.parametrize(
    "order",
    [1, pytest.param(2, marks=slow)],  # second derivatives compile for 2 s
)
def test_derivatives_at_a_contact_in_the_last_digit_are_those_of_the_flight(order):
    # Up to the time at which the body comes to the stop, and some last digits beside it.
    force, gap, now = 5.0, 0.1, jnp.asarray(STIFFNESS)
    stop = jv.Contact(ONE, gap, jv.LinearContact(900.0))
    load = jv.AppliedLoad(ONE, jv.PulseLoad("rectangle", force, 0.0, 3.0))

    def place(stiffness, end):
        linear = jv.LinearSystem([[1.0]], [[0.0]], jnp.reshape(stiffness, (1, 1)))
        system = jv.ImpactSystem(linear, (stop,), (load,))
        return jv.flow(system, jnp.zeros(2), 0.0, end, engine="event")[0]

    def closed(stiffness, end):
        return force / stiffness * (1 - jnp.cos(jnp.sqrt(stiffness) * end))

    slope, expected = place, closed
    for _ in range(order):
        slope, expected = jax.jacfwd(slope), jax.jacfwd(expected)
    touch = np.arccos(1 - gap * STIFFNESS / force) / np.sqrt(STIFFNESS)
    slope = jax.jit(slope)
    for end in touch + np.spacing(touch) * np.arange(-4, 5):
        np.testing.assert_allclose(slope(now, end), expected(now, end), rtol=1e-9)


def test_a_pulse_tears_a_block_off_that_sticks():
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[0.0]])
    knock = jv.AppliedLoad(ONE, jv.PulseLoad("rectangle", 3.0, 0.5, 0.2))
    system = jv.ImpactSystem(
        linear, (), (knock,), frictions=[jv.CoulombFriction(ONE, 1.0, static=1.5)]
    )
    found = jv.simulate(system, jnp.zeros(2), [0.0, 0.5, 0.7, 2.0])
    # 2 m/s^2 for 0.2 s, and then slower by 1 m/s^2 until it rests for good.
    expected = [[0.0, 0.0], [0.0, 0.0], [0.04, 0.4], [0.12, 0.0]]
    np.testing.assert_allclose(found.states, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: jv.PulseLoad("halfsine", 1.0, 0.0, 1.0), "did you mean 'half_sine'"),
        (lambda: jv.PulseLoad("rectangle", 1.0, 0.0, 1.0, every=0.5), "do not overlap"),
        (lambda: jv.PulseLoad("rectangle", 1.0, 0.0, 0.0), "duration = 0 s"),
        (lambda: jv.RecordLoad([0.0, 1.0], [1.0]), r"shapes \(2,\) and \(1,\)"),
        (lambda: jv.RecordLoad([0.0, 0.0], [1.0, 1.0]), "allowed: ascending times"),
        (lambda: jv.RecordLoad([0.0, 1.0], [1.0, 2.0], periodic=True), "end with 2 N"),
        (lambda: jv.ChirpLoad(1.0, 0.0, 1.0, 1.0), "first_frequency = 0 rad/s"),
    ],
)
def test_bad_laws_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_aperiodic_loads_have_no_period_and_periodic_ones_their_own():
    with pytest.raises(ValueError, match="load push = StepLoad is not periodic"):
        pushed(jv.StepLoad(1.0)).period()
    with pytest.raises(ValueError, match="is not periodic"):
        jv.periodic_orbit(pushed(jv.PulseLoad("half_sine", 1.0, 0.0, 1.0)))
    assert float(pushed(LAWS["rectangles"][0]).period()) == 1.1
    assert float(pushed(LAWS["periodic record"][0]).period()) == 3.3


@pytest.mark.slow  # traces a record of 500 points, 7 s
def test_a_long_record_is_a_kernel():
    times = np.linspace(0.0, 20.0, 500)
    law = jv.RecordLoad(times, np.sin(times), interpolation="cubic")
    system = jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[DAMPING]], [[STIFFNESS]]),
        (jv.Contact(ONE, STOP, jv.HertzContact(HERTZ)),),
        (jv.AppliedLoad(ONE, law),),
    )
    parameters, static = eqx.partition(system, eqx.is_inexact_array)
    lane = system.rest(), parameters, 0.0, 5.0, Want(1e-9)
    assert motion_kernel(static).unsupported_reason(*lane) == ""
