"""Checked against: elliptic integrals, piecewise closed forms, and scipy's flow."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from scipy.special import ellipk, ellipkm1

import jaxvib as jv
from jaxvib.branches.nonlinear_modes import ModeProblem

NEVER = 1e6  # a gap, m, or a stiffness of a stop that is never touched, N/m
SETTINGS = jv.branches.ContinuationSettings(most_points=120)


def one_body(cubic=0.0, gap=NEVER, stop=50.0, spring=1.0, **parts):
    bent = jv.NonlinearSpring(
        [1.0], jv.PolynomialLaw(jnp.stack([0.0, 0.0, cubic])), "cubic"
    )
    contact = jv.Contact([1.0], gap, jv.LinearContact(stop), "stop")
    linear = jv.LinearSystem([[1.0]], [[0.0]], jnp.asarray(spring).reshape(1, 1))
    parts = {"contacts": [contact], "springs": [bent], **parts}
    return jv.ImpactSystem(linear, **parts)


@functools.cache
def duffing():
    return jv.nonlinear_modes(one_body(cubic=1.0), 0, 50.0)


@functools.cache
def stopped():
    return jv.nonlinear_modes(one_body(gap=0.01, spring=10.0), 0, 0.01)


def duffing_frequency(amplitude, spring=1.0):
    """Return the frequency of x'' + spring x + x^3 = 0."""
    stiff = spring + amplitude**2
    return 2 * np.pi * np.sqrt(stiff) / (4 * ellipk(amplitude**2 / (2 * stiff)))


def stopped_frequency(energy, spring=10.0, stop=50.0, gap=0.01):
    """Return the frequency of a mass of 1 kg with a one-sided linear stop."""
    slow, fast = np.sqrt(spring), np.sqrt(spring + stop)
    if 2 * energy <= spring * gap**2:
        return slow
    reach = np.sqrt(2 * energy / spring)
    open_for = (np.pi + 2 * np.arcsin(gap / reach)) / slow
    ahead = gap - stop * gap / (spring + stop)  # of the rest of the spring with the stop
    speed = np.sqrt(2 * energy - spring * gap**2)
    closed_for = 2 * np.arccos(ahead / np.hypot(ahead, speed / fast)) / fast
    return 2 * np.pi / (open_for + closed_for)


def test_frequency_and_energy_of_duffings_oscillator_are_the_closed_forms():
    found = duffing()
    assert np.asarray(found.ends).tolist() == [jv.Reason.PARAMETER_BOUND] * 2
    assert float(found.parameter[0]) < 1e-4
    assert float(found.parameter[-1]) == 50.0
    reach = np.asarray(found.orbits.amplitude)[:, 0]
    exact = duffing_frequency(reach)
    np.testing.assert_allclose(found.orbits.frequency, exact, rtol=1e-11)
    np.testing.assert_allclose(found.parameter, reach**2 / 2 + reach**4 / 4, rtol=1e-9)
    off = np.abs(np.asarray(found.orbits.period) - 2 * np.pi / exact)
    assert (off <= np.asarray(found.orbits.period_error)).all()
    assert (np.asarray(found.stable) == 1).all()
    assert not found.bifurcations


def test_an_elastic_stop_gives_the_piecewise_closed_form():
    found = stopped()
    exact = [stopped_frequency(energy) for energy in np.asarray(found.parameter)]
    np.testing.assert_allclose(found.orbits.frequency, exact, rtol=1e-11)
    touches = np.asarray(found.parameter) > 10.0 * 0.01**2 / 2
    assert np.asarray(found.orbits.contacts).tolist() == touches.astype(int).tolist()
    published = 0.00650108331626  # J; its printed closed form, 0.6462170 Hz, is not exact
    hertz = found.frequency_at(one_body(gap=0.01, spring=10.0), published) / (2 * np.pi)
    np.testing.assert_allclose(hertz, 0.6466310406, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "branch", "closed_form", "energy"),
    [
        (
            lambda spring: one_body(gap=0.01, spring=spring),
            stopped,
            lambda energy, spring: stopped_frequency(energy, spring),
            0.004,
        ),
        (
            lambda stop: one_body(gap=0.01, spring=10.0, stop=stop),
            stopped,
            lambda energy, stop: stopped_frequency(energy, stop=stop),
            0.004,
        ),
        (
            lambda spring: one_body(cubic=1.0, spring=spring),
            duffing,
            lambda energy, spring: duffing_frequency(
                np.sqrt(np.sqrt(spring**2 + 4 * energy) - spring), spring
            ),
            0.75,
        ),
    ],
)
def test_a_frequency_at_an_energy_has_the_derivatives_of_the_closed_form(
    build, branch, closed_form, energy
):
    value = {0.75: 1.0}.get(
        energy, 10.0 if "spring" in build.__code__.co_varnames else 50.0
    )
    slopes = jax.jacfwd(lambda energy, value: branch().frequency_at(build(value), energy),
                        (0, 1))(energy, value)  # fmt: skip
    for place, slope in enumerate(slopes):
        step = 1e-5 * (energy, value)[place]
        ends = [
            closed_form(
                *(x + way * step * (i == place) for i, x in enumerate((energy, value)))
            )
            for way in (1, -1)
        ]
        np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-7)


def test_no_frequency_is_given_far_from_the_branch():
    far = duffing().frequency_at(one_body(cubic=1.0, spring=50.0), 1.0)
    assert np.isnan(far)


def test_a_family_is_text_a_picture_and_a_dataset():
    found = duffing()
    assert "elliptic at 100%" in repr(found)
    assert "to 3.2403 rad/s" in repr(found)
    assert found.plot(measure="frequency").get_ylabel() == "angular frequency (rad/s)"
    assert found.to_xarray()["frequency"].dims == ("point",)
    one = jax.tree.map(lambda leaf: leaf[-1], found.orbits)
    assert "elliptic" in repr(one)
    assert "50 J" in repr(one)
    np.testing.assert_array_equal(one.state[1], 0.0)
    one.plot(one_body(cubic=1.0))
    with pytest.raises(ValueError, match="check of a nonlinear mode"):
        found.check(one_body(cubic=1.0))


def sprung(law, spring=0.0):
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[spring]])
    return jv.ImpactSystem(linear, springs=[jv.NonlinearSpring([1.0], law, "own")])


@pytest.mark.slow
def test_a_law_of_ones_own_has_its_energy_by_quadrature():
    pendulum = sprung(jv.FunctionLaw(lambda e, rate, p: jnp.sin(e), {}))
    found = jv.nonlinear_modes(pendulum, 0, 1.9)
    exact = 4 * ellipk(np.asarray(found.parameter) / 2)
    np.testing.assert_allclose(found.orbits.period, exact, rtol=1e-9)
    off = np.abs(np.asarray(found.orbits.period) - exact)
    assert (off <= np.asarray(found.orbits.period_error)).all()


@pytest.mark.slow
def test_the_error_of_a_quadrature_is_in_the_error_bar():
    law = jv.FunctionLaw(lambda e, rate, p: e + 5 * jnp.maximum(jnp.abs(e) - 0.4, 0)
                         * jnp.sign(e), {})  # fmt: skip
    problem = ModeProblem(sprung(law), 1.0, jv.branches.ContinuationSettings())
    reach = 1.0
    energy = reach**2 / 2 + 5 * (reach - 0.4) ** 2 / 2
    ahead = 0.4 - 5 * 0.4 / 6  # of the rest of both springs
    speed = np.sqrt(2 * energy - 0.4**2)
    quarter = np.arctan(0.4 / speed) + np.arccos(ahead / (reach - 0.4 + ahead)) / np.sqrt(6)
    unscaled = [reach / np.sqrt(energy), 0.0, 4 * quarter, np.log(energy)]
    given = (unscaled / problem.units)[None]
    found = problem.correct_of(0, given, np.array([[0.0, 0.0, 0.0, 1.0]]))
    _, motion = problem.evaluated([0], np.append(found.x[:, :-1], given[:, -1:], axis=1))
    off = abs(motion.period[0] - 4 * quarter)
    assert 1e-7 < off < motion.period_error[0] < 1e-2


def test_the_slope_of_a_spring_belongs_to_the_linear_mode():
    found = jv.nonlinear_modes(sprung(jv.PolynomialLaw([3.0, 0.0, 1.0]), 1.0), 0, 50.0)
    reach = np.asarray(found.orbits.amplitude)[:, 0]
    exact = duffing_frequency(reach, 4.0)
    np.testing.assert_allclose(found.orbits.frequency, exact, rtol=1e-9)


PUSH = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 1.0), "push")
SOFT = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])


def hit(law, gap=0.1):
    return [jv.Contact([1.0], gap, law, "stop")]


@pytest.mark.parametrize(
    ("system", "mode", "energy", "words"),
    [
        (one_body(loads=[PUSH]), 0, 1.0, "loads.push acts on it; allowed"),
        (jv.ImpactSystem(SOFT), 0, 1.0, "damping is not 0, up to 0.1"),
        (one_body(frictions=[jv.CoulombFriction([1.0], 2.0, name="pad")]), 0, 1.0,
         "frictions.pad acts"),
        (one_body(contacts=hit(jv.RestitutionContact(0.5))), 0, 1.0,
         "contacts.stop is a hard stop"),
        (one_body(contacts=hit(jv.KelvinVoigtContact(1.0, 1.0))), 0, 1.0,
         "contacts.stop has a force that may depend on a rate"),
        (sprung(jv.FunctionLaw(lambda e, rate, p: e + 0.1 * rate, {})), 0, 1.0,
         "springs.own has a force that may depend on a rate"),
        (one_body(contacts=hit(jv.LinearContact(1.0), 0.0)), 0, 1.0,
         "contacts.stop.gap: the contact touches at rest"),
        (SOFT, 0, 1.0, "of type LinearSystem; allowed: ImpactSystem"),
        (one_body(), 1, 1.0, r"mode = 1 is not in \[0, 0\]"),
        (one_body(), -1, 1.0, "mode = -1"),
        (one_body(), 0.0, 1.0, "mode = 0.0 is of type float"),
        (one_body(spring=0.0), 0, 1.0, "mode = 0 is rigid"),
        (one_body(spring=-1.0), 0, 1.0, "mode = 0 is unstable"),
        (one_body(cubic=1.0), 0, 0.0, "energy = 0 J is not in"),
        (one_body(cubic=1.0), 0, np.inf, "energy = inf J is not in"),
        (one_body(gap=0.01, spring=10.0), 0, 4e-4, "motions of mode 0 are linear up to"),
    ],
)  # fmt: skip
def test_bad_input_is_named(system, mode, energy, words):
    with pytest.raises((TypeError, ValueError), match=words):
        jv.nonlinear_modes(system, mode, energy)


@pytest.mark.parametrize("period", [None, 6.0])
def test_a_periodic_orbit_of_a_conservative_system_names_the_families(period):
    with pytest.raises(ValueError, match="one at every energy; allowed: nonlinear_modes"):
        jv.periodic_orbit(one_body(cubic=1.0), [0.5, 0.0], period=period)


COUPLING = 0.1


def bodies(coupling, cubics, own=1.0, contacts=()):
    """Return a chain of bodies on cubic springs, joined by linear ones."""
    size = len(cubics)
    joints = np.eye(size - 1, size) - np.eye(size - 1, size, 1)
    stiffness = own * np.eye(size) + coupling * joints.T @ joints
    linear = jv.LinearSystem(np.eye(size), np.zeros((size, size)), stiffness)
    springs = [
        jv.NonlinearSpring(row, jv.PolynomialLaw([0.0, 0.0, cubic]))
        for row, cubic in zip(np.eye(size), cubics, strict=True)
    ]
    return jv.ImpactSystem(linear, springs=springs, contacts=contacts)


@pytest.mark.slow
def test_modes_of_coupled_oscillators_have_closed_forms_and_one_branch_point():
    pair = bodies(COUPLING, [1.0, 1.0])
    for mode, spring in ((0, 1.0), (1, 1 + 2 * COUPLING)):
        found = jv.nonlinear_modes(pair, mode, 5.0, settings=SETTINGS)
        reach = np.asarray(found.orbits.amplitude)
        np.testing.assert_allclose(reach[:, 0], reach[:, 1], rtol=1e-9)
        exact = duffing_frequency(reach[:, 0], spring)
        np.testing.assert_allclose(found.orbits.frequency, exact, rtol=1e-11)
        kinds = [point.kind for point in found.bifurcations]
        assert kinds == ["branch_point"] * mode
    # In opposition: localised modes begin where A^2 = 4 k / 3.
    square = 4 * COUPLING / 3
    energy = (1 + 2 * COUPLING) * square + square**2 / 2
    point = found.bifurcations[0]
    np.testing.assert_allclose(point.parameter, energy, rtol=1e-8)
    np.testing.assert_allclose(point.state[0] ** 2, square, rtol=1e-7)
    above = np.asarray(found.parameter) > energy
    assert np.asarray(found.stable).tolist() == np.where(above, 0, 1).tolist()


def multipliers(system, state, period):
    """Return the multipliers of a motion of cubic springs, by scipy and differences."""
    _, _, stiffness = map(np.asarray, system.matrices())
    cubics = np.array([spring.law.coefficients[2] for spring in system.springs])
    size = len(cubics)

    def rates(_, state):
        position, velocity = np.split(state, 2)
        return np.append(velocity, -stiffness @ position - cubics * position**3)

    def end(start):
        return scipy.integrate.solve_ivp(
            rates, (0.0, period), start, method="DOP853", rtol=1e-13, atol=1e-15
        ).y[:, -1]

    step = 1e-5
    ways = step * np.eye(2 * size)
    columns = [(end(state + way) - end(state - way)) / (2 * step) for way in ways]
    return np.linalg.eigvals(np.column_stack(columns))


@pytest.mark.slow
def test_pairs_of_multipliers_leave_the_circle_at_krein_points_only():
    three = bodies(0.35, [0.7, 1.3, 1.9])
    found = jv.nonlinear_modes(three, 1, 20.0, settings=SETTINGS)
    assert {point.kind for point in found.bifurcations} == {"krein"}
    assert all(int(point.result) == 0 for point in found.bifurcations)
    largest = np.asarray(found.orbits.largest_multiplier)
    np.testing.assert_array_equal(np.asarray(found.stable) == 0, largest > 1 + 2e-5)
    for point in found.bifurcations:
        for factor, which in ((0.99, "below"), (1.01, "above")):
            there = np.argmin(np.abs(np.log(found.parameter / (factor * point.parameter))))
            state, period = found.states[there], float(found.orbits.period[there])
            own = np.append(np.asarray(found.orbits.floquet_multipliers[there]), [1, 1])
            other = multipliers(three, np.asarray(state), period)
            for value in own:
                assert np.abs(other - value).min() < 2e-4, which


def with_barrier():
    """Return a body whose spring gives way beyond a barrier of 1/6 J."""
    law = jv.PolynomialLaw([0.0, 1.0, 0.0])
    linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    return jv.ImpactSystem(linear, springs=[jv.NonlinearSpring([1.0], law)])


def below_barrier(energy):
    """Return the end of the motion away from the barrier, and its period."""
    roots = np.sort(np.roots([1 / 3, 1 / 2, 0.0, -energy]).real)
    near = (roots[1] - roots[0]) / (roots[2] - roots[0])
    return roots[2], 4 * np.sqrt(1.5 / (roots[2] - roots[0])) * ellipkm1(near)


def test_beside_a_saddle_a_family_ends_where_its_error_bars_still_cover():
    found = jv.nonlinear_modes(with_barrier(), 0, 0.3)
    assert int(found.ends[1]) == jv.Reason.TOO_FEW_SEGMENTS
    assert 1e-7 < 1 / 6 - float(found.parameter[-1]) < 1e-4
    orbits = jax.tree.map(np.asarray, found.orbits)
    assert (orbits.result == jv.Reason.SUCCESS).all()
    for place in (10, 30, -10, -2, -1):
        energy, state, period = (
            each[place] for each in (orbits.energy, orbits.state, orbits.period)
        )
        reach, exact = below_barrier(energy)
        assert abs(period - exact) < orbits.period_error[place] < 1e-4
        assert abs(state[0] - reach) < orbits.state_error[place] < 1e-9
        back = scipy.integrate.solve_ivp(
            lambda _, s: [s[1], -s[0] - s[0] ** 2],
            (0.0, period), state, method="DOP853", rtol=1e-13, atol=1e-15,
        ).y[:, -1]  # fmt: skip
        off = np.abs(back - state).max() / np.sqrt(2 * energy)
        assert off < orbits.residual[place] < 1e-4


def test_a_motion_that_is_lost_beside_a_saddle_has_a_reason_and_no_numbers():
    problem = ModeProblem(with_barrier(), 1.0, jv.branches.ContinuationSettings())
    for below, code in ((1e-3, jv.Reason.SUCCESS), (1e-9, jv.Reason.TOO_FEW_SEGMENTS)):
        energy = 1 / 6 - below
        reach, period = below_barrier(energy)
        unscaled = [reach / np.sqrt(energy), 0.0, period, np.log(energy)]
        _, motion = problem.evaluated([0], (unscaled / problem.units)[None])
        assert int(motion.result[0]) == code
        lost = code != jv.Reason.SUCCESS
        assert np.isnan(motion.amplitude).all() == np.isnan(motion.period)[0] == lost
        assert int(motion.stable[0]) == (-1 if lost else 1)


HARD = jv.RestitutionContact(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("sides", [1, 2])
def test_hard_stops_without_losses_give_the_closed_form(sides):
    stops = [jv.Contact([way], 0.01, HARD) for way in (1.0, -1.0)[:sides]]
    found = jv.nonlinear_modes(one_body(spring=10.0, contacts=stops), 0, 0.01)
    assert np.asarray(found.ends).tolist() == [jv.Reason.PARAMETER_BOUND] * 2
    reach = np.sqrt(np.asarray(found.parameter) / 5)
    part = 2 * np.arcsin(np.minimum(0.01 / reach, 1))  # of the swing to both sides
    exact = (sides * part + (2 - sides) * np.pi) / np.sqrt(10)
    exact = np.where(reach <= 0.01, 2 * np.pi / np.sqrt(10), exact)
    np.testing.assert_allclose(found.orbits.period, exact, rtol=1e-10)
    off = np.abs(np.asarray(found.orbits.period) - exact)
    assert (off <= np.asarray(found.orbits.period_error)).all()
    hits = np.where(reach > 0.01, sides, 0)
    assert np.asarray(found.orbits.contacts).tolist() == hits.tolist()


def returned(stiffness, stops, state, period):
    """Return where elastic impacts lead bodies of 1 kg, and their number, by scipy."""
    events = [lambda _, s, n=n, g=g: np.dot(n, s[:2]) - g for n, g in stops]
    for event in events:
        event.terminal, event.direction = True, 1
    time, hits = 0.0, 0
    while True:
        part = scipy.integrate.solve_ivp(
            lambda _, s: [*s[2:], *(-stiffness @ s[:2])], (time, period), state,
            events=events, method="DOP853", rtol=1e-12, atol=1e-14, max_step=0.01,
        )  # fmt: skip
        time, state = part.t[-1], part.y[:, -1].copy()
        times = zip(stops, part.t_events, strict=True)
        hit = [np.array(direction) for (direction, _), at in times if len(at)]
        if not hit:
            return state, hits
        state[2:] -= 2 * (hit[0] @ state[2:]) * hit[0]
        hits += 1


@pytest.mark.slow
def test_modes_of_two_masses_pass_the_grazings_of_their_hard_stops():
    stiffness = np.array([[2.0, -1.0], [-1.0, 2.5]])
    stops = [([1.0, 0.0], 1.0), ([0.0, -1.0], 1.0)]
    contacts = [jv.Contact(*stop, HARD) for stop in stops]
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), stiffness)
    found = jv.nonlinear_modes(jv.ImpactSystem(linear, contacts), 0, 4.0, settings=SETTINGS)
    assert float(found.parameter[-1]) == 4.0
    orbits = jax.tree.map(np.asarray, found.orbits)
    assert set(orbits.contacts.tolist()) == {0, 1, 2}
    for number in (0, 1, 2):
        for place in np.flatnonzero(orbits.contacts == number)[[1, -1]]:
            state, period = orbits.state[place], orbits.period[place]
            back, hits = returned(stiffness, stops, state, period)
            assert hits == number
            np.testing.assert_allclose(back, state, atol=1e-9)
    # The energy falls beyond the grazing, as the impact moves the other mode at once.
    assert any(point.kind == "fold" for point in found.bifurcations)


def two_masses(**parts):
    stiffness = [[2.0, -1.0], [-1.0, 1.0]]
    return jv.ImpactSystem(jv.LinearSystem(np.eye(2), np.zeros((2, 2)), stiffness), **parts)


def second_mode_at(energy):
    """Return the frequency, Hz, of the second mode between stops, by scipy."""

    def quarter(reach, other, period):
        def rates(_, state):
            x, y, *velocity = state
            stop = 30 * np.sign(x) * max(abs(x) - 1, 0.0)
            return [*velocity, y - 2 * x - stop, x - y]

        return scipy.integrate.solve_ivp(
            rates, (0.0, period / 4), [reach, other, 0.0, 0.0], max_step=0.01,
            method="DOP853", rtol=1e-11, atol=1e-13,
        ).y[:2, -1]  # fmt: skip

    def left(unknowns):
        reach, other, _ = unknowns
        stored = (reach**2 + (reach - other) ** 2 + 30 * max(reach - 1, 0.0) ** 2) / 2
        return [*quarter(*unknowns), stored - energy]

    return 1 / scipy.optimize.fsolve(left, [1.03, -0.59, 3.8], xtol=1e-12)[2]


@pytest.mark.slow
def test_two_masses_with_a_smoothed_stop_have_the_published_frequency():
    """SDND123 of code_aster: 0.257905285 Hz at 1.19768 J, its stop smoothed.

    The motion reaches x = 0.814 and not the gap of 1: what raises its frequency above the
    linear 0.2575181 Hz is the smoothed stop alone, whose force F is the middle root of
    F (F - k (x - g)) (F - k (x + g)) + eta k^2 x = 0, eta = 0.005, nearly
    eta x / (g^2 - x^2). With a sharp stop touching begins at 1.809 J.
    """

    def force(x, rate, p):
        k, mean = p["k"], 2 * p["k"] * x / 3  # of the three roots
        left = mean * (mean - k * (x - 1)) * (mean - k * (x + 1)) + p["eta"] * k**2 * x
        apart = k * jnp.sqrt(x**2 / 9 + 1 / 3)
        angle = jnp.arccos(jnp.clip(-left / (2 * apart**3), -1.0, 1.0)) / 3
        return mean + 2 * apart * jnp.cos(angle - 2 * jnp.pi / 3)

    smooth = jv.FunctionLaw(force, {"k": 30.0, "eta": 0.005})
    spring = jv.NonlinearSpring([1.0, 0.0], smooth, "stop")
    system = two_masses(springs=[spring])
    found = jv.nonlinear_modes(system, 1, 1.3)
    hertz = found.frequency_at(system, 1.19768) / (2 * np.pi)
    np.testing.assert_allclose(hertz, 0.2579052301, rtol=1e-9)
    np.testing.assert_allclose(hertz, 0.257905285, rtol=1e-6)


@pytest.mark.slow
def test_two_masses_between_stops_touch_from_the_linear_energy_on():
    stops = [
        jv.Contact([way, 0.0], 1.0, jv.LinearContact(30.0), name)
        for way, name in ((1.0, "right"), (-1.0, "left"))
    ]
    system = two_masses(contacts=stops)
    found = jv.nonlinear_modes(system, 1, 1.95)
    touching = np.asarray(found.orbits.contacts) > 0
    energy = np.asarray(found.parameter)
    onset = (5 + np.sqrt(5)) / 4  # of the linear mode with a reach of 1
    assert energy[~touching].max() <= onset * (1 + 1e-9) < energy[touching].max()
    for level in (1.85, 1.95):
        hertz = found.frequency_at(system, level) / (2 * np.pi)
        np.testing.assert_allclose(hertz, second_mode_at(level), rtol=1e-8)


@pytest.mark.slow
def test_at_an_exact_ratio_of_frequencies_a_family_begins_with_parts_of_both_modes():
    """Of frequencies 1 and 3 rad/s, with a cubic spring on the first of two masses.

    With x = a cos t + b cos 3t of that mass, the mean of x^4 is, but for a factor,
    3 a^4 + 3 b^4 + 12 a^2 b^2 + 4 a^3 b: stationary on a^2 + 9 b^2 = const.
    """
    stiffness = np.array([[5.0, -4.0], [-4.0, 5.0]])
    cubic = jv.NonlinearSpring([1.0, 0.0], jv.PolynomialLaw([0.0, 0.0, 1.0]))
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), stiffness)
    found = jv.nonlinear_modes(jv.ImpactSystem(linear, springs=[cubic]), 0, 0.1)
    one, other = np.asarray(found.states[0, :2])
    first, third = (one + other) / 2, (one - other) / 2
    slopes = (12 * first**3 + 24 * first * third**2 + 12 * first**2 * third,
              12 * third**3 + 24 * first**2 * third + 4 * first**3)  # fmt: skip
    along = -9 * third * slopes[0] + first * slopes[1]
    assert abs(along) < 2e-2 * first**4  # 4 for the linear mode
    assert 0.01 < third / first < 0.1
    for place in (0, -1):
        state, period = np.asarray(found.states[place]), float(found.orbits.period[place])
        end = scipy.integrate.solve_ivp(
            lambda _, s: [*s[2:], *(-stiffness @ s[:2] - [s[0] ** 3, 0.0])],
            (0.0, period), state, method="DOP853", rtol=1e-12, atol=1e-16,
        ).y[:, -1]  # fmt: skip
        np.testing.assert_allclose(end, state, atol=1e-8 * np.abs(state).max())


@pytest.mark.slow
def test_modes_in_a_ring_without_friction_come_back():
    ring = jv.AnnularContact(np.eye(2), 0.5, jv.LinearContact(5.0))
    stiffness = np.array([[1.0, 0.1], [0.1, 1.44]])
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), stiffness)
    found = jv.nonlinear_modes(jv.ImpactSystem(linear, [ring]), 0, 0.3, settings=SETTINGS)
    assert np.asarray(found.orbits.contacts)[[0, -1]].tolist() == [0, 2]

    def rates(_, state):
        reach = np.hypot(*state[:2])
        push = 5.0 * max(reach - 0.5, 0.0) / reach
        return [*state[2:], *(-stiffness @ state[:2] - push * state[:2])]

    state, period = np.asarray(found.states[-1]), float(found.orbits.period[-1])
    end = scipy.integrate.solve_ivp(
        rates, (0.0, period), state, method="DOP853", rtol=1e-12, atol=1e-14, max_step=0.01
    ).y[:, -1]
    np.testing.assert_allclose(end, state, atol=1e-7)
