"""Checked against: VPCS SDND101 and SSNV104, Hertz's impact, and tests.independent."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxvib as jv
from tests.independent import TwoBody, trajectory
from tests.systems_table import RIGID, SOFT

paths = {
    "main.mass": "main_mass",
    "main.frequency": "main_frequency",
    "main.damping_ratio": "main_damping_ratio",
    "attached.mass": "attached_mass",
    "attached.frequency": "attached_frequency",
    "attached.damping_ratio": "attached_damping_ratio",
    "gap": "gap",
    "contact.stiffness": "contact_stiffness",
    "load.amplitude": "load_amplitude",
    "load.frequency": "load_frequency",
    "load.phase": "load_phase",
}
usual = jv.two_body_impact(contact=jv.HertzContact(SOFT))


@jax.jit
def field_and_derivatives(values, time, state):
    def field(values, state):
        return jv.replace(usual, values).equation().vector_field(time, state)

    by_values, by_state = jax.jacfwd(field, argnums=(0, 1))(values, state)
    return field(values, state), by_values, by_state


@settings(max_examples=50)
@given(
    values=st.fixed_dictionaries({path: st.floats(0.01, 10.0) for path in paths}),
    time=st.floats(0.0, 10.0),
    state=st.tuples(*[st.floats(-1.0, 1.0)] * 4),
)
def test_the_overlay_moves_as_the_equations_of_the_paper(values, time, state):
    system = TwoBody(**{paths[path]: value for path, value in values.items()})
    state = np.asarray(state)
    depth = np.maximum(system.penetrations(state), 0)
    forces, slopes = (
        system.stiffnesses * depth**1.5,
        1.5 * system.stiffnesses * np.sqrt(depth),
    )
    field, by_values, by_state = field_and_derivatives(values, time, state)
    expected = system.field(time, state, forces)
    size = np.abs(system.jacobian(slopes)).max() + np.abs(expected).max()
    np.testing.assert_allclose(field, expected, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(by_state, system.jacobian(slopes), rtol=0, atol=1e-12 * size)
    for path, name in paths.items():
        expected = system.parameter_slope(name, time, state, forces)
        if name == "gap":  # the state's x_a is measured from the main body's rest
            expected = expected + 0.0
        bound = 1e-12 * (size * 1e3 + np.abs(expected).max() * 1e2)
        np.testing.assert_allclose(by_values[path], expected, rtol=0, atol=bound)


def test_at_rest_nothing_moves_and_the_bodies_are_a_gap_apart():
    still = jv.replace(usual, {"load.amplitude": 0.0, "gap": 0.07})
    rest = still.rest()
    np.testing.assert_array_equal(rest, [0.0, 0.07, 0.0, 0.0])
    equation = still.equation()
    np.testing.assert_allclose(equation.vector_field(0.0, rest), 0, atol=1e-15)
    np.testing.assert_allclose(equation.penetrations(rest), [-0.07])


def stop(stiffness, gap=0.0):
    return jv.Contact([1.0], gap, stiffness)


def test_an_elastic_stop_gives_the_published_impact():
    # VPCS SDND101: m = 100 kg, k = 1e4 N/m, stop 1e6 N/m at zero gap, v0 = 1 m/s
    system = jv.ImpactSystem(
        jv.LinearSystem([[100.0]], [[0.0]], [[1e4]]),
        (stop(jv.LinearContact(1e6)),),
    )
    times = np.concatenate([[0.0], np.linspace(0.0155, 0.0158, 301), [0.03126, 0.0315]])
    run = jv.simulate(system, jnp.array([0.0, 1.0]), jnp.array(times), rtol=1e-10)
    assert jv.reason(run.result) == "success"
    force = np.asarray(run.contact_force[:, 0])
    assert times[force.argmax()] == pytest.approx(0.01563, abs=5e-6)
    assert force.max() == pytest.approx(9950.37, abs=5e-3)
    frequency = np.sqrt(1.01e6 / 100)  # closed form
    assert force.max() == pytest.approx(1e6 / frequency, rel=1e-8)
    end = np.pi / frequency
    assert end == pytest.approx(0.03126, abs=5e-6)
    after = np.asarray(run.states[-1])
    later, swing = times[-1] - end, np.sqrt(1e4 / 100)
    np.testing.assert_allclose(
        after, [-np.sin(swing * later) / swing, -np.cos(swing * later)], rtol=1e-8
    )


@pytest.mark.parametrize("stiffness", [SOFT, RIGID])
def test_a_free_impact_is_the_closed_form_of_hertz(stiffness):
    # K of DESIGN 7: the contact lasts 2.9432752 delta_max / v
    masses = np.array([1000.0, 100.0])
    reduced = 1 / np.sum(1 / masses)
    depth = (5 * reduced / (4 * stiffness)) ** 0.4
    lasting = 2.9432752 * depth
    zero = np.zeros((2, 2))
    contact = jv.Contact([1.0, -1.0], 0.0, jv.HertzContact(stiffness))
    system = jv.ImpactSystem(jv.LinearSystem(np.diag(masses), zero, zero), (contact,))
    times = np.array([0.0, lasting / 2, lasting * (1 - 1e-3), lasting * (1 + 1e-3)])
    run = jv.simulate(system, jnp.array([0.0, 0.0, 1.0, 0.0]), jnp.array(times), rtol=1e-10)
    force = np.asarray(run.contact_force[:, 0])
    assert force[1] == pytest.approx(stiffness * depth**1.5, rel=1e-8)
    assert force[2] > 0
    assert force[3] == 0
    np.testing.assert_allclose(run.states[-1, 2:], [900 / 1100, 2000 / 1100], rtol=1e-9)


@pytest.mark.parametrize("stiffness", [SOFT, RIGID])
def test_a_simulated_motion_is_that_of_the_independent_integration(stiffness):
    times = np.linspace(0.0, 2.2, 45)
    state = np.array([0.0829, 0.1978, 0.6707, 0.3049])
    system = jv.replace(usual, {"contact.stiffness": stiffness})
    run = jv.simulate(system, jnp.array(state), jnp.array(times), rtol=1e-10)
    expected = trajectory(TwoBody(contact_stiffness=stiffness), state, times)
    np.testing.assert_allclose(run.states, expected, rtol=0, atol=3e-8)
    force = stiffness * np.maximum(expected[:, 0] - expected[:, 1], 0) ** 1.5
    assert run.contact_force.shape == (45, 1)
    np.testing.assert_allclose(run.contact_force[:, 0], force, atol=1e-4 * force.max())


def test_matrices_contacts_and_loads_of_any_number_make_a_system():
    system = jv.ImpactSystem(
        jv.LinearSystem(np.diag([1.0, 2.0]), 0.1 * np.eye(2), [[3.0, -1.0], [-1.0, 2.0]]),
        (
            jv.Contact([1.0, -1.0], 0.1, jv.HertzContact(1e4)),
            jv.Contact([0.0, 1.0], 0.2, jv.HertzContact(1e5)),
            jv.Contact([0.0, -1.0], 0.2, jv.LinearContact(1e5)),
        ),
        (
            jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(1.0, 2.0)),
            jv.AppliedLoad([0.0, 1.0], jv.HarmonicLoad(0.5, 6.0, 0.3)),
        ),
    )
    assert system.degrees_of_freedom == 2
    assert float(system.period()) == pytest.approx(np.pi)
    assert "contacts.1.law.stiffness" in jv.parameters(system)
    equation = system.equation()
    state = jnp.array([0.5, 0.25, 0.1, -0.1])
    depths = jnp.array([0.15, 0.05, -0.45])
    np.testing.assert_allclose(equation.penetrations(state), depths, rtol=1e-14)
    forces = np.array([1e4 * 0.15**1.5, 1e5 * 0.05**1.5, 0.0])
    found = equation.contact_forces(depths, jnp.zeros(3))
    np.testing.assert_allclose(found, forces, rtol=1e-14)
    push = np.array([-forces[0], forces[0] - forces[1]])
    pull = np.array([np.cos(1.4), 0.5 * np.cos(4.5)])
    matrix = np.array([[3.0, -1.0], [-1.0, 2.0]])
    inner = -matrix @ state[:2] - 0.1 * state[2:]
    expected = (push + pull + inner) / np.array([1.0, 2.0])
    rate = equation.vector_field(0.7, state)
    np.testing.assert_allclose(rate, [*state[2:], *expected], rtol=1e-12)


def test_an_ensemble_of_fields_equals_a_loop():
    states = jnp.array(np.random.default_rng(0).normal(size=(8, 4)))
    equation = usual.equation()
    many = jax.jit(jax.vmap(equation.vector_field, in_axes=(None, 0)))(0.3, states)
    each = [equation.vector_field(0.3, state) for state in states]
    np.testing.assert_allclose(many, each, rtol=1e-13)


def test_the_field_keeps_float32():
    single = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), usual.equation())
    rate = single.vector_field(jnp.asarray(0.3, jnp.float32), jnp.ones(4, jnp.float32))
    assert rate.dtype == jnp.float32


def test_a_large_system_uses_the_same_equations():
    size = 12
    rng = np.random.default_rng(1)
    stiffness = rng.normal(size=(size, size))
    equation = jv.ImpactSystem(
        jv.LinearSystem(np.eye(size), np.zeros((size, size)), stiffness),
        (jv.Contact(np.eye(size)[3], 0.1, jv.HertzContact(10.0)),),
    ).equation()
    state = rng.normal(size=2 * size)
    expected = -stiffness @ state[:size]
    expected[3] -= 10 * max(state[3] - 0.1, 0) ** 1.5
    rate = equation.vector_field(0.0, jnp.array(state))
    np.testing.assert_allclose(rate[size:], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("mass", "damping", "message"),
    [
        (np.eye(2), np.eye(3), "have shapes"),
        (np.ones(2), np.eye(2), "have shapes"),
        (-np.eye(2), np.eye(2), "not a symmetric positive definite matrix"),
        ([[1.0, 0.5], [0.0, 1.0]], np.eye(2), "not a symmetric positive definite matrix"),
        (np.diag([1.0, np.nan]), np.eye(2), "mass = nan"),
    ],
)
def test_bad_matrices_are_refused(mass, damping, message):
    with pytest.raises(ValueError, match=message):
        jv.LinearSystem(mass, damping, np.eye(2))


def test_bad_directions_are_refused():
    linear = jv.LinearSystem(np.eye(2), np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match=r"contact 0: direction has shape \(1,\)"):
        jv.ImpactSystem(linear, (stop(jv.HertzContact(1.0)),))
    load = jv.AppliedLoad([1.0, 0.0, 0.0], jv.HarmonicLoad(1.0, 1.0))
    with pytest.raises(ValueError, match=r"load 0: direction has shape \(3,\)"):
        jv.ImpactSystem(linear, (), (load,))


def test_loads_without_a_common_period_are_refused():
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    loads = [jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, w)) for w in (1.0, np.sqrt(2))]
    with pytest.raises(ValueError, match="loads have periods"):
        jv.ImpactSystem(linear, (), tuple(loads))
    with pytest.raises(ValueError, match="loads = "):
        jv.ImpactSystem(linear).period()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("main_mass", 0.0, r"mass = 0 kg is not in \(0, inf\)"),
        ("attached_frequency", np.nan, "frequency = nan rad/s"),
        ("gap", -0.1, r"gap = -0.1 m is not in \[0, inf\)"),
        ("main_damping_ratio", -0.1, "damping_ratio = -0.1"),
    ],
)
def test_bad_arguments_are_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        jv.two_body_impact(**{name: value})


@pytest.mark.parametrize("field", ["gap", "load"])
def test_a_built_system_cannot_be_changed_in_place(field):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(usual, field, 1.0)


@pytest.mark.parametrize("kind", ["contact", "load", "spring", "friction", "element"])
def test_a_law_in_place_of_a_part_is_refused(kind):
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    with pytest.raises(TypeError, match=f"{kind} 0 is of type LinearContact"):
        jv.ImpactSystem(linear, **{f"{kind}s": [jv.LinearContact(3.0)]})
