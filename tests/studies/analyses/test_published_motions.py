"""Checked against: VPCS and code_aster's SDND108, 104, 106, SDNL104, 105, 32; scipy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load_text
from tests.timoshenko import beam_matrices, beam_modes, copies


def computed(text, samples=None):
    """Return the system of a config and the arrays of its study, by name."""
    study = load_text(text)
    system, kind = build(study), ANALYSES[study.analysis.kind]
    found = kind.compute(system, samples or {}, study.analysis, study.run, lambda done: 0)
    assert not found["result"].values.any()
    return system, {name: each.values for name, each in found.items()}


FALLS = """
system.kind = "impact_assembly"
system.linear.modules.ground-mass = { module = "translation_translation", mass = 1.0, stiffness = 0.0, damping = 0.0 }
system.contacts.floor = { contact = "linear", at = "mass", gap = 2.0, law.stiffness = 100.0 }
system.loads.weight = { load = "constant", at = "mass", law.force = 10.0 }
run.rtol = 1e-11

[analysis]
kind = "response"
velocity.mass = 1.0
duration = 1.1
points = 12
limits.touch = { at = "mass", level = 2.0 }
"""  # noqa: E501


@pytest.mark.slow  # compiles the study of a system of its own, 3 s
def test_a_mass_that_falls_on_a_spring_floor_is_the_published_one():
    # SDND108, downwards positive.
    system, found = computed(FALLS)
    touch = (np.sqrt(41.0) - 1.0) / 10.0
    np.testing.assert_allclose(found["first_passage"], [[touch]], rtol=1e-12)
    assert touch == pytest.approx(0.54031242374329, abs=1e-14)
    positions = found["displacements"][0, :, 0]
    printed = [1.332162981855, 0.856394405035]
    np.testing.assert_allclose(positions[10:], printed, rtol=0.0, atol=1e-11)
    # It leaves after a swing about 0.1 m of indentation, the printed speed of touch.
    left = touch + (2 * np.pi - 2 * np.arctan2(np.sqrt(41.0), 1.0)) / 10.0
    assert left == pytest.approx(0.88545615307643, abs=1e-14)
    end = jv.flow(system, [0.0, 1.0], 0.0, left, rtol=1e-11)
    np.testing.assert_allclose(end, [2.0, -np.sqrt(41.0)], rtol=1e-10)


SHAKEN = """
system.kind = "impact_assembly"
system.linear.modules.ground-block = { module = "translation_translation", mass = 1.0, stiffness = 0.0, damping = 0.0 }
system.frictions.floor = { friction = "coulomb", at = "block", force = 1.0 }
system.loads.floor = { base = "harmonic_acceleration", at = "block", motion = { amplitude = 15.0, frequency = "1 Hz", phase = "-90 deg" } }
analysis = { kind = "response", duration = 12.0 }
"""  # noqa: E501
SLID = {15.0: 15.2671, 1.5: 0.409062, 1.01: 2.26164e-4, 0.99: 0.0}  # W, by N abs(v)


def test_a_block_on_a_shaken_floor_slides_as_far_as_published():
    # SDND104: they print the mean of N abs(v), which is the lost power over mu = 0.1.
    shaken = build(load_text(SHAKEN))
    for amplitude, printed in SLID.items():
        system = jv.replace(shaken, {"loads.floor.motion.amplitude": amplitude})
        settled = jv.flow(system, [0.0, 0.0], 0.0, 4.0, rtol=1e-10)
        lost = jv.dynamics.energy_balance(system, settled, 4.0, 12.0, rtol=1e-10)
        found = float(lost.frictions[0]) / 8.0 / 0.1
        np.testing.assert_allclose(found, printed, rtol=2e-6, atol=0.0)
        np.testing.assert_allclose(found, _sliding_of(amplitude), rtol=1e-8, atol=1e-15)


def _sliding_of(amplitude):
    """Return the mean of N abs(v) from 4 to 12 s, W, slide by slide in closed form."""
    turn, time, total = 2 * np.pi, 0.0, 0.0
    while amplitude > 1.0 and time < 12.0:
        push = amplitude * np.sin(turn * time)
        if abs(push) <= 1.0:  # it sticks until the shaking reaches mu g = 1 m/s^2
            half, breaks = np.floor(2 * time) / 2, np.arcsin(1 / amplitude) / turn
            time = half + breaks + 0.5 * (time > half + breaks)
            push = np.sin(turn * (time + 1e-6))
        start, way = time, np.sign(push)

        def speed(t, start=start, way=way):
            shaken = amplitude / turn * (np.cos(turn * start) - np.cos(turn * t))
            return shaken - way * (t - start)

        def place(t, start=start, way=way):
            wave = np.sin(turn * t) / turn - np.cos(turn * start) * t
            return -amplitude / turn * wave - way * (t - start) ** 2 / 2

        later = start + np.linspace(1e-4, 1.0, 10000)
        after = int(np.argmax(speed(later) * way <= 0.0))
        time = brentq(speed, later[after - 1], later[after], xtol=1e-14)
        inside = np.clip([start, time], 4.0, 12.0)
        total += way * (place(inside[1]) - place(inside[0]))
    return 10.0 * total / 8.0


PULLED = """
system.kind = "impact_assembly"
system.linear.modules.ground-held = { module = "translation_translation", mass = 5.0, stiffness = 0.0, damping = 0.0 }
system.linear.modules.held-pulled = { module = "translation_translation", mass = 5.0, stiffness = 1e4, damping = 0.0 }
system.frictions.floor = { friction = "coulomb", at = "held", force = 2000.0, static = 3000.0 }
system.loads.pull = { load = "rectangle", at = "pulled", law = { amplitude = 3000.0, start = 0.0, duration = 0.2 } }
analysis = { kind = "response", duration = 0.34, points = 69 }
run.rtol = 1e-11
"""  # noqa: E501


@pytest.mark.slow  # compiles the study of a system of its own, 3 s
def test_two_masses_that_are_pulled_over_a_rough_floor_move_as_published():
    # SDND106. Their printed digits are those of a step that is not small: 2e-5 low.
    _, found = computed(PULLED)
    places = _pulled_masses(0.34)
    np.testing.assert_allclose(found["displacements"][0, [4, 30, 68]], places, atol=1e-9)
    printed = [[0.0, 0.11221], [1.35332, 1.80751]]
    np.testing.assert_allclose(places[:2], printed, rtol=2e-5, atol=1e-12)
    np.testing.assert_allclose(_pulled_masses(0.339965)[2, 1], 3.96813, atol=6e-6)


def _pulled_masses(late):
    """Return both positions at 0.02, 0.15 and at a time when the held one stuck again."""
    mass, stiffness, push, slides = 5.0, 1e4, 3000.0, 2000.0
    alone, both = np.sqrt(stiffness / mass), np.sqrt(2 * stiffness / mass)
    breaks = np.pi / 2 / alone

    def after(t, start, pull):  # from (x1, x2, v1, v2), the first sliding forwards
        x1, x2, v1, v2 = start
        drive, rest = (pull - slides) / (2 * mass), (pull + slides) / (2 * stiffness)
        middle = (x1 + x2) / 2 + (v1 + v2) / 2 * t + drive / 2 * t**2
        mean = (v1 + v2) / 2 + drive * t
        c, s = np.cos(both * t), np.sin(both * t)
        apart = rest + (x2 - x1 - rest) * c + (v2 - v1) / both * s
        rate = -(x2 - x1 - rest) * both * s + (v2 - v1) * c
        return np.array([middle - apart / 2, middle + apart / 2, mean - rate / 2,
                         mean + rate / 2])  # fmt: skip

    slid = np.array([0.0, push / stiffness, 0.0, push / stiffness * alone])
    released = after(0.2 - breaks, slid, push)
    sticks = brentq(lambda t: after(t, released, 0.0)[2], 0.1, 0.13)
    held, far, _, speed = after(sticks, released, 0.0)
    swing = alone * (late - 0.2 - sticks)
    end = held + (far - held) * np.cos(swing) + speed / alone * np.sin(swing)
    first = [0.0, push / stiffness * (1 - np.cos(alone * 0.02))]
    second = after(0.15 - breaks, slid, push)[:2]
    return np.array([first, second, [held, end]])


def posed(squares, rows, names, parts, **analysis):
    """Return the config of an elastic structure in given modes."""
    listed = [f"{name} = {row.tolist()}" for name, row in zip(names, rows, strict=True)]
    keys = "\n".join(f"{key} = {value}" for key, value in analysis.items())
    return f"""
