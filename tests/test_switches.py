"""Checked against: closed forms of an oscillator, of normal forms and of a limit cycle."""

import functools
import itertools
import os
import subprocess
import sys
import threading

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.programs.motion_functions import MotionFunctions

MASS, DAMPING, STIFFNESS, FORCE, PACE = 1.0, 0.2, 4.0, 0.5, 1.3
PATH = "linear.stiffness.0.0"
LINEAR = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
DRIVEN = jv.ImpactSystem(
    LINEAR, loads=(jv.AppliedLoad([1.0], jv.HarmonicLoad(FORCE, PACE)),)
)
PULLED = jv.ImpactSystem(LINEAR, loads=(jv.AppliedLoad([1.0], jv.ConstantLoad(FORCE)),))
START, TIMES, TURN = np.array([0.1, 0.2]), np.linspace(0.0, 3.0, 7), 2 * np.pi / PACE


def spiral(x, p):
    """Return the rates of a limit cycle of radius 1 and angular frequency sqrt(k)."""
    growth, pace = 1 - x[0] ** 2 - x[1] ** 2, jnp.sqrt(p["k"])
    return jnp.stack([growth * x[0] - pace * x[1], growth * x[1] + pace * x[0]])


SPIRAL = jv.autonomous_system(spiral, parameters={"k": STIFFNESS}, dimension=2)
FOLD = jv.autonomous_system(
    lambda x, p: jnp.stack([p["push"] + p["k"] * x[0] - x[0] ** 3]),
    parameters={"k": STIFFNESS, "push": -3.0},
    dimension=1,
)


def steady(k):
    """Return the complex amplitude of the oscillator's periodic motion."""
    return FORCE / (jnp.asarray(k, complex) - MASS * PACE**2 + 1j * DAMPING * PACE)


def periodic(k, time=0.0):
    wave = steady(k) * jnp.exp(1j * PACE * time)
    return jnp.stack([jnp.real(wave), jnp.real(1j * PACE * wave)])


def free(k, state, time):
    rate = DAMPING / (2 * MASS)
    pace = jnp.sqrt(k / MASS - rate**2)
    cos, sin = jnp.cos(pace * time), jnp.sin(pace * time)
    x, v = state
    place = x * cos + (v + rate * x) / pace * sin
    speed = v * cos - (rate * v + k / MASS * x) / pace * sin
    return jnp.exp(-rate * time) * jnp.stack([place, speed])


def moved(k, time):
    return free(k, START - periodic(k), time) + periodic(k, time)


def with_stiffness(system, k):
    return jv.replace(system, {PATH: k})


def linear(k):
    return jv.replace(LINEAR, {"stiffness.0.0": k})


def of_cycle(k):
    system = jv.replace(SPIRAL, {"k": k})
    return jv.periodic_orbit(system, [1.0, 0.0], period=3.0, throw=False).period[None]


def fold(k):
    system = jv.replace(FOLD, {"k": k})
    state = np.sqrt(STIFFNESS / 3) + 0.01
    near = jv.equilibrium(jv.replace(FOLD, {"push": -3.0}), [state], throw=False)
    found = jv.bifurcation_point(system, near, "fold", "push", throw=False)
    return found.parameter[None]


