"""Laws that hold a network. Checked against: scipy's motions with their sensitivities."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.systems.loads import Load
from jaxvib.systems.loads.load import Wave

MASS, DAMPING, STIFFNESS, PUSH, FREQUENCY = 2.0, 1.5, 50.0, 9.0, 4.0
# Name: an activation, the same in numpy, and its slope.
ACTIVATIONS = {
    "tanh": (jnp.tanh, np.tanh, lambda a: 1 - np.tanh(a) ** 2),
    "relu": (jax.nn.relu, lambda a: np.maximum(a, 0), lambda a: 1.0 * (a > 0)),
}


class Network(eqx.Module):
    """A force that a network makes of an elongation."""

    network: eqx.nn.MLP

    def force(self, elongation):
        force = jax.vmap(self.network)(jnp.reshape(elongation, (-1, 1)))
        return jnp.reshape(force, jnp.shape(elongation))

    def energy(self, elongation):
        return jnp.zeros_like(elongation)


class SoftStop(Network):
    """A stop whose stiffness a network changes."""

    jumps = False

    def force(self, penetration):
        depth = jnp.maximum(penetration, 0.0)
        return 4e3 * depth * (1 + super().force(depth) ** 2)


class NetworkLoad(Load):
    """A harmonic load whose amplitude a network makes of 1."""

    network: eqx.nn.MLP

    def amplitude(self):
        return self.network(jnp.ones(1))[0]

    def force(self, time):
        return self.amplitude() * jnp.cos(FREQUENCY * time)

    def largest(self):
        return jnp.abs(self.amplitude())

    def period(self):
        return jnp.asarray(2 * jnp.pi / FREQUENCY)

    def waves(self):
        return (Wave(self.amplitude(), jnp.asarray(FREQUENCY), jnp.zeros(())),)


def network(name: str = "tanh"):
    shapes = eqx.nn.MLP(1, 1, 2, 1, ACTIVATIONS[name][0], key=jax.random.PRNGKey(0))
    # Far from where relu has its corner.
    numbers = [[[0.7], [-0.4]], [1.5, 1.2], [[3.0, -2.0]], [0.4]]
    arrays, others = eqx.partition(shapes, eqx.is_array)
    tree = jax.tree.structure(arrays)
    return eqx.combine(jax.tree.unflatten(tree, map(jnp.asarray, numbers)), others)


def bodies(**parts):
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(PUSH, FREQUENCY), "push")
    return jv.ImpactSystem(linear, loads=[push], **parts)


def sprung(law):
    return bodies(springs=[jv.NonlinearSpring([1.0], law, "mount")])


def weights(tree):
    """Return the numbers of a network as one array, in the order of its leaves."""
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@functools.cache
def by_scipy(name: str, start: tuple, end: float):
    """Return the state, its derivatives by the start and those by the weights."""
    _, activated, slope = ACTIVATIONS[name]
    first, bias, second, last = (np.asarray(x) for x in jax.tree.leaves(
        eqx.filter(network(name), eqx.is_array)))  # fmt: skip

    def rates(t, y):
        x, v = y[:2]
        columns = y[2:].reshape(2, -1)
        inner = first[:, 0] * x + bias
        bent = second[0] * slope(inner)
        force = second[0] @ activated(inner) + last[0]
        by_weights = np.concatenate([bent * x, bent, activated(inner), [1.0]])
        push = PUSH * np.cos(FREQUENCY * t)
        pull = STIFFNESS * x + DAMPING * v + force
        pulls = (STIFFNESS + bent @ first[:, 0]) * columns[0] + DAMPING * columns[1]
        pulls[2:] += by_weights
        moved = np.stack([columns[1], -pulls / MASS])
        return np.concatenate([[v, (push - pull) / MASS], moved.ravel()])

    begun = np.concatenate([start, np.eye(2, 2 + bias.size * 3 + 1).ravel()])
    found = solve_ivp(rates, (0.0, end), begun, "DOP853", rtol=1e-12, atol=1e-13)
    state, columns = found.y[:2, -1], found.y[2:, -1].reshape(2, -1)
    return state, columns[:, :2], columns[:, 2:]


@pytest.mark.slow  # compiles a gradient for each engine, 10 s
@pytest.mark.parametrize("engine", ["diffrax"])
def test_a_network_has_the_gradients_that_scipy_has(engine):
    def end(law):
        return jv.flow(sprung(law), [0.1, 0.3], 0.0, 1.0, rtol=1e-11, engine=engine)

    _, _, by_weights = by_scipy("tanh", (0.1, 0.3), 1.0)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda law: end(law)[0]))
    found = weights(gradient(Network(network())))
    np.testing.assert_allclose(found, by_weights[0], rtol=1e-8)


@pytest.mark.slow  # compiles a flow three times, 6 s
def test_every_transformation_takes_a_network():
    law = Network(network("relu"))
    numbers, others = eqx.partition(law, eqx.is_inexact_array)

    def end(numbers, start):
        system = sprung(eqx.combine(numbers, others))
        return jv.flow(system, start, 0.0, 1.0, rtol=1e-11)

    start = jnp.array([0.1, 0.3])
    state, by_start, by_weights = by_scipy("relu", (0.1, 0.3), 1.0)
    two = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), numbers)
    many = eqx.filter_vmap(lambda law: end(law, start))(eqx.combine(two, others))
    np.testing.assert_allclose(many[0], state, rtol=1e-8)
    rows = jax.jit(jax.vmap(jax.jacfwd(end, (0, 1)), (None, 0)))(numbers, start[None])
    columns = [leaf[0].reshape(2, -1) for leaf in jax.tree.leaves(rows[0])]
    np.testing.assert_allclose(np.concatenate(columns, 1), by_weights, rtol=1e-8)
    np.testing.assert_allclose(rows[1][0], by_start, rtol=1e-8)


@pytest.mark.slow
def test_an_orbit_moves_with_the_weights_as_scipy_says():
    law, period = Network(network()), 2 * np.pi / FREQUENCY
    orbit = jv.periodic_orbit(sprung(law))
    start = tuple(map(float, orbit.state))
    state, monodromy, by_weights = by_scipy("tanh", start, period)
    np.testing.assert_allclose(state, start, atol=1e-9)
    np.testing.assert_allclose(orbit.monodromy, monodromy, atol=1e-8)
    gradient = eqx.filter_grad(lambda law: jv.periodic_orbit(sprung(law)).state[0])(law)
    expected = np.linalg.solve(np.eye(2) - monodromy, by_weights)[0]
    np.testing.assert_allclose(weights(gradient), expected, rtol=1e-6)


@pytest.mark.slow
def test_events_take_the_load_of_a_network():
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    stop = jv.Contact([1.0], 0.01, jv.RestitutionContact(0.7), "stop")

    def peak(law):
        system = jv.ImpactSystem(linear, [stop], [jv.AppliedLoad([1.0], law, "push")])
        return jv.response(system, 1.0).peak[0]

    law = NetworkLoad(network())
    by_amplitude = jax.jit(jax.grad(lambda a: peak(jv.HarmonicLoad(a, FREQUENCY))))
    slope = by_amplitude(law.amplitude())
    gradient = weights(eqx.filter_jit(eqx.filter_grad(peak))(law))
    inner = np.array([0.7 + 1.5, -0.4 + 1.2])
    bent = np.array([3.0, -2.0]) * (1 - np.tanh(inner) ** 2)
    amplitude = np.concatenate([bent, bent, np.tanh(inner), [1.0]])
    assert abs(slope) > 1e-4
    np.testing.assert_allclose(gradient, slope * amplitude, rtol=1e-9)


@pytest.mark.slow  # compiles an orbit and its sweep, 5 s
def test_sweeps_take_a_contact_of_a_network():
    system = bodies(contacts=[jv.Contact([1.0], 0.05, SoftStop(network()), "stop")])
    sweep = jv.sweep(jv.periodic_orbit, system, {"loads.push.law.amplitude": [3.0, 9.0]})
    alone = jv.periodic_orbit(system)
    np.testing.assert_allclose(sweep["state"].values[1], alone.state, rtol=1e-7)
    assert float(alone.max_contact_force) > 0


@pytest.mark.slow  # compiles a motion in reverse, 5 s
def test_optax_trains_a_network_to_the_spring_behind_a_record():
    def rates(t, y):
        pull = STIFFNESS * y[0] + DAMPING * y[1] + 40 * np.tanh(3 * y[0])
        return [y[1], (PUSH * np.cos(FREQUENCY * t) - pull) / MASS]

    times = np.linspace(0.0, 1.0, 4)
    seen = solve_ivp(rates, (0.0, 1.0), [0.4, 0.0], t_eval=times, rtol=1e-9).y.T

    def loss(law):
        motion = jv.simulate(sprung(law), jnp.asarray(seen[0]), times, rtol=1e-6)
        return jnp.sum((motion.states - seen) ** 2)

    law, optimiser = Network(network()), optax.adam(0.3)
    memory = optimiser.init(eqx.filter(law, eqx.is_array))
    step = eqx.filter_jit(eqx.filter_value_and_grad(loss))
    losses = []
    for _ in range(100):
        value, gradient = step(law)
        with jax.numpy_dtype_promotion("standard"):  # optax multiplies with integers
            updates, memory = optimiser.update(gradient, memory)
        law = eqx.apply_updates(law, updates)
        losses.append(float(value))
    assert losses[-1] < 0.02 * losses[0]
