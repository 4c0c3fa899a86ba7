"""Checked against: scipy's eigenvalues of matrices that are written down by hand."""

import numpy as np
import pytest
import scipy.linalg

from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load_text

TWO_BODIES = """
system.kind = "two_body_impact"
analysis.kind = "natural_modes"
sweep.attached.mass = [100.0, 250.0]
"""
TOWER = """
system.kind = "impact_assembly"
analysis.kind = "natural_modes"
sweep.linear.modules.first-roof.mass = [100.0, 250.0]

[system.linear.modules]
ground-first = { module = "translation_translation", mass = 1000.0, stiffness = 4e4 }
first-roof = { module = "translation_translation", mass = 100.0, stiffness = 3e3 }

[system.contacts.stop]
contact = "hard"
at = "roof"
gap = 0.0
law.restitution = 0.8

[system.frictions.guide]
friction = "coulomb"
at = "first"
force = 5.0

[system.loads.run_up]
load = "chirp"
at = "first"
law.amplitude = 60.0
law.first_frequency = 5.0
law.last_frequency = 40.0
law.start = 0.0
law.duration = 10.0
"""
SPRING = """
[system.springs.cubic]
spring = "polynomial"
at = "roof"
law.coefficients = [10.0, 0.0, 1e6]
"""


def modes_of(text):
    study = load_text(text)
    kind, system = ANALYSES["natural_modes"], build(study)
    kind.check(study.analysis, {}, {}, system)
    samples = {path: np.array([100.0, 250.0]) for path in study.paths}
    fields = kind.compute(system, samples, study.analysis, study.run, lambda done: None)
    return {name: fields[name].values for name in fields}, study


def expected(main, springs, attached):
    mass = np.diag([main, attached])
    stiffness = np.array(
        [[springs[0] + springs[1], -springs[1]], [-springs[1], springs[1]]]
    )
    return scipy.linalg.eigh(stiffness, mass)


@pytest.mark.parametrize("text", [TWO_BODIES, TOWER])
def test_an_impacting_system_has_the_modes_of_its_modules(text):
    found, study = modes_of(text)
    for place, attached in enumerate([100.0, 250.0]):
        springs = 4e4, 3e3
        if text is TWO_BODIES:
            springs = 1000 * 6.283**2, attached * 5.646**2
        squares, shapes = expected(1000.0, springs, attached)
        np.testing.assert_allclose(found["frequencies"][place] ** 2, squares, rtol=1e-12)
        kinetic = np.array([1000.0, attached])[:, None] * shapes**2
        np.testing.assert_allclose(found["kinetic_shares"][place], kinetic, rtol=1e-10)
        strained = np.stack([springs[0] * shapes[0] ** 2,
                             springs[1] * (shapes[1] - shapes[0]) ** 2])  # fmt: skip
        np.testing.assert_allclose(
            found["potential_shares"][place], strained / squares, rtol=1e-10
        )
    assert found["potential_shares"].shape[1] == len(study.axes["module"]) == 2


def test_springs_of_other_laws_are_in_no_module():
    with pytest.raises(ValueError, match="nonlinear springs; allowed: modules"):
        modes_of(TOWER + SPRING)
