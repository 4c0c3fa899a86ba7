"""Checked against: closed forms of Lorenz (1963), a cubic fold, the Brusselator, scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import jaxvib as jv
from tests import zoo

SIGMA, B = 10.0, 8 / 3
HOPF = SIGMA * (SIGMA + B + 3) / (SIGMA - B - 1)  # 470/19


def test_the_rolls_of_lorenz_lose_their_stability_where_they_do_in_closed_form():
    system = zoo.lorenz(20.0)
    point = jv.equilibrium(system, [7.0, 7.0, 19.0])
    branch = jv.continue_equilibrium(system, point, "r", (15.0, 30.0))
    (hopf,) = branch.bifurcations
    assert (hopf.kind, hopf.of) == ("hopf", "equilibrium")
    assert abs(hopf.parameter - HOPF) < 1e-10
    frequency = np.sqrt(B * (HOPF + SIGMA))
    np.testing.assert_allclose(hopf.frequency, frequency, rtol=1e-11)
    np.testing.assert_allclose(hopf.period, 2 * np.pi / frequency, rtol=1e-11)
    np.testing.assert_allclose(hopf.state[:2], np.sqrt(B * (HOPF - 1)), rtol=1e-12)
    r = np.asarray(branch.parameter)
    np.testing.assert_allclose([r[0], r[-1]], [15.0, 30.0], rtol=1e-15)
    np.testing.assert_allclose(branch.states[:, 2], r - 1, rtol=1e-12)
    decided = np.asarray(branch.stable) != -1
    np.testing.assert_array_equal((branch.stable == 1)[decided], (r < HOPF)[decided])
    assert [jv.reason(code) for code in branch.ends] == [jv.reason(40)] * 2
    assert "hopf at 24.7368421" in repr(branch)


def test_rolls_begin_at_a_pitchfork():
    system = zoo.lorenz(0.5)
    point = jv.equilibrium(system, [0.0, 0.0, 0.0])
    branch = jv.continue_equilibrium(system, point, "r", (0.2, 3.0))
    (fork,) = branch.bifurcations
    assert fork.kind == "branch_point"
    assert abs(fork.parameter - 1) < 1e-10
    np.testing.assert_allclose(fork.state, 0.0, atol=1e-12)


@pytest.mark.slow  # compiles two branches of its own, 7 s
@pytest.mark.parametrize("states", [1, 2])
def test_a_branch_goes_round_its_folds(states):
    # x' = p + x - x^3 turns back at p = +-2 / sqrt(27), where x = -+1 / sqrt(3). With one
    # state all eigenvalues are 0 there.
    def field(x, p):
        return jnp.stack([p["p"] + x[0] - x[0] ** 3, x[0] - x[-1]][:states])

    system = jv.autonomous_system(field, parameters={"p": 0.0}, dimension=states)
    point = jv.equilibrium(system, [-1.0] * states)
    branch = jv.continue_equilibrium(system, point, "p", (-1.0, 1.0))
    assert [found.kind for found in branch.bifurcations] == ["fold", "fold"]
    values = [float(found.parameter) for found in branch.bifurcations]
    np.testing.assert_allclose(np.sort(values), [-2 / 27**0.5, 2 / 27**0.5], rtol=1e-12)
    places = np.sort([float(found.state[0]) for found in branch.bifurcations])
    np.testing.assert_allclose(places, [-1 / 3**0.5, 1 / 3**0.5], atol=1e-10)
    x, p = np.asarray(branch.states[:, 0]), np.asarray(branch.parameter)
    np.testing.assert_allclose(x**3 - x, p, atol=1e-13)
    assert {x[0] > 1, x[-1] > 1} == {True, False}


def test_the_fold_of_one_state_is_found_from_the_fold_itself():
    # Its Jacobian is 0 there: h = -2 (r / 3)^1.5 = -1/4 at r = 3/4, where x = 1/2.
    system = jv.autonomous_system(
        lambda x, p: [p["h"] + p["r"] * x[0] - x[0] ** 3],
        parameters={"h": -0.25, "r": 0.75},
        dimension=1,
    )

    def fold(r):
        there = jv.replace(system, {"r": r})
        return jv.bifurcation_point(there, [0.5], "fold", "h", throw=False)

    found = fold(0.75)
    assert int(found.result) == 0
    assert float(found.parameter) == -0.25
    assert float(found.test) < 1e-12
    slope = jax.jacfwd(lambda r: fold(r).parameter)(0.75)
    np.testing.assert_allclose(slope, -0.5, rtol=1e-12)


@pytest.mark.slow  # compiles a branch of its own, 3 s
def test_a_pitchfork_of_one_state_is_found():
    system = jv.autonomous_system(
        lambda x, p: [p["p"] * x[0] - x[0] ** 3], parameters={"p": -0.5}, dimension=1
    )
    point = jv.equilibrium(system, [0.0])
    (fork,) = jv.continue_equilibrium(system, point, "p", (-1.0, 1.0)).bifurcations
    assert fork.kind == "branch_point"
    assert abs(float(fork.parameter)) < 1e-10


@pytest.mark.slow  # compiles a branch of its own, 4 s
def chua(x, p):
    """Return the rates of AUTO's demo chu, where 0 is a sum of larger terms."""

    def smoothed(s):
        return 2 * s * jnp.arctan(10 * s) / jnp.pi

    through = 2 / 7 * x[0] - 3 / 14 * (smoothed(x[0] + 1) - smoothed(x[0] - 1))
    return jnp.stack([p["alpha"] * (x[1] - through), x[0] - x[1] + x[2], -14.3 * x[1]])


