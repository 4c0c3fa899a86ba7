"""The paper on chains of bodies joined by beams, compared with our results.

    python -m experiments.beam_chain.run

Runs `configs/beam_chain.toml` with 64, 512 and 4096 chains (stores and reports in
`results/beam_chain_<chains>`) and writes `experiments/beam_chain/results.json`. See
README.md.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

import jaxvib as jv

HERE = Path(__file__).parent
CHAINS = (64, 512, 4096)
KINDS = ("translational", "rotational")


def study(chains: int) -> Path:
    """Run the ready study with so many chains for each gamma; return its folder."""
    directory = Path("results", f"beam_chain_{chains}")
    settings = (f"analysis.chains={chains}", "analysis.points=65", f"run.seed={chains}")
    words = [word for each in settings for word in ("--set", each)]
    command = [sys.executable, "-m", "jaxvib", "run", "beam_chain", *words]
    subprocess.run([*command, "--out", str(directory)], check=True)
    return directory


def ensembles(directory: Path) -> list[dict]:
    """Return for each gamma the mean shares beside those of an infinite chain."""
    stored = jv.open_study(directory)
    rows = []
    for i, gamma in enumerate(stored["gamma"].values):
        row = {"gamma": float(gamma), "t": float(stored["instants"][i, -1])}
        for kind in KINDS:
            share, error = stored[kind][i].values, stored[f"{kind}_error"][i].values
            predicted = stored[f"predicted_{kind}"][i].values
            off = np.abs(share - predicted)[1:] / error[1:]
            row[kind] = {
                "share": float(share[-1]),
                "its error bar": float(error[-1]),
                "infinite chain": float(predicted[-1]),
                "long after": float(stored[f"equilibrium_{kind}"][i]),
                "distance over all times, rms in error bars": float(
                    np.sqrt(np.mean(off**2))
                ),
                "largest distance in error bars": float(off.max()),
            }
        row["largest change of energy"] = float(stored["energy_change"][i])
        rows.append(row)
    return rows


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
    results = {
        "growth with the misprint, gamma = 1": misprint(),
        "bodies": 256,
        "by number of chains": {chains: ensembles(study(chains)) for chains in CHAINS},
    }
    text = json.dumps(results, indent=1)
    (HERE / "results.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
