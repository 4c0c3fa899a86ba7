"""The maps of another checkout beside those of this one: classes, orbits and exponents.

    python -m experiments.benchmarks.same_classes FOLDER [--size 64]

computes the README's map, of `size` x `size` samples, by the code in the folder and by
this one, each in a process of its own, and writes `same_classes.json` here: how many
samples have another class, how many numbers other bits, and how far exponents are apart, in
units of their errors. Ends with 1 if a class differs that neither calls undecided, or an
exponent by more than its error.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from jaxvib.ensemble import Reason

HERE = Path(__file__).resolve()
_RUN = """
import dataclasses, sys
import numpy as np
import jaxvib as jv
size = int(sys.argv[2])
axes = np.linspace(100.0, 1000.0, size), np.linspace(5.0, 8.0, size)
force, frequency = (one.ravel() for one in np.meshgrid(*axes, indexing="ij"))
samples = {"load.amplitude": force, "load.frequency": frequency}
found = jv.orbits.regimes(jv.two_body_impact(), samples)
fields = [each.name for each in dataclasses.fields(found) if each.name != "labels"]
np.savez(sys.argv[1], **{name: np.asarray(getattr(found, name)) for name in fields})
"""
_UNDECIDED = [reason.value for reason in Reason if reason.undecided]


def orbits(folder: Path, size: int) -> dict[str, np.ndarray]:
    """Return the fields of the map by the code in a folder."""
    with tempfile.TemporaryDirectory() as place:
        file = f"{place}/map.npz"
        setting = {**os.environ, "PYTHONPATH": str(folder)}
        command = [sys.executable, "-c", _RUN, file, str(size)]
        subprocess.run(command, check=True, env=setting, cwd=folder)
        with np.load(file) as found:
            return dict(found)


def compared(old: dict, new: dict) -> dict:
    """Return how the fields of two maps differ."""
    classes = {name: found["result"] for name, found in (("old", old), ("new", new))}
    same = classes["old"] == classes["new"]
    undecided = np.isin(classes["old"], _UNDECIDED) | np.isin(classes["new"], _UNDECIDED)
    other_bits = {
        name: int(np.sum(_differs(value, new[name]).reshape(len(same), -1).any(axis=1)))
        for name, value in old.items()
    }
    apart = np.abs(new["lyapunov_exponent"] - old["lyapunov_exponent"])
    errors = np.abs(new["lyapunov_error"]) + np.abs(old["lyapunov_error"])
    within = (apart / errors)[same & np.isfinite(apart)]
    return {
        "samples": len(same),
        "other classes": int(np.sum(~same)),
        "of these decided in both": int(np.sum(~same & ~undecided)),
        "samples with other bits": {k: n for k, n in other_bits.items() if n},
        "exponents apart, in errors, largest": float(np.max(within, initial=0.0)),
    }


def _differs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    missing = (one != one) & (other != other)
    return (one != other) & ~missing


def main() -> None:
    """Compare and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=64)
    options = parser.parse_args()
    found = compared(
        *(orbits(each, options.size) for each in (options.folder, HERE.parents[2]))
    )
    HERE.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))
    far = found["exponents apart, in errors, largest"] > 1
    sys.exit(bool(found["of these decided in both"] or far))


if __name__ == "__main__":
    main()