# Each public function of one sample, as a function of the stiffness; and its closed form.
VERBS = {
    "flow": (
        lambda k: jv.flow(with_stiffness(DRIVEN, k), START, 0.0, 2.0),
        lambda k: moved(k, 2.0),
    ),
    "flow, diffrax": (
        lambda k: jv.flow(with_stiffness(DRIVEN, k), START, 0.0, 2.0, engine="diffrax"),
        lambda k: moved(k, 2.0),
    ),
    "simulate": (
        lambda k: jv.simulate(with_stiffness(DRIVEN, k), START, TIMES).states[-1],
        lambda k: moved(k, TIMES[-1]),
    ),
    "propagate": (
        lambda k: jv.propagate(linear(k), START, TIMES)[-1],
        lambda k: free(k, START, TIMES[-1]),
    ),
    "response": (
        lambda k: jv.response(with_stiffness(DRIVEN, k), 2.0, START).state,
        lambda k: moved(k, 2.0),
    ),
    "section": (
        lambda k: jv.orbits.poincare_section(
            with_stiffness(DRIVEN, k), START, periods=2, skip=0
        ).states[-1],
        lambda k: moved(k, 2 * TURN),
    ),
    "energy_balance": (
        lambda k: (
            jv.dynamics.energy_balance(
                with_stiffness(DRIVEN, k), periodic(k.astype(float)), 0.0, TURN
            ).loads
        ),
        lambda k: jnp.pi * DAMPING * PACE * jnp.abs(steady(k))[None] ** 2,
    ),
    "periodic_orbit": (
        lambda k: jv.periodic_orbit(with_stiffness(DRIVEN, k), START).state,
        periodic,
    ),
    "limit cycle": (of_cycle, lambda k: 2 * jnp.pi / jnp.sqrt(k)[None]),
    "equilibrium": (
        lambda k: jv.equilibrium(jv.replace(FOLD, {"k": k, "push": 0.0}), [1.9]).state,
        lambda k: jnp.sqrt(k)[None],
    ),
    "bifurcation_point": (fold, lambda k: -2 * (k / 3)[None] ** 1.5),
    "static_equilibrium": (
        lambda k: jv.static_equilibrium(with_stiffness(PULLED, k)).state,
        lambda k: jnp.stack([FORCE / k, 0.0 * k]),
    ),
    "natural_frequencies": (
        lambda k: jv.natural_frequencies(linear(k)),
        lambda k: jnp.sqrt(k / MASS)[None],
    ),
    "natural_modes": (
        lambda k: jv.natural_modes(linear(k)).damping_ratios,
        lambda k: DAMPING / (2 * jnp.sqrt(k * MASS))[None],
    ),
    "elastic_structure": (
        lambda k: jv.elastic_structure(linear(k), 1, {"a": [1.0]}).frequencies,
        lambda k: jnp.sqrt(k / MASS)[None],
    ),
    "frequency_response": (
        lambda k: jnp.abs(
            jv.frequency_response(linear(k), [PACE], force=[FORCE], at=[1.0]).ravel()
        ),
        lambda k: jnp.abs(steady(k))[None],
    ),
    "lyapunov_exponents": (
        lambda k: jv.lyapunov_exponents(
            with_stiffness(DRIVEN, k), START, periods=16, skip=0
        ).exponents.sum()[None],
        lambda k: 0.0 * k[None] - DAMPING / MASS,
    ),
}
TRANSFORMATIONS = {
    "value": lambda f: f,
    "jit": jax.jit,
    "vmap": lambda f: lambda k: jax.vmap(f)(jnp.stack([k, k]))[1],
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "jit of vmap of jacrev": lambda f: (
        lambda k: jax.jit(jax.vmap(jax.jacrev(f)))(jnp.stack([k, k]))[1]
    ),
}


def in_a_thread(f):
    def called(k):
        found = []
        thread = threading.Thread(target=lambda: found.append(f(k)))
        thread.start()
        thread.join()
        return found[0]

    return called


def exported(f):
    return lambda k: export.export(jax.jit(f))(k).call(k)


def under(context):
    def switched(f):
        def called(k):
            with context():
                return f(k)

        return called

    return switched


# Strict promotion of dtypes and ranks is on in all tests.
SWITCHES = {
    "none": lambda f: f,
    "disable_jit": under(jax.disable_jit),
    "debug_nans": under(lambda: jax.debug_nans(True)),
    "checking_leaks": under(jax.checking_leaks),
    "a thread": in_a_thread,
    "float32": lambda f: lambda k: f(k.astype(jnp.float32)),
    "a float32 system": None,
    "export": exported,
}


@functools.cache
def expected_of(verb, transformation):
    """Return the closed form, which no switch is on for."""
    closed = TRANSFORMATIONS[transformation](VERBS[verb][1])
    return np.asarray(closed(jnp.asarray(STIFFNESS)))


def check(verb, transformation, switch):
    function, expected = VERBS[verb][0], expected_of(verb, transformation)
    change, turn = TRANSFORMATIONS[transformation], SWITCHES[switch]
    if turn is None:

        def narrow(k):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(jv, "replace", replaced_in_float32)
                return function(k)

        found = change(narrow)(jnp.asarray(STIFFNESS))
    else:
        found = turn(change(function))(jnp.asarray(STIFFNESS))
    scale = max(1.0, np.abs(expected).max())
    accuracy = 1e-6 if "float32" in switch else 2e-8
    np.testing.assert_allclose(found, expected, rtol=0, atol=accuracy * scale)
    if switch == "float32" and "jacrev" in transformation:
        assert found.dtype == jnp.float32


