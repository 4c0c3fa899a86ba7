"""Checked against: Meissner's and Mathieu's equations; scipy, from one contact to the next.

Meissner's equation has a square wave as stiffness: its monodromy matrix is a product of
two matrix exponentials. The characteristic values of Mathieu's equation are scipy's.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.special import mathieu_a, mathieu_b

import jaxvib as jv
from jaxvib.dynamics.energy_balance import energy_balance
from jaxvib.dynamics.modal import modal_form
from jaxvib.systems.base.system_repr import SystemRepr

TURN = 2 * np.pi
ONE = np.ones(1)


def pumped(stiffness, damping, variation, **parts):
    """Return a body of 1 kg on a spring whose stiffness varies in time."""
    law = jv.PolynomialLaw(jnp.asarray(stiffness, float)[None])
    spring = jv.NonlinearSpring(ONE, law, "pump", variation)
    linear = jv.LinearSystem([[1.0]], [[damping]], [[0.0]])
    return jv.ImpactSystem(linear, springs=(spring,), **parts)


def square(depth):
    """Return a square wave of the period 2 pi: depth in the first half, then -depth."""
    times, values = [0.0, np.pi, np.pi + 1e-13, TURN - 1e-13, TURN], [1, 1, -1, -1, 1]
    return jv.RecordLoad(times, np.array(values, float), periodic=True, scale=depth)


def meissner(stiffness, depth, damping):
    def half(stiffness):
        return expm(np.array([[0.0, 1.0], [-stiffness, -damping]]) * np.pi)

    return half(stiffness * (1 - depth)) @ half(stiffness * (1 + depth))


@jax.jit
def monodromy(system):
    return jax.jacfwd(lambda s: jv.flow(system, s, 0.0, TURN, rtol=1e-12))(jnp.ones(2))


@pytest.mark.parametrize("engine", ["event", "diffrax"])
def test_meissners_monodromy_matrix_is_a_product_of_exponentials(engine):
    half = jv.PulseLoad("rectangle", 1.4, 0.0, np.pi, TURN)  # 1 + v: 2.4, then 1
    system = pumped(0.5, 0.1, half)

    def end(state):
        return jv.flow(system, state, 0.0, TURN, rtol=1e-12, engine=engine)

    expected = meissner(0.85, 0.35 / 0.85, 0.1)
    found = jax.jacfwd(end)(jnp.asarray([0.3, -0.2]))
    np.testing.assert_allclose(found, expected, atol=2e-11)


def test_meissners_chart_of_stability_is_that_of_the_exponentials():
    stiffnesses = np.linspace(0.05, 2.0, 7)[:, None] * np.ones(5)
    depths = np.linspace(0.0, 1.5, 5) * np.ones((7, 1))

    def largest(stiffness, depth):
        orbit = jv.periodic_orbit(pumped(stiffness, 0.2, square(depth)), throw=False)
        return orbit.largest_multiplier

    found = jax.vmap(largest)(stiffnesses.ravel(), depths.ravel())
    expected = [
        np.abs(np.linalg.eigvals(meissner(k, e, 0.2))).max()
        for k, e in zip(stiffnesses.ravel(), depths.ravel(), strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert min(expected) < 0.9 < 1.1 < max(expected)


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize(("order", "values"), [(1, mathieu_b), (1, mathieu_a),
                                               (2, mathieu_b), (2, mathieu_a)])  # fmt: skip
def test_at_mathieus_characteristic_values_a_motion_is_periodic(order, values, damping):
    # With y = exp(-d t / 2) x the damped equation has the characteristic value
    # a + d^2 / 4, and motions of period pi or 2 pi that decay as exp(-d t / 2).
    q = 0.8
    stiffness = values(order, q) + damping**2 / 4
    wave = jv.HarmonicLoad(2 * q / stiffness, 2.0, np.pi)
    orbit = jv.periodic_orbit(pumped(stiffness, damping, wave), throw=False)
    expected = (-1) ** order * np.exp(-damping * np.pi / 2)
    found = np.asarray(orbit.floquet_multipliers)
    # They are equal: their mean has all digits, each of them half of these.
    np.testing.assert_allclose(found.sum() / 2, expected, atol=1e-10)
    np.testing.assert_allclose(found, expected, atol=3e-5)


def test_a_flip_of_the_rest_state_is_at_the_boundary_of_meissners_chart():
    def trace(depth):
        return np.trace(meissner(0.25, depth, 0.1)) + 1 + np.exp(-0.1 * TURN)

    low, high = 0.2, 0.6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if trace(middle) > 0 else (low, middle)
    system = pumped(0.25, 0.1, square(0.3))
    orbit = jv.periodic_orbit(system)
    path = "springs.pump.variation.scale"
    point = jv.bifurcation_point(system, orbit, "period_doubling", path)
    np.testing.assert_allclose(point.parameter, low, rtol=1e-9)


@dataclasses.dataclass(frozen=True)
class Gears:
    """Relative motion of a gear pair with backlash and a varying mesh stiffness."""

    damping: float = 0.1
    load: float = 0.3
    play: float = 2.0
    pace: float = 0.8
    cosine: tuple[float, ...] = (0.2, 0.04)
    sine: tuple[float, ...] = (0.05, -0.06)

    @property
    def period(self):
        return TURN / self.pace

    def stiffness(self, time):
        return 1 + sum(
            a * np.cos((k + 1) * self.pace * time) + b * np.sin((k + 1) * self.pace * time)
            for k, (a, b) in enumerate(zip(self.cosine, self.sine, strict=True))
        )

    def system(self):
        mesh = jv.FourierLoad(self.pace, list(self.cosine), list(self.sine))
        flanks = jv.backlash([1.0], self.play, jv.LinearContact(1.0), "mesh", mesh)
        torque = jv.AppliedLoad(ONE, jv.ConstantLoad(self.load), "torque")
        return jv.ImpactSystem(
            jv.LinearSystem([[1.0]], [[self.damping]], [[0.0]]), flanks, (torque,)
        )

    def motion(self, state, end):
        """Return scipy's states at the meetings of the flanks and at the end."""
        half, time, passed = self.play / 2, 0.0, [(0.0, *state)]
        side = np.sign(state[0]) * (abs(state[0]) > half)
        while time < end:

            def rate(t, y, side=side):
                pressed = self.stiffness(t) * (y[0] - side * half) * abs(side)
                return [y[1], self.load - self.damping * y[1] - pressed]

            def leaves(t, y, side=side):
                return side * y[0] - half if side else abs(y[0]) - half

            leaves.terminal, leaves.direction = True, -1 if side else 1
            found = solve_ivp(rate, (time, end), state, "DOP853", rtol=1e-13, atol=1e-14,
                              events=leaves, max_step=0.05)  # fmt: skip
            time, state = found.t[-1], found.y[:, -1]
            passed += list(zip(found.t, *found.y, strict=True))
            side = 0.0 if side else np.sign(state[0])
        return np.array(passed)


