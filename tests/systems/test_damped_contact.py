"""Checked against: Lambert's W in mpmath, beta functions, sums of linear stops, scipy."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import beta

import jaxvib as jv
from jaxvib.dynamics.flow import observe
from jaxvib.systems.contacts.hunt_crossley import restitution_of

STIFFNESS, DAMPING, MASS, GAP = 3e7, 0.4, 2.0, 0.1
law = jv.HuntCrossleyContact(STIFFNESS, DAMPING)
lengths = st.floats(1e-9, 1e-1)  # m
speeds = st.floats(-10.0, 10.0)  # m/s


def free_body(contact):
    """Return a free body that flies at a stop."""
    nothing = [[0.0]]
    return jv.ImpactSystem(
        jv.LinearSystem([[MASS]], nothing, nothing), (jv.Contact([1.0], GAP, contact),)
    )


def exact_restitution(turn):
    """Return e by c v: s exp(-s) = (1 + c v) exp(-1 - c v) with s = 1 - c e v."""
    with mpmath.workdps(50):
        turn = mpmath.mpf(turn)
        return float((1 + mpmath.lambertw(-(1 + turn) * mpmath.exp(-1 - turn))) / turn)


def test_restitution_is_the_root_of_the_exact_integral():
    speeds = np.array([1e-9, 1e-4, 1e-2, 0.4, 0.5, 0.7, 3.0, 100.0, 1e3, 1e6])
    expected = [exact_restitution(DAMPING * speed) for speed in speeds]
    np.testing.assert_allclose(law.restitution(speeds), expected, rtol=1e-14)


def with_two_derivatives(function):
    def both(at):
        return jax.value_and_grad(function)(at)[::-1]

    @jax.jit
    @jax.vmap
    def derivatives(at):
        (slope, value), bend = jax.value_and_grad(both, has_aux=True)(at)
        return value, slope, bend

    return derivatives


def test_restitution_and_its_inverse_have_the_derivatives_of_their_equation():
    turns = np.array([0.0, 1e-300, 1e-9, 1e-3, 0.28, 0.99, 1.0, 70.0, 1e9])
    found = np.transpose(with_two_derivatives(restitution_of)(turns))
    # e = 1 - 2/3 c v + 4/9 (c v)^2 - ..., the reversion of its equation
    np.testing.assert_allclose(found[:2], [[1.0, -2 / 3, 8 / 9]] * 2, rtol=1e-15)
    for (value, slope, bend), turn in zip(found[2:], turns[2:], strict=True):
        with mpmath.workdps(60):
            expected = [
                mpmath.diff(
                    lambda y: (1 + mpmath.lambertw(-(1 + y) * mpmath.exp(-1 - y)).real) / y,
                    mpmath.mpf(turn),
                    order,
                )
                for order in range(3)
            ] if turn < 100 else [1 / turn, -1 / turn**2, 2 / turn**3]  # fmt: skip
        np.testing.assert_allclose(
            [value, slope, bend], np.array(expected, float), rtol=1e-13
        )

    def damping(restitution):
        return jv.HuntCrossleyContact.with_restitution(1.0, restitution, 1.0).damping

    # Of the inverse y(e): y' = 1/e', y'' = -e''/e'^3.
    ratios, slopes, bends = found[[0, 3, 4, 5, 6, 7]].T
    _, inverse, bent = with_two_derivatives(damping)(ratios)
    np.testing.assert_allclose(inverse, 1 / slopes, rtol=1e-12)
    np.testing.assert_allclose(bent, -bends / slopes**3, rtol=1e-12)


def test_a_law_can_be_built_by_its_restitution():
    @jax.jit
    @jax.vmap
    def rebuilt(restitution):
        make = functools.partial(
            jv.HuntCrossleyContact.with_restitution, 1e7, restitution, 0.3
        )
        rules = {}, {"rule": "lankarani_nikravesh"}, {"rule": "flores"}
        return [make(**rule).restitution(0.3) for rule in rules]

    given = np.array([0.05, 0.999, 1.0])
    exact, *near = rebuilt(given)
    np.testing.assert_allclose(exact, given, rtol=0, atol=1e-14)
    for found in near:  # of elastic bodies
        np.testing.assert_allclose(1 - found[1:], 1 - given[1:], rtol=0.1, atol=1e-12)
    soft = jv.HuntCrossleyContact.with_restitution(1e7, 0.5, 2.0, 1.3, rule="flores")
    assert float(soft.damping) == pytest.approx(0.8)
    assert float(soft.exponent) == 1.3


@given(motions=st.lists(st.tuples(lengths, speeds), min_size=8, max_size=8))
@settings(max_examples=10)
def test_forces_are_the_formulas_and_never_pull(motions):
    depth, rate = np.array(motions).T
    other, stop = (
        jv.HuntCrossleyContact(STIFFNESS, DAMPING, 1.7),
        jv.KelvinVoigtContact(3e4, 5.0),
    )
    factor = np.maximum(1 + DAMPING * rate, 0.0)
    for contact, expected in (
        (law, STIFFNESS * depth**1.5 * factor),
        (other, STIFFNESS * depth**1.7 * factor),
        (stop, np.maximum(3e4 * depth + 5.0 * rate, 0.0)),
    ):
        found = contact.force(depth, rate)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)
        assert not contact.force(-depth, rate).any()
        assert not contact.energy(-depth).any()


def test_without_damping_they_are_the_elastic_laws():
    depth = np.geomspace(1e-9, 0.1, 30)
    for damped, elastic in (
        (jv.HuntCrossleyContact(STIFFNESS, 0.0), jv.HertzContact(STIFFNESS)),
        (jv.HuntCrossleyContact(STIFFNESS, 0.0, 2.2), jv.PowerContact(STIFFNESS, 2.2)),
        (jv.KelvinVoigtContact(3e4, 0.0), jv.LinearContact(3e4)),
    ):
        forces = damped.force(depth, np.full(30, 0.3)), elastic.force(depth)
        np.testing.assert_allclose(*forces, rtol=1e-14)
        np.testing.assert_allclose(damped.energy(depth), elastic.energy(depth), rtol=1e-14)


def test_a_piecewise_linear_stop_is_a_sum_of_linear_stops():
    depth = np.linspace(-0.01, 0.05, 31)
    stop = jv.PiecewiseLinearContact([1e3, 5e3, 2e3], [0.01, 0.02])
    over = np.maximum(depth[:, None] - np.array([0.0, 0.01, 0.02]), 0)
    gained = np.array([1e3, 4e3, -3e3])
    np.testing.assert_allclose(stop.force(depth), over @ gained, rtol=1e-12, atol=1e-12)
    energy = over**2 @ gained / 2
    np.testing.assert_allclose(stop.energy(depth), energy, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("contact", [
    jv.PowerContact(3e7, 1.7), jv.PowerContact(3e7, 2.0), jv.KelvinVoigtContact(1e4, 0.0),
    jv.PiecewiseLinearContact([1e3, 5e3], [0.01]),
])  # fmt: skip
def test_elastic_forces_are_the_slopes_of_their_energies(contact):
    depths = jnp.asarray([-1.0, -1e-9, 1e-6, 0.004, 0.03])
    rest = (jnp.zeros_like(depths),) if isinstance(contact, jv.KelvinVoigtContact) else ()
    slopes = jax.vmap(jax.grad(contact.energy))(depths)
    np.testing.assert_allclose(contact.force(depths, *rest), slopes, rtol=1e-13)


@pytest.mark.parametrize("speed", [0.7])
def test_a_body_bounces_back_with_the_exact_restitution(speed):
    system, start = free_body(law), [0.0, speed]
    end = jv.flow(system, start, 0.0, 3 * GAP / speed, rtol=1e-11)
    expected = exact_restitution(DAMPING * speed)
    assert float(end[1]) == pytest.approx(-expected * speed, rel=1e-8)


def test_contact_losses_and_largest_forces_are_observed():
    speed = 0.7

    def rates(t, s):
        depth = max(s[0], 0.0)
        force = STIFFNESS * depth**1.5 * max(1 + DAMPING * s[1], 0.0)
        return [s[1], -force / MASS]

    done = solve_ivp(
        rates, (0, 0.01), [0, speed], method="DOP853", rtol=1e-12, atol=1e-14,
        dense_output=True,
    )  # fmt: skip
    depth, rate = done.sol(np.linspace(0, 0.01, 400001))
    force = STIFFNESS * np.maximum(depth, 0) ** 1.5 * (1 + DAMPING * rate)
    _, seen, _ = observe(
        free_body(law), jnp.asarray([0.0, speed]), 0.0, 0.3, rtol=1e-11, grazing=1e-9
    )
    back = exact_restitution(DAMPING * speed)
    lost = MASS * speed**2 * (1 - back**2) / 2
    np.testing.assert_allclose(seen.lost, [lost], rtol=1e-7)
    np.testing.assert_allclose(seen.strongest, [force.max()], rtol=1e-7)
    assert int(seen.onsets[0]) == 1


@pytest.mark.parametrize("exponent", [1.2])
def test_a_power_law_lasts_as_long_as_the_beta_function_says(exponent):
    speed, stiffness, end = 0.7, 1e6, 0.3
    above = exponent + 1
    deepest = (above * MASS * speed**2 / (2 * stiffness)) ** (1 / above)
    lasts = 2 * deepest / speed * beta(1 / above, 0.5) / above
    found = jv.flow(
        free_body(jv.PowerContact(stiffness, exponent)), [0.0, speed], 0.0, end, rtol=1e-11
    )
    place = GAP - speed * (end - GAP / speed - lasts)
    np.testing.assert_allclose(found, [place, -speed], rtol=1e-8)


def test_two_sided_play_moves_as_scipy_with_events_says():
    stiffness, play, damping = 400.0, 0.06, 0.3
    flanks = jv.backlash(jnp.ones(1), play, jv.LinearContact(stiffness), "teeth")
    assert [flank.name for flank in flanks] == ["teeth-ahead", "teeth-behind"]
    load = jv.AppliedLoad([1.0], jv.HarmonicLoad(3.0, 4.0))
    system = jv.ImpactSystem(
        jv.LinearSystem([[MASS]], [[damping]], [[0.0]]), flanks, (load,)
    )
    time, state, side = 0.0, np.array([0.0, 0.4]), 0
    half = play / 2
    while time < 6.0:

        def rates(t, s, side=side):
            spring = stiffness * (s[0] - side * half) if side else 0.0
            return [s[1], (3.0 * np.cos(4.0 * t) - damping * s[1] - spring) / MASS]

        events = [lambda t, s: s[0] - half, lambda t, s: s[0] + half]
        for event, direction in zip(events, (1, -1), strict=True):
            event.terminal, event.direction = True, direction * (-1 if side else 1)
        # A release passes the flank the other way.
        done = solve_ivp(
            rates, (time, 6.0), state, method="DOP853", rtol=1e-12, atol=1e-14,
            events=events if not side else [events[0 if side > 0 else 1]],
        )  # fmt: skip
        time, state = done.t[-1], done.y[:, -1]
        if done.status == 1:
            side = 0 if side else int(np.sign(state[0]))
    found = jv.flow(system, [0.0, 0.4], 0.0, 6.0, rtol=1e-11, engine="event")
    np.testing.assert_allclose(found, state, rtol=0, atol=3e-9)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="damping = -1 s/m"):
        jv.HuntCrossleyContact(1.0, -1.0)
    with pytest.raises(ValueError, match=r"exponent = 0\.5"):
        jv.HuntCrossleyContact(1.0, 1.0, 0.5)
    with pytest.raises(ValueError, match=r"restitution = 1.5 .*\(0, 1\]"):
        jv.HuntCrossleyContact.with_restitution(1.0, 1.5, 1.0, rule="flores")
    with pytest.raises(ValueError, match="do not ascend"):
        jv.PiecewiseLinearContact([1.0, 2.0, 3.0], [0.2, 0.1])
    with pytest.raises(ValueError, match=r"allowed: \(m,\), \(m - 1,\)"):
        jv.PiecewiseLinearContact([1.0, 2.0], [0.2, 0.3])
    with pytest.raises(ValueError, match="play = -1 m"):
        jv.backlash(jnp.ones(1), -1.0, law)
