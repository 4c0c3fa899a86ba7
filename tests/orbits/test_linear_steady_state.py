"""Checked against: the closed form of one body, motions of several by numpy's modes."""

import jax
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.orbits.shooting.linear_steady_state import (
    linear_but_for_contacts,
    linear_steady_state,
    never_settles,
    stays_apart,
    transient_periods,
)

MASS, DAMPING, STIFFNESS, GAP = 2.0, 0.3, 50.0, 0.1


def body(*loads, damping=DAMPING, gap=GAP, law=None):
    linear = jv.LinearSystem(*(value * np.eye(1) for value in (MASS, damping, STIFFNESS)))
    stop = jv.Contact(np.ones(1), gap, law or jv.LinearContact(1e5))
    applied = tuple(jv.AppliedLoad(np.ones(1), jv.HarmonicLoad(*load)) for load in loads)
    return jv.ImpactSystem(linear, (stop,), applied)


def test_of_one_body_it_is_the_textbook_response():
    end = linear_steady_state(body((1.5, 7.0, 0.4)))
    response = 1.5 * np.exp(0.4j) / (STIFFNESS - MASS * 49 + 7j * DAMPING)
    np.testing.assert_allclose(end.state, [response.real, -7 * response.imag], rtol=1e-13)
    np.testing.assert_allclose(end.margin, GAP - abs(response), rtol=1e-12)
    np.testing.assert_allclose(end.decay, 2 * MASS / DAMPING, rtol=1e-12)


def test_a_linear_motion_that_stays_off_the_stop_is_found_without_a_guess():
    draw = np.random.default_rng(0)
    apart = 0
    for _ in range(24):
        frequency = draw.uniform(2.2, 3.0) * np.sqrt(STIFFNESS / MASS)
        damping = 2 * draw.uniform(0.01, 0.15) * np.sqrt(STIFFNESS * MASS)
        response = 1 / (STIFFNESS - MASS * frequency**2 + 1j * frequency * damping)
        force = 0.9 * GAP / abs(response)
        law = jv.RestitutionContact(draw.uniform(0.0, 0.95))
        orbit = jv.periodic_orbit(
            body((force, frequency), damping=damping, law=law), throw=False
        )
        assert int(orbit.result) == 0
        if int(orbit.contacts) == 0:
            apart += 1
            np.testing.assert_allclose(orbit.amplitude, 0.9 * GAP, rtol=1e-9)
    # the others lead from rest to a motion of one period with impacts
    assert apart > 12


def test_two_bodies_count_from_where_they_rest():
    system = jv.two_body_impact(load=jv.HarmonicLoad(amplitude=50.0, frequency=9.0))
    end = linear_steady_state(system)
    times = np.linspace(0, float(system.period()), 3)
    moved = jv.flow(system, end.state, times[0], times[-1])
    np.testing.assert_allclose(moved, end.state, atol=1e-11)
    assert stays_apart(end, system.rest())


def test_several_loads_close_a_gap_by_no_more_than_the_bound():
    loads = (1.5, 7.0, 0.4), (0.8, 14.0, 1.0), (0.5, 35.0, -2.0)
    end = linear_steady_state(body(*loads))
    times = np.linspace(0, 2 * np.pi / 7, 20001)
    motion = sum(
        (
            f * np.exp(1j * (w * times + p)) / (STIFFNESS - MASS * w**2 + 1j * w * DAMPING)
        ).real
        for f, w, p in loads
    )
    peak = GAP - float(end.margin[0])
    assert motion.max() <= peak <= 1.01 * motion.max()


def random_systems(seed, number, size=3):
    draw = np.random.default_rng(seed)
    for _ in range(number):
        root = draw.normal(size=(size, size))
        stiffness = root @ root.T * 100 + 50 * np.eye(size)
        mass = np.diag(draw.uniform(0.5, 2.0, size))
        linear = jv.LinearSystem(mass, 2e-3 * stiffness, stiffness)
        directions = draw.normal(size=(2, size))
        yield linear, directions, draw.uniform(2.0, 30.0), draw


def test_bodies_that_stay_apart_close_no_gap():
    told = 0
    for linear, directions, w, draw in random_systems(3, 12):
        mass, damping, stiffness = (np.asarray(m) for m in linear.matrices())
        rates = [-np.linalg.solve(mass, part) for part in (stiffness, damping)]
        matrix = np.block([[np.zeros((3, 3)), np.eye(3)], rates])
        push = np.array([1.0, 0.0, 0.0])
        response = np.linalg.solve(stiffness - w**2 * mass + 1j * w * damping, push)
        values, vectors = np.linalg.eig(matrix)
        start = np.concatenate([response.real, -w * response.imag])
        free = np.linalg.solve(vectors, -start.astype(complex))
        slowest = 1 / -values.real.max()
        times = np.arange(0, 4 * slowest, 2 * np.pi / 40 / max(abs(values).max(), w))
        moved = np.exp(1j * w * times)[:, None] * response
        moved = moved.real + (np.exp(times[:, None] * values) * free @ vectors[:3].T).real
        peaks = (moved @ directions.T).max(axis=0)
        gaps = peaks * draw.uniform(0.9, 3.0)
        stops = [
            jv.Contact(n, g, jv.LinearContact(1e4))
            for n, g in zip(directions, gaps, strict=True)
        ]
        load = jv.AppliedLoad(push, jv.HarmonicLoad(1.0, w))
        system = jv.ImpactSystem(linear, tuple(stops), (load,))
        end = linear_steady_state(system)
        np.testing.assert_allclose(end.decay, slowest, rtol=1e-9)
        apart = bool(stays_apart(end, system.rest()))
        told += apart
        assert not apart or (peaks < gaps).all()
    assert told >= 3


def test_without_damping_no_motion_converges():
    system = body((0.1, 7.0), damping=0.0)
    end = linear_steady_state(system)
    assert np.isposinf(end.decay)
    assert not stays_apart(end, system.rest())
    assert never_settles(end, system.rest())
    assert not never_settles(
        linear_steady_state(body((100.0, 7.0), damping=0.0)), system.rest()
    )


def test_a_gap_that_is_closed_at_rest_never_stays_apart():
    system = body((0.0, 7.0), gap=0.0)
    assert not stays_apart(linear_steady_state(system), system.rest())


@pytest.mark.parametrize(
    ("damping", "periods"), [(DAMPING, 384), (3e-2, 1783), (1e-6, 8192), (0.0, 384)]
)
def test_transients_are_measured_in_decay_times(damping, periods):
    system = body((1.0, 7.0), damping=damping)
    found = transient_periods(linear_steady_state(system), system.period(), 384)
    assert int(found) == periods
    if damping == 3e-2:
        assert periods == np.ceil(12 * 2 * MASS / damping * 7 / (2 * np.pi))


def test_it_works_under_vmap_and_jit():
    system = body((1.0, 7.0))
    forces = np.array([0.5, 1.0, 4.0])

    def margin(force):
        return linear_steady_state(
            jv.replace(system, {"loads.0.law.amplitude": force})
        ).margin

    each = [margin(force) for force in forces]
    np.testing.assert_allclose(jax.jit(jax.vmap(margin))(forces), each, rtol=1e-12)


def test_a_vector_field_has_none():
    field = jv.forced_system(
        lambda t, x, p: [x[1], -x[0]], parameters={"w": 1.0},
        period=lambda p: 2 * np.pi / p["w"], dimension=2,
    )  # fmt: skip
    assert not linear_but_for_contacts(field)
    assert linear_but_for_contacts(body((1.0, 7.0), law=jv.RestitutionContact(0.5)))