@pytest.mark.parametrize("engine", ["event", "diffrax"])
def test_a_gear_pair_with_varying_mesh_moves_as_scipy_says(engine):
    gears, start = Gears(), np.array([1.43, -0.7])
    end = 6 * gears.period
    expected = gears.motion(start, end)
    pressed = np.abs(expected[:, 1]) > 1
    assert 0 < pressed.sum() < pressed.size
    found = jv.flow(gears.system(), start, 0.0, end, rtol=1e-12, engine=engine)
    np.testing.assert_allclose(found, expected[-1, 1:], atol=2e-9)


@pytest.mark.parametrize("engine", ["event", "diffrax"])
def test_forces_and_contacts_of_a_gear_orbit_are_scipys(engine):
    gears = Gears()
    orbit = jv.periodic_orbit(gears.system(), [1.43, -0.7], engine=engine)
    states = gears.motion(np.asarray(orbit.state), gears.period)
    np.testing.assert_allclose(states[-1, 1:], orbit.state, atol=1e-9)
    time, place = states[:, 0], states[:, 1]
    forces = gears.stiffness(time) * np.maximum(place - gears.play / 2, 0)
    top = np.argmax(forces)
    fit = np.polyfit(time[top - 2 : top + 3] - time[top], forces[top - 2 : top + 3], 4)
    inside = np.roots(np.polyder(fit))
    inside = inside[np.argmin(np.abs(inside))].real
    np.testing.assert_allclose(orbit.max_contact_force, np.polyval(fit, inside), rtol=1e-7)
    # The largest force is not where the flanks are pressed together the most.
    deepest = forces[np.argmax(place)]
    assert orbit.max_contact_force > 1.001 * deepest
    onsets = np.sum((place[:-1] <= 1) & (place[1:] > 1 + 1e-12))
    assert orbit.contacts == onsets > 0


