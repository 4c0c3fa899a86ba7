"""Checked against: the paths, ranges and values that the systems declare."""

import re

import pytest

from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.studies.analyses.test_attractor_studies import INTEGRITY, WELLS
from tests.studies.analyses.test_cycle_studies import BELT, PUSH
from tests.studies.analyses.test_design_study import FRONT, SMALL

# Of a built-in study, or of the text of a config: what is written wrongly, what instead,
# and words of the message, which names file and line.
MISTAKES = {
    "loading_curve": [
        ('path = "load.amplitude"', 'path = "load.amplitud"',
         "analysis: unknown parameter 'load.amplitud'; did you mean 'load.amplitude'?"),
        ("bounds = [50.0, 1000.0]", "bounds = [50.0, 60.0]",
         "bounds = [50, 60] do not enclose load.amplitude = 500"),
        ('path = "load.amplitude" ', 'path = "load.frequency" ',
         "bounds = [50, 1000] do not enclose load.frequency = 5.8"),
        ("[50.0, 1000.0]", "[50.0]", "analysis.bounds = [50.0] is out of range"),
        ('"arclength"', '"arclenth"', 'did you mean "arclength"?'),
        ('path = "load.amplitude"', "", "analysis.path is missing; allowed: a par"),
        ("[run]", "[sweep]\ngap = [0.1]\n[run]", "sweep is given; allowed where"),
    ],
    "first_design": [
        ('"amplitude"', '"ampliude"', 'is not known; allowed: "amplitude", "largest_m'),
        ("attached.frequency = [4.0, 8.0]", "attached.frequency = [6.0, 8.0]",
         "do not enc"),
        ("variables.attached.frequency", "variables.attached.frequence", "unknown param"),
        ("[4.0, 8.0] ", '[4.0, "8"] ', 'attached.frequency[1] = "8" is not a number'),
        ("[4.0, 8.0] ", "4.0 ", "attached.frequency = 4.0 is not a list"),
    ],
    "bifurcation_diagram": [
        ('path = "load.frequency"', 'path = "load.frequenc"',
         "did you mean 'load.frequency'?"),
        ("[5.0, 8.0]", "[8.0, 5.0]", "[8, 5] do not ascend"),
        ("[5.0, 8.0]", "[-5.0, 8.0]", "load.frequency = -5 are out of"),
        ("points = 64", "points = 8", "[16, 4096]"),
        ('"rest"', '"uo"', 'allowed: "rest", "up", "down", "both"'),
    ],
    "basins": [
        ("grid.body =", "#", "for two components"),
        ("points = 48", "points = 48\nperiod = 0.5",
         "system.loads.push is harmonic; allowed: constant ones"),
        ("[-0.08, 0.08]", "[0.08, -0.08]", "[0.08, -0.08] does not ascend"),
    ],
    "fragility": [
        ("[0.5, 0.7,", "[0.7, 0.5,", "do not ascend"),
        ('"kanai_tajimi"', '"kanai"', 'did you mean "kanai_tajimi"?'),
        ("limit.level = 0.15", "limit.level = 0.0", "allowed: (0, inf) m"),
    ],
    "damper_under_noise": [
        ("highest = 25.0", "highest = 0.05",
         "noise.highest = 0.05 rad/s is below the lowest"),
    ],
    "run_up": [
        ('kind = "response"', 'kind = "response"\nengine = "stepping"',
         'leave out engine, or write "diffrax"'),
        ('kind = "response"', 'kind = "periodic_orbit"',
         "or the analysis `response`, which needs no period"),
    ],
    "shock_spectrum": [
        ("high = 6000.0", "high = 6.0", "low = 30 rad/s is not below"),
        ('kind = "shock_spectrum"', 'kind = "periodic_orbit"',
         "system.loads.shock is not periodic"),
    ],
    "damper_sensitivity": [
        ("samples = 1024", "samples = 1000", "not a power of 2"),
        ("[900.0, 1100.0]", "[900.0, 950.0]", "do not enclose main"),
    ],
    "fit_response": [
        ("variables.attached.frequency", "variables.attached.freq", "unknown"),
        ("linspace = [3.0, 9.0, 41]", "linspce = [3.0]", "linspce"),
        ("data = [", "deviations = [0.0]\ndata = [", "0 is not above 0"),
    ],
    SMALL: [
        ('"white_noise"', '"white_nois"', 'did you mean "white_noise"'),
        ('force = "main", ', "", 'measure = "white_noise" needs force'),
        ('at = "main"', 'at = "main", low = 1.0', 'low do not fit measure = "white'),
        ('log = ["attached.damping_ratio"]', 'log = ["gap"]', "gap is not among"),
        ("[0.7, 1.1]", "[0.96, 1.1]", "do not enclose attached.frequency = 0.95"),
        ('"slsqp"', '"slqsp"', 'did you mean "slsqp"'),
        ("steps = 50", "steps = 0", "steps = 0 is out of range"),
        ("frequency_ratio = [", 'frequency_ratio = ["gap", ', "has 3 paths; allowed: 1, 2"),
        ('"main.frequency"]', '"main.frequenc"]', "did you mean 'main.frequency'"),
        ("quantities.", "constraints.", "is not a table"),
        ('method = "slsqp"', 'method = "adam"\nconstraints.gap = '
         '{ measure = "parameter", paths = ["gap"], at_most = 1.0 }',
         'method = "adam" supports no constraints'),
        ("steps = 50", 'constraints.gap = { measure = "parameter", paths = ["gap"] }',
         "has no bound"),
        ("steps = 50", 'designs.one = { formula = "h4" }', '"h4" is not known'),
        ("steps = 50", 'designs.one = { formula = "h_inf" }', 'mean "h_infinity"'),
        ('at = "main"', 'at = "main", over.gapp = [0.1]',
         "unknown parameter 'gapp'; did you mean 'gap'"),
        ('at = "main"', 'at = "main", over.gap = { normal = [0.1, 0.01, 2.5] }',
         "count = 2.5 is not a whole number"),
        ('at = "main"', 'at = "main", over.gap = { uniform = [0.1, 0.2, 10000] }, '
         "over.main.frequency = { normal = [6.0, 0.1, 10000] }",
         "has 10000 x 10000 = 100000000 scenarios, all combinations of the values; "
         "allowed: 100000 or fewer"),
    ],
    BELT: [
        ("period = 1.5", "", "system.loads is empty; "),
        ("period = 1.5", "", "`periodic_orbit` and `basins`"),
        ("period = 1.5", "period = -1.5", "period"),
        ("[analysis]", PUSH + "law.frequency = 9.0\n[analysis]", "push is harmonic"),
    ],
    WELLS: [
        ("\nperiod = 4.0", "", "system.loads is constant; "),
        ("\nperiod = 4.0", "", "analysis.period"),
        ("points = 6", "points = 6\nbox = 7", "box = 7 is larger than points = 6"),
        ("points = 6", "points = 6\nshock.body = 0.0", "shock.body"),
    ],
    INTEGRITY: [
        ("[0.1, 0.45]", "[0.45, 0.1]", "[0.45, 0.1] do not ascend"),
        ("values = 3", "values = 1", "[2, 10000]"),
        ('"loads.push.law.force"', '"loads.push.law.forc"', "loads.push.law.force"),
        ("box = 3", "box = 7", "box = 7 is larger than points = 6"),
    ],
    FRONT: [
        ("points = 5", "points = 1", "points = 1 is out of range"),
        ("points = 5", 'log = ["gap"]', "gap is not among"),
        ("points = 5", 'method = "adam"', '"adam" is not known'),
        ("[analysis.objectives.damping]\nmeasure", "[other]\nmeasure", "other"),
        ('at = "main"', 'at = "main"\ngoal = "max"', '"max" is not known'),
        ("[0.7, 1.1]", "[0.96, 1.1]", "do not enclose attached.frequency = 0.95"),
    ],
}  # fmt: skip
# Found once the system is built.
LATE_MISTAKES = {
    "backbone": [
        ("damping = 0.0 ", "damping = 1.0 ", "damping is not 0, up to 1; allowed"),
        ("gap = 0.01", "gap = 0.0", "contacts.stop.gap: the contact touches at rest"),
        ("mode = 0", "mode = 2", "mode = 2 is not in [0, 1]"),
    ],
    "basins": [("grid.body =", "grid.boby =", "'boby'; did you mean 'body'")],
    WELLS: [
        ("points = 6", "points = 6\nshock.bod = 1.0", "did you mean 'body'"),
    ],
    INTEGRITY: [
        ("shock.body", "shock.bod", "did you mean 'body'"),
    ],
    "damper_under_noise": [
        ('"main"', '"mian"', "limits.main: unknown degree of freedom 'mian'"),
    ],
    "run_up": [
        ('buffer = { at = "machine"', 'buffer = { at = "mashine"',
         "limits.buffer: unknown degree of freedom 'mashine'"),
    ],
    "shock_spectrum": [
        ("half_sine_acceleration", "ramp_acceleration",
         "490.5 m/s^2 of RampLoad remain after its last break"),
        ('"shock"', '"shack"', "did you mean 'shock'"),
    ],
}  # fmt: skip


