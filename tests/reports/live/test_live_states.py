"""Checked against: SciPy's integration of equations written here."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.reports.live.panel import panel
from tests.reports.test_page_in_browser import READY

from .test_live_page import evaluated, needs_node, text

MASS, DAMPING, STIFFNESS = 0.02, 0.15, 2800.0
CAPACITANCE, RESISTANCE, COUPLING = 5e-8, 5e4, 5e-3
GAP, STOP, PUSH, FREQUENCY = 1e-4, 3e4, 0.2, 380.0
PERIOD = 2 * np.pi / FREQUENCY


def harvester():
    """Return a piezoelectric harvester with a soft stop."""
    along = [1.0]
    circuit = jv.PiezoelectricCircuit(CAPACITANCE, RESISTANCE, COUPLING)
    return jv.ImpactSystem(
        jv.LinearSystem([[MASS]], [[DAMPING]], [[STIFFNESS]]),
        (jv.Contact(along, GAP, jv.LinearContact(STOP), name="stop"),),
        (jv.AppliedLoad(along, jv.HarmonicLoad(PUSH, FREQUENCY), name="push"),),
        elements=(jv.StateElement(along, circuit, name="circuit"),),
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return jv.live_page(harvester(), tmp_path_factory.mktemp("states") / "page.html")


def rates(t, state):
    x, v, voltage = state
    force = PUSH * np.cos(FREQUENCY * t) - STOP * max(x - GAP, 0.0)
    force -= STIFFNESS * x + DAMPING * v + COUPLING * voltage
    return [v, force / MASS, (COUPLING * v - voltage / RESISTANCE) / CAPACITANCE]


@needs_node
def test_motion_and_voltage_are_those_of_another_integration(page):
    start = [1e-4, 0.01, 2.0]
    found = evaluated(page, f"motions.after({text(start)}, 3)")
    whole = solve_ivp(rates, (0.0, 3 * PERIOD), start, "DOP853", rtol=1e-12, atol=1e-14,
                      max_step=PERIOD / 500)  # fmt: skip
    sizes = np.abs(whole.y).max(axis=1)
    np.testing.assert_allclose(np.array(found) / sizes, whole.y[:, -1] / sizes, atol=1e-8)


def with_changes(t, both):
    """Return the rates of a state and of the columns of its changes."""
    state, changes = both[:3], both[3:].reshape(3, 3)
    pressed = STIFFNESS + STOP * (state[0] > GAP)
    slope = np.array([
        [0.0, 1.0, 0.0],
        [-pressed / MASS, -DAMPING / MASS, -COUPLING / MASS],
        [0.0, COUPLING / CAPACITANCE, -1 / RESISTANCE / CAPACITANCE],
    ])  # fmt: skip
    return np.concatenate([rates(t, state), (slope @ changes).ravel()])


@needs_node
def test_an_orbit_closes_and_has_the_multipliers_of_its_variational_equation(page):
    found = evaluated(
        page,
        "[shoot(motions, motions.after(motions.rest, 60), 1)]"
        ".map((orbit) => ({ ...orbit, units: motions.units(orbit.state) }))[0]",
    )
    start = np.array(found["state"])
    whole = solve_ivp(with_changes, (0.0, PERIOD), [*start, *np.eye(3).ravel()], "DOP853",
                      rtol=1e-11, atol=1e-14, max_step=PERIOD / 400)  # fmt: skip
    sizes = np.abs(whole.y[:3]).max(axis=1)
    np.testing.assert_allclose(whole.y[:3, -1] / sizes, start / sizes, rtol=0, atol=1e-8)
    expected = np.linalg.eigvals(whole.y[3:, -1].reshape(3, 3))
    ours = np.array(found["multipliers"]) @ [1, 1j]
    np.testing.assert_allclose(
        np.sort_complex(ours), np.sort_complex(expected), rtol=0, atol=1e-6
    )
    assert found["stable"] == int(np.abs(expected).max() < 1)
    assert whole.y[0].max() > GAP
    assert found["units"][2] == pytest.approx(sizes[2], rel=0.1)


def test_the_voltage_has_a_chart_and_a_motion_without_contact_says_so(browser, page):
    browser.console()
    browser.open(page)
    browser.wait(READY)
    live = "document.querySelector('.live').live"
    browser.run(f"{live}.play(false); document.querySelector('.orbit').click()")
    browser.wait(f"{live}.answer.multipliers && !{live}.busy")
    titles, labels, drawn, speed = browser.run(
        "const shown = (e) => e.checkVisibility();"
        "return [[...document.querySelectorAll('.live-charts figcaption')].filter(shown)"
        f".map((e) => e.textContent.trim()), {live}.courses.map((c) => c.labels.y),"
        f"[...{live}.courses[0].content.lines[0].y],"
        "document.querySelector('.player select').value]"
    )
    assert "Circuit voltage" in titles
    assert labels == ["circuit voltage (V)"]
    assert speed == "0.005"  # 17 ms in 3 s
    amplitude = (max(drawn) - min(drawn)) / 2
    told = browser.run("return document.querySelector('.facts').innerText")
    assert f"{amplitude:.4g} V" in told
    note = f"{live}.force.content.note"
    assert browser.run(f"return {note} ?? ''") == ""
    browser.run(
        f"{live}.controls.set({{ 'loads.push.law.amplitude': 0.01 }});"
        "document.querySelector('.rest').click()"
    )
    browser.wait(f"{live}.answer.settled && !{live}.busy")
    assert browser.run(f"return {note}") == "no contact in this motion"
    assert browser.console() == []


def test_a_state_of_an_element_is_named_with_its_unit():
    content = panel(harvester(), ["mm"], {}, pair=False)
    assert content["system"]["states"] == [
        {"name": "circuit voltage", "unit": "V", "factor": 1.0}
    ]
    assert content["system"]["rates"] == [("m/s", 1.0)]
