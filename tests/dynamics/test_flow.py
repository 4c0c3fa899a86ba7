"""Checked against: matrix exponentials, and tests.independent (variational equations)."""

import functools
import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from jax.extend.core import Jaxpr

import jaxvib as jv
from jaxvib.dynamics.engines import stepped
from jaxvib.dynamics.flow import observe_with_monodromy, solve_system
from jaxvib.dynamics.observables import largest_forces
from jaxvib.ensemble import Reason
from jaxvib.kernels.calls.kernel import Kernel
from tests.independent import TwoBody, motion
from tests.places import check_same
from tests.systems_table import RIGID, SOFT

apart = jv.two_body_impact(gap=50.0)
state = jnp.array([0.02, 0.17, 0.4, -0.3])
span = 2.2
LOAD = 183.88019984710215
TOUCHING = [
    0.0026538959844879828,
    0.002656262771814614,
    0.020176788002145212,
    0.022998433651828357,
]


def hertz(stiffness):
    return jv.two_body_impact(contact=jv.HertzContact(stiffness))


@jax.jit
def end_and_columns(system, state, rtol):
    def end(system, state):
        return jv.flow(system, state, 0.0, span, rtol=rtol)

    by_system, by_state = jax.jacfwd(end, (0, 1))(system, state)
    return end(system, state), by_state, by_system


def test_apart_the_flow_is_the_matrix_exponential():
    mass, damping, stiffness = (np.asarray(m) for m in apart.matrices())
    inverse = np.linalg.inv(mass)
    matrix = np.block(
        [[np.zeros((2, 2)), np.eye(2)], [-inverse @ stiffness, -inverse @ damping]]
    )
    # The load as two more states, cos and sin.
    frequency, amplitude = 5.8, 500.0
    whole = np.zeros((6, 6))
    whole[:4, :4] = matrix
    whole[2:4, 4] = inverse[:, 0] * amplitude
    whole[4, 5], whole[5, 4] = -frequency, frequency
    offset = np.array([0.0, 50.0, 0.0, 0.0])
    start = offset + np.array([0.02, 0.01, 0.4, -0.3])
    expected = scipy.linalg.expm(whole * span) @ [*(start - offset), 1.0, 0.0]
    end, by_state, _ = end_and_columns(apart, jnp.asarray(start), 1e-12)
    np.testing.assert_allclose(end, expected[:4] + offset, rtol=0, atol=1e-10)
    np.testing.assert_allclose(by_state, scipy.linalg.expm(matrix * span), atol=1e-10)


@pytest.mark.parametrize("stiffness", [RIGID, SOFT])
def test_monodromy_and_parameter_columns_are_those_of_the_variational_equations(stiffness):
    names = ["load_amplitude", "load_frequency", "gap"]
    reference = motion(
        TwoBody(contact_stiffness=stiffness), np.asarray(state), 0, span, names
    )
    end, by_state, by_system = end_and_columns(hertz(stiffness), state, 1e-11)
    size = np.abs(reference.state).max()
    np.testing.assert_allclose(end, reference.state, rtol=0, atol=1e-8 * size)
    scale = np.abs(reference.monodromy).max()
    np.testing.assert_allclose(by_state, reference.monodromy, rtol=0, atol=1e-7 * scale)
    found = [by_system.load.amplitude, by_system.load.frequency, by_system.gap]
    for expected, column in zip(reference.columns.T, found, strict=True):
        atol = 1e-6 * np.abs(expected).max()
        np.testing.assert_allclose(column, expected, rtol=0, atol=atol)


@pytest.mark.parametrize(
    "start", [[0.023, 0.152, 0.327, -0.545], [0.011, 0.187, 0.404, -0.396]]
)
def test_columns_are_right_at_the_tightest_tolerance(start):
    # At an onset they turn like the square root of time: no step is that accurate there.
    reference = motion(TwoBody(contact_stiffness=RIGID), np.array(start), 0, span, ())
    _, by_state, _ = end_and_columns(hertz(RIGID), jnp.array(start), 1e-13)
    scale = np.abs(reference.monodromy).max()
    np.testing.assert_allclose(by_state, reference.monodromy, rtol=0, atol=1e-8 * scale)


