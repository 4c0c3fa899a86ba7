"""Checked against: scipy, the engines' names, which stand for modules, and each other."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxvib as jv
from jaxvib.dynamics.engines import (
    DiffraxEngine,
    Engine,
    EventEngine,
    Motion,
    Want,
    engine_for,
    plan_for,
)
from jaxvib.dynamics.flow import solve_system

MODULES = {"diffrax": DiffraxEngine(), "event": EventEngine()}
swing = jv.ImpactSystem(
    jv.LinearSystem(jnp.eye(1), 0.1 * jnp.eye(1), jnp.eye(1)),
    loads=(jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 0.7)),),
)
stop = jv.ImpactSystem(
    swing.linear, (jv.Contact([1.0], 0.1, jv.RestitutionContact(0.5)),), swing.loads
)
START = jnp.array([0.1, 0.2])


@pytest.mark.parametrize("name", MODULES)
def test_a_name_stands_for_its_module(name):
    ends = [
        solve_system(swing, START, 0.0, 1.0, rtol=1e-8, engine=engine)
        for engine in (name, MODULES[name])
    ]
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)
    assert engine_for(swing, MODULES[name], 1) == (MODULES[name], "requested")


def test_equal_engines_are_compiled_once():
    traced = []

    @jax.jit
    def run(engine, state):
        traced.append(engine)
        return state

    for engine in (EventEngine(), EventEngine(), EventEngine(order=9)):
        run(engine, START)
        assert hash(engine) == hash(EventEngine(engine.order))
    assert traced == [EventEngine(), EventEngine(order=9)]


def test_a_call_with_traced_values_is_planned_as_a_program_of_xla():
    assert plan_for(swing, "auto", START) == ("event", None, True)
    assert plan_for(swing, "diffrax", None, 1e-8, 2) == ("diffrax", None, True)
    plans = []
    jax.jit(lambda state: plans.append(plan_for(swing, "auto", state)))(START)
    jax.grad(lambda size: plans.append(plan_for(forced_by(size), "auto")) or size)(1.0)
    assert plans == [("event", None, False)] * 2


def forced_by(size):
    load = jv.AppliedLoad([1.0], jv.HarmonicLoad(size, 0.7))
    return jv.ImpactSystem(swing.linear, loads=(load,))


def test_engines_that_a_system_cannot_be_taken_by_are_refused():
    with pytest.raises(ValueError, match="by impulses, at events; allowed: auto, event"):
        jv.flow(stop, START, 0.0, 1.0, engine=DiffraxEngine())


def test_what_is_no_longer_there_says_what_to_write_instead():
    with pytest.raises(ValueError, match=r"engine = 'stepping'; .*write \"diffrax\""):
        jv.flow(swing, START, 0.0, 1.0, engine="stepping")
    with pytest.raises(TypeError, match="'precision' is no longer there; leave it out"):
        jv.flow(swing, START, 0.0, 1.0, precision="float32")
    for package, name in [
        (jv.dynamics, "step_chains"), (jv.dynamics, "step_long_chain"),
        (jv.modes, "beam_motion"),
    ]:  # fmt: skip
        with pytest.raises(AttributeError, match=f"'{name}' is no longer there; write"):
            getattr(package, name)


def duffing(t, x, p):
    return [x[1], p["F"] * jnp.cos(t) - 0.1 * x[1] - x[0] - p["k"] * x[0] ** 3]


FIELD = jv.forced_system(
    duffing, parameters={"F": 0.5, "k": 1.0}, period=2 * np.pi, dimension=2
)


def by_scipy(state, times, **values):
    given = {"F": 0.5, "k": 1.0, **values}
    found = scipy.integrate.solve_ivp(
        lambda t, x: np.array(duffing(t, x, given)),
        (times[0], times[-1]), state, "DOP853", times, rtol=3e-14, atol=1e-14,
    )  # fmt: skip
    return found.y.T


@pytest.mark.slow  # four programs for each engine, 6 s; test_laws.py has fields too
@pytest.mark.parametrize("engine", ["diffrax"])
def test_a_field_moves_as_scipy_has_it_and_so_do_its_derivatives(engine):
    """Samples on the way, a traced program, the monodromy, derivatives by parameters."""
    times = np.linspace(0.0, 20.0, 90)
    expected = by_scipy(START, times)
    motion = jv.simulate(FIELD, START, times, engine=engine)
    np.testing.assert_allclose(motion.states, expected, atol=1e-8)
    traced = jax.jit(lambda x: jv.simulate(FIELD, x, times, engine=engine).states)(START)
    np.testing.assert_allclose(traced, expected, atol=1e-8)

    def end(state, k):
        return jv.flow(jv.replace(FIELD, {"k": k}), state, 0.0, 20.0, engine=engine)

    by_state, by_stiffness = jax.jit(jax.jacfwd(end, (0, 1)))(START, 1.0)
    h = 1e-4

    def slope(one, other):
        return (by_scipy(*one)[-1] - by_scipy(*other)[-1]) / (2 * h)

    for k, unit in enumerate(np.eye(2)):
        moved = slope(*((START + sign * h * unit, times) for sign in (1, -1)))
        np.testing.assert_allclose(by_state[:, k], moved, atol=1e-6 * np.abs(moved).max())
    sides = (by_scipy(START, times, k=1.0 + sign * h)[-1] for sign in (1, -1))
    moved = -np.subtract(*reversed(list(sides))) / (2 * h)
    np.testing.assert_allclose(by_stiffness, moved, atol=1e-6 * np.abs(moved).max())


@pytest.mark.slow  # compiles 28 equations and their columns by XLA, 6 s
def test_a_field_too_large_for_a_kernel_goes_by_xla():
    n, rng = 14, np.random.default_rng(3)
    coupling = rng.normal(size=(n, n)) / n

    def field(t, x, p):
        place, speed = x[:n], x[n:]
        pull = jnp.tanh(coupling @ place) @ coupling
        return jnp.concatenate([speed, -p["k"] * pull - 0.1 * speed + jnp.sin(t)])

    system = jv.forced_system(
        field, parameters={"k": 1.0}, period=2 * np.pi, dimension=2 * n
    )
    start = rng.normal(size=2 * n)
    monodromy = jax.jacfwd(lambda x: jv.flow(system, x, 0.0, 2.0, rtol=1e-9))(start)
    h, unit = 1e-4, rng.normal(size=2 * n)

    def end(state):
        return scipy.integrate.solve_ivp(
            lambda t, x: np.asarray(field(t, x, {"k": 1.0})),
            (0.0, 2.0), state, "DOP853", rtol=1e-12, atol=1e-12,
        ).y[:, -1]  # fmt: skip

    moved = (end(start + h * unit) - end(start - h * unit)) / (2 * h)
    np.testing.assert_allclose(monodromy @ unit, moved, atol=1e-6 * np.abs(moved).max())


PULL = {"stiffness": 2.0}


def held(t, x, p):
    return [x[1], p["F"] * jnp.cos(t) - PULL["stiffness"] * x[0]]


@pytest.mark.parametrize(
    "verb",
    # a motion and an orbit for each constant compile for 5 s
    ["flow", *(pytest.param(v, marks=pytest.mark.slow) for v in ("simulate", "orbit"))],
)
def test_a_field_that_takes_another_constant_is_another_field(verb, monkeypatch):
    """As in a notebook whose cells are run again; x = F cos t / (k - 1) repeats."""
    system = jv.forced_system(held, parameters={"F": 0.5}, period=2 * np.pi, dimension=2)
    for k in (2.0, 3.0):
        monkeypatch.setitem(PULL, "stiffness", k)
        far, w = 0.5 / (k - 1), np.sqrt(k)
        end = [far * (np.cos(2.0) - np.cos(2 * w)), far * (w * np.sin(2 * w) - np.sin(2.0))]
        if verb == "flow":
            found = jv.flow(system, [0.0, 0.0], 0.0, 2.0)
        elif verb == "simulate":
            found = jv.simulate(system, [0.0, 0.0], [0.0, 1.0, 2.0]).states[-1]
        else:
            found, end = jv.periodic_orbit(system, [0.1, 0.0]).state, [far, 0.0]
        np.testing.assert_allclose(found, end, atol=1e-8 if verb == "orbit" else 1e-9)


@pytest.mark.slow  # compiles two flows for each engine, 4 s
@pytest.mark.parametrize("engine", ["diffrax"])
def test_a_field_may_close_over_traced_values(engine):
    """X = cos(sqrt(k) t) from x = 1 at rest."""

    def end(k):
        pulled = jv.forced_system(
            lambda t, x, p: [x[1], -k * x[0]],
            parameters={"mass": 1.0},
            period=2 * np.pi,
            dimension=2,
        )
        return jv.flow(pulled, [1.0, 0.0], 0.0, 1.0, engine=engine)[0]

    stiffness = np.array([2.0, 3.0])
    expected = np.cos(np.sqrt(stiffness))
    for k, known in zip(stiffness, expected, strict=True):
        np.testing.assert_allclose(jax.jit(end)(k), known, rtol=1e-8)
    np.testing.assert_allclose(jax.vmap(end)(stiffness), expected, rtol=1e-8)


class Overtones(eqx.Module):
    """A load of one's own: sines of equal height, of the given orders."""

    height: jax.Array
    order: jax.Array

    def period(self):
        return jnp.asarray(2.0)

    def force(self, time):
        angle = jnp.pi * time
        return self.height * sum(
            jnp.sin((k + 1) * angle) for k in np.asarray(self.order).tolist()
        )


