"""Checked against: the same structures built in Python; the messages themselves."""

import jax
import numpy as np
import pytest
from scipy.io import mmwrite

import jaxvib as jv
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from tests.studies.configs import written

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


def assert_equal(system, expected):
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)


def with_play(play, more=""):
    given = (
        f"at = {{ left = 1.0, right = -1.0 }}, play = {play}, law.stiffness = 4e4 {more}}}"
    )
    before, rest = FRAMES.split("at = { left", 1)
    text = before + given + "\nwall" + rest.split("\nwall", 1)[1]
    return text.replace(
        "contacts.pounding.gap = [0.01, 0.02]", "loads.push.law.frequency = [5.0]"
    )


@pytest.mark.parametrize(
    "play", ["0.04", '"40 mm"', '"40mm"', '"2 * contacts.wall.gap / 5"']
)
def test_a_play_gives_the_two_contacts_of_backlash(tmp_path, play):
    system = build(load(written(tmp_path, with_play(play))))
    approach = system.linear.direction({"left": 1.0, "right": -1.0})
    sides = jv.backlash(approach, 0.04, jv.HertzContact(4e4), "pounding")
    for contact, side in zip(system.contacts, sides, strict=False):
        assert contact.name == side.name
        for mine, theirs in zip(*map(jax.tree.leaves, (contact, side)), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-15)


@pytest.mark.parametrize(
    ("play", "more", "message"),
    [
        ("0.04", ", gap = 0.01", "has a gap and a play"),
        ("-0.04", "", "play = -0.04; allowed:"),
        ('"-4 cm"', "", 'play = "-4 cm", which is -0.04 m; allowed:'),
        ('"contacts.wall.gap - 1"', "", "which is -0.9 m; allowed:"),
        ('"2 N"', "", "where a length in m is expected"),
        ('"1) * (1"', "", "play: formula '1\\) .* is not a formula"),
        ("0.04", "}\npounding-ahead = { contact = 'hertz'", "pounding-ahead is given too"),
    ],
)
def test_a_wrong_play_is_refused(tmp_path, play, more, message):
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, with_play(play, more)))


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
         "bending_stiffness = 1.0 }\n", "beam and modules given; allowed: one of beam"),
        ("modes = 3", "modes = 0", r"system.linear.modes = 0.*\[1, 512\]"),
        ('load = "harmonic"', 'base = "harmonic_acceleration"', "base motion"),
        ('"linear", at = "right", gap = 0.1, law.stiffness = 1e4',
         '"stop", at = "right", gap = 0.1, stiffness = -1.0', "stiffness = -1"),
        ('"left.x", right', '[1], right', "is not a point"),
        ('"left.x" = 1.0', '"left.x" = "1"', "is not a point"),
        ('"linear", at = "right", gap = 0.1, law.stiffness = 1e4',
         '"stop", at = 2.0, gap = 0.1', "2.0 is not a position"),
        ('"linear", at = "right", gap = 0.1, law.stiffness = 1e4',
         '"stop", at = { right = "1" }, gap = 0.1', "is not a position"),
    ],
)  # fmt: skip
def test_bad_keys_are_named(tmp_path, old, new, message):
    assert old in FRAMES
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, FRAMES.replace(old, new)))


MASS = np.diag([2.0, 1.0, 1.5])
STIFFNESS = np.array([[900.0, -500.0, 0.0], [-500.0, 800.0, -300.0], [0.0, -300.0, 600.0]])
SOURCE = """
[system.linear]
modes = 2
points = { left = "1", right = "2", base = { 1 = 1.0, 0 = 0.5 } }

[system.linear.matrices]
mass = "mass.mtx"
stiffness = "model.npz:stiffness"
damping = "model.npz:damping"

"""
BEGIN, END = (FRAMES.index(f"[system.{name}]") for name in ("linear", "contacts"))
MATRICES = FRAMES[:BEGIN] + SOURCE + FRAMES[END:]


@pytest.fixture
def matrices(tmp_path):
    mmwrite(tmp_path / "mass.mtx", MASS)
    damping = 0.1 * MASS + 2e-3 * STIFFNESS
    np.savez(tmp_path / "model.npz", stiffness=STIFFNESS, damping=damping)
    return written(tmp_path, MATRICES)


def test_matrices_from_files_become_modes_that_the_study_contains(matrices):
    study = load(matrices)
    linear = jv.LinearSystem(MASS, 0.1 * MASS + 2e-3 * STIFFNESS, STIFFNESS)
    points = {"left": [0.0, 1.0, 0.0], "right": [0.0, 0.0, 1.0], "base": [0.5, 1.0, 0.0]}
    structure = jv.elastic_structure(linear, 2, points)
    found = build(study).linear
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(structure), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    # flexibility of all modes is that of the matrices
    shapes = np.asarray(found.shapes / found.frequencies[None])
    flexibility = found.residual + shapes @ shapes.T
    rows = np.array(list(points.values()))
    exact = rows @ np.linalg.solve(STIFFNESS, rows.T)
    np.testing.assert_allclose(flexibility, exact, rtol=1e-12)
    (matrices.parent / "model.npz").unlink()
    resolved = to_toml(study.resolved())
    again = load(written(matrices.parent, resolved))
    assert again.resolved() == study.resolved()
    assert_equal(build(again), build(study))
    table = study.resolved()["system"]["linear"]["modal"]
    assert table["source"].startswith("mass mass.mtx, sha256 ")
    assert "; 3 degrees of freedom, 0 rigid-body modes" in table["source"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"mass.mtx"', '"mas.mtx"', "matrices: mass = .*mas.mtx': no such file"),
        ("npz:stiffness", "npz:stifness", "did you mean"),
        ("modes = 2", "modes = 7", "matrices: modes = 7; allowed: up to 3"),
        ('left = "1"', "left = 1", r"points.left = 1; allowed: .* as text"),
        ("modes = 2", "modes = 2\nmodules = {}", "both matrices and modules"),
    ],
)
def test_bad_matrices_are_named(matrices, old, new, message):
    assert old in MATRICES
    with pytest.raises(ValueError, match=message):
        load(written(matrices.parent, MATRICES.replace(old, new)))


