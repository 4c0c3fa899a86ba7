"""Checked against: laws that hold for every system, over all of `systems_table.py`."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.foundation.quantity import result_field
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store

from .systems_table import MOTIONS, STILLS

RTOL = 1e-11
# What motions at that tolerance promise, in parts of the state's and the columns' size.
STATE, COLUMNS = 1e-8, 1e-6
DIFFERENCES = 1e-4
LANES = 13  # of every call, so that a system is compiled once for each law
IMPACTS = "hard stop"  # has no vector field that another integrator could take

QUICK = (
    "two bodies, rigid", "two bodies, soft", "hard stop", "cart and rod",
)  # fmt: skip


def over(chosen):
    """Parametrise by the names of all that move; most take long to compile (3 to 30 s)."""
    names = [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name, case in MOTIONS.items()
        if chosen(case)
    ]
    return pytest.mark.parametrize("name", names)


moving = over(lambda case: True)
few = settings(max_examples=3)
seeds = st.integers(0, 10**6)


@functools.partial(jax.jit, static_argnames="path")
def moved(path, system, values, states, t0, t1):
    """Return every motion's end, its derivative by the parameter, and by the state."""

    def one(value, state):
        def end(value, state):
            final = jv.flow(jv.replace(system, {path: value}), state, t0, t1, rtol=RTOL)
            return final, final

        columns, final = jax.jacfwd(end, (0, 1), has_aux=True)(value, state)
        return final, *columns

    return jax.vmap(one)(values, states)


@jax.jit
def rates(system, time, state):
    """Return the vector field and its divergence."""
    field = system.equation().vector_field
    return jnp.append(field(time, state), jnp.trace(jax.jacfwd(field, 1)(time, state)))


@functools.cache
def rates_of(name):
    """Return a system's rates, without its many leaves in every one of 10,000 calls."""
    system = MOTIONS[name].system()
    return jax.jit(lambda time, state: rates(system, time, state[:-1]))


def motions(name, *, values=None, states=None, seed=0):
    """Return what `moved` makes of a system's lanes."""
    case = MOTIONS[name]
    values = np.full(LANES, case.usual) if values is None else values
    states = case.states(seed, LANES) if states is None else states
    ends = moved(case.path, case.system(), values, states, case.begin, case.end)
    return [np.asarray(leaf) for leaf in ends]


def check_close(found, expected, tolerance):
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


@over(lambda case: case.smooth)
@few
@given(seed=seeds)
def test_a_motion_is_that_of_another_integrator_and_shrinks_volumes_as_it_says(name, seed):
    case = MOTIONS[name]
    system = case.system()
    final, _, columns = motions(name, seed=seed)
    volumes = np.linalg.slogdet(columns)[1]
    if name == IMPACTS:
        # each impact multiplies volumes by the square of its restitution
        shrunk = volumes - float(system.equation().divergence()) * case.span
        impacts = shrunk / (2 * np.log(case.usual))
        np.testing.assert_allclose(impacts, np.round(impacts), atol=COLUMNS)
        assert impacts.max() > 0.5
        return
    field = rates_of(name)
    for lane, state in enumerate(case.states(seed, 2)):
        found = solve_ivp(
            lambda t, y: np.asarray(field(t, y)), (case.begin, case.end),
            [*state, 0.0], method="DOP853", rtol=1e-12, atol=1e-14,
        )  # fmt: skip
        check_close(final[lane], found.y[:-1, -1], STATE)
        assert volumes[lane] == pytest.approx(found.y[-1, -1], abs=COLUMNS)


@jax.jit
def moved_back(system, states, t0, t1):
    """Return the states at t0 of the motions that end in `states` at t1.

    Backwards in time a damping D becomes -D and a load's phase -(w t1 + phi); of a vector
    field f(t, x) it is the flow of -f(t1 - t, x).
    """
    equation = system.equation()
    harmonic = all(isinstance(law, jv.HarmonicLoad) for law in laws_of(equation))
    if isinstance(system, jv.ForcedSystem | jv.AutonomousSystem) or not harmonic:
        backwards, turned, offset = forced_back(equation, states.shape[1], t1), 1.0, 0.0
    else:
        mass, damping, stiffness = system.matrices()
        loads = [
            jv.replace(load, {"law.phase": -load.law.phase - load.law.frequency * t1})
            for load in equation.loads
        ]
        linear = jv.LinearSystem(mass, -damping, stiffness)
        backwards = jv.ImpactSystem(linear, equation.contacts, tuple(loads))
        ones = jnp.ones(equation.offset.shape)
        turned = jnp.concatenate([ones, -ones])
        offset = jnp.concatenate([equation.offset, 0.0 * ones])

    def one(state):
        start = (state - offset) * turned
        return jv.flow(backwards, start, 0.0, t1 - t0, rtol=RTOL) * turned + offset

    return jax.vmap(one)(states)


def laws_of(equation):
    return [load.law for load in getattr(equation, "loads", ())]


def forced_back(equation, dimension, t1):
    def field(t, x, p):
        return -equation.vector_field(t1 - t, x)

    return jv.forced_system(field, parameters={}, period=5.0, dimension=dimension)


@over(lambda case: case.turns)
@few
@given(seed=seeds)
def test_a_motion_forth_and_back_ends_where_it_began(name, seed):
    # with the greatest value of the parameter, which for a restitution is 1
    case = MOTIONS[name]
    most = case.allowed[1]
    states = case.states(seed, LANES)
    final, _, columns = motions(name, values=np.full(LANES, most), states=states)
    found = moved_back(case.build(most), jnp.asarray(final), case.begin, case.end)
    for lane in range(LANES):
        growth = np.abs(np.linalg.inv(columns[lane])).max()  # of an error on the way back
        error = np.abs(found[lane] - states[lane]).max()
        assert error <= STATE * growth * np.abs(final[lane]).max()


