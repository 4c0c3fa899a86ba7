"""Checked against: DOP853 on equations by hand; closed forms of rub and rolling."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxvib as jv
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.motion import Want
from jaxvib.ensemble import Reason

MODES, GAP, STIFFNESS, SPEED = 5, 1e-3, 1e6, 48.0
PERIOD = 2 * np.pi / SPEED
HOLE = {"friction_coefficient": 0.2, "regularization": 0.02, "surface_speed": 0.04}
BEAM = jv.BeamWithBodies(jv.Beam(1.0, 0.5, 20.0, ends=("hinged", "hinged")))
PLACES = {"middle": 0.45, "side": 0.8, "flow": 0.3}
TUBE = jv.elastic_structure(BEAM, MODES, PLACES, damping_ratio=0.02).in_two_planes()
PACES = np.asarray(TUBE.frequencies)
SCALES = np.concatenate([PACES, np.ones(2 * MODES)])


@functools.cache
def tube(force=2.0, turn=1.0, side_gap=GAP, offset=(2e-4, -1e-4), number=2, **hole):
    """Return a tube in two holes, or the first, under a force that turns."""
    given = HOLE | hole
    holes = [
        jv.AnnularContact(
            np.stack([TUBE.direction(f"{name}.{axis}") for axis in "xy"]),
            gap,
            jv.HertzContact(STIFFNESS),
            offset=offset,
            name=name,
            **given,
        )
        for name, gap in (("middle", GAP), ("side", side_gap))[:number]
    ]
    loads = [
        jv.AppliedLoad(TUBE.direction("flow.x"), jv.HarmonicLoad(force, SPEED), "x"),
        jv.AppliedLoad(
            TUBE.direction("flow.y"), jv.HarmonicLoad(force, SPEED, -turn * np.pi / 2), "y"
        ),
    ]
    return jv.ImpactSystem(TUBE, holes, loads)


def moved(system, state, monodromy=True):
    """Return the modal engine's motion, observed."""
    want = Want(1e-10, grazing=1e-9, monodromy=monodromy)
    return modal_flow(modal_form(system), jnp.asarray(state), 0.0, PERIOD, want)


def by_hand(system, state, change, end=PERIOD):
    """Return DOP853's state, what a small change has become, and losses to friction.

    From one onset or release to the next: forces are continuous there.
    """
    size = 4 * MODES
    holes = [
        (np.asarray(c.directions), float(c.gap), np.asarray(c.offset))
        for c in system.contacts
    ]
    mu, slow, surface = (
        float(getattr(system.contacts[0], name))
        for name in ("friction_coefficient", "regularization", "surface_speed")
    )
    pulls = [(np.asarray(x.direction), float(x.law.amplitude), float(x.law.phase))
             for x in system.loads]  # fmt: skip

    def rates(time, both):
        state, change = both[:size], both[size : 2 * size]
        found, lost = field(time, state)
        near = [field(time, state + sign * 1e-6 * change)[0] for sign in (1, -1)]
        return np.concatenate([found, (near[0] - near[1]) / 2e-6, lost])

    def field(time, state):
        q, v = np.split(state, 2)
        a = -(PACES**2) * q - 0.04 * PACES * v
        lost = []
        for along, force, phase in pulls:
            a = a + along * force * np.cos(SPEED * time + phase)
        for plane, gap, centre in holes:
            r, rate = plane @ q - centre, plane @ v
            radius = np.hypot(*r)
            normal = STIFFNESS * max(radius - gap, 0.0) ** 1.5
            out = r / radius
            along = np.array([-out[1], out[0]])
            slides = along @ rate + surface
            rub = mu * normal * slides / np.hypot(slides, slow)
            a = a - (normal * out + rub * along) @ plane
            lost.append(rub * slides)
        return np.concatenate([v, a]), lost

    def crossing(hole):
        plane, gap, centre = hole
        event = lambda _, y: np.hypot(*(plane @ y[: 2 * MODES] - centre)) - gap  # noqa: E731
        event.terminal = True
        return event

    time, y = 0.0, np.concatenate([state, change, np.zeros(2)])
    tight = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-14}
    events = [crossing(hole) for hole in holes]
    while time < end:
        part = solve_ivp(rates, (time, end), y, events=events, **tight)
        time, y = part.t[-1], part.y[:, -1]
        if part.status == 1:  # past the event
            step = min(1e-9, end - time)
            y, time = (
                y + step * rates(time + step / 2, y + step / 2 * rates(time, y)),
                time + step,
            )
    return np.split(y, [size, 2 * size])


def start(seed):
    drawn = np.random.default_rng(seed).normal(size=4 * MODES)
    return 0.02 * drawn / SCALES


@pytest.mark.slow  # compiles the motion, and DOP853 of stiff modes
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_tubes_in_two_holes_move_as_an_independent_integration(turn):
    system = tube(turn=turn)
    found = moved(system, start(1))
    change = start(2)
    expected, slope, lost = by_hand(system, start(1), change)
    # Without sensitivities steps that pass an onset are cut there.
    for motion in (found, moved(system, start(1), monodromy=False)):
        assert int(motion.result) == 0
        error = np.abs(SCALES * (motion.state - expected)).max()
        assert error < 1e-9 * np.abs(SCALES * expected).max()
        np.testing.assert_allclose(motion.observables.lost, lost, rtol=1e-7)
    assert lost[0] > 0  # a hole is touched
    slope, along = SCALES * slope, SCALES * (np.asarray(found.monodromy) @ change)
    np.testing.assert_allclose(along, slope, rtol=0, atol=1e-7 * np.abs(slope).max())


