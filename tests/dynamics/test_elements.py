"""Checked against: complex amplitudes and roots in closed form; scipy with stops."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.dynamics import energy_balance, mean_element_power

MASS, DAMPING, STIFFNESS = 0.1, 0.2, 1000.0
FORCE, PACE = 2.0, 95.0
PATCH = jv.PiezoelectricCircuit(1e-5, resistance=2e3, coupling=0.05)
COIL = jv.CoilCircuit(0.05, resistance=20.0, coupling=3.0)
RUBBER = jv.MaxwellElement(300.0, damping=4.0)
LAWS = {"circuit": PATCH, "coil": COIL, "Maxwell": RUBBER}


@functools.cache
def orbit_of(kind):
    """Return the motion with an element under the load, and the element's mean power."""
    system = shaken(LAWS[kind])
    orbit = jv.periodic_orbit(system, rtol=1e-11)
    power = mean_element_power(system, orbit.state, 0.0, orbit.period, rtol=1e-12)
    return orbit, power


def shaken(law, contacts=(), force=FORCE):
    linear = jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]])
    load = jv.AppliedLoad([1.0], jv.HarmonicLoad(force, PACE), "push")
    element = jv.StateElement([1.0], law, "element")
    return jv.ImpactSystem(linear, contacts, (load,), elements=(element,))


def impedance(law):
    """Return the complex stiffness of an element at the load's frequency."""
    s, of = 1j * PACE, {path: float(p.value) for path, p in jv.parameters(law).items()}
    if isinstance(law, jv.PiezoelectricCircuit):
        return of["coupling"] ** 2 * s / (of["capacitance"] * s + 1 / of["resistance"])
    if isinstance(law, jv.CoilCircuit):
        return of["coupling"] ** 2 * s / (of["inductance"] * s + of["resistance"])
    return of["stiffness"] * s / (s + of["stiffness"] / of["damping"])


@pytest.mark.parametrize("kind", LAWS)
def test_amplitude_and_power_are_those_of_complex_amplitudes(kind):
    law, (orbit, power) = LAWS[kind], orbit_of(kind)
    stiffness = STIFFNESS - MASS * PACE**2 + 1j * PACE * DAMPING + impedance(law)
    amplitude = np.abs(FORCE / stiffness)
    np.testing.assert_allclose(orbit.amplitude, [amplitude], rtol=1e-9)
    expected = np.imag(impedance(law)) * PACE * amplitude**2 / 2
    np.testing.assert_allclose(power, [expected], rtol=1e-8)


def test_the_power_of_a_harvester_is_that_of_its_resistor():
    orbit, power = orbit_of("circuit")
    voltage = impedance(PATCH) / 0.05
    voltage *= FORCE / (STIFFNESS - MASS * PACE**2 + 1j * PACE * DAMPING + impedance(PATCH))
    np.testing.assert_allclose(power, [np.abs(voltage) ** 2 / 2 / 2e3], rtol=1e-8)
    start = voltage.real  # F cos(w t) is the real part of F e^(i w t)
    np.testing.assert_allclose(orbit.state[2], start, rtol=1e-9)


@pytest.mark.parametrize("kind", LAWS)
def test_multipliers_are_exponentials_of_the_roots(kind):
    couplings = {
        "circuit": (0.05, 0.05 / 1e-5, 1 / (2e3 * 1e-5)),
        "coil": (3.0, 3.0 / 0.05, 20.0 / 0.05),
        "Maxwell": (1.0, 300.0, 300.0 / 4.0),
    }
    push, gain, decay = couplings[kind]
    matrix = np.array([
        [0.0, 1.0, 0.0],
        [-STIFFNESS / MASS, -DAMPING / MASS, -push / MASS],
        [0.0, gain, -decay],
    ])  # fmt: skip
    expected = np.exp(np.linalg.eigvals(matrix) * 2 * np.pi / PACE)
    found = orbit_of(kind)[0].floquet_multipliers
    order = np.argsort(-np.abs(expected))
    np.testing.assert_allclose(np.abs(found), np.abs(expected[order]), atol=1e-8)
    np.testing.assert_allclose(np.sum(found), np.sum(expected), atol=1e-8)


@pytest.mark.parametrize("engine", ["diffrax"])
def test_a_harvester_that_hits_a_stop_moves_as_scipy_says(engine):
    stop = jv.Contact([1.0], 2e-3, jv.HertzContact(1e6), "stop")
    system = shaken(PATCH, (stop,))

    def rate(t, y):
        depth = max(y[0] - 2e-3, 0.0)
        force = FORCE * np.cos(PACE * t) - DAMPING * y[1] - STIFFNESS * y[0]
        force -= 1e6 * depth**1.5 + 0.05 * y[2]
        return [y[1], force / MASS, (0.05 * y[1] - y[2] / 2e3) / 1e-5]

    expected = solve_ivp(rate, (0.0, 0.3), [0.0, 0.0, 0.0], "DOP853", rtol=1e-12,
                         atol=1e-14, max_step=1e-4).y[:, -1]  # fmt: skip
    found = jv.flow(system, system.rest(), 0.0, 0.3, rtol=1e-11, engine=engine)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.slow  # compiles an orbit with its derivatives, 6 s