system.kind = "elastic_impact"
{parts}
[system.linear.modal]
frequencies = {np.sqrt(squares).tolist()}
[system.linear.modal.shapes]
{chr(10).join(listed)}
[analysis]
kind = "response"
{keys}
[run]
rtol = 1e-10
"""


def integrated(squares, rates, contacts, force, start, times):
    """Return modal states at times by scipy: contacts are (row, gap, stiffness)."""

    def field(time, state):
        place, speed = np.split(state, 2)
        total = force - squares * place - rates * speed
        for row, gap, stiffness in contacts:
            total = total - row * stiffness * max(row @ place - gap, 0.0)
        return np.append(speed, total)

    span = (0.0, times[-1])
    found = solve_ivp(field, span, start, "DOP853", times, rtol=1e-9, atol=1e-14,
                      max_step=0.3 / np.sqrt(squares.max()))  # fmt: skip
    return found.y.T


def by_symplectic_euler(squares, contacts, force, step, steps):
    """Return the modal state at the end, as the scheme "EULER" of code_aster has it."""
    place, speed = np.zeros((2, len(squares)))
    for _ in range(steps):
        total = force - squares * place
        for row, gap, stiffness in contacts:
            total = total - row * stiffness * max(row @ place - gap, 0.0)
        speed = speed + step * total
        place = place + step * speed
    return place, speed


@pytest.mark.slow  # compiles the study of a system of its own, 5 s
def test_three_tubes_that_push_each_other_are_the_published_ones():
    # SDNL105: their tubes have 10 elements of Euler and 5 modes below 35 Hz each.
    area, inertia = np.pi * (0.1**2 - 0.09**2), np.pi / 4 * (0.1**4 - 0.09**4)
    matrices = beam_matrices(1e10 * inertia, 1e8 * area, 1.0, 10)
    squares, shapes = beam_modes(matrices, np.arange(2, 20), 5)
    assert np.sqrt(squares[-1]) / (2 * np.pi) < 35.0
    squares, rows = copies(squares, shapes[8], 3)
    parts = """
