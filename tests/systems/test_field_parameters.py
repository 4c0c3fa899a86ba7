"""Arrays and trees as parameters of fields. Checked against: closed forms, scipy's expm."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm, expm_frechet

import jaxvib as jv
from jaxvib.kernels.calls.kernel import LOWERING_EVENT

MATRIX = np.array([[-0.3, 1.0], [-2.0, -0.4]])
PUSH, START = np.array([0.5, -1.0]), np.array([0.3, 0.8])


def pushed(matrix, push=PUSH):
    return jv.forced_system(
        lambda t, x, p: p["linear"]["matrix"] @ x + p["push"] * jnp.cos(t),
        parameters={"linear": {"matrix": matrix}, "push": push},
        period=2 * np.pi,
        dimension=2,
    )


def entries(size):
    """Yield each place in a matrix, and the matrix that is 1 there."""
    for i, j in np.ndindex(size, size):
        unit = np.zeros((size, size))
        unit[i, j] = 1.0
        yield (i, j), unit


@pytest.mark.slow  # compiles a flow with derivatives, 2 s
def test_a_flow_moves_with_the_entries_of_a_matrix():
    def end(matrix):
        return jv.flow(pushed(matrix, np.zeros(2)), START, 0.0, 1.3, rtol=1e-11)

    np.testing.assert_allclose(end(MATRIX), expm(1.3 * MATRIX) @ START, rtol=1e-9)
    slopes = jax.jit(jax.jacfwd(end))(jnp.asarray(MATRIX))
    pulled = jax.jit(jax.grad(lambda matrix: end(matrix)[1]))(jnp.asarray(MATRIX))
    for (i, j), unit in entries(2):
        expected = expm_frechet(1.3 * MATRIX, 1.3 * unit, compute_expm=False) @ START
        np.testing.assert_allclose(slopes[:, i, j], expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(pulled[i, j], expected[1], rtol=1e-8, atol=1e-10)


@pytest.mark.slow  # compiles an orbit and its gradient, 4 s
def test_an_orbit_moves_with_the_entries_of_a_matrix():
    whirl = np.linalg.inv(1j * np.eye(2) - MATRIX)
    system = pushed(MATRIX)
    orbit = jv.periodic_orbit(system)
    np.testing.assert_allclose(orbit.state, (whirl @ PUSH).real, rtol=1e-8)
    slope_of = eqx.filter_grad(lambda s: jv.periodic_orbit(s).state[0])
    gradient = eqx.filter_jit(slope_of)(system)
    found = jv.parameters(gradient)
    for (i, j), unit in entries(2):
        expected = (whirl @ unit @ whirl @ PUSH).real[0]
        slope = found["linear.matrix"].value[i, j]
        np.testing.assert_allclose(slope, expected, rtol=1e-6)
    np.testing.assert_allclose(found["push"].value, whirl.real[0], rtol=1e-6)


def test_an_equilibrium_moves_with_an_array():
    def rest(push):
        system = jv.autonomous_system(
            lambda x, p: p["matrix"] @ x + p["push"],
            parameters={"matrix": MATRIX, "push": push},
            dimension=2,
        )
        return jv.equilibrium(system, START).state

    inverse = np.linalg.inv(MATRIX)
    np.testing.assert_allclose(rest(PUSH), -inverse @ PUSH, rtol=1e-12)
    slopes = jax.jit(jax.jacfwd(rest))(jnp.asarray(PUSH))
    np.testing.assert_allclose(slopes, -inverse, rtol=1e-12)


def test_paths_lead_into_trees():
    network = eqx.nn.MLP(2, 2, 3, 1, key=jax.random.PRNGKey(1))
    system = jv.forced_system(
        lambda t, x, p: p["gains"] * p["network"](x) - p["rate"] * x,
        parameters={"network": network, "gains": [1.0, 2.0], "rate": 3},
        period=1.0,
        dimension=2,
    )
    paths = [f"network.layers.{k}.{name}" for k in (0, 1) for name in ("weight", "bias")]
    assert list(jv.parameters(system)) == [*paths, "gains", "rate"]
    changed = jv.replace(system, {"network.layers.1.bias.1": 7.0, "gains": [4.0, 5.0]})
    found = jv.parameters(changed)
    assert found["network.layers.1.bias"].value[1] == 7.0
    assert found["gains"].value.tolist() == [4.0, 5.0]
    assert "network.layers.0" in repr(system)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"push": [1.0, 2.0, 3.0]}, r"push has shape \(3,\); allowed: \(2,\)"),
        ({"push.2": 1.0}, "unknown parameter 'push.2'; did you mean 'push'"),
        ({"linear.matrx": MATRIX}, "did you mean 'linear.matrix'"),
        ({"linear.matrix.0.1": np.nan}, r"linear.matrix.0.1 = nan is not in"),
    ],
)
def test_leaves_that_do_not_fit_a_tree_are_refused(values, words):
    with pytest.raises(ValueError, match=words):
        jv.replace(pushed(MATRIX), values)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("abc", "w = 'abc' is not a number"),
        (None, "w = None is not a number"),
        ({"a": [1.0, np.inf]}, "w.a.1 = inf is not in"),
        ([[1.0, 2.0], [3.0]], "is not an array of numbers"),
        (1j, "is not real"),
    ],
)
def test_paths_that_are_no_parameters_are_refused(value, words):
    with pytest.raises(ValueError, match=words):
        jv.autonomous_system(lambda x, p: -x, parameters={"w": value}, dimension=1)


@pytest.mark.slow  # compiles the sweep of an orbit, 5 s
def test_sweeps_take_entries_of_arrays():
    system = pushed(MATRIX)
    sweep = jv.sweep(jv.periodic_orbit, system, {"push.1": [-1.0, 2.0]})
    whirl = np.linalg.inv(1j * np.eye(2) - MATRIX)
    expected = [(whirl @ [0.5, push]).real for push in (-1.0, 2.0)]
    np.testing.assert_allclose(sweep["state"], expected, rtol=1e-8)
    words = r"push is an array of shape \(2,\); allowed: .* such as push.0"
    with pytest.raises(ValueError, match=words):
        jv.sweep(jv.periodic_orbit, system, {"push": [1.0, 2.0]})


def closing_over(stiffness):
    return jv.forced_system(
        lambda t, x, p: [x[1], jnp.cos(t) - stiffness * x[0] - 0.1 * x[1]],
        parameters={},
        period=2 * np.pi,
        dimension=2,
    )


def sprung_by(stiffness):
    law = jv.FunctionLaw(lambda e, rate, p: stiffness * e**3, {})
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 1.0))
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[4.0]])
    return jv.ImpactSystem(linear, (), (push,), springs=(jv.NonlinearSpring([1.0], law),))


@pytest.mark.parametrize("build", [closing_over, sprung_by])
@pytest.mark.parametrize(
    "end",
    [
        lambda system: jv.periodic_orbit(system).amplitude[0],
        lambda system: jv.flow(system, [0.1, 0.0], 0.0, 1.0)[0],
        lambda system: jv.simulate(system, [0.1, 0.0], np.linspace(0, 1, 3)).states[2, 0],
    ],
)
@pytest.mark.parametrize("moved", [jax.grad, jax.jacfwd])
def test_traced_values_that_are_no_parameters_are_refused(build, end, moved):
    with pytest.raises(
        ValueError, match=r"captures a value that is being differentiated.*parameter"
    ):
        moved(lambda stiffness: end(build(stiffness)))(4.0)


def test_a_traced_period_is_refused():
    with pytest.raises(ValueError, match=r"period is traced; allowed: .* a function"):
        jax.jit(
            lambda period: jv.forced_system(
                lambda t, x, p: -x, parameters={}, period=period, dimension=1
            ).period()
        )(1.0)


@pytest.mark.parametrize("second", [jax.hessian, lambda f: jax.jacrev(jax.jacfwd(f))])
def test_second_derivatives_of_orbits_are_refused_before_anything_is_compiled(second):
    printed = []

    def listen(event, duration, **_):
        if event == LOWERING_EVENT:
            printed.append(event)

    def peak(push):
        return jv.periodic_orbit(pushed(MATRIX, push)).amplitude[0]

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        with pytest.raises(TypeError, match=r"second derivatives .* differences of first"):
            second(peak)(jnp.asarray(PUSH))
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert not printed


@pytest.mark.slow  # compiles regimes and a branch, 4 s
def test_regimes_and_branches_take_entries_of_arrays():
    system = pushed(MATRIX)
    found = jv.orbits.regimes(system, {"push.1": [-1.0, 2.0]})
    whirl = np.linalg.inv(1j * np.eye(2) - MATRIX)
    expected = [(whirl @ [0.5, push]).real for push in (-1.0, 2.0)]
    np.testing.assert_allclose(found.state, expected, rtol=1e-7)
    system = jv.replace(system, {"push.1": 0.5})
    orbit = jv.periodic_orbit(system)
    branch = jv.continue_orbit(system, orbit, "push.1", (0.4, 0.6))
    expected = [(whirl @ [0.5, push]).real for push in np.asarray(branch.parameter)]
    np.testing.assert_allclose(branch.states, expected, rtol=1e-7)
    with pytest.raises(ValueError, match=r"unknown parameter 'push\.2'"):
        jv.orbits.regimes(system, {"push.2": [1.0]})
