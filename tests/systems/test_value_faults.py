"""Checked against: whether `replace` refuses the same values, not traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib import systems
from jaxvib.systems.sample_checks import value_faults

MODULE = jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=10.0, damping=0.1)
TIMES, VALUES = np.arange(4.0), np.array([0.0, 1.0, -1.0, 0.0])
LAWS = [
    jv.RecordLoad(TIMES, VALUES, periodic=True),
    jv.PulseLoad("half_sine", amplitude=1.0, start=0.0, duration=0.1, every=3.0),
]
WHOLE = jv.ImpactSystem(
    jv.assemble([MODULE]),
    contacts=(
        jv.Contact(
            [1.0], 0.1, systems.PiecewiseLinearContact([10.0, 20.0, 30.0], [0.1, 0.2])
        ),
    ),
    loads=tuple(jv.AppliedLoad([1.0], law) for law in LAWS),
    springs=(
        jv.NonlinearSpring([1.0], systems.PiecewiseLinearLaw([1.0, 2.0, 3.0], [0.1, 0.2])),
    ),
    frictions=(jv.CoulombFriction([1.0], force=0.5, static=0.8),),
)
VARIABLE = systems.derived(
    WHOLE, {"linear.modules.ground-a.mass": "2 - x"}, variables={"x": 1.0}
)
CHANGES = [
    {"frictions.0.force": 0.9},
    {"frictions.0.force": 0.8},
    {"frictions.0.static": 0.4, "frictions.0.force": 0.3},
    {"frictions.0.direction.0": 0.0},
    {"contacts.0.direction.0": 0.0},
    {"contacts.0.law.depths.1": 0.1},
    {"contacts.0.law.depths.1": 0.11},
    {"springs.0.direction.0": 0.0},
    {"springs.0.law.breaks.0": 0.3},
    {"springs.0.law.breaks.0": -0.3},
    {"loads.0.law.values.3": 0.1},
    {"loads.0.law.values.2": 0.1},
    {"loads.0.law.times.1": 2.5},
    {"loads.1.law.every": 0.05},
    {"loads.1.law.duration": 2.9},
    {"variables.x": 2.0},
    {"variables.x": 1.9},
    {"variables.x": 2.5},
    {"linear.modules.ground-a.mass": 0.0},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_traced_values_are_refused_together_as_others_are(change):
    system = VARIABLE if "variables.x" in change else WHOLE

    @jax.jit
    def refused(values):
        faults = value_faults(jv.replace(system, values))
        return jnp.any(jnp.stack([jnp.asarray(wrong) for wrong in faults.values()]))

    try:
        jv.replace(system, change)
    except ValueError:
        assert bool(refused(change))
    else:
        assert not bool(refused(change))
