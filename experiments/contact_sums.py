"""Sums along motions against the balances of momentum and energy, for random motions.

    python -m experiments.contact_sums [number of motions]

Two bodies with two contacts, one of them damped, under a harmonic load and a pulse, or
under a record, each from 0.02 to 200 times as fast as the bodies. The momentum is that of
samples of the motion, integrated with their rates; the energy is that of
`energy_balance`, whose error is what it leaves. A sum counts as covered where it differs
from a balance by no more than its own error bar and the error of the balance. Writes
`contact_sums.json` beside this file.
"""

import json
import sys
from pathlib import Path

import numpy as np

import jaxvib as jv

SAMPLES = 8001
END = 6.0  # s
# Of the balances: the rule for samples is of fourth order between kinks of the force.
MOMENTUM_ERROR, ENERGY_ERROR = 1e-6, 1e-8


def random_motion(seed):
    """Return a system and the impulses of its loads on each body, N s."""
    random = np.random.default_rng(seed)
    mass = np.diag(random.uniform(0.5, 2.0, 2))
    k, d = random.uniform(20.0, 60.0, 2), random.uniform(0.0, 0.4, 2)
    chain = [[[x[0] + x[1], -x[1]], [-x[1], x[1]]] for x in (k, d)]
    linear = jv.LinearSystem(mass, chain[1], chain[0])
    stiff, gaps = 10 ** random.uniform(2.5, 4.0, 2), random.uniform(0.0, 0.1, 2)
    if seed % 2:
        laws = jv.LinearContact(stiff[0]), jv.KelvinVoigtContact(
            stiff[1], random.uniform(0.1, 0.8) * np.sqrt(stiff[1])
        )  # fmt: skip
    else:
        laws = jv.HertzContact(stiff[0]), jv.HuntCrossleyContact(
            stiff[1], random.uniform(0.05, 0.5)
        )  # fmt: skip
    contacts = [
        jv.Contact([1.0, -1.0], gaps[0], laws[0], "pair"),
        jv.Contact([0.0, 1.0], gaps[1], laws[1], "wall"),
    ]
    rate = 6.0 * 10 ** random.uniform(-1.7, 2.3)  # rad/s
    height = random.uniform(5.0, 20.0)
    if seed % 4 < 2:
        phase, start = random.uniform(0, 6), random.uniform(0.0, 1.0)
        length = min(np.pi / rate, 4.0)
        pulse = jv.PulseLoad("half_sine", 3 * height, start, length)
        wave = jv.HarmonicLoad(height, rate, phase)
        loads = [jv.AppliedLoad([1.0, 0.0], wave), jv.AppliedLoad([0.0, 1.0], pulse)]
        given = [
            height / rate * (np.sin(rate * END + phase) - np.sin(phase)),
            6 * height * length / np.pi,
        ]
    else:
        times = np.linspace(0.0, min(300 / rate, END), 301)
        values = height * random.standard_normal(301)
        loads = [jv.AppliedLoad([0.0, 1.0], jv.RecordLoad(times, values))]
        given = [0.0, np.trapezoid(values, times)]
    return jv.ImpactSystem(linear, contacts, loads), np.array(given)


def imbalances(seed):
    """Return errors of impulses and losses, and what their bars and balances allow."""
    system, given = random_motion(seed)
    start = system.rest()
    ends = np.array([0.0, 1.0, END])
    seen = jv.dynamics.contact_histories(system, start, ends)
    times = np.linspace(0.0, END, SAMPLES)
    states = np.asarray(jv.simulate(system, start, times, rtol=1e-12).states)
    place, speed = states[:, :2], states[:, 2:]
    step = times[1]
    whole = np.trapezoid(place, times, axis=0) + step**2 / 12 * (speed[0] - speed[-1])
    mass, damping, stiffness = (np.asarray(m) for m in system.linear.matrices())
    rows = np.array([[1.0, -1.0], [0.0, 1.0]])
    changes = mass @ (speed[-1] - speed[0]), damping @ (place[-1] - place[0])
    held = given - sum(changes) - stiffness @ whole
    impulses = np.linalg.solve(rows.T, held)
    scale = np.max(np.abs(impulses)) + np.max(np.abs(stiffness @ whole))
    balance = jv.dynamics.energy_balance(system, start, 0.0, END, rtol=1e-12)
    flow = np.max(np.abs(balance.loads)) + np.max(np.abs(balance.contacts))
    off = np.stack([np.asarray(seen.impulses[-1]) - impulses,
                    np.asarray(seen.losses[-1] - balance.contacts)])  # fmt: skip
    bars = np.stack([np.asarray(seen.impulse_errors[-1]), np.asarray(seen.loss_errors[-1])])
    left = abs(float(balance.left)) + ENERGY_ERROR * flow
    allowed = bars + np.array([[MOMENTUM_ERROR * scale], [left]])
    sizes = np.array([[scale], [flow]])
    return np.abs(off), allowed, np.abs(off) / sizes, bars / sizes


def main(motions: int) -> None:
    """Write the counts of covered sums and the largest errors."""
    found = [imbalances(seed) for seed in range(motions)]
    off, allowed, relative, bars = (np.stack(rows) for rows in zip(*found, strict=True))
    result = {
        "motions": motions,
        "covered": dict(zip(("impulses", "losses"),
                            np.sum(off <= allowed, axis=(0, 2)).tolist(), strict=True)),
        "of": 2 * motions,
        "largest relative error": np.max(relative, axis=(0, 2)).tolist(),
        "largest relative bar": np.max(bars, axis=(0, 2)).tolist(),
        "not covered": [int(k) for k in np.flatnonzero(np.any(off > allowed, axis=(1, 2)))],
    }  # fmt: skip
    print(json.dumps(result, indent=2))
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
