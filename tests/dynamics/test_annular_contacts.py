"""Checked against: circular rub in closed form; SciPy's DOP853 between events; balances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, minimize_scalar

import jaxvib as jv
from jaxvib.dynamics.engines import engine_for
from jaxvib.dynamics.flow import observe_with_monodromy
from jaxvib.dynamics.observables import largest_forces
from jaxvib.orbits.orbit import unknown_orbits
from jaxvib.studies.analyses.kinds.periodic_orbit import loses_power
from tests.rubbing_rotor import SPEED, by_scipy, rotor

START = np.array([0.3, -0.2, 0.1, 0.4])
END = 4 * 2 * np.pi / SPEED
SPEEDS = 0.95, 1.5


def full_rub(speed, ratio=0.15, unbalance=0.6, stiffness=4.0, friction=0.05):
    """Return the complex amplitude of a synchronous circular rub, and its multipliers.

    In the frame that turns with the shaft u = r e^{i p} is at rest; the multipliers are
    those of the linearised motion there.
    """

    def force(radius):
        rub = stiffness * (radius - 1.0) * (1 + 1j * friction)
        return radius * (1 - speed**2 + 2j * ratio * speed) + rub

    pull = unbalance * speed**2
    radius = brentq(lambda r: abs(force(r)) - pull, 1.0, 9.0, xtol=1e-15, rtol=1e-15)
    u = radius * pull / force(radius)

    def rates(y):
        u, v = y[0] + 1j * y[1], y[2] + 1j * y[3]
        normal = stiffness * (abs(u) - 1.0) * u / abs(u)
        change = pull - 2j * speed * v + speed**2 * u - 2 * ratio * (v + 1j * speed * u)
        change = change - u - normal * (1 + 1j * friction)
        return np.array([v.real, v.imag, change.real, change.imag])

    here, step = np.array([u.real, u.imag, 0.0, 0.0]), 1e-5 * np.eye(4)
    slopes = np.array([(rates(here + h) - rates(here - h)) / 2e-5 for h in step]).T
    return u, np.exp(np.linalg.eigvals(slopes) * 2 * np.pi / speed)


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_circular_rub_has_its_closed_form_and_multipliers(speed):
    u, multipliers = full_rub(speed)
    given = {"ratio": 0.15, "unbalance": 0.6, "weight": 0.0, "stiffness": 4.0}
    orbit = jv.periodic_orbit(
        rotor(speed, friction_coefficient=0.05, surface_speed=2.0, **given)
    )
    rate = 1j * speed * u
    expected = [u.real, u.imag, rate.real, rate.imag]
    np.testing.assert_allclose(orbit.state, expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(orbit.max_contact_force, 4 * (abs(u) - 1), rtol=1e-10)
    np.testing.assert_allclose(
        np.sort_complex(orbit.floquet_multipliers), np.sort_complex(multipliers), atol=1e-7
    )
    assert orbit.stable == 1
    assert orbit.contact_duration == orbit.period


@pytest.mark.parametrize(
    "stator",
    [
        {},
        # Programs of their own.
        pytest.param(
            {"surface_speed": 0.0, "regularization": 0.1, "offset": (0.4, 0.3)},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"offset": (0.9, 0.6), "damping": 0.3, "weight": 0.1}, marks=pytest.mark.slow
        ),
    ],
    ids=["turning", "rattling", "preloaded_and_damped"],
)
def test_partial_rub_and_its_losses_follow_an_independent_integration(stator):
    expected, (impulse, rubbed, damped) = by_scipy(START, END, **stator)
    times = np.linspace(0.0, END, 5)
    seen = jv.dynamics.contact_histories(rotor(**stator), START, times, rtol=1e-11)
    np.testing.assert_allclose(seen.states[-1], expected, rtol=0, atol=1e-9)
    sums = seen.impulses[-1, 0], seen.friction_losses[-1, 0], seen.losses[-1, 0]
    np.testing.assert_allclose(sums, [impulse, rubbed, rubbed + damped], rtol=1e-9)
    np.testing.assert_allclose(seen.work_rates, [(rubbed + damped) / END], rtol=1e-9)
    assert rubbed > 0.05


@pytest.mark.slow  # compiles the motion with its sensitivities
def test_the_largest_damped_force_is_that_of_an_independent_integration():
    system, end = rotor(damping=0.3), END / 2

    def force(time):
        state, _ = by_scipy(START, time, damping=0.3)
        equation = system.equation()
        state = jnp.asarray(state)
        depth, rate = equation.penetrations(state), equation.closing_rates(state)
        return float(equation.contact_forces(depth, rate)[0])

    start = jnp.asarray(START)
    seen = observe_with_monodromy(system, start, 0.0, end, rtol=1e-9, grazing=0.0)
    found = float(largest_forces(system.equation(), seen.observables)[0])
    when = float(seen.observables.strongest_time[0])
    ends = {"bounds": (when - 0.02, when + 0.02), "method": "bounded"}
    known = minimize_scalar(lambda t: -force(t), **ends, options={"xatol": 1e-7})
    np.testing.assert_allclose(found, -known.fun, rtol=1e-9)  # 1.4e-8 by quintics


@pytest.mark.parametrize(
    "stator",
    [{}, pytest.param({"damping": 0.3}, marks=pytest.mark.slow)],
    ids=["friction", "friction_and_damping"],
)
def test_work_rates_of_samples_follow_an_independent_integration(stator):
    system, frictions = rotor(**stator), [0.1, 0.05]
    lanes = unknown_orbits(system, 2)
    lanes.state[:], lanes.period[:], lanes.periods[:] = START, END, 1
    swept = {"contacts.stator.friction_coefficient": frictions}
    expected = []
    for friction in frictions:
        _, (_, *lost) = by_scipy(START, END, friction_coefficient=friction, **stator)
        expected.append([sum(lost) / END])
    found = jv.orbits.contact_work_rates(system, swept, lanes)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_studies_store_the_power_lost_to_friction():
    path = "contacts.stator.friction_coefficient"
    assert loses_power(rotor(), ["contacts.stator.gap"])
    assert loses_power(rotor(friction_coefficient=0.0), [path])
    assert not loses_power(rotor(friction_coefficient=0.0), ["contacts.stator.gap"])


def test_the_balance_of_a_circular_rub_has_its_closed_form():
    speed = SPEEDS[0]
    u, _ = full_rub(speed)
    given = {"ratio": 0.15, "unbalance": 0.6, "weight": 0.0, "stiffness": 4.0}
    system = rotor(speed, friction_coefficient=0.05, surface_speed=2.0, **given)
    rate, period = 1j * speed * u, 2 * np.pi / speed
    start = [u.real, u.imag, rate.real, rate.imag]
    found = jv.dynamics.energy_balance(system, start, 0.0, period)
    drag = 0.05 * 4 * (abs(u) - 1)
    rubbed, driven = drag * (abs(rate) + 2.0) * period, drag * 2.0 * period
    damped = 2 * 0.15 * abs(rate) ** 2 * period
    np.testing.assert_allclose(found.friction_losses, [rubbed], rtol=1e-9)
    np.testing.assert_allclose(found.contacts, [rubbed], rtol=1e-9)
    np.testing.assert_allclose(found.surfaces, [driven], rtol=1e-9)
    np.testing.assert_allclose(found.damping, damped, rtol=1e-9)
    np.testing.assert_allclose(sum(found.loads), damped + rubbed - driven, rtol=1e-9)
    np.testing.assert_allclose([found.kinetic, found.potential, found.left], 0, atol=1e-8)


def test_the_balance_of_a_partial_rub_follows_an_independent_integration():
    found = jv.dynamics.energy_balance(rotor(), START, 0.0, END)
    expected, (_, rubbed, _) = by_scipy(START, END)
    np.testing.assert_allclose(found.state, expected, rtol=0, atol=2e-8)
    np.testing.assert_allclose(found.friction_losses, [rubbed], rtol=1e-8)
    assert abs(float(found.left)) < 1e-8 * float(sum(abs(found.loads)))
    with pytest.raises(RuntimeError, match="energy_balance: a parameter"):
        jv.dynamics.energy_balance(rotor(), START, END, 0.0)


@pytest.mark.slow  # the program of a regularized friction
def test_energy_is_balanced_by_friction():
    """Without a surface speed all that friction takes from the rotor is lost."""
    system = rotor(surface_speed=0.0, regularization=0.1, offset=(0.4, 0.3))
    times = np.linspace(0.0, END, 8001)
    states = np.asarray(jv.simulate(system, START, times, rtol=1e-11).states)
    velocity = states[:, 2:]
    pull = sum(
        np.asarray(jax.vmap(load.law.force)(times))[:, None] * np.asarray(load.direction)
        for load in system.loads
    )
    power = np.sum(pull * velocity, axis=1) - 0.2 * np.sum(velocity**2, axis=1)
    step = times[1]
    weights = np.tile([2.0, 4.0], 4001)[: len(times)]
    weights[[0, -1]] = 1.0
    supplied = step / 3 * np.sum(weights * power)

    def energy(state):
        depth = max(np.hypot(*(state[:2] - [0.4, 0.3])) - 1.0, 0.0)
        return (state @ state + 20.0 * depth**2) / 2

    lost = END * jv.dynamics.mean_friction_power(system, START, 0.0, END)[0]
    change = energy(states[-1]) - energy(states[0])
    np.testing.assert_allclose(supplied - lost, change, rtol=1e-7)


@pytest.mark.slow  # a program with its derivatives
def test_slopes_by_the_stator_are_differences_of_an_independent_integration():
    # With friction that follows the speed, so that its slope is not 0.
    usual = {"regularization": 0.5}
    values = {
        "gap": 1.0,
        "friction_coefficient": 0.1,
        "stiffness": 20.0,
        "surface_speed": 1.8,
    }
    names = [name if name != "stiffness" else "law.stiffness" for name in values]
    system = rotor(**usual)

    def end(numbers):
        paths = (f"contacts.stator.{name}" for name in names)
        changed = jv.replace(system, dict(zip(paths, numbers, strict=True)))
        return jv.flow(changed, jnp.asarray(START), 0.0, END, rtol=1e-10)

    found = jax.jacfwd(end)(jnp.array(list(values.values())))
    for column, (name, value) in zip(found.T, values.items(), strict=True):
        step = 1e-5 * value
        sides = [
            by_scipy(START, END, **usual, **{name: value + h})[0] for h in (step, -step)
        ]
        expected = (sides[0] - sides[1]) / (2 * step)
        np.testing.assert_allclose(column, expected, rtol=1e-5, atol=2e-7)


@pytest.mark.slow  # the reverse mode of an integral
def test_the_work_rate_has_a_slope_by_the_friction():
    def rate(friction):
        system = jv.replace(rotor(), {"contacts.stator.friction_coefficient": friction})
        return jv.dynamics.mean_friction_power(system, START, 0.0, END)[0]

    sides = [
        by_scipy(START, END, friction_coefficient=0.1 + h)[1][1] / END
        for h in (1e-5, -1e-5)
    ]
    slope = (sides[0] - sides[1]) / 2e-5
    np.testing.assert_allclose(jax.grad(rate)(0.1), slope, rtol=1e-7)


def test_the_field_turns_with_the_rotor():
    """A turn of the plane by any angle turns the forces of the contact too."""
    hole = rotor(weight=0.0, unbalance=0.0, offset=(0.0, 0.0), surface_speed=0.3)
    equation, angle = hole.equation(), 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    both = np.kron(np.eye(2), turn)
    states = np.random.default_rng(1).normal(size=(20, 4))
    field = jax.jit(jax.vmap(lambda state: equation.vector_field(0.0, state)))
    np.testing.assert_allclose(field(states @ both.T), field(states) @ both.T, atol=1e-12)
    each = [equation.vector_field(0.0, jnp.asarray(state)) for state in states]
    np.testing.assert_allclose(field(states), each, rtol=1e-14, atol=1e-14)


def test_penetrations_have_their_time_derivatives():
    contact = rotor(offset=(0.1, -0.2)).contacts[0]
    start, push = jnp.asarray(START), jnp.array([0.7, -1.1])

    def depth(time):
        moved = start[:2] + time * start[2:] + time**2 / 2 * push
        return contact.penetration(moved)

    rate = jax.grad(depth)
    motion = start[:2], start[2:]
    np.testing.assert_allclose(contact.closing_rate(*motion), rate(0.0), rtol=1e-14)
    np.testing.assert_allclose(
        contact.closing_acceleration(*motion, push), jax.grad(rate)(0.0), rtol=1e-13
    )


def test_at_the_centre_of_the_hole_derivatives_are_finite():
    equation = rotor().equation()
    field = jax.jacfwd(lambda state: equation.vector_field(0.0, state))
    assert np.all(np.isfinite(field(jnp.zeros(4))))
    assert equation.penetrations(jnp.zeros(4)) == -1.0


def test_a_heavy_rotor_rests_on_its_stator_beside_the_lowest_point():
    system = rotor(weight=3.0, friction_coefficient=0.2)
    rest = jv.static_equilibrium(system)
    x, y = np.asarray(rest.state[:2])
    radius = np.hypot(x, y)
    normal, radial = 20 * (radius - 1), np.array([x, y]) / radius
    along = np.array([-radial[1], radial[0]])
    left = -np.array([x, y]) - normal * (radial + 0.2 * along) - [0, 3.0]
    np.testing.assert_allclose(left, 0, atol=1e-12)
    np.testing.assert_allclose(rest.contact_force[0], normal, rtol=1e-12)
    open_ = jv.orbits.gaps_from_equilibrium(rotor())
    np.testing.assert_allclose(open_.contacts[0].offset, [0.0, -0.3], atol=1e-15)


def test_time_stepping_is_selected():
    engine, reason = engine_for(rotor(), "auto", 1)
    assert engine == "diffrax"
    assert "nonlinear in the displacements" in reason
    with pytest.raises(ValueError, match=r"engine = 'event': AnnularContact .* diffrax"):
        jv.periodic_orbit(rotor(), engine="event")


WRONG = [
    ({"surface_speed": 0.0}, "friction .* without surface_speed.*regularization"),
    ({"gap": 0.0}, r"gap = 0 m is not in \(0, inf"),
    ({"friction_coefficient": -0.1}, r"friction_coefficient = -0.1 is not in \[0"),
    ({"offset": (0.1,)}, r"offset has shape \(1,\); allowed: \(2,\)"),
]


@pytest.mark.parametrize(("stator", "message"), WRONG)
def test_a_wrong_stator_is_named(stator, message):
    with pytest.raises(ValueError, match=message):
        rotor(**stator)


def test_wrong_directions_laws_and_companions_are_named():
    law = jv.LinearContact(1.0)
    with pytest.raises(ValueError, match=r"directions has shape \(3, 2\)"):
        jv.AnnularContact(np.ones((3, 2)), 1.0, law)
    with pytest.raises(ValueError, match="= 0 everywhere along one axis"):
        jv.AnnularContact([[1.0, 0.0], [0.0, 0.0]], 1.0, law)
    with pytest.raises(ValueError, match=r"directions = .* parallel.* two independent"):
        jv.AnnularContact([[1.0, 2.0], [-1e-3, -2e-3]], 1.0, law)
    with pytest.raises(ValueError, match="is a hard stop"):
        jv.AnnularContact(np.eye(2), 1.0, jv.RestitutionContact(0.5))
    linear, hole = rotor().linear, jv.AnnularContact(np.eye(3)[:2], 1.0, law)
    with pytest.raises(ValueError, match=r"contact 0: directions has shape \(2, 3\)"):
        jv.ImpactSystem(linear, (hole,))
    pad = jv.CoulombFriction([1.0, 0.0], 1.0)
    with pytest.raises(
        ValueError, match="annular contacts cannot be combined with dry friction"
    ):
        jv.ImpactSystem(linear, rotor().contacts, frictions=(pad,))
    with pytest.raises(ValueError, match="has no AnnularContact"):
        jv.dynamics.mean_friction_power(jv.ImpactSystem(linear), START, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"t1 = 1.5 s is not after t0 = 1.5 s"):
        jv.dynamics.mean_friction_power(rotor(), START, 1.5, 1.5)


@pytest.mark.parametrize("speeds", [[0.0, 2.0], [2.0, 0.0]])
def test_any_sample_whose_friction_may_stick_is_named(speeds):
    path = "contacts.stator.surface_speed"
    where = "" if speeds[0] == 0 else rf"sample 1, {path} = 0: "
    with pytest.raises(ValueError, match=f"{where}friction .* without surface_speed"):
        jv.orbits.regimes(rotor(), {path: speeds})
    turning = jv.replace(rotor(regularization=0.1), {path: 0.0})
    assert not turning.contacts[0].may_stick()


@pytest.mark.slow  # the program of six modes
def test_a_tube_in_two_planes_rattles_as_an_independent_integration_of_its_modes():
    beam = jv.BeamWithBodies(jv.Beam(1.0, 0.5, 20.0, ends=("hinged", "hinged")))
    places = {"middle": 0.5, "load": 0.3}
    tube = jv.elastic_structure(beam, 3, places, damping_ratio=0.02).in_two_planes()
    plane = np.stack([tube.direction("middle.x"), tube.direction("middle.y")])
    law, others = (
        jv.LinearContact(2e4),
        {"friction_coefficient": 0.3, "regularization": 0.005},
    )
    hole = jv.AnnularContact(plane, 1e-3, law, **others, offset=(3e-4, 0.0))
    pushes = np.stack([tube.direction("load.x"), tube.direction("load.y")])
    shake = [
        jv.AppliedLoad(push, jv.HarmonicLoad(0.9 - 0.5 * i, 45.0, -1.0 * i))
        for i, push in enumerate(pushes)
    ]
    system = jv.ImpactSystem(tube, (hole,), shake)
    frequencies = np.pi**2 * np.array([1.0, 4.0, 9.0]) * np.sqrt(20.0 / 0.5)
    omega = np.tile(frequencies, 2)
    np.testing.assert_allclose(tube.frequencies, omega, rtol=1e-12)

    def rates(t, y):
        q, v = y[:6], y[6:12]
        force = np.array([0.9 * np.cos(45 * t), 0.4 * np.cos(45 * t - 1.0)])
        push = force @ pushes - 0.04 * omega * v - omega**2 * q
        r, w = plane @ q - [3e-4, 0.0], plane @ v
        radius = np.hypot(*r)
        radial = r / radius
        along = np.array([-radial[1], radial[0]])
        normal = 2e4 * max(radius - 1e-3, 0.0)
        slides = along @ w
        rub = 0.3 * normal * slides / np.hypot(slides, 0.005)
        push = push - (normal * radial + rub * along) @ plane
        return np.concatenate([v, push, [normal, rub * slides]])

    options = {"rtol": 1e-12, "atol": 1e-17, "max_step": 5e-4}
    known = solve_ivp(rates, (0.0, 0.5), np.zeros(14), "DOP853", **options).y[:, -1]
    seen = jv.dynamics.contact_histories(system, np.zeros(12), [0.0, 0.5], rtol=1e-11)
    sizes = np.repeat([1e-3, 0.05], 6)
    np.testing.assert_allclose(seen.states[-1] / sizes, known[:12] / sizes, atol=1e-7)
    sums = seen.impulses[-1, 0], seen.friction_losses[-1, 0]
    np.testing.assert_allclose(sums, known[12:], rtol=1e-7)
    assert known[13] > 1e-5