def test_identified_modes_are_given_by_themselves(tmp_path):
    begin, end = MATRICES.index("modes = 2"), MATRICES.index("[system.contacts]")
    modal = """
damping_ratio = 0.02
modal.frequencies = [12.0, 31.0]
modal.shapes = { left = [0.4, 0.3], right = [0.2, -0.5], base = [0.1, 0.1] }

"""
    text = MATRICES[:begin] + modal + MATRICES[end:]
    linear = build(load(written(tmp_path, text))).linear
    shapes = [[0.4, 0.3], [0.2, -0.5], [0.1, 0.1]]
    expected = jv.ElasticStructure([12.0, 31.0], shapes, ["left", "right", "base"], 0.02)
    assert_equal(linear, expected)
    for old, new, message in (
        ("[0.2, -0.5]", "[0.2]", "linear.modal"),
        ("damping_ratio = 0.02", "modes = 2", "modes is given with modal"),
    ):
        with pytest.raises(ValueError, match=message):
            build(load(written(tmp_path, text.replace(old, new))))


def test_a_hard_stop_with_all_modes_kept_is_refused(tmp_path):
    stop = 'wall = { contact = "stop", at = "right", gap = 0.1 }'
    wall = next(line for line in FRAMES.splitlines() if line.startswith("wall"))
    study = load(written(tmp_path, FRAMES.replace(wall, stop)))
    with pytest.raises(ValueError, match=r"contacts.wall: residual flexibility"):
        build(study)


TUBE = """
[system]
kind = "elastic_impact"

[system.linear]
modes = 3
planes = 2
damping_ratio = 0.02
points.middle = 0.5

[system.linear.beam]
length = 1.0
mass_per_length = 0.5
bending_stiffness = 20.0
ends = ["hinged", "hinged"]

[system.contacts.hole]
annular = "hertz"
at = ["middle.x", "middle.y"]
gap = "1 mm"
offset = [3e-4, 0.0]
friction_coefficient = 0.3
regularization = 0.005
law.stiffness = 2e7

[system.loads.lift]
load = "harmonic"
at = "middle.x"
law = { amplitude = 0.6, frequency = 50.0 }

[analysis]
kind = "periodic_orbit"

[sweep]
contacts.hole.friction_coefficient = [0.1, 0.3]
"""


def test_a_tube_in_a_hole_is_what_it_is_in_python(tmp_path):
    study = load(written(tmp_path, TUBE))
    beam = jv.BeamWithBodies(jv.Beam(1.0, 0.5, 20.0, ("hinged", "hinged")))
    tube = jv.elastic_structure(beam, 3, {"middle": 0.5}, damping_ratio=0.02)
    tube = tube.in_two_planes()
    plane = np.stack([tube.direction("middle.x"), tube.direction("middle.y")])
    others = {"friction_coefficient": 0.3, "regularization": 0.005, "offset": (3e-4, 0.0)}
    law = jv.HertzContact(2e7)
    hole = jv.AnnularContact(plane, 1e-3, law, **others, name="hole")
    lift = jv.HarmonicLoad(0.6, 50.0)
    load_x = jv.AppliedLoad(tube.direction("middle.x"), lift, "lift")
    assert_equal(build(study), jv.ImpactSystem(tube, (hole,), (load_x,)))
    again = load(written(tmp_path, to_toml(study.resolved())))
    assert_equal(build(again), build(study))


WRONG_HOLES = [
    ('["middle.x", "middle.y"]', '"middle.x"', "is not a plane.*a list of two positions"),
    ('["middle.x", "middle.y"]', '["middle.x", "middel.y"]', "did you mean"),
    ('annular = "hertz"', 'annular = "hard"', '"hard" is not known; allowed: "hertz"'),
    ("offset = [3e-4, 0.0]", "offset = [3e-4]", r"hole.offset = \[0.0003\]"),
    ('"middle.x", "middle.y"', '"middle.x", "middle.x"', "hole.at.*two independent"),
    ('"middle.y"]', "{ middle.x = 2.0 }]", r"contacts\.hole: directions .* parallel"),
    ("regularization = 0.005", "", r"contacts\.hole: friction .* without surface_speed"),
    ("planes = 2", "planes = 3", "planes = 3"),
]


@pytest.mark.parametrize(("right", "wrong", "message"), WRONG_HOLES)
def test_a_wrong_hole_is_named(tmp_path, right, wrong, message):
    assert right in TUBE
    with pytest.raises(ValueError, match=message):
        build(load(written(tmp_path, TUBE.replace(right, wrong))))
