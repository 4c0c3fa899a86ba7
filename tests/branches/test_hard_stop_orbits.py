"""Checked against: the closed form of orbits with one impact a period, and of grazing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

import jaxvib as jv
from jaxvib.ensemble import Reason

DAMPING, RESTITUTION, STOP = 0.1, 0.8, 1.0
ONE = jnp.array([1.0])
LOAD, GAP = "loads.0.law.amplitude", "contacts.0.gap"
RATIO = "contacts.0.law.restitution"
FREQUENCY = "loads.0.law.frequency"


def oscillator(amplitude, frequency=1.0, stop=STOP, restitution=RESTITUTION):
    """Return x'' + c x' + x = A cos(w t) with a hard stop at x = d."""
    return jv.ImpactSystem(
        jv.LinearSystem(jnp.eye(1), DAMPING * jnp.eye(1), jnp.eye(1)),
        (jv.Contact(ONE, stop, jv.RestitutionContact(restitution)),),
        (jv.AppliedLoad(ONE, jv.HarmonicLoad(amplitude, frequency)),),
    )


class OneImpact:
    """Orbits with one impact, of speed v, in one or more periods, in closed form.

    After the impact the state is (d, -e v) and at the end it is (d, v): that fixes
    the particular solution at the impact, so the load's amplitude and its phase.
    """

    def __init__(self, frequency=1.0, stop=STOP, restitution=RESTITUTION, periods=1):
        self.w, self.d, self.e = frequency, stop, restitution
        self.matrix = np.array([[0.0, 1.0], [-1.0, -DAMPING]])
        self.period = periods * 2 * np.pi / frequency
        self.whole = scipy.linalg.expm(self.matrix * self.period)
        self.stiff = abs(1 - frequency**2 + 1j * DAMPING * frequency)

    def particular(self, speed):
        ends = np.array([self.d, speed]), np.array([self.d, -self.e * speed])
        return np.linalg.solve(np.eye(2) - self.whole, ends[0] - self.whole @ ends[1])

    def amplitude(self, speed):
        x, v = self.particular(speed)
        return np.hypot(x, v / self.w) * self.stiff

    def grazing(self):
        return self.d * self.stiff

    def fold(self):
        """Return the least amplitude: A^2 is a parabola in the speed."""
        c, middle, last = (self.amplitude(speed) ** 2 for speed in (0.0, 0.5, 1.0))
        a = 2 * (last - 2 * middle + c)
        b = last - c - a
        return np.sqrt(c - b**2 / (4 * a)), -b / (2 * a)

    def speeds(self, amplitude):
        """Return the speeds of impacts at an amplitude, the real roots of the parabola."""
        c, middle, last = (self.amplitude(speed) ** 2 for speed in (0.0, 0.5, 1.0))
        a = 2 * (last - 2 * middle + c)
        roots = np.roots([a, last - c - a, c - amplitude**2])
        return roots[(abs(roots.imag) < 1e-6) & (roots.real > -1e-9)].real

    def flips(self, speed):
        """Return det(M + I), M the flight's matrix times that of the impact."""
        x, v = self.particular(speed)
        load = x - self.w**2 * x + DAMPING * v
        before = load - self.d - DAMPING * speed
        after = load - self.d + DAMPING * self.e * speed
        turned = [[-self.e, 0.0], [(after + self.e * before) / speed, -self.e]]
        return np.linalg.det(np.array(turned) @ self.whole + np.eye(2))

    def start(self, speed):
        """Return the state at t = 0, where the load has its greatest value."""
        return self.flight(speed, 0.0)

    def flight(self, speed, t):
        """Return the state at a time."""
        x, v = self.particular(speed)
        response = 1 / (1 - self.w**2 + 1j * DAMPING * self.w)
        turn = np.angle((x - 1j * v / self.w) / response)  # of the load at the impact
        time = np.mod(turn, 2 * np.pi) / self.w
        amplitude = self.amplitude(speed)

        def driven(t):
            wave = amplitude * response * np.exp(1j * self.w * t)
            return np.array([wave.real, (1j * self.w * wave).real])

        after = np.array([self.d, -self.e * speed]) - driven(time)
        since = np.mod(t - time, self.period)
        return driven(t) + scipy.linalg.expm(self.matrix * since) @ after


closed = OneImpact()


@pytest.fixture(scope="module")
def branch():
    system = oscillator(0.09)
    orbit = jv.periodic_orbit(system, np.array([0.0, 0.9]))
    return jv.continue_orbit(system, orbit, LOAD, (0.05, 0.2), method="arclength")


