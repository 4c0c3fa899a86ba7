"""A wide sweep in chunks sorted by cost: the share of lanes that are busy.

    python -m experiments.benchmarks.wide_sweep [--lanes 4096]

The two-body system, rigid and soft, load 10 to 5000 N at 1 to 20 rad/s, 50 periods from
rest. Lanes that run together wait for the slowest one, and at each contact. Measured is
the share of a chunk of 64 that is busy: the CPU time of chunks of 64 copies of one lane,
which never wait, over that of the chunks, for the same lanes; in random chunks, in those
of `map_samples` sorted by amplitude and frequency, and sorted by the steps of a pilot run
of 5 periods at 1e-4.
Writes `wide_sweep-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import numpy as np

from experiments.benchmarks.engines import RIGID, SOFT, varied
from experiments.benchmarks.regime_map import machine
from jaxvib.dynamics.flow import solve_system
from jaxvib.ensemble import map_samples

WIDTH = 64
PERIODS, PILOT = 50, 5
COPIED = 32  # lanes of which copies are timed


def lanes(number: int):
    """Return contact stiffness, load amplitude and frequency of each lane."""
    rng = np.random.default_rng(3)
    stiffness = np.where(np.arange(number) % 2, RIGID, SOFT)
    return stiffness, rng.uniform(10, 5000, number), rng.uniform(1, 20, number)


def steps_of(periods: int, rtol: float):
    """Return the function from a lane to the number of steps of its motion."""

    def run(lane):
        system = varied(lane)
        span = periods * system.period()
        rest = system.rest()
        return solve_system(system, rest, 0.0, span, rtol=rtol, engine="event").steps

    return run


def chunk_seconds(compiled, values, chunks) -> np.ndarray:
    """Return the processor time of each chunk, the least of three."""
    seconds = np.full((3, len(chunks)), np.inf)
    for i in range(3):
        for k, chunk in enumerate(chunks):
            begin = time.process_time()
            jax.block_until_ready(compiled(tuple(column[chunk] for column in values)))
            seconds[i, k] = time.process_time() - begin
    return seconds.min(0)


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--lanes", type=int, default=2048)
    number = arguments.parse_args().lanes
    about, values = machine(), lanes(number)
    orders = {
        "at random": np.arange(number),
        "by frequency": np.argsort(values[2], kind="stable"),
        "by stiffness, frequency, load": np.lexsort(
            (values[1], np.round(values[2]), values[0])
        ),
    }
    pilot = map_samples(steps_of(PILOT, 1e-4), values, orders["by frequency"])
    orders["by a pilot run"] = np.argsort(pilot, kind="stable")
    run = jax.jit(jax.vmap(steps_of(PERIODS, 1e-7)))
    compiled = run.lower(tuple(x[:WIDTH] for x in values)).compile()
    some = np.random.default_rng(0).choice(number, COPIED, replace=False)
    alone = chunk_seconds(compiled, values, [np.full(WIDTH, i) for i in some])
    shares = {}
    for name, order in orders.items():
        place = np.argsort(order)[some] // WIDTH
        chunks = [order[p * WIDTH : (p + 1) * WIDTH] for p in place]
        together = chunk_seconds(compiled, values, chunks)
        shares[f"chunks of {WIDTH}, {name}"] = float(alone.sum() / together.sum())
    rows = {"event": shares}
    print(rows, flush=True)
    about["load at the end"] = os.getloadavg()[0]
    name = f"wide_sweep-{about['device']}-{os.cpu_count()}.json"
    whole = {"machine": about, "lanes": number, "rows": rows}
    Path(__file__).with_name(name).write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
