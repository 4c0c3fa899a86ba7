"""Checked against: the linear response to each load in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.systems.periods import check_period, period_of


def under(*frequencies):
    """Return a body on a spring under loads of these frequencies."""
    linear = jv.LinearSystem(jnp.eye(1), 0.3 * jnp.eye(1), 4.0 * jnp.eye(1))
    loads = [
        jv.AppliedLoad(jnp.ones(1), jv.HarmonicLoad(1.0 + i, w), name=f"load{i}")
        for i, w in enumerate(frequencies)
    ]
    return jv.ImpactSystem(linear, (), tuple(loads))


def moved_to(system, value):
    """Return a system whose second load has another frequency."""
    return jv.replace(system, {"loads.load1.law.frequency": value})


TWO = under(1.0, 2.0)


@pytest.mark.parametrize(
    ("frequencies", "turns"),
    [
        ((1.0, 2.0), 1),
        ((1.0, 1.75), 4),
        ((2.0, 3.0), 2),
        ((0.3, 0.7, 1.1), 3),
        ((3.1, 6.3), 31),
    ],
)
def test_loads_in_whole_ratios_have_a_common_period(frequencies, turns):
    longest = 2 * np.pi / min(frequencies)
    system = under(*frequencies)
    assert float(system.period()) == pytest.approx(turns * longest, rel=1e-13)
    # The period of loads that all move alike moves with them.
    moved = jax.grad(lambda f: under(*(f * w for w in frequencies)).period())(1.0)
    assert float(moved) == pytest.approx(-turns * longest, rel=1e-12)


def test_loads_that_never_repeat_together_are_refused():
    with pytest.raises(
        ValueError, match="without a common one; allowed: ratios of integers"
    ):
        under(1.0, np.sqrt(2.0))
    with pytest.raises(ValueError, match="without a common one"):
        jv.periodic_orbit(jax.jit(moved_to)(TWO, np.sqrt(2.0)))


@pytest.mark.slow  # compiles an orbit, 4 s
def test_an_orbit_of_loads_in_a_whole_ratio_is_the_response_to_both():
    system = moved_to(TWO, 1.75)
    orbit = jv.periodic_orbit(system, jnp.zeros(2))
    assert int(orbit.result) == Reason.SUCCESS
    response = [force / (4.0 - w**2 + 0.3j * w) for force, w in ((1.0, 1.0), (2.0, 1.75))]
    expected = sum(response).real, (1j * response[0] + 1.75j * response[1]).real
    np.testing.assert_allclose(orbit.state, expected, rtol=0, atol=1e-9)


def test_samples_without_a_period_have_their_reason():
    @jax.jit
    @jax.vmap
    def orbits(frequency):
        orbit = jv.periodic_orbit(moved_to(TWO, frequency), jnp.zeros(2))
        section = jv.orbits.poincare_section(moved_to(TWO, frequency), jnp.zeros(2), 2, 2)
        return orbit.result, orbit.state, section.result

    codes, states, sections = orbits(jnp.array([2.0, np.sqrt(2.0), 1.5, jnp.nan]))
    expected = [0, Reason.NO_COMMON_PERIOD, 0, Reason.BAD_PARAMETER]
    assert codes.tolist() == expected
    assert sections.tolist() == expected
    assert np.isnan(states[1]).all() or float(jnp.abs(states[1]).max()) == 0.0
    assert Reason.NO_COMMON_PERIOD.failed


def test_one_of_two_frequencies_cannot_be_followed():
    orbit = jv.periodic_orbit(TWO, jnp.zeros(2))
    message = r"bounds of loads\.load1\.law\.freq.* without a common one"
    with pytest.raises(ValueError, match=message):
        jv.continue_orbit(TWO, orbit, "loads.load1.law.frequency", (1.5, 2.5))


def swing(period):
    """Return a forced swing with a period that may be wrong."""
    return jv.forced_system(
        lambda t, x, p: [x[1], jnp.cos(p["w"] * t) - x[0] - 0.1 * x[1]],
        parameters={"w": 1.3},
        period=period,
        dimension=2,
    )


def test_a_field_that_does_not_repeat_in_its_period_is_refused():
    wrong = swing(2 * np.pi)
    for verb in (
        jv.periodic_orbit,
        lambda s: jv.orbits.poincare_section(s, jnp.zeros(2), 1, 0),
    ):
        with pytest.raises(
            ValueError, match=r"period = 6.283185307 s is not a period: the field"
        ):
            verb(wrong)
    code = jax.jit(lambda s: jv.orbits.poincare_section(s, jnp.zeros(2), 1, 0).result)(
        wrong
    )
    assert int(code) == Reason.NO_COMMON_PERIOD
    right = swing(lambda p: 2 * jnp.pi / p["w"])
    check_period(right)
    assert float(period_of(right)) == float(right.period())


def test_a_field_without_time_has_any_period():
    check_period(
        jv.forced_system(
            lambda t, x, p: [x[1], (1 - x[0] ** 2) * x[1] - x[0]],
            parameters={},
            period=1.7,
            dimension=2,
        )
    )


def test_constant_loads_leave_the_period_to_others_and_have_none_themselves():
    weight = jv.AppliedLoad(jnp.ones(1), jv.ConstantLoad(2.0), name="weight")
    one = jv.ImpactSystem(under(1.7).linear, (), (weight, *under(1.7).loads))
    assert float(one.period()) == float(under(1.7).period())
    series = jv.AppliedLoad(jnp.ones(1), jv.FourierLoad(1.0, [1.0, 0.3], [0.0, 0.2], 1.0))
    both = jv.ImpactSystem(one.linear, (), (weight, series, *under(1.5).loads))
    assert float(both.period()) == pytest.approx(4 * np.pi, rel=1e-14)
    still = jv.ImpactSystem(one.linear, (), (weight, weight))
    for call in (still.period, lambda: jv.periodic_orbit(still)):
        with pytest.raises(ValueError, match="all loads are constant"):
            call()
