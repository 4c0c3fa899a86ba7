"""Checked against: the system built in Python, and complex amplitudes in closed form."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.systems.impact_laws import LAWS
from tests.studies.systems.test_impact_assembly import run

HARVESTER = builtin_studies.folder() / "harvester.toml"
ELEMENTS = """
[system]
kind = "impact_assembly"

[system.linear.modules]
ground-cart = { module = "translation_translation", mass = 2.0, stiffness = 100.0 }
rotor.angle = { module = "point_inertia", inertia = 0.1 }

[system.elements]
patch = { element = "piezoelectric", at = "cart", law = { capacitance = 1e-5, resistance = 2e3, coupling = 0.1 } }
coil = { element = "coil", at = "cart", law = { inductance = 0.1, resistance = 20.0, coupling = 3.0 } }
bush = { element = "maxwell", at = "rotor.angle", law = { stiffness = 9.0, damping = 0.4 } }

[system.loads]
push = { load = "harmonic", at = "cart", law = { amplitude = 3.0, frequency = 5.0 } }

[analysis]
kind = "periodic_orbit"

[sweep]
elements.patch.law.resistance = [1e3, 2e3]
"""  # noqa: E501


def written(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def test_elements_are_what_they_are_in_python(tmp_path):
    study = load(written(tmp_path, ELEMENTS))
    laws = {
        "patch": jv.PiezoelectricCircuit(1e-5, 2e3, 0.1),
        "coil": jv.CoilCircuit(0.1, 20.0, 3.0),
        "bush": jv.MaxwellElement(9.0, 0.4),
    }
    assert {type(law).__name__ for law in laws.values()} == {
        law.cls for law in LAWS["element"].values()
    }
    system = build(study)
    cart, rotor = np.eye(2)
    expected = jv.ImpactSystem(
        system.linear,
        loads=(jv.AppliedLoad(cart, jv.HarmonicLoad(3.0, 5.0), "push"),),
        elements=tuple(
            jv.StateElement(rotor if name == "bush" else cart, law, name)
            for name, law in laws.items()
        ),
    )
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)
        assert mine[path].unit == entry.unit
    assert mine["elements.bush.law.stiffness"].unit == "N m/rad"
    kind = SYSTEMS[study.system.kind]
    declared = kind.declared(study.system)
    assert set(declared) == {p for p, e in theirs.items() if np.ndim(e.value) == 0}
    for path, entry in declared.items():
        assert entry.unit == theirs[path].unit
    states = "patch.voltage", "coil.current", "bush.force"
    assert tuple(kind.axes(study.system)["state"][-3:]) == states


@pytest.mark.parametrize(("old", "new", "message"), [
    ('element = "coil"', 'element = "coils"', r'"coils" is not known; .* "coil"\?'),
    ("resistance = 2e3", "resistance = 0.0", r"patch.law.resistance = 0.0 is out of range"),
    ("[system.loads]", '[system.frictions]\nfloor = { friction = "coulomb", at = "cart", '
     "force = 0.5 }\n[system.loads]", "elements beside friction or hard stops"),
])  # fmt: skip
def test_what_is_no_element_is_refused(tmp_path, old, new, message):
    with pytest.raises(ValueError, match=message):
        build(load(written(tmp_path, ELEMENTS.replace(old, new))))


@pytest.mark.slow  # a run in a process of its own
def test_the_harvester_of_the_ready_study_has_the_voltage_of_its_circuit(tmp_path):
    # 300 rad/s: the tip does not reach the stop.
    text = HARVESTER.read_text()
    head, _, rest = text.partition("[analysis]")
    file = written(tmp_path, f"{head}[analysis]\nkind = 'periodic_orbit'\n"
                   f"[output]{rest.partition('[output]')[2]}")  # fmt: skip
    run(file, tmp_path / "out", "sweep.loads.shaker.motion.frequency=[300.0]")
    found = jv.open_study(tmp_path / "out")
    s = 300j
    ratio = 5e-3 * s / (5e-8 * s + 1 / 5e4)  # voltage per displacement
    place = -0.02 * 10.0 / (2800.0 + 0.15 * s + 0.02 * s**2 + 5e-3 * ratio)
    expected = [place.real, (s * place).real, (ratio * place).real]
    np.testing.assert_allclose(found["state"].values[0], expected, rtol=1e-6)
    np.testing.assert_allclose(found["amplitude"].values[0], [np.abs(place)], rtol=1e-6)