def response(place, force, speed=SPEED):
    """Return the modes' complex amplitudes under a force that turns at a place."""
    shape, paces = np.asarray(TUBE.direction(f"{place}.x"))[:MODES], PACES[:MODES]
    return shape * force / (paces**2 - speed**2 + 0.04j * paces * speed)


def flexibility(one, other, speed=SPEED):
    """Return the complex amplitude at a place under a unit force that turns at another."""
    return response(one, 1.0, speed) @ np.asarray(TUBE.direction(f"{other}.x"))[:MODES]


def whirling(q, turn, speed=SPEED):
    """Return the state of the complex amplitudes in a circular whirl."""
    rate = 1j * speed * q
    return np.concatenate([q.real, turn * q.imag, rate.real, turn * rate.imag])


@pytest.mark.slow  # compiles the motion
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_a_circular_rub_of_all_modes_has_its_closed_form(turn):
    force, surface = 3.0, HOLE["surface_speed"]

    def rub(radius):
        """Return the force against a circle of the middle in the direction of its whirl."""
        slides = turn * SPEED * radius + surface
        share = 0.2 * slides / np.hypot(slides, HOLE["regularization"])
        return STIFFNESS * (radius - GAP) ** 1.5 * (1 + 1j * turn * share)

    def needed(radius):
        own = flexibility("middle", "middle")
        return (radius + own * rub(radius)) / flexibility("middle", "flow")

    radius = brentq(lambda r: abs(needed(r)) - force, GAP, 9 * GAP, xtol=1e-18)
    # The phase of the middle, relative to which the load leads.
    phase = force / needed(radius)
    pulled = -rub(radius) * phase
    state = whirling(response("flow", force) + response("middle", pulled), turn)
    system = tube(force, turn, side_gap=1.0, offset=(0.0, 0.0))
    found = moved(system, state)
    assert int(found.result) == 0
    np.testing.assert_allclose(SCALES * found.state, SCALES * state, atol=1e-11)
    np.testing.assert_allclose(found.observables.duration, [PERIOD, 0.0], rtol=1e-12)
    slides = turn * SPEED * radius + surface
    lost = PERIOD * turn * rub(radius).imag * slides
    np.testing.assert_allclose(found.observables.lost, [lost, 0.0], rtol=1e-9)
    np.testing.assert_allclose(found.observables.deepest[0], radius - GAP, rtol=1e-9)


def rolling():
    r"""Return radius, frequency, friction, state and loss of a tube that rolls backwards.

    Its middle is pressed by $(1 - 0.6 i \mu) N = -r / H$, H its flexibility, as it slides
    by 3/4 of the regularization, so slowly that the surfaces nearly stick.
    """
    speed, slow = 1.05 * PACES[0], 1e-5
    own = flexibility("middle", "middle", speed)

    def pressed(radius):
        return STIFFNESS * (radius - GAP) ** 1.5

    radius = brentq(
        lambda r: (-r / own).real - pressed(r), GAP, 9 * GAP, xtol=1e-18, rtol=1e-15
    )
    normal, slides = pressed(radius), 0.75 * slow
    against = radius / own
    friction = {
        "friction_coefficient": against.imag / normal / 0.6,
        "surface_speed": speed * radius + slides,
        "regularization": slow,
    }
    state = whirling(response("middle", against, speed), -1.0, speed)
    return radius, speed, friction, state, against.imag * slides


@pytest.mark.slow  # compiles the motion
def test_a_tube_that_rolls_in_its_hole_whirls_backwards_at_its_closed_form():
    radius, speed, friction, state, power = rolling()
    # Pure rolling: the frequency is surface speed / radius.
    assert abs(speed * radius / friction["surface_speed"] - 1) < 2e-4
    system = tube(0.0, side_gap=1.0, offset=(0.0, 0.0), **friction)
    found = moved(system, state)
    assert int(found.result) == 0
    q, v = (x.reshape(2, MODES) for x in np.split(state, 2))
    angle = speed * PERIOD
    back = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    expected = np.concatenate([(back @ q).reshape(-1), (back @ v).reshape(-1)])
    size = np.abs(SCALES * state).max()
    np.testing.assert_allclose(SCALES * found.state, SCALES * expected, atol=1e-10 * size)
    np.testing.assert_allclose(found.observables.duration, [PERIOD, 0.0], rtol=1e-12)
    np.testing.assert_allclose(found.observables.lost, [PERIOD * power, 0.0], rtol=1e-6)


@pytest.mark.slow  # a program of its own
def test_a_tube_whose_dry_friction_sticks_has_no_motion():
    _, _, friction, state, _ = rolling()
    given = friction | {"regularization": None, "number": 1, "offset": (0.0, 0.0)}
    found = moved(tube(0.0, **given), state)
    assert int(found.result) == Reason.STEP_LIMIT
    assert np.isnan(found.state).all()
    assert np.isnan(found.monodromy).all()


@pytest.mark.slow  # a program of its own
def test_sensitivities_end_where_dry_friction_reverses():
    # So little friction that it does not stick.
    given = {"regularization": None, "friction_coefficient": 0.005, "number": 1}
    dry = tube(**given)
    found = moved(dry, start(1))
    assert int(found.result) == Reason.FIELD_JUMPS
    assert np.isfinite(found.state).all()
    assert np.isnan(found.monodromy).all()
    assert int(moved(tube(**given, surface_speed=20.0), start(1)).result) == 0