system.contacts.ab = { contact = "linear", at = { a = 1.0, b = -1.0 }, gap = 1e-3, law.stiffness = 1e8 }
system.contacts.bc = { contact = "linear", at = { b = 1.0, c = -1.0 }, gap = 1e-3, law.stiffness = 1e8 }
system.loads.push = { load = "step", at = "a", law.amplitude = 1e6 }
"""  # noqa: E501
    _, found = computed(posed(squares, rows, "abc", parts, duration=1.0, points=2))
    state = found["state"][0]
    contacts = [(rows[0] - rows[1], 1e-3, 1e8), (rows[1] - rows[2], 1e-3, 1e8)]
    force = 1e6 * rows[0]
    still, none = np.zeros(30), np.zeros(15)
    exact = integrated(squares, none, contacts, force, still, np.array([0.0, 1.0]))[-1]
    ours = rows @ state.reshape(2, 15).T
    np.testing.assert_allclose(ours, rows @ exact.reshape(2, 15).T, rtol=2e-6)
    # What differs from the printed values is their step of 2e-4 s.
    printed = [[0.016429482567, 0.011167695860, 0.005897567],
               [0.025415803242, 0.044264003006, 0.104582587]]  # fmt: skip
    theirs = by_symplectic_euler(squares, contacts, force, 2e-4, 5000)
    theirs = rows @ np.transpose(theirs)
    np.testing.assert_allclose(theirs[:, 0], printed[0], rtol=2e-5)
    np.testing.assert_allclose(theirs[:, 1], printed[1], rtol=6e-4)
    np.testing.assert_allclose(ours[:, 0], printed[0], rtol=2e-3)
    np.testing.assert_allclose(ours[:, 1], printed[1], rtol=4e-3)


@pytest.mark.slow  # compiles the study of a system of its own, 4 s
def test_a_cantilever_pushed_on_a_stop_turns_where_published():
    # SDNL104, 5 modes of Euler's beam. The printed numbers are turning points of the tip.
    matrices = beam_matrices(1e10 * np.pi / 4 * 1e-4, 1e6 * np.pi * 1e-2, 1.0, 10)
    squares, shapes = beam_modes(matrices, np.arange(2, 22), 5)
    row = shapes[-2]
    parts = """
