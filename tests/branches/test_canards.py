"""Checked against: scipy's collocation and flow of FitzHugh and Nagumo's model."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_bvp, solve_ivp

import jaxvib as jv

pytestmark = pytest.mark.slow

BOUNDS = (0.0, 2.0)
# (x, y, I) and (-x, 1.75 - y, 1.75 - I) move alike.
MIRROR = 1.75


def rate(x, y, drive, epsilon):
    return x - x**3 / 3 - y + drive, epsilon * (x + 0.7 - 0.8 * y)


def neuron(epsilon):
    return jv.autonomous_system(
        lambda x, p: jnp.stack(rate(x[0], x[1], p["I"], epsilon)),
        parameters={"I": 0.5},
        dimension=2,
    )


@functools.cache
def cycles_by_collocation(epsilon, period, tops):
    """Return periods and drives of the cycles whose highest x is each of `tops`."""

    def field(t, y, p):
        return p[0] * np.vstack(rate(y[0], y[1], p[1], epsilon))

    def at_drive(t, y):
        return rate(y[0], y[1], 0.5, epsilon)

    settled = solve_ivp(at_drive, (0, 20 * period), [2, 0.5], "Radau", rtol=1e-8, atol=1e-8)
    times = np.linspace(0, period, 4000)
    last = solve_ivp(
        at_drive, (0, period), settled.y[:, -1], "Radau", t_eval=times, rtol=1e-8, atol=1e-8
    )
    turn = np.argmax(last.y[0, :-1])
    states = np.roll(last.y[:, :-1], -turn, axis=1)
    states = np.column_stack([states, states[:, 0]])
    guess, numbers = (times / period, states), np.array([period, 0.5])
    found = []
    for top in tops:

        def ends(a, b, p, top=top):
            return np.append(a - b, [a[0] - top, rate(a[0], a[1], p[1], epsilon)[0]])

        one = solve_bvp(field, ends, *guess, p=numbers, tol=1e-9, max_nodes=50000)
        assert one.success
        numbers = one.p
        found.append(one.p)
        # As many nodes as it began with, where the motion goes.
        way = np.cumsum(np.append(0, np.hypot(np.diff(one.x), *np.diff(one.y))))
        nodes = np.interp(np.linspace(0, way[-1], 600), way, one.x)
        guess = nodes, one.sol(nodes)
    return np.array(found)


def folds(branch):
    kept = [found for found in branch.bifurcations if found.kind == "fold"]
    return sorted(float(found.parameter) for found in kept)


def check_from_hopf_to_hopf(branch, fold):
    """`fold`: the drive of the lower one by collocation."""
    ends = [jv.Reason(int(code)) for code in branch.ends]
    assert ends == [jv.Reason.EQUILIBRIUM] * 2
    kinds = [found.kind for found in branch.bifurcations]
    assert kinds == ["hopf", "fold", "fold", "hopf"]
    assert all(int(found.result) == 0 for found in branch.bifurcations)
    np.testing.assert_allclose(folds(branch), [fold, MIRROR - fold], rtol=0, atol=1e-8)


def test_the_canard_cycles_of_fitzhugh_and_nagumo_turn_at_both_ends():
    system = neuron(0.08)
    cycle = jv.periodic_orbit(system, [2.0, 0.5], period=37.0)
    branch = jv.continue_orbit(system, cycle, "I", BOUNDS)
    tops = 1.8, 1.7, 1.55, 1.4, 1.2, 1.0, 0.8
    drives = cycles_by_collocation(0.08, 39.47441498, tops)[:, 1]
    assert drives[-1] - drives.min() < 1e-10  # flat to there
    check_from_hopf_to_hopf(branch, drives.min())


def jumps_ahead(drive, epsilon):
    """Return whether a motion beyond the lower knee jumps to the other branch."""

    def ahead(t, y):
        return y[0] - 1.2

    def back(t, y):
        return y[0] + 1.3

    ahead.terminal = back.terminal = True
    back.direction = -1
    start = [-1.8, -1.8 + 1.8**3 / 3 + drive]
    found = solve_ivp(
        lambda t, y: rate(*y, drive, epsilon),
        (0, 20 / epsilon),
        start,
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
        events=(ahead, back),
    )
    return bool(len(found.t_events[0]))


def test_canards_where_neighbours_part_by_powers_of_a_hundred_turn_at_both_ends():
    """Beside the largest canard all cycles have its drive, to e^(-80)."""
    system = neuron(0.01)
    cycle = jv.periodic_orbit(system, [2.0, 0.5], period=200.0)
    branch = jv.continue_orbit(system, cycle, "I", BOUNDS)
    low, high = 0.2950, 0.2966
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if jumps_ahead(middle, 0.01) else (middle, high)
    check_from_hopf_to_hopf(branch, low)
    np.testing.assert_allclose(folds(branch), [low, MIRROR - low], rtol=0, atol=1e-11)
    # Each by itself, at the cycle with a double multiplier 1.
    kept = [found for found in branch.bifurcations if found.kind == "fold"]
    points = [jv.bifurcation_point(system, found, "fold", "I") for found in kept]
    drives = sorted(float(point.parameter) for point in points)
    np.testing.assert_allclose(drives, [low, MIRROR - low], rtol=0, atol=1e-11)
    assert all(point.residual < 1e-9 and point.test < 1e-6 for point in points)


def test_too_few_segments_are_reported():
    system = neuron(0.01)
    cycle = jv.periodic_orbit(system, [2.0, 0.5], period=200.0)
    few = jv.branches.ContinuationSettings(segments=6)
    branch = jv.continue_orbit(system, cycle, "I", BOUNDS, settings=few)
    ends = {jv.Reason(int(code)) for code in branch.ends}
    assert ends == {jv.Reason.TOO_FEW_SEGMENTS}
    assert branch.bifurcations == ()
    assert "more segments" in repr(branch)
    for number in (4, 7):
        bad = jv.branches.ContinuationSettings(segments=number)
        with pytest.raises(
            ValueError, match=f"= {number} of a cycle; allowed: even, at least 6"
        ):
            jv.continue_orbit(system, cycle, "I", BOUNDS, settings=bad)
