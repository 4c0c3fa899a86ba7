"""Checked against: a table of mistakes, each with what its message must say."""

import tomllib

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.schema import schema
from jaxvib.studies.run.study import load

GOOD = """title = "A study"
[system]
kind = "two_body_impact"
attached.mass = 120.0
contact.youngs_moduli = [2.1e11, 2.21e7]
contact.poissons_ratios = [0.3, 0.4]
contact.curvature_sum = 1.0
[analysis]
kind = "periodic_orbit"
max_periods = 4
[sweep]
load.amplitude = { linspace = [100.0, 200.0, 3] }
"load.frequency" = [5.0, 6.0]
[run]
chunk = 64
[output]
report = false
"""
SWEEP = GOOD[GOOD.index("load.amplitude") : GOOD.index("[run]")]
# What is replaced, by what, and the line and the words of the message.
MISTAKES = {
    "a misspelt parameter": (
        "attached.mass",
        "atached.mass",
        4,
        "system.atached.mass = 120.0 is not a known key; did you mean "
        "system.attached.mass? allowed: (0, inf) kg",
    ),
    "a parameter by its Python name": (
        "attached.mass",
        "attached_mass",
        4,
        "did you mean system.attached.mass?",
    ),
    "a misspelt section": (
        "[run]",
        "[runs]",
        14,
        "did you mean run? allowed: title, system",
    ),
    "a misspelt option": (
        "max_periods",
        "max_period",
        10,
        "did you mean analysis.max_periods? allowed: whole numbers in [1, ",
    ),
    "a misspelt swept path": (
        '"load.frequency"',
        '"load.frequenzy"',
        13,
        "[5.0, 6.0] is not a parameter; did you mean load.frequency?",
    ),
    "an unknown system": (
        '"two_body_impact"',
        '"two_body_impakt"',
        3,
        '"two_body_impakt" is not known; allowed: "assembly", "beam_chain", '
        '"beam_with_bodies", "elastic_impact", "impact_assembly", "two_body_impact"; '
        "did you mean "
        '"two_body_impact"?',
    ),
    "an unknown analysis": (
        '"periodic_orbit"',
        '"orbits"',
        9,
        'analysis.kind = "orbits" is not known',
    ),
    "no kind": ('kind = "periodic_orbit"', "", 8, "analysis.kind is missing; allowed: "),
    "nan": (
        "120.0",
        "nan",
        4,
        "system.attached.mass = nan is not finite; allowed: (0, inf)",
    ),
    "inf": ("120.0", "inf", 4, "system.attached.mass = inf is not finite"),
    "1e400": ("120.0", "1e400", 4, "system.attached.mass = inf is not finite"),
    "a boolean for a number": (
        "120.0",
        "true",
        4,
        "attached.mass = true is not a number; allowed",
    ),
    "a text for a number": (
        "120.0",
        '"heavy"',
        4,
        'mass = "heavy" is not a number; allow',
    ),
    "a force for a mass": (
        "120.0",
        '"120 kN"',
        4,
        'mass = "120 kN": kN is given where a mass in kg is expected',
    ),
    "a date for a number": ("120.0", "2026-11-01", 4, "mass = 2026-11-01 is not a number"),
    "a huge integer": (
        "120.0",
        "0x" + "f" * 9000,
        4,
        "attached.mass is an integer of more than the 64 bits of TOML",
    ),
    "a value out of its range": (
        "120.0",
        "-120.0",
        4,
        "mass = -120.0 is out of range; allowed: (0, inf) kg",
    ),
    "a number for a table": ("attached.mass = 120.0", "attached = 1", 4, "is not a table"),
    "a table for a number": (
        "120.0",
        "{ a = 1 }",
        4,
        "attached.mass = {...} is not a number",
    ),
    "a fraction for a whole number": (
        "64",
        "64.5",
        15,
        "run.chunk = 64.5 is not a whole num",
    ),
    "a number for a truth": (
        "false",
        "0",
        17,
        "output.report = 0 is neither true nor false",
    ),
    "a material that cannot be": (
        "[0.3, 0.4]",
        "[0.3, 0.6]",
        6,
        "poissons_ratios[1] = 0.6 is out of range; allowed: two numbers",
    ),
    "one body too few": (
        "[0.3, 0.4]",
        "[0.3]",
        6,
        "poissons_ratios = [0.3] is out of range; allowed: two",
    ),
    "materials and a stiffness": (
        "contact.curvature_sum = 1.0",
        "contact.stiffness = 3e7",
        7,
        "poissons_ratios, stiffness, youngs_moduli cannot be combined",
    ),
    "a path with too many values": (
        "200.0, 3]",
        "200.0, 1000000001]",
        12,
        "linspace[2] = 1000000001 is out of range",
    ),
    "a long list": (
        "[5.0, 6.0]",
        f"[{'5.0, ' * 100_001}]",
        13,
        "allowed: 1 to 100000 numbers",
    ),
    "a list with a text": (
        "[5.0, 6.0]",
        '[5.0, "6"]',
        13,
        'frequency.values[1] = "6" is not a number',
    ),
    "an empty list": ("[5.0, 6.0]", "[]", 13, "load.frequency.values = [] is out of range"),
    "a swept value out of its range": (
        "[5.0, 6.0]",
        "[5.0, 0.0]",
        13,
        "load.frequency takes the value 0; allowed: (0, inf) rad/s",
    ),
    "a value twice": (
        "[5.0, 6.0]",
        "[5.0, 5.0]",
        13,
        "load.frequency takes the value 5 twice",
    ),
    "bounds in a grid": (
        "[5.0, 6.0]",
        "{ bounds = [5.0, 6.0] }",
        13,
        "needs values, linspace, logspace where method",
    ),
    "a logspace through zero": (
        "linspace = [100.0",
        "logspace = [0.0",
        12,
        "logspace = [0.0, 200.0, 3] is not above 0",
    ),
    "two ways for one path": (
        "{ linspace",
        "{ values = [1.0], linspace",
        12,
        "has values, linspace; allowed: one of",
    ),
    "no sweep": (SWEEP, "", 11, "sweep is missing; allowed where analysis.kind"),
    "no TOML": ("[run]", "[run", 14, "not TOML"),
}


