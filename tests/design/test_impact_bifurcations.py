r"""Checked against: grazing and fold of an impact oscillator in closed form.

Between rigid impacts of restitution e an undamped body with the frequency $w_0$ under
$F \cos w t$ moves by $x = A \cos w_0 t + B \sin w_0 t + G \cos(w t + p)$ after an impact
at t = 0, $G = F / (w_0^2 - w^2)$. One impact a period at the gap d requires, with
$c = \cot(\pi w_0 / w)$ and $r = (w_0 / w) (1 - e) / (1 + e)$, $(d - Bc)^2 + (Br)^2 = G^2$:
a fold where G is least, $G^2 = d^2 r^2 / (c^2 + r^2)$.
"""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import Limit, Problem, bifurcation_measure, optimise

AMPLITUDE = "loads.push.law.amplitude"
GAP = "contacts.stop.gap"


def oscillator(damping, gap, amplitude, frequency):
    """Return a body of unit mass and frequency with a rigid stop."""
    spring = jv.TranslationTranslation(
        "ground", "body", mass=1.0, stiffness=1.0, damping=damping, first_mass=0.0
    )
    law = jv.HarmonicLoad(amplitude=amplitude, frequency=frequency)
    stop = jv.Contact([1.0], gap=gap, law=jv.RestitutionContact(RESTITUTION), name="stop")
    push = jv.AppliedLoad([1.0], law, name="push")
    return jv.ImpactSystem(jv.assemble([spring]), contacts=(stop,), loads=(push,))


def placed(system, measure, value, bounds):
    """Return the gap at which a bifurcation is at a value."""
    problem = Problem(
        system,
        {GAP: bounds},
        jv.design.change_measure(system, {GAP: bounds}),
        constraints={"placed": Limit(measure, value, value)},
    )
    return optimise(problem, "slsqp").value(GAP)


RESTITUTION = 0.7


@pytest.mark.slow  # second derivatives of motions with impacts
def test_a_grazing_is_placed_at_an_amplitude():
    frequency, damping = 1.4, 0.2
    system = oscillator(damping, 1.0, 0.4, frequency)
    measure = bifurcation_measure("grazing", AMPLITUDE, (0.3, 1.6))
    impedance = abs(1 - frequency**2 + 1j * damping * frequency)
    gap = placed(system, measure, 0.9, (0.5, 1.5))
    assert gap == pytest.approx(0.9 / impedance, rel=1e-9)


@pytest.mark.slow  # second derivatives of motions with impacts
def test_a_fold_of_impacts_is_placed_at_an_amplitude():
    frequency, gap = 1 / 0.7, 1.0
    ratio = 1 / frequency
    cotangent = 1 / np.tan(np.pi * ratio)
    part = ratio * (1 - RESTITUTION) / (1 + RESTITUTION)
    factor = abs(1 - frequency**2) * part / np.hypot(cotangent, part)
    amplitude = 1.2 * factor * gap
    swing = amplitude / (1 - frequency**2)
    # The greater of both solutions B, whose impacts are faster.
    roots = np.roots([cotangent**2 + part**2, -2 * gap * cotangent, gap**2 - swing**2]).real
    speed = roots[np.argmax(np.abs(roots))]
    phase = np.arctan2(speed * part / swing, (gap - speed * cotangent) / swing)
    since = (-phase / frequency) % (2 * np.pi / frequency)  # impact to the load's start
    shift = speed * cotangent
    state = [
        shift * np.cos(since) + speed * np.sin(since) + swing,
        -shift * np.sin(since) + speed * np.cos(since),
    ]
    system = oscillator(0.0, gap, amplitude, frequency)
    bounds = 0.9 * factor, 1.3 * factor
    measure = bifurcation_measure("fold", AMPLITUDE, bounds, guess=state)
    found = placed(system, measure, float(1.05 * factor), (0.95, 1.2))
    assert found == pytest.approx(1.05, rel=1e-8)
