"""Checked against: the system built in Python, its orbits, and the messages themselves."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.systems.variations import variation_tables
from tests.studies.systems.test_impact_assembly import run

PUMPED = """
[system]
kind = "impact_assembly"
loads = {{}}

[system.linear.modules]
ground-bob = {{ module = "translation_translation", mass = 1.0, damping = 0.1 }}

[system.springs.swing]
spring = "formula"
at = "bob"
law.formula = "9.0 * sin(elongation)"
variation = {variation}

[analysis]
kind = "{kind}"

[sweep]
springs.swing.variation.{swept} = [{value}]
"""
HARMONIC = '{ load = "harmonic", amplitude = 0.2, frequency = "10 rad/s" }'
VARIATIONS = {
    "constant": ("{ load = 'constant', force = 0.2 }", jv.ConstantLoad(0.2)),
    "harmonic": (HARMONIC, jv.HarmonicLoad(0.2, 10.0)),
    "fourier": ("{ load = 'fourier', frequency = 10.0, cosine = [0.2], sine = [0.1] }",
                jv.FourierLoad(10.0, [0.2], [0.1])),
    "record": ("{ load = 'record', times = [0.0, 1.0], values = [0.1, 0.1] }",
               jv.RecordLoad([0.0, 1.0], [0.1, 0.1])),
    "step": ("{ load = 'step', amplitude = 0.1, start = 1.0 }", jv.StepLoad(0.1, 1.0)),
    "ramp": ("{ load = 'ramp', amplitude = 0.1, start = 1.0, duration = 2.0 }",
             jv.RampLoad(0.1, 1.0, 2.0)),
    "chirp": ("{ load = 'chirp', amplitude = 0.1, first_frequency = 1.0, "
              "last_frequency = 2.0, duration = 3.0, start = 0.5 }",
              jv.ChirpLoad(0.1, 1.0, 2.0, 3.0, 0.5)),
} | {
    shape: (f"{{ load = '{shape}', amplitude = 0.1, start = 0.2, duration = 0.3, "
            "every = 1.0 }", jv.PulseLoad(shape, 0.1, 0.2, 0.3, 1.0))
    for shape in ("half_sine", "rectangle", "triangle")
}  # fmt: skip


def config(tmp_path, variation, kind="periodic_orbit", swept="amplitude", value=0.1):
    file = tmp_path / "study.toml"
    text = PUMPED.format(variation=variation, kind=kind, swept=swept, value=value)
    if kind == "response":
        text = text.replace('"response"', '"response"\nduration = 2.0')
    file.write_text(text)
    return file


def test_all_load_laws_are_offered():
    assert set(variation_tables()) == set(VARIATIONS)


@pytest.mark.parametrize("kind", VARIATIONS)
def test_a_variation_is_what_it_is_in_python(tmp_path, kind):
    text, law = VARIATIONS[kind]
    swept = {"constant": "force", "fourier": "mean", "record": "scale"}
    study = load(config(tmp_path, text, "response", swept.get(kind, "amplitude")))
    built = build(study).springs[0].variation
    assert type(built) is type(law)
    for mine, theirs in zip(*map(jv.parameters, (built, law)), strict=True):
        values = (jv.parameters(of)[mine].value for of in (built, law))
        assert mine == theirs
        np.testing.assert_array_equal(*values)
    declared = SYSTEMS[study.system.kind].declared(study.system)
    for path, entry in jv.parameters(build(study)).items():
        if path.startswith("springs.swing.variation.") and np.ndim(entry.value) == 0:
            assert declared[path].unit == entry.unit


@pytest.mark.parametrize(("variation", "message"), [
    ('{ load = "harmonics" }', r'variation.load = "harmonics" is not known; allowed: .* '
                               r'did you mean "harmonic"\?'),
    ("{ amplitude = 0.1 }", r"variation.load is missing"),
    ("0.3", r"variation.load is missing \(system.springs.swing.variation = 0.3\)"),
    ('{ load = "harmonic", amplitude = "3 N", frequency = 1.0 }', r"variation.amplitude"),
    ('{ load = "harmonic", amplitude = 0.3 }', r"variation.frequency is missing"),
    ('{ load = "step", amplitude = 0.1, start = 1.0 }', r"swing.variation is not periodic"),
    ('{ load = "constant", force = 0.1 }', r"system.loads is empty"),
])  # fmt: skip
def test_a_wrong_variation_is_named_with_its_line(tmp_path, variation, message):
    swept = "force" if "constant" in variation else "amplitude"
    with pytest.raises(ValueError, match=message):
        load(config(tmp_path, variation, swept=swept))


@pytest.mark.slow  # a run in a process of its own
def test_a_study_of_a_pumped_pendulum_has_the_multipliers_of_scipy(tmp_path):
    wave = HARMONIC.replace('"10 rad/s"', "6.0")
    run(config(tmp_path, wave, value="0.02, 0.05"), tmp_path / "out")
    found = jv.open_study(tmp_path / "out")

    def column(depth, start):
        return solve_ivp(
            lambda t, y: [y[1], -0.1 * y[1] - 9 * (1 + depth * np.cos(6 * t)) * y[0]],
            (0.0, np.pi / 3), start, "DOP853", rtol=1e-12, atol=1e-13,
        ).y[:, -1]  # fmt: skip

    for k, depth in enumerate([0.02, 0.05]):
        matrix = np.stack([column(depth, start) for start in np.eye(2)], axis=1)
        expected = np.abs(np.linalg.eigvals(matrix)).max()
        np.testing.assert_allclose(found["largest_multiplier"][k], expected, rtol=1e-7)
    assert found["stable"].values.tolist() == [1, 1]


def test_the_gears_of_the_ready_study_mesh_as_in_python():
    system = build(load(builtin_studies.folder() / "gear_mesh.toml"))
    np.testing.assert_allclose(system.period(), 2 * np.pi / 14e3)
    ahead, behind = system.contacts
    np.testing.assert_array_equal(ahead.direction, [0.05, 0.1])
    np.testing.assert_array_equal(behind.direction, [-0.05, -0.1])
    moved = jv.replace(system, {"variables.depth": 0.1, "variables.mesh": 2e4})
    for contact in moved.contacts:
        assert contact.variation.amplitude == 0.1
        assert contact.variation.frequency == 2e4
    # The teeth bear the load; soft shafts bear 500 N m/rad of the wheels' rotations.
    rest = jv.static_equilibrium(system)
    shafts = 500.0 * rest.state[0] / 0.05
    np.testing.assert_allclose(rest.contact_force, [1000.0 - shafts, 0.0], rtol=1e-9)


CRACKED = """
[system]
kind = "impact_assembly"
loads = {}