@jax.jit
def bent(system, state, direction):
    def monodromy(state):
        return jax.jacfwd(lambda s: jv.flow(system, s, 0.0, span))(state)

    return jax.jvp(monodromy, (state,), (direction,))[1]


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [RIGID, SOFT])
def test_second_derivatives_are_the_slope_of_the_independent_monodromy(stiffness):
    direction = np.array([0.3, -0.2, 1.0, 0.5])
    other = TwoBody(contact_stiffness=stiffness)
    small = 1e-6
    ahead, behind = (
        motion(other, np.asarray(state) + h * direction, 0, span, ()).monodromy
        for h in (small, -small)
    )
    expected = (ahead - behind) / (2 * small)
    actual = bent(hertz(stiffness), state, jnp.asarray(direction))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


@pytest.mark.slow  # compiles second derivatives of two engines
def test_second_derivatives_beside_a_grazing_are_those_of_events():
    # Depths relative to the gap: steps of differences become shorter.
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    system = jv.ImpactSystem(linear, (jv.Contact([1.0], 0.1, jv.LinearContact(30.0)),))

    def second(engine):
        end = functools.partial(jv.flow, system, t0=0.0, t1=2.5, engine=engine)
        return jax.jit(jax.jacfwd(jax.jacfwd(end)))

    stepped, by_events = second("diffrax"), second("event")
    for deep in (1e-2, 1e-3, 1e-4, 1e-5):
        start = jnp.array([0.0, 0.1 * (1 + deep)])
        exact = np.asarray(by_events(start))
        found = stepped(start)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-4 * np.abs(exact).max())
    # Even nearer, differences would span the grazing.
    assert np.isnan(stepped(jnp.array([0.0, 0.1 * (1 + 1e-7)]))).all()


def test_forward_and_reverse_derivatives_agree_and_times_have_theirs():
    system = hertz(SOFT)

    def end(state, t0, t1):
        return jv.flow(system, state, t0, t1)

    forward = jax.jit(jax.jacfwd(end, (0, 1, 2)))(state, 0.1, span)
    backward = jax.jit(jax.jacrev(end, (0, 1, 2)))(state, 0.1, span)
    for ahead, behind in zip(forward, backward, strict=True):
        np.testing.assert_allclose(ahead, behind, rtol=1e-12, atol=1e-12)
    equation = system.equation()
    rate = equation.vector_field(jnp.asarray(span), end(state, 0.1, span))
    np.testing.assert_allclose(forward[2], rate, rtol=1e-7)
    started = -forward[0] @ equation.vector_field(jnp.asarray(0.1), state)
    np.testing.assert_allclose(forward[1], started, rtol=1e-7)


def test_an_ensemble_equals_a_loop_and_no_lane_feels_a_bad_one():
    system = hertz(RIGID)
    amplitudes = jnp.array([300.0, 500.0, 700.0, 400.0])
    starts = jnp.stack([state, 0.5 * state, -state, 2 * state])

    def one(amplitude, start):
        varied = jv.replace(system, {"load.amplitude": amplitude})
        return solve_system(varied, start, 0.0, span, rtol=1e-11)

    batch = jax.jit(jax.vmap(one))
    whole = batch(amplitudes, starts)
    for lane in range(4):
        alone = one(amplitudes[lane], starts[lane])
        np.testing.assert_allclose(whole.state[lane], alone.state, rtol=1e-8)
    spoiled = batch(amplitudes.at[1].set(jnp.inf), starts.at[2, 0].set(jnp.nan))
    for bad in (1, 2):
        assert int(spoiled.result[bad]) == Reason.BAD_PARAMETER
        assert np.all(np.isnan(spoiled.state[bad]))
        assert int(spoiled.steps[bad]) == 0
    for good in (0, 3):
        np.testing.assert_array_equal(spoiled.state[good], whole.state[good])
        assert int(spoiled.steps[good]) == int(whole.steps[good])


