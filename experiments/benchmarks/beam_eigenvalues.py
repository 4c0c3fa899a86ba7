"""First 10 eigenvalues of many cantilevers with three oscillators: ours and peers'.

    python experiments/benchmarks/beam_eigenvalues.py [DESIGNS] [RESULT.json]

Peers run on a few of the same designs, turn by turn with ours: dense quadratic
eigenproblems of 160 cubic Hermite elements and of elements of higher degree (scipy).
Errors are relative, against single spectra with backward errors near rounding.
Compilation is timed apart.
"""

import json
import pathlib
import platform
import sys
import time

import jax.numpy as jnp
import numpy as np

import jaxvib as jv

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "modes"))
from finite_elements import eigenvalues

BEAM = jv.Beam(1.0, 1.0, 1.0, ("clamped", "free"))
PEERS = {"160 Hermite elements": (160, 3), "8 elements of degree 7": (8, 7)}


def cantilever(sample):
    return jv.BeamWithBodies(
        BEAM,
        sample["positions"],
        sample["stiffness"],
        sample["damping"],
        np.eye(3),
        jnp.diag(sample["masses"]),
    )


def draw(number):
    random = np.random.default_rng(7)
    return {
        "positions": np.sort(random.uniform(0.05, 1.0, (number, 3)), axis=1),
        "stiffness": 10 ** random.uniform(-1, 3, (number, 3)),
        "damping": 10 ** random.uniform(-2, 0, (number, 3)),
        "masses": 10 ** random.uniform(-2, 0, (number, 3)),
    }


def main(number=1000, path=None):
    samples = draw(number)
    begin = time.perf_counter()
    jv.beam_spectra(cantilever, {k: v[:64] for k, v in samples.items()})
    first_call = time.perf_counter() - begin
    ours, peers = [], {name: [] for name in PEERS}
    errors = {name: [] for name in PEERS} | {"jaxvib": []}
    for turn in range(3):
        begin = time.perf_counter()
        spectra = jv.beam_spectra(cantilever, samples)
        ours.append((time.perf_counter() - begin) / number)
        for i in range(turn, number, max(1, number // 4))[:4]:
            sample = {name: values[i] for name, values in samples.items()}
            exact = np.asarray(jv.beam_eigenvalues(cantilever(sample)).values)
            errors["jaxvib"].append(np.max(np.abs(spectra.values[i] / exact - 1)))
            for name, (elements, degree) in PEERS.items():
                begin = time.perf_counter()
                theirs = eigenvalues(
                    ("clamped", "free"),
                    sample["positions"],
                    sample["stiffness"],
                    sample["damping"],
                    np.eye(3),
                    np.diag(sample["masses"]),
                    elements=elements,
                    degree=degree,
                )[:10]
                peers[name].append(time.perf_counter() - begin)
                errors[name].append(np.max(np.abs(theirs / exact - 1)))
    result = {
        "designs": number,
        "machine": {"processor": platform.machine(), "cores": 2},
        "first_call_s": first_call,
        "certified": float(np.mean(spectra.certified)),
        "done_again": float(np.mean(spectra.repeated)),
        "ms_per_design": {"jaxvib": 1e3 * min(ours)}
        | {name: 1e3 * min(times) for name, times in peers.items()},
        "median_error": {name: float(np.median(e)) for name, e in errors.items()},
        "largest_error": {name: float(np.max(e)) for name, e in errors.items()},
        "ratio": {name: min(times) / min(ours) for name, times in peers.items()},
    }
    text = json.dumps(result, indent=1)
    print(text)
    if path:
        pathlib.Path(path).write_text(text + "\n")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]), *sys.argv[2:3])