[system.linear.modules]
a = { module = "point_mass", mass = 2.0 }
b = { module = "point_mass", mass = 3.0 }
a-b = { module = "spring", stiffness = 4.0, damping = 0.3 }
ground-a = { module = "spring", stiffness = 1.0 }

[system.springs.stiffness]
spring = "polynomial"
at = { a = -1.0, b = 1.0 }
law.coefficients = [4.0]
variation = { load = "harmonic", amplitude = 0.4, frequency = 3.0 }

[system.springs.damping]
spring = "polynomial_damper"
at = { a = -1.0, b = 1.0 }
law.coefficients = [0.3]
variation = { load = "harmonic", amplitude = 0.4, frequency = 3.0 }

[analysis]
kind = "periodic_orbit"

[sweep]
springs.stiffness.variation.amplitude = [0.2, 0.4]
"""


def test_half_of_a_module_varies_as_a_spring_and_a_damper_beside_it(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(CRACKED)
    equation = build(load(file)).equation()
    time, state = 0.6, np.array([0.1, -0.2, 0.3, 0.5])
    a, b, va, vb = state
    found = equation.vector_field(time, jnp.asarray(state))
    factor = 1 + 0.2 * np.cos(3 * time)  # of 8 N/m and 0.6 N s/m
    force = factor * (8 * (b - a) + 0.6 * (vb - va))
    rates = [va, vb, (force - a) / 2, -force / 3]
    np.testing.assert_allclose(found, rates, rtol=1e-13)
