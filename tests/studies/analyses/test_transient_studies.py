"""Checked against: the library's own calls, and counts by hand."""

import typing

import numpy as np
import pytest
import xarray

import jaxvib as jv
from jaxvib.dynamics.engines.choice import ENGINES
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.analyses.noises import EngineName, check_shaken
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load, load_text
from jaxvib.studies.store.finished_study import Run
from jaxvib.transients import statistics

SHORT = ["analysis.duration=3.0", "run.rtol=1e-6"]


@pytest.mark.parametrize("name", ["damper_under_noise", "fragility"])
def test_noise_is_no_displacement_of_a_base(name):
    options = load(builtin_studies.folder() / f"{name}.toml").analysis
    linear = jv.LinearSystem([[2.0]], [[0.5]], [[8.0]])
    law = jv.HarmonicLoad(1.0, 3.0)
    for given in ("displacement", "velocity"):
        base = jv.BaseMotion([1.0], law, given, "load")
        with pytest.raises(ValueError, match=f"base motion given as {given}; allowed"):
            check_shaken(options, jv.ImpactSystem(linear, loads=(base,)))
    moved = jv.ImpactSystem(linear, loads=(jv.StopMotion([1.0], law, "load"),))
    with pytest.raises(ValueError, match="is a motion of stops; allowed: a force"):
        check_shaken(options, moved)
    for fitting in (jv.BaseMotion([1.0], law), jv.AppliedLoad([1.0], law)):
        check_shaken(options, jv.ImpactSystem(linear, loads=(fitting,)))


def computed(name, *assignments, samples=None):
    study = load(builtin_studies.folder() / f"{name}.toml", [*SHORT, *assignments])
    system, kind = build(study), ANALYSES[study.analysis.kind]
    fields = kind.compute(
        system, samples or {}, study.analysis, study.run, lambda done: None
    )
    return study, system, fields


NOISY = """
system.kind = "impact_assembly"

[system.linear.modules]
ground-a = { module = "translation_translation", mass = 2.0, stiffness = 3.0, damping = 1.0 }

[system.springs.own]
spring = "polynomial"
at = "a"
law.coefficients = [4.0, 0.0, 1.0]

[system.loads.push]
load = "harmonic"
at = "a"
law = { amplitude = 1.0, frequency = 1.0 }

[analysis]
kind = "noise_response"
load = "push"
noise = { filter = "kanai_tajimi", density = 1e-6, frequency = 6.0, damping_ratio = 0.4, highest = 25.0 }
duration = 3.0
seeds = 4
"""  # noqa: E501
WEIGHT = """
[system.loads.weight]
load = "constant"
at = "a"
law.force = 1.0
"""


@pytest.mark.slow  # compiles the response of another system for each, 4 s
@pytest.mark.parametrize("weight", ["", WEIGHT])
def test_a_spring_of_its_own_counts_in_the_exact_variance(weight):
    study = load_text(NOISY + weight)
    system, kind = build(study), ANALYSES["noise_response"]
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    found = fields["linear_variance"].values[0]
    lines = kind.summary(lambda name: fields[name].values, study)
    assert any(line.startswith("linear") for line in lines) == (not weight)
    if weight:  # it strains the spring, whose slope is another there
        assert np.isnan(found).all()
    else:
        same = jv.LinearSystem([[2.0]], [[1.0]], [[7.0]])
        noise = jv.FilteredNoise.kanai_tajimi(1e-6, 6.0, 0.4)
        exact = jv.response_covariance(same, noise, [1.0], 3.0)
        np.testing.assert_allclose(found, np.diag(exact), rtol=1e-9)


def drawn(study, fields, paths=()):
    """Return the pictures of fields as a finished study has them."""
    results = xarray.Dataset(
        {name: (each.axes, each.values, each.attributes) for name, each in fields.items()}
    )
    described = {
        "analysis": study.analysis.kind, "system": study.system.kind, "title": "t",
        "coordinates": list(paths), "axes": study.axes, "config": study.resolved(),
        "grid": dict.fromkeys(paths, 2),
    }  # fmt: skip
    run = Run("run", results, None, described, {}, "")
    return ANALYSES[study.analysis.kind].pictures([run])


@pytest.mark.slow  # computes the study twice, 9 s
def test_the_noise_study_is_that_of_the_library():
    study, system, fields = computed("damper_under_noise", "analysis.seeds=16")
    noise = jv.FilteredNoise.kanai_tajimi(2e4, 6.0, 0.4)
    laws = noise.loads(25.0, 3.0, range(16))
    limits = [each.limit(system) for each in study.analysis.limits.values()]
    found = jv.responses(system, "load", laws, 3.0, limits=limits, rtol=1e-6)
    known = statistics(found)
    for name in ("mean_peak", "root_mean_square_error", "variance", "passed"):
        np.testing.assert_array_equal(fields[name].values[0], getattr(known, name))
    np.testing.assert_array_equal(fields["peak"].values[0], found.peak)
    exact = jv.response_covariance(system, noise, np.array([1.0, 0.0]), 3.0)
    np.testing.assert_allclose(fields["linear_variance"].values[0], np.diag(exact))
    assert fields["peak"].axes == ("sample", "seed", "freedom")
    assert study.axes["limit"] == ["main", "stroke"]
    assert fields["result"].values.tolist() == [0]
    pictures = drawn(study, fields)
    assert [picture.name for picture in pictures] == ["peaks", "first_passages"]
    last = pictures[0].charts[0].layers[0]
    assert (last.x[-1], last.y[-1]) == (np.max(found.peak[:, 0]), 1.0)
    lines = ANALYSES["noise_response"].summary(lambda name: fields[name].values, study)
    assert any("of the seeds have contact" in line for line in lines)


