"""Checked against: the linear response, tests.independent, differences of points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches.equations.defining_equations import Setting, second_compound, touching
from jaxvib.branches.equations.touches import Stop
from jaxvib.ensemble import Reason
from tests.independent import TwoBody, motion, periodic_orbit
from tests.systems_table import SOFT

base = jv.two_body_impact(contact=jv.HertzContact(stiffness=SOFT))
DOUBLING = (6.0082279, [-0.04233351, 0.14220186, 0.95184016, 0.98087851])
TORUS = (7.4, [-0.0071896, -0.00764838, 0.05704778, -0.36084446])


def at(frequency, guess, **values):
    system = jv.replace(base, {"load.frequency": frequency, **values})
    orbit = jv.periodic_orbit(system, np.array(guess))
    assert int(orbit.result) == 0
    return system, orbit


def linear_grazing(frequency, gap):
    """Return the load amplitude at which the motion of the open system closes the gap."""
    mass, damping, stiffness = (np.asarray(m) for m in base.matrices())
    dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
    response = np.linalg.solve(dynamic, [1.0, 0.0])
    return gap / abs(response[0] - response[1])


@pytest.fixture(scope="module")
def apart():
    """Return a motion a little below grazing."""
    system = jv.replace(base, {"load.amplitude": 180.0})
    return system, jv.periodic_orbit(system, system.rest())


@pytest.mark.slow
def test_grazing_and_its_derivatives_are_those_of_the_linear_response(apart):
    system, orbit = apart
    assert int(orbit.contacts) == 0

    @jax.jit
    def grazing(gap, frequency):
        varied = jv.replace(system, {"gap": gap, "load.frequency": frequency})
        point = jv.bifurcation_point(varied, orbit, "grazing", "load.amplitude")
        return point.parameter, point

    def both(gap, frequency):
        slopes, point = jax.jacfwd(grazing, (0, 1), has_aux=True)(gap, frequency)
        return point, slopes

    point, slopes = jax.jit(both)(0.05, 5.8)
    expected = linear_grazing(5.8, 0.05)
    assert int(point.result) == 0
    assert float(point.parameter) == pytest.approx(expected, rel=1e-10)
    assert float(slopes[0]) == pytest.approx(expected / 0.05, rel=1e-9)
    step = 1e-4
    moved = [linear_grazing(5.8 + k * step, 0.05) for k in (-2, -1, 1, 2)]
    by_frequency = np.dot([1, -8, 8, -1], moved) / (12 * step)
    assert float(slopes[1]) == pytest.approx(by_frequency, rel=1e-8)
    assert "grazing at load.amplitude = 183.8801998" in repr(point)


@pytest.mark.slow
@pytest.mark.parametrize("law", [jv.LinearContact(1e6), jv.HertzContact(SOFT)])
def test_a_branch_s_grazing_is_that_of_the_linear_response(law):
    # With the linear spring a fold lies 5e-6 of the load beside it.
    system = jv.replace(jv.two_body_impact(contact=law), {"load.amplitude": 150.0})
    orbit = jv.periodic_orbit(system, system.rest())
    branch = jv.continue_orbit(
        system, orbit, "load.amplitude", (140.0, 200.0), method="arclength"
    )
    grazing = [point for point in branch.bifurcations if point.kind == "grazing"]
    assert [int(point.result) for point in grazing] == [0]
    expected = linear_grazing(5.8, 0.05)
    assert float(grazing[0].parameter) == pytest.approx(expected, rel=1e-11)


@pytest.mark.slow  # compiles a system of its own
def test_a_pressed_body_opens_its_contact_for_an_instant_as_the_linear_response_says():
    # In contact all the time, it is a linear oscillator of the stiffness k + K.
    mass, damping, stiffness, contact, gap, frequency = 2.0, 3.0, 100.0, 1e3, 0.02, 12.0

    def pressed(force, amplitude):
        push, shake = jv.ConstantLoad(force), jv.HarmonicLoad(amplitude, frequency)
        return jv.ImpactSystem(
            jv.LinearSystem([[mass]], [[damping]], [[stiffness]]),
            (jv.Contact([1.0], gap, jv.LinearContact(contact)),),
            tuple(jv.AppliedLoad([1.0], law) for law in (push, shake)),
        )

    system, path = pressed(50.0, 28.0), "loads.1.law.amplitude"
    orbit = jv.periodic_orbit(system)

    def opening(force):
        point = jv.bifurcation_point(pressed(force, 28.0), orbit, "grazing", path)
        return point.parameter, point

    slope, point = jax.jacfwd(opening, has_aux=True)(50.0)
    dynamic = stiffness + contact - mass * frequency**2 + 1j * damping * frequency
    depth = (50.0 - stiffness * gap) / (stiffness + contact)
    assert float(point.parameter) == pytest.approx(depth * abs(dynamic), rel=1e-12)
    assert float(slope) == pytest.approx(abs(dynamic) / (stiffness + contact), rel=1e-11)
    behind = (np.pi + np.angle(dynamic)) / frequency  # where the displacement is lowest
    assert float(point.time) == pytest.approx(behind, rel=1e-9)
    # The same motion is none that touches for an instant.
    there = jv.replace(system, {path: point.parameter})
    state = jv.flow(there, point.state, 0.0, point.time)
    unknowns = jnp.append(state, jnp.stack([point.time / there.period(), point.parameter]))
    for opens in (True, False):
        stop = Stop(jnp.asarray(0), jnp.asarray(0.02), jnp.asarray(opens))
        setting = Setting(1.0, 0.0, jnp.ones(4), stop)
        assert bool(touching(there, setting, unknowns)[0]) == opens


def independent(frequency, guess, **values):
    other = TwoBody(contact_stiffness=SOFT, load_frequency=frequency, **values)
    return periodic_orbit(other, np.asarray(guess))


@pytest.mark.slow
def test_a_multiplier_is_one_at_a_fold():
    arc = jv.continue_orbit(
        base,
        jv.periodic_orbit(base, np.array([0.0800212, 0.2072154, 0.7223403, 0.3775680])),
        "load.amplitude",
        (124.0, 600.0),
    )
    parameter = np.asarray(arc.parameter)
    turns = 1 + np.flatnonzero(np.diff(np.sign(np.diff(parameter))))
    start = int(np.argmin(np.abs(parameter - 500.0)))
    turn = int(turns[np.argmin(np.abs(turns - start))])
    system = jv.replace(base, {"load.amplitude": float(parameter[turn])})
    orbit = jv.periodic_orbit(system, arc.states[turn])
    point = jv.bifurcation_point(system, orbit, "fold", "load.amplitude")
    assert int(point.result) == 0
    # The branch turns back there.
    assert 0 <= float(parameter[turn] - point.parameter) < 1
    other = TwoBody(contact_stiffness=SOFT, load_amplitude=float(point.parameter))
    seen = motion(other, np.asarray(point.state), 0, other.period, ())
    np.testing.assert_allclose(seen.state, point.state, atol=1e-9)
    multipliers = np.linalg.eigvals(seen.monodromy)
    assert np.abs(multipliers - 1).min() < 1e-7
    # On the far side there is no such motion: Newton's method leaves.
    beyond = jv.replace(system, {"load.amplitude": float(point.parameter) - 0.05})
    gone = jv.periodic_orbit(beyond, point.state, throw=False)
    away = np.abs(np.asarray(gone.state) - np.asarray(point.state)).max()
    assert int(gone.result) != 0 or away > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "start", "step"),
    [("period_doubling", DOUBLING, 2e-3), ("neimark_sacker", TORUS, 5e-3)],
)
def test_stability_changes_there_and_nowhere_else(kind, start, step):
    system, orbit = at(*start)
    point = jv.bifurcation_point(system, orbit, kind, "load.frequency")
    assert int(point.result) == 0
    frequency = float(point.parameter)
    here = independent(frequency, point.state)
    np.testing.assert_allclose(here.state, point.state, atol=1e-8)
    if kind == "period_doubling":
        assert np.abs(here.multipliers + 1).min() < 1e-7
    else:
        pair = here.multipliers[np.argsort(-np.abs(here.multipliers))[:2]]
        assert abs(pair[0].imag) > 0.1
        np.testing.assert_allclose(np.abs(pair), 1.0, atol=1e-7)
    before, after = (
        np.abs(independent(frequency + k * step, point.state).multipliers).max()
        for k in (-1, 1)
    )
    assert before < 1 < after


@pytest.mark.slow
def test_a_period_doubling_is_placed_by_newton_s_method():
    system, orbit = at(*DOUBLING)

    @jax.jit
    def doubling(gap):
        varied = jv.replace(system, {"gap": gap})
        return jv.bifurcation_point(
            varied, orbit, "period_doubling", "load.frequency"
        ).parameter

    gaps = jnp.array([0.0499, 0.05, 0.0501])
    found = jax.jit(jax.vmap(doubling))(gaps)
    slope = jax.jit(jax.jacfwd(doubling))
    difference = (found[2] - found[0]) / (gaps[2] - gaps[0])
    assert float(slope(0.05)) == pytest.approx(float(difference), rel=1e-4)
    gap, target = 0.05, 6.02
    for _ in range(10):
        wrong = float(doubling(gap)) - target
        if abs(wrong) < 1e-8 * target:
            break
        gap -= wrong / float(slope(gap))
    assert abs(wrong) < 1e-8 * target
    multipliers = independent(target, orbit.state, gap=gap).multipliers
    assert np.abs(multipliers + 1).min() < 1e-5


def test_the_second_compound_has_the_products_of_multipliers():
    matrix = np.random.default_rng(0).normal(size=(4, 4))
    values = np.linalg.eigvals(matrix)
    products = [values[i] * values[j] for i in range(4) for j in range(i)]
    found = np.linalg.eigvals(np.asarray(second_compound(jnp.asarray(matrix))))
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(products))


@pytest.mark.parametrize(
    ("kind", "path", "message"),
    [
        ("folds", "load.amplitude", "did you mean 'fold'"),
        ("fold", "load.amplitud", "load.amplitude"),
    ],
)
def test_bad_arguments_are_named(apart, kind, path, message):
    with pytest.raises(ValueError, match=message):
        jv.bifurcation_point(*apart, kind, path)


def test_an_orbit_that_was_not_found_is_refused(apart):
    system, _ = apart
    wild = jv.replace(system, {"load.amplitude": 1e200})
    wild = jv.periodic_orbit(wild, system.rest(), throw=False)
    assert Reason(int(wild.result)).failed
    with pytest.raises(ValueError, match="orbit was not found"):
        jv.bifurcation_point(system, wild, "fold", "load.amplitude")
