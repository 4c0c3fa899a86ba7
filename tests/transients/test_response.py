"""Checked against: closed forms of an oscillator, scipy, and diffrax."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxvib as jv
from jaxvib.systems.loads import PolynomialLoad
from jaxvib.transients import Limit

ONE = jnp.ones(1)
NOISE = jv.FilteredNoise.kanai_tajimi(2e4, 6.0, 0.4)
SOFT = jv.HertzContact(3.504e7)
SPAN = 6.0


def oscillator(law, mass=2.0, stiffness=50.0, damping=0.0):
    linear = jv.LinearSystem([[mass]], [[damping]], [[stiffness]])
    return jv.ImpactSystem(linear, (), (jv.AppliedLoad(ONE, law, "push"),))


def damper(seed, gap=0.01):
    load = NOISE.load(25.2, 24.0, seed)
    return jv.two_body_impact(gap=gap, contact=SOFT, load=load)


@pytest.mark.parametrize(
    "build",
    [
        lambda: NOISE.load(25.2, 24.0, 3),
        lambda: jv.RecordLoad([0.1, 0.4, 1.0, 1.1, 2.0], [1.0, 3.0, -2.0, 0.5, 1.0]),
        lambda: jv.RecordLoad([0.1, 0.4, 1.0, 2.0], [1.0, 3.0, -2.0, 1.0], periodic=True),
    ],
    ids=["noise", "record", "periodic record"],
)
def test_a_load_in_pieces_is_the_load(build):
    law = build()
    pieces = law.pieces()
    assert pieces is not None
    size, at = float(law.largest()), jax.jit(lambda time: pieces.at(time))
    forces = jax.jit(lambda load, times: jax.vmap(load.force)(times))
    for begin in np.random.default_rng(0).uniform(0.0, 55.0, 40):
        piece, end = at(begin)
        assert end > begin
        last = min(float(end), begin + 1.0)
        times = np.linspace(begin, last - 1e-9, 7)
        found, expected = (forces(each, times) for each in (piece, law))
        np.testing.assert_allclose(found, expected, atol=1e-9 * size)
        assert not np.isfinite(end) or at(end)[1] > end


def test_a_polynomial_is_developed_about_any_time():
    law = PolynomialLoad(1.0, [1.0, -2.0, 0.5, 3.0], 9.0, 1.0)
    rows = law.series(jnp.asarray(2.5), jnp.asarray(2.5), 9)
    exact = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])(
        np.polynomial.Polynomial([1.5, 1.0])
    )
    np.testing.assert_allclose(rows, exact.coef, rtol=1e-14)
    assert law.force(2.5) == pytest.approx(exact(0.0), rel=1e-14)


def test_a_step_has_the_response_of_the_textbook():
    force, stiffness, frequency = 4.0, 50.0, 5.0
    still = force / stiffness
    found = jv.response(
        oscillator(jv.StepLoad(force)),
        2 * np.pi / frequency,
        limits=[Limit(ONE, 1.5 * still), Limit(ONE, 3.0 * still), Limit(-ONE, 0.1, False)],
    )
    np.testing.assert_allclose(found.peak, [2 * still], rtol=1e-9)
    np.testing.assert_allclose(found.peak_time, [np.pi / frequency], rtol=1e-6)
    np.testing.assert_allclose(found.mean, [still], rtol=1e-9)
    np.testing.assert_allclose(found.mean_square, [1.5 * still**2], rtol=1e-9)
    speed = (still * frequency) ** 2 / 2
    np.testing.assert_allclose(found.mean_square_velocity, [speed], rtol=1e-9)
    np.testing.assert_allclose(found.root_mean_square**2, found.mean_square, rtol=1e-14)
    passage = np.arccos(-0.5) / frequency
    np.testing.assert_allclose(found.first_passage, [passage, np.inf, np.inf], rtol=1e-8)
    np.testing.assert_allclose(found.extreme[:2], 2 * still, rtol=1e-9)
    assert found.result == 0
    assert "+-" in repr(found)


LATE = pytest.mark.parametrize("start", [0.0, 1.0, 100.0, 1e4])
ENGINES = pytest.mark.parametrize("engine", ["event", "diffrax"])


@LATE
@ENGINES
def test_a_rectangle_has_the_response_of_the_textbook_at_any_time(engine, start):
    force, stiffness, frequency, lead, duration = 4.0, 50.0, 5.0, 0.4, 0.3
    pulse = jv.PulseLoad("rectangle", force, start + lead, duration)
    span = lead + duration + 2 * np.pi / frequency
    found = jv.response(oscillator(pulse), span, start=start, engine=engine)
    still, half = force / stiffness, frequency * duration / 2
    peak = 2 * still * np.sin(half)
    last = peak * np.array([np.sin(half), frequency * np.cos(half)])  # a period later
    times = np.pi / frequency * np.array([0.5, 1.5])
    np.testing.assert_allclose(found.state, last, rtol=0, atol=1e-8)
    assert abs(found.peak[0] - peak) <= found.peak_error[0] <= 3e-5 * peak
    late = found.peak_time[0] - start - lead - duration / 2
    assert np.min(np.abs(late - times)) < 1e-5


@LATE
@pytest.mark.parametrize("engine", ["event", "diffrax"])
def test_a_hundred_pulses_lose_no_time_at_their_edges(engine, start):
    frequency, every, duration, span = 1e3, 2.0**-7, 2.0**-9, 0.75
    law = jv.PulseLoad("rectangle", 1.0, start, duration, every=every)
    system = oscillator(law, 1.0, frequency**2)
    found = jv.response(system, span, start=start, rtol=1e-10, engine=engine)
    edges = np.arange(0.0, span, every)[:, None] + [0.0, duration]
    angles = frequency * (span - edges)
    place, speed = np.cos(angles), np.sin(angles)
    expected = [np.sum(place[:, 1] - place[:, 0]), np.sum(speed[:, 0] - speed[:, 1])]
    scaled = found.state * jnp.array([frequency**2, frequency])
    np.testing.assert_allclose(scaled, expected, rtol=0, atol=1e-7)


@LATE
@ENGINES
def test_a_rectangle_presses_a_stop_as_scipy_says_at_any_time(engine, start):
    force, stiffness, lead, duration, span, gap, stop = 4.0, 50.0, 0.3, 0.8, 2.5, 0.1, 900.0

    def rates(time, state, push, touches):
        pressed = stop * (state[0] - gap) if touches else 0.0
        return [state[1], (push - stiffness * state[0] - pressed) / 2.0]

    def at(time, state, *_):
        return state[0] - gap

    def top(time, state, *_):
        return state[1]

    at.terminal = True
    time, state, peak, touches = 0.0, np.zeros(2), 0.0, False
    for end, push in ((lead, 0.0), (lead + duration, force), (span, 0.0)):
        while time < end:
            at.direction = -1 if touches else 1
            found = scipy.integrate.solve_ivp(
                rates, (time, end), state, "DOP853", events=(at, top), args=(push, touches),
                rtol=1e-12, atol=1e-14,
            )  # fmt: skip
            time, state = found.t[-1], found.y[:, -1]
            tops = [found.y.T, *(each for each in found.y_events if each.size)]
            peak = max(peak, *(np.abs(each[:, 0]).max() for each in tops))
            touches = touches != (found.status == 1)
    load = jv.AppliedLoad(ONE, jv.PulseLoad("rectangle", force, start + lead, duration))
    linear = jv.LinearSystem([[2.0]], [[0.0]], [[stiffness]])
    system = jv.ImpactSystem(
        linear, (jv.Contact(ONE, gap, jv.LinearContact(stop)),), (load,)
    )
    found = jv.response(system, span, start=start, engine=engine)
    assert found.contacts[0] >= 1
    np.testing.assert_allclose(found.state, state, rtol=0, atol=3e-8)
    assert abs(found.peak[0] - peak) <= found.peak_error[0] <= 1e-4 * peak


def test_noise_on_a_linear_system_moves_it_as_scipy_says():
    load = NOISE.load(25.2, 24.0, 1)
    system = oscillator(load, 1000.0, 39000.0, 900.0)
    found = jv.response(system, SPAN)
    orders = float(load.frequency) * np.arange(1, load.cosine.size + 1)
    cosine, sine = np.asarray(load.cosine), np.asarray(load.sine)

    def rates(t, y):
        force = cosine @ np.cos(orders * t) + sine @ np.sin(orders * t)
        return [y[1], (force - 900.0 * y[1] - 39000.0 * y[0]) / 1000.0]

    times = np.linspace(0.0, SPAN, 601)
    exact = scipy.integrate.solve_ivp(
        rates, (0.0, SPAN), [0.0, 0.0], "DOP853", times, rtol=1e-11, atol=1e-13
    ).y
    np.testing.assert_allclose(found.state, exact[:, -1], atol=1e-9)
    sampled = np.max(np.abs(exact[0]))
    assert found.peak[0] >= sampled
    assert found.peak[0] == pytest.approx(sampled, rel=1e-3)
    squares = scipy.integrate.simpson(exact**2, dx=SPAN / 600) / SPAN
    for field, square in zip(("mean_square", "mean_square_velocity"), squares, strict=True):
        assert getattr(found, field)[0] == pytest.approx(square, rel=1e-6)


@pytest.mark.slow  # compiles the response by two engines, 10 s
def test_with_contacts_it_is_that_of_steps_within_its_error():
    system, limits = damper(1), [Limit(jnp.array([1.0, -1.0]), 0.15)]
    found = jv.response(system, SPAN, limits=limits)
    other = jv.response(system, SPAN, limits=limits, engine="diffrax", rtol=1e-11)
    assert found.contacts[0] == other.contacts[0] > 2
    assert np.all(np.abs(found.peak - other.peak) <= found.peak_error)
    assert np.all(np.abs(found.mean_square - other.mean_square) <= found.mean_square_error)
    for field in ("max_contact_force", "first_passage", "extreme", "state", "peak_time"):
        actual, expected = getattr(found, field), getattr(other, field)
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow  # compiles a response and a flow with breaks, 3 s
def test_a_record_is_answered_as_the_engine_answers_its_breaks():
    times = np.linspace(0.0, 2.0, 21)
    values = np.random.default_rng(5).normal(size=21)
    system = oscillator(jv.RecordLoad(times, values), damping=0.4)
    found = jv.response(system, 3.0)
    state = jv.flow(system, [0.0, 0.0], 0.0, 3.0, engine="diffrax", rtol=1e-12)
    np.testing.assert_allclose(found.state, state, atol=1e-9)


@pytest.mark.slow  # compiles a response to noise alone and under vmap, 5 s
def test_under_jit_and_vmap_it_is_that_of_each():
    loads, system = NOISE.loads(25.2, 24.0, [4, 5, 6]), damper(0)

    def one(load):
        return jv.response(system.with_law(0, load), SPAN)

    found = jax.jit(jax.vmap(one))(loads)
    for i in range(3):
        alone = one(jax.tree.map(lambda leaf, i=i: leaf[i], loads))
        for field in ("peak", "mean_square", "state", "contacts"):
            actual, expected = getattr(found, field)[i], getattr(alone, field)
            np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_of_a_step_all_derivatives_are_the_closed_ones():
    stiffness, frequency, level = 50.0, 5.0, 0.12

    def found(force):
        limits = [Limit(ONE, jnp.asarray(level))]
        step = oscillator(jv.StepLoad(jnp.asarray(1.0))).with_law(0, jv.StepLoad(force))
        answer = jv.response(step, 1.1, limits=limits)
        fields = answer.peak, answer.first_passage, answer.extreme, answer.mean_square
        return jnp.concatenate([*fields, answer.state])

    force = 4.0
    slopes = jax.jit(jax.jacfwd(found))(jnp.asarray(force))
    still, part = force / stiffness, 1 - level * stiffness / force
    passage = -level * stiffness / force**2 / np.sqrt(1 - part**2) / frequency
    end = np.array([1 - np.cos(1.1 * frequency), frequency * np.sin(1.1 * frequency)])
    swing = 1.5 * 1.1 - 2 * np.sin(5.5) / 5.0 + np.sin(11.0) / 20.0
    exact = [2.0, passage * stiffness, 2.0, 2 * still * swing / 1.1, *end]
    np.testing.assert_allclose(slopes * stiffness, exact, rtol=1e-7)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        (jax.jacrev, jax.jacfwd),
        (jax.jacfwd, jax.jacfwd),
        (jax.jacfwd, jax.jacrev),
        (jax.jacrev, jax.jacrev),
    ],
)
@pytest.mark.slow  # compiles second derivatives of a response, 12 s each
def test_second_derivatives_are_the_closed_ones_forward_and_reverse(outer, inner):
    span, level = 1.1, 0.12

    def found(numbers):
        linear = jv.LinearSystem([[2.0]], [[0.0]], jnp.reshape(numbers[1], (1, 1)))
        load = jv.AppliedLoad(ONE, jv.StepLoad(numbers[0]))
        limits = [Limit(ONE, level, both=False)]
        answer = jv.response(jv.ImpactSystem(linear, (), (load,)), span, limits=limits)
        times = answer.peak_time, answer.first_passage
        return jnp.concatenate([answer.peak, *times, answer.mean_square, answer.state])

    def closed(numbers):
        still, frequency = numbers[0] / numbers[1], jnp.sqrt(numbers[1] / 2)
        angle = frequency * span
        swing = 1.5 - 2 * jnp.sin(angle) / angle + jnp.sin(2 * angle) / (4 * angle)
        passage = jnp.arccos(1 - level / still) / frequency
        end = 1 - jnp.cos(angle), frequency * jnp.sin(angle)
        times = jnp.pi / frequency, passage
        parts = still**2 * swing, *(still * part for part in end)
        return jnp.stack([2.0 * still, *times, *parts])

    numbers = jnp.array([4.0, 50.0])
    exact = jax.jacfwd(jax.jacfwd(closed))(numbers)
    np.testing.assert_allclose(outer(inner(found))(numbers), exact, rtol=1e-7, atol=1e-12)


@pytest.mark.slow  # compiles derivatives of a response, 4 s
@pytest.mark.parametrize(
    ("damping", "strongest"), [(300.0, "at the onset"), (60.0, "later")]
)
def test_derivatives_with_a_force_that_jumps_are_the_closed_ones(damping, strongest):
    # A free body flies at a damped stop, is let go where this would pull, and flies on.
    mass, stiffness, gap, end = 2.0, 3e4, 0.1, 0.3

    def found(speed):
        contact = jv.Contact(ONE, gap, jv.KelvinVoigtContact(stiffness, damping))
        body = jv.ImpactSystem(jv.LinearSystem([[mass]], [[0.0]], [[0.0]]), (contact,))
        answer = jv.response(body, end, jnp.stack([jnp.zeros(()), speed]))
        fields = answer.max_contact_force, answer.highest, answer.mean, answer.state
        return jnp.concatenate(fields)

    decay, stiff = damping / (2 * mass), stiffness / mass
    turns = np.sqrt(stiff - decay**2)
    times = np.linspace(0.0, np.pi / turns, 200001)
    place = np.exp(-decay * times) * np.sin(turns * times) / turns  # by a unit of speed
    rate = np.exp(-decay * times) * np.cos(turns * times) - decay * place
    force = stiffness * place + damping * rate
    last = np.flatnonzero(force > 0)[-1]
    assert (np.argmax(force) == 0) == (strongest == "at the onset")
    at, speed = gap / 0.7, 0.7
    left = end - at - times[last]  # a contact lasts as long, whatever the speed
    part = scipy.integrate.simpson(place[: last + 1], x=times[: last + 1])
    mean = -gap * gap / (2 * speed**2) + gap**2 / speed**2  # flight up to the stop, and gap
    mean += part + place[last] * left + rate[last] * left**2 / 2
    mean += speed * (place[last] * at / speed + rate[last] * left * at / speed)
    exact = [
        np.max(force),
        np.max(place),
        mean / end,
        place[last] + rate[last] * (left + at),
        rate[last],
    ]
    slopes = jax.jit(jax.jacfwd(found))(jnp.asarray(speed))
    np.testing.assert_allclose(slopes, exact, rtol=1e-5)


@pytest.mark.slow  # compiles derivatives of a response, 3 s
def test_a_body_that_a_hard_stop_throws_back_goes_no_farther_whatever_its_speed():
    gap, restitution, end = 0.1, 0.6, 0.3

    def found(speed):
        contact = jv.Contact(ONE, gap, jv.RestitutionContact(restitution))
        body = jv.ImpactSystem(jv.LinearSystem([[2.0]], [[0.0]], [[0.0]]), (contact,))
        answer = jv.response(body, end, jnp.stack([jnp.zeros(()), speed]))
        return jnp.concatenate([answer.highest, answer.peak_time, answer.state])

    slopes = jax.jit(jax.jacfwd(found))(jnp.asarray(0.7))
    exact = [0.0, -gap / 0.7**2, -restitution * end, -restitution]
    np.testing.assert_allclose(slopes, exact, rtol=1e-9, atol=1e-9)


FIELDS = ("highest", "lowest", "peak_time", "state", "max_contact_force", "extreme",
          "first_passage")  # fmt: skip


def rattling(numbers, engine, fields=FIELDS):
    """Return numbers of a response of bodies that collide many times."""
    law = COLLIDING.load
    load = eqx.tree_at(
        lambda law: (law.cosine, law.sine),
        law,
        (law.cosine * numbers[0], law.sine * numbers[0]),
    )
    changed = jv.replace(
        COLLIDING.with_law(0, load), {"attached.frequency": numbers[1], "gap": numbers[2]}
    )
    answer = jv.response(
        changed, 3.0, rtol=1e-10, engine=engine,
        limits=[Limit(jnp.array([1.0, -1.0]), 0.05)],
    )  # fmt: skip
    return jnp.concatenate([getattr(answer, name) for name in fields])


COLLIDING, NUMBERS = damper(1), jnp.array([1.0, 5.646, 0.01])
MEANS = ("mean", "mean_square", "mean_square_velocity")
by_events = functools.partial(rattling, engine="event", fields=(*FIELDS, *MEANS))


@functools.cache
def slopes_by_events():
    return np.asarray(jax.jit(jax.jacfwd(by_events))(NUMBERS))


@pytest.mark.slow
def test_with_contacts_derivatives_are_differences_forward_and_reverse():
    value, forward = jax.jit(by_events), slopes_by_events()
    for i, step in enumerate((1e-4, 1e-4, 1e-6)):
        moved = np.zeros(3)
        moved[i] = step
        ends = [np.asarray(value(NUMBERS + k * moved)) for k in (-2, -1, 1, 2)]
        slope = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        np.testing.assert_allclose(forward[:, i], slope, rtol=1e-5, atol=1e-7)
    reverse = jax.jit(jax.jacrev(by_events))(NUMBERS)
    np.testing.assert_allclose(reverse, forward, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_derivatives_by_steps_are_those_by_events():
    """Their differences are their tolerance over the change."""
    by_steps = functools.partial(rattling, engine="diffrax", fields=(*FIELDS, *MEANS))
    found = jax.jit(jax.jacfwd(by_steps))(NUMBERS)
    np.testing.assert_allclose(found, slopes_by_events(), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"duration": 0.0}, "duration = 0 s"),
        ({"start": np.nan}, "start = nan s"),
        ({"start": 1e20}, "duration = 1 s is lost to rounding at start = 1e.20 s"),
        ({"rtol": 0.1}, "rtol = 0.1"),
        ({"engine": "evnet"}, "did you mean 'event'"),
        ({"state": [0.0]}, r"state has shape \(1,\)"),
        ({"limits": [Limit([1.0], 0.1)]}, r"limit 0: direction has shape \(1,\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        jv.response(damper(0), **{"duration": 1.0, **arguments})


def test_a_field_without_displacements_is_refused():
    field = jv.forced_system(
        lambda t, x, p: -x, parameters={"w": 1.0}, period=lambda p: 1.0, dimension=1
    )
    with pytest.raises(ValueError, match="has no displacements"):
        jv.response(field, 1.0)


def test_an_invalid_time_has_no_response():
    pushed = oscillator(jv.HarmonicLoad(1.0, 3.0))

    def peak(start, duration):
        found = jv.response(pushed, duration, start=start, engine="event", throw=False)
        return found.peak[0], found.result

    for times in ((np.nan, 1.0), (np.inf, 1.0), (1e20, 1.0), (0.0, -1.0), (0.0, np.nan)):
        highest, result = jax.jit(peak)(*map(jnp.asarray, times))
        assert np.isnan(highest)
        assert result == jv.Reason.BAD_PARAMETER


@pytest.mark.slow  # compiles a response with three limits, 2 s
def test_a_level_at_which_a_motion_starts_is_reached_then():
    # Let go where the level is: the free oscillator never comes further.
    still = oscillator(jv.ConstantLoad(0.0))
    limits = [Limit(ONE, 0.3), Limit(ONE, 0.3, both=False), Limit(-ONE, 0.3, both=False)]
    found = jv.response(still, 1.0, [0.3, 0.0], limits=limits, start=2.0)
    np.testing.assert_array_equal(found.first_passage[:2], 2.0)
    np.testing.assert_allclose(found.extreme, 0.3, rtol=1e-9)


def test_a_level_of_nothing_is_refused():
    with pytest.raises(ValueError, match="level = 0 m"):
        Limit([1.0], 0.0)
    with pytest.raises(ValueError, match="direction of a limit = 0"):
        Limit([0.0], 1.0)
