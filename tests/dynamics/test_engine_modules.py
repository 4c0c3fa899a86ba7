"""Checked against: the engines' names, which stand for the modules, and each other."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.engines import (
    DiffraxEngine,
    Engine,
    EventEngine,
    SteppingEngine,
    engine_for,
)
from jaxvib.dynamics.flow import solve_system

MODULES = {"diffrax": DiffraxEngine(), "event": EventEngine(), "stepping": SteppingEngine()}
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
    assert engine_for(swing, MODULES[name], 1) == (MODULES[name], "asked for")


def test_equal_engines_are_compiled_once():
    traced = []

    @jax.jit
    def run(engine, state):
        traced.append(engine)
        return state

    for engine in (SteppingEngine(), SteppingEngine(), SteppingEngine("float32")):
        run(engine, START)
        assert hash(engine) == hash(SteppingEngine(engine.precision))
    assert traced == [SteppingEngine(), SteppingEngine("float32")]


def test_float32_is_an_engine_of_its_own():
    by_name = jv.flow(
        swing, START, 0.0, 1.0, rtol=1e-6, engine="stepping", precision="float32"
    )
    engine = SteppingEngine(precision="float32")
    found = jv.flow(swing, START, 0.0, 1.0, rtol=1e-6, engine=engine)
    np.testing.assert_array_equal(found, by_name)
    with pytest.raises(ValueError, match=r"rtol = 1e-08 in float32 is not in"):
        jv.flow(swing, START, 0.0, 1.0, rtol=1e-8, engine=engine)


def test_engines_that_a_system_cannot_be_taken_by_are_refused():
    for engine in (DiffraxEngine(), SteppingEngine()):
        with pytest.raises(
            ValueError, match="by impulses, at events; allowed: auto, event"
        ):
            jv.flow(stop, START, 0.0, 1.0, engine=engine)
    with pytest.raises(ValueError, match="no samples on the way; allowed: auto, diffrax"):
        jv.simulate(swing, START, [0.0, 1.0], engine=SteppingEngine())
    with pytest.raises(ValueError, match=r"precision = .float16.; allowed: float32, "):
        SteppingEngine(precision="float16")


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
        with pytest.raises(ValueError, match=r"solver = .*allowed: an explicit one"):
            DiffraxEngine(solver)
    with pytest.raises(ValueError, match=r"order = 4 is not in \[6, 30\]"):
        EventEngine(order=4)


@pytest.mark.parametrize("contact", [jv.HertzContact(3.5e7), jv.RestitutionContact(0.7)])
def test_a_change_becomes_what_parts_two_neighbours(contact):
    system = jv.two_body_impact(contact=contact)
    start, change = system.rest(), 1e-7 * jnp.array([1.0, -2.0, 0.5, 1.0])
    settings = {"rtol": 1e-11, "grazing": 1e-9}
    events, about = EventEngine(), (0.0, 3.0 * system.period())
    end, moved, watched, _ = events.watch_along(system, start, change, *about, **settings)
    two = Engine.watch_along(events, system, start, change, *about, **settings)
    np.testing.assert_allclose(end, two[0], rtol=1e-9)
    np.testing.assert_allclose(moved, two[1], atol=1e-4 * np.abs(moved).max())
    assert int(watched.onsets[0]) == int(two[2].onsets[0]) > 0