def rows(table):
    """Return each mistake of a table as an argument of a test."""
    return [
        pytest.param(config, *row, id=" ".join((row[1] or row[0]).split()))
        for config, mistakes in table.items()
        for row in mistakes
    ]


def written_wrongly(tmp_path, config, wrong, instead):
    text = config
    if "\n" not in config:
        text = (builtin_studies.folder() / f"{config}.toml").read_text()
    assert wrong in text
    file = tmp_path / "study.toml"
    file.write_text(text.replace(wrong, instead, 1))
    return file


@pytest.mark.parametrize(("config", "wrong", "instead", "words"), rows(MISTAKES))
def test_a_mistake_is_named_with_its_line(tmp_path, config, wrong, instead, words):
    file = written_wrongly(tmp_path, config, wrong, instead)
    with pytest.raises(ValueError, match=r"study\.toml, line ") as caught:
        load(file)
    assert words in str(caught.value)


@pytest.mark.parametrize(("config", "wrong", "instead", "words"), rows(LATE_MISTAKES))
def test_a_mistake_is_named_once_the_system_is_built(
    tmp_path, config, wrong, instead, words
):
    study = load(written_wrongly(tmp_path, config, wrong, instead))
    with pytest.raises(ValueError, match=re.escape(words)):
        build(study)


def test_a_value_that_follows_from_others_is_checked_once_the_system_is_built(tmp_path):
    text = (builtin_studies.folder() / "loading_curve.toml").read_text()
    stiffness = text.replace('"load.amplitude"', '"contact.stiffness"')
    file = tmp_path / "study.toml"
    file.write_text(stiffness.replace("bounds = [50.0, 1000.0]", "bounds = [1e6, 1e7]"))
    study = load(file)
    with pytest.raises(ValueError, match=r"do not enclose contact.stiffness = 3\.5"):
        build(study)
