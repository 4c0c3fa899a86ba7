"""Checked against: `jv.ImpactSystem` and its orbits by hand; the messages themselves."""

import itertools
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.systems.impact_assembly import part_tables
from tests.studies.configs import written

TOWER = builtin_studies.folder() / "tower_with_stop.toml"
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
wall = { contact = "hard", at = "cart", gap = 0.5, law.restitution = 0.7 }
rubber = { contact = "hunt_crossley", at = "cart", gap = 0.4, law = { stiffness = 4e4, damping = 0.3 } }
oil = { contact = "kelvin_voigt", at = "cart", gap = 0.4, law = { stiffness = 4e4, damping = 9.0 } }
foam = { contact = "power", at = "cart", gap = 0.4, law = { stiffness = 4e4, exponent = 1.8 } }
bump = { contact = "piecewise_linear", at = "cart", gap = 0.4, law = { stiffness = [1e3, 5e3], depths = [0.01] } }

[system.frictions]
floor = { friction = "coulomb", at = "cart", force = 0.5 }
belt = { friction = "coulomb", at = "slide.x", force = 0.5, static = 0.7, speed = 0.1, stribeck = 0.3 }
sole = { friction = "contact", at = "slide.x", contact = "bump", coefficient = 0.3, static = 0.4 }

[system.springs]
mount = { spring = "polynomial", at = "cart", law.coefficients = [0.0, 0.0, 900.0] }
drag = { spring = "polynomial_damper", at = "cart", law.coefficients = [0.0, 0.4] }
loose = { spring = "piecewise_linear", at = "cart", law = { stiffness = [9.0, 0.0, 9.0], breaks = [-0.1, 0.1] } }