def test_the_derivative_of_a_largest_force_is_a_difference():
    def largest(depth):
        gears = Gears().system()
        path = "contacts.mesh-ahead.variation.cosine.0"
        other = "contacts.mesh-behind.variation.cosine.0"
        system = jv.replace(gears, {path: depth, other: depth})
        return jv.periodic_orbit(system, [1.43, -0.7]).max_contact_force

    step = 1e-4
    expected = (largest(0.2 + step) - largest(0.2 - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(largest)(0.2), expected, rtol=1e-6)


LAWS = [
    lambda k: jv.LinearContact(200 * k),
    lambda k: jv.HertzContact(900 * k),
    lambda k: jv.HuntCrossleyContact(900 * k, 0.3),
    lambda k: jv.KelvinVoigtContact(200 * k, 3.0 * k),
    lambda k: jv.PiecewiseLinearContact([100.0 * k, 300.0 * k], [0.1]),
]
SPRINGS = [
    lambda k: jv.PolynomialLaw([3.0 * k, k, 2.0 * k]),
    lambda k: jv.PiecewiseLinearLaw([3.0 * k, 50.0 * k], [-0.5]),
]


def shaken(law, kind, variation):
    linear = jv.LinearSystem([[2.0]], [[0.3]], [[1.0]])
    loads = (
        jv.AppliedLoad(ONE, jv.HarmonicLoad(30.0, 2.0), "push"),
        jv.AppliedLoad(ONE, jv.ConstantLoad(5.0), "weight"),
    )
    if kind == "spring":
        springs = (jv.NonlinearSpring(ONE, law, "spring", variation),)
        return jv.ImpactSystem(linear, springs=springs, loads=loads)
    stop = jv.Contact(ONE, 0.5, law, "stop", variation)
    pad = jv.ContactFriction(ONE, 0, 0.2) if kind == "rubbed" else None
    frictions = () if pad is None else (pad,)
    return jv.ImpactSystem(linear, (stop,), loads, frictions)


# A law of each kind; the linear contact is rubbed.
CASES = [*((law, "contact") for law in LAWS[1:]), *((law, "spring") for law in SPRINGS),
         (LAWS[0], "rubbed")]  # fmt: skip
# Without friction and the Kelvin-Voigt contact, whose force jumps: steps do not follow.
SMOOTH = [(LAWS[0], "contact"), *CASES[:2], *CASES[3:6]]


# Seven systems, each compiled twice, with their derivatives.
@pytest.mark.slow
@pytest.mark.parametrize(("law", "kind"), CASES)
def test_a_constant_variation_is_another_stiffness(law, kind):
    def end(state, variation, factor):
        system = shaken(law(factor), kind, variation)
        return jv.flow(system, state, 0.0, 3.0, rtol=1e-12, engine="event")

    start = jnp.asarray([0.1, 0.2])
    constant = jv.ConstantLoad(0.5)
    found = jax.jacfwd(end)(start, constant, 1.0)
    expected = jax.jacfwd(end)(start, None, 1.5)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=1e-9 * size)
    rest = end(start, constant, 1.0), end(start, None, 1.5)
    np.testing.assert_allclose(*rest, atol=1e-10)