@pytest.mark.parametrize(
    ("wrong", "instead", "line", "words"), MISTAKES.values(), ids=MISTAKES
)
def test_a_mistake_is_met_with_one_message(tmp_path, wrong, instead, line, words):
    assert GOOD.count(wrong) == 1
    file = tmp_path / "study.toml"
    file.write_text(GOOD.replace(wrong, instead))
    with pytest.raises(ValueError, match=r"study\.toml, line ") as caught:
        load(file)
    message = str(caught.value)
    assert message.startswith(f"{file}, line {line}: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < 600 + len(str(file))


def test_a_grid_of_a_million_million_samples_is_refused_before_it_is_made(tmp_path):
    file = tmp_path / "study.toml"
    million = "{ linspace = [5.0, 8.0, 1000000] }"
    text = GOOD.replace("[5.0, 6.0]", million).replace("200.0, 3]", "200.0, 1000000]")
    file.write_text(text)
    with pytest.raises(
        ValueError, match=r"1000000 x 1000000 = 1e\+12 samples; allowed: at"
    ):
        load(file)


def test_sampling_without_a_path_is_refused(tmp_path):
    file = tmp_path / "study.toml"
    kind = '[analysis]\nkind = "natural_modes"\n[sweep]\nmethod = "sobol"\ncount = 8\n'
    module = '[system.modules.a-b]\nmodule = "spring"\nstiffness = 1.0\n'
    file.write_text(f'[system]\nkind = "assembly"\n{module}{kind}')
    with pytest.raises(ValueError, match=r"line 9: sweep\.method"):
        load(file)


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(GOOD)
    return file


def test_a_config_says_which_system(good):
    system = build(load(good))
    contact = jv.HertzContact.from_materials((2.1e11, 2.21e7), (0.3, 0.4), 1.0)
    assert system.attached.mass == 120.0
    assert system.main.mass == 1000.0
    assert system.contact.stiffness == contact.stiffness


@pytest.mark.parametrize(
    ("table", "contact"),
    [
        ("contact.stiffness = 3.504e7", jv.HertzContact(3.504e7)),
        ("", jv.two_body_impact().contact),
        (
            "contact = { youngs_moduli = [1e9, 2e9], poissons_ratios = [0.3, 0.3], "
            "curvature_sum = 2.0, shape_factor = 0.3 }",
            jv.HertzContact.from_materials((1e9, 2e9), (0.3, 0.3), 2.0, 0.3),
        ),
        (
            "contact = { youngs_moduli = [1e9, 2e9], poissons_ratios = [0.3, 0.3], "
            "curvatures = [0.5, 2.0] }",
            jv.HertzContact.from_curvatures((1e9, 2e9), (0.3, 0.3), (0.5, 2.0)),
        ),
    ],
)
def test_a_contact_is_given_by_stiffness_or_by_materials(tmp_path, table, contact):
    lines = [line for line in GOOD.splitlines() if not line.startswith("contact")]
    lines.insert(3, table)
    (tmp_path / "study.toml").write_text("\n".join(lines))
    system = build(load(tmp_path / "study.toml"))
    assert system.contact.stiffness == contact.stiffness


def test_command_line_settings_override_the_file(good):
    study = load(good, ["main.mass=900", "run.chunk=32", "sweep.load.frequency=[7.0]"])
    assert study.system.main.mass == 900.0
    assert study.run.chunk == 32
    assert study.samples == 3
    assert load(good, ["run.device=cpu"]).run.device == "cpu"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("atached.mass=1", "--set atached.mass=1: system.atached.mass = 1 is not a known"),
        (
            "runs.chunk=1",
            "--set runs.chunk=1: runs = {...} is not a known key; did you mean",
        ),
        (
            "load.amplitude=300",
            "load.amplitude is swept: its value has no effect",
        ),
        ("gap=-1", "--set gap=-1: system.gap = -1 is out of range; allowed: [0, inf) m"),
    ],
)
def test_bad_assignments_are_named(good, assignment, words):
    with pytest.raises(ValueError, match="--set") as caught:
        load(good, [assignment])
    assert words in str(caught.value)


