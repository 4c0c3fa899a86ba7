"""Shares of basins compared with bSTAB and pyBasin.

    python -m experiments.basin_benchmark [--number 20000] [--seed 1]

Duffing's oscillator x'' + 0.08 x' + x^3 = 0.2 cos t has five attractors; initial states
are drawn uniformly from [-1, 1] x [-0.5, 1]. The published shares are of 10,000 initial
states, classified by features of their time series (Stender and Hoffmann, bSTAB,
Nonlinear Dynamics 107 (2022) 1451; pyBasin uses the same numbers); ours are classified
by the orbits that the motions converge to. Attractors are matched by one published
initial state of each. Shares from different initial states agree within three standard
errors of their difference. Writes `experiments/basin_benchmark.json`.
"""

import argparse
import json
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import jaxvib as jv

RESULT = Path(__file__).with_suffix(".json")
BOX = np.array([[-1.0, -0.5], [1.0, 1.0]])
# Of each attractor: a start that leads to it, and its published share of 10,000.
PUBLISHED = {
    "y1": ((-0.21, 0.02), 0.2027),
    "y2": ((1.05, 0.77), 0.4950),
    "y3": ((-0.67, 0.02), 0.0288),
    "y4": ((-0.46, 0.30), 0.0257),
    "y5": ((-0.43, 0.12), 0.2478),
}
_THEIR_STARTS = 10_000


def duffing() -> jv.ForcedSystem:
    """Return Duffing's oscillator without a linear spring."""
    return jv.forced_system(
        lambda t, x, p: [x[1], p["a"] * jnp.cos(t) - p["d"] * x[1] - x[0] ** 3],
        parameters={"a": 0.2, "d": 0.08},
        period=2 * np.pi,
        dimension=2,
    )


def shares(number: int, seed: int) -> dict:
    """Return our shares beside the published ones, and how far apart they are."""
    drawn = np.random.default_rng(seed).uniform(*BOX, (number, 2))
    named = np.array([start for start, _ in PUBLISHED.values()])
    found = jv.basins(duffing(), np.concatenate([named, drawn]), progress=False)
    labels, rest = found.label[: len(named)], found.label[len(named) :]
    if len(set(labels.tolist())) < len(named) or np.any(labels < 0):
        raise RuntimeError(f"starts that are named settle on attractors {labels}")
    table = {}
    for label, (name, (_, published)) in zip(labels, PUBLISHED.items(), strict=True):
        share = float(np.mean(rest == label))
        spread = share * (1 - share) / number
        spread += published * (1 - published) / _THEIR_STARTS
        table[name] = {
            "published": published,
            "share": share,
            "standard errors apart": round(abs(share - published) / np.sqrt(spread), 2),
        }
    return {
        "attractors found": len(found.share),
        "undecided": float(np.mean(rest < 0)),
        "shares": table,
    }


def main() -> None:
    """Write the result of a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.process_time()
    found = shares(given.number, given.seed)
    seconds = round(time.process_time() - began, 1)
    result = {"starts": given.number, "seed": given.seed, "core-seconds": seconds}
    result["duffing"] = found
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
