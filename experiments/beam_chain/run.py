"""What the paper on chains of bodies joined by beams asks and says, and what we get.

    python -m experiments.beam_chain.run [--chains 4096] [--bodies 256]

Writes `experiments/beam_chain/results.json`. The rest is stated in README.md.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv

HERE = Path(__file__).parent
TIMES = np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])


def ensemble(gamma: float, chains: int, bodies: int) -> dict:
    """Return the mean split over random chains beside the infinite chain's integral."""
    chain = jv.BeamChain(bodies=bodies, gamma=gamma)

    def shares(number):
        key = jax.random.fold_in(jax.random.key(7), number)
        state = jv.random_velocities(chain, key)
        energies = chain.energies(jv.propagate(chain, state, TIMES))
        parts = jnp.stack([energies.translational, energies.rotational])
        drift = jnp.abs(energies.total / energies.total[0] - 1).max()
        return parts, energies.total[0], drift

    start = time.perf_counter()
    parts, total, drift = jv.map_samples(shares, np.arange(chains), chunk=32)
    spent = time.perf_counter() - start
    curve = jv.kinetic_split(chain, TIMES)
    curve = np.stack([curve.translational, curve.rotational])
    settled = jv.equilibrium_split(chain)
    rows = []
    for count in (chains // 64, chains // 8, chains):
        share = parts[:count].mean(0) / total[:count].mean()
        spread = parts[:count] - share * total[:count, None, None]
        error = spread.std(0) / np.sqrt(count) / total[:count].mean()
        off = np.abs(share - curve)[:, 1:] / error[:, 1:]
        rows.append({"chains": count, "error bar at t = 64": error[:, -1].tolist(),
                     "largest distance in error bars": float(off.max())})  # fmt: skip
    return {
        "gamma": gamma,
        "times": TIMES.tolist(),
        "mean share (translation, rotation)": share.tolist(),
        "infinite chain (translation, rotation)": curve.tolist(),
        "equilibrium (translation, rotation)": [
            float(settled.translational),
            float(settled.rotational),
        ],
        "by number of chains": rows,
        "largest change of energy": float(drift.max()),
        "seconds": spent,
    }


def misprint(gamma: float = 1.0) -> float:
    """Return the growth of the source's printed second line, whose C is not symmetric.

    With y_{i+1} - y_i for y_{i+1} - y_{i-1}, each wave has its own two equations.
    """
    q = np.linspace(-np.pi, np.pi, 20001)
    a, d = 2 - 2 * np.cos(q), gamma * (4 + 2 * np.cos(q))
    across, back = 1j * np.sin(q), -3 * gamma * (np.exp(1j * q) - 1)
    matrices = np.stack([np.stack([a + 0j, across], -1), np.stack([back, d + 0j], -1)], -2)
    squares = np.linalg.eigvals(-matrices)
    return float(np.sqrt(squares).real.max())


def main() -> None:
    """Run everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=4096)
    parser.add_argument("--bodies", type=int, default=256)
    options = parser.parse_args()
    results = {
        "growth with the misprint, gamma = 1": misprint(),
        "chains": options.chains,
        "bodies": options.bodies,
        "ensembles": [
            ensemble(gamma, options.chains, options.bodies) for gamma in (0.1, 1.0, 10.0)
        ],
    }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    for each in results["ensembles"]:
        last = each["by number of chains"][-1]
        print(
            f"gamma = {each['gamma']:g}: at t = 64 "
            f"{np.array(each['mean share (translation, rotation)'])[:, -1]}, infinite "
            f"{np.array(each['infinite chain (translation, rotation)'])[:, -1]}, "
            f"equilibrium {each['equilibrium (translation, rotation)']}, "
            f"at most {last['largest distance in error bars']:.2f} error bars, "
            f"energy kept to {each['largest change of energy']:.1e}, "
            f"{each['seconds']:.1f} s"
        )
    print("growth with the misprint:", results["growth with the misprint, gamma = 1"])


if __name__ == "__main__":
    main()
