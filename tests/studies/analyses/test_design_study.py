"""Checked against: closed forms of absorbers, the same search unbroken, the messages."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main
from jaxvib.design import optimal_absorber
from jaxvib.ensemble.checkpoint import PrefixedStore
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.analyses.kinds.design.charts import verified_texts
from jaxvib.studies.analyses.kinds.design.verified import promised_range, verified_fields
from jaxvib.studies.analyses.measure_options import LimitOptions
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load, load_text
from jaxvib.studies.store.evaluations import FILE, Evaluations
from tests.studies.configs import run, written

ABSORBERS = builtin_studies.folder() / "tuned_mass_damper.toml"
SMALL = """
[system]
kind = "two_body_impact"
main = { mass = 1.0, frequency = 1.0, damping_ratio = 0.0 }
attached = { mass = 0.05, frequency = 0.95, damping_ratio = 0.1 }

[analysis]
kind = "design"
method = "slsqp"
steps = 50
objective = { measure = "white_noise", force = "main", at = "main" }
variables.attached.frequency = [0.7, 1.1]
variables.attached.damping_ratio = [0.02, 0.5]
log = ["attached.damping_ratio"]
quantities.frequency_ratio = ["attached.frequency", "main.frequency"]
"""


FRONT = """
[system]
kind = "two_body_impact"
main = { mass = 1.0, frequency = 1.0, damping_ratio = 0.0 }
attached = { mass = 0.05, frequency = 0.95, damping_ratio = 0.1 }

[analysis]
kind = "pareto_front"
points = 5
variables.attached.frequency = [0.7, 1.1]
variables.attached.damping_ratio = [0.02, 0.5]
constraints.soft = { measure = "parameter", paths = ["attached.mass"], at_most = 0.07 }

[analysis.objectives.damping]
measure = "parameter"
paths = ["attached.damping_ratio"]

