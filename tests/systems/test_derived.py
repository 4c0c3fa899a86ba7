"""Checked against: the formulas by hand, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv

ONE = jnp.ones(1)
FORMULAS = {
    "loads.push.law.amplitude": "m * X * w**2",
    "loads.push.law.frequency": "w",
    "loads.third.law.frequency": "3 * loads.push.law.frequency",
}
VARIABLES = {"m": 2.0, "X": 0.01, "w": 5.0}


def plain():
    loads = [
        jv.AppliedLoad(ONE, jv.HarmonicLoad(1.0, 2.0), name) for name in ("push", "third")
    ]
    return jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[0.1]], [[3.0]]),
        (jv.Contact(ONE, 0.1, jv.LinearContact(50.0)),),
        tuple(loads),
    )


system = jv.derived(plain(), FORMULAS, VARIABLES, {"X": "m"})


def test_a_derived_parameter_has_the_value_of_its_formula_and_variables_are_parameters():
    values = {path: entry.value for path, entry in jv.parameters(system).items()}
    assert values["loads.push.law.amplitude"] == 2.0 * 0.01 * 25.0
    assert values["loads.third.law.frequency"] == 15.0
    assert values["variables.X"] == 0.01
    assert jv.parameters(system)["variables.X"].unit == "m"
    assert float(system.period()) == pytest.approx(2 * np.pi / 5, rel=1e-15)


def test_a_derived_parameter_follows_its_variables_with_derivatives():
    def product(w, mass):
        moved = jv.replace(system, {"variables.w": w, "variables.m": mass})
        return moved.loads[0].law.amplitude * moved.loads[1].law.frequency

    slopes = jax.jit(jax.grad(product, argnums=(0, 1)))(4.0, 2.0)
    np.testing.assert_allclose(slopes, [9 * 2.0 * 0.01 * 16, 3 * 0.01 * 64.0], rtol=1e-14)


def test_a_locked_load_follows_any_frequency_of_its_base():
    locked = jv.derived(
        plain(), {"loads.third.law.frequency": "3 * loads.push.law.frequency"}
    )
    for frequency in (1.0, np.pi, 7.3):
        moved = jv.replace(locked, {"loads.push.law.frequency": frequency})
        assert float(moved.period()) == pytest.approx(2 * np.pi / frequency, rel=1e-15)


def test_the_motion_is_that_of_the_values_by_hand():
    moved = jv.replace(system, {"variables.X": 0.2})
    by_hand = jv.replace(
        plain(),
        {
            "loads.push.law.amplitude": 2.0 * 0.2 * 25.0,
            "loads.push.law.frequency": 5.0,
            "loads.third.law.frequency": 15.0,
        },
    )
    found = [jv.flow(s, s.rest(), 0.0, 1.0, engine="event") for s in (moved, by_hand)]
    np.testing.assert_array_equal(*found)
    assert float(jnp.abs(found[0]).max()) > 0.1


@pytest.mark.parametrize(
    ("formulas", "message"),
    [
        ({"loads.push.law.amplitud": "2"}, "did you mean 'loads.push.law.amplitude'"),
        ({"loads.push.law.amplitude": "2 * Y"}, "'Y' is not known"),
        ({"loads.push.law.frequency": "-w"}, r"= -5 rad/s is not in \(0, inf\)"),
        ({"loads.push.direction": "w"}, "is an array"),
        (
            {
                "loads.push.law.frequency": "loads.third.law.frequency",
                "loads.third.law.frequency": "loads.push.law.frequency",
            },
            "form a cycle",
        ),
    ],
)
def test_formulas_that_cannot_be_followed_are_refused(formulas, message):
    with pytest.raises(ValueError, match=message):
        jv.derived(plain(), formulas, VARIABLES)


def test_a_derived_parameter_cannot_be_set():
    with pytest.raises(ValueError, match=r"is given by 'm \* X \* w\*\*2'"):
        jv.replace(system, {"loads.push.law.amplitude": 3.0})


def test_systems_without_bodies_have_no_formulas():
    with pytest.raises(
        ValueError, match="formulas for BeamChain; allowed: an ImpactSystem"
    ):
        jv.derived(jv.BeamChain(8, 1.0), {"gamma": "2"})


@pytest.mark.parametrize("unit", ["mm", "g", "rpm", "km/h", "%"])
def test_variables_in_python_are_in_si_as_all_numbers_are(unit):
    with pytest.raises(ValueError, match=f"X is in {unit}; allowed: units of SI"):
        jv.derived(plain(), FORMULAS, VARIABLES, {"X": unit})
