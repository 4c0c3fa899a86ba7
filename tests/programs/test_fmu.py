"""Checked against: closed forms, `simulate`, scipy's integration, and FMPy's checks."""

import ctypes
import re
import shutil
import zipfile

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.foundation.text import printable
from jaxvib.programs import fmu as programs_fmu
from tests import independent
from tests.programs.fmi3_importer import FmiError, Importer

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
HEIGHT, GRAVITY, RESTITUTION = 0.8, 9.81, 0.6
BODIES = independent.TwoBody()


@pytest.fixture(scope="module")
def bodies():
    return jv.two_body_impact(contact=jv.HertzContact(BODIES.contact_stiffness))


@pytest.fixture(scope="module")
def bodies_fmu(bodies, tmp_path_factory):
    return jv.programs.export_fmu(
        bodies, tmp_path_factory.mktemp("fmu") / "b.fmu", name="bodies"
    )


@pytest.fixture(scope="module")
def ball_fmu(tmp_path_factory):
    ball = jv.ImpactSystem(
        jv.LinearSystem([[2.0]], [[0.0]], [[0.0]]),
        contacts=[jv.Contact([-1.0], HEIGHT, jv.RestitutionContact(RESTITUTION), "floor")],
        loads=[jv.AppliedLoad([1.0], jv.ConstantLoad(-2.0 * GRAVITY), "weight")],
    )
    return jv.programs.export_fmu(
        ball, tmp_path_factory.mktemp("fmu") / "ball.fmu", name="ball"
    )


def mass_at_a_stop(stiffness, name="stop"):
    return jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.2]], [[stiffness]]),
        contacts=[jv.Contact([-1.0], 0.1, jv.LinearContact(3.0), name)],
    )


def bounces(number):
    """Return the first times of impact of a ball that is dropped."""
    first = np.sqrt(2 * HEIGHT / GRAVITY)
    return first + 2 * first * np.cumsum(RESTITUTION ** np.arange(number)) - 2 * first


def test_co_simulation_has_the_bits_of_flow_and_the_state_of_scipy(
    bodies, bodies_fmu, tmp_path
):
    fmu = Importer(bodies_fmu, tmp_path, exchange=False)
    fmu.initialise()
    time, state = 0.0, bodies.rest()
    for step in (0.3, 0.5, 0.9):
        state = jv.flow(bodies, state, time, time + step)
        time = fmu.step(time, step)
        found = [fmu.get(name) for name in bodies.state_names]
        np.testing.assert_array_equal(found, state)
    by_scipy = independent.motion(BODIES, BODIES.rest, 0.0, time)
    np.testing.assert_allclose(found, by_scipy.state, atol=1e-9)
    depth = found[0] - found[1]
    np.testing.assert_allclose(fmu.get("gap.0"), -depth, rtol=1e-12)


def test_inputs_and_parameters_act_in_co_simulation_as_in_the_system(bodies_fmu, tmp_path):
    fmu = Importer(bodies_fmu, tmp_path, exchange=False)
    fmu.initialise(**{"load.amplitude": 0.0, "external_force.main": 700.0})
    fmu.step(0.0, 0.2)
    still = jv.two_body_impact(load=jv.ConstantLoad(700.0), contact=jv.HertzContact(1e7))
    expected = jv.flow(still, still.rest(), 0.0, 0.2)
    found = [fmu.get(name) for name in still.state_names]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_model_exchange_meets_scipys_motion_with_contacts(bodies_fmu, tmp_path):
    fmu = Importer(bodies_fmu, tmp_path, exchange=True)
    fmu.initialise()
    times, state = fmu.integrate(1.5, 4, 1)
    assert not times.size
    by_scipy = independent.motion(BODIES, BODIES.rest, 0.0, 1.5)
    assert by_scipy.meetings
    np.testing.assert_allclose(state, by_scipy.state, atol=1e-7)


def test_a_dropped_ball_hits_the_floor_at_the_times_of_the_closed_form(ball_fmu, tmp_path):
    fmu = Importer(ball_fmu, tmp_path, exchange=True)
    fmu.initialise()
    expected = bounces(6)
    times, _ = fmu.integrate(expected[-1] + 0.01, 2, 1)
    np.testing.assert_allclose(times, expected, atol=1e-9)