@pytest.mark.slow  # compiles an orbit and three flows for each load, 8 s
@pytest.mark.parametrize("engine", ["diffrax"])
def test_integers_in_a_law_distinguish_systems(engine):
    for order in ([0, 1], [0, 2]):
        load = jv.AppliedLoad([1.0], Overtones(jnp.asarray(0.3), jnp.asarray(order)))
        system = jv.ImpactSystem(swing.linear, loads=(load,))

        def rate(t, x, order=order):
            force = 0.3 * sum(np.sin((k + 1) * np.pi * t) for k in order)
            return [x[1], force - 0.1 * x[1] - x[0]]

        expected = scipy.integrate.solve_ivp(
            rate, (0.0, 3.0), START, "DOP853", rtol=1e-12, atol=1e-13
        ).y[:, -1]
        found = jv.flow(system, START, 0.0, 3.0, engine=engine)
        np.testing.assert_allclose(found, expected, atol=1e-8)
        orbit = jv.periodic_orbit(system)
        again = jv.flow(system, orbit.state, 0.0, 2.0)
        np.testing.assert_allclose(again, orbit.state, atol=1e-7)
        held = jax.vmap(lambda s, system=system: jv.flow(system, s, 0.0, 3.0))(START[None])
        np.testing.assert_allclose(held[0], expected, atol=1e-8)


