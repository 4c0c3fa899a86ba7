"""Checked against: `jv.assemble` by hand, scipy's eigenvalues and DOP853, the messages."""

import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load, load_text
from jaxvib.studies.systems.assembly import module_tables
from tests.studies.configs import run, written

MODES = builtin_studies.folder() / "tower_modes.toml"
RESPONSE = builtin_studies.folder() / "tower_response.toml"
MOTION = builtin_studies.folder() / "tower_motion.toml"
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
modules.ground-arm = { module = "plane_frame", along = [1.0, 0.5], axial_stiffness = 9.0, bending_stiffness = 2.0, mass_per_length = 0.1, second_arm = [0.1, 0.2] }
modules.rotor = { module = "spinning_disc", mass = 1.0, diametral_inertia = 0.2, polar_inertia = 0.3, spin = 7.0 }
fixed = ["arm.x"]

[analysis]
kind = "natural_modes"
"""  # noqa: E501


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
            jv.PlaneFrameModule("ground", "arm", along=[1.0, 0.5], axial_stiffness=9.0,
                                bending_stiffness=2.0, mass_per_length=0.1,
                                second_arm=[0.1, 0.2]),
            jv.SpinningDisc("rotor", mass=1.0, diametral_inertia=0.2, polar_inertia=0.3,
                            spin=7.0),
        ],
        fixed=["arm.x"],
    )  # fmt: skip
    assert system.names == expected.names
    for mine, theirs in zip(system.matrices(), expected.matrices(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    used = {table.module for table in study.system.modules.values()}
    assert used == set(module_tables())
    scalars = {p for p, entry in jv.parameters(system).items() if np.ndim(entry.value) == 0}
    kind = load(MODES).system.kind
    assert kind == "assembly"
    from jaxvib.studies.analyses.kinds import SYSTEMS

    assert set(SYSTEMS["assembly"].declared(study.system)) == scalars


def test_modes_over_a_swept_parameter_are_those_of_each_system(tmp_path):
    sets = ["sweep.modules.roof-pendulum.length=[0.3, 0.9]", "output.report=false"]
    done = run(MODES, tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    assert "largest motion pendulum" in done.output
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
        ("analysis.kind=periodic_orbit", "does not support"),
    ],
)
def test_mistakes_are_met_with_the_path_and_what_is_allowed(change, message):
    with pytest.raises(ValueError, match=message):
        load(MODES, [change])


@pytest.mark.parametrize(
    ("config", "change", "message"),
    [
        (MODES, "modules.roof-lost.module=spring", "acts on 'lost', which has no mass"),
        (MODES, "modules.roof-pendulum-3.module=spring", "uses 'pendulum' as a trans"),
        (
            RESPONSE,
            "analysis.force=rof",
            "degree of freedom 'rof'; did you mean 'roof'",
        ),
    ],
)
def test_a_wrong_topology_is_refused_before_anything_is_written(
    config, change, message, tmp_path
):
    done = run(config, tmp_path / "out", change)
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "out").exists()


def moved(system, start, push, times):
    """Return places and rates by a tight integration."""
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())
    size = len(mass)

    def field(time, state):
        force = push(time) - stiffness @ state[:size] - damping @ state[size:]
        return np.concatenate([state[size:], np.linalg.solve(mass, force)])

    span = (0.0, times[-1])
    solved = solve_ivp(field, span, start, "DOP853", times, rtol=1e-11, atol=1e-14)
    return np.split(solved.y.T, 2, 1)


def test_a_tower_let_go_moves_as_an_independent_integration(tmp_path):
    sets = ["analysis.points=21", "analysis.duration=1.5", "output.report=false"]
    done = run(MOTION, tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    assert "largest    roof 0.01 m at t = 0 s" in done.output
    results = jv.open_study(tmp_path / "out")
    system = build(load(MOTION))
    start = np.array([0.006, 0.01, 0.0, 0.0, 0.0, 0.0])
    times = np.linspace(0.0, 1.5, 21)
    for row, damping in enumerate((5e2, 2e3, 8e3)):
        each = jv.replace(system, {"modules.roof-pendulum.damping": damping})
        places, rates = moved(each, start, lambda _: np.zeros(3), times)
        np.testing.assert_allclose(results["places"][row], places, atol=1e-10)
        np.testing.assert_allclose(results["rates"][row], rates, atol=1e-8)
        energies = jv.dynamics.module_energies(each, np.hstack([places, rates]))
        for name in ("kinetic", "potential", "dissipated"):
            mine = getattr(energies, name)
            scale = float(abs(mine).max())
            np.testing.assert_allclose(results[name][row], mine, atol=1e-6 * scale)
    assert results["places"].dims[1:] == ("time", "freedom")
    assert list(results["module"]) == ["ground-first", "first-roof", "roof-pendulum"]


@pytest.mark.slow  # a whole study, 2 s
def test_a_tower_that_is_pushed_moves_as_an_independent_integration(tmp_path):
    sets = ["analysis.points=11", "analysis.duration=1.5", "analysis.displacement={}",
            "analysis.velocity={pendulum=0.2}", "analysis.force.at=first",
            "analysis.force.amplitude=3e4", "analysis.force.frequency=17.0",
            "analysis.force.phase=0.3", "output.report=false"]  # fmt: skip
    done = run(MOTION, tmp_path / "out", *sets)
    assert done.exit_code == 0, done.output
    results = jv.open_study(tmp_path / "out")
    each = jv.replace(build(load(MOTION)), {"modules.roof-pendulum.damping": 2e3})

    def push(time):
        return np.array([3e4 * np.cos(17.0 * time + 0.3), 0.0, 0.0])

    start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.2])
    places, rates = moved(each, start, push, np.linspace(0.0, 1.5, 11))
    np.testing.assert_allclose(results["places"][1], places, atol=1e-10)
    np.testing.assert_allclose(results["rates"][1], rates, atol=1e-8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("analysis.displacement={}", "no excitation"),
        ("analysis.force.frequency=0.0", "analysis.force.frequency = 0"),
        ("analysis.displacement={roof='far'}", "analysis.displacement"),
        ("analysis.force.amplitude='2 mm'", "mm is given where a force in N is expected"),
    ],
)
def test_an_invalid_excitation_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        load(MOTION, [change])


@pytest.mark.parametrize("where", ["velocity={rof=1.0}", "force.at=rof"])
def test_a_freedom_that_is_not_there_is_named(where):
    with pytest.raises(ValueError, match="degree of freedom 'rof'; did you mean 'roof'"):
        build(load(MOTION, [f"analysis.{where}"]))


SPINNING = """
system.kind = "assembly"
analysis.kind = "natural_modes"