def test_a_resolved_config_is_a_config_that_says_the_same(good, tmp_path):
    resolved = load(good).resolved()
    again = tmp_path / "again.toml"
    again.write_text(to_toml(resolved))
    study = load(again)
    resolved["output"]["directory"] = str(study.directory)
    assert study.resolved() == resolved
    assert resolved["system"]["load"]["amplitude"] == 500.0
    assert resolved["run"]["evidence"] == "checked"


READY = sorted(builtin_studies.folder().glob("*.toml"))


@pytest.mark.parametrize("file", READY, ids=lambda file: file.stem)
def test_a_ready_study_is_short_explained_and_valid(file):
    text = file.read_text()
    lines = text.splitlines()
    assert len(lines) <= 40
    for line in lines:
        assert len(line) <= 128  # a part of the system in one line
        if "=" in line.partition("#")[0]:
            assert "#" in line, f"no comment: {line}"
    study = load(file)
    written = tomllib.loads(text)
    assert study.title == written["title"]


@pytest.fixture(scope="module")
def described():
    """Return the schema of each section."""
    return schema()["properties"]


@pytest.mark.parametrize("file", READY, ids=lambda file: file.stem)
def test_the_schema_knows_every_key_of_the_ready_studies(file, described):
    written = tomllib.loads(file.read_text())
    for section in ("system", "analysis"):
        kinds = {k["properties"]["kind"]["const"]: k for k in described[section]["oneOf"]}
        known = kinds[written[section]["kind"]]["properties"]
        assert set(written[section]) <= set(known)
    for section in ("run", "output"):
        assert set(written.get(section, {})) <= set(described[section]["properties"])


def test_numbers_of_the_schema_may_have_units(described):
    either = ["number", "string"]
    assert described["sweep"]["additionalProperties"]["anyOf"][0]["items"]["type"] == either
    designs = [
        k for k in described["analysis"]["oneOf"] if "constraints" in k["properties"]
    ]
    limit = designs[0]["properties"]["constraints"]["additionalProperties"]
    assert limit["properties"]["at_most"]["anyOf"][0]["type"] == either
    assert described["run"]["properties"]["rtol"]["type"] == "number"


def test_units_and_ranges_stand_in_the_schema(described):
    system = described["system"]["oneOf"][0]["properties"]
    mass = system["attached"]["properties"]["mass"]
    assert mass["unit"] == "kg"
    assert mass["exclusiveMinimum"] == 0
    assert np.isclose(mass["default"], 100.0)