def test_a_ball_that_comes_to_rest_ends_model_exchange_but_not_co_simulation(
    ball_fmu, tmp_path
):
    fmu = Importer(ball_fmu, tmp_path / "exchange", exchange=True)
    fmu.initialise()
    with pytest.raises(FmiError, match=r"comes to rest at its stop.*use co-simulation"):
        fmu.integrate(3.0, 2, 1)
    fmu = Importer(ball_fmu, tmp_path / "co", exchange=False)
    fmu.initialise()
    fmu.step(0.0, 3.0)
    np.testing.assert_allclose(fmu.get("0"), -HEIGHT)
    np.testing.assert_allclose(fmu.get("contact_force.floor"), 2.0 * GRAVITY)


def test_a_jump_of_a_load_is_a_time_event_of_model_exchange(tmp_path):
    push = jv.StepLoad(3.0, 0.37)
    mass = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.2]], [[4.0]]),
        loads=[
            jv.AppliedLoad([1.0], push, "push"),
            jv.AppliedLoad([1.0], jv.ConstantLoad(0.5), "external_force_0"),
        ],
    )
    fmu = Importer(
        jv.programs.export_fmu(mass, tmp_path / "m.fmu"), tmp_path, exchange=True
    )
    fmu.initialise()
    assert fmu.get("loads.external_force_0.law.force") == 0.5
    assert fmu.update() == (False, 0.37)
    _, state = fmu.integrate(1.0, 2, 0)

    def answer(force, time):  # of the mass at rest to a force from 0 s on
        decay, turn = 0.1, np.sqrt(4.0 - 0.01)
        swing = np.cos(turn * time) + decay / turn * np.sin(turn * time)
        return force / 4.0 * (1 - np.exp(-decay * time) * swing)

    expected = answer(0.5, 1.0) + answer(3.0, 1.0 - 0.37)
    np.testing.assert_allclose(state[0], expected, rtol=1e-9)


def test_a_copied_state_is_restored_in_this_instance_and_as_bytes_in_another(
    bodies_fmu, tmp_path
):
    fmu = Importer(bodies_fmu, tmp_path, exchange=False)
    fmu.initialise(**{"external_force.main": 30.0})
    fmu.step(0.0, 0.4)
    copy = fmu.copied()
    content = fmu.serialised(copy)
    fmu.step(0.4, 0.5)
    after = fmu.get("x_attached")
    fmu.call("SetFMUState", copy)
    assert fmu.serialised(copy) == content
    fmu.call("FreeFMUState", ctypes.byref(copy))
    assert not copy
    other = Importer(bodies_fmu, tmp_path / "other", exchange=False)
    other.initialise()
    other.restore(content)
    for each in (fmu, other):
        assert each.get("external_force.main") == 30.0
        each.step(0.4, 0.5)
        assert each.get("x_attached") == after
    with pytest.raises(FmiError, match="a serialised state has "):
        other.restore(content[:-1])


def test_reset_returns_to_the_start(bodies_fmu, tmp_path):
    fmu = Importer(bodies_fmu, tmp_path, exchange=False)
    begun = fmu.serialised(fmu.copied())
    fmu.initialise(start=0.1, **{"load.amplitude": 3.0, "v_main": 1.0})
    fmu.step(0.1, 0.4)
    assert fmu.serialised(fmu.copied()) != begun
    fmu.call("Reset")
    assert fmu.serialised(fmu.copied()) == begun