[system.modules]
rotor = { module = "spinning_disc", mass = 2.0, diametral_inertia = 0.3, polar_inertia = 0.5, spin = 40.0 }
ground-rotor.x = { module = "spring", stiffness = 200.0 }
ground-rotor.y = { module = "spring", stiffness = 200.0 }
ground-rotor.angle_x = { module = "angular_spring", stiffness = 700.0 }
ground-rotor.angle_y = { module = "angular_spring", stiffness = 700.0 }
"""  # noqa: E501


def test_a_disc_that_spins_has_the_whirls_of_the_closed_form():
    study = load_text(SPINNING)
    kind = ANALYSES["natural_modes"]
    fields = kind.compute(build(study), {}, study.analysis, study.run, lambda done: None)
    assert np.isnan(fields["frequencies"].values).all()
    half, still = 40 * 0.5 / (2 * 0.3), 700 / 0.3
    whirls = np.sqrt(half**2 + still) + np.array([-half, half])
    found = fields["damped_frequencies"].values[0]
    expected = [10.0, 10.0, *whirls]
    np.testing.assert_allclose(np.sort(found[found > 0]), expected, rtol=1e-10)
    lines = kind.summary(lambda name: fields[name].values, study)
    assert lines[-1].startswith("no modes   1 samples are gyroscopic")
    assert not any(line.startswith("unstable") for line in lines)
