"""Checked against: closed forms (free response, Hertz impact, determinant) and DESIGN 7.

What the other tests trust has to be trusted first.
"""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from tests.independent import (
    Linear,
    Load,
    Touch,
    TwoBody,
    contact_forces,
    motion,
    periodic_orbit,
    settle,
    trajectory,
)
from tests.systems_table import RIGID, SOFT

touching = pytest.mark.parametrize(
    "system",
    [TwoBody(load_phase=0.3), TwoBody(contact_stiffness=RIGID, load_phase=0.3)],
    ids=["soft", "rigid"],
)
impact_state = np.array([0.0417, 0.0617, 0.85, -0.95])  # meets within 0.02 s


def test_without_contact_it_is_the_linear_response():
    mass = np.array([[3.0, 0.5], [0.5, 2.0]])
    damping = np.array([[0.4, -0.1], [-0.1, 0.3]])
    stiffness = np.array([[9.0, -2.0], [-2.0, 5.0]])
    load = Load((1.0, -2.0), 0.7, 1.3, 0.4)
    system = Linear(mass, damping, stiffness, (), (load,))
    amplitude = np.linalg.solve(
        -(load.frequency**2) * mass + 1j * load.frequency * damping + stiffness,
        load.amplitude * np.exp(1j * load.phase) * np.asarray(load.direction),
    )

    def forced(t):
        swing = amplitude * np.exp(1j * load.frequency * t)
        return np.concatenate([swing, 1j * load.frequency * swing]).real

    start, end, state = 0.3, 7.7, np.array([0.1, -0.2, 0.3, 0.4])
    transition = expm(system.matrix * (end - start))
    run = motion(system, state, start, end, ())
    expected = forced(end) + transition @ (state - forced(start))
    np.testing.assert_allclose(run.state, expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(run.monodromy, transition, rtol=0, atol=1e-12)
    assert run.meetings == ()


@pytest.mark.parametrize("stiffness", [SOFT, RIGID])
def test_a_free_impact_is_the_closed_form_of_hertz(stiffness):
    touch = Touch((1.0, -1.0), 0.01, stiffness)
    zero = np.zeros((2, 2))
    system = Linear(np.diag([1000.0, 100.0]), zero, zero, (touch,))
    run = motion(system, [0.0, 0.0, 1.0, 0.0], 0.0, 0.2)
    reduced = 1000 * 100 / 1100
    depth = (5 * reduced / (4 * stiffness)) ** 0.4
    # int_0^1 dx / sqrt(1 - x^2.5) with x = (1 - s^2)^0.4 has no end-point singularity.
    lasting = 2 * depth * quad(lambda s: 0.8 * (1 - s * s) ** -0.6, 0, 1, epsrel=1e-12)[0]
    (meeting,) = run.meetings
    assert meeting.begin == pytest.approx(0.01, rel=1e-13)
    assert meeting.end - meeting.begin == pytest.approx(lasting, rel=1e-9)
    assert lasting / depth == pytest.approx(2.9432752, rel=1e-8)
    assert meeting.peak_force == pytest.approx(stiffness * depth**1.5, rel=1e-12)
    np.testing.assert_allclose(run.state[2:], [900 / 1100, 2000 / 1100], rtol=1e-12)


@touching
def test_the_determinant_follows_from_the_damping(system):
    run = motion(system, impact_state, 0.0, system.period, ())
    divergence = -np.trace(system.jacobian([0.0]))
    assert len(run.meetings) >= 1
    assert np.linalg.det(run.monodromy) == pytest.approx(
        np.exp(-divergence * system.period), rel=1e-11
    )


@touching
def test_energy_changes_by_the_work_of_load_and_dampers(system):
    s = system
    end = 0.4
    run = motion(system, impact_state, 0.0, end)
    edges = [0.0, *(t for m in run.meetings for t in (m.begin, m.end)), end]
    nodes, weights = np.polynomial.legendre.leggauss(24)
    centres, halves = np.add(edges[1:], edges[:-1]) / 2, np.diff(edges) / 2
    times = (centres[:, None] + halves[:, None] * nodes).ravel()
    states = trajectory(system, impact_state, np.array([0.0, *times, end]))

    def energy(x_m, x_a, v_m, v_a):
        contact = 0.4 * s.contact_stiffness * max(x_m - x_a, 0) ** 2.5
        link = (s.attached_frequency * (x_a - x_m - s.gap)) ** 2 + v_a**2
        main = (s.main_frequency * x_m) ** 2 + v_m**2
        return s.main_mass * main / 2 + s.attached_mass * link / 2 + contact

    v_m, v_a = states[1:-1, 2:].T
    load = s.load_amplitude * np.cos(s.load_frequency * times + s.load_phase)
    power = (
        load * v_m
        - 2 * s.main_mass * s.main_damping_ratio * s.main_frequency * v_m**2
        - 2 * s.attached_mass * s.attached_damping_ratio * s.attached_frequency
        * (v_a - v_m) ** 2
    )  # fmt: skip
    work = (halves[:, None] * weights * power.reshape(-1, 24)).sum()
    assert energy(*states[-1]) - energy(*states[0]) == pytest.approx(work, rel=1e-7)
    np.testing.assert_allclose(states[-1], run.state, rtol=1e-9)


@touching
def test_the_variational_equations_agree_with_differences(system):
    names = tuple(field.name for field in dataclasses.fields(system))
    run = motion(system, impact_state, 0.0, 0.3, names)

    def difference(path, size):
        ends = [path(k * size) for k in (1, -1, 2, -2)]
        return (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * size)

    def final(state, **changed):
        other = dataclasses.replace(system, **changed)
        return motion(other, state, 0.0, 0.3).state

    for axis in range(4):
        step = np.eye(4)[axis]
        actual = difference(lambda h, step=step: final(impact_state + h * step), 3e-7)
        expected = run.monodromy[:, axis]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7 * max(abs(expected)))
    for name, expected in zip(names, run.columns.T, strict=True):
        value = getattr(system, name)
        actual = difference(
            lambda h, name=name, value=value: final(
                impact_state, **{name: value * (1 + h)}
            ),
            1e-6,
        )
        scale = value * max(abs(expected))
        np.testing.assert_allclose(actual, value * expected, rtol=0,
                                   atol=1e-7 * scale + 1e-8)  # fmt: skip


