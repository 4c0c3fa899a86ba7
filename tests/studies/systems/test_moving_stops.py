"""Checked against: the same system in Python; scipy in absolute coordinates."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load, load_text
from tests.systems.test_stop_motion import series, train

TRAIN = """
[system]
kind = "impact_assembly"

[system.linear.modules]
ground-follower = { module = "translation_translation", mass = 0.2, stiffness = 0.0, damping = 1.0 }
follower-valve = { module = "translation_translation", mass = 0.08, stiffness = 4e4, damping = 2.0 }
valve-ground = { module = "spring", stiffness = 900.0, damping = 2.0 }

[system.contacts.cam]
contact = "linear"
at = { follower = -1.0 }
gap = 0.0
law.stiffness = "200 N/mm"

[system.loads.cam]
stops = "fourier"
at = "follower"
motion = { frequency = 60.0, mean = "2 mm", cosine = ["-2.2 mm", "0.2 mm"], sine = [0.0, 0.0] }

[system.loads.spring]
load = "constant"
at = "valve"
law.force = -25.0

[analysis]
kind = "periodic_orbit"

[sweep]
loads.cam.motion.frequency = [60.0, "1200 rpm"]
"""  # noqa: E501


def test_a_config_moves_stops_as_python_does():
    study = load_text(TRAIN)
    system, law = build(study), jv.LinearContact(2e5)
    same, state = train(series(), law), jnp.array([1e-3, -5e-4, 0.2, 0.1])
    for time in (0.0, 0.013):
        found, expected = (
            each.equation().vector_field(time, state) for each in (system, same)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    known = jv.parameters(system)
    assert known["loads.cam.motion.mean"].unit == "m"
    swept = study.paths["loads.cam.motion.frequency"].values
    np.testing.assert_allclose(swept, [60.0, 40 * np.pi], rtol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('stops = "fourier"', 'stops = "chirp"', "allowed: .harmonic., .fourier."),
        ('"2 mm", cos', '"2 N", cos', "N is given where a length in m is expected"),
    ],
)
def test_wrong_motions_of_stops_are_named(old, new, message):
    assert old in TRAIN
    with pytest.raises(ValueError, match=message):
        load_text(TRAIN.replace(old, new))


@pytest.mark.slow  # compiles the orbit of the ready study, 8 s
def test_the_force_of_the_ready_valve_train_is_that_of_an_independent_integration():
    speed, stiffness, damping = 190.0, 2e7, 500.0
    ready = build(load(builtin_studies.folder() / "valve_train.toml"))
    system = jv.replace(ready, {"loads.cam.motion.frequency": speed})
    orbit = jv.periodic_orbit(system, rtol=1e-10)
    mass, damper, spring = (np.asarray(each) for each in system.linear.matrices())

    def lift(t):
        place = 3e-3 - 4e-3 * np.cos(speed * t) + 1e-3 * np.cos(2 * speed * t)
        rate = 4e-3 * np.sin(speed * t) - 2e-3 * np.sin(2 * speed * t)
        return place, speed * rate

    def forces(t, x):  # of the cam and the seat, on the follower and the valve
        place, rate = lift(t)
        depths = np.array([place - x[0] - 1e-4, -x[1]])
        rates = np.array([rate - x[2], -x[3]])
        pressed = np.maximum(stiffness * depths + damping * rates, 0.0)
        return np.where(depths > 0, pressed, 0.0)

    def field(t, x):
        total = forces(t, x) + np.array([0.0, -250.0]) - spring @ x[:2] - damper @ x[2:]
        return np.append(x[2:], np.linalg.solve(mass, total))

    start = np.asarray(orbit.state)  # the cam's lift and speed are 0 then
    times = np.linspace(0.0, 2 * np.pi / speed, 40001)
    path = solve_ivp(field, (0.0, times[-1]), start, "DOP853", times, rtol=1e-10,
                     atol=1e-13, max_step=1e-5)  # fmt: skip
    np.testing.assert_allclose(path.y[:, -1], start, rtol=0.0, atol=1e-6)
    felt = np.array([forces(t, x) for t, x in zip(path.t, path.y.T, strict=True)])
    np.testing.assert_allclose(orbit.max_contact_force, felt.max(), rtol=1e-4)
    assert orbit.stable == 1
