"""Checked against: `jv.assemble` and its modes by hand; the messages themselves."""

import numpy as np
import pytest
import scipy.linalg
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main
from jaxvib.studies import ready
from jaxvib.studies.assembly import module_tables
from jaxvib.studies.config import load
from jaxvib.studies.execute import build

MODES = ready.folder() / "tower_modes.toml"
RESPONSE = ready.folder() / "tower_response.toml"
EVERY_MODULE = """
[system]
kind = "assembly"
modules.ground-cart = { module = "translation_translation", mass = 2.0, stiffness = 100.0 }
modules.cart-one = { module = "translation_rotation", mass = 1.0, length = 0.8 }
modules.cart-up = { module = "translation_rotation", mass = 1.0, length = 0.8, standing = true, stiffness = 9.0, inertia = 0.2 }
modules.one-two = { module = "rod_on_rod", carrier = "cart", mass = 0.5, length = 0.3, first_length = 0.8 }
modules.one-up = { module = "angular_spring", stiffness = 4.0, damping = 0.1 }
modules.ground-root = { module = "beam", length = 0.7, bending_stiffness = 12.0, mass_per_length = 0.5 }
modules.root.y = { module = "point_mass", mass = 0.3 }
modules.root.angle = { module = "point_inertia", inertia = 0.01 }
modules.cart-root.y = { module = "spring", stiffness = 30.0 }
modules.cart-root.y-2 = { module = "spring", damping = 0.4 }
modules.ground-node = { module = "frame", along = [1.0, 0.0, 0.0], side = [0.0, 1.0, 0.0], axial_stiffness = 9.0, torsional_stiffness = 1.0, bending_stiffness = [2.0, 3.0], mass_per_length = 0.1, inertia_per_length = 0.01 }

[analysis]
kind = "natural_modes"
"""  # noqa: E501


