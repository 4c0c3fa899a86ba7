"""Structures in their modes that hit stops: cost and accuracy by modes and contacts.

    python -m experiments.benchmarks.elastic [--modes 5 10 20 40 80 320] [--others 20]
        [--bodies 12 24]

`rows`: unit cantilever, 1 % damping, Hertz stop and harmonic load at the tip.
`periodic_orbit` without a guess, later calls, each with another stiffness, and the part
of the modal form; one period from the orbit at the tolerance 1e-9, by the modal form
(10 modes or more) and, up to `--others` modes, by diffrax and scipy's DOP853; a period
with `flow` at 1e-6. Errors relative to the modal form at 1e-12, displacements times
their modes' frequency. `steps`: the largest number of steps of a period from 20 modes
on, relative to the smallest. `stops`: a period of 80
modes with ten stops that close nearly at once, and its monodromy matrix. `lanes`: a
period of 512 lanes of 20 modes under `jax.vmap`, per lane. `gradient`: `jax.jacfwd` of
`flow` by stiffness, gap and load frequency; with a mode's frequency too, the largest
difference from central differences of `flow`. `bodies`: orbits of rows of bodies with
five stops. Processor seconds of one process; LAPACK has one thread; `first_s` is the
first call, whose programs may be cached. Writes `elastic-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments.benchmarks.large_systems import row as row_of_bodies
from experiments.machine import machine
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.motion import Want
from jaxvib.ensemble.blas import one_blas_thread
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


def row(modes: int, compared: bool) -> dict:
    """Return the figures of one number of modes."""
    system = modal_cantilever(modes, jv.HertzContact(STIFFNESS))
    begun = time.process_time()
    orbit = jax.block_until_ready(jv.periodic_orbit(system))
    first = time.process_time() - begun
    others = iter(
        modal_cantilever(modes, jv.HertzContact(STIFFNESS * (1 + 1e-6 * k)))
        for k in range(1, 99)
    )
    _, cost = seconds(lambda: jv.periodic_orbit(next(others)))
    start = np.asarray(orbit.state)
    found = {
        "modes": modes,
        "first_s": first,
        "orbit_s": cost,
        "largest_multiplier": float(orbit.largest_multiplier),
        "multiplier_error": float(orbit.multiplier_error),
        "state_error": float(orbit.state_error),
    }
    units = np.concatenate([1 / cantilever_frequencies(modes), np.ones(modes)])
    ends, form = {}, modal_form(system)
    if form is not None:
        _, found["modal_form_s"] = seconds(lambda: modal_form(next(others)).modes)
        end, found["flow_s"] = seconds(
            lambda: jv.flow(system, start, 0.0, PERIOD, rtol=1e-6)
        )
        within = jax.jit(
            lambda s: jv.flow(system, s, 0.0, PERIOD, rtol=1e-6, engine="modal")
        )
        _, found["flow_in_jit_s"] = seconds(lambda: within(start))
        flow = jax.jit(modal_flow)
        tight = flow(form, start, 0.0, PERIOD, Want(TIGHT, monodromy=True))
        wide, cost = seconds(
            lambda: flow(form, start, 0.0, PERIOD, Want(RTOL, monodromy=True))
        )
        change = np.asarray(wide.monodromy - tight.monodromy)
        found["monodromy_s"] = cost
        found["monodromy_steps"] = int(wide.steps)
        found["monodromy_error"] = float(np.abs(change / units[:, None] * units).max())
        plain, cost = seconds(lambda: flow(form, start, 0.0, PERIOD, Want(RTOL)))
        found["period_steps"] = int(plain.steps)
        ends["period"] = np.asarray(plain.state), cost
        reference = np.asarray(tight.state)
        off = np.abs((np.asarray(end) - reference) / units).max()
        found["flow_error"] = float(off / np.abs(reference / units).max())
    else:
        reference = np.asarray(jv.flow(system, start, 0.0, PERIOD, rtol=TIGHT))
    if compared:
        ends["diffrax"] = seconds(
            lambda: jv.flow(system, start, 0.0, PERIOD, rtol=RTOL, engine="diffrax")
        )
        ends["scipy"] = seconds(lambda: by_scipy(modes, start), repeats=1)
    for name, (end, cost) in ends.items():
        off = np.abs((np.asarray(end) - reference) / units).max()
        found[f"{name}_s"] = cost
        found[f"{name}_error"] = float(off / np.abs(reference / units).max())
    return found


def ten_stops(modes: int = 80) -> dict:
    """Return the figures of ten stops beside each other that close nearly at once."""
    gaps = GAP * (1 + 1e-4 * np.arange(10))
    laws = [jv.HertzContact(STIFFNESS / 10)] * 10
    form = modal_form(modal_cantilever(modes, *laws, gaps=gaps))
    start = np.zeros(2 * modes)
    start[0], start[modes] = 0.0095, 0.006
    flow = jax.jit(modal_flow)
    tight = flow(form, start, 0.0, PERIOD, Want(TIGHT))
    plain, cost = seconds(lambda: flow(form, start, 0.0, PERIOD, Want(RTOL)))
    whole, more = seconds(
        lambda: flow(form, start, 0.0, PERIOD, Want(RTOL, monodromy=True))
    )
    units = np.concatenate([1 / cantilever_frequencies(modes), np.ones(modes)])
    off = np.abs((plain.state - tight.state) / units).max()
    return {
        "modes": modes,
        "stops": len(laws),
        "period_s": cost,
        "period_steps": int(plain.steps),
        "period_error": float(off / np.abs(tight.state / units).max()),
        "monodromy_s": more,
        "monodromy_steps": int(whole.steps),
    }


def lanes(modes: int = 20, count: int = 512) -> dict:
    """Return the time of a period for each of many lanes, from different states."""
    form = modal_form(modal_cantilever(modes, jv.HertzContact(STIFFNESS)))
    start = np.zeros(2 * modes)
    start[0], start[modes] = 0.0095, 0.006
    starts = jnp.asarray(start * (1 + 1e-3 * np.linspace(-1, 1, count)[:, None]))
    period = jax.jit(jax.vmap(lambda s: modal_flow(form, s, 0.0, PERIOD, Want(RTOL)).state))
    _, cost = seconds(lambda: period(starts))
    return {"modes": modes, "lanes": count, "lane_s": cost / count}


def gradient(modes: int) -> dict:
    """Return time and error of the gradient of `flow` by four parameters."""
    system = modal_cantilever(modes, jv.HertzContact(STIFFNESS))
    start = np.zeros(2 * modes)
    start[0], start[modes] = 0.0095, 0.006
    values = {
        "contacts.0.law.stiffness": STIFFNESS,
        "contacts.0.gap": GAP,
        "loads.0.law.frequency": FREQUENCY,
    }
    squares = jnp.asarray(cantilever_frequencies(modes) ** 2)
    nothing = {name: jnp.asarray(0.0) for name in (*values, "mode")}

    def end(changes):
        changed = {name: values[name] * jnp.exp(changes.get(name, 0.0)) for name in values}
        if "mode" in changes:
            square = squares[1] * jnp.exp(2 * changes["mode"])
            changed["linear.stiffness"] = jnp.diag(squares.at[1].set(square))
        there = jv.replace(system, changed)
        return jv.flow(there, start, 0.0, PERIOD, rtol=1e-12, engine="modal")

    logarithms = {name: nothing[name] for name in values}
    found, cost = seconds(lambda: jax.jacfwd(end)(logarithms))
    found |= jax.jacfwd(end)({"mode": nothing["mode"]})
    units = np.concatenate([1 / cantilever_frequencies(modes), np.ones(modes)])
    worst = 0.0
    for name in nothing:
        ends = [end({name: jnp.asarray(k * 1e-4)}) for k in (-2, -1, 1, 2)]
        slope = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 12e-4 / units
        off = np.abs(np.asarray(found[name]) / units - slope).max()
        worst = max(worst, float(off / np.abs(slope).max()))
    return {"modes": modes, "gradient_s": cost, "error": worst}


def row_orbit(bodies: int) -> dict:
    """Return the figures of the orbit of a row of bodies with five stops."""
    system = row_of_bodies(bodies)
    orbit, cost = seconds(lambda: jv.periodic_orbit(system), repeats=1)
    return {
        "bodies": bodies,
        "orbit_s": cost,
        "contacts": int(orbit.contacts),
        "state_error": float(orbit.state_error),
        "multiplier_error": float(orbit.multiplier_error),
    }


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--modes", type=int, nargs="+", default=[5, 10, 20, 40, 80, 320])
    parser.add_argument("--others", type=int, default=20)
    parser.add_argument("--bodies", type=int, nargs="*", default=[12, 24])
    options = parser.parse_args()
    with one_blas_thread():
        found: dict = {"machine": machine(), "rows": []}
        for modes in options.modes:
            found["rows"].append(row(modes, modes <= options.others))
            print(json.dumps(found["rows"][-1]), flush=True)
        steps = [row["period_steps"] for row in found["rows"] if row["modes"] >= 20]
        found["steps"] = max(steps) / min(steps) if steps else None
        found["stops"] = ten_stops()
        found["lanes"] = lanes()
        found["gradient"] = gradient(10)
        found["bodies"] = [row_orbit(bodies) for bodies in options.bodies]
        last = "steps", "stops", "lanes", "gradient", "bodies"
        print(json.dumps({name: found[name] for name in last}))
    device = jax.devices()[0].platform
    path = Path(__file__).with_name(f"elastic-{device}-{os.cpu_count()}.json")
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
