"""Checked against: the messages of the same numbers in a single system."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.orbits.samples.regimes import batched
from jaxvib.studies.analyses.sample_systems import each_system

PUSH = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 2.5), "push")


def body(load=PUSH, **parts):
    linear = jv.LinearSystem([[2.0]], [[0.2]], [[8.0]])
    return jv.ImpactSystem(linear, loads=(load,), **parts)


def pushed(law):
    return body(jv.AppliedLoad([1.0], law, "push"))


def stopped(law, direction=1.0):
    return body(contacts=(jv.Contact([direction], 0.3, law, "stop"),))


def sprung(law):
    return body(springs=(jv.NonlinearSpring([1.0], law, "spring"),))


TWO = np.eye(2)
ROUND = jv.AnnularContact(TWO, 1e-3, jv.LinearContact(1e5), name="hole")
ROTOR = jv.ImpactSystem(
    jv.LinearSystem(TWO, 0.1 * TWO, TWO), (ROUND,), (jv.AppliedLoad(TWO[0], PUSH.law, "u"),)
)
STICK = jv.CoulombFriction([1.0], force=0.1, static=0.2, name="pad")
WAVE = jv.RecordLoad([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0], periodic=True)
COIL = jv.StateElement([1.0], jv.CoilCircuit(0.1, 2.0, 1.0), "coil")
TWICE = jv.derived(
    body(), {"loads.push.law.frequency": "twice - 1"}, variables={"twice": 3.5}
)
# Of each: a system, a path, values of which the last alone contradicts the others.
WRONG = {
    "friction": (body(frictions=(STICK,)), "frictions.pad.static", [0.2, 0.3, 0.05]),
    "stop": (
        stopped(jv.PiecewiseLinearContact([10.0, 20.0, 30.0], [0.1, 0.2])),
        "contacts.stop.law.depths.0", [0.05, 0.1, 0.4],
    ),
    "spring": (
        sprung(jv.PiecewiseLinearLaw([10.0, 20.0, 5.0], [0.1, 0.2])),
        "springs.spring.law.breaks.0", [0.05, 0.1, 0.4],
    ),
    "direction of a contact": (
        stopped(jv.LinearContact(10.0)), "contacts.stop.direction.0", [1.0, 0.5, 0.0]
    ),
    "direction of a spring": (
        sprung(jv.PolynomialLaw([1.0])), "springs.spring.direction.0", [1.0, 0.5, 0.0]
    ),
    "direction of an element": (
        body(elements=(COIL,)), "elements.coil.direction.0", [1.0, 0.5, 0.0]
    ),
    "axes of a hole": (ROTOR, "contacts.hole.directions.1.1", [1.0, 0.5, 0.0]),
    "pulses": (
        pushed(jv.PulseLoad("half_sine", 1.0, 0.0, 0.5, 2.0)),
        "loads.push.law.duration", [0.5, 1.0, 3.0],
    ),
    "times": (pushed(WAVE), "loads.push.law.times.1", [1.0, 1.5, 2.5]),
    "period of a record": (pushed(WAVE), "loads.push.law.values.0", [0.0, 0.0, 0.5]),
    "mass": (body(), "linear.mass.0.0", [2.0, 1.0, -1.0]),
    "range": (body(), "loads.push.law.frequency", [2.5, 3.0, -1.0]),
    "formula": (TWICE, "variables.twice", [3.5, 3.0, 0.5]),
}  # fmt: skip


@pytest.mark.parametrize("into", [batched, each_system])
@pytest.mark.parametrize(("system", "path", "values"), WRONG.values(), ids=WRONG)
def test_a_later_sample_that_cannot_be_is_named_as_alone(system, path, values, into):
    with pytest.raises(ValueError, match=r"\S") as alone:
        jv.replace(system, {path: values[-1]})
    with pytest.raises(ValueError, match="sample 2, ") as found:
        into(system, {path: np.array(values)})
    assert str(found.value) == f"sample 2, {path} = {values[-1]:g}: {alone.value}"
    into(system, {path: np.array(values[:-1])})