def test_directional_derivatives_are_those_of_differences(bodies_fmu, tmp_path):
    fmu = Importer(bodies_fmu, tmp_path, exchange=True)
    fmu.initialise(start=0.3)
    state = {"x_main": 0.011, "x_attached": -0.03, "v_main": 0.2, "v_attached": 0.1}
    for name, value in state.items():
        fmu.set(name, value)
    assert fmu.get("contact_force.0") > 0
    calculated = [f"der({name})" for name in state] + ["contact_force.0", "gap.0"]

    def values(name, number):
        if name == "time":
            fmu.call("SetTime", ctypes.c_double(number))
        else:
            fmu.set(name, number)
        return np.array([fmu.get(each) for each in calculated])

    sensed = list(fmu.references)[: list(fmu.references).index("v_attached") + 1]
    assert len(sensed) > 15
    columns = []
    for name in sensed:
        at = fmu.get(name)
        step = 1e-6 * (abs(at) or 100.0)
        exact = fmu.derivatives(calculated, name)
        change = values(name, at + step) - values(name, at - step)
        values(name, at)
        scale = max(abs(exact).max(), 1e-3)
        np.testing.assert_allclose(exact, change / (2 * step), atol=1e-5 * scale)
        columns.append(fmu.derivatives(calculated, name))
    seed = [0.3, -1.0, 0.2, 0.05, 1e-3, 2.0]
    adjoint = fmu.adjoint(calculated, sensed, seed)
    terms = np.array(columns) * seed
    np.testing.assert_allclose(adjoint, terms.sum(1), atol=1e-13 * np.abs(terms).max())
    with pytest.raises(FmiError, match="5 seeds for 6 variables"):
        fmu.adjoint(calculated, sensed, seed[:5])
    assert fmu.derivatives(["x_main", "v_main"], "x_main").tolist() == [1.0, 0.0]
    with pytest.raises(FmiError, match=r"variable \d+ is calculated, not given"):
        fmu.derivatives(["der(v_main)"], "gap.0")
    fmu = Importer(bodies_fmu, tmp_path / "co", exchange=False)
    with pytest.raises(FmiError, match="for model exchange only"):
        fmu.derivatives(calculated, "x_main")


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("main.mass", -1.0, r"main\.mass = -1 is not in \(0, inf\)"),
        ("load.frequency", np.nan, r"load\.frequency = -?nan is not in "),
        ("external_force.main", np.inf, r"external_force\.main = inf is not in "),
        ("gap.0", 1.0, r"variable \d+ cannot be set"),
    ],
)
def test_values_out_of_their_range_are_refused(
    bodies_fmu, tmp_path, exchange, name, value, message
):
    fmu = Importer(bodies_fmu, tmp_path, exchange=exchange)
    fmu.initialise()
    before = fmu.get(name)
    place = fmu.get("x_attached")
    with pytest.raises(FmiError, match=message):
        fmu.set_all({"x_attached": place + 0.1, name: value})  # none of them is stored
    assert fmu.get(name) == before
    assert fmu.get("x_attached") == place


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda fmu: fmu.step(0.5, 0.1), "step from 0.5 s, but the time is 0 s"),
        (lambda fmu: (fmu.set("v_main", np.nan), fmu.step(0.0, 0.1)), "out of range"),
    ],
)
def test_wrong_calls_are_refused_with_a_message(bodies_fmu, tmp_path, call, message):
    fmu = Importer(bodies_fmu, tmp_path, exchange=False)
    fmu.initialise()
    with pytest.raises(FmiError, match=message):
        call(fmu)


def test_another_token_is_refused(bodies_fmu, tmp_path):
    with pytest.raises(FmiError, match="instantiationToken"):
        Importer(bodies_fmu, tmp_path, exchange=False, token="other")


def test_the_token_depends_on_the_whole_description(tmp_path, monkeypatch):
    def token(file, stiffness=4.0, **named):
        jv.programs.export_fmu(mass_at_a_stop(stiffness), tmp_path / file, **named)
        with zipfile.ZipFile(tmp_path / file) as archive:
            description = archive.read("modelDescription.xml").decode()
        return re.search('instantiationToken="(.*?)"', description)[1]

    found = [token("a.fmu"), token("b.fmu", 5.0), token("c.fmu", name="other")]
    monkeypatch.setenv("CC", "env LANG=C gcc -pipe")  # may have a launcher and options
    assert token("d.fmu") == found[0]
    monkeypatch.setattr(programs_fmu, "__version__", "0.0.1")
    assert len({*found, token("e.fmu")}) == 4


def test_names_may_hold_any_character(tmp_path):
    name = 'a*/"\\\n\x01\u202e??/' + "für-" * 30
    file = jv.programs.export_fmu(mass_at_a_stop(4.0, name), tmp_path / "m.fmu")
    fmu = Importer(file, tmp_path, exchange=False)
    fmu.initialise()
    shown = printable(name)
    fmu.set(f"contacts.{shown}.gap", 0.2)
    assert fmu.get(f"gap.{shown}") == 0.2
    with pytest.raises(FmiError, match=re.escape(f"contacts.{shown}.law.stiffness = -1 ")):
        fmu.set(f"contacts.{shown}.law.stiffness", -1.0)