@pytest.mark.slow  # computes 288 responses, 10 s
def test_the_fragility_study_counts_its_seeds():
    study, _, fields = computed(
        "fragility", "analysis.seeds=24", samples={"gap": np.array([0.05, 0.2])}
    )
    reached = np.sum(fields["extreme"].values >= 0.15, axis=2)
    np.testing.assert_array_equal(fields["failures"].values, reached)
    np.testing.assert_array_equal(fields["trials"].values, np.full((2, 6), 24))
    levels = fields["intensities"].values[0]
    for sample in range(2):
        curve = jv.fragility_curve(levels, reached[sample], np.full(6, 24))
        np.testing.assert_array_equal(fields["median"].values[sample], curve.median)
    # No seed serves at two intensities.
    extreme = fields["extreme"].values[0] / levels[:, None]
    assert len(np.unique(np.round(extreme, 9))) == extreme.size
    fields["gap"] = type(fields["result"])(("sample",), np.array([0.05, 0.2]), "m")
    pictures = drawn(study, fields, ["gap"])
    assert [picture.name for picture in pictures] == ["fragility", "medians"]
    lines = ANALYSES["fragility"].summary(lambda name: fields[name].values, study)
    assert len(lines) == 2


@pytest.mark.slow  # compiles two spectra, 5 s
def test_the_shock_study_is_that_of_the_library():
    study, system, fields = computed("shock_spectrum", "analysis.points=5",
                                     "analysis.duration=0.011")  # fmt: skip
    frequencies = np.geomspace(30.0, 6000.0, 5)
    for i, ratio in enumerate((0.0, 0.05)):
        found = jv.shock_spectrum(system.loads[0].law, frequencies, ratio)
        np.testing.assert_allclose(fields["maximax"].values[0, i], found.maximax)
    (picture,) = drawn(study, fields)
    assert [chart.y.label for chart in picture.charts] == [
        "acceleration (m/s^2)", "relative displacement (m)"
    ]  # fmt: skip
    lines = ANALYSES["shock_spectrum"].summary(lambda name: fields[name].values, study)
    assert "m/s^2 at" in lines[0]


@pytest.mark.slow  # compiles responses and motions, 6 s
def test_the_response_study_is_that_of_the_library():
    path = "loads.unbalance.law.duration"
    values = np.array([2.0, 30.0])
    study, system, fields = computed("run_up", "analysis.points=7", samples={path: values})
    buffer = jv.transients.Limit([1.0], 0.012, False)
    for sample, value in enumerate(values):
        each = jv.replace(system, {path: value})
        found = jv.response(each, 3.0, limits=[buffer], rtol=1e-6)
        for name in ("peak", "mean_square", "contacts", "extreme", "first_passage"):
            np.testing.assert_allclose(
                fields[name].values[sample], getattr(found, name), rtol=1e-10
            )
        times = np.linspace(0.0, 3.0, 7)
        moved = jv.simulate(each, each.rest(), times, 1e-6)
        np.testing.assert_allclose(
            fields["displacements"].values[sample], moved.states[:, :1], atol=1e-12
        )
    assert fields["displacements"].axes == ("sample", "time", "freedom")
    assert fields["result"].values.tolist() == [0, 0]
    fields[path] = type(fields["result"])(("sample",), values, "s")
    pictures = drawn(study, fields, [path])
    assert [picture.name for picture in pictures] == ["peaks", "history"]
    known = {name: field.values for name, field in fields.items()}
    lines = ANALYSES["response"].summary(known.__getitem__, study)
    assert lines[0].startswith("largest    machine")
    forces = fields["max_contact_force"].values[:, 0]
    worst = f"{forces.max():.4g} N, {path} = {values[forces.argmax()]:g} s"
    assert lines[1] == f"largest    force of buffer {worst}"


@pytest.mark.slow  # compiles a response to each law, 2 s
@pytest.mark.parametrize("law", ["step", "ramp"])
def test_a_config_accepts_step_and_ramp_loads(tmp_path, law):
    # Undamped and unhindered: twice the static displacement after a step, and after a
    # ramp of T seconds 1 + |sin(w T / 2)| / (w T / 2) times it.
    text = (builtin_studies.folder() / "run_up.toml").read_text()
    start = text.index("[system.contacts]")
    load_of = "start = 0.0" + (", duration = 0.1" if law == "ramp" else "")
    file = tmp_path / "study.toml"
    file.write_text(
        text[:start].replace("damping = 60.0", "damping = 0.0")
        + f'[system.loads.push]\nload = "{law}"\nat = "machine"\n'
        + f"law = {{ amplitude = 60.0, {load_of} }}\n"
        + '[analysis]\nkind = "response"\nduration = 1.0\n[output]\ndirectory = "x"\n'
    )
    study = load(file)
    system, kind = build(study), ANALYSES["response"]
    fields = kind.compute(system, {}, study.analysis, study.run, lambda done: None)
    turn = 20.0 * 0.1 / 2
    factor = 2.0 if law == "step" else 1 + np.sin(turn) / turn
    np.testing.assert_allclose(fields["peak"].values, 60.0 / 2e4 * factor, rtol=1e-7)


def test_a_config_can_name_every_engine():
    assert set(typing.get_args(EngineName)) == {"auto", *ENGINES}
