"""Chains, assemblies and responses on JAX's GPU, beside the CPU. Needs a GPU.

    python -m experiments.benchmarks.gpu_families [--repeats 2] [--only NAME ...]

Needs `pip install '.[cuda13]'`. Each case is a public function, run in two processes: in
one JAX has the GPU, in the other (`JAX_PLATFORMS=cpu`) the CPU's cores only. Seconds of
the first call, which compiles, and the least of the others; the largest difference of the
results, relative to the largest number of each array. The cases: the exact motion of a
million particles at a late time; 64 steps of these; 200 steps of 4096 chains of 256
particles; the frequency response of 64 masses at 65536 frequencies; 4096 natural
frequencies of 8 masses; the response of a tower with a stop to 4096 records of noise.
Writes `gpu_families-<device>.json`.
"""

import argparse
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib.kernels.gpu.driver import DriverError, driver


def exact_chain(bodies: int = 10**6):
    """Return the motion of a long chain at t = 1e6."""
    chain = jv.BeamChain(bodies=bodies, gamma=1.0)
    state = jv.dynamics.random_velocities(chain, jax.random.key(0))
    state = state.at[2].add(-state[2].mean())
    return lambda: jv.propagate(chain, state, [1e6])


def long_chain(bodies: int = 10**6, steps: int = 64):
    """Return steps of one long chain."""
    chain = jv.BeamChain(bodies=bodies, gamma=1.0)
    state = jv.dynamics.random_velocities(chain, jax.random.key(0))
    return lambda: jv.dynamics.step_chain(chain, state, 0.05 * steps, steps, order=2)


def masses(number: int, damping: float = 0.0) -> jv.Assembled:
    """Return a row of masses and springs between two walls."""
    names = ["ground", *(f"mass{k}" for k in range(number))]
    row: list = [
        jv.TranslationTranslation(a, b, mass=10.0, stiffness=1e5, damping=damping)
        for a, b in itertools.pairwise(names)
    ]
    return jv.assemble([*row, jv.Spring(names[-1], "ground", stiffness=1e5)])


def frequency_response(number: int = 64, frequencies: int = 65536):
    """Return the response of a row of masses at many frequencies."""
    system = masses(number, damping=20.0)
    swept = np.linspace(1.0, 220.0, frequencies)
    return lambda: jv.frequency_response(system, swept, force="mass0", at="mass9")


def frequencies(number: int = 4096):
    """Return the natural frequencies of rows of masses with different springs."""
    system = masses(8)
    values = np.linspace(1e5, 2e5, number)
    grid = {"modules.mass3-mass4.stiffness": values}
    return lambda: jv.sweep(jv.natural_modes, system, grid)


def responses(number: int = 4096):
    """Return the responses of a tower with a stop to records of noise."""
    first = jv.TranslationTranslation(
        "ground", "first", mass=2.0, stiffness=600.0, damping=0.5
    )
    roof = jv.TranslationTranslation(
        "first", "roof", mass=1.0, stiffness=300.0, damping=0.5
    )
    noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    law = noise.load(highest=60.0, duration=10.0, seed=1)
    load = jv.AppliedLoad([0.0, 1.0], law, "noise")
    stop = jv.Contact([0.0, 1.0], 0.05, jv.HertzContact(1e4))
    hit = jv.ImpactSystem(jv.assemble([first, roof]), contacts=(stop,), loads=(load,))
    laws = noise.loads(highest=60.0, duration=10.0, seeds=range(number))
    return lambda: jv.responses(hit, "noise", laws, 10.0)


CASES: dict[str, Callable] = {
    "chain of a million particles, exact motion": exact_chain,
    "chain of a million particles, 64 steps": long_chain,
    "64 masses, response at 65536 frequencies": frequency_response,
    "8 masses, natural frequencies of 4096 samples": frequencies,
    "tower with a stop, 4096 records of noise": responses,
}


def measure(name: str, repeats: int) -> dict:
    """Return the seconds and the results of one case."""
    run, seconds = CASES[name](), []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        found = jax.block_until_ready(run())
        seconds.append(time.perf_counter() - begin)
    if hasattr(found, "to_array"):  # a dataset
        found = found.to_array().values
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(found)]
    return {
        "device": jax.devices()[0].device_kind,
        "first call (s)": seconds[0],
        "s": min(seconds[1:]),
        "arrays": [each for each in arrays if each.dtype.kind in "fc"],
    }


def in_process(name: str, repeats: int, platforms: str) -> dict:
    """Return what `measure` returns in a process whose JAX has these platforms."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "found"
        command = [sys.executable, "-m", "experiments.benchmarks.gpu_families"]
        command += ["--case", name, "--repeats", str(repeats), "--output", str(out)]
        environment = os.environ | ({"JAX_PLATFORMS": platforms} if platforms else {})
        subprocess.run(command, env=environment, check=True)
        return pickle.loads(out.read_bytes())


def difference(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """Return the largest difference, relative to the largest number of an array."""
    largest = 0.0
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        assert (np.isnan(one) == np.isnan(other)).all()
        scale = np.nanmax(np.abs(other), initial=1e-300)
        largest = max(largest, float(np.nanmax(np.abs(one - other), initial=0.0) / scale))
    return largest


def main() -> None:
    """Measure each case and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--case", choices=CASES, help="of a process of its own")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.case:
        options.output.write_bytes(pickle.dumps(measure(options.case, options.repeats)))
        return
    try:
        devices = [device.identity for device in driver().devices]
    except DriverError as error:
        raise SystemExit(f"there is no GPU here: {error}") from None
    device = re.sub(r"[^A-Za-z0-9]+", "_", devices[0]).strip("_")
    named = f"gpu_families-{device}.json"
    output = options.output or Path(__file__).with_name(named)
    result: dict = {"machine": machine(), "GPUs": devices, "rows": []}
    for name in options.only:
        gpu, cpu = (in_process(name, options.repeats, each) for each in ("", "cpu"))
        row = {
            "case": name,
            "device": gpu["device"],
            "GPU, first call (s)": gpu["first call (s)"],
            "GPU (s)": gpu["s"],
            "CPU, first call (s)": cpu["first call (s)"],
            "CPU (s)": cpu["s"],
            "relative difference": difference(gpu["arrays"], cpu["arrays"]),
        }
        result["rows"].append(row)
        print(json.dumps(row), flush=True)
        output.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