@functools.partial(jax.jit, static_argnames="path")
def alone(path, system, value, state, t0, t1):
    return jv.flow(jv.replace(system, {path: value}), state, t0, t1, rtol=RTOL)


@moving
def test_lanes_equal_single_motions(name):
    case = MOTIONS[name]
    values = np.linspace(*case.allowed, LANES + 2)[1:-1]
    states = case.states(1, LANES)
    together, _, _ = motions(name, values=values, states=states)
    for lane in range(0, LANES, 4):
        one = alone(
            case.path, case.system(), values[lane], states[lane], case.begin, case.end
        )
        check_close(together[lane], one, STATE)
    # In its place no lane feels its neighbours, to the last bit.
    others = states.at[::2].multiply(0.9)
    among_others, _, _ = motions(name, values=values, states=others)
    np.testing.assert_array_equal(among_others[1::2], together[1::2])


@moving
def test_derivatives_are_the_limit_of_differences(name):
    """Compare with central differences at h, h/2, h/4, extrapolated twice.

    How far the two extrapolated differences are apart tells the error of the better one,
    which must be small, or the comparison would be none.
    """
    case = MOTIONS[name]
    start = np.asarray(case.states(2, 1)[0])
    direction = np.asarray(case.states(3, 1)[0]) - np.asarray(case.system().rest())
    steps = 1e-3 * np.array([1.0, 0.5, 0.25])
    sides = np.concatenate([steps, -steps])
    width = case.allowed[1] - case.allowed[0]
    values = np.full(LANES, case.usual)
    states = np.tile(start, (LANES, 1))
    values[1:7] += width * sides
    states[7:] += sides[:, None] * direction
    final, by_value, by_state = motions(name, values=values, states=jnp.asarray(states))
    for derivative, ends in (
        (width * by_value[0], final[1:7]),
        (by_state[0] @ direction, final[7:]),
    ):
        difference = (ends[:3] - ends[3:]) / (2 * steps[:, None])
        first, second = (4 * difference[1:] - difference[:-1]) / 3
        size = np.abs(derivative).max()
        unsure = np.abs(first - second).max()
        assert unsure <= DIFFERENCES * size
        assert np.abs(derivative - second).max() <= unsure + COLUMNS * size


@pytest.mark.parametrize("name", [*MOTIONS, *STILLS])
@settings(max_examples=10)
@given(part=st.floats(0.0, 1.0))
def test_a_value_replaced_is_a_system_built_with_it(name, part):
    case = (MOTIONS | STILLS)[name]
    low, high = case.allowed
    value = low + part * (high - low)
    replaced, built = jv.replace(case.system(), {case.path: value}), case.build(value)
    assert jax.tree.structure(replaced) == jax.tree.structure(built)
    for one, other in zip(jax.tree.leaves(replaced), jax.tree.leaves(built), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "name",
    ["chain", pytest.param("springs", marks=pytest.mark.slow)],  # 2 s each to compile
)
def test_derivatives_of_frequencies_are_the_limit_of_differences(name):
    case = STILLS[name]

    @jax.jit
    def frequencies(value):
        system = jv.replace(case.system(), {case.path: value})
        return jv.natural_frequencies(system)

    usual, step = case.usual, 1e-3 * case.usual
    ends = [frequencies(usual + side * step) for side in (1.0, 0.5, -1.0, -0.5)]
    coarse, fine = (ends[0] - ends[2]) / (2 * step), (ends[1] - ends[3]) / step
    # of the fourth order in the step: 1e-12 and the rounding of what is subtracted
    np.testing.assert_allclose(
        jax.jit(jax.jacfwd(frequencies))(usual), (4 * fine - coarse) / 3, rtol=0,
        atol=1e-8 * np.abs(ends[0]).max() / usual,
    )  # fmt: skip
    many = jax.jit(jax.vmap(frequencies))(usual + step * jnp.array([1.0, 0.5]))
    np.testing.assert_allclose(many, ends[:2], rtol=1e-10)


class Rate(eqx.Module):
    """What a sweep makes of a system without solving anything."""

    rate: jax.Array = result_field("rate at a state", "", ("state",))
    divergence: jax.Array = result_field("divergence", "1/s")


RECORD = {
    "title": "A system of the table", "analysis": "rate", "samples": 6, "chunk": 3,
    "axes": {}, "evidence": "checked", "versions": {}, "fingerprint": {}, "git": None,
}  # fmt: skip


@moving
def test_stored_arrays_equal_those_in_memory(name, tmp_path):
    case = MOTIONS[name]
    state = case.states(5, 1)[0]

    def rate(system):
        found = rates(system, case.begin, state)
        return Rate(found[:-1], found[-1])

    values = np.linspace(*case.allowed, 6)
    swept = jv.sweep(rate, case.system(), {case.path: values})
    for value, row in zip(values, swept["rate"], strict=True):
        check_close(row, rate(case.build(value)).rate, 1e-14)
    record = RECORD | {
        "system": name, "config": {}, "grid": {case.path: 6}, "coordinates": [case.path],
    }  # fmt: skip
    store = Store.create(tmp_path / "study", record, "")
    for chunk in range(2):
        part = swept.isel({case.path: slice(3 * chunk, 3 * chunk + 3)})
        fields = {
            key: Variable(("sample", *array.dims[1:]), array.values)
            for key, array in part.variables.items()
        }
        store.append(chunk, fields)
    store.finish()
    found = jv.open_study(tmp_path / "study")
    assert set(found.variables) >= set(swept.variables)
    for key, array in swept.variables.items():
        assert found[key].dtype == array.dtype
        np.testing.assert_array_equal(found[key], array)
