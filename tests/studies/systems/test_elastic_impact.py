"""Checked against: the same structures built in Python; the messages themselves."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load

CANTILEVER = builtin_studies.folder() / "cantilever_stop.toml"
FRAMES = """
[system]
kind = "elastic_impact"

[system.linear]
modes = 3
mass_damping = 0.1
stiffness_damping = 1e-3
points = { left = "left.x", right = "right.x", base = { "left.x" = 1.0, low = 0.5 } }

[system.linear.modules]
ground-low = { module = "translation_translation", mass = 2.0, stiffness = 900.0 }
low-left.x = { module = "spring", stiffness = 500.0 }
left.x = { module = "point_mass", mass = 1.0 }
ground-right.x = { module = "spring", stiffness = 300.0 }
right.x = { module = "point_mass", mass = 1.5 }

[system.contacts]
pounding = { contact = "hertz", at = { left = 1.0, right = -1.0 }, gap = 0.02, law.stiffness = 4e4 }
wall = { contact = "linear", at = "right", gap = 0.1, law.stiffness = 1e4 }

[system.loads]
push = { load = "harmonic", at = "base", law = { amplitude = 3.0, frequency = 5.0 } }

[analysis]
kind = "periodic_orbit"

[sweep]
contacts.pounding.gap = [0.01, 0.02]
"""  # noqa: E501


def written(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return file


def assert_equal(system, expected):
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)


def test_frames_that_pound_are_what_they_are_in_python(tmp_path):
    study = load(written(tmp_path, FRAMES))
    modules = [
        jv.TranslationTranslation("ground", "low", mass=2.0, stiffness=900.0),
        jv.Spring("low", "left.x", stiffness=500.0),
        jv.PointMass("left.x", 1.0),
        jv.Spring("ground", "right.x", stiffness=300.0),
        jv.PointMass("right.x", 1.5),
    ]
    points = {"left": "left.x", "right": "right.x", "base": {"left.x": 1.0, "low": 0.5}}
    structure = jv.elastic_structure(
        jv.assemble(modules), 3, points, mass_damping=0.1, stiffness_damping=1e-3
    )
    between = structure.direction({"left": 1.0, "right": -1.0})
    expected = jv.ImpactSystem(
        structure,
        [
            jv.Contact(between, 0.02, jv.HertzContact(4e4), "pounding"),
            jv.Contact(structure.direction("right"), 0.1, jv.LinearContact(1e4), "wall"),
        ],
        [jv.AppliedLoad(structure.direction("base"), jv.HarmonicLoad(3.0, 5.0), "push")],
    )
    assert_equal(build(study), expected)
    again = load(written(tmp_path, to_toml(study.resolved())))
    assert again.resolved() == study.resolved()


def test_the_ready_cantilever_has_a_stop_by_residual_flexibility(tmp_path):
    study = load(CANTILEVER)
    beam = jv.BeamWithBodies(jv.Beam(1.0, 0.5, 20.0))
    structure = jv.elastic_structure(beam, 4, {"tip": 1.0}, damping_ratio=0.02)
    push = jv.HarmonicLoad(0.5, 22.0)
    expected = jv.ImpactSystem(
        structure,
        [structure.stop("tip", 0.01, name="stop")],
        [jv.AppliedLoad(structure.direction("tip"), push, "shaker")],
    )
    assert_equal(build(study), expected)
    again = load(written(tmp_path, to_toml(study.resolved())))
    assert again.resolved() == study.resolved()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("modes = 3\n", "modes = 3\nbeam = { length = 1.0, mass_per_length = 1.0, "
         "bending_stiffness = 1.0 }\n", "both of beam and modules"),
        ("modes = 3", "modes = 0", r"system.linear.modes = 0.*\[1, 512\]"),
        ('load = "harmonic"', 'base = "harmonic_acceleration"', "base motion"),
        ('"linear", at = "right", gap = 0.1, law.stiffness = 1e4',
         '"stop", at = "right", gap = 0.1, stiffness = -1.0', "stiffness = -1"),
        ('"left.x", right', '[1], right', "is not a point"),
    ],
)  # fmt: skip
def test_bad_keys_are_named(tmp_path, old, new, message):
    assert old in FRAMES
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, FRAMES.replace(old, new)))


def test_a_hard_stop_with_all_modes_kept_is_refused(tmp_path):
    stop = 'wall = { contact = "stop", at = "right", gap = 0.1 }'
    wall = next(line for line in FRAMES.splitlines() if line.startswith("wall"))
    study = load(written(tmp_path, FRAMES.replace(wall, stop)))
    with pytest.raises(ValueError, match=r"contacts.wall: residual flexibility"):
        build(study)