@touching
def test_a_hundredth_of_the_tolerance_changes_nothing_that_is_quoted(system):
    fine = motion(system, impact_state, 0.0, system.period, (), rtol=3e-14)
    usual = motion(system, impact_state, 0.0, system.period, ())
    np.testing.assert_allclose(usual.state, fine.state, rtol=0, atol=1e-12)
    scale = np.abs(fine.monodromy).max()
    np.testing.assert_allclose(usual.monodromy, fine.monodromy, rtol=0, atol=1e-9 * scale)


@touching
def test_matrices_give_the_same_motion_as_the_equations_of_the_paper(system):
    s = system
    k_m, k_a = s.main_mass * s.main_frequency**2, s.attached_mass * s.attached_frequency**2
    d_m = 2 * s.main_mass * s.main_damping_ratio * s.main_frequency
    d_a = 2 * s.attached_mass * s.attached_damping_ratio * s.attached_frequency
    general = Linear(
        np.diag([s.main_mass, s.attached_mass]),
        [[d_m + d_a, -d_a], [-d_a, d_a]],
        [[k_m + k_a, -k_a], [-k_a, k_a]],
        (Touch((1.0, -1.0), s.gap, s.contact_stiffness),),
        (Load((1.0, 0.0), s.load_amplitude, s.load_frequency, s.load_phase),),
    )
    offset = np.array([0.0, s.gap, 0.0, 0.0])
    names = ("load_amplitude", "load_frequency", "contact_stiffness")
    one = motion(system, impact_state, 0.0, 1.0, names)
    two = motion(general, impact_state - offset, 0.0, 1.0, names)
    np.testing.assert_allclose(two.state + offset, one.state, rtol=0, atol=1e-12)
    for ours, other in ((one.monodromy, two.monodromy), (one.columns, two.columns)):
        scale = np.abs(ours).max(axis=0)
        np.testing.assert_allclose(other / scale, ours / scale, rtol=0, atol=1e-8)


def test_two_stops_can_be_touched_at_once():
    stop = Touch((1.0,), 0.0, 1e6)
    both = Linear([[1.0]], [[0.0]], [[0.0]], (stop, Touch((1.0,), 0.0, 3e6)))
    one = Linear([[1.0]], [[0.0]], [[0.0]], (Touch((1.0,), 0.0, 4e6),))
    several = motion(both, [-0.01, 1.0], 0.0, 0.05, ())
    single = motion(one, [-0.01, 1.0], 0.0, 0.05, ())
    np.testing.assert_allclose(several.state, single.state, rtol=1e-9)
    np.testing.assert_allclose(several.monodromy, single.monodromy, rtol=1e-9, atol=1e-9)
    peaks = [meeting.peak_force for meeting in several.meetings]
    assert sum(peaks) == pytest.approx(single.meetings[0].peak_force, rel=1e-9)


@pytest.mark.slow  # integrates a long transient by scipy, 3 s
def test_the_published_soft_orbit_is_found_from_rest():
    system = TwoBody(contact_stiffness=SOFT)
    orbit = periodic_orbit(system, settle(system, 30)[-1])
    expected = [0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893]
    np.testing.assert_allclose(orbit.state, expected, rtol=0, atol=5.1e-11)
    values = [0.780922 + 0.157199j, -0.715968 + 0.286572j]
    np.testing.assert_allclose(
        orbit.multipliers[orbit.multipliers.imag > 0], values, rtol=0, atol=7.1e-7
    )
    assert orbit.contacts == 1
    forces = contact_forces(system, trajectory(
        system, orbit.state, np.linspace(0, orbit.period, 4000)))  # fmt: skip
    assert 0.999 * orbit.peak_force < forces.max() <= orbit.peak_force