circuit = jv.autonomous_system(chua, parameters={"alpha": -1.0}, dimension=3)


@pytest.mark.parametrize("guess", [[0.0, 0.0, 0.0], [1e-3, 0.0, 0.0], [0.1, 0.1, 0.1]])
def test_the_rounding_of_a_field_at_0_does_not_hide_its_equilibrium(guess):
    found = jv.equilibrium(circuit, guess)
    assert np.max(np.abs(found.state)) < 1e-15
    assert int(found.result) == 0
    assert float(found.state_error) < 1e-14


def test_a_branch_along_which_the_parameter_is_constant_has_no_folds():
    # Without alpha every state with y = 0 and z = -x is an equilibrium.
    rest, bounds = jv.equilibrium(circuit, np.zeros(3)), (-2.0, 15.0)
    (crossing,) = jv.continue_equilibrium(circuit, rest, "alpha", bounds).bifurcations
    line = jv.switch_branch(circuit, crossing, bounds)
    assert np.ptp(line.states[:, 0]) > 1.0
    np.testing.assert_allclose(line.states[:, 2], -line.states[:, 0], atol=1e-12)
    np.testing.assert_allclose(line.parameter, 0.0, atol=1e-12)
    assert not [point for point in line.bifurcations if point.kind == "fold"]


def test_two_real_eigenvalues_that_cancel_are_no_hopf_point():
    def saddle(x, p):
        return jnp.stack([p["a"] * x[0], -x[1] + x[0] ** 2])

    system = jv.autonomous_system(saddle, parameters={"a": 0.5}, dimension=2)
    point = jv.equilibrium(system, [0.0, 0.0])
    branch = jv.continue_equilibrium(system, point, "a", (0.2, 2.0))
    assert branch.bifurcations == ()


def test_bad_input_is_named():
    system = zoo.lorenz(20.0)
    point = jv.equilibrium(system, [7.0, 7.0, 19.0])
    with pytest.raises(ValueError, match=r"bounds = \(21, 30\)  ?do not enclose"):
        jv.continue_equilibrium(system, point, "r", (21.0, 30.0))
    with pytest.raises(ValueError, match="unknown parameter 'ra'"):
        jv.continue_equilibrium(system, point, "ra", (21.0, 30.0))
    settings = jv.branches.ContinuationSettings(segments=2)
    with pytest.raises(ValueError, match="segments = 2; continue_equilibrium does not use"):
        jv.continue_equilibrium(system, point, "r", (15.0, 30.0), settings=settings)
    with pytest.raises(ValueError, match="continue_equilibrium of TwoBodyImpact"):
        jv.continue_equilibrium(jv.two_body_impact(), point, "gap", (0.0, 1.0))


