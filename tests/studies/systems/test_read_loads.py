"""Checked against: the same system in Python; columns of a file by hand; the messages."""

import hashlib
import re

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load, load_text

CONFIG = """
[system]
kind = "impact_assembly"

[system.variables]
m = { value = 40.0, unit = "kg" }
X = 0.02
w = "2 * pi / 1.2"

[system.linear.modules]
ground-cart = { module = "translation_translation", mass = "m", stiffness = 100.0 }

[system.loads]
road = { load = "harmonic", at = "cart", law = { amplitude = "m * X * w**2", frequency = "w" } }
third = { load = "harmonic", at = "cart", harmonic = 3, of = "road", law.amplitude = 2.0 }
shake = { base = "harmonic_displacement", at = "cart", harmonic = 2, of = "road", motion.amplitude = 0.1 }
seen = { load = "record", at = "cart", law = { data = "seen.csv", value = "push", unit = "kN", time_unit = "ms", periodic = true } }

[analysis]
kind = "periodic_orbit"

[sweep]
variables.X = [0.01, 0.02]
"""  # noqa: E501
SEEN = "t [ms];unused;push\n0;9;0.1\n\n# a remark\n400;9;-0.5\n1200;9;0.1\n"


@pytest.fixture
def config(tmp_path):
    (tmp_path / "seen.csv").write_text(SEEN)
    file = tmp_path / "study.toml"
    file.write_text(CONFIG)
    return file


def test_formulas_locked_loads_and_records_are_what_they_are_in_python(config):
    study = load(config)
    values = {path: entry.value for path, entry in jv.parameters(build(study)).items()}
    w = 2 * np.pi / 1.2
    assert values["linear.modules.ground-cart.mass"] == 40.0
    assert values["loads.road.law.amplitude"] == pytest.approx(40 * 0.02 * w**2, rel=1e-15)
    assert values["loads.third.law.frequency"] == pytest.approx(3 * w, rel=1e-15)
    assert values["loads.shake.motion.frequency"] == pytest.approx(2 * w, rel=1e-15)
    np.testing.assert_array_equal(values["loads.seen.law.times"], [0.0, 0.4, 1.2])
    np.testing.assert_array_equal(values["loads.seen.law.values"], [100.0, -500.0, 100.0])
    digest = hashlib.sha256(SEEN.encode()).hexdigest()
    assert study.system.loads["seen"].law.source.endswith(f"push in kN, sha256 {digest}")


def test_a_derived_parameter_follows_a_sweep_and_is_no_parameter(config):
    study = load(config)
    moved = jv.replace(build(study), {"variables.X": 0.01})
    amplitude = jv.parameters(moved)["loads.road.law.amplitude"].value
    assert amplitude == pytest.approx(40 * 0.01 * (2 * np.pi / 1.2) ** 2, rel=1e-15)
    with pytest.raises(ValueError, match=r"sweep.loads.road.law.amplitude .* is not a par"):
        load(config, ["sweep.loads.road.law.amplitude=[1.0]"])


def test_a_resolved_config_needs_no_file_and_is_the_same_study(config):
    study = load(config)
    text = to_toml(study.resolved())
    config.with_name("seen.csv").unlink()
    again = load_text(text, study.name)
    assert again.resolved() == study.resolved()
    assert again.system.formulas == study.system.formulas
    mine, theirs = jv.parameters(build(study)), jv.parameters(build(again))
    assert list(mine) == list(theirs)
    for path, entry in mine.items():
        np.testing.assert_array_equal(entry.value, theirs[path].value)


def test_a_number_replaces_a_formula(config):
    study = load(config, ["loads.road.law.amplitude=3.0"])
    assert study.system.loads["road"].law.amplitude == 3.0
    assert "loads.road.law.amplitude" not in study.system.formulas


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "loads.road.law.amplitude=m * Y",
            "set loads.road.*character 5, at 'Y': 'Y' is not",
        ),
        ("loads.road.law.amplitude=m ** ", "is not a formula"),
        ("loads.road.law.frequency=-w", r"loads.road.law.frequency = -5"),
        ("variables.w=w", "circular formulas"),
        ("variables.X=1e200**2", "has no value"),
        (f"variables.X=0x{'f' * 100_000}", "variables.X is an integer of more than"),
        ("loads.third.harmonic=2.5", r"harmonic = 2.5; allowed: whole numbers in \[1, 64"),
        ("loads.third.of=raod", 'of = "raod" is not another load; did you mean "road"'),
        ("loads.third.of=third", "is not another load"),
        ("loads.third.law.frequency=3.0", "frequency conflicts with harmonic"),
        ("loads.seen.law.data=sen.csv", 'data = "sen.csv": no such file'),
        ("loads.seen.law.value=pusch", 'column "pusch" not found; .*mean "push"'),
        ("loads.seen.law.unit=kNN", "unit = .kNN.: unknown unit .*did you mean 'kN'"),
        ("loads.seen.law.unit=mm", 'unit = "mm": mm is given where a force in N is'),
        ("loads.seen.law.time_unit=N", 'time_unit = "N": N is given where a time in s'),
        ("loads.seen.law.values=[1.0]", "values conflicts with data"),
        ("loads.seen.law.interpolation=quintic", '"linear", "cubic"'),
    ],
)
def test_bad_loads_are_named(config, change, message):
    with pytest.raises(ValueError, match=message):
        load(config, [change])


