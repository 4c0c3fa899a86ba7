"""Checked against: `jv.beam_eigenvalues` of each system, differences; the messages."""

import numpy as np
import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.studies.configs import run

FILE = builtin_studies.folder() / "beam_with_bodies.toml"
RIGID_BODY = """
[system]
kind = "beam_with_bodies"
ends = ["elastic", "hinged"]
beam.ends.0.stiffness = 40.0
beam.ends.0.rotational_stiffness = 3.0
positions = [0.3, 0.6, 0.8]
link_stiffness = [50.0, 80.0, 0.0]
link_damping = [0.3, 0.1, 0.0]
link_inertance = [0.0, 0.0, 0.2]
link_map = [[1.0, -0.15], [1.0, 0.15], [0.0, 0.0]]
mass = [0.7, 0.01]
turns = [false, false, true]

[analysis]
kind = "beam_eigenvalues"
count = 4

[sweep]
mass.1.1 = [0.01, 0.02]
"""


def test_a_config_builds_the_system_that_it_describes(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(RIGID_BODY)
    study = load(file)
    system = build(study)
    beam = jv.Beam(1.0, 0.675, 36.45831, (jv.ElasticSupport(40.0, 3.0), "hinged"))
    expected = jv.BeamWithBodies(
        beam, [0.3, 0.6, 0.8], [50.0, 80.0, 0.0], [0.3, 0.1, 0.0],
        [[1.0, -0.15], [1.0, 0.15], [0.0, 0.0]], np.diag([0.7, 0.01]),
        link_inertance=[0.0, 0.0, 0.2], turns=[False, False, True],
    )  # fmt: skip
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert set(mine) == set(theirs)
    for path in theirs:
        np.testing.assert_array_equal(mine[path].value, theirs[path].value)
    assert system.turns == expected.turns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mass=[0.1, 0.1]", "system.link_map is missing"),
        ("link_stiffness=[1.0]", "link_stiffness has 1 entries; allowed: 3"),
        ("beam.ends.0.stiffness=3.0", "that end is clamped"),
        ("beam.lenght=2.0", "did you mean system.beam.length"),
        ("sweep.link_stifness.0=[1.0, 2.0]", "did you mean link_stiffness.0"),
        ("analysis.count=0", "analysis.count = 0 is out of range"),
        ("analysis.kind=periodic_orbit", "does not support"),
        ("sweep.mass.1.1=[-0.1, 0.1]", r"mass.1.1 takes the value -0.1; allowed: \[0, inf"),
        ("sweep.link_inertance.0=[-0.1, 0.1]", r"the value -0.1; allowed: \[0, inf"),
    ],
)
def test_mistakes_are_met_with_the_path_and_what_is_allowed(change, message):
    with pytest.raises(ValueError, match=message):
        load(FILE, [change])


def test_a_body_of_negative_mass_is_refused(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["check", str(FILE), "--set", "mass=[0.1, -0.1, 0.1]"])
    assert done.exit_code == 2
    assert "mass.1.1 = -0.1 kg is not in [0, inf)" in done.output


@pytest.mark.parametrize(
    "mass", [-1e-9, [[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.1], [0.1, 1.0]], [[-1.0]]], ids=str
)
def test_bodies_of_negative_kinetic_energy_are_refused(mass):
    """One motion of [[1, 2], [2, 1]] has the energy -1/2: z = (1, -1)."""
    mass = np.atleast_2d(mass)
    with pytest.raises(ValueError, match="mass"):
        jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0), mass=mass)
    jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0), mass=mass @ mass.T)
    jv.BeamWithBodies(jv.Beam(1.0, 1.0, 1.0), mass=np.ones((3, 3)))


@pytest.mark.slow
def test_a_study_stores_the_results_of_single_calls(tmp_path):
    stiffness = [0.1, 30.0, 70.0, 1e3]
    sets = [f"sweep.link_stiffness.0={stiffness}", "analysis.count=5", "analysis.shapes=2",
            "analysis.points=11", "output.report=false"]  # fmt: skip
    done = run(FILE, tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    assert "certified  4 of 4" in done.output
    results = jv.open_study(tmp_path / "out")
    assert bool(results["certified"].all())
    system = build(load(FILE))

    def values_at(first):
        return jv.beam_eigenvalues(jv.replace(system, {"link_stiffness.0": first}), 5)

    for row, first in enumerate(stiffness):
        expected = np.asarray(values_at(first).values)
        np.testing.assert_allclose(results["values"][row], expected, rtol=1e-12)
    step = 1e-4
    difference = values_at(30.0 + step).values - values_at(30.0 - step).values
    slopes = results["slopes.link_stiffness.0"][1]
    np.testing.assert_allclose(slopes, difference / (2 * step), rtol=1e-6, atol=1e-8)
    shapes = jv.open_study(tmp_path / "out", "mode_shapes")
    assert list(shapes["sample"]) == [0, 3]
    modes = values_at(1e3)
    points = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(shapes["shapes"][1], modes.shape(points), atol=1e-9)
    np.testing.assert_allclose(shapes["bodies"][1], modes.bodies, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_one_design_is_a_study_too(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(RIGID_BODY.partition("[sweep]")[0])
    done = run(file, tmp_path / "out", "analysis.points=11", "output.report=false")
    assert done.exit_code == 0, done.output
    assert "certified  1 of 1" in done.output
    results = jv.open_study(tmp_path / "out")
    modes = jv.beam_eigenvalues(build(load(file)), count=4)
    np.testing.assert_array_equal(results["values"][0], modes.values)
    shapes = jv.open_study(tmp_path / "out", "mode_shapes")
    assert shapes["shapes"].shape == (1, 4, 11)


def test_numbers_that_overflow_have_no_starts_and_say_so():
    system = build(load(FILE, ["system.link_damping=[1e308, 0.1, 0.1]"]))
    with pytest.raises(ValueError, match="so large that the matrices are not finite"):
        jv.beam_eigenvalues(system, count=3)


@pytest.mark.slow
def test_a_sample_that_overflows_loses_no_other(tmp_path):
    sets = ["analysis.count=3", "analysis.shapes=4", "output.report=false"]
    good, bad = [0.05, 0.1, 0.2, 0.3], [0.05, 0.1, 1e308, 0.3]
    for name, column in (("good", good), ("bad", bad)):
        done = run(FILE, tmp_path / name, *sets, f"sweep={{link_damping.0={column}}}")
        assert done.exit_code == (name == "bad"), done.output
    one, other = (jv.open_study(tmp_path / name) for name in ("good", "bad"))
    assert other["result"].values.tolist() == [0, 0, jv.Reason.BAD_PARAMETER, 0]
    assert np.isnan(other["values"].values[2]).all()
    for field in ("values", "residuals", "radius"):
        np.testing.assert_array_equal(
            other[field].values[[0, 1, 3]], one[field].values[[0, 1, 3]]
        )