def test_an_orbit_with_a_stop_counts_its_contacts_and_has_derivatives():
    stop = jv.Contact([1.0], 5.5e-3, jv.HertzContact(1e6), "stop")
    system = shaken(PATCH, (stop,))
    orbit = jv.periodic_orbit(system)
    times = np.linspace(0.0, float(orbit.period), 40001)
    motion = jv.simulate(system, orbit.state, times)
    forces = np.asarray(motion.contact_force)[:, 0]
    assert int(orbit.contacts) == np.sum((forces[:-1] == 0) & (forces[1:] > 0)) == 1
    np.testing.assert_allclose(orbit.max_contact_force, forces.max(), rtol=1e-6)

    def force(resistance):
        changed = jv.replace(system, {"elements.element.law.resistance": resistance})
        return jv.periodic_orbit(changed, orbit.state).max_contact_force

    slope = (force(2001.0) - force(1999.0)) / 2
    np.testing.assert_allclose(jax.grad(force)(2e3), slope, rtol=1e-5)
    lanes = jnp.asarray([1500.0, 2500.0])
    loop = [force(each) for each in lanes]
    np.testing.assert_allclose(jax.vmap(force)(lanes), loop, rtol=1e-8)


class Actuator(eqx.Module):
    """A lagging actuator that follows a wave and the speed of the body it measures."""

    pace: jax.Array
    states = ("push",)

    def rate(self, states, elongation, speed, time):
        wanted = jnp.cos(self.pace * time) + 0.05 * speed
        return jnp.stack([(wanted - states[0]) / 0.05])

    def force(self, states, elongation, speed, time):
        return -states[0]


def steered(pace):
    linear = jv.LinearSystem(np.eye(2), 0.1 * np.eye(2), [[30.0, -10.0], [-10.0, 20.0]])
    load = jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(1.0, 3.0), "push")
    law = Actuator(jnp.asarray(pace))
    element = jv.StateElement([1.0, 0.0], law, "actuator", senses=[0.0, 1.0])
    return jv.ImpactSystem(linear, loads=(load,), elements=(element,))


def test_a_users_actuator_measures_one_body_and_moves_another():
    def rate(t, y):
        push = np.cos(6 * t)
        return [
            y[2], y[3],
            np.cos(3 * t) + y[4] - 0.1 * y[2] - 30 * y[0] + 10 * y[1],
            -0.1 * y[3] + 10 * y[0] - 20 * y[1],
            (push + 0.05 * y[3] - y[4]) / 0.05,
        ]  # fmt: skip

    start = [0.1, 0.0, 0.0, 0.2, 0.3]
    expected = solve_ivp(rate, (0, 4), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    found = jv.flow(steered(6.0), start, 0.0, 4.0, rtol=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.slow  # compiles an orbit of five states, 4 s
def test_an_orbit_with_a_users_actuator_is_found():
    assert jv.periodic_orbit(steered(6.0)).stable == 1


def test_a_law_with_another_period_is_refused():
    with pytest.raises(ValueError, match=r"period = 2\.09\d+ s is not a period: the field"):
        jv.periodic_orbit(steered(5.0))


def test_states_have_names_units_and_paths():
    system = shaken(PATCH)
    assert system.state_names == ("0", "rate of 0", "element.voltage")
    assert system.labels.units == ("m", "m/s", "V")
    assert jv.parameters(system)["elements.element.law.resistance"].unit == "ohm"
    alone = jv.natural_frequencies(system)  # of the bodies
    np.testing.assert_allclose(alone, [100.0], rtol=1e-14)


class Wrong(Actuator):
    """An actuator with a rate too many."""

    def rate(self, states, elongation, speed, time):
        return jnp.zeros(2)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: shaken(Wrong(jnp.ones(()))), r"element element: rate has shape \(2,\)"),
    (lambda: shaken(PATCH, (jv.Contact([1.0], 0.1, jv.RestitutionContact(0.5)),)),
     "elements with states cannot be combined with friction"),
    (lambda: jv.StateElement([0.0], PATCH), "direction of an element = 0"),
    (lambda: jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]),
                             elements=(jv.StateElement([1.0, 0.0], PATCH),)),
     r"element 0: direction has shape \(2,\)"),
    (lambda: jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]), elements=(
        jv.StateElement([1.0], PATCH, senses=[1.0, 0.0]),)), "senses has shape"),
    (lambda: jv.flow(shaken(PATCH), np.zeros(3), 0.0, 1.0, engine="event"),
     "CoupledEquation is not a linear system with contacts"),
    (lambda: energy_balance(shaken(PATCH), np.zeros(3), 0.0, 1.0), "CoupledEquation"),
    (lambda: jv.frequency_response(shaken(PATCH), [1.0], force=[1.0]),
     "elements have states beside the bodies'"),
    (lambda: jv.response_covariance(
        shaken(PATCH), jv.FilteredNoise.low_pass(0.5, 20.0, 0.6), [1.0]),
     "elements have states beside the bodies'"),
    (lambda: jv.propagate(shaken(PATCH), np.zeros(3), [0.0, 1.0]), "elements with states"),
    (lambda: mean_element_power(jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])),
                                np.zeros(2), 0.0, 1.0), r"elements = \(\) is empty"),
])  # fmt: skip
def test_unsupported_uses_of_elements_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