system.contacts.stop = { contact = "linear", at = { tip = -1.0 }, gap = 1e-4, law.stiffness = 1e8 }
system.loads.push = { load = "step", at = "tip", law.amplitude = -1000.0 }
"""  # noqa: E501
    text = posed(squares, [row], ["tip"], parts, duration=0.16, points=1601)
    _, found = computed(text)
    stop, times = [(-row, 1e-4, 1e8)], np.linspace(0.0, 0.16, 1601)
    exact = integrated(squares, np.zeros(5), stop, -1e3 * row, np.zeros(10), times)
    tip, speed = exact[:, :5] @ row, exact[:, 5:] @ row
    np.testing.assert_allclose(found["displacements"][0] @ row, tip, rtol=0, atol=1e-10)
    # With 4 or 6 modes, or another mesh, the values change by as much as they differ.
    highest, lowest = 1290 + tip[1290:1340].argmax(), 1550 + speed[1550:1590].argmin()
    np.testing.assert_allclose(times[[highest, lowest]], [0.1315, 0.1566], atol=2e-4)
    np.testing.assert_allclose(tip[highest], -1.85334e-6, rtol=0.08)
    np.testing.assert_allclose(speed[lowest], -4.63284e-3, rtol=0.04)


STOPS = (18e3, 45e3)  # N/m
TIP = [  # mm at 1, 2 ... 12 ms
    [-2.66, -4.33, -4.92, -4.78, -3.82, -2.87, -2.71, -3.09, -3.41, -3.36, -2.64, -0.742],
    [-2.25, -2.66, -1.96, -1.15, -0.124, -0.364, -2.01, -2.74, -1.89, -0.352, 1.70, 4.99],
]


@pytest.mark.slow  # compiles the study of a system of its own, 5 s
def test_a_hinged_beam_that_drops_on_a_stop_is_the_published_one():
    # SDNL32: 10 modes of Timoshenko's beam, 1 % of damping.
    length, side, young, density = 0.783, 0.014, 6.7e10, 2400.0
    area, inertia = side**2, side**4 / 12
    shear = young / 2.6 * area * 5 / 6
    bending, mass, turning = young * inertia, density * area, density * inertia
    matrices = beam_matrices(bending, mass, length, 20, shear, turning)
    squares, shapes = beam_modes(matrices, np.arange(1, 42), 10)
    squares[0] = 0.0  # it turns about its hinge
    row = shapes[-2]
    parts = """
system.linear.damping_ratio = 0.01
system.contacts.stop = { contact = "linear", at = { tip = -1.0 }, gap = 0.0, law.stiffness = 18e3 }
"""  # noqa: E501
    speed = float(-3.8 * length / row[0])  # of the mode, which is the rotation
    start = f'{{ "mode-1" = {speed!r} }}'
    text = posed(squares, [row], ["tip"], parts, velocity=start, duration=0.012, points=13)
    _, found = computed(text, {"contacts.stop.law.stiffness": np.array(STOPS)})
    times = np.linspace(0.0, 0.012, 13)
    rates = 0.02 * np.sqrt(squares)
    moving = np.append(np.zeros(10), np.eye(10)[0] * speed)
    for stiffness, printed, places in zip(STOPS, TIP, found["displacements"], strict=True):
        stop = [(-row, 0.0, stiffness)]
        exact = integrated(squares, rates, stop, np.zeros(10), moving, times)[:, :10] @ row
        ours = places @ row
        np.testing.assert_allclose(ours, exact, rtol=0.0, atol=1e-9)
        off = np.abs(1e3 * ours[1:] - printed)
        assert np.all(off < 0.008 * np.maximum(np.abs(printed), 1.5))


def test_initial_states_of_responses_are_checked():
    for key, message in (
        ('displacement = { mass = "1 s" }', "s is given where a length in m is expected"),
        ("velocity = { floor = 1.0 }", "degree of freedom"),
    ):
        text = FALLS.replace("velocity.mass = 1.0", key)
        with pytest.raises(ValueError, match=message):
            computed_checks(text)


def computed_checks(text):
    study = load_text(text)
    ANALYSES["response"].check(study.analysis, {}, {}, build(study))