def replaced_in_float32(system, values, replace=jv.replace):
    found = replace(system, values)
    narrow = functools.partial(jnp.asarray, dtype=jnp.float32)
    return jax.tree.map(narrow, found)


# Programs of derivatives without kernels take XLA minutes to compile for `jax.export`.
CELLS = [
    each
    for each in itertools.product(VERBS, TRANSFORMATIONS, SWITCHES)
    if each[2] != "export" or "jac" not in each[1]
]
QUICK = [
    ("flow", "jit", "checking_leaks"),
    ("flow", "jacrev", "disable_jit"),
    ("flow", "jacrev", "float32"),
    ("flow", "jacrev", "debug_nans"),
    ("flow", "vmap", "a thread"),
    ("flow", "value", "a float32 system"),
    ("natural_frequencies", "value", "export"),
]


@pytest.mark.parametrize("cell", QUICK, ids=", ".join)
def test_a_switch_changes_no_result(cell):
    check(*cell)


@pytest.mark.slow  # the full product of 765 cells compiles for half an hour
@pytest.mark.parametrize("verb", VERBS)
def test_no_switch_changes_a_result(verb):
    wrong = []
    for cell in (each for each in CELLS if each[0] == verb):
        try:
            check(*cell)
        except Exception as error:
            wrong.append(f"{cell}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("verb", VERBS)
def test_float32_numbers_alone_are_refused_by_name(verb):
    k = jnp.asarray(STIFFNESS)
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64 = False"):
        VERBS[verb][0](k)


def test_a_system_built_before_float64_was_disabled_is_refused_by_name():
    with jax.enable_x64(False), pytest.raises(ValueError, match="jax_enable_x64 = False"):
        jv.natural_frequencies(LINEAR)


BODIES = jv.two_body_impact()
OUTSIDE = {
    "attached.mass": 0.0,
    "attached.damping_ratio": -0.1,
    "contact.stiffness": -1.0,
    "gap": -1e-3,
    "load.frequency": 0.0,
}


def test_traced_values_out_of_their_range_give_nan_in_every_direction():
    def end(values):
        return jv.flow(jv.replace(BODIES, values), BODIES.rest(), 0.0, 0.1)

    whole = jax.jit(lambda values: (end(values), jax.jacfwd(end)(values)))
    usual = {path: float(jv.parameter_at(BODIES, path).value) for path in OUTSIDE}
    assert np.isfinite(whole(usual)[0]).all()
    for path, value in OUTSIDE.items():
        state, slopes = whole(usual | {path: value})
        assert np.isnan(state).all(), path
        assert np.isnan(slopes[path]).all(), path


@pytest.mark.slow  # compiles four analyses, 10 s
@pytest.mark.parametrize("path", OUTSIDE)
def test_every_analysis_gives_a_reason_for_traced_values_out_of_their_range(path):
    start = BODIES.rest()

    def codes(value):
        system = jv.replace(BODIES, {path: value})
        found = (
            jv.simulate(system, start, [0.0, 0.1], throw=False),
            jv.periodic_orbit(system, start, throw=False),
            jv.response(system, 0.1, throw=False),
            jv.dynamics.energy_balance(system, start, 0.0, 0.1, throw=False),
        )
        return [each.result for each in found], found[1].max_contact_force

    result, force = jax.jit(codes)(OUTSIDE[path])
    assert result == [Reason.BAD_PARAMETER] * 4
    assert np.isnan(force)


@pytest.mark.parametrize("name", ["rest", "period", "derivatives"])
def test_functions_of_a_program_give_nan_for_parameters_out_of_their_range(name):
    functions = MotionFunctions(BODIES)
    function, arguments, _ = getattr(functions, name)()
    run, values = jax.jit(function), functions.parameters.values
    place = [each.path for each in functions.parameters.numbers].index("gap")
    for gap in (0.01, -0.01):
        values[place] = gap
        found = run(values, *list(arguments.values())[1:])
        assert all(np.isnan(each).all() == (gap < 0) for each in jax.tree.leaves(found))


HOST = {
    "contact_histories": lambda s: jv.dynamics.contact_histories(s, s.rest(), [0.0, 0.1]),
    "bifurcation_diagram": lambda s: jv.bifurcation_diagram(s, "load.frequency", [5.0]),
    "export_c": lambda s: jv.programs.export_c(s, "nowhere"),
}


@pytest.mark.parametrize("name", HOST)
def test_a_function_of_the_host_is_refused_by_name_under_jit(name):
    def under_jit(mass):
        HOST[name](jv.replace(BODIES, {"attached.mass": mass}))
        return mass

    with pytest.raises(ValueError, match=r"traced values|values are traced"):
        jax.jit(under_jit)(100.0)


class Pushed(eqx.Module):
    """A load of one's own that needs a concrete value."""

    height: jax.Array

    def period(self):
        return jnp.asarray(TURN)

    def force(self, time):
        return self.height * jnp.cos(PACE * time) if self.height > 0 else 0.0 * time


def test_a_law_that_needs_concrete_values_is_not_blamed_on_the_library():
    def end(height):
        load = jv.AppliedLoad([1.0], Pushed(height))
        return jv.flow(jv.ImpactSystem(LINEAR, loads=(load,)), START, 0.0, 1.0)

    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(end)(2.0)


def test_a_healthy_orbit_holds_no_nan_and_has_the_exponent_of_its_multipliers():
    """A linear oscillator's motions approach each other like exp(-c t / 2 m)."""
    orbit = jax.jit(lambda k: jv.periodic_orbit(with_stiffness(DRIVEN, k), START))(4.0)
    numbers = [x for x in jax.tree.leaves(orbit) if jnp.issubdtype(x.dtype, jnp.inexact)]
    assert not any(np.isnan(x).any() for x in numbers)
    here = jv.periodic_orbit(DRIVEN, START)
    for each in (orbit, here):
        np.testing.assert_allclose(each.lyapunov_exponent, -DAMPING / 2, rtol=1e-8)
        assert 0 < each.lyapunov_error < 1e-7


DEVICES = """
import multiprocessing, os, warnings
import jax, jax.numpy as jnp, numpy as np, jaxvib as jv
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from tests.test_switches import DRIVEN, START, STIFFNESS, VERBS, moved

def end(k):
    return VERBS["flow"][0](k)[0]

def in_child(k):
    return float(end(jnp.asarray(k)))

if __name__ == "__main__":
    values = np.linspace(3.5, 4.5, 8)
    exact = jax.vmap(lambda k: moved(k, 2.0)[0])(values)
    slopes = jax.vmap(jax.grad(lambda k: moved(k, 2.0)[0]))(values)
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((2,), ("i",), axis_types=(kind,))
        each = jax.device_put(values, NamedSharding(mesh, P("i")))
        spread = lambda f: jax.jit(
            jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
        )
        found = spread(jax.vmap(end))(each)
        assert found.sharding.spec == P("i")
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9)
        found = spread(jax.vmap(jax.grad(end)))(each)
        np.testing.assert_allclose(found, slopes, rtol=0, atol=1e-8)
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                found = jax.jit(jax.vmap(end))(each)
            assert kind == AxisType.Auto and "jax.shard_map" in str(told[0].message)
            np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9)
        except ValueError as error:
            assert kind == AxisType.Explicit and "over explicit axes" in str(error)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        np.testing.assert_allclose(
            pool.map(in_child, values[:2]), exact[:2], rtol=0, atol=1e-9
        )
    # JAX itself may wait forever in a forked process; what is concrete needs no JAX.
    wanted = np.asarray(moved(STIFFNESS, 2.0))
    child = os.fork()
    if child == 0:
        found = np.asarray(jv.flow(DRIVEN, START, 0.0, 2.0))
        os._exit(0 if np.abs(found - wanted).max() < 1e-9 else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow  # three processes import JAX and compile, 20 s
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_sharded_arrays_and_other_processes_have_the_same_results(tmp_path):
    script = tmp_path / "devices.py"
    script.write_text(DEVICES)
    flags = "--xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