@pytest.mark.slow  # the same systems, with an engine that steps
@pytest.mark.parametrize(("law", "kind", "wave"), [
    *((*case, jv.HarmonicLoad(0.4, 2.0, 0.7)) for case in SMOOTH),
    *((*case, jv.PulseLoad("rectangle", 0.8, 0.3, 1.0, np.pi)) for case in SMOOTH[::5]),
])  # fmt: skip
def test_events_and_steps_give_one_motion(law, kind, wave):
    system = shaken(law(1.0), kind, wave)
    ends = [
        jv.flow(system, [0.1, 0.2], 0.0, 3.0, rtol=1e-12, engine=engine)
        for engine in ("event", "diffrax")
    ]
    np.testing.assert_allclose(*ends, atol=1e-9)


@pytest.mark.parametrize("wave", [
    jv.HarmonicLoad(0.4, 2.0, 0.7),
    jv.PulseLoad("rectangle", 0.8, 0.3, 1.0, np.pi),
])  # fmt: skip
def test_the_work_of_a_variation_closes_the_balance_of_energy(wave):
    spent = energy_balance(shaken(LAWS[3](1.0), "rubbed", wave), [0.1, 0.2], 0.0, 3.0)
    size = float(spent.contacts[0] + spent.frictions[0])
    assert abs(spent.left) < 1e-8 * size < 1e-2 * size < abs(spent.variations[0])


def test_the_work_of_a_variation_is_an_integral_of_scipy():
    wave = jv.HarmonicLoad(0.4, 2.0, 0.7)
    system = shaken(LAWS[0](1.0), "contact", wave)
    start, end = [0.6, 0.1], 0.05  # closed all the time
    found = energy_balance(system, start, 0.0, end, rtol=1e-12)
    path = solve_ivp(
        lambda t, y: system.equation().vector_field(t, jnp.asarray(y)),
        (0.0, end), start, "DOP853", rtol=1e-12, atol=1e-13, dense_output=True,
    )  # fmt: skip

    def power(time):
        depth = path.sol(time)[0] - 0.5
        return -0.4 * 2.0 * np.sin(2.0 * time + 0.7) * 100.0 * depth**2

    np.testing.assert_allclose(found.variations[0], quad(power, 0, end)[0], rtol=1e-8)


def test_a_hard_stop_beside_a_pumped_spring_reflects_its_motion():
    # The mirror image of a motion through an elastic stop at zero gap is the free one.
    wave = jv.HarmonicLoad(0.5, 3.0)
    stop = jv.Contact(ONE, 0.0, jv.RestitutionContact(1.0), "wall")
    free, struck = pumped(4.0, 0.1, wave), pumped(4.0, 0.1, wave, contacts=(stop,))
    start = [-0.2, 0.3]
    through = jv.flow(free, start, 0.0, 5.0, rtol=1e-12)
    found = jv.flow(struck, start, 0.0, 5.0, rtol=1e-12)
    np.testing.assert_allclose(found, -np.sign(through[0]) * through, atol=1e-10)


class Square(SystemRepr):
    """A user's periodic law, v = depth sin^3(w t)."""

    depth: jax.Array
    pace: jax.Array

    def force(self, time):
        return self.depth * jnp.sin(self.pace * time) ** 3

    def period(self):
        return 2 * jnp.pi / self.pace


