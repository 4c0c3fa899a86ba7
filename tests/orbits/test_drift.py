"""Checked against: SciPy's solve_ivp with events, and closed forms of linear motions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import jaxvib as jv
from jaxvib.dynamics.integrated_system import IntegratedSystem
from jaxvib.dynamics.measures import Squares
from jaxvib.ensemble import Reason
from jaxvib.orbits import DriftingCycle, DriftingOrbit
from jaxvib.orbits.samples.sample_cycles import _reason
from jaxvib.orbits.samples.sample_orbits import _approaches

FREQUENCY = "loads.drive.law.frequency"
TURN = 2 * np.pi
# kg, kg, N/m, N s/m, N, N/m, m, N: shell, mass inside, its spring, friction, stop, drive
SHELL, INSIDE, SPRING, DAMPER = 1.0, 0.5, 20.0, 0.1
RUB, STOP, GAP, PUSH = 2.0, 2e3, 0.02, 3.0


@functools.cache
def capsule(frequency: float) -> jv.ImpactSystem:
    linear = jv.assemble(
        [
            jv.TranslationTranslation(
                "ground", "capsule", mass=SHELL, stiffness=0.0, damping=0.0
            ),
            jv.TranslationTranslation(
                "capsule", "mass", mass=INSIDE, stiffness=SPRING, damping=DAMPER
            ),
        ]
    )
    apart = linear.direction({"mass": 1.0, "capsule": -1.0})
    return jv.ImpactSystem(
        linear,
        contacts=[jv.Contact(apart, GAP, jv.LinearContact(STOP), name="stop")],
        loads=[jv.AppliedLoad(apart, jv.HarmonicLoad(PUSH, frequency), name="drive")],
        frictions=[jv.CoulombFriction(linear.direction("capsule"), RUB)],
    )


@functools.cache
def drifting_capsule(frequency: float) -> jv.ImpactSystem:
    return jv.drifting(capsule(frequency), {"capsule": 1.0, "mass": 1.0})


def integrated(state, frequency: float, periods: int) -> np.ndarray:
    """Return the state of the capsule after some periods, phase by phase, by SciPy."""
    time, end = 0.0, periods * TURN / frequency
    state = np.array(state)

    def push(time, y, closed):
        force = PUSH * np.cos(frequency * time) - SPRING * (y[1] - y[0])
        force -= DAMPER * (y[3] - y[2])
        return force - closed * STOP * (y[1] - y[0] - GAP)

    def sliding(time, y, closed):
        force = -push(time, y, closed)
        return 0 if abs(force) <= RUB else int(np.sign(force))

    closed = state[1] - state[0] > GAP
    slides = int(np.sign(state[2])) if abs(state[2]) > 1e-9 else sliding(0, state, closed)
    while time < end - 1e-13:

        def rates(t, y, slides=slides, closed=closed):
            force = push(t, y, closed)
            own = (-force - slides * RUB) / SHELL if slides else 0.0
            return [slides and y[2], y[3], own, force / INSIDE]

        def touch(t, y):
            return y[1] - y[0] - GAP

        def turn(t, y, slides=slides, closed=closed):
            return y[2] * slides if slides else abs(push(t, y, closed)) - RUB

        touch.terminal = turn.terminal = True
        touch.direction, turn.direction = (-1 if closed else 1), (-1 if slides else 1)
        found = solve_ivp(
            rates, (time, end), state, method="DOP853", rtol=1e-12, atol=1e-14,
            events=[touch, turn], max_step=end / periods / 50,
        )  # fmt: skip
        time, state = found.t[-1], found.y[:, -1].copy()
        if found.t_events[0].size:
            closed = not closed
        if found.t_events[1].size:
            state[2] = state[2] if slides == 0 else 0.0
            force = -push(time, state, closed)
            slides = int(np.sign(force)) if slides == 0 else sliding(time, state, closed)
    return state


@pytest.mark.parametrize(("frequency", "periods"), [(5.0, 2), (9.0, 1)])
def test_a_capsule_moves_as_far_as_scipy_says(frequency, periods):
    orbit = jv.periodic_orbit(drifting_capsule(frequency), periods=None, rtol=1e-10)
    assert isinstance(orbit, DriftingOrbit)
    assert (int(orbit.periods), int(orbit.stable)) == (periods, 1)
    lead = integrated(orbit.state, frequency, periods) - orbit.state
    progress = float(orbit.progress)
    np.testing.assert_allclose(lead, [progress, progress, 0.0, 0.0], atol=1e-11)
    assert float(orbit.progress_error) < 1e-11
    assert " m per period" in repr(orbit)
    # A shift of the whole capsule changes nothing.
    there = jv.periodic_orbit(
        drifting_capsule(frequency), orbit.state + np.array([5, 5, 0, 0]), periods
    )
    np.testing.assert_allclose(there.progress, progress, rtol=0, atol=1e-10)
    np.testing.assert_allclose(there.state, orbit.state, rtol=0, atol=1e-10)


@pytest.mark.slow  # compiles derivatives of an orbit, and six integrations by SciPy
def test_multipliers_and_the_slope_of_the_progress_agree_with_differences():
    system = drifting_capsule(9.0)
    orbit = jv.periodic_orbit(system, rtol=1e-10)
    # The capsule slides in both directions and sticks: a state has two free components.
    columns = []
    for k in (1, 3):
        ends = [
            integrated(orbit.state + sign * 1e-6 * np.eye(4)[k], 9.0, 1) for sign in (1, -1)
        ]
        away = (ends[0] - ends[1]) / 2e-6
        columns.append(away - away[0] * np.array([1, 1, 0, 0]))
    columns = np.stack(columns, axis=1)
    np.testing.assert_allclose(orbit.monodromy[:, [1, 3]], columns, atol=2e-6)
    assert np.abs(orbit.monodromy @ np.array([1.0, 1.0, 0.0, 0.0])).max() < 1e-12

    def progress(frequency):
        there = jv.replace(system, {FREQUENCY: frequency})
        return jv.periodic_orbit(there, orbit.state, rtol=1e-10).progress

    step = 1e-4
    by_scipy = [
        integrated(
            jv.periodic_orbit(drifting_capsule(w), orbit.state, rtol=1e-10).state, w, 1
        )[0]
        for w in (9.0 - step, 9.0 + step)
    ]
    expected = (by_scipy[1] - by_scipy[0]) / (2 * step)
    np.testing.assert_allclose(jax.jacfwd(progress)(9.0), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(progress)(9.0), expected, rtol=1e-5)


def test_regimes_report_the_progress_of_every_class_of_motion():
    values = np.array([5.0, 7.5, 9.0])  # periods 2, 24 (not resolved) and 1
    found = jv.orbits.regimes(drifting_capsule(5.0), {FREQUENCY: values})
    longer = jv.Reason.LONGER_PERIOD
    assert found.result.tolist() == [0, longer, 0]
    assert found.periods.tolist() == [2, 24, 1]
    for state, value, periods, progress in zip(
        found.state, values, found.periods, found.progress, strict=True
    ):
        end = jv.flow(capsule(float(value)), state, 0.0, periods * TURN / value)
        np.testing.assert_allclose(end[0] - state[0], progress, atol=1e-7)
    assert np.isnan(found.amplitude[1]).all()  # of a motion that goes on and on


def test_a_branch_of_a_capsule_carries_the_progress():
    system = drifting_capsule(9.0)
    branch = jv.continue_orbit(system, jv.periodic_orbit(system), FREQUENCY, (7.5, 9.2))
    (point,) = branch.bifurcations
    assert point.kind == "period_doubling"
    for place in (0, -1):
        value, orbit = float(branch.parameter[place]), branch.orbits
        lead = integrated(orbit.state[place], value, 1) - orbit.state[place]
        np.testing.assert_allclose(lead[:2], orbit.progress[place], atol=1e-9)
        assert orbit.progress_error[place] < 1e-9
    found = jv.bifurcation_point(system, point, "period_doubling", FREQUENCY)
    there = jv.periodic_orbit(jv.replace(system, {FREQUENCY: found.parameter}), found.state)
    np.testing.assert_allclose(min(there.floquet_multipliers.real), -1.0, atol=1e-7)
    np.testing.assert_allclose(found.parameter, point.parameter, rtol=1e-8)


def train(stiffness: float = 0.0):
    modules = [
        jv.TranslationTranslation(first, second, mass=mass, stiffness=k, damping=d)
        for first, second, mass, k, d in [
            ("ground", "a", 2.0, stiffness, 0.6), ("a", "b", 1.0, 40.0, 0.3),
            ("b", "c", 3.0, 25.0, 0.2),
        ]
    ]  # fmt: skip
    linear = jv.assemble(modules)
    loads = [
        jv.AppliedLoad(linear.direction("c"), jv.HarmonicLoad(4.0, 3.0)),
        jv.AppliedLoad(linear.direction("b"), jv.ConstantLoad(1.2)),
    ]
    return jv.ImpactSystem(linear, loads=loads)


def test_a_train_of_bodies_has_the_progress_and_multipliers_of_linear_theory():
    along = {"a": 1.0, "b": 1.0, "c": 1.0}
    orbit = jv.periodic_orbit(jv.drifting(train(), along))
    mean = 1.2 / 0.6  # m/s: the drag carries the constant push
    np.testing.assert_allclose(orbit.progress, mean * TURN / 3, rtol=1e-9)
    assert "det M" not in str(orbit)  # of the motion modulo the shift it is 0
    mass, damping, stiffness = (np.asarray(m) for m in train().matrices())
    blocks = [[np.zeros((3, 3)), np.eye(3)]]
    blocks += [[-np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)]]
    whole = np.sort_complex(np.linalg.eigvals(expm(np.block(blocks) * TURN / 3)))
    assert abs(whole[-1] - 1) < 1e-12
    ours = np.sort_complex(np.append(orbit.floquet_multipliers, 1.0))
    np.testing.assert_allclose(np.delete(ours, np.argmin(abs(ours))), whole, atol=1e-8)


def test_a_drift_that_does_not_exist_is_refused_or_reported():
    with pytest.raises(ValueError, match=r"derivative of .*such as {'a': 1.0, 'b': 1.0"):
        jv.drifting(train(), "a")
    with pytest.raises(ValueError, match="of which there is none"):
        jv.drifting(train(7.0), "a")
    linear = jv.assemble([jv.PointMass(at, mass=1.0) for at in "abc"])
    hole = jv.AnnularContact(np.eye(3)[:2], 0.1, jv.LinearContact(10.0))
    with pytest.raises(ValueError, match=r"derivative of.*such as {'c': 1.0}"):
        jv.drifting(jv.ImpactSystem(linear, [hole]), "a")
    with pytest.raises(ValueError, match=r"unknown name in along 'capsul'.*'capsule'"):
        jv.drifting(capsule(9.0), "capsul")
    with pytest.raises(ValueError, match="step = 0"):
        jv.drifting(capsule(9.0), "capsule", step=0.0)
    for wrong in ({"capsule": 0.0}, {"capsule": 1.0, "mass": 0.0}, {}):
        with pytest.raises(ValueError, match=r"along = .*; allowed: a name, or names with"):
            jv.drifting(capsule(9.0), wrong)
    with pytest.raises(ValueError, match=r"step = 6\.28, but .* allowed: None"):
        jv.drifting(capsule(9.0), {"capsule": 1.0, "mass": 1.0}, step=6.28)
    with pytest.raises(TypeError, match="drift of IntegratedSystem"):
        jv.drifting(IntegratedSystem(capsule(9.0), Squares), "a")
    held = "linear.modules.ground-a.stiffness"
    system = jv.drifting(train(), {"a": 1.0, "b": 1.0, "c": 1.0})
    found = jv.orbits.regimes(system, {held: [0.0, 7.0]})
    assert found.result.tolist() == [0, jv.Reason.NOT_INVARIANT]
    with pytest.raises(ValueError, match="derivative of"):
        jv.periodic_orbit(jv.replace(system, {held: 7.0}))


def pushed(force):
    return jv.forced_system(
        lambda t, x, p: [x[1], jnp.cos(t) - 0.5 * x[1] + p["scale"] * force(x[0])],
        parameters={"scale": 1.0},
        period=TURN,
        dimension=2,
        states=("place", "speed"),
    )


@pytest.mark.parametrize(
    "force",
    [
        lambda x: jnp.sin(x / 1e-4 * TURN),  # repeats in steps of 0.1 mm
        lambda x: -jnp.maximum(x - 30.0, 0.0),  # a wall far away
        lambda x: -1e-9 * x,
    ],
)
def test_a_place_that_holds_a_body_weakly_or_far_away_is_no_drift(force):
    with pytest.raises(ValueError, match="derivative of 'speed'"):
        jv.drifting(pushed(force), "place")


def test_a_soft_spring_beside_a_stiff_one_is_no_drift():
    stiff = jv.assemble(
        [
            jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=1.0),
            jv.TranslationTranslation("a", "b", mass=1.0, stiffness=1e9),
        ]
    )
    push = jv.AppliedLoad(stiff.direction("a"), jv.HarmonicLoad(1.0, 3.0))
    system = jv.ImpactSystem(stiff, loads=[push])
    with pytest.raises(ValueError, match="of which there is none"):
        jv.drifting(system, {"a": 1.0, "b": 1.0})
    free = jv.replace(system, {"linear.modules.ground-a.stiffness": 0.0})
    assert jv.drifting(free, {"a": 1.0, "b": 1.0}).drift.direction == (1.0, 1.0, 0.0, 0.0)


def test_a_motion_approaches_the_state_of_its_orbit_but_for_a_turn():
    drift, units = rotor().drift, np.ones(2)
    turns = 0.9 ** np.arange(40)[:, None] * [0.5, 0.1] + [np.pi, 2.0]
    states = np.array([[np.pi, 2.0], [-np.pi, 2.0], [0.5, 2.0]])
    motions = np.stack([turns] * 3), np.stack([units] * 3), np.ones(3, int)
    assert _approaches(*motions, states, drift).tolist() == [True, True, False]


def rotor(torque: float = 0.5):
    field = jv.autonomous_system(
        lambda x, p: [x[1], p["torque"] - 0.1 * x[1] - jnp.sin(x[0])],
        parameters={"torque": torque},
        dimension=2,
        states=("angle", "speed"),
    )
    return jv.drifting(field, "angle", step=TURN)


@pytest.mark.slow
def test_a_rotor_turns_once_in_the_period_of_scipy():
    cycle = jv.periodic_orbit(rotor(), [0.0, 5.0], period=1.3)
    assert isinstance(cycle, DriftingCycle)

    def field(t, x):
        return [x[1], 0.5 - 0.1 * x[1] - np.sin(x[0])]

    def turned(t, x):
        return x[0] - cycle.state[0] - TURN

    turned.terminal = True
    found = solve_ivp(
        field, (0, 5), np.asarray(cycle.state), method="DOP853", rtol=1e-12, atol=1e-12,
        events=turned,
    )  # fmt: skip
    np.testing.assert_allclose(found.t[-1], cycle.period, rtol=1e-10)
    np.testing.assert_allclose(found.y[1, -1], cycle.state[1], rtol=1e-10)
    assert (float(cycle.progress), float(cycle.progress_error)) == (TURN, 0.0)
    decay = np.exp(-0.1 * float(cycle.period))  # the divergence over the period
    np.testing.assert_allclose(cycle.floquet_multipliers, [1.0, decay], rtol=1e-9)

    def period(torque):
        there = jv.replace(rotor(), {"torque": torque})
        return jv.periodic_orbit(there, [0.0, 5.0], period=1.3).period

    slope = (period(0.501) - period(0.499)) / 0.002
    np.testing.assert_allclose(jax.jacfwd(period)(0.5), slope, rtol=1e-4)
    branch = jv.continue_orbit(rotor(), cycle, "torque", (0.4, 0.7))
    assert np.all(branch.cycles.progress == TURN)
    decays = np.exp(-0.1 * np.asarray(branch.cycles.period))
    np.testing.assert_allclose(branch.cycles.largest_multiplier, decays, rtol=1e-8)
    away = np.abs(branch.cycles.largest_multiplier - decays)
    assert (away < branch.cycles.multiplier_error).all()


@pytest.mark.slow
def test_regimes_know_rotors_that_rest_and_turn():
    found = jv.orbits.regimes(rotor(), {"torque": [0.0, 1.2]}, period=0.6)
    assert found.result.tolist() == [Reason.EQUILIBRIUM, Reason.SUCCESS]
    assert found.progress[1] == TURN
    decay = np.exp(-0.1 * found.period[1])  # the divergence over the period
    np.testing.assert_allclose(found.largest_multiplier[1], decay, rtol=1e-8)
    # The mean speed is nearly torque / drag.
    np.testing.assert_allclose(found.period[1], TURN * 0.1 / 1.2, rtol=1e-3)
    # So it is if the period is that of 22, and of 62 turns.
    many = jv.orbits.regimes(rotor(), {"torque": [1.2, 3.0]}, period=13.0)
    np.testing.assert_allclose(many.period, TURN * 0.1 / np.array([1.2, 3.0]), rtol=1e-3)
    # A cycle stays one if the motion has drifted far, whose extent is a size of it.
    turning = jv.replace(rotor(), {"torque": 1.2})
    state, period = found.state[1], found.period[1]
    cycle = jv.periodic_orbit(turning, state, period=period)
    states = jv.simulate(turning, state, np.linspace(0.0, period, 65)).states
    far = jnp.full(2, 1e9)
    assert int(_reason(cycle, states, far, Reason.SUCCESS)) == Reason.SUCCESS
    still = jnp.broadcast_to(jnp.array([1.0, 2.0]), (65, 2))
    assert int(_reason(cycle, still, far, Reason.SUCCESS)) == Reason.EQUILIBRIUM


@pytest.mark.slow
def test_basins_know_a_rotor_that_stops_and_one_that_turns():
    starts = jv.orbits.state_grid(
        rotor(), {0: np.linspace(-9, 9, 12), 1: np.linspace(-3, 8, 10)}
    )
    found = jv.basins(rotor(), starts, period=2.0)
    assert found.attractors.names == ["A1: equilibrium", "A2: cycle, 1.25764 s"]
    orbits = found.attractors.orbits
    assert orbits.progress.tolist() == [0.0, TURN]
    # At sin(angle) = torque; the mean speed is nearly torque / drag.
    np.testing.assert_allclose(orbits.state[0], [np.arcsin(0.5), 0.0], atol=1e-12)
    decay = np.exp(-0.1 * orbits.period[1])
    np.testing.assert_allclose(orbits.largest_multiplier[1], decay, rtol=1e-8)

    def field(t, x):
        angle, speed = x.reshape(2, -1)
        return np.concatenate([speed, 0.5 - 0.1 * speed - np.sin(angle)])

    start = starts.T.ravel()
    ends = solve_ivp(field, (0, 200.0), start, rtol=1e-9, atol=1e-9, t_eval=[190, 200])
    angles = ends.y.reshape(2, -1, 2)[0]
    turns = np.ptp(angles, axis=1) > TURN
    np.testing.assert_array_equal(found.label, turns)


def joined_bodies(drive):
    """Return two bodies that drive each other, as van der Pol does, or are damped."""

    def field(x, p):
        apart, closing = x[0] - x[1], x[2] - x[3]
        bent = jnp.where(p["drive"] > 0, 4 * apart**2, 0.0)
        force = p["drive"] * (1 - bent) * closing - 2 * apart
        return [x[2], x[3], p["push"] - 0.05 * x[2] + force, -0.05 * x[3] - force]

    values = {"push": 0.1, "drive": drive}
    system = jv.autonomous_system(field, parameters=values, dimension=4)
    return jv.drifting(system, {"0": 1.0, "1": 1.0})


@pytest.mark.slow
@pytest.mark.parametrize("drive", [0.5, -0.5], ids=["cycle", "uniform motion"])
def test_basins_know_what_moves_on_at_any_place(drive):
    system = joined_bodies(drive)
    starts = np.random.default_rng(2).uniform(-1, 1, (3, 4))
    starts += np.array([50.0, 50.0, 0.0, 0.0])
    found = jv.basins(system, starts, period=3.2)
    assert (found.label == 0).all()
    orbits = found.attractors.orbits
    # The sum of both momenta: (u + v)' = push - 0.05 (u + v).
    if drive > 0:
        np.testing.assert_allclose(orbits.progress, orbits.period, rtol=1e-9)
        cycle = jv.periodic_orbit(system, orbits.state[0], period=orbits.period[0])
        np.testing.assert_allclose(
            orbits.floquet_multipliers[0], cycle.floquet_multipliers, atol=1e-9
        )
    else:
        assert found.attractors.names == ["A1: equilibrium"]
        np.testing.assert_allclose(orbits.progress, [3.2], rtol=1e-12)
        np.testing.assert_allclose(orbits.state[0, 2:], [1.0, 1.0], rtol=1e-12)
        # Of (u + v): -0.05, of the distance: -0.525 +- 1.93 i.
        np.testing.assert_allclose(orbits.lyapunov_exponent, [-0.05], rtol=1e-9)


@pytest.mark.slow
def test_two_joined_bodies_drive_themselves_along_the_ground():
    system = joined_bodies(0.5)
    cycle = jv.periodic_orbit(system, [0.3, 0.0, 1.0, 1.0], period=3.2)
    # The sum of both momenta: (u + v)' = push - 0.05 (u + v).
    np.testing.assert_allclose(cycle.progress, cycle.period * 0.1 / 0.1, rtol=1e-10)
    assert abs(cycle.progress - cycle.period) < cycle.progress_error < 1e-8
    decay = np.exp(-0.05 * float(cycle.period))
    np.testing.assert_allclose(cycle.largest_multiplier, decay, rtol=1e-8)

    def progress(push):
        there = jv.replace(system, {"push": push})
        return jv.periodic_orbit(there, cycle.state, period=cycle.period).progress

    slope = (progress(0.101) - progress(0.099)) / 0.002
    np.testing.assert_allclose(jax.jacfwd(progress)(0.1), slope, rtol=1e-5)
    branch = jv.continue_orbit(system, cycle, "push", (0.08, 0.12))
    mean = np.asarray(branch.parameter) / 0.1
    expected = branch.cycles.period * mean
    np.testing.assert_allclose(branch.cycles.progress, expected, rtol=1e-9)


def pendulum(amplitude: float):
    """Return a pendulum on a support that moves up and down; it may turn both ways."""
    field = jv.forced_system(
        lambda t, x, p: [
            x[1],
            -0.1 * x[1] - jnp.sin(x[0]) * (1 + p["amplitude"] * jnp.cos(2 * t)),
        ],
        parameters={"amplitude": amplitude},
        period=np.pi,
        dimension=2,
        states=("angle", "speed"),
    )
    return jv.drifting(field, "angle", step=TURN)


@pytest.mark.slow
@pytest.mark.parametrize("segments", [None, 3])
def test_a_pumped_pendulum_turns_with_its_support(segments):
    system = pendulum(0.9)
    orbit = jv.periodic_orbit(system, [2.0 + TURN, 2.0])
    assert (int(orbit.stable), float(orbit.progress)) == (1, TURN)
    assert abs(float(orbit.state[0])) < np.pi
    found = solve_ivp(
        lambda t, x: [x[1], -0.1 * x[1] - np.sin(x[0]) * (1 + 0.9 * np.cos(2 * t))],
        (0, np.pi), np.asarray(orbit.state), method="DOP853", rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        found.y[:, -1], orbit.state + np.array([TURN, 0.0]), atol=1e-9
    )
    # det M of a pendulum is exp(-0.1 T).
    both = np.prod(np.asarray(orbit.floquet_multipliers)).real
    np.testing.assert_allclose(both, np.exp(-0.1 * np.pi), rtol=1e-7)
    settings = jv.branches.ContinuationSettings(segments=segments)
    branch = jv.continue_orbit(system, orbit, "amplitude", (0.38, 1.0), settings=settings)
    assert np.all(branch.orbits.progress == TURN)
    fold = next(point for point in branch.bifurcations if point.kind == "fold")
    np.testing.assert_allclose(fold.parameter, 0.4167875728, rtol=1e-8)


@pytest.mark.slow
def test_basins_know_a_turning_pendulum_at_any_angle():
    starts = jv.orbits.state_grid(
        pendulum(0.9), {0: np.linspace(-9, 9, 12), 1: np.linspace(-3, 3, 10)}
    )
    found = jv.basins(pendulum(0.9), starts)
    turns = (found.attractors.orbits.progress / TURN).tolist()
    assert sorted(turns) == [-3.0, -1.0, 0.0, 1.0, 3.0]
    label = found.label.reshape(12, 10)
    np.testing.assert_array_equal(turns[label[0, 0]], -turns[label[-1, -1]])
    assert np.all(found.label >= 0)
