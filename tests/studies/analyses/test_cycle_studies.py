"""Checked against: the closed form of stick-slip on a belt."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.dynamics.test_friction import NUMBERS, stick_slip

BELT = """
[system]
kind = "impact_assembly"

[system.linear.modules.ground-body]
module = "translation_translation"
mass = 2.0
stiffness = 50.0

[system.frictions.belt]
friction = "coulomb"
at = "body"
force = 3.0
static = 5.0
speed = 0.1

[analysis]
kind = "periodic_orbit"
period = 1.5
traces = 2

[sweep]
frictions.belt.speed = [0.0, 0.05, 0.1, 0.2]

[output]
directory = "results"
"""
PUSH = '[system.loads.push]\nload = "harmonic"\nat = "body"\nlaw.amplitude = 1.0\n'


def study_of(tmp_path, text):
    file = tmp_path / "belt.toml"
    file.write_text(text)
    return load(file)


@pytest.mark.slow
def test_a_sweep_of_the_speed_of_a_belt_is_the_closed_form(tmp_path):
    study = study_of(tmp_path, BELT)
    kind, system = ANALYSES["periodic_orbit"], build(study)
    speeds = {"frictions.belt.speed": np.array([0.0, 0.05, 0.1, 0.2])}
    options = study.analysis, study.run
    fields = kind.compute(system, speeds, *options, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    assert found["result"].tolist() == [jv.Reason.EQUILIBRIUM, 0, 0, 0]
    # From rest at 0 the spring pulls by less than friction holds.
    assert found["amplitude"][0].tolist() == [0.0]
    for place, speed in enumerate(speeds["frictions.belt.speed"][1:], 1):
        period, _, _, top = stick_slip(NUMBERS.at[4].set(speed))
        np.testing.assert_allclose(found["period"][place], period, rtol=1e-12)
        np.testing.assert_allclose(found["amplitude"][place], [top - 0.06], rtol=1e-10)
        np.testing.assert_allclose(found["floquet_multipliers"][place], [1, 0], atol=1e-12)
    assert found["stable"].tolist() == [-1, 1, 1, 1]
    lines = kind.summary(lambda name: (speeds | found)[name], study)
    assert "period 1 with 0 contacts" in lines[0]
    assert "at rest" in lines[0]
    assert "0 undecided" in lines[1]


BASINS = """kind = "basins"
period = 1.25
grid = { body = [-0.44, 0.56], "rate of body" = [-1.5, 1.5] }
points = 7
box = 2
"""


@pytest.mark.slow
def test_basins_of_a_body_on_a_belt_are_computed_from_a_config(tmp_path):
    text = BELT.replace('kind = "periodic_orbit"\nperiod = 1.5\ntraces = 2\n', BASINS)
    text = text[: text.index("[sweep]")] + text[text.index("[output]") :]
    study = study_of(tmp_path, text)
    kind, system = ANALYSES["basins"], build(study)
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    # Without damping a body slides for ever about the middle, slower than the belt.
    mass, stiffness, sliding, _, belt = map(float, NUMBERS)
    away, speed = (found["starts"] - [sliding / stiffness, 0.0]).T
    slides = stiffness * away**2 + mass * speed**2 < mass * belt**2
    assert np.sum(slides) == 1
    np.testing.assert_array_equal(found["label"], np.where(slides, -1, 0))
    period = float(stick_slip(NUMBERS)[0])
    np.testing.assert_allclose(found["attractors.period"], [period], rtol=1e-9)
    lines = kind.summary(found.__getitem__, study)
    assert lines[0].startswith(f"A1: cycle, {period:.6g} s")
    assert lines[-1] == f"undecided  {int(slides.sum())} of 49 initial states"