# Two bodies that touch twice on the way, of which one is of rubber.
soft = jv.two_body_impact(
    contact=jv.HertzContact(35041219.07), load=jv.HarmonicLoad(500.0, 5.8)
)
THROWN = jnp.array([0.05, 0.02, 0.5, -0.4])


@jax.jit
def thrown(engine, state):
    """Return the end of a motion and, along one direction, its derivative."""

    def end(state):
        return jv.flow(soft, state, 0.0, 1.5, rtol=1e-11, engine=engine)

    return jax.jvp(end, (state,), (jnp.array([1.0, 0.0, 0.0, 1.0]),))


@pytest.mark.slow  # compiles three flows with derivatives, 4 s and more
@pytest.mark.parametrize(
    "engine",
    [
        EventEngine(order=9),
        EventEngine(order=24),
        DiffraxEngine(diffrax.Tsit5()),
        DiffraxEngine(diffrax.Dopri5()),
    ],
    ids=repr,
)
def test_another_order_and_another_solver_find_the_same_motion(engine):
    others = EventEngine() if isinstance(engine, DiffraxEngine) else DiffraxEngine()
    for found, expected in zip(thrown(engine, THROWN), thrown(others, THROWN), strict=True):
        size = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * size)
    assert not np.array_equal(thrown(engine, THROWN)[0], thrown(type(engine)(), THROWN)[0])


def test_a_solver_or_an_order_that_there_is_not_is_refused():
    for solver in (diffrax.Heun(), diffrax.Kvaerno5()):
        with pytest.raises(ValueError, match=r"solver = .*allowed: an explicit FSAL"):
            DiffraxEngine(solver)
    with pytest.raises(ValueError, match=r"order = 4 is not in \[6, 30\]"):
        EventEngine(order=4)