def test_a_users_law_is_integrated_by_steps_and_named_by_events():
    system = pumped(2.0, 0.1, Square(jnp.asarray(0.4), jnp.asarray(3.0)))
    same = jv.FourierLoad(3.0, [0.0] * 3, [0.3, 0.0, -0.1])  # sin^3
    found = jv.flow(system, [0.1, 0.2], 0.0, 4.0, rtol=1e-12)
    expected = jv.flow(pumped(2.0, 0.1, same), [0.1, 0.2], 0.0, 4.0, rtol=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    message = r"springs.pump.variation = Square has no event-driven form"
    with pytest.raises(ValueError, match=message):
        jv.flow(system, [0.1, 0.2], 0.0, 4.0, engine="event")


def test_a_pumped_pendulum_swings_as_scipy_says():
    swing = jv.NonlinearSpring(
        ONE, jv.FunctionLaw(lambda e, rate, p: p["g"] * jnp.sin(e), {"g": 9.0}), "gravity",
        jv.HarmonicLoad(0.6, 5.5),
    )  # fmt: skip
    system = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.1]], [[0.0]]), springs=(swing,))
    found = jv.flow(system, [0.4, 0.0], 0.0, 8.0, rtol=1e-12)
    expected = solve_ivp(
        lambda t, y: [y[1], -0.1 * y[1] - 9 * (1 + 0.6 * np.cos(5.5 * t)) * np.sin(y[0])],
        (0.0, 8.0), [0.4, 0.0], "DOP853", rtol=1e-12, atol=1e-13,
    ).y[:, -1]  # fmt: skip
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_response_has_the_largest_force_and_its_derivative():
    def largest(depth):
        mesh = jv.HarmonicLoad(depth, 2.0, 0.7)
        system = shaken(LAWS[0](1.0), "contact", mesh)
        return jv.response(system, 3.0).max_contact_force[0]

    times = np.linspace(0.0, 3.0, 30001)
    motion = jv.simulate(shaken(LAWS[0](1.0), "contact", jv.HarmonicLoad(0.4, 2.0, 0.7)),
                         [0.0, 0.0], times)  # fmt: skip
    np.testing.assert_allclose(largest(0.4), motion.contact_force.max(), rtol=1e-6)
    step = 1e-5
    expected = (largest(0.4 + step) - largest(0.4 - step)) / (2 * step)
    np.testing.assert_allclose(jax.grad(largest)(0.4), expected, rtol=1e-5)


def test_a_large_system_with_a_varying_contact_is_not_put_into_modes():
    names = [f"m{k}" for k in range(20)]
    linear = jv.assemble([
        jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=0.2)
        for a, b in zip(["ground", *names], names, strict=False)
    ])  # fmt: skip
    push = jv.AppliedLoad(linear.direction("m0"), jv.HarmonicLoad(3.0, 4.0))

    def system(variation):
        along = linear.direction("m9")
        stop = jv.Contact(along, 0.1, jv.HertzContact(1e4), "stop", variation)
        return jv.ImpactSystem(linear, (stop,), (push,))

    assert modal_form(system(None)) is not None
    assert modal_form(system(jv.HarmonicLoad(0.1, 4.0))) is None


def frame(share):
    """Return a cantilever of a plane frame with a share of its stiffness and damping."""
    return jv.PlaneFrameModule(
        "ground", "tip", along=[1.0, 0.0], axial_stiffness=40.0 * share,
        bending_stiffness=2.0 * share, mass_per_length=1.0, material_damping=0.02,
    )  # fmt: skip


def test_a_modules_own_stiffness_and_damping_vary_as_springs_along_its_squares():
    # The energies of a module are sums of squares, w (r^T q)^2 / 2: each is a spring or
    # a damper along r. Half of the frame varies, by twice as much.
    rest, wave = frame(0.5), jv.HarmonicLoad(0.6, 5.0)
    linear = jv.assemble([rest])
    places = [linear.names.index(n) if n in linear.names else None for n in rest.freedoms]

    def along(row):
        found = np.zeros(3)
        for place, value in zip(places, row, strict=True):
            if place is not None:
                found[place] += float(value)
        return found

    laws = {"k": (jv.PolynomialLaw, rest.potential()),
            "d": (jv.PolynomialDamperLaw, rest.dissipation())}  # fmt: skip
    springs = [
        jv.NonlinearSpring(along(row), law(jnp.asarray(weight)[None]), f"{name}{i}", wave)
        for name, (law, squares) in laws.items()
        for i, (weight, row) in enumerate(squares)
    ]
    system = jv.ImpactSystem(linear, springs=springs)
    mass, damping, stiffness = map(np.asarray, jv.assemble([frame(1.0)]).matrices())

    def rate(t, y):
        factor = 1 + 0.3 * np.cos(5 * t)
        force = -factor * (stiffness @ y[:3] + damping @ y[3:])
        return np.concatenate([y[3:], np.linalg.solve(mass, force)])

    start = np.array([0.01, 0.1, -0.05, 0.0, 0.2, 0.0])
    expected = solve_ivp(rate, (0, 2.0), start, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    found = jv.flow(system, start, 0.0, 2.0, rtol=1e-11)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