[system.loads]
push = { load = "harmonic", at = "slide.x", law = { amplitude = 3.0, frequency = 5.0, phase = 0.4 } }
weight = { load = "constant", at = "cart", law.force = -2.0 }
engine = { load = "fourier", at = "cart", law = { frequency = 5.0, cosine = [1.0, 0.5], sine = [0.0, 0.2] } }
knock = { load = "half_sine", at = "cart", law = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
shove = { load = "rectangle", at = "cart", law = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
tap = { load = "triangle", at = "cart", law = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
wind = { load = "record", at = "cart", law = { times = [0.0, 0.5, 1.2566370614359172], values = [0.0, 1.0, 0.0], periodic = true } }
a = { base = "harmonic_displacement", at = "cart", motion = { amplitude = 0.01, frequency = 5.0 } }
b = { base = "harmonic_velocity", at = "cart", motion = { amplitude = 0.01, frequency = 5.0 } }
c = { base = "harmonic_acceleration", at = "cart", motion = { amplitude = 0.01, frequency = 5.0 } }
d = { base = "fourier_displacement", at = "cart", motion = { frequency = 5.0, cosine = [0.1], sine = [0.2] } }
e = { base = "fourier_velocity", at = "cart", motion = { frequency = 5.0, cosine = [0.1], sine = [0.2] } }
f = { base = "fourier_acceleration", at = "cart", motion = { frequency = 5.0, cosine = [0.1], sine = [0.2] } }
g = { base = "record_acceleration", at = "cart", motion = { times = [0.0, 1.2566370614359172], values = [0.3, 0.3], periodic = true } }
h = { base = "half_sine_acceleration", at = "cart", motion = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
i = { base = "rectangle_acceleration", at = "cart", motion = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
j = { base = "triangle_acceleration", at = "cart", motion = { amplitude = 3.0, start = 0.1, duration = 0.2, every = 1.2566370614359172 } }
k = { stops = "harmonic", at = "cart", motion = { amplitude = 0.01, frequency = 5.0 } }
l = { stops = "fourier", at = "cart", motion = { frequency = 5.0, cosine = [0.1], sine = [0.2] } }

[analysis]
kind = "periodic_orbit"

[sweep]
contacts.stop.gap = [0.01, 0.02]
"""  # noqa: E501

PRESSED = """
[system]
kind = "impact_assembly"

[system.linear.modules]
ground-along = { module = "translation_translation", mass = 1.0, stiffness = 100.0 }
down = { module = "point_mass", mass = 1.0 }

[system.contacts]
floor = { contact = "kelvin_voigt", at = "down", gap = 0.0, law = { stiffness = 1e3, damping = 40.0 } }

[system.frictions]
sole = { friction = "contact", at = "along", contact = "floor", coefficient = 0.3 }

[system.loads]
weight = { load = "constant", at = "down", law.force = 10.0 }
push = { load = "harmonic", at = "along", law = { amplitude = 10.0, frequency = 8.0 } }

[analysis]
kind = "periodic_orbit"

[sweep]
frictions.sole.coefficient = [0.2, 0.3]
"""  # noqa: E501


def run(config, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    command = [sys.executable, "-m", "jaxvib", "run", str(config), *words]
    done = subprocess.run(
        [*command, "--out", str(directory)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


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
    cart, every = linear.direction("cart"), 1.2566370614359172
    laws = {
        "push": jv.HarmonicLoad(3.0, 5.0, 0.4),
        "weight": jv.ConstantLoad(-2.0),
        "engine": jv.FourierLoad(5.0, [1.0, 0.5], [0.0, 0.2]),
        "knock": jv.PulseLoad("half_sine", 3.0, 0.1, 0.2, every),
        "shove": jv.PulseLoad("rectangle", 3.0, 0.1, 0.2, every),
        "tap": jv.PulseLoad("triangle", 3.0, 0.1, 0.2, every),
        "wind": jv.RecordLoad([0.0, 0.5, every], [0.0, 1.0, 0.0], periodic=True),
    }
    loads = [
        jv.AppliedLoad(linear.direction("slide.x") if n == "push" else cart, law, n)
        for n, law in laws.items()
    ]
    given = ("displacement", "velocity", "acceleration")
    wave, series = jv.HarmonicLoad(0.01, 5.0), jv.FourierLoad(5.0, [0.1], [0.2])
    loads += [jv.BaseMotion(cart, wave, g, n) for g, n in zip(given, "abc", strict=True)]
    loads += [jv.BaseMotion(cart, series, g, n) for g, n in zip(given, "def", strict=True)]
    loads.append(
        jv.BaseMotion(
            cart, jv.RecordLoad([0.0, every], [0.3, 0.3], True), "acceleration", "g"
        )
    )
    loads += [
        jv.BaseMotion(cart, jv.PulseLoad(shape, 3.0, 0.1, 0.2, every), "acceleration", n)
        for n, shape in zip("hij", ("half_sine", "rectangle", "triangle"), strict=True)
    ]
    loads += [jv.StopMotion(cart, wave, "k"), jv.StopMotion(cart, series, "l")]
    expected = jv.ImpactSystem(
        linear,
        (
            jv.Contact(cart, 0.02, jv.HertzContact(4e4), "stop"),
            jv.Contact(pair, 0.01, jv.LinearContact(1e4), "pair"),
            jv.Contact(cart, 0.5, jv.RestitutionContact(0.7), "wall"),
            jv.Contact(cart, 0.4, jv.HuntCrossleyContact(4e4, 0.3), "rubber"),
            jv.Contact(cart, 0.4, jv.KelvinVoigtContact(4e4, 9.0), "oil"),
            jv.Contact(cart, 0.4, jv.PowerContact(4e4, 1.8), "foam"),
            jv.Contact(cart, 0.4, jv.PiecewiseLinearContact([1e3, 5e3], [0.01]), "bump"),
        ),
        tuple(loads),
        [
            jv.CoulombFriction(cart, 0.5, name="floor"),
            jv.CoulombFriction(linear.direction("slide.x"), 0.5, 0.7, 0.1, "belt", 0.3),
            jv.ContactFriction(linear.direction("slide.x"), 6, 0.3, 0.4, name="sole"),
        ],
        [
            jv.NonlinearSpring(cart, jv.PolynomialLaw([0.0, 0.0, 900.0]), "mount"),
            jv.NonlinearSpring(cart, jv.PolynomialDamperLaw([0.0, 0.4]), "drag"),
            jv.NonlinearSpring(
                cart, jv.PiecewiseLinearLaw([9.0, 0.0, 9.0], [-0.1, 0.1]), "loose"
            ),
        ],
    )
    np.testing.assert_array_equal(
        system.equation().vector_field(0.3, system.rest()),
        expected.equation().vector_field(0.3, expected.rest()),
    )
    mine, theirs = jv.parameters(system), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)
    given = study.system
    sections = given.contacts, given.loads, given.frictions, given.springs
    tables = [table for section in sections for table in section.values()]
    kinds = "step", "ramp", "chirp"
    never_again = {f"load_{kind}" for kind in kinds}
    never_again |= {f"base_{kind}_acceleration" for kind in kinds}
    apart = never_again | {"spring_formula"}  # of which a test of its own below
    rest = {
        table
        for name, table in part_tables().items()
        # Not beside friction elements.
        if name not in apart and not name.startswith(("element_", "annular_"))
    }
    assert {type(table) for table in tables} == rest
    scalars = {path for path, entry in theirs.items() if np.ndim(entry.value) == 0}
    from jaxvib.studies.analyses.kinds import SYSTEMS

    declared = SYSTEMS[study.system.kind].declared(study.system)
    assert set(declared) == scalars
    for path, entry in declared.items():
        assert entry.default == float(theirs[path].value)
        assert entry.unit == theirs[path].unit


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


def test_the_ball_of_the_ready_study_falls_towards_a_table_that_moves():
    system = build(load(builtin_studies.folder() / "bouncing_ball.toml"))
    assert float(system.period()) == pytest.approx(0.5, rel=1e-15)
    acceleration = system.equation().vector_field(0.0, system.rest())[1]
    frequency = 2 * np.pi / 0.5
    assert float(acceleration) == pytest.approx(0.06 * frequency**2 - 9.81, rel=1e-13)
    assert system.equation().hard_contacts() == (True,)
    parameter = jv.parameters(system)["loads.shake.motion.amplitude"]
    assert parameter.unit == "m"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path", "value", "periods"),
    [
        ("brake", "frictions.disc.speed", 0.25, 1),
        ("gear_play", "loads.torque.law.frequency", 11.0, 3),
        ("quarter_car", "variables.roughness", 1.5, 1),
    ],
)
def test_ready_studies_of_friction_and_play_are_the_orbits_of_python(
    tmp_path, name, path, value, periods
):
    config, directory = builtin_studies.folder() / f"{name}.toml", tmp_path / "out"
    run(config, directory, f"sweep.{path}=[{value}]")
    results = jv.open_study(directory)
    system = jv.replace(build(load(config)), {path: value})
    orbit = jv.periodic_orbit(system, periods=None)
    np.testing.assert_allclose(results["state"][0], orbit.state, atol=1e-7)
    assert int(results["periods"][0]) == int(orbit.periods) == periods
    assert int(results["contacts"][0]) == int(orbit.contacts)
    assert (directory / "report.html").exists()


@pytest.mark.slow
def test_frames_of_the_ready_study_pound_as_scipy_says(tmp_path):
    config = builtin_studies.folder() / "pounding_frames.toml"
    settings = ("sweep.variables.joint=[0.03]", "sweep.variables.peak=[0.4]")
    run(config, tmp_path / "out", *settings, "analysis.duration=6.0")
    results = jv.open_study(tmp_path / "out")
    times, ground = np.loadtxt(
        builtin_studies.folder() / "quake.csv", delimiter=",", skiprows=1, unpack=True
    )
    masses = np.array([25e3, 25e3, 20e3, 35e3, 35e3, 30e3])
    springs, dampers = np.repeat([4e7, 1.4e7], 3), np.repeat([1e5, 7e4], 3)
    forces = np.zeros(2)

    def pounding(x, v):
        depth, speed = x[1:3] - x[4:6] - 0.03, v[1:3] - v[4:6]
        force = 2.75e9 * np.maximum(depth, 0.0) ** 1.5 * (1 + 0.5 * speed)
        return np.maximum(force, 0.0)

    def rates(t, state):
        x, v = state[:6], state[6:]
        each = springs * np.diff(x.reshape(2, 3), axis=1, prepend=0.0).ravel()
        each += dampers * np.diff(v.reshape(2, 3), axis=1, prepend=0.0).ravel()
        force = np.diff(each.reshape(2, 3), axis=1, append=0.0).ravel()
        hit = pounding(x, v)
        force[1:3] -= hit
        force[4:6] += hit
        base = 0.4 * 9.80665 * np.interp(t, times, ground)
        return np.concatenate([v, force / masses - base])

    state, highest, lowest = np.zeros(12), np.zeros(6), np.zeros(6)
    for begin, end in itertools.pairwise(times[times <= 6.0 + 1e-9]):
        found = solve_ivp(
            rates, (begin, end), state, method="DOP853", rtol=1e-11, atol=1e-13,
            dense_output=True,
        )  # fmt: skip
        state = found.y[:, -1]
        seen = found.sol(np.linspace(begin, end, 101))
        highest = np.maximum(highest, seen[:6].max(axis=1))
        lowest = np.minimum(lowest, seen[:6].min(axis=1))
        for one in seen.T:
            forces = np.maximum(forces, pounding(one[:6], one[6:]))
    size = np.abs(state[6:]).max()
    np.testing.assert_allclose(results["state"].squeeze(), state, atol=1e-6 * size)
    np.testing.assert_allclose(results["highest"].squeeze(), highest, rtol=1e-4)
    np.testing.assert_allclose(results["lowest"].squeeze(), lowest, rtol=1e-4)
    np.testing.assert_allclose(results["max_contact_force"].squeeze(), forces, rtol=2e-3)
    assert (np.asarray(results["contacts"].squeeze()) > 0).all()


@pytest.mark.slow
def test_the_pad_of_the_ready_study_sticks_or_slides_as_scipy_says(tmp_path):
    config = builtin_studies.folder() / "brake_pad.toml"
    run(config, tmp_path / "out", "sweep.frictions.lining.speed=[0.5, 1.5]")
    results = jv.open_study(tmp_path / "out")
    assert float(results["state"].sel(state_component="rate of along")[0]) == 0.5

    def rates(t, x):  # of a pad that slides all the time
        pressed = 2e7 * max(x[1], 0.0) ** 1.5
        pumped = 800.0 + 600.0 * np.cos(300.0 * t)
        along = 0.35 * pressed - 1e5 * x[0] - 60.0 * x[2]
        into = pumped - pressed - 2e5 * x[1] - 150.0 * x[3]
        return [x[2], x[3], along / 0.6, into / 0.6]

    turn = 2 * np.pi / 300.0
    settled = {"rtol": 1e-11, "atol": 1e-14, "method": "DOP853"}
    start = solve_ivp(rates, (0.0, 60 * turn), np.zeros(4), **settled).y[:, -1]
    path = solve_ivp(
        rates, (0.0, turn), start, t_eval=np.linspace(0, turn, 2001), **settled
    )
    assert path.y[2].max() < 1.5
    np.testing.assert_allclose(results["state"][1], start, rtol=1e-7)
    np.testing.assert_allclose(
        results["amplitude"].sel(freedom="along")[1], np.ptp(path.y[0]) / 2, rtol=1e-5
    )
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_a_block_that_its_weight_presses_on_a_floor_has_den_hartogs_amplitude(tmp_path):
    # J. P. Den Hartog, Trans. ASME 53 (1931) 107: without stops, static = sliding
    run(written(tmp_path, PRESSED), tmp_path / "out")
    results = jv.open_study(tmp_path / "out")
    ratio, force = 0.8, np.array([0.2, 0.3]) * 10.0
    damping = np.sin(np.pi / ratio) / (ratio * (1 + np.cos(np.pi / ratio)))
    part = np.sqrt((1 / (1 - ratio**2)) ** 2 - (force / 10.0 * damping) ** 2)
    amplitude = results["amplitude"].sel(freedom="along")
    np.testing.assert_allclose(amplitude, 0.1 * part, rtol=1e-8)
    deep = results["state"].sel(state_component="down")
    np.testing.assert_allclose(deep, 0.01, rtol=1e-8)
    assert (tmp_path / "out" / "report.html").exists()


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
        ("contacts.stop.at=3", "3 is not a position; allowed: a degree of freedom"),
        ("contacts.stop.at={cart=true}", "is not a position"),
        ("contacts.stop.hardness=3", "contacts.stop.hardness = 3 is not a known key"),
        ("loads={}", "system.loads is empty"),
        ("sweep.contacts.stop.gapp=[1.0]", "did you mean contacts.stop.gap"),
        ("frictions.floor.force=-1.0", "frictions.floor.force = -1"),
        ("frictions.floor.friction=dry", r'friction = "dry" is not known.* "coulomb"'),
        ("frictions.sole.coefficient=-0.1", "frictions.sole.coefficient = -0.1"),
        ("frictions.sole.contact=3", "frictions.sole.contact = 3"),
        ("springs.mount.law.coefficients=3", "springs.mount.law.coefficients = 3"),
    ],
)
def test_invalid_contacts_and_loads_are_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, EVERY_PART), [change])


def test_places_that_are_not_there_are_named(tmp_path):
    study = load(written(tmp_path, EVERY_PART), ["contacts.stop.at=crat"])
    with pytest.raises(ValueError, match=r"contacts.stop.at: .*did you mean 'cart'"):
        build(study)


@pytest.mark.parametrize(
    ("contact", "message"),
    [
        ("bum", "frictions.sole.contact: unknown contact 'bum'; did you mean 'bump'"),
        ("wall", "frictions.sole.contact = 'wall' is a hard stop, whose normal force"),
    ],
)
def test_a_friction_that_nothing_presses_is_refused(tmp_path, contact, message):
    study = load(written(tmp_path, EVERY_PART), [f"frictions.sole.contact={contact}"])
    with pytest.raises(ValueError, match=message):
        build(study)


def test_a_spring_by_a_formula_is_the_function_of_python(tmp_path):
    grip = 'variables.grip = { value = 5.0, unit = "N" }'
    formula = "grip * tan(elongation) + rate * contacts.stop.gap"
    own = f'own = {{ spring = "formula", at = "cart", law.formula = "{formula}" }}'
    text = EVERY_PART.replace('"impact_assembly"', f'"impact_assembly"\n{grip}')
    text = text.replace("[system.springs]", f"[system.springs]\n{own}")
    study = load(written(tmp_path, text))
    system, plain = build(study), build(load(written(tmp_path, EVERY_PART)))
    gap = float(jv.parameters(plain)["contacts.stop.gap"].value)
    along = plain.linear.direction("cart")
    state = jnp.linspace(0.1, 0.4, plain.rest().size)
    stretch, rate = along @ state[: along.size], along @ state[along.size :]

    def added(grip, gap):
        return -along * (grip * np.tan(stretch) + rate * gap)

    def difference(system, plain):
        found, without = (
            each.equation().vector_field(0.3, state)[along.size :]
            for each in (system, plain)
        )
        return plain.linear.matrices()[0] @ (found - without)

    np.testing.assert_allclose(difference(system, plain), added(5.0, gap), atol=1e-12)
    changes = {"contacts.stop.gap": 0.7}
    moved = jv.replace(system, {"variables.grip": 2.0} | changes)
    np.testing.assert_allclose(
        difference(moved, jv.replace(plain, changes)), added(2.0, 0.7), atol=1e-12
    )
    with pytest.raises(ValueError, match=r"own.law.formula: .* did you mean 'grip'"):
        load(written(tmp_path, text.replace('"grip *', '"gripp *')))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('load = "constant", law.force = 1.0', "system.loads is constant; allowed"),
        (
            'load = "half_sine", law = { amplitude = 1.0, start = 0.0, duration = 1.0 }',
            "system.loads.push is not periodic",
        ),
        (
            'load = "record", law = { times = [0.0, 1.0], values = [0.0, 0.0] }',
            "system.loads.push is not periodic",
        ),
        ('load = "harmonik", law.amplitude = 1.0', 'did you mean "harmonic"'),
        ('base = "harmonic", motion.amplitude = 1.0', "harmonic_displacement"),
        ('load = "fourier", law.frequency = 1.0', "cosine is missing; allowed: numbers"),
    ],
)
def test_loads_that_cannot_be_studied_are_named(tmp_path, entry, message):
    before, _, rest = EVERY_PART.partition("push = ")
    after = rest.partition("[analysis]")[2]
    text = f'{before}push = {{ at = "cart", {entry} }}\n\n[analysis]{after}'
    with pytest.raises(ValueError, match=message):
        load(written(tmp_path, text))


ANNULAR_LAWS = {
    "hertz": ("stiffness = 4e4", jv.HertzContact(4e4)),
    "linear": ("stiffness = 1e4", jv.LinearContact(1e4)),
    "hunt_crossley": ("stiffness = 4e4, damping = 0.3", jv.HuntCrossleyContact(4e4, 0.3)),
    "kelvin_voigt": ("stiffness = 4e4, damping = 9.0", jv.KelvinVoigtContact(4e4, 9.0)),
    "power": ("stiffness = 4e4, exponent = 1.8", jv.PowerContact(4e4, 1.8)),
    "piecewise_linear": (
        "stiffness = [1e3, 5e3], depths = [0.01]",
        jv.PiecewiseLinearContact([1e3, 5e3], [0.01]),
    ),
}


def test_every_annular_contact_is_what_it_is_in_python(tmp_path):
    known = {name for name in part_tables() if name.startswith("annular_")}
    assert known == {f"annular_{kind}" for kind in ANNULAR_LAWS}
    start, others = (
        EVERY_PART.index("[system.contacts]"),
        EVERY_PART.index("[system.loads]"),
    )
    shared = 'at = ["cart", "slide.x"], gap = 0.01, friction_coefficient = 0.2, '
    shared += "surface_speed = 0.4"
    holes = [
        f'{kind} = {{ annular = "{kind}", {shared}, law = {{ {law} }} }}'
        for kind, (law, _) in ANNULAR_LAWS.items()
    ]
    parts = [EVERY_PART[:start], "[system.contacts]", *holes, "", EVERY_PART[others:]]
    text = "\n".join(parts).replace("contacts.stop.gap", "contacts.hertz.gap")
    system = build(load(written(tmp_path, text)))
    plane = np.stack([system.direction("cart"), system.direction("slide.x")])
    expected = tuple(
        jv.AnnularContact(plane, 0.01, law, 0.2, 0.4, name=kind)
        for kind, (_, law) in ANNULAR_LAWS.items()
    )
    mine, theirs = jv.parameters(system.contacts), jv.parameters(expected)
    assert list(mine) == list(theirs)
    for path, entry in theirs.items():
        np.testing.assert_array_equal(mine[path].value, entry.value)


CAPSULE = builtin_studies.folder() / "capsule.toml"


@pytest.mark.slow  # a study in a process of its own, 9 s
def test_a_config_names_the_drifting_coordinate(tmp_path):
    run(CAPSULE, tmp_path / "out", "sweep.loads.drive.law.frequency=[9.0]")
    progress = jv.open_study(tmp_path / "out")["progress"]
    assert progress.attrs["units"] == "m"
    system = build(load(CAPSULE))
    orbit = jv.periodic_orbit(system)
    np.testing.assert_allclose(progress[0], orbit.progress, rtol=1e-9)
    assert float(jv.design.orbit_measure("progress").read(orbit)) == orbit.progress


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ('"capsule"', r"drift.at: .*such as {'capsule': 1.0, 'mass': 1.0}"),
        ('"capsul"', r"drift.at: .*did you mean 'capsule'"),
        ("{ capsule = true }", "is not a position"),
    ],
)
def test_a_wrong_drift_names_the_key_and_a_direction_that_is_free(at, message):
    with pytest.raises(ValueError, match=message):
        build(load(CAPSULE, [f"system.drift.at={at}"]))