@pytest.mark.slow  # each contact takes 3 s to compile
@pytest.mark.parametrize("contact", [jv.HertzContact(3.5e7), jv.RestitutionContact(0.7)])
def test_sensitivities_are_the_difference_of_two_neighbouring_motions(contact):
    system = jv.two_body_impact(contact=contact)
    start, change = system.rest(), 1e-7 * jnp.array([1.0, -2.0, 0.5, 1.0])
    events, period = EventEngine(), system.period()
    want = Want(1e-11, grazing=1e-9, along=change, periods=3)
    found = events.integrate(system, start, 0.0, period, want)
    whole = Want(1e-11, grazing=1e-9, along=change)
    two = events.in_parts(system, start, 0.0, 3.0 * period, whole)
    np.testing.assert_allclose(found.state, two.state, rtol=1e-9)
    size = np.abs(found.along).max()
    np.testing.assert_allclose(found.along[-1], two.along, atol=1e-4 * size)
    assert int(found.observables.onsets[0]) == int(two.observables.onsets[0]) > 0


def test_periods_in_one_loop_are_those_one_after_another_to_the_bit():
    system = jv.two_body_impact()
    lanes = [0.5, 0.8, 1.0, np.nan, 2.0, 4.0, 7.0, 9.0]  # each contacts at other times
    starts = jnp.outer(jnp.asarray(lanes), jnp.array([-0.02, 0.1, 0.01, 0.3]))

    period, want = system.period(), Want(1e-7, periods=8)

    def together(state):
        return EventEngine().integrate(system, state, 0.0, period, want)

    found = jax.vmap(together)(starts)
    states, code = found.states, found.result
    expected = [EventEngine().in_parts(system, s, 0.0, period, want) for s in starts]
    np.testing.assert_array_equal(states, [each.states for each in expected])
    assert list(code) == [int(each.result) for each in expected]
    assert np.isnan(states[3]).all()
    assert np.isfinite(np.delete(states, 3, 0)).all()


class Undamped(Engine):
    """A user's engine: the closed form of undamped oscillators of frequency 1."""

    def refusal(self, equation):
        return ""

    def integrate(self, system, state, t0, t1, want):
        if not (want.times is want.along is want.periods is None):
            return self.in_parts(system, state, t0, t1, want)
        angle = jnp.asarray(t1 - t0, float)
        turn = jnp.stack([jnp.cos(angle), jnp.sin(angle), -jnp.sin(angle), jnp.cos(angle)])
        end = turn.reshape(2, 2) @ state
        return Motion(end, jnp.asarray(0, jnp.int32), jnp.asarray(1, jnp.int32))


def test_an_engine_of_one_method_gives_samples_periods_and_changes():
    still = jv.LinearSystem(jnp.eye(1), jnp.zeros((1, 1)), jnp.eye(1))
    system = jv.ImpactSystem(still, (jv.Contact([1.0], 9.0, jv.HertzContact(1.0)),), ())
    engine, times = Undamped(), np.array([0.0, 0.5, 2.0])
    waves = np.array([np.cos(times), -np.sin(times)]).T
    start = jnp.array([1.0, 0.0])
    motion = jv.simulate(system, start, times, engine=engine)
    np.testing.assert_allclose(motion.states, waves, rtol=1e-14)
    np.testing.assert_array_equal(motion.contact_force, np.zeros((3, 1)))
    np.testing.assert_allclose(jv.flow(system, start, 0.0, 2.0, engine=engine), waves[2])
    periods = engine.integrate(system, start, 0.0, 0.5, Want(1e-9, periods=4))
    turns = 0.5 * np.arange(1, 5)
    np.testing.assert_allclose(periods.states[:, 0], np.cos(turns), rtol=1e-13)
    change = jnp.array([1e-3, 2e-3])
    along = engine.integrate(system, start, 0.0, 0.5, Want(1e-9, along=change)).along
    c, s = np.cos(0.5), np.sin(0.5)
    np.testing.assert_allclose(along, [[c, s], [-s, c]] @ np.asarray(change), rtol=1e-12)
    with pytest.raises(ValueError, match="periods = 3; allowed with a change: 1"):
        engine.integrate(system, start, 0.0, 0.5, Want(1e-9, along=change, periods=3))
