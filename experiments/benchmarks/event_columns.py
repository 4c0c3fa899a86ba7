"""Monodromy matrix and a parameter derivative, event-driven: accuracy and cost.

    python -m experiments.benchmarks.event_columns [--lanes 24] [--rtol 1e-9]

The two-body system, rigid and soft, load 200 to 800 N at 5 to 8 rad/s, one period from
random states without contact. Reference: fourth-order central differences of the
independent integration in `tests.independent` at 1e-13. Errors are relative to the
largest entry of the monodromy matrix and of the derivative. Times are of one chunk of
64 lanes, without compilation. Writes `event_columns-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmarks.engines import RIGID, SOFT, varied
from experiments.benchmarks.regime_map import machine
from jaxvib.dynamics.flow import observe, solve_system
from tests.independent import TwoBody, motion

WIDTH = 64
STEP = 1e-4
CALLS = 30  # that are timed together: the clock of a thread lags by as much as one takes


def drawn(number: int, stiffness: float):
    """Return lanes (stiffness, amplitude, frequency) and states that are apart."""
    rng = np.random.default_rng(5)
    lanes = (
        np.full(number, stiffness),
        rng.uniform(200, 800, number),
        rng.uniform(5, 8, number),
    )
    states = np.stack(
        [
            rng.uniform(-0.08, 0.08, number),
            rng.uniform(0.1, 0.25, number),
            rng.uniform(-0.6, 0.6, number),
            rng.uniform(-0.6, 0.6, number),
        ],
        axis=1,
    )
    return lanes, states


def end_of(lane, state, frequency, rtol):
    """Return the state after one period of the lane's own frequency."""
    stiffness, amplitude, own = lane
    system = varied((stiffness, amplitude, frequency))
    span = 2 * jnp.pi / own
    return solve_system(system, state, 0.0, span, rtol=rtol, engine="event").state


def reference(lane, state):
    """Return monodromy and frequency column by differences of the independent motion."""
    stiffness, amplitude, own = map(float, lane)
    span = 2 * np.pi / own

    def end(shift):
        system = TwoBody(
            contact_stiffness=stiffness,
            load_amplitude=amplitude,
            load_frequency=own + shift[4],
        )
        return motion(system, state + shift[:4], 0.0, span, rtol=1e-13).state

    columns = []
    for i in range(5):
        unit = np.zeros(5)
        unit[i] = STEP
        values = [end(factor * unit) for factor in (-2, -1, 1, 2)]
        weighted = values[0] - 8 * values[1] + 8 * values[2] - values[3]
        columns.append(weighted / (12 * STEP))
    return np.stack(columns[:4], axis=1), columns[4]


def timed(function, arguments, repeats: int) -> dict:
    """Return the seconds of tracing, of compiling, and the us per lane of a run."""
    begin = time.perf_counter(), time.process_time()
    lowered = jax.jit(jax.vmap(function)).lower(*arguments)
    middle = time.perf_counter()
    compiled = lowered.compile()
    end = time.perf_counter(), time.process_time()
    runs = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(CALLS):
            jax.block_until_ready(compiled(*arguments))
        runs.append((time.process_time() - start) / CALLS)
    return {
        "traced, s": middle - begin[0],
        "compiled, s": end[0] - middle,
        "traced and compiled, s of processor time": end[1] - begin[1],
        "us per lane": min(runs) * 1e6 / WIDTH,
    }


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--lanes", type=int, default=24)
    arguments.add_argument("--rtol", type=float, default=1e-9)
    arguments.add_argument("--repeats", type=int, default=7)
    chosen = arguments.parse_args()
    about, rtol = machine(), chosen.rtol
    rows = {}

    def values(lane, state):
        return end_of(lane, state, lane[2], rtol)

    def columns(lane, state):
        by = jax.jacfwd(end_of, (1, 2))
        return by(lane, state, lane[2], rtol)

    def observables(lane, state):
        system = varied(lane)
        return observe(
            system, state, 0.0, system.period(), rtol=rtol, grazing=1e-9, engine="event"
        )

    for name, stiffness in (("rigid", RIGID), ("soft", SOFT)):
        lanes, states = drawn(WIDTH, stiffness)
        monodromy, column = jax.jit(jax.vmap(columns))(lanes, states)
        errors = []
        for i in range(chosen.lanes):
            true, by_frequency = reference([x[i] for x in lanes], states[i])
            errors.append(
                (
                    np.abs(monodromy[i] - true).max() / np.abs(true).max(),
                    np.abs(column[i] - by_frequency).max() / np.abs(by_frequency).max(),
                )
            )
        errors = np.array(errors)
        rows[name] = {
            "lanes": chosen.lanes,
            "monodromy error, median": float(np.median(errors[:, 0])),
            "monodromy error, largest": float(errors[:, 0].max()),
            "column error, median": float(np.median(errors[:, 1])),
            "column error, largest": float(errors[:, 1].max()),
        }
        print(name, rows[name], flush=True)
    arguments = drawn(WIDTH, RIGID)
    for name, function in (
        ("values", values),
        ("watched", observables),
        ("columns", columns),
    ):
        rows[name] = timed(function, arguments, chosen.repeats)
        print(name, rows[name], flush=True)
    cost = rows["columns"]["us per lane"] / rows["values"]["us per lane"]
    rows["cost of five columns over values"] = cost
    rows["load at the end"] = os.getloadavg()[0]
    print(cost, rows["load at the end"])
    name = f"event_columns-{about['device']}-{os.cpu_count()}.json"
    whole = {"machine": about, "rtol": rtol, "rows": rows}
    Path(__file__).with_name(name).write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