def test_a_lane_has_the_same_bits_among_any_neighbours():
    batch = jax.jit(jax.vmap(lambda s: jv.flow(hertz(RIGID), s, 0.0, span, rtol=1e-8)))
    starts = jnp.outer(jnp.linspace(-1.0, 1.0, 64), state)
    whole = np.asarray(batch(starts))
    check_same(np.asarray(batch(starts[::-1]))[::-1], whole)
    check_same(batch(starts[5:7]), whole[5:7])
    # In its place it feels no neighbours, whatever they are.
    others = starts.at[::2].set(0.5 * starts[::2])
    np.testing.assert_array_equal(np.asarray(batch(others))[1::2], whole[1::2])


def test_a_state_that_runs_away_has_a_reason():
    explosive = jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), -900.0 * jnp.eye(1), jnp.eye(1)), (), ()
    )
    solution = solve_system(explosive, jnp.array([0.0, 1.0]), 0.0, 5.0, rtol=1e-8)
    assert int(solution.result) in (Reason.STEP_UNDERFLOW, Reason.STEP_LIMIT)
    assert np.all(np.isnan(solution.state))


def test_a_gap_that_closes_to_the_last_digit_is_passed():
    # The open system's own motion, whose gap is 7e-18 m at its top: beside it the
    # stiffness in the columns jumps with every rounding, for 1e-7 s.
    system = jv.two_body_impact(contact=jv.LinearContact(1e6))
    system = jv.replace(system, {"load.amplitude": LOAD})

    def end(start):
        found = solve_system(system, start, 0.0, system.period(), rtol=1e-12)
        return found.state, found.steps

    _, steps = jax.jit(jax.jacfwd(end, has_aux=True))(jnp.array(TOUCHING))
    assert int(steps) < 2000
    np.testing.assert_allclose(end(jnp.array(TOUCHING))[0], TOUCHING, atol=1e-13)


@jax.jit
def bounced(depth, frequency):
    """Return the observables of a swing of 0.1 m that a soft stop shortens by a depth."""
    stop = jv.Contact(jnp.array([1.0]), 0.1 - depth, jv.HertzContact(1e4))
    linear = jv.LinearSystem(jnp.eye(1), jnp.zeros((1, 1)), frequency**2 * jnp.eye(1))
    system = jv.ImpactSystem(linear, (stop,), ())
    start = jnp.array([0.0, 0.1]) * jnp.stack([1.0, frequency])
    return observe_with_monodromy(
        system, start, 0.0, jnp.pi / frequency, rtol=1e-4, grazing=depth * 1e-3
    ).observables


@pytest.mark.parametrize("depth", [1e-3, 1e-5, 1e-7])
def test_no_contact_is_stepped_over(depth):
    # The gap closes and opens so slowly that a coarse step would jump from one side of
    # a shallow contact to the other.
    frequency = 2.0
    observables = bounced(depth, frequency)
    assert int(observables.onsets[0]) == 1
    # Energy: the spring and the contact stop the mass at the deepest point.
    deepest = float(observables.deepest[0])
    reached = 0.1 - depth + deepest
    energy = (frequency * reached) ** 2 / 2 + 0.4e4 * deepest**2.5
    assert energy == pytest.approx((0.1 * frequency) ** 2 / 2, rel=1e-3)
    assert 0 < deepest <= depth * 1.001


def test_observables_equal_a_dense_sample():
    system = hertz(SOFT)
    seen = observe_with_monodromy(system, state, 0.0, span, rtol=1e-11, grazing=1e-9)
    reference = motion(TwoBody(contact_stiffness=SOFT), np.asarray(state), 0, span)
    forces = [meeting.peak_force for meeting in reference.meetings]
    assert int(seen.observables.onsets[0]) == len(forces) > 1
    force = largest_forces(system.equation(), seen.observables)[0]
    assert float(force) == pytest.approx(max(forces), rel=1e-6)
    lasted = sum(meeting.end - meeting.begin for meeting in reference.meetings)
    assert float(seen.observables.duration[0]) == pytest.approx(lasted, rel=1e-6)
    dense = jv.simulate(system, state, np.linspace(0, span, 4001))
    positions = np.asarray(dense.states)[:, :2]
    # Between two samples a body in contact moves by less than this.
    between = 300.0 * (span / 4000) ** 2 / 8
    np.testing.assert_allclose(
        seen.observables.highest, positions.max(axis=0), atol=between
    )
    np.testing.assert_allclose(seen.observables.lowest, positions.min(axis=0), atol=between)
    assert np.all(seen.observables.highest >= positions.max(axis=0) - 1e-9)