@pytest.mark.slow  # compiles derivatives, 4 s
def test_a_hopf_point_is_found_by_itself_with_derivatives_in_closed_form():
    def point(sigma):
        system = jv.replace(zoo.lorenz(24.0), {"sigma": sigma})
        found = jv.bifurcation_point(system, [8.0, 8.0, 23.0], "hopf", "r")
        return jnp.stack([found.parameter, found.frequency])

    def expected(sigma):
        r = sigma * (sigma + B + 3) / (sigma - B - 1)
        return np.array([r, np.sqrt(B * (r + sigma))])

    h = 1e-5
    np.testing.assert_allclose(point(SIGMA), expected(SIGMA), rtol=1e-12)
    slope = (expected(SIGMA + h) - expected(SIGMA - h)) / (2 * h)
    np.testing.assert_allclose(jax.jacfwd(point)(SIGMA), slope, rtol=1e-8)
    found = jv.bifurcation_point(
        zoo.lorenz(24.0), [0.1, 0.1, 0.1], "hopf", "r", throw=False
    )
    assert int(found.result)
    with pytest.raises(ValueError, match="of an equilibrium; allowed: fold, hopf"):
        jv.bifurcation_point(zoo.lorenz(24.0), [8.0, 8.0, 23.0], "grazing", "r")


def test_rolls_are_switched_to_at_the_pitchfork():
    system = zoo.lorenz(0.5)
    branch = jv.continue_equilibrium(system, jv.equilibrium(system), "r", (0.2, 3.0))
    rolls = jv.switch_branch(system, branch.bifurcations[0], (0.2, 3.0))
    r = np.asarray(rolls.parameter)
    np.testing.assert_allclose(rolls.states[:, 2], r - 1, atol=1e-12)
    np.testing.assert_allclose(r.max(), 3.0, rtol=1e-15)
    assert jv.Reason.BRANCHED in np.asarray(rolls.ends)


def test_steep_crossing_branches_are_switched_to_from_either_side():
    # Prey, caught at the rate q (1 - e^(-5 x)), and its predator: AUTO's demo pp2.
    def rates(x, p):
        caught = p["q"] * (1 - jnp.exp(-5 * x[0]))
        return jnp.stack(
            [3 * x[0] * (1 - x[0]) - x[0] * x[1] - caught, (3 * x[0] - 1) * x[1]]
        )

    def catch(x):  # of prey alone
        return 3 * x * (1 - x) / (1 - np.exp(-5 * x))

    most = minimize_scalar(lambda x: -catch(x), bounds=(0.3, 0.6), options={"xatol": 1e-9})
    bounds, begins = (0.0, 1.0), catch(1 / 3)
    system = jv.autonomous_system(rates, parameters={"q": 0.1}, dimension=2)
    (birth,) = jv.continue_equilibrium(
        system, jv.equilibrium(system, np.zeros(2)), "q", bounds
    ).bifurcations
    np.testing.assert_allclose(birth.parameter, 0.6, rtol=1e-9)
    prey = jv.switch_branch(system, birth, bounds)
    shown = sorted((p.kind, float(p.parameter)) for p in prey.bifurcations)
    assert [kind for kind, _ in shown] == ["branch_point", "fold"]
    np.testing.assert_allclose([at for _, at in shown], [begins, -most.fun], rtol=1e-9)
    np.testing.assert_allclose(catch(prey.states[:, 0]), prey.parameter, rtol=1e-7)
    crossing = next(p for p in prey.bifurcations if p.kind == "branch_point")
    both = jv.switch_branch(system, crossing, bounds)
    np.testing.assert_allclose(both.states[:, 0], 1 / 3, rtol=1e-7)
    back = next(p for p in both.bifurcations if p.kind == "hopf")
    np.testing.assert_allclose(back.parameter, 0.671594, rtol=1e-6)  # as AUTO prints


