"""Cost of a chain: exact motion, and steps of high order to a late time.

The least of several times is reported, compilation separately, and the error with each
time. Runs unchanged on a GPU.

    python -m experiments.benchmarks.chain_cost [--repeats 3] [--small]

Writes `experiments/benchmarks/chain_cost-<machine>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib.foundation.machine import usable_cores

RESULTS = Path(__file__).parent


def timed(function, repeats: int) -> tuple[float, float]:
    """Return the first call's time and the least of the later ones, s."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - start)
    return times[0], min(times[1:])


def exact(bodies: int, repeats: int) -> dict:
    """Return the time of the exact motion at one time, early and late."""
    chain = jv.BeamChain(bodies=bodies, gamma=1.0)
    state = jv.dynamics.random_velocities(chain, jax.random.key(0))
    state = state.at[2].add(-state[2].mean())
    row: dict = {"bodies": bodies}
    for instant in (1.0, 1e6):
        first, least = timed(
            lambda instant=instant: jv.propagate(chain, state, [instant]), repeats
        )
        energy = chain.energies(jv.propagate(chain, state, [0.0, instant])).total
        row[f"t = {instant:g}"] = {
            "first call, s": first,
            "s": least,
            "change of energy": float(abs(energy[1] / energy[0] - 1)),
        }
    return row


def long_run(repeats: int, small: bool) -> dict:
    """Return time and error of both ways to a late time, against waves one by one."""
    duration = 1e4 if small else 1e6
    bodies, steps = 64, round(duration / 0.1)
    chain = jv.BeamChain(bodies=bodies, gamma=1.0)
    state = jv.dynamics.random_velocities(chain, jax.random.key(3))
    state = state.at[2].add(-state[2].mean())
    other = jv.BeamChain(bodies=bodies, gamma=1.0, mass_factors=np.ones(bodies))
    reference = jv.propagate(other, state, [duration])[0]
    _, exactly = timed(lambda: jv.propagate(chain, state, [duration])[0], repeats)
    found = jv.propagate(chain, state, [duration])[0]
    jv.dynamics.step_chain(chain, state, 1.0, 10, order=8).block_until_ready()  # compiled
    start = time.perf_counter()
    after = jv.dynamics.step_chain(
        chain, state, duration, steps, order=8
    ).block_until_ready()
    stepped = time.perf_counter() - start
    return {
        "t": duration,
        "bodies": bodies,
        "exact, s": exactly,
        "exact, difference of waves and modes": float(abs(found - reference).max()),
        "steps of order 8, s": stepped,
        "steps of order 8, difference to exact": float(abs(after - found).max()),
    }


def network(bodies: int, count: int, repeats: int) -> dict:
    """Return the time of the lowest frequencies of a random network, beside scipy's."""
    from scipy.sparse.linalg import eigsh

    rng = np.random.default_rng(1)
    names = [f"b{i}" for i in range(bodies)]
    start = time.perf_counter()
    modules: list = [jv.PointMass(name, rng.uniform(1, 5)) for name in names]
    for i, name in enumerate(names):
        for other in rng.integers(0, bodies, 2):
            if other != i:
                spring = jv.Spring(name, names[other], stiffness=rng.uniform(1, 100))
                modules.append(spring)
    modules.append(jv.Spring("ground", "b0", stiffness=50.0))
    system = jv.assemble(modules)
    built = time.perf_counter() - start
    _, ours = timed(lambda: jv.modes.lowest_frequencies(system, count), repeats)
    start = time.perf_counter()
    mass, _, stiffness = system.sparse_matrices()
    overlaid = time.perf_counter() - start
    _, peer = timed(
        lambda: eigsh(stiffness, count, mass, sigma=0.0, return_eigenvectors=False),
        repeats,
    )
    squares = np.sort(eigsh(stiffness, count, mass, sigma=0.0)[0])
    found = np.asarray(jv.modes.lowest_frequencies(system, count))
    start = time.perf_counter()
    dense = np.asarray(jv.natural_frequencies(system))[:count]
    whole = time.perf_counter() - start
    return {
        "bodies": bodies,
        "modules": len(modules),
        "building, s": built,
        "sparse matrices, s": overlaid,
        "lowest": count,
        "sparse, s": ours,
        "scipy with the matrices at hand, s": peer,
        "dense, all of them, s": whole,
        "sparse to dense": float(np.abs(found / dense - 1).max()),
        "scipy to dense": float(np.abs(np.sqrt(squares) / dense - 1).max()),
    }


def main() -> None:
    """Run everything and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    repeats, small = options.repeats, options.small
    before = machine() | {"cores": usable_cores()}
    sizes = (256, 2**16) if small else (256, 2**16, 10**6)
    results: dict = {
        "machine": before,
        "exact": [exact(n, repeats) for n in sizes],
        "to a late time": long_run(repeats, small),
        "network": network(200 if small else 2000, 10, 1),
    }
    results["machine"]["load afterwards"] = os.getloadavg()[0]
    kind = jax.devices()[0].device_kind.replace(" ", "-").lower()
    name = f"chain_cost-{kind}-{before['cores']}{'-small' if small else ''}.json"
    (RESULTS / name).write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