@pytest.mark.slow
def test_it_grazes_turns_and_folds_where_the_closed_forms_say(branch):
    kinds = [point.kind for point in branch.bifurcations]
    assert kinds == ["grazing", "fold"]
    grazing, fold = (float(point.parameter) for point in branch.bifurcations)
    assert grazing == pytest.approx(closed.grazing(), rel=1e-12)
    assert fold == pytest.approx(closed.fold()[0], rel=1e-10)
    # The fold hides below the grazing.
    assert closed.grazing() - fold == pytest.approx(2.9246e-5, rel=1e-4)
    assert branch.parameter[0] == 0.05
    assert branch.parameter[-1] == 0.2


@pytest.mark.slow
def test_its_motions_with_an_impact_are_the_closed_form(branch):
    struck = np.flatnonzero(np.asarray(branch.contacts) == 1)
    _, speed = closed.fold()
    after = struck[struck > np.argmin(np.where(branch.contacts == 1, branch.parameter, 1))]
    for point in after[[2, len(after) // 2, -1]]:
        value = float(branch.parameter[point])
        there = scipy.optimize.brentq(
            lambda v, value=value: closed.amplitude(v) - value, speed, 50.0, xtol=1e-15
        )
        np.testing.assert_allclose(branch.states[point], closed.start(there), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("amplitude", [0.5, 1.2])
def test_it_goes_on_where_the_impact_passes_through_the_start_of_the_period(amplitude):
    # At A = 0.60687 the impact is at t = 0, and the velocity there changes its sign.
    slow = OneImpact(0.8)

    def start(value):
        speed = scipy.optimize.brentq(lambda v: slow.amplitude(v) - value, 0.1, 9.0)
        return slow.start(speed)

    system = oscillator(amplitude, 0.8)
    orbit = jv.periodic_orbit(system, start(amplitude))
    branch = jv.continue_orbit(system, orbit, LOAD, (0.45, 1.25), method="arclength")
    assert [Reason(code) for code in branch.ends] == [Reason.PARAMETER_BOUND] * 2
    flip = slow.amplitude(scipy.optimize.brentq(slow.flips, 0.3, 0.6, xtol=1e-15))
    assert [point.kind for point in branch.bifurcations] == ["period_doubling"]
    assert float(branch.bifurcations[0].parameter) == pytest.approx(flip, rel=1e-10)
    values, states = np.asarray(branch.parameter), np.asarray(branch.states)
    assert states[0, 1] > 0.1
    assert states[-1, 1] < -0.1
    expected = [start(value) for value in values]
    np.testing.assert_allclose(states, expected, atol=1e-8)


@pytest.mark.slow  # the corrector of the section is compiled: 6 s
@pytest.mark.parametrize("bounds", [(0.5, 3.0), (0.3, 1.3), (0.5, 1.3), (0.8, 1.2)])
def test_bounds_change_which_points_are_computed_and_not_the_grazing(bounds):
    below = OneImpact(1.9)  # under twice the natural frequency
    system = oscillator(0.9 * below.grazing(), 1.9)
    low, high = (share * below.grazing() for share in bounds)
    branch = jv.continue_orbit(system, jv.periodic_orbit(system), LOAD, (low, high))
    fold = below.fold()[0]
    expected = {"grazing": below.grazing(), "fold": fold}
    if low > fold:
        del expected["fold"]
    found = {point.kind: float(point.parameter) for point in branch.bifurcations}
    assert found == pytest.approx(expected, rel=1e-10)
    assert len(branch.bifurcations) == len(expected)
    assert [Reason(code) for code in branch.ends] == [Reason.PARAMETER_BOUND] * 2


@pytest.mark.slow  # three branches: 4 s
@pytest.mark.parametrize("frequency", [0.8, 2.2, 2.6])
@pytest.mark.parametrize("steps", [None, 0.02])
def test_all_points_are_orbits_and_nothing_else_grazes(frequency, steps):
    form = OneImpact(frequency)
    size = form.grazing()
    system = oscillator(0.9 * size, frequency)
    largest = None if steps is None else steps * size
    settings = jv.branches.ContinuationSettings(largest_step=largest)
    start = jv.periodic_orbit(system, linear_state(0.9 * size, frequency))
    branch = jv.continue_orbit(
        system, start, LOAD, (0.5 * size, 1.3 * size), settings=settings
    )
    grazings = [p for p in branch.bifurcations if p.kind == "grazing"]
    assert [float(p.parameter) for p in grazings] == [pytest.approx(size, rel=1e-12)]
    assert not np.asarray(branch.orbits.result).any()
    values, contacts = np.asarray(branch.parameter), np.asarray(branch.contacts)
    assert set(contacts) == {0, 1}
    apart, states = contacts == 0, np.asarray(branch.states)
    assert values[apart].max() < size
    expected = [linear_state(value, frequency) for value in values[apart]]
    np.testing.assert_allclose(states[apart], expected, atol=1e-9)
    for value, state in zip(values[~apart], states[~apart], strict=True):
        either = [form.start(speed) for speed in form.speeds(value)]
        assert np.abs(np.array(either) - state).max(axis=1).min() < 1e-9


def linear_state(amplitude, frequency):
    """Return the state at t = 0 of the motion without a stop."""
    response = amplitude / (1 - frequency**2 + 1j * DAMPING * frequency)
    return np.array([response.real, (1j * frequency * response).real])


@pytest.mark.slow  # a branch with eight grazings: 3 s
def test_the_motion_with_impacts_is_left_where_it_grazes():
    # From the impacting side, along the frequency: the response falls to the gap.
    start = OneImpact(1.1)
    system = oscillator(start.amplitude(0.6), 1.1)
    orbit = jv.periodic_orbit(system, start.start(0.6))
    assert int(orbit.contacts) == 1
    branch = jv.continue_orbit(system, orbit, FREQUENCY, (0.9, 2.5))

    def reaches(frequency):
        return OneImpact(frequency).grazing() - start.amplitude(0.6)

    grazing = scipy.optimize.brentq(reaches, 1.05, 2.5, xtol=1e-15)
    near = [p for p in branch.bifurcations if p.kind == "grazing"]
    off = [abs(float(point.parameter) / grazing - 1) for point in near]
    assert min(off) < 1e-11
    changes = np.flatnonzero(np.diff(np.asarray(branch.contacts)))
    assert len(changes) == len(near)
    assert [Reason(code) for code in branch.ends] == [Reason.PARAMETER_BOUND] * 2


@pytest.fixture(scope="module")
def doubling():
    """Return a system and the only period doubling of its branch."""
    fast = OneImpact(2.2)
    speed = 2 * scipy.optimize.brentq(fast.flips, 0.7, 1.0)
    system = oscillator(fast.amplitude(speed), 2.2)
    orbit = jv.periodic_orbit(system, fast.start(speed))
    branch = jv.continue_orbit(system, orbit, LOAD, (4.0, 5.2), method="arclength")
    (flip,) = [p for p in branch.bifurcations if p.kind == "period_doubling"]
    return system, flip


@pytest.mark.slow
def test_its_period_doubles_where_the_closed_form_says(doubling):
    system, flip = doubling
    fast = OneImpact(2.2)
    speed = scipy.optimize.brentq(fast.flips, 0.7, 1.0, xtol=1e-15)
    assert float(flip.parameter) == pytest.approx(fast.amplitude(speed), rel=1e-10)
    np.testing.assert_allclose(flip.state, fast.start(speed), atol=1e-9)
    doubled = jv.branches.switch_branch(system, flip, (4.0, 5.2))
    assert int(doubled.periods) == 2
    assert set(np.asarray(doubled.contacts)[:3]) == {2}


@pytest.mark.slow  # compiles a branch with a second contact
@pytest.mark.parametrize("restitution", [RESTITUTION, 0.0])
def test_an_elastic_contact_beside_a_stop_begins_where_the_flight_turns(restitution):
    struck, speed = OneImpact(restitution=restitution), 0.3
    times = np.linspace(0.0, struck.period, 400)
    near = times[np.argmin([struck.flight(speed, t)[0] for t in times])]
    turn = scipy.optimize.brentq(
        lambda t: struck.flight(speed, t)[1], near - 0.02, near + 0.02, xtol=1e-15
    )
    spring = jv.Contact(-ONE, -struck.flight(speed, turn)[0], jv.LinearContact(0.5))
    load = struck.amplitude(speed)
    stopped = oscillator(1.1 * load, restitution=restitution)
    both = jv.ImpactSystem(stopped.linear, (*stopped.contacts, spring), stopped.loads)
    orbit = jv.periodic_orbit(both, struck.start(speed))
    bounds = 0.97 * load, 1.2 * load
    branch = jv.continue_orbit(both, orbit, LOAD, bounds, method="arclength")
    (grazing,) = branch.bifurcations
    assert (grazing.kind, int(grazing.result)) == ("grazing", 0)
    assert float(grazing.parameter) == pytest.approx(load, rel=1e-10)
    assert set(np.asarray(branch.contacts)) == {1, 2}


@pytest.mark.slow  # compiles a branch of two periods
@pytest.mark.parametrize("bounds", [(0.7, 1.3), (0.8, 1.2)])
def test_an_impact_in_two_periods_begins_at_the_grazing_of_one_period(bounds):
    twice = OneImpact(2.9, restitution=0.0, periods=2)
    system = oscillator(twice.amplitude(0.3), 2.9, restitution=0.0)
    orbit = jv.periodic_orbit(system, twice.start(0.3), periods=2)
    loads = tuple(bound * twice.grazing() for bound in bounds)
    branch = jv.continue_orbit(system, orbit, LOAD, loads, method="arclength")
    # It ends there, or goes on without impacts.
    assert {Reason(code) for code in branch.ends} <= {
        Reason.PARAMETER_BOUND,
        Reason.GRAZING,
    }
    (grazing,) = branch.bifurcations
    assert (grazing.kind, int(grazing.result)) == ("grazing", 0)
    assert float(grazing.parameter) == pytest.approx(twice.grazing(), rel=1e-11)


@pytest.fixture(scope="module")
def apart():
    """Return a motion below grazing."""
    system = oscillator(0.09)
    return system, jv.periodic_orbit(system, np.array([0.0, 0.9]))


@pytest.mark.slow
def test_grazing_has_the_closed_form_s_derivatives(apart):
    system, orbit = apart

    def place(stop, frequency):
        varied = jv.replace(system, {GAP: stop, FREQUENCY: frequency})
        return jv.bifurcation_point(varied, orbit, "grazing", LOAD).parameter

    slopes, value = jax.jit(lambda d, w: (jax.jacfwd(place, (0, 1))(d, w), place(d, w)))(
        STOP, 1.1
    )
    c, w = DAMPING, 1.1
    stiff = np.hypot(1 - w**2, c * w)
    assert float(value) == pytest.approx(stiff, rel=1e-12)
    assert float(slopes[0]) == pytest.approx(stiff, rel=1e-11)
    by_frequency = (2 * w * (w**2 - 1) + c**2 * w) / stiff
    assert float(slopes[1]) == pytest.approx(by_frequency, rel=1e-10)


@pytest.mark.slow
def test_the_curve_of_its_grazing_is_the_closed_form(apart):
    system, orbit = apart
    point = jv.bifurcation_point(system, orbit, "grazing", LOAD)
    bounds = {LOAD: (0.01, 2.0), FREQUENCY: (0.7, 1.3)}
    curve = jv.branches.continue_bifurcation(system, point, bounds)
    loads, frequencies = np.asarray(curve.parameters).T
    expected = [OneImpact(frequency).grazing() for frequency in frequencies]
    np.testing.assert_allclose(loads, expected, rtol=1e-10)
    assert list(frequencies[[0, -1]]) == [0.7, 1.3]


@pytest.mark.slow
def test_the_curve_of_its_fold_is_the_closed_form_and_ends_where_it_grazes(branch):
    bounds = {LOAD: (0.01, 0.6), FREQUENCY: (0.9, 1.1)}
    curve = jv.branches.continue_bifurcation(
        oscillator(0.09), branch.bifurcations[1], bounds
    )
    loads, frequencies = np.asarray(curve.parameters).T
    expected = [OneImpact(frequency).fold()[0] for frequency in frequencies]
    np.testing.assert_allclose(loads, expected, rtol=1e-12)
    ends = [Reason(code) for code in curve.ends]
    assert ends == [Reason.GRAZING, Reason.PARAMETER_BOUND]
    no_speed = scipy.optimize.brentq(lambda w: OneImpact(w).fold()[1], 0.99, 1.0)
    assert frequencies[0] == pytest.approx(no_speed, abs=1e-6)


@pytest.mark.slow
def test_the_curve_of_its_period_doubling_is_the_closed_form(doubling):
    system, flip = doubling
    bounds = {LOAD: (3.0, 6.0), RATIO: (0.7, 0.9)}
    curve = jv.branches.continue_bifurcation(system, flip, bounds)
    loads, ratios = np.asarray(curve.parameters).T

    def expected(ratio):
        fast = OneImpact(2.2, restitution=ratio)
        return fast.amplitude(scipy.optimize.brentq(fast.flips, 0.3, 2.0, xtol=1e-15))

    np.testing.assert_allclose(loads, [expected(ratio) for ratio in ratios], rtol=1e-10)
    assert list(ratios[[0, -1]]) == [0.7, 0.9]


@pytest.mark.slow
def test_an_orbit_with_an_impact_has_the_determinant_of_both():
    system = oscillator(closed.amplitude(0.5))
    orbit = jv.periodic_orbit(system, closed.start(0.5))
    expected = RESTITUTION**2 * np.exp(-DAMPING * closed.period)
    assert np.linalg.det(orbit.monodromy) == pytest.approx(expected, rel=1e-10)
    assert abs(float(orbit.determinant_defect)) < 1e-10
    np.testing.assert_allclose(orbit.state, closed.start(0.5), atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("derivative", [jax.jacfwd, jax.jacrev])
def test_an_orbit_with_an_impact_has_the_closed_form_s_derivatives(derivative):
    amplitude = closed.amplitude(0.5)

    def state(values):
        system = jv.replace(
            oscillator(amplitude), dict(zip([LOAD, GAP], values, strict=True))
        )
        return jv.periodic_orbit(system, closed.start(0.5)).state

    def start(load, stop):
        other = OneImpact(stop=stop)
        speed = scipy.optimize.brentq(
            lambda v: other.amplitude(v) - load, other.fold()[1], 50.0, xtol=1e-15
        )
        return other.start(speed)

    slopes = jax.jit(derivative(state))(jnp.array([amplitude, STOP]))
    weights, step = np.array([-1, 9, -45, 45, -9, 1]) / 60, 1e-3
    moves = step * np.array([-3, -2, -1, 1, 2, 3])
    by_load = weights @ [start(amplitude + move, STOP) for move in moves] / step
    by_stop = weights @ [start(amplitude, STOP + move) for move in moves] / step
    np.testing.assert_allclose(slopes, np.stack([by_load, by_stop], 1), rtol=1e-8)


@pytest.mark.slow
def test_the_fold_has_the_closed_form_s_derivatives(branch):
    fold = branch.bifurcations[1]

    @jax.jit
    def place(stop, restitution):
        system = jv.replace(oscillator(0.1), {GAP: stop, RATIO: restitution})
        return jv.bifurcation_point(system, fold, "fold", LOAD).parameter

    slopes = jax.jit(jax.jacfwd(place, (0, 1)))(STOP, RESTITUTION)
    assert float(place(STOP, RESTITUTION)) == pytest.approx(closed.fold()[0], rel=1e-11)
    # By differences of sixth order; of smaller steps they would be rounding.
    step = 1e-2
    expected = [
        np.dot(
            [-1, 9, -45, 45, -9, 1],
            [
                OneImpact(**{name: start + k * step}).fold()[0]
                for k in (-3, -2, -1, 1, 2, 3)
            ],
        )
        / (60 * step)
        for name, start in (("stop", STOP), ("restitution", RESTITUTION))
    ]
    np.testing.assert_allclose([float(slope) for slope in slopes], expected, rtol=1e-9)


@pytest.mark.slow  # compiles a system of its own, 5 s
@pytest.mark.parametrize("middle", [0.0, 0.2])
def test_a_symmetric_motion_passes_the_grazing_of_both_walls(middle):
    # Held half way between its walls, it touches both where its linear amplitude is 1.
    law = jv.RestitutionContact(0.8)
    walls = [jv.Contact([s], 1.0 + s * middle, law, n) for s, n in ((1, "a"), (-1, "b"))]

    def between(frequency):
        loads = [
            jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, frequency), "drive"),
            jv.AppliedLoad([1.0], jv.ConstantLoad(middle), "hold"),
        ]
        linear = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
        return jv.ImpactSystem(linear, walls, loads)

    exact = np.sqrt(2 - 0.1**2)  # of (1 - w^2)^2 + (0.1 w)^2 = 1
    path, bounds = "loads.drive.law.frequency", (1.2, 2.0)
    free = jv.continue_orbit(between(2.0), jv.periodic_orbit(between(2.0)), path, bounds)
    struck = np.flatnonzero(np.asarray(free.orbits.contacts) == 2)
    there = between(float(free.parameter[struck[len(struck) // 2]]))
    back = jv.periodic_orbit(there, free.orbits.state[struck[len(struck) // 2]], periods=1)
    for branch in (free, jv.continue_orbit(there, back, path, bounds)):
        assert set(np.asarray(branch.orbits.contacts).tolist()) == {0, 2}
        (grazing,) = [p for p in branch.bifurcations if p.kind == "grazing"]
        np.testing.assert_allclose(grazing.parameter, exact, rtol=1e-13)
        ends = np.asarray(branch.ends).tolist()
        assert ends == [Reason.PARAMETER_BOUND] * 2