def test_friction_is_for_co_simulation_only(tmp_path):
    block = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.0]], [[4.0]]),
        loads=[jv.AppliedLoad([1.0], jv.HarmonicLoad(3.0, 1.0), "push")],
        frictions=[jv.CoulombFriction([1.0], 1.0)],
    )
    file = jv.programs.export_fmu(block, tmp_path / "block.fmu")
    with zipfile.ZipFile(file) as archive:
        description = archive.read("modelDescription.xml").decode()
    assert "<CoSimulation" in description
    assert "<ModelExchange" not in description
    fmu = Importer(file, tmp_path, exchange=False)
    fmu.initialise()
    fmu.step(0.0, 2.0)
    np.testing.assert_array_equal(
        [fmu.get("0"), fmu.get("rate of 0")], jv.flow(block, block.rest(), 0.0, 2.0)
    )


def test_what_cannot_be_exported_is_refused_before_anything_is_written(
    bodies, tmp_path, monkeypatch
):
    with pytest.raises(ValueError, match=r"ends in \.zip; allowed: \.fmu"):
        jv.programs.export_fmu(bodies, tmp_path / "a.zip")
    for command, message in {
        "no-such-compiler -O": r"no C compiler is found \(no-such-compiler\)",
        "gcc '": "CC = .*No closing quotation",
    }.items():
        monkeypatch.setenv("CC", command)
        with pytest.raises(ValueError, match=message):
            jv.programs.export_fmu(bodies, tmp_path / "a.fmu")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def fmpy():
    reason = "needs FMPy: pip install --group fmi-test"
    for part in ("validation", "fmi3"):
        pytest.importorskip(f"fmpy.{part}", reason=reason)
    return pytest.importorskip("fmpy", reason=reason)


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_fmpy_finds_no_fault_and_the_same_motion(fmpy, bodies, bodies_fmu, kind):
    assert fmpy.validation.validate_fmu(str(bodies_fmu)) == []
    found = fmpy.simulate_fmu(
        str(bodies_fmu), fmi_type=kind, stop_time=1.0, output_interval=0.1,
        relative_tolerance=1e-11,
    )  # fmt: skip
    times = np.unique(found["time"])
    motion = jv.simulate(bodies, bodies.rest(), times)
    last = [found[name][-1] for name in bodies.state_names]
    np.testing.assert_allclose(last, motion.states[-1], atol=1e-7)


def test_fmpy_finds_the_impacts_of_a_dropped_ball(fmpy, ball_fmu):
    expected = bounces(5)
    found = fmpy.simulate_fmu(
        str(ball_fmu), fmi_type="ModelExchange", stop_time=expected[-1] + 0.02,
        output_interval=0.05, relative_tolerance=1e-11, record_events=True,
    )  # fmt: skip
    times, speeds = found["time"], found["rate of 0"]
    struck = times[1:][(np.diff(times) == 0) & (np.diff(speeds) > 0)]
    np.testing.assert_allclose(struck, expected, atol=1e-7)


def test_fmpy_gets_derivatives_and_restores_a_stored_state(fmpy, bodies_fmu, tmp_path):
    description = fmpy.read_model_description(str(bodies_fmu))
    fmpy.extract(str(bodies_fmu), str(tmp_path))
    fmu = fmpy.fmi3.FMU3Model(
        guid=description.guid, unzipDirectory=str(tmp_path), modelIdentifier="bodies",
        instanceName="one",
    )  # fmt: skip
    fmu.instantiate()
    fmu.enterInitializationMode(startTime=0.3)
    found = {each.name: each.valueReference for each in description.modelVariables}
    names = ["x_main", "x_attached", "v_main", "v_attached"]
    states, rates = [found[n] for n in names], [found[f"der({n})"] for n in names]
    at = np.array([0.011, -0.03, 0.2, 0.1])

    def rates_at(state):
        fmu.setFloat64(states, state)
        return np.array(fmu.getFloat64(rates))

    for unit in np.eye(4):
        change = rates_at(at + 1e-6 * unit) - rates_at(at - 1e-6 * unit)
        rates_at(at)
        exact = fmu.getDirectionalDerivative(rates, states, unit)
        np.testing.assert_allclose(exact, change / 2e-6, rtol=1e-6, atol=1e-3)
    stored = fmu.serializeFMUState(fmu.getFMUState())
    fmu.reset()
    assert fmu.getFloat64(states) != at.tolist()
    fmu.setFMUState(fmu.deserializeFMUState(stored))
    assert fmu.getFloat64(states) == at.tolist()
    fmu.terminate()