def test_a_formula_of_integers_that_no_float_holds_is_refused(config):
    """It ended in an OverflowError: 2^63 to the 32nd has 2016 bits."""
    most = f"variables.X={(1 << 63) - 1}"
    with pytest.raises(ValueError, match=r"loads\.road\.law\.amplitude: int too large"):
        load(config, [most, "loads.road.law.amplitude=X**16 * X**16"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t,push\n0,1\nx,2\n", r'line 3: t = "x" is not a number'),
        ("t,push\n0,1\n1\n", r'line 3: push = "" is not a number'),
        ("t,push\n0,inf\n1,1\n", "line 2: push"),
        ("t,push,push\n0,1,1\n", 'column "push" appears twice'),
        ("t,push\n0,1\n", "1 rows of numbers; allowed: two or more"),
        ("", 'column "" not found|column "push" not found'),
        ("t [s],push\n0,1\n1,1\n", r't \[s\]" names another unit than time_unit = "ms"'),
        ("t (min),push\n0,1\n1,1\n", r't \(min\)" names another unit than time_unit'),
    ],
)
def test_files_that_are_no_records_are_reported(config, content, message):
    config.with_name("seen.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        load(config)


@pytest.mark.parametrize(
    "heading", ["push (kN)", "push [kN]", "push (10^3 N)", "push (left)", "push(s)"]
)
def test_headings_may_tell_the_unit_or_a_remark(config, heading):
    config.with_name("seen.csv").write_text(f"t (ms),{heading}\n0,1\n2000,3\n4000,1\n")
    config.write_text(CONFIG.replace('value = "push"', f'value = "{heading}"'))
    found = jv.parameters(build(load(config)))["loads.seen.law.values"].value
    np.testing.assert_array_equal(found, [1e3, 3e3, 1e3])


def test_a_heading_that_contradicts_the_unit_is_reported(config):
    config.with_name("seen.csv").write_text("t (ms),push (kN)\n0,1\n2000,3\n4000,1\n")
    told = 'value = "push (kN)", unit = "N"'
    config.write_text(CONFIG.replace('value = "push", unit = "kN"', told))
    with pytest.raises(ValueError, match='names another unit than unit = "N"'):
        load(config)


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (
            '{ data = "seen.csv" }',
            'law: value, unit are missing; value: a column of "seen.csv": "t [ms]", '
            '"unused", "push"; unit: of the values, such as kN, mm or g',
        ),
        (
            '{ data = "no.csv", unit = "N" }',
            'law: value is missing; value: a column of "no.csv", which cannot be read: no '
            "such file",
        ),
        (
            '{ value = "push", time_unit = "ms" }',
            "law: data, unit are missing; data: CSV, .AT2 or .lvm file, relative to",
        ),
        ("{ scale = 2.0 }", "law.times is missing; allowed: "),
        ("{ scale = 2.0 }", "; also missing: system.loads.seen.law.values"),
    ],
)
def test_all_missing_keys_of_a_record_are_reported_at_once(config, law, words):
    lines = [line for line in CONFIG.splitlines() if not line.startswith("seen")]
    own = f'seen = {{ load = "record", at = "cart", law = {law} }}'
    where = lines.index("[analysis]")
    config.write_text("\n".join([*lines[:where], own, *lines[where:]]))
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        load(config)
    assert f"line {where + 1}: " in str(caught.value)


def test_bytes_that_are_no_text_are_reported(config):
    config.with_name("seen.csv").write_bytes(b"t,push\n0,\xff\n")
    with pytest.raises(ValueError, match="line 2: not UTF-8"):
        load(config)


def test_the_ready_quarter_car_is_pushed_by_its_tyre_and_copied_with_its_road(tmp_path):
    copied = builtin_studies.copy("quarter_car", tmp_path / "mine.toml")
    assert (tmp_path / "road.csv").exists()
    system = jv.replace(build(load(copied)), {"variables.roughness": 0.5})
    road = system.loads[0].law
    rows = np.loadtxt(tmp_path / "road.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(float(road.force(0.3)), 0.5 * 1.6e5 * rows[6, 1] * 1e-3)
    with pytest.raises(ValueError, match="already exists"):
        builtin_studies.copy("quarter_car", tmp_path / "mine.toml")


def test_the_ready_tower_is_shaken_by_a_share_of_gravity():
    system = build(load(builtin_studies.folder() / "shaken_tower.toml"))
    moved = jv.replace(system, {"variables.share": 0.980665})
    rate = moved.equation().vector_field(0.0, moved.rest())
    np.testing.assert_allclose(rate[3:], -0.980665, rtol=1e-12)


def test_a_scale_makes_no_acceleration_of_another_record(config):
    motion = (
        'data = "seen.csv", value = "push", unit = "UNIT", time_unit = "ms", '
        "scale = 2.0, periodic = true"
    )
    quake = (
        f'quake = {{ base = "record_acceleration", at = "cart", motion = {{ {motion} }} }}'
    )

    def read(unit):
        quakes = quake.replace("UNIT", unit)
        config.write_text(CONFIG.replace("seen = {", f"{quakes}\nseen = {{"))
        return jv.parameters(build(load(config)))["loads.quake.motion.values"].value

    np.testing.assert_allclose(read("g"), 9.80665 * np.array([0.1, -0.5, 0.1]), rtol=1e-15)
    with pytest.raises(ValueError, match=r"line \d+: system.loads.quake.motion.unit"):
        read("mm")
