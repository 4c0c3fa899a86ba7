"""Smooth systems in lanes: `engine="stepping"` compared with a vmap of diffrax.

    python -m experiments.benchmarks.stepping [--lanes 4096] [--repeats 5]

Duffing's oscillator x'' + 0.2 x' - x + x^3 = a cos(1.2 t), 20 periods, and Lorenz's
system with r from 20 to 28 up to t = 3, from the same states in lanes that differ in a
or r: jaxvib's stepping engine (Dopri8, one array per component; at rtol 1e-6 in float32
too), its diffrax path (Dopri8) and a plain use of diffrax's Tsit5. All run in the same
chunks on all cores; runs alternate and the least time is reported. Errors: of the final
states compared with diffrax's own Dopri8 at 1e-13. Writes
`stepping-<device>-<cores>.json`.
"""

import argparse
import functools
import json
import os
import time
from pathlib import Path

import diffrax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from experiments.benchmarks.regime_map import machine

PERIOD = 2 * np.pi / 1.2  # of the load; Lorenz's system has none, and repeats in any
PLAIN = "vmapped diffrax Tsit5"


def duffing(t, state, amplitude):
    """Return the rates of Duffing's oscillator."""
    x, v = state
    return v, -0.2 * v + x - x**3 + amplitude * jnp.cos(2 * np.pi / PERIOD * t)


def lorenz(t, state, ratio):
    """Return the rates of Lorenz's system."""
    x, y, z = state
    return 10.0 * (y - x), x * (ratio - z) - y, x * y - 8 / 3 * z


PROBLEMS = {
    "Duffing": (duffing, (0.5, 0.0), 20 * PERIOD, (0.1, 0.3)),
    "Lorenz": (lorenz, (1.0, 1.0, 1.0), 3.0, (20.0, 28.0)),
}


def by_jaxvib(field, start, end, rtol, engine, precision="float64"):
    """Return the final state of a lane by one of jaxvib's engines."""

    def run(value):
        system = jv.forced_system(
            lambda t, x, p: jnp.stack(field(t, tuple(x), p["value"])),
            parameters={"value": value},
            period=PERIOD,
            dimension=len(start),
        )
        state = jnp.asarray(start)
        return jv.flow(
            system, state, 0.0, end, rtol=rtol, engine=engine, precision=precision
        )

    return run


def by_diffrax(field, start, end, rtol, solver=None):
    """Return the same by diffrax, as anyone would ask for it."""

    def run(value):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, v: jnp.stack(field(t, tuple(y), v))),
            solver or diffrax.Tsit5(),
            0.0,
            end,
            1e-3,
            jnp.asarray(start),
            args=value,
            stepsize_controller=diffrax.PIDController(rtol, rtol * 1e-2),
            max_steps=1_000_000,
            adjoint=diffrax.ForwardMode(),
        ).ys[-1]

    return run


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--lanes", type=int, default=4096)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--rtol", type=float, default=1e-8)
    chosen = arguments.parse_args()
    about, rows = machine(), []
    for name, (field, start, end, span) in PROBLEMS.items():
        values = np.linspace(*span, chosen.lanes)
        make = functools.partial(by_diffrax, field, start, end)
        exact = jv.map_samples(make(1e-13, diffrax.Dopri8()), values[::16])
        runs = {
            "stepping": by_jaxvib(field, start, end, chosen.rtol, "stepping"),
            "diffrax path": by_jaxvib(field, start, end, chosen.rtol, "diffrax"),
            PLAIN: make(chosen.rtol),
            "stepping, rtol 1e-6": by_jaxvib(field, start, end, 1e-6, "stepping"),
            "stepping, rtol 1e-6, float32": by_jaxvib(
                field, start, end, 1e-6, "stepping", "float32"
            ),
        }
        table = {}
        for key, run in runs.items():
            begin = time.perf_counter()
            states = jv.map_samples(run, values, values)[::16]
            error = np.abs(states - exact).max(1)
            table[key] = {
                "system": name,
                "engine": key,
                "lanes": chosen.lanes,
                "first call, s": time.perf_counter() - begin,
                "wall, us per trajectory": np.inf,
                "error, median": float(np.median(error)),
                "error, largest": float(error.max()),
            }
        for _ in range(chosen.repeats):
            for key, run in runs.items():
                begin = time.perf_counter()
                jv.map_samples(run, values, values)
                each = (time.perf_counter() - begin) * 1e6 / chosen.lanes
                row = table[key]
                row["wall, us per trajectory"] = min(row["wall, us per trajectory"], each)
        for row in table.values():
            plain = table[PLAIN]["wall, us per trajectory"]
            row["times faster than vmapped diffrax"] = (
                plain / row["wall, us per trajectory"]
            )
            print(row, flush=True)
        rows += table.values()
    about["load at the end"] = os.getloadavg()[0]
    name = f"stepping-{about['device']}-{os.cpu_count()}.json"
    file = Path(__file__).with_name(name)
    file.write_text(json.dumps({"machine": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
