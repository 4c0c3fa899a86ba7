"""Checked against: d'Alembert's solutions of SDNV100, SDNL111 and the bouncing bar."""

import numpy as np
import pytest

import jaxvib as jv
from tests.elastic_bar import HEIGHT, bar_modes, clamped_bar_modes, falling_bar

pytestmark = pytest.mark.slow  # each compiles motions of its own, 2 to 5 s


def test_a_bar_on_a_wall_leaves_with_the_impulse_of_its_waves():
    # SDNV100: 0.2 m, E 2e11, rho 8000 (c = 5000 m/s), 100 m/s, 2 mm away; the wall's
    # force is rho c A v from 2e-5 s on for 2 L/c = 8e-5 s. Here A = 1e-4 m^2.
    mass, speed, force = 8000.0 * 1e-4 * 0.2, 100.0, 8000.0 * 5000.0 * 1e-4 * 100.0
    times = np.linspace(0.0, 1.2e-4, 61)
    off = []
    for modes in (10, 20):
        frequencies, shapes, left = bar_modes(modes, 2e7, 0.8, 0.2)
        bar = jv.ElasticStructure(frequencies, shapes, ("end", "centre"),
                                  residual=left * np.diag([1.0, 0.0]))  # fmt: skip
        wall = jv.ImpactSystem(bar, [bar.stop("end", gap=2e-3)])
        start = np.eye(2 * modes)[modes] * speed * np.sqrt(mass)
        path = jv.simulate(wall, start, times, 1e-9)
        closed = path.contact_force[:, 0] > 0
        assert times[closed].min() == pytest.approx(2e-5, abs=4e-6)
        assert times[closed].max() == pytest.approx(1e-4, abs=2e-6)
        momentum = np.asarray(path.states[:, modes]) * np.sqrt(mass)
        off.append(1 - (momentum[0] - momentum[-1]) / (2 * mass * speed))
        during = momentum[20] - momentum[40]  # from 4e-5 to 8e-5 s
        assert during / 4e-5 == pytest.approx(force, rel=0.4 / modes)
    assert 0 < off[1] < 0.6 * off[0] < 2e-3  # of the first order in the number of modes


def test_a_bouncing_bar_is_back_after_sixteen_passages_of_its_wave():
    # Doyen, Ern and Piperno (2011): period 16 L/c = 16/3 s; it falls for 1 s, touches for
    # 2/3 s, flies for 2 s, touches for 2/3 s and is back 1 s later.
    off = []
    for modes in (20, 40):
        system = falling_bar(modes)
        row = np.asarray(system.linear.direction("centre"))
        times = np.array([0.0, 1.0, 5 / 3, 8 / 3, 11 / 3, 13 / 3, 16 / 3])
        states = np.asarray(jv.simulate(system, system.rest(), times, 1e-9).states)
        places, speeds = states[:, :modes] @ row, states[:, modes:] @ row
        np.testing.assert_allclose([places[1], speeds[1]], [HEIGHT, 10.0], rtol=1e-9)
        np.testing.assert_allclose(speeds[[2, 4]], [-10.0, 10.0], rtol=0.7 / modes)
        off.append([places[-1], abs(speeds[-1]), abs(speeds[3])])
    assert np.all(np.array(off[1]) < 0.6 * np.array(off[0]))
    assert np.all(np.array(off[1]) < [0.012, 0.02, 0.016])


def test_a_bar_that_hits_a_clamped_one_moves_as_its_waves():
    # SDNL111: E 2e11, rho 7800, 20 mm square, 1 m, 1 m/s. Printed, with 40 modes each:
    # -1e-4, -1.937e-4, -1e-4, 0 and 2.062e-4 m at 0.2, 0.4 ... 1 ms.
    modes, stiffness, density = 20, 2e11 * 4e-4, 7800.0 * 4e-4
    passage = np.sqrt(density / stiffness)
    frequencies, (end, _), left = bar_modes(modes, stiffness, density, 1.0)
    behind, other, kept = clamped_bar_modes(modes, stiffness, density, 1.0)
    none = np.zeros(modes)
    both = jv.ElasticStructure(
        np.append(frequencies, behind), [np.append(end, none), np.append(none, other)],
        ("striker", "struck"), residual=np.diag([left, kept]),
    )  # fmt: skip
    stop = both.stop({"striker": 1.0, "struck": -1.0}, gap=0.0)
    start = np.eye(4 * modes)[2 * modes] * np.sqrt(density)
    times = np.arange(6) * 2e-4
    path = jv.simulate(jv.ImpactSystem(both, [stop]), start, times, 1e-9)
    ours = np.asarray(path.states[:, :modes]) @ end
    # Half the speed until both waves are back, at 2 L/c; minus half until 4 L/c.
    corners = np.array([0.0, 2.0, 4.0, 6.0]) * passage
    exact = np.interp(times, corners, [0.0, passage, 0.0, -2 * passage])
    np.testing.assert_allclose(
        exact[1:], np.array([1.0, 1.94968, 0.94968, -0.10063, -2.10063]) * 1e-4, atol=2e-9
    )
    np.testing.assert_allclose(ours, exact, atol=1.5e-6)