def run(config, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    return CliRunner().invoke(main, ["run", str(config), *words, "--out", str(directory)])


def written(tmp_path, text, name="study.toml"):
    file = tmp_path / name
    file.write_text(text)
    return file


def test_every_module_can_be_set_and_is_what_it_is_in_python(tmp_path):
    study = load(written(tmp_path, EVERY_MODULE))
    system = build(study)
    rod = {"mass": 1.0, "length": 0.8}
    expected = jv.assemble(
        [
            jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0),
            jv.TranslationRotation("cart", "one", **rod),
            jv.TranslationRotation("cart", "up", **rod, standing=True, stiffness=9.0,
                                   inertia=0.2),
            jv.RodOnRod("cart", "one", "two", mass=0.5, length=0.3, first_length=0.8),
            jv.AngularSpring("one", "up", stiffness=4.0, damping=0.1),
            jv.BeamModule("ground", "root", length=0.7, bending_stiffness=12.0,
                          mass_per_length=0.5),
            jv.PointMass("root.y", 0.3),
            jv.PointInertia("root.angle", 0.01),
            jv.Spring("cart", "root.y", stiffness=30.0),
            jv.Spring("cart", "root.y", damping=0.4),
            jv.FrameModule("ground", "node", along=[1.0, 0.0, 0.0], side=[0.0, 1.0, 0.0],
                           axial_stiffness=9.0, torsional_stiffness=1.0,
                           bending_stiffness=[2.0, 3.0], mass_per_length=0.1,
                           inertia_per_length=0.01),
        ]
    )  # fmt: skip
    assert system.names == expected.names
    for mine, theirs in zip(system.matrices(), expected.matrices(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    used = {table.module for table in study.system.modules.values()}
    assert used == set(module_tables())
    scalars = {p for p, entry in jv.parameters(system).items() if np.ndim(entry.value) == 0}
    kind = load(MODES).system.kind
    assert kind == "assembly"
    from jaxvib.studies.kinds import SYSTEMS

    assert set(SYSTEMS["assembly"].declared(study.system)) == scalars


def test_modes_over_a_swept_parameter_are_those_of_each_system(tmp_path):
    sets = ["sweep.modules.roof-pendulum.length=[0.3, 0.9]", "output.report=false"]
    done = run(MODES, tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    assert "most moving pendulum" in done.output
    results = jv.open_study(tmp_path / "out")
    assert results["shapes"].dims == (
        "modules.roof-pendulum.length", "freedom", "mode",
    )  # fmt: skip
    assert list(results["module"]) == [
        "ground-first", "first-second", "second-roof", "roof-pendulum",
    ]  # fmt: skip
    system = build(load(MODES))
    for row, length in enumerate((0.3, 0.9)):
        each = jv.replace(system, {"modules.roof-pendulum.length": length})
        mass, damping, stiffness = (np.asarray(m) for m in each.matrices())
        squares = scipy.linalg.eigh(stiffness, mass, eigvals_only=True)
        np.testing.assert_allclose(results["frequencies"][row] ** 2, squares, rtol=1e-11)
        size = len(mass)
        below = -np.linalg.solve(mass, np.hstack([stiffness, damping]))
        above = np.hstack([np.zeros((size, size)), np.eye(size)])
        values = np.linalg.eigvals(np.vstack([above, below]))
        values = values[values.imag > 0]
        values = values[np.argsort(abs(values))]
        np.testing.assert_allclose(
            results["damped_frequencies"][row][:size], values.imag, rtol=1e-9
        )
        np.testing.assert_allclose(results["decays"][row][:size], -values.real, rtol=1e-8)
        np.testing.assert_allclose(results["potential_shares"][row].sum("module"), 1)
        np.testing.assert_allclose(results["kinetic_shares"][row].sum("freedom"), 1)


def test_a_response_is_that_of_the_solved_equations_with_or_without_a_sweep(tmp_path):
    short = ["analysis.points=5", "output.report=false"]
    done = run(RESPONSE, tmp_path / "swept", *short)
    assert done.exit_code == 0, done.output
    assert "peak       roof" in done.output
    results = jv.open_study(tmp_path / "swept")
    system = build(load(RESPONSE))
    each = jv.replace(system, {"modules.roof-pendulum.damping": 200.0})
    mass, damping, stiffness = (np.asarray(m) for m in each.matrices())
    for at, frequency in enumerate(np.linspace(2.0, 80.0, 5)):
        dynamic = stiffness - frequency**2 * mass + 1j * frequency * damping
        expected = np.linalg.solve(dynamic, [1.0, 0.0, 0.0])
        np.testing.assert_allclose(results["amplitude"][0, at], abs(expected), rtol=1e-10)
        np.testing.assert_allclose(results["phase"][0, at], np.angle(expected), rtol=1e-9)
    text = RESPONSE.read_text().partition("[sweep]")[0]
    done = run(written(tmp_path, text), tmp_path / "one", *short)
    assert done.exit_code == 0, done.output
    assert jv.open_study(tmp_path / "one").sizes["sample"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("modules.first-second.mass=-1", r"first-second.mass = -1 is out of range"),
        ("modules.first-second.mas=1", "did you mean system.modules.first-second.mass"),
        ('modules.first-second.module="beem"', 'not known; .* did you mean "beam"'),
        ("modules.roof.mass=1", "system.modules.roof.mass = 1 is not a module"),
        ('modules.roof.module="spring"', "name of the form first-second"),
        ("sweep.modules.roof-pendulum.lengt=[1.0]", "mean modules.roof-pendulum.length"),
        ("analysis.kind=periodic_orbit", "does not go with"),
    ],
)
def test_mistakes_are_met_with_the_path_and_what_is_allowed(change, message):
    with pytest.raises(ValueError, match=message):
        load(MODES, [change])


@pytest.mark.parametrize(
    ("config", "change", "message"),
    [
        (MODES, "modules.roof-lost.module=spring", "module 'roof-lost' names 'lost'"),
        (MODES, "modules.roof-pendulum-3.module=spring", "takes 'pendulum' for a trans"),
        (RESPONSE, "analysis.force=rof", "unknown freedom 'rof'; did you mean 'roof'"),
    ],
)
def test_a_wrong_topology_is_refused_before_anything_is_written(
    config, change, message, tmp_path
):
    done = run(config, tmp_path / "out", change)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists()
