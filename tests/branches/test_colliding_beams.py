"""Checked against: measured linear frequencies, the published window, scipy's flow.

Two cantilevers that collide softly, by a mini-beam clamped to one of them: the test rig of
Woiwode and Krack, *J. Structural Dynamics* 2 (2024), doi 10.25518/2684-6500.180, without
its measured backbones, which fill 13 GB.
"""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import jaxvib as jv

YOUNG, DENSITY, LENGTH, HEIGHT, WIDTH = 210e9, 7720.0, 0.3925, 6e-3, 60e-3
PLATE, PLATE_END = 40e-3, LENGTH - 62.5e-3  # the clamped section, m
TIP = LENGTH - 11.5e-3  # where the beams collide, m
MINI, MINI_MASS = 57e-3, 30.7e-3 * 57 / 97  # of the free length, m and kg
GAP = 0.17e-3
LEFT, RIGHT = 2, 3  # modes


def elements(nodes, stiffness, mass):
    """Return the matrices of Euler and Bernoulli's beam, from EI and mass per length."""
    size = 2 * len(nodes)
    both = np.zeros((2, size, size))
    each = zip(np.diff(nodes), stiffness, mass, strict=True)
    for place, (long, bending, heavy) in enumerate(each):
        at = slice(2 * place, 2 * place + 4)
        arm = np.array([1, long, 1, long])
        bent = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
        moved = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22],
                          [-13, -3, -22, 4]])  # fmt: skip
        both[0, at, at] += bending / long**3 * bent * np.outer(arm, arm)
        both[1, at, at] += heavy * long / 420 * moved * np.outer(arm, arm)
    return both


def cantilever(mass, height, bolted, plain=1.0):
    """Return nodes and matrices; `bolted`, `plain`: published factors of stiffness."""
    parts = np.linspace(0, PLATE_END - PLATE, 30), np.linspace(PLATE_END - PLATE, PLATE_END)
    nodes = np.unique([*parts[0], *parts[1][::10], PLATE_END, TIP, LENGTH])
    middle = (nodes[1:] + nodes[:-1]) / 2
    inside = (middle > PLATE_END - PLATE) & (middle < PLATE_END)
    high = HEIGHT + inside * height * PLATE / WIDTH
    bending = plain * YOUNG * high**3 * WIDTH / 12 * np.where(inside, bolted, 1.0)
    heavy = DENSITY * WIDTH * HEIGHT + inside * mass / PLATE
    return nodes, *elements(nodes, bending, heavy)


def modes_at(stiffness, mass, row, number):
    """Return frequencies, rad/s, shapes at a row, and the flexibility of other modes."""
    squares, shapes = scipy.linalg.eigh(stiffness[2:, 2:], mass[2:, 2:])
    at = shapes[row - 2]
    return np.sqrt(squares[:number]), at[:number], np.sum(at[number:] ** 2
                                                          / squares[number:])  # fmt: skip


def beams():
    """Return the modes of the left beam and of the right one with the mini-beam."""
    nodes, stiffness, mass = cantilever(42.7e-3, 1e-3, 0.75)
    row = 2 * int(np.argmin(np.abs(nodes - TIP)))
    mass[row, row] += 13.3e-3  # of nut and bushings
    left = modes_at(stiffness, mass, row, LEFT)
    clamp = 30.7e-3 * 40 / 97 + (60.6 + 54.3 + 81.9) * 1e-3
    nodes, *of_beam = cantilever(clamp, 13.5e-3, 0.1, 1.08)
    along = np.unique([*(PLATE_END + np.linspace(0, MINI, 16)), TIP])
    own = 1.07 * YOUNG * 1e-9 * 40e-3 / 12, MINI_MASS / MINI
    of_mini = elements(along, *np.outer(own, np.ones(len(along) - 1)))
    size, place = 2 * len(nodes), 2 * int(np.argmin(np.abs(nodes - PLATE_END)))
    rows = np.append([place, place + 1], size + np.arange(2 * len(along) - 2))
    joined = np.zeros((2, rows[-1] + 1, rows[-1] + 1))
    joined[:, :size, :size] = of_beam
    for matrix, part in zip(joined, of_mini, strict=True):
        matrix[np.ix_(rows, rows)] += part
    row = rows[2 * int(np.argmin(np.abs(along - TIP)))]
    return left, modes_at(*joined, row, RIGHT)


def rig():
    """Return the rig without damping, and the displacement of its first touching mode, m.

    That in which the right beam bends most, at which the mini-beam touches.
    """
    (slow, one, rest), (fast, other, more) = beams()
    squares, direction = np.append(slow, fast) ** 2, np.append(-one, other)
    contact = jv.Contact(direction, GAP, jv.LinearContact(1 / (rest + more)), "mini-beam")
    size = len(squares)
    linear = jv.LinearSystem(np.eye(size), np.zeros((size, size)), np.diag(squares))
    return jv.ImpactSystem(linear, [contact]), GAP / abs(other[0])


def backbone(system, reach):
    """Return the mode up to 1.5 times the energy of touching."""
    settings = jv.branches.ContinuationSettings(most_points=60)
    pace = np.sqrt(float(system.linear.stiffness[LEFT, LEFT]))
    energy = 1.5 * (reach * pace) ** 2 / 2
    return jv.nonlinear_modes(system, 0, energy, settings=settings)


@pytest.mark.slow
def test_two_cantilevers_that_collide_softly_stiffen_as_published():
    system, reach = rig()
    paces = np.sqrt(np.diagonal(system.linear.stiffness))
    fast, squares, size = paces[LEFT:], paces**2, len(paces)
    measured = [30.95, 199.04, 28.2, 205.54, 277.74]
    np.testing.assert_allclose(paces / (2 * np.pi), measured, rtol=0.02)
    direction = np.asarray(system.contacts[0].direction)
    spring = float(system.contacts[0].law.stiffness)
    found = backbone(system, reach)
    ratio = np.asarray(found.orbits.frequency) / fast[0]
    in_gaps = np.asarray(found.orbits.amplitude)[:, LEFT] / reach
    touching = np.asarray(found.orbits.contacts) > 0
    np.testing.assert_allclose(ratio[~touching], 1.0, rtol=1e-9)
    assert in_gaps[~touching].max() <= 1.0 < in_gaps[touching].max()
    # The measured frequencies, too, grow from 0.99 to 1.03 of the linear one at most.
    assert (np.diff(ratio[touching]) > 0).all()
    assert 1.01 < ratio.max() < 1.03

    def rates(_, state):
        position, velocity = np.split(state, 2)
        force = spring * max(direction @ position - GAP, 0.0)
        return np.append(velocity, -squares * position - force * direction)

    for place in (len(ratio) - 1, int(np.argmax(touching)) + 8):
        state, period = np.asarray(found.states[place]), float(found.orbits.period[place])
        end = scipy.integrate.solve_ivp(
            rates, (0.0, period), state, method="DOP853", rtol=1e-12, atol=1e-16,
            max_step=2e-5,
        ).y[:, -1]  # fmt: skip
        sizes = np.repeat([np.abs(half).max() for half in np.split(state, 2)], size)
        sizes[size:] = sizes[0] * fast[0]
        np.testing.assert_allclose((end - state) / sizes, 0.0, atol=1e-6)
