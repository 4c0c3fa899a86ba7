"""A cantilever in its modes that hits a stop: cost and accuracy by the number of modes.

    python -m experiments.benchmarks.elastic [--modes 5 10 20 40 80] [--others 20]

Unit cantilever, 1 % damping, Hertz stop and harmonic load at the tip. `periodic_orbit`
without a guess, second call; one period from the orbit at the tolerance 1e-9, by the
modal form (10 modes or more) and, up to `--others` modes, by diffrax and scipy's DOP853.
Errors relative to the modal form at 1e-12, displacements times their modes' frequency.
Processor seconds. Writes `elastic-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments.benchmarks.regime_map import machine
from jaxvib.dynamics.modal import modal_flow, modal_form
from tests.modal_cantilever import (
    AMPLITUDE,
    DAMPING_RATIO,
    FREQUENCY,
    GAP,
    PERIOD,
    cantilever_frequencies,
    modal_cantilever,
)

STIFFNESS, RTOL, TIGHT = 5e3, 1e-9, 1e-12


def seconds(function, repeats: int = 3):
    """Return the result of a function, and the least processor time of a later call."""
    found, least = jax.block_until_ready(function()), np.inf
    for _ in range(repeats):
        begun = time.process_time()
        jax.block_until_ready(function())
        least = min(least, time.process_time() - begun)
    return found, least


def by_scipy(modes: int, start: np.ndarray) -> np.ndarray:
    """Return DOP853's state after a period."""
    frequencies = cantilever_frequencies(modes)
    tip = 2 * (-1.0) ** np.arange(modes)

    def rates(time, state):
        x, v = state[:modes], state[modes:]
        push = AMPLITUDE * np.cos(FREQUENCY * time)
        push -= STIFFNESS * max(tip @ x - GAP, 0.0) ** 1.5
        losses = 2 * DAMPING_RATIO * frequencies * v
        return np.concatenate([v, tip * push - frequencies**2 * x - losses])

    tight = {"method": "DOP853", "rtol": RTOL, "atol": 1e-3 * RTOL}
    return solve_ivp(rates, (0.0, PERIOD), start, **tight).y[:, -1]


def row(modes: int, others: int) -> dict:
    """Return the figures of one number of modes."""
    system = modal_cantilever(modes, jv.HertzContact(STIFFNESS))
    orbit, cost = seconds(lambda: jv.periodic_orbit(system))
    start = np.asarray(orbit.state)
    found = {
        "modes": modes,
        "orbit_s": cost,
        "largest_multiplier": float(orbit.largest_multiplier),
        "multiplier_error": float(orbit.multiplier_error),
        "state_error": float(orbit.state_error),
    }
    units = np.concatenate([1 / cantilever_frequencies(modes), np.ones(modes)])
    ends, form = {}, modal_form(system)
    if form is not None:
        flow = jax.jit(modal_flow, static_argnames="sensitivities")
        tight = flow(form, start, 0.0, PERIOD, TIGHT, sensitivities=True)
        wide, cost = seconds(
            lambda: flow(form, start, 0.0, PERIOD, RTOL, sensitivities=True)
        )
        change = np.asarray(wide.sensitivities - tight.sensitivities)
        found["monodromy_s"] = cost
        found["monodromy_steps"] = int(wide.steps)
        found["monodromy_error"] = float(np.abs(change / units[:, None] * units).max())
        plain, cost = seconds(lambda: flow(form, start, 0.0, PERIOD, RTOL))
        found["period_steps"] = int(plain.steps)
        ends["period"] = np.asarray(plain.state), cost
        reference = np.asarray(tight.state)
    else:
        reference = np.asarray(jv.flow(system, start, 0.0, PERIOD, rtol=TIGHT))
    if modes <= others:
        ends["diffrax"] = seconds(
            lambda: jv.flow(system, start, 0.0, PERIOD, rtol=RTOL, engine="diffrax")
        )
        ends["scipy"] = seconds(lambda: by_scipy(modes, start), repeats=1)
    for name, (end, cost) in ends.items():
        off = np.abs((np.asarray(end) - reference) / units).max()
        found[f"{name}_s"] = cost
        found[f"{name}_error"] = float(off / np.abs(reference / units).max())
    return found


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--modes", type=int, nargs="+", default=[5, 10, 20, 40, 80])
    parser.add_argument("--others", type=int, default=20)
    options = parser.parse_args()
    rows = []
    for modes in options.modes:
        rows.append(row(modes, options.others))
        print(json.dumps(rows[-1]), flush=True)
    device = jax.devices()[0].platform
    path = Path(__file__).with_name(f"elastic-{device}-{os.cpu_count()}.json")
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