def test_a_simulation_ends_where_the_flow_does():
    trajectory = jv.simulate(hertz(RIGID), state, [0.0, 0.7, span])
    np.testing.assert_array_equal(trajectory.states[0], state)
    end = jv.flow(hertz(RIGID), state, 0.0, span)
    np.testing.assert_allclose(trajectory.states[-1], end, rtol=1e-9)
    assert trajectory.contact_force.shape == (3, 1)
    assert int(trajectory.result) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jv.flow(apart, jnp.zeros(3), 0.0, 1.0), r"state has shape \(3,\)"),
        (lambda: jv.flow(apart, [1.0, 0.0, 1j, 0.0], 0.0, 1.0), "is not real"),
        (lambda: jv.flow(apart, state, 0.0, 1.0, rtol=0.0), r"rtol = 0 is not in \(0"),
        (
            lambda: jv.flow(apart, state, 0.0, 1.0, engine="diffrx"),
            "did you mean 'diffrax'",
        ),
        (lambda: jv.simulate(apart, state, [1.0, 0.5]), "times = 1, 0.5 s do not ascend"),
        (lambda: jv.simulate(apart, state, [1.0]), r"times has shape \(1,\)"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_a_state_of_another_type_is_one_in_float64(kind):
    given, times = np.asarray(4 * state, kind), np.asarray([0.0, 2.0], kind)
    expected = jv.flow(apart, given.astype(float), 0.0, 2.0)
    found = jv.flow(apart, given, 0.0, 2.0)
    assert found.dtype == float
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(jv.simulate(apart, given, times).states[-1], expected)


def test_motions_do_not_run_backwards():
    with pytest.raises(ValueError, match=r"t1 = 0.0 s is before t0 = 1.0 s"):
        jv.flow(apart, state, 1.0, 0.0)
    ends = jax.vmap(lambda t1: jv.flow(apart, state, 1.0, t1))(jnp.array([0.5, 1.0, 1.5]))
    assert np.isnan(ends[0]).all()
    np.testing.assert_allclose(ends[1], state, rtol=1e-14)
    assert np.isfinite(ends[2]).all()


def test_a_traced_tolerance_in_a_scan_has_derivatives_under_jit():
    """Checked against d/dk of e^(-k t)."""
    decay = jv.forced_system(
        lambda t, x, p: [-p["k"] * x[0]], parameters={"k": 0.7}, period=1.0, dimension=1
    )
    times = jnp.array([0.5, 1.3])

    def states(k, rtol):
        system = jv.replace(decay, {"k": k})

        def go(state, time):
            return state, solve_system(
                system, state, 0.0, time, rtol=rtol, engine="diffrax"
            ).state[0]

        return jax.lax.scan(go, jnp.ones(1), times)[1]

    slopes = jax.jit(jax.jacfwd(states))(0.7, 1e-10)
    np.testing.assert_allclose(slopes, -times * jnp.exp(-0.7 * times), rtol=1e-9)


@pytest.mark.slow  # compiles the same field twice without a cache, 4 s
def test_traced_programs_of_a_field_are_freed_with_its_kernel(tmp_path, monkeypatch):
    """Or else each field of a long session would keep a megabyte of JAX's programs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where nothing is traced yet

    def programs():
        gc.collect()
        return sum(isinstance(each, Jaxpr) for each in gc.get_objects())

    def moved(damping):
        oscillator = jv.forced_system(
            lambda t, x, p: [x[1], jnp.cos(t) - p["k"] * x[0] - damping * x[1]],
            parameters={"k": 2.0}, period=2 * np.pi, dimension=2,
        )  # fmt: skip
        jv.simulate(oscillator, [0.1, 0.0], np.linspace(0.0, 1.0, 3))
        for kept in (stepped._motion_kernel, stepped._problem, Kernel._part):
            kept.cache_clear()
        return programs()

    first, second = moved(0.1), moved(0.2)
    assert second - first < 20  # of some hundred that a field's kernel takes
