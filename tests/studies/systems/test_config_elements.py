"""Checked against: the system built in Python, and complex amplitudes in closed form."""

import numpy as np
import pytest
import xarray

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES, SYSTEMS
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.store.finished_study import Run
from jaxvib.studies.systems.variations import LAWS
from tests.studies.configs import written
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
     "force = 0.5 }\n[system.loads]", "elements with states cannot be combined with"),
])  # fmt: skip
def test_invalid_elements_are_refused(tmp_path, old, new, message):
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


TRANSIENTS = """
[analysis]
kind = "response"
duration = 0.1
points = 21
[output]
directory = "x"
"""
NOISY = """
[analysis]
kind = "noise_response"
load = "shaker"
noise = { filter = "low_pass", density = 1.0, frequency = 300.0, damping_ratio = 0.6, highest = 600.0 }
duration = 0.1
seeds = 4
[output]
directory = "x"
"""  # noqa: E501


def harvested(tmp_path, analysis):
    """Return the study of the harvester with an analysis, and its fields."""
    head, _, _ = HARVESTER.read_text().partition("[analysis]")
    study = load(written(tmp_path, head + analysis))
    system, kind = build(study), ANALYSES[study.analysis.kind]
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    return study, system, fields


@pytest.mark.slow  # compiles a response and a motion with a stop, 4 s
def test_a_response_of_a_harvester_stores_its_voltage(tmp_path):
    study, system, fields = harvested(tmp_path, TRANSIENTS)
    found = jv.response(system, 0.1, rtol=study.run.rtol)
    for name in ("peak", "max_contact_force", "contacts", "state"):
        np.testing.assert_allclose(fields[name].values[0], getattr(found, name), rtol=1e-9)
    voltage = fields["further_states"]
    assert voltage.axes == ("sample", "time", "further")
    assert voltage.attributes["component_units"] == "V"
    motion = jv.simulate(system, system.rest(), np.linspace(0, 0.1, 21), study.run.rtol)
    np.testing.assert_allclose(voltage.values[0], motion.states[:, 2:], rtol=1e-7)
    run = finished(study, fields)
    displacement, voltages = ANALYSES["response"].pictures([run])[0].charts
    assert voltages.y.label == "circuit.voltage (V)"
    np.testing.assert_array_equal(voltages.layers[0].y, voltage.values[0, :, 0])
    assert displacement.layers[0].name == "tip"


@pytest.mark.slow  # compiles responses to noise, 4 s
def test_noise_on_a_harvester_has_variances_of_all_states_and_no_linear_ones(tmp_path):
    study, _, fields = harvested(tmp_path, NOISY)
    assert fields["variance"].values.shape == (1, 3)
    assert np.isnan(fields["linear_variance"].values).all()
    lines = ANALYSES["noise_response"].summary(lambda name: fields[name].values, study)
    assert not any(line.startswith("linear") for line in lines)


def finished(study, fields):
    """Return the fields as a finished study has them."""
    results = xarray.Dataset(
        {name: (each.axes, each.values, each.attributes) for name, each in fields.items()}
    )
    described = {
        "analysis": study.analysis.kind, "system": study.system.kind, "title": "t",
        "coordinates": [], "axes": study.axes, "config": study.resolved(), "grid": {},
    }  # fmt: skip
    return Run("run", results, None, described, {}, "")
