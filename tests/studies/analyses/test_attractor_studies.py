"""Checked against: the ranges that are declared, and the library's own calls."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES, SYSTEMS
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load

WELLS = """
system.kind = "impact_assembly"
output.directory = "wells"

[system.linear.modules.ground-body]
module = "translation_translation"
mass = 1.0
stiffness = 1.0
damping = 0.3

[system.springs.wells]
spring = "polynomial"
at = "body"
law.coefficients = [-2.0, 0.0, 1.0]

[system.loads.push]
load = "constant"
at = "body"
law.force = 0.1

[analysis]
kind = "basins"
grid.body = [-2.0, 2.0]
grid."rate of body" = [-2.0, 2.0]
points = 6
period = 4.0
"""
INTEGRITY = (
    WELLS.replace('"basins"', '"integrity_curves"')
    + """
path = "loads.push.law.force"
bounds = [0.1, 0.45]
values = 3
box = 3
shock.body = 0.5
largest_shock = 10.0
"""
)


@pytest.mark.parametrize("name", ["basins", "bifurcation_diagram"])
def test_components_have_the_names_that_the_results_have(name):
    study = load(builtin_studies.folder() / f"{name}.toml")
    assert list(build(study).state_names) == study.axes["state"]
    assert SYSTEMS[study.system.kind].axes(study.system)["state"] == study.axes["state"]


@pytest.mark.slow
@pytest.mark.parametrize("sweep", ["rest", "both"])
def test_a_diagram_is_that_of_the_library(tmp_path, sweep):
    study = load(
        builtin_studies.folder() / "bifurcation_diagram.toml",
        ["analysis.values=3", f"analysis.sweep={sweep}", "analysis.transient=64",
         "analysis.points=16"],
    )  # fmt: skip
    system = build(study)
    kind = ANALYSES["bifurcation_diagram"]
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    expected = jv.bifurcation_diagram(
        system, "load.frequency", [5.0, 6.5, 8.0], follow=sweep != "rest",
        points=16, settings=jv.orbits.SettlingSettings(64, rtol=study.run.rtol),
    )  # fmt: skip
    number = 6 if sweep == "both" else 3
    assert fields["load.frequency"].values.shape == (number,)
    np.testing.assert_allclose(fields["states"].values[:3], expected.states)
    lines = kind.summary(lambda name: fields[name].values, study)
    assert lines[0].startswith("motions ")
    assert "load.frequency = " in lines[1]


@pytest.mark.slow
def test_a_config_finds_two_wells_under_a_constant_load(tmp_path):
    file = tmp_path / "wells.toml"
    file.write_text(WELLS)
    study = load(file)
    kind, system = ANALYSES["basins"], build(study)
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    rest = np.sort(np.roots([-1.0, 0.0, 1.0, 0.1]).real)[[0, 2]]
    np.testing.assert_allclose(fields["attractors.state"].values[:, 0], rest, rtol=1e-12)
    lines = kind.summary(lambda name: fields[name].values, study)
    assert lines[0].startswith("A2: equilibrium")
    assert lines[-1] == "undecided  0 of 36 initial states"


@pytest.mark.slow
def test_a_config_stores_robustness_and_shocks_of_basins(tmp_path):
    file = tmp_path / "wells.toml"
    more = "box = 3\nshock.body = 0.5\nlargest_shock = 10.0\n"
    file.write_text(WELLS + more)
    study = load(file)
    kind, system = ANALYSES["basins"], build(study)
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    entropy = jv.orbits.basin_entropy(found["label"].reshape(6, 6), 3)
    np.testing.assert_array_equal(found["robustness.entropy"], entropy.entropy)
    upper = found["attractors.state"][1]
    shock = jv.orbits.smallest_shock(system, upper, {0: 0.5}, 10.0, period=4.0)
    np.testing.assert_allclose(found["shock.size"][1], shock.size, rtol=1e-6)
    lines = kind.summary(lambda name: found[name], study)
    assert f"smallest shock {float(shock.size):.4g}" in lines[0]
    assert lines[2].startswith(f"basin entropy {float(entropy.entropy):.3g}")


@pytest.mark.slow  # basins of three systems, and shocks
def test_integrity_curves_of_a_config_end_at_the_fold_and_are_those_of_the_library(
    tmp_path,
):
    file = tmp_path / "curves.toml"
    file.write_text(INTEGRITY)
    study = load(file)
    kind, system = ANALYSES["integrity_curves"], build(study)
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    force = found["loads.push.law.force"]
    np.testing.assert_array_equal(force, [0.1, 0.275, 0.45])
    assert fields["loads.push.law.force"].unit == "N"
    for row, each in enumerate(force):  # of x - x^3 + force = 0
        roots = np.roots([-1.0, 0.0, 1.0, each])
        rest = np.sort(roots[np.abs(roots.imag) < 1e-12].real)[[0, -1]]
        states = found["state"][row, :, 0]
        np.testing.assert_allclose(
            states, rest if row < 2 else [np.nan, rest[0]], rtol=1e-9
        )
    grid = {0: np.linspace(-2, 2, 6), 1: np.linspace(-2, 2, 6)}
    settings = jv.orbits.SettlingSettings(rtol=study.run.rtol)
    basins = jv.basins(
        jv.replace(system, {"loads.push.law.force": 0.275}),
        jv.orbits.state_grid(system, grid), period=4.0, settings=settings,
    )  # fmt: skip
    measured = jv.orbits.robustness(basins, box=3)
    np.testing.assert_array_equal(found["share"][1], basins.share)
    np.testing.assert_array_equal(found["local_integrity"][1], measured.local_integrity)
    np.testing.assert_array_equal(found["entropy"][1], measured.entropy.entropy)
    shock = jv.orbits.smallest_shock(
        system, [*found["state"][0, 1]], {0: 0.5}, 10.0, period=4.0, settings=settings
    )
    np.testing.assert_allclose(found["shock.size"][0, 1], shock.size, rtol=1e-6)
    assert np.isnan(found["shock.size"][2, 0])  # it does not exist any more
    lines = kind.summary(lambda name: found[name], study)
    assert lines[1].startswith("A1         at 2 of 3 values; least share ")
    assert lines[-1] == "undecided  at most 0.0% of the initial states of a value"


@pytest.mark.slow
def test_the_body_with_a_stop_has_a_motion_with_and_one_without_contact():
    study = load(builtin_studies.folder() / "basins.toml", ["analysis.points=6"])
    kind, system = ANALYSES["basins"], build(study)
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    # Without contact it is linear: F / (k - m w^2 + i c w), within the gap.
    response = 60 / (1e4 - 100 * 12.5**2 + 40j * 12.5)
    assert abs(response) < 0.02
    linear = [response.real, -12.5 * response.imag]
    np.testing.assert_allclose(fields["attractors.state"].values[0], linear, rtol=1e-6)
    lines = kind.summary(lambda name: fields[name].values, study)
    assert lines[0].startswith("A2: period 1, 1 contact")
    assert lines[-1] == "undecided  0 of 36 initial states"


@pytest.mark.slow  # compiles a diagram of its own, 4 s
def test_a_drill_string_that_slides_has_the_exponent_of_its_slowest_mode():
    # While its bit slides at about the speed of the top drive it is linear, but for the
    # slope of the friction there, 1500 + 1100 / (1 + v / 1.5).
    speeds, exponents = np.array([10.0, 12.0, 14.0]), []
    inertia, spring = np.diag([900.0, 400.0]), 900.0 * np.array([[2.0, -1.0], [-1.0, 1.0]])
    for speed in speeds:
        falls = 1100.0 / 1.5 / (1 + speed / 1.5) ** 2
        damping = np.array([[80.0, -20.0], [-20.0, 20.0 - falls]])
        lower = -np.linalg.solve(inertia, np.hstack([spring, damping]))
        matrix = np.vstack([np.eye(2, 4, 2), lower])
        exponents.append(np.linalg.eigvals(matrix).real.max())
    system = build(load(builtin_studies.folder() / "drill_string.toml"))
    friction = 1500.0 + 1100.0 / (1 + speeds[0] / 1.5)
    start = np.append(np.linalg.solve(spring, [0.0, -friction]), [0.0, 0.0])
    found = jv.bifurcation_diagram(system, "variables.speed", speeds, state=start)
    assert found.periods.tolist() == [1] * 3
    np.testing.assert_allclose(found.lyapunov_exponent, exponents, rtol=1e-5)
    # Of the load's 100 N m what inertia lets through.
    expected = 100.0 / (400.0 * (3 * speeds) ** 2)
    np.testing.assert_allclose(found.orbits.amplitude[:, 1], expected, rtol=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bifurcation_diagram", "drill_string", "bouncing_ball"])
def test_what_ready_studies_call_periodic_has_the_exponent_of_its_multiplier(name):
    study = load(builtin_studies.folder() / f"{name}.toml")
    system, options = build(study), study.analysis
    kind = ANALYSES["bifurcation_diagram"]
    fields = kind.compute(system, {}, options, study.run, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    periodic = np.flatnonzero(found["result"] == 0)
    for motion in periodic[:: len(periodic) // 10]:
        value, periods = found[options.path][motion], int(found["periods"][motion])
        one, state = jv.replace(system, {options.path: value}), found["states"][motion]
        check_exponent(one, state[0], periods, found["lyapunov_exponent"][motion])


@pytest.mark.slow
def test_attractors_of_basins_have_the_exponents_of_their_multipliers():
    study = load(builtin_studies.folder() / "basins.toml")
    system, options = build(study), study.analysis.model_copy(update={"points": 8})
    fields = ANALYSES["basins"].compute(system, {}, options, study.run, lambda done: None)
    found = {name: field.values for name, field in fields.items()}
    periodic = np.flatnonzero(found["attractors.result"] == 0)
    assert len(periodic) > 1
    for each in periodic:
        periods = int(found["attractors.periods"][each])
        exponent = found["attractors.lyapunov_exponent"][each]
        check_exponent(system, found["attractors.state"][each], periods, exponent)


def check_exponent(system, state, periods, exponent):
    orbit = jv.periodic_orbit(system, state, periods)
    growth = np.exp(exponent * float(orbit.period))
    error = 2 * float(orbit.multiplier_error) + 1e-8 * growth
    # It is NaN where a multiplier is only known to be less than its error or rounding.
    if np.isnan(growth):
        growth, error = 0.0, max(1.5e-14, float(orbit.multiplier_error))
    assert abs(growth - orbit.largest_multiplier) < error
