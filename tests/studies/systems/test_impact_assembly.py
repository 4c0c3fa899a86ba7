"""Checked against: `jv.ImpactSystem` and its orbits by hand; the messages themselves."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.run import ready
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.systems.impact_assembly import part_tables

TOWER = ready.folder() / "tower_with_stop.toml"
EVERY_PART = """
[system]
kind = "impact_assembly"

[system.linear.modules]
ground-cart = { module = "translation_translation", mass = 2.0, stiffness = 100.0 }
ground-slide.x = { module = "spring", stiffness = 50.0 }
slide.x = { module = "point_mass", mass = 1.0 }

[system.contacts]
stop = { contact = "hertz", at = "cart", gap = 0.02, law.stiffness = 4e4 }
pair = { contact = "linear", at = { cart = 1.0, "slide.x" = -1.0 }, gap = 0.01, law.stiffness = 1e4 }

[system.loads]
push = { load = "harmonic", at = "slide.x", law = { amplitude = 3.0, frequency = 5.0, phase = 0.4 } }

[analysis]
kind = "periodic_orbit"

[sweep]
contacts.stop.gap = [0.01, 0.02]
"""  # noqa: E501


def run(config, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    command = [sys.executable, "-m", "jaxvib", "run", str(config), *words]
    done = subprocess.run(
        [*command, "--out", str(directory)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def written(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def test_every_contact_and_load_is_what_it_is_in_python(tmp_path):
    study = load(written(tmp_path, EVERY_PART))
    system = build(study)
    linear = jv.assemble(
        [
            jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0),
            jv.Spring("ground", "slide.x", stiffness=50.0),
            jv.PointMass("slide.x", 1.0),
        ]
    )
    pair = linear.direction({"cart": 1.0, "slide.x": -1.0})
    load_at = linear.direction("slide.x")
    expected = jv.ImpactSystem(
        linear,
        (
            jv.Contact(linear.direction("cart"), 0.02, jv.HertzContact(4e4), "stop"),
            jv.Contact(pair, 0.01, jv.LinearContact(1e4), "pair"),
        ),
        (jv.AppliedLoad(load_at, jv.HarmonicLoad(3.0, 5.0, 0.4), "push"),),
    )
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)
    tables = [*study.system.contacts.values(), *study.system.loads.values()]
    assert {type(table) for table in tables} == set(part_tables().values())
    scalars = {path for path, entry in theirs.items() if np.ndim(entry.value) == 0}
    from jaxvib.studies.analyses.kinds import SYSTEMS

    declared = SYSTEMS[study.system.kind].declared(study.system)
    assert set(declared) == scalars
    for path, entry in declared.items():
        assert entry.default == float(theirs[path].value)


def test_the_ready_study_is_the_tower_that_its_words_describe():
    system = build(load(TOWER))
    names = ("ground", "first", "roof")
    numbers = ((2e4, 3e7, 4e4), (1.5e4, 2e7, 3e4))
    tower = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=m, stiffness=k, damping=d)
            for (a, b), (m, k, d) in zip(itertools.pairwise(names), numbers, strict=True)
        ]
    )
    for mine, theirs in zip(system.matrices(), tower.matrices(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(system.contacts[0].direction, [0, 1])
    np.testing.assert_array_equal(system.loads[0].direction, [1, 0])


@pytest.mark.slow
def test_a_tower_with_a_stop_is_run_stored_and_drawn(tmp_path):
    directory = tmp_path / "out"
    sets = ("sweep.loads.push.law.frequency=[16.0, 26.0]", "contacts.stop.gap=0.008")
    run(TOWER, directory, *sets)
    results = jv.open_study(directory)
    system = jv.replace(build(load(TOWER)), {"contacts.stop.gap": 0.008})
    for i, frequency in enumerate((16.0, 26.0)):
        here = jv.replace(system, {"loads.push.law.frequency": frequency})
        orbit = jv.periodic_orbit(here)
        assert int(orbit.contacts) == int(results["contacts"][i])
        scale = np.abs(orbit.state).max()
        np.testing.assert_allclose(results["state"][i], orbit.state, atol=1e-7 * scale)
    assert results["contacts"].max() == 1
    assert list(results["freedom"].values) == ["first", "roof"]
    assert (directory / "report.html").exists()
    run(directory / "config.toml", tmp_path / "again")
    other = jv.open_study(tmp_path / "again")
    np.testing.assert_array_equal(other["state"], results["state"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("contacts.stop.contact=herz", r'stop.contact = "herz" is not known.* "hertz"'),
        ("contacts.stop=3", "contacts.stop.contact is missing"),
        ("contacts.stop.gap=wide", "contacts.stop.gap"),
        ("contacts.stop.law.stiffness=-1.0", "contacts.stop.law.stiffness = -1"),
        ("contacts.stop.at=3", "3 is no place; allowed: a freedom's name"),
        ("contacts.stop.at={cart=true}", "is no place"),
        ("contacts.stop.hardness=3", "contacts.stop.hardness = 3 is not a known key"),
        ("loads={}", "system.loads is empty"),
        ("sweep.contacts.stop.gapp=[1.0]", "did you mean contacts.stop.gap"),
    ],
)
def test_what_is_no_contact_or_load_is_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, EVERY_PART), [change])


def test_places_that_are_not_there_are_named(tmp_path):
    study = load(written(tmp_path, EVERY_PART), ["contacts.stop.at=crat"])
    with pytest.raises(ValueError, match=r"contacts.stop.at: .*did you mean 'cart'"):
        build(study)
