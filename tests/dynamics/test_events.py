"""Checked against: tests.independent, matrix exponentials, closed forms, diffrax."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv
from jaxvib.dynamics.engines import engine_for
from jaxvib.dynamics.events import Request, integrate_events
from jaxvib.dynamics.flow import observe, solve_system
from jaxvib.ensemble import Reason
from tests.independent import Linear, Load, Touch, TwoBody, motion
from tests.places import check_same
from tests.systems_table import RIGID, SOFT

SPAN = 2.2
base = jv.two_body_impact(contact=jv.HertzContact(SOFT))
PATHS = ("contact.stiffness", "gap", "load.amplitude", "load.frequency")
start = np.array([0.02, 0.17, 0.4, -0.3])


def varied(values):
    return jv.replace(base, dict(zip(PATHS, values, strict=True)))


@functools.partial(jax.jit, static_argnames="engine")
def observables(values, states, rtol, engine="event"):
    def one(values, state):
        return observe(
            varied(values), state, 0.0, SPAN, rtol=rtol, grazing=1e-9, engine=engine
        )

    return jax.vmap(one)(values, states)


def lanes(*rows):
    return jnp.asarray(rows, float)


# Rigid and soft, without a gap at rest, through a start in contact, and never touching.
VALUES = lanes(
    (RIGID, 0.05, 500.0, 5.8),
    (SOFT, 0.05, 500.0, 5.8),
    (RIGID, 0.0, 300.0, 6.4),
    (SOFT, 0.0, 800.0, 5.1),
    (SOFT, 0.05, 500.0, 7.0),
    (SOFT, 50.0, 500.0, 5.8),
)
STATES = lanes(
    start, start, (0.02, 0.03, 0.4, -0.3), (0.0, 0.0, 0.0, 0.0), (0.1, 0.099, 0.2, 0.1),
    (0.02, 50.0, 0.4, -0.3),
)  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return observables(VALUES, STATES, 1e-9)


# The fourth starts at rest on its contact, where tests.independent sees none.
@pytest.mark.parametrize("lane", [0, 1, 2, 4, 5])
def test_motions_and_their_contacts_are_the_independent_ones(found, lane):
    state, seen, result = jax.tree.map(lambda leaf: leaf[lane], found)
    stiffness, gap, amplitude, frequency = np.asarray(VALUES[lane])
    other = TwoBody(
        contact_stiffness=stiffness, gap=gap, load_amplitude=amplitude,
        load_frequency=frequency,
    )  # fmt: skip
    expected = motion(other, np.asarray(STATES[lane]), 0, SPAN)
    assert int(result) == 0
    size = np.abs(expected.state).max()
    np.testing.assert_allclose(state, expected.state, rtol=0, atol=1e-8 * size)
    begun = [meeting for meeting in expected.meetings if meeting.begin > 0]
    assert int(seen.onsets[0]) == len(begun)
    lasted = sum(meeting.end - meeting.begin for meeting in expected.meetings)
    assert float(seen.duration[0]) == pytest.approx(lasted, rel=1e-6)
    strongest = max((meeting.peak_force for meeting in expected.meetings), default=0.0)
    force = stiffness * max(float(seen.deepest[0]), 0.0) ** 1.5
    assert force == pytest.approx(strongest, rel=1e-6)


def test_observables_are_those_of_the_other_engine(found):
    _, theirs, _ = observables(VALUES, STATES, 1e-12, engine="diffrax")
    _, ours, _ = found
    for name in ("highest", "lowest", "deepest", "nearest", "touching"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-9, err_msg=name
        )


def test_the_error_follows_the_tolerance():
    exact = observables(VALUES, STATES, 1e-11)[0]
    for rtol in (1e-5, 1e-7):
        state = observables(VALUES, STATES, rtol)[0]
        error = jnp.abs(state - exact).max(1) / jnp.abs(exact).max(1)
        assert float(error.max()) < 100 * rtol
        assert float(error.max()) > 1e-6 * rtol  # it is what is asked for, not more


def test_a_bad_lane_has_its_reason_and_no_lane_feels_it(found):
    values = VALUES.at[1, 2].set(jnp.inf)
    states = STATES.at[2, 0].set(jnp.nan)
    state, _, result = observables(values, states, 1e-9)
    assert [int(code) for code in result[1:3]] == [Reason.BAD_PARAMETER] * 2
    assert np.all(np.isnan(state[1:3]))
    for good in (0, 3, 4, 5):
        np.testing.assert_array_equal(state[good], found[0][good])


def test_a_failed_motion_has_no_derivatives():
    def end(gap):
        return jv.flow(jv.replace(base, {"gap": gap}), start, 0.0, SPAN, engine="event")

    slopes = jax.jit(jax.vmap(jax.jacfwd(end)))(jnp.array([0.05, jnp.inf]))
    assert np.all(np.isfinite(slopes[0]))
    assert np.all(np.isnan(slopes[1]))


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-9, -1e-9])
def test_no_contact_is_passed_however_shallow(depth):
    # The attached body swings about its rest; what it lacks of touching is found first.
    values = lanes((1e4, 0.1 - depth, 0.0, 5.8)).repeat(6, 0)
    swing = lanes((0.0, 0.2 - depth, 0.0, 0.0)).repeat(6, 0)
    _, seen, result = observables(values, swing, 1e-9)
    _, theirs, _ = observables(values, swing, 1e-12, engine="diffrax")
    assert int(result[0]) == 0
    assert int(seen.onsets[0, 0]) == int(theirs.onsets[0, 0])
    assert float(seen.deepest[0, 0]) == pytest.approx(
        float(theirs.deepest[0, 0]), rel=1e-4, abs=1e-11
    )


def test_apart_the_motion_is_the_matrix_exponential(found):
    mass, damping, stiffness = (np.asarray(m) for m in base.matrices())
    inverse = np.linalg.inv(mass)
    whole = np.zeros((6, 6))
    whole[:2, 2:4] = np.eye(2)
    whole[2:4, :2], whole[2:4, 2:4] = -inverse @ stiffness, -inverse @ damping
    # The load as two more states, cos and sin.
    whole[2:4, 4] = inverse[:, 0] * 500.0
    whole[4, 5], whole[5, 4] = -5.8, 5.8
    offset = np.array([0.0, 50.0, 0.0, 0.0])
    begin = np.asarray(STATES[5]) - offset
    expected = scipy.linalg.expm(whole * SPAN) @ [*begin, 1.0, 0.0]
    np.testing.assert_allclose(found[0][5], expected[:4] + offset, rtol=0, atol=1e-11)


def test_a_linear_stop_bounces_as_its_closed_form():
    # Between the stops v, on one a half sine of w = sqrt(k/m): straight lines and arcs.
    one = jnp.array([1.0])
    stops = (
        jv.Contact(one, 0.2, jv.LinearContact(400.0)),
        jv.Contact(-one, 0.1, jv.LinearContact(900.0)),
    )
    system = jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), 0 * jnp.eye(1), 0 * jnp.eye(1)), stops
    )
    there, back = jnp.pi / 20.0, jnp.pi / 30.0  # on the stops
    cycle = there + back + 2 * 0.3 / 1.5
    times = jnp.array([0.1, 0.2 / 1.5 + there / 2, 0.9 * cycle, 7.25 * cycle])
    end = jax.jit(
        jax.vmap(
            lambda t: jv.flow(
                system, jnp.array([0.0, 1.5]), 0.0, t, rtol=1e-10, engine="event"
            )
        )
    )(times)

    def closed(t):
        t = t % cycle
        legs = [
            (0.2 / 1.5, 0.0, 1.5, 0),
            (there, 0.2, 1.5, 20.0),
            (0.3 / 1.5, 0.2, -1.5, 0),
            (back, -0.1, -1.5, 30.0),
            (0.1 / 1.5, -0.1, 1.5, 0),
        ]
        for span, x, v, w in legs:
            if t <= span:
                if w:
                    return x + v / w * np.sin(w * t), v * np.cos(w * t)
                return x + v * t, v
            t -= span
        raise AssertionError(t)

    np.testing.assert_allclose(end, [closed(float(t)) for t in times], atol=1e-9)


def row_of_bodies():
    """Three bodies in a row, each on its spring, that hit each other and a wall."""
    mass = np.diag([1.0, 2.0, 1.5])
    stiffness = np.diag([40.0, 30.0, 50.0])
    damping = 0.01 * stiffness
    touches = (
        Touch([1.0, -1.0, 0.0], 0.02, 4e6),
        Touch([0.0, 1.0, -1.0], 0.02, 2e6),
        Touch([0.0, 0.0, 1.0], 0.02, 9e6),
    )
    load = Load([1.0, 0.0, 0.0], 12.0, 6.0)
    other = Linear(mass, damping, stiffness, touches, (load,))
    system = jv.ImpactSystem(
        jv.LinearSystem(mass, damping, stiffness),
        tuple(
            jv.Contact(jnp.asarray(t.direction), t.gap, jv.HertzContact(t.stiffness))
            for t in touches
        ),
        (jv.AppliedLoad(jnp.asarray(load.direction), jv.HarmonicLoad(12.0, 6.0)),),
    )
    return system, other


@pytest.mark.slow
def test_several_contacts_closed_at_once():
    system, other = row_of_bodies()
    begin = np.array([0.0, 0.0, 0.0, 2.0, 0.1, 0.0])  # through the row like Newton's cradle
    end = jax.jit(lambda t: jv.flow(system, begin, 0.0, t, rtol=1e-10, engine="event"))
    # The end falls into a time when two are closed, and long after.
    whole = motion(other, begin, 0, 1.2)
    pairs = sorted(whole.meetings, key=lambda meeting: meeting.begin)
    overlaps = [
        (b.begin + min(a.end, b.end)) / 2
        for a, b in itertools.pairwise(pairs)
        if b.begin < a.end
    ]
    assert len(whole.meetings) > 3
    assert overlaps
    for time in (overlaps[0], 1.2):
        expected = motion(other, begin, 0, time).state
        size = np.abs(expected).max()
        np.testing.assert_allclose(end(time), expected, rtol=0, atol=1e-7 * size)


def side_by_side(count, law):
    """Bodies that are all alike, and joined to nothing, each with a stop of its own."""
    contacts = [jv.Contact(row, 0.1, law) for row in np.eye(count)]
    linear = jv.LinearSystem(*(c * np.eye(count) for c in (1.0, 0.1, 4.0)))
    load = jv.AppliedLoad(np.ones(count), jv.HarmonicLoad(5.0, 3.0))
    return jv.ImpactSystem(linear, contacts, (load,))


@pytest.mark.parametrize(
    ("count", "law"),
    [
        (2, jv.HertzContact(3e3)),
        pytest.param(3, jv.HuntCrossleyContact(3e5, 0.2), marks=pytest.mark.slow),
    ],
)
def test_contacts_that_begin_and_end_at_the_same_instants(count, law):
    for end in (0.9, 2.3, 3.1, 5.7):
        alone = jv.flow(side_by_side(1, law), [0.0, 0.5], 0.0, end, engine="event")
        start = np.repeat([0.0, 0.5], count)
        found = jv.flow(side_by_side(count, law), start, 0.0, end, engine="event")
        np.testing.assert_allclose(found, np.repeat(alone, count), rtol=0, atol=2e-9)


@pytest.mark.slow  # compiles derivatives of three contacts, 7 s
def test_columns_through_contacts_at_the_same_instants_are_those_of_one():
    def columns(count):
        system, begin = side_by_side(count, jv.HertzContact(3e3)), [0.0, 0.5]
        end = functools.partial(jv.flow, system, t0=0.0, t1=1.5, engine="event")
        return jax.jit(jax.jacfwd(end))(jnp.asarray(np.repeat(begin, count)))

    expected = np.kron(columns(1), np.eye(3))
    np.testing.assert_allclose(columns(3), expected, rtol=0, atol=1e-8)


@pytest.mark.slow  # traces six contacts, 4 s
def test_a_contact_more_is_no_multiple_of_a_program():
    def operations(count):
        law = jv.HertzContact(3e5)
        equation = side_by_side(count, law).equation()
        travel_of = functools.partial(integrate_events, request=Request(order=12))
        rest = jnp.zeros(2 * count)
        program = jax.make_jaxpr(travel_of)(equation, rest, 0.0, 1.0, 1e-6)
        return len(str(program).splitlines())

    assert operations(6) < 3 * operations(3)


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [RIGID, SOFT])
def test_columns_are_those_of_the_variational_equations(stiffness):
    system = jv.replace(base, {"contact.stiffness": stiffness})

    def end(system, state, time):
        return jv.flow(system, state, 0.0, time, rtol=1e-10, engine="event")

    state = jnp.asarray(start)
    found, by_state, by_time = jax.jit(jax.jacfwd(end, (0, 1, 2)))(system, state, SPAN)
    names = ["load_amplitude", "load_frequency", "gap", "contact_stiffness"]
    other = TwoBody(contact_stiffness=stiffness)
    expected = motion(other, start, 0, SPAN, names)
    scale = np.abs(expected.monodromy).max()
    np.testing.assert_allclose(by_state, expected.monodromy, rtol=0, atol=1e-6 * scale)
    columns = (
        found.load.amplitude,
        found.load.frequency,
        found.gap,
        found.contact.stiffness,
    )
    for ours, theirs in zip(columns, expected.columns.T, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())
    rate = system.equation().vector_field(jnp.asarray(SPAN), end(system, state, SPAN))
    np.testing.assert_allclose(by_time, rate, rtol=1e-6)
    backward = jax.jit(jax.jacrev(lambda s: end(system, s, SPAN)))(state)
    np.testing.assert_allclose(backward, by_state, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.slow
def test_columns_through_several_contacts_are_the_other_engines():
    system, _ = row_of_bodies()
    stop = eqx.tree_at(lambda c: c.law, system.contacts[1], jv.LinearContact(8e4))
    system = eqx.tree_at(lambda s: s.contacts[1], system, stop)
    begin = jnp.array([0.0, 0.0, 0.0, 2.0, 0.1, 0.0])

    def end(state, values, times, engine):
        paths = ("contacts.0.gap", "contacts.0.law.stiffness", "loads.0.law.frequency")
        varied = jv.replace(system, dict(zip(paths, values, strict=True)))
        return jv.flow(varied, state, *times, rtol=1e-10, engine=engine)

    by = jax.jit(jax.jacfwd(end, (0, 1, 2)), static_argnums=3)
    for time in (0.05, 0.6):
        given = begin, jnp.array([0.02, 4e6, 6.0]), jnp.array([0.01, time])
        for ours, theirs in zip(by(*given, "event"), by(*given, "diffrax"), strict=True):
            ours, theirs = np.asarray(ours), np.asarray(theirs)
            sizes = np.abs(theirs).max(0)
            np.testing.assert_allclose(ours / sizes, theirs / sizes, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_a_contact_that_opens_from_rest_is_left_in_few_steps():
    # The last body feels the load through two others: its gap opens as t^4 and slower.
    system, _ = row_of_bodies()
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    spring = np.array([[5.0, -5.0, 0.0], [-5.0, 9.0, -4.0], [0.0, -4.0, 4.0]])
    damping, stiffness = damping + 0.05 * spring, stiffness + spring
    last = jv.replace(system, {"contacts.2.gap": 0.0}).contacts[2]
    load = jv.AppliedLoad(jnp.array([1.0, 0.0, 0.0]), jv.HarmonicLoad(-3.0, 2.0))
    system = jv.ImpactSystem(jv.LinearSystem(mass, damping, stiffness), (last,), (load,))
    found = jax.jit(
        lambda t: solve_system(system, jnp.zeros(6), 0.0, t, rtol=1e-10, engine="event")
    )(0.4)
    inverse = np.linalg.inv(mass)
    whole = np.zeros((8, 8))
    whole[:3, 3:6] = np.eye(3)
    whole[3:6, :3], whole[3:6, 3:6] = -inverse @ stiffness, -inverse @ damping
    whole[3:6, 6] = inverse[:, 0] * -3.0
    whole[6, 7], whole[7, 6] = -2.0, 2.0
    expected = scipy.linalg.expm(whole * 0.4) @ [0, 0, 0, 0, 0, 0, 1.0, 0.0]
    assert expected[2] < 0  # it is apart
    assert int(found.steps) < 20
    np.testing.assert_allclose(found.state, expected[:6], rtol=0, atol=1e-12)


class Cubic(eqx.Module):
    """F = k z^3."""

    stiffness: jax.Array

    def force(self, penetration):
        return self.stiffness * jnp.maximum(penetration, 0.0) ** 3

    def energy(self, penetration):
        return self.stiffness * jnp.maximum(penetration, 0.0) ** 4 / 4


def test_an_engine_is_chosen_or_refused_by_the_kind_of_system():
    assert engine_for(base, "auto", 4096) == ("event", "linear except for contacts")
    assert engine_for(base, "auto", 1)[0] == "event"
    large = jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(7), 0 * jnp.eye(7), jnp.eye(7)),
        (jv.Contact(jnp.eye(7)[0], 0.1, jv.HertzContact(SOFT)),),
    )
    assert engine_for(large, "auto", 4096)[0] == "event"
    engine, why = engine_for(large, "auto", 12)
    assert (engine, "more than 6 degrees of freedom" in why) == ("diffrax", True)
    assert engine_for(large, "auto", 12, lambda: "")[0] == "event"
    assert engine_for(large, "auto", 12, lambda: "too long") == (engine, why)
    odd = jv.two_body_impact(contact=Cubic(jnp.asarray(1e9)))
    engine, why = engine_for(odd, "auto", 4096)
    assert engine == "diffrax"
    assert "Cubic" in why
    with pytest.raises(ValueError, match="contact law Cubic has no event-driven form"):
        jv.flow(odd, start, 0.0, 1.0, engine="event")
    with pytest.raises(ValueError, match="contact law Cubic has no event-driven form"):
        jv.periodic_orbit(odd, start, engine="event")
    with pytest.raises(ValueError, match="engine = 'steps'; allowed: auto, diffrax, event"):
        jv.simulate(base, start, [0.0, 1.0], engine="steps")


TIMES = np.linspace(0.0, SPAN, 151)  # more than two blocks of a kernel's samples


def test_a_motion_is_sampled_on_the_way():
    found = jv.simulate(base, start, TIMES)
    two_body, state = TwoBody(contact_stiffness=SOFT), start
    for i, (begin, end) in enumerate(itertools.pairwise(TIMES)):
        state = motion(two_body, state, begin, end).state
        np.testing.assert_allclose(found.states[i + 1], state, rtol=0, atol=2e-9)
    pressed = np.maximum(found.states[:, 0] - found.states[:, 1], 0.0)
    assert np.count_nonzero(pressed) == 5
    force = SOFT * pressed**1.5
    np.testing.assert_allclose(found.contact_force[:, 0], force, rtol=1e-12)
    assert int(found.result) == Reason.SUCCESS


def test_samples_on_the_way_can_be_mapped_and_differentiated():
    known = jv.simulate(base, start, TIMES)
    mapped = jax.jit(jax.vmap(lambda state: jv.simulate(base, state, TIMES)))
    found = mapped(jnp.stack([start, start * jnp.nan]))
    np.testing.assert_allclose(found.states[0], known.states, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.contact_force[0], known.contact_force, rtol=1e-9)
    assert found.result.tolist() == [Reason.SUCCESS, Reason.BAD_PARAMETER]
    assert np.all(np.isnan(found.states[1]))
    few = TIMES[::30]
    columns = jax.jacfwd(lambda state: jv.simulate(base, state, few).states[-1])
    by_steps = jax.jacfwd(lambda state: jv.flow(base, state, 0.0, SPAN, engine="diffrax"))
    found, expected = (jax.jit(each)(start) for each in (columns, by_steps))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("bad", [[np.nan, 0.0, 0.0, 0.0], [0.0, np.inf, 0.0, 0.0]])
def test_a_non_finite_start_has_its_reason(bad):
    found = jv.simulate(base, bad, TIMES, throw=False)
    assert int(found.result) == Reason.BAD_PARAMETER
    assert np.all(np.isnan(found.states[1:]))
    with pytest.raises(RuntimeError, match="simulate"):
        jv.simulate(base, bad, TIMES)


@pytest.mark.slow
def test_random_systems_have_the_independent_contacts():
    rng = np.random.default_rng(7)
    number = 60
    values = np.stack(
        [
            np.exp(rng.uniform(np.log(1e6), np.log(2e11), number)),
            rng.choice([0.0, 0.01, 0.05, 0.2], number),
            rng.uniform(10, 2000, number),
            rng.uniform(1, 12, number),
        ],
        axis=1,
    )
    states = rng.uniform(-1, 1, (number, 4)) * [0.1, 0.1, 0.5, 0.5]
    states[:, 1] += values[:, 1] + np.maximum(states[:, 0], 0)
    ends, seen, result = observables(jnp.asarray(values), jnp.asarray(states), 1e-10)
    assert not np.any(result)
    for lane in range(number):
        stiffness, gap, amplitude, frequency = values[lane]
        other = TwoBody(
            contact_stiffness=stiffness, gap=gap, load_amplitude=amplitude,
            load_frequency=frequency,
        )  # fmt: skip
        expected = motion(other, states[lane], 0, SPAN)
        begun = [m for m in expected.meetings if m.begin > 0]
        deep = [m for m in begun if m.peak_force > stiffness * 1e-8**1.5]
        assert len(deep) <= int(seen.onsets[lane, 0]) <= len(begun)
        # What many hard impacts make of a rounding is not an error of the engine.
        grown = 1e-8 * 4.0 ** len(begun)
        size = np.abs(expected.state).max()
        np.testing.assert_allclose(ends[lane], expected.state, rtol=0, atol=grown * size)


def test_lanes_have_the_same_bits_among_any_neighbours(found):
    turned = observables(VALUES[::-1], STATES[::-1], 1e-9)
    check_same(found, jax.tree.map(lambda leaf: leaf[::-1], turned))


def test_a_flow_is_the_observed_end(found):
    one = solve_system(varied(VALUES[0]), STATES[0], 0.0, SPAN, rtol=1e-9, engine="event")
    np.testing.assert_allclose(one.state, found[0][0], rtol=1e-9)
    assert int(one.result) == 0


LIGHT = jv.LinearSystem([[2.0]], [[0.0]], [[8.0]])
PUSH = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 2.0))
WEIGHT = jv.AppliedLoad([1.0], jv.ConstantLoad(9.81))
STOP = jv.Contact([1.0], 0.1, jv.RestitutionContact(0.7))
RUB = jv.CoulombFriction([1.0], 0.5)
FREE = jv.LinearSystem([[2.0]], [[0.0]], [[0.0]])
STOPPED = jv.ImpactSystem(LIGHT, loads=(PUSH,), contacts=(STOP,))
DROPPED = jv.ImpactSystem(FREE, loads=(WEIGHT,), contacts=(STOP,))
RUBBED = jv.ImpactSystem(LIGHT, loads=(PUSH,), frictions=(RUB,))


@pytest.mark.parametrize("span", [1e-15, 1e-13, 1e-9])
@pytest.mark.parametrize(
    ("system", "start", "velocity", "acceleration"),
    [
        (STOPPED, [0.1, 0.002], -0.0014, 0.1),
        (STOPPED, [0.1, -0.002], -0.002, 0.1),
        (DROPPED, [0.1, -0.002], -0.002, 4.905),
        (RUBBED, [5.0, 0.002], 0.002, -19.75),
    ],
)
def test_times_that_nearly_coincide_change_no_motion(
    system, start, velocity, acceleration, span
):
    end = jv.flow(system, start, 0.0, span)
    expected = [start[0] + velocity * span, velocity + acceleration * span]
    np.testing.assert_allclose(end, expected, rtol=1e-13, atol=0)


@pytest.mark.parametrize("span", [4.5e-16, 1.8e-14, 1e-13, 1e-9])
def test_in_contact_sensitivities_over_hardly_any_time_are_those_of_its_stiffness(span):
    state = jnp.array([0.02, 0.0162, 0.3, 0.3])
    begin = 2.2917758103691797  # where a rounding is 4e-16
    passed = (begin + span) - begin
    found = jax.jit(
        jax.jacfwd(lambda x: jv.flow(base, x, begin, begin + span, engine="event"))
    )(state)
    stiffness = 1.5 * SOFT * np.sqrt(0.02 - 0.0162) / 1000 + 6.283**2 + 0.1 * 5.646**2
    equation = base.equation()
    linear = np.asarray(
        jax.jit(jax.jacfwd(lambda x: equation.vector_field(begin, x)))(state)
    )
    np.testing.assert_allclose(linear[2, 0], -stiffness, rtol=1e-12)
    expected = scipy.linalg.expm(linear * passed) - np.eye(4)
    np.testing.assert_allclose(found - np.eye(4), expected, rtol=1e-4, atol=3e-16)