@pytest.mark.slow  # compiles two branches, 8 s
def test_from_their_pitchfork_the_rolls_of_lorenz_reach_their_hopf_point():
    # Its first points are at nearly zero, which is no scale of the rolls.
    system = zoo.lorenz(0.5)
    trunk = jv.continue_equilibrium(
        system, jv.equilibrium(system, np.zeros(3)), "r", (0.0, 30.0)
    )
    (fork,) = trunk.bifurcations
    arm = jv.switch_branch(system, fork, (0.0, 30.0))
    (hopf,) = arm.bifurcations
    assert abs(float(hopf.parameter) - HOPF) < 1e-10
    assert len(arm.parameter) < 100
    assert float(arm.parameter[-1]) == 30.0
    fine = jv.branches.ContinuationSettings(largest_step=0.5)
    finer = jv.switch_branch(system, fork, (0.0, 30.0), settings=fine)
    assert np.diff(finer.parameter).max() <= 0.5 < np.diff(arm.parameter).max()
    assert abs(float(finer.bifurcations[0].parameter) - HOPF) < 1e-10


@pytest.mark.slow  # compiles a branch for each number of discs, 4 s
@pytest.mark.parametrize("discs", [1, 2, 6])
def test_a_rotor_is_unstable_beyond_twice_each_natural_frequency(discs):
    # With as much internal as external damping, in the rotating frame.
    c, eye = 0.05, np.eye(discs)
    stiffness = 2 * eye - np.diag(np.ones(discs - 1), 1) - np.diag(np.ones(discs - 1), -1)

    def field(x, p):
        speed, (a, b, u, v) = p["speed"], jnp.split(x, 4)
        first = 2 * speed * v + speed**2 * a - stiffness @ a - 2 * c * u + c * speed * b
        second = -2 * speed * u + speed**2 * b - stiffness @ b - 2 * c * v - c * speed * a
        return jnp.concatenate([u, v, first, second])

    system = jv.autonomous_system(field, parameters={"speed": 0.5}, dimension=4 * discs)
    point = jv.equilibrium(system, np.zeros(4 * discs))
    branch = jv.continue_equilibrium(system, point, "speed", (0.1, 10.0))
    assert {found.kind for found in branch.bifurcations} == {"hopf"}
    speeds = [float(found.parameter) for found in branch.bifurcations]
    expected = 2 * np.sqrt(np.linalg.eigvalsh(stiffness))
    np.testing.assert_allclose(speeds, expected, rtol=1e-10)


@pytest.mark.slow  # compiles a branch and a search, 6 s
def test_a_neutral_saddle_beside_a_stable_pair_is_no_hopf_point():
    def field(x, q):
        return [q["p"] * x[0], -x[1], x[3], -x[2] - 0.002 * x[3], -1000 * x[4]]

    system = jv.autonomous_system(field, parameters={"p": 0.5}, dimension=5)
    point = jv.equilibrium(system, np.zeros(5))
    assert not jv.continue_equilibrium(system, point, "p", (0.1, 2.0)).bifurcations
    near = jv.replace(system, {"p": 0.99})
    found = jv.bifurcation_point(near, np.zeros(5), "hopf", "p", throw=False)
    assert int(found.result) == jv.Reason.NO_BIFURCATION


@pytest.mark.slow  # compiles a search for each number of states, 4 s
@pytest.mark.parametrize("states", [5, 60])
def test_the_fold_of_a_stiff_field_is_found(states):
    # A x = p b + w (v.x)^2 turns back at v.x = 1/(2 v.A^-1 w).
    rng = np.random.default_rng(4)
    rates = np.append([1.0, 1e6], 10 ** rng.uniform(0, 6, states - 2))
    mix, _ = np.linalg.qr(rng.normal(size=(states, states)))
    stiff, inverse = mix @ np.diag(rates) @ mix.T, mix @ np.diag(1 / rates) @ mix.T
    b, w, v = rng.normal(size=(3, states))
    slope, bend = v @ inverse @ b, v @ inverse @ w
    expected, z = 1 / (4 * bend * slope), 0.6 / (2 * bend)
    value = (z - bend * z**2) / slope

    def field(x, p):
        return -stiff @ x + p["p"] * b + w * (v @ x) ** 2

    system = jv.autonomous_system(field, parameters={"p": value}, dimension=states)
    guess = inverse @ (value * b + w * z**2)
    found = jv.bifurcation_point(system, guess, "fold", "p")
    assert float(found.parameter) == pytest.approx(expected, rel=1e-8)