[analysis.objectives.variance]
measure = "white_noise"
force = "main"
at = "main"
"""


def test_a_small_design_is_stored_with_its_course_and_report(tmp_path):
    done = run(written(tmp_path, SMALL), tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert re.search(r"objective  white noise [\d.]+ -> [\d.]+ m\^2\n", done.output)
    moved = r"0\.95 -> [\d.]+ rad/s in [\d.]+ to [\d.]+ rad/s\n"
    assert re.search(rf"attached\.frequency {moved}", done.output)
    assert re.search(r"damping_ratio 0\.1 -> [\d.]+ in [\d.]+ to [\d.]+\n", done.output)
    results = jv.open_study(tmp_path / "out")
    exact = optimal_absorber("h2", 0.05)
    assert float(results["frequency_ratio"]) == pytest.approx(
        float(exact.frequency_ratio), abs=1e-6
    )
    assert float(results["optimum.attached.damping_ratio"]) == pytest.approx(
        float(exact.damping_ratio), abs=1e-6
    )
    best = int(results["best"])
    assert float(results["objective"][best]) == float(results["optimum.objective"])
    assert results["gradient.attached.frequency"].attrs["units"] == "m^2/(rad/s)"
    assert abs(float(results["gradient.attached.frequency"][best])) < 1e-4
    assert (tmp_path / "out" / "report.html").exists()
    assert not (tmp_path / "out" / FILE).exists()  # nothing is left to go on from


def test_a_front_is_stored_along_its_points_with_its_report(tmp_path):
    done = run(written(tmp_path, FRONT), tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "front      5 points, 5 non-dominated" in done.output
    assert re.search(r"variance from [\d.]+ to [\d.]+ m\^2\n", done.output)
    results = jv.open_study(tmp_path / "out")
    damping = results["objective.damping"]
    assert damping.dims == ("point",)
    np.testing.assert_array_equal(damping, results["attached.damping_ratio"])
    assert results["attached.frequency"].attrs["units"] == "rad/s"
    assert results["weights"].dims == ("point", "goal")
    assert results["goal"].values.tolist() == ["damping", "variance"]
    exact = optimal_absorber("h2", 0.05)
    assert float(damping[0]) == pytest.approx(0.02, abs=1e-6)
    assert float(damping[-1]) == pytest.approx(float(exact.damping_ratio), abs=1e-5)
    assert float(results["attached.frequency"][-1]) == pytest.approx(
        float(exact.frequency_ratio), abs=1e-5
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert "5 of 5 points converged and are non-dominated" in page


@pytest.mark.slow  # computes another front, 2 s
def test_fronts_of_samples_go_along_both_axes_and_lost_ones_have_their_reason(tmp_path):
    kind = ANALYSES["pareto_front"]
    study = load(written(tmp_path, FRONT.replace("points = 5", "points = 2")))
    samples = {"attached.mass": np.array([0.05, 0.1])}  # the second is beyond its limit
    fields = kind.compute(build(study), samples, study.analysis, study.run, lambda n: None)
    assert fields["objective.variance"].axes == ("sample", "point")
    assert np.isfinite(fields["objective.variance"].values[0]).all()
    assert np.isnan(fields["objective.variance"].values[1]).all()
    assert fields["result"].values[0] == 0
    assert fields["result"].values[1] == jv.Reason.LIMIT_VIOLATED


@pytest.mark.slow
def test_a_design_without_any_start_is_an_error_that_names_it(tmp_path):
    never = SMALL.replace(
        'objective = { measure = "white_noise", force = "main", at = "main" }',
        'objective = { measure = "bifurcation", bifurcation = "fold", path = "gap", '
        "bounds = [0.9, 1.1] }\nstarts = 2",
    ).replace('kind = "two_body_impact"', 'kind = "two_body_impact"\ngap = 1.0', 1)
    done = run(written(tmp_path, never), tmp_path / "out")
    assert done.exit_code != 0
    assert "none of 2 starts has an objective" in done.output


def test_the_summary_tells_bounds_that_are_reached_and_the_state_of_limits():
    given = '{{ measure = "parameter", paths = ["attached.mass"], at_most = {} }}'
    limits = (f"constraints.{name} = {given.format(most)}" for name, most in
              (("tight", 0.05), ("wide", 0.07), ("broken", 0.04)))  # fmt: skip
    study = load_text("\n".join([SMALL, *limits]))
    known = {
        "objective": [2.0, 1.0], "best": 1, "evaluations": 2,
        "attached.frequency": [0.95, 1.1], "attached.damping_ratio": [0.1, 0.2],
        "limit.tight": [0.0, 0.0], "limit.wide": [0.02, 0.02], "limit.broken": [-0.01] * 2,
    }  # fmt: skip
    lines = ANALYSES["design"].summary(lambda name: np.asarray(known[name]), study)
    assert [line.strip() for line in lines[2:]] == [
        "attached.frequency 0.95 -> 1.1 rad/s in 0.7 to 1.1 rad/s, at its upper bound",
        "attached.damping_ratio 0.1 -> 0.2 in 0.02 to 0.5",
        "limit      tight active, distance 0 kg",
        "limit      wide kept, distance 0.02 kg",
        "limit      broken violated, distance -0.01 kg",
    ]


def test_a_search_that_was_broken_off_goes_on_to_the_same_bits(tmp_path):
    study = load(written(tmp_path, SMALL))
    system = build(study)
    kind = ANALYSES["design"]
    record = {"config": study.resolved(), "versions": {}, "fingerprint": {}}
    (tmp_path / "study.json").write_text(json.dumps(record))

    def computed():
        kept = PrefixedStore(Evaluations(tmp_path), "whole/")
        return kind.compute(
            system, {}, study.analysis, study.run, lambda n: None, remember=kept
        )

    whole = computed()
    file = tmp_path / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + int(whole["evaluations"].values)
    file.write_bytes(b"".join(lines[:5]) + lines[5][:40])  # killed in the middle of a line
    again = computed()
    for name, field in whole.items():
        np.testing.assert_array_equal(field.values, again[name].values)
    assert len(file.read_bytes().splitlines()) == len(lines)
    record["config"]["analysis"]["steps"] = 51  # another study's evaluations are not taken
    (tmp_path / "study.json").write_text(json.dumps(record))
    assert Evaluations(tmp_path).get("whole/0//0/0") is None


@pytest.mark.slow
def test_the_absorbers_of_both_mass_ratios_are_the_exact_ones(tmp_path):
    done = run(ABSORBERS, tmp_path / "out")
    assert done.exit_code == 0, done.output
    results = jv.open_study(tmp_path / "out")
    for mass_ratio in (0.05, 0.1):
        here = results.sel({"attached.mass": mass_ratio})
        for criterion in ("h2", "h_infinity", "den_hartog"):
            found, exact = (
                here.sel(design=criterion),
                optimal_absorber(criterion, mass_ratio),
            )
            assert abs(float(found["frequency_ratio"]) - exact.frequency_ratio) < 1e-6
            assert abs(float(found["damping_ratio"]) - exact.damping_ratio) < 1e-6
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["damper_sensitivity", "fit_response"])
def test_sensitivities_and_fits_are_stored_with_a_report(tmp_path, name):
    sets = ["analysis.samples=64"] if name == "damper_sensitivity" else []
    done = run(builtin_studies.folder() / f"{name}.toml", tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    results = jv.open_study(tmp_path / "out")
    if name == "fit_response":
        truth = {"main.damping_ratio": 0.02, "attached.frequency": 5.2,
                 "attached.damping_ratio": 0.08}  # fmt: skip
        for path, value in truth.items():
            low, high = results[f"interval.{path}"].values
            assert low < value < high
    else:
        # a heavier system of the same frequencies moves less: -2 % per %
        shares = results["variance.normalised"].sel(
            parameter=["main.mass", "attached.mass"]
        )
        assert float(shares.sum()) == pytest.approx(-2.0, abs=1e-9)
        assert results["peak.total_order"].dims == ("peak_number", "parameter")
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ({"measure": "bifurcation", "at_least": 6.2}, (6.0, 6.2)),
        ({"measure": "bifurcation", "at_least": 5.8}, None),
        ({"measure": "bifurcation", "at_most": 5.8}, (5.8, 6.0)),
        ({"measure": "stable_range", "field": "low", "at_most": 5.5}, (5.5, 6.0)),
        ({"measure": "stable_range", "field": "margin", "at_least": 0.3}, (5.7, 6.3)),
        ({"measure": "stable_range", "field": "width", "at_least": 0.3}, None),
    ],
)
def test_a_constraint_promises_the_range_from_the_own_value_on(limit, expected):
    kind = {"bifurcation": "fold"} if limit["measure"] == "bifurcation" else {}
    field = {"field": "low"} if limit["measure"] == "stable_range" else {}
    whole = {"path": "load.frequency", "bounds": [5.0, 7.0]} | kind | field | limit
    found = promised_range(LimitOptions(**whole), 6.0)
    assert found == (expected if expected is None else pytest.approx(expected))


@pytest.mark.slow  # two designs with branches of two bodies
def test_a_stable_range_is_verified_unless_told_not_to_and_fails_with_a_reason(tmp_path):
    config = (builtin_studies.folder() / "flip_out_of_range.toml").read_text("utf-8")
    # The flip of the driven motion is at 358 N: the limit is met, and the motion of one
    # period at 500 N unstable.
    unstable = config.replace("load.frequency = 6.0", "load.frequency = 6.2")
    unstable = re.sub(r'"load.frequency" ', '"load.amplitude" ', unstable)
    unstable = re.sub(r"bounds = .*", "bounds = [50.0, 510.0]", unstable)
    unstable = re.sub(r"at_least = .*", "at_most = 499.0", unstable)
    done = run(written(tmp_path, unstable), tmp_path / "failed", "analysis.verify=3")
    assert done.exit_code == 1
    assert "not stable at all of its random points" in done.output
    assert "verified   flip: stable at 0 of 3 random points" in done.output
    best = re.sub(
        r"objective = .*",
        'goal = "maximise"\nobjective = { measure = "stable_range", field = "high", '
        'path = "load.frequency", bounds = [5.8, 6.5] }',
        config.partition("[analysis.constraints")[0],
    )
    config = written(tmp_path, best, "best.toml")
    told = CliRunner().invoke(main, ["check", str(config)])
    assert "then a branch and 200 motions verify each stable range" in told.output
    done = run(config, tmp_path / "best", "analysis.steps=1")
    assert done.exit_code == 0
    assert "verified   objective: stable at 200 of 200 random points" in done.output
    options = load(config, ["analysis.verify=0"]).analysis
    assert options.points_to_verify == 0


@pytest.mark.slow  # traces a branch of two bodies
def test_the_verification_reports_points_beyond_a_flip(tmp_path):
    config = (builtin_studies.folder() / "flip_out_of_range.toml").read_text("utf-8")
    # A constraint that promises no range is left out.
    gap = (
        "[analysis.constraints.gap]\nmeasure = 'parameter'\npaths = ['gap']\nat_most = 1.0"
    )
    config = config.replace("[output]", f"{gap}\n\n[output]")
    study = load(written(tmp_path, config), ["analysis.verify=8"])
    system, options = build(study), study.analysis
    change = jv.design.change_measure(system, options.variables)
    bounds = {path: tuple(ends) for path, ends in options.variables.items()}
    design = jv.design.evaluated(jv.design.Problem(system, bounds, change))
    fields, passed = verified_fields([[design]], options, study.run)
    assert passed.tolist() == [[False]]
    found = {name: field.values for name, field in fields.items()}
    orbit = jv.periodic_orbit(system)
    flip = jv.bifurcation_point(system, orbit, "period_doubling", "load.frequency")
    below = found["verified.flip.parameter"] < float(flip.parameter)
    assert 0 < below.sum() < 8
    np.testing.assert_array_equal(found["verified.flip.stable"] == 1, below)
    np.testing.assert_array_equal(found["verified.flip.lost"], ~below)

    def read(name):
        if name not in found:
            raise OSError(f"{name} is missing")  # as the arrays of a store
        return found[name]

    (line,) = verified_texts(read, options.constraints)
    assert line.startswith(f"flip: stable at {below.sum()} of 8 random points")
