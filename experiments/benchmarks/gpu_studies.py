"""Maps of thousands of samples on a GPU: bits and seconds beside the CPU. Needs a GPU.

    JAX_PLATFORMS=cpu python -m experiments.benchmarks.gpu_studies [--only NAME ...]

Each map is computed by the public function, on the CPU's cores and then with its kernels
launched by NVIDIA's driver: arrays of the result that differ in a bit (none should, all
NaN being one), seconds of the first call and the least of the repeats. Nothing is
checked on first use here (`JAXVIB_GPU=kernels`). The first map is the README's. Without
`JAX_PLATFORMS` and with `pip install '.[cuda13]'` XLA's parts of the maps run on the GPU
too, with other last digits. Writes `gpu_studies-<device>.json`.
"""

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from experiments.benchmarks.kernels import loads
from experiments.benchmarks.regime_map import samples
from experiments.machine import machine
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.motion import Want
from jaxvib.kernels.gpu.device_choice import VARIABLE, computed_on
from jaxvib.kernels.gpu.driver import DriverError, driver
from tests.modal_cantilever import PERIOD, modal_cantilever

bodies = jv.two_body_impact()


def motions(number: int, periods: float, engine: str = "event"):
    """Return the final states of motions from rest."""

    def end(amplitude, frequency):
        lane = jv.replace(
            bodies, {"load.amplitude": amplitude, "load.frequency": frequency}
        )
        return jv.flow(lane, lane.rest(), 0.0, periods * lane.period(), engine=engine)

    run, lanes = jv.kernel(end), loads(number)
    return lambda: run.map(*lanes)


def double_well(size: int):
    """Return the basins of the double well, by diffrax in a kernel."""
    system = jv.forced_system(
        lambda t, x, p: jnp.stack(
            [x[1], x[0] - x[0] ** 3 - 0.15 * x[1] + p["a"] * jnp.cos(p["w"] * t)]
        ),
        parameters={"a": 0.1, "w": 1.0},
        period=lambda p: 2 * jnp.pi / p["w"],
        dimension=2,
        largest_step=0.25,
    )
    speed, place = np.meshgrid(
        np.linspace(-1.5, 1.5, size), np.linspace(-2.0, 2.0, size), indexing="ij"
    )
    starts = np.stack([place.ravel(), speed.ravel()], axis=1)
    return lambda: jv.orbits.basins(system, starts)


def diagram(number: int):
    """Return the bifurcation diagram of the two bodies over the load's amplitude."""
    values = np.linspace(100.0, 1000.0, number)
    return lambda: jv.orbits.bifurcation_diagram(bodies, "load.amplitude", values)


def cantilevers(number: int, periods: float = 4.0, modes: int = 20):
    """Return the final states of cantilevers of 20 modes that hit a stop."""
    form = modal_form(modal_cantilever(modes, jv.HertzContact(5e3)))

    def end(state):
        return modal_flow(form, state, 0.0, periods * PERIOD, Want(1e-9)).state

    starts = np.zeros((number, 2 * modes))
    starts[:, 0] = 0.0095
    starts[:, modes] = 0.006 * (1 + 1e-3 * np.linspace(-1, 1, number))
    run = jv.kernel(end)
    return lambda: run.map(starts)


def regimes(size: int, contact=None):
    """Return the regime map of the two bodies."""
    system = jv.two_body_impact(contact=contact)
    return lambda: jv.orbits.regimes(system, samples(size))


MAPS: dict[str, Callable] = {
    "regimes, 64 x 64": lambda: regimes(64),
    "regimes, 256 x 256": lambda: regimes(256),
    "regimes with hard stops, 128 x 128": lambda: regimes(128, jv.RestitutionContact(0.7)),
    "basins of the double well, 256 x 256": lambda: double_well(256),
    "bifurcation diagram, 4096 values": lambda: diagram(4096),
    "cantilevers of 20 modes over 4 periods, 8192": lambda: cantilevers(8192),
    "motions over 50 periods, 65536": lambda: motions(65536, 50.0),
    "motions over 50 periods, 262144": lambda: motions(1 << 18, 50.0),
}


def different(found, wanted) -> list[str]:
    """Return the arrays of a result that differ in a bit, and in how many numbers."""
    names = []
    pairs = zip(
        jax.tree_util.tree_leaves_with_path(eqx.filter(found, eqx.is_array_like)),
        jax.tree.leaves(eqx.filter(wanted, eqx.is_array_like)),
        strict=True,
    )
    for (path, one), other in pairs:
        one, other = (np.ascontiguousarray(each) for each in (one, other))
        name = jax.tree_util.keystr(path)
        if one.shape != other.shape:
            names.append(f"{name}: shapes {one.shape} and {other.shape}")
            continue
        wrong = one.view(np.uint8) != other.view(np.uint8)
        wrong = wrong.reshape(*one.shape, -1).any(axis=-1)
        if one.dtype.kind in "fc":
            wrong &= ~(np.isnan(one) & np.isnan(other))
        if wrong.any():
            names.append(f"{name}: {wrong.sum()} of {wrong.size}")
    return names


def timed(function, repeats: int):
    """Return the last result, the seconds of the first call and the least of others."""
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        result = jax.block_until_ready(function())
        seconds.append(time.perf_counter() - begin)
    return result, seconds[0], min(seconds[1:])


def measure(name: str, repeats: int) -> dict:
    """Return the figures of one map."""
    run = MAPS[name]()
    os.environ[VARIABLE] = "cpu"
    wanted, first, best = timed(run, repeats)
    row = {"map": name, "CPU, first call (s)": first, "CPU (s)": best}
    os.environ[VARIABLE] = "kernels"
    found, first, best = timed(run, repeats)
    row |= {"GPU, first call (s)": first, "GPU (s)": best, "computed on": computed_on()}
    row["other bits"] = different(found, wanted)
    return row


def main() -> None:
    """Measure each map and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=MAPS, default=list(MAPS))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    try:
        devices = [device.identity for device in driver().devices]
    except DriverError as error:
        raise SystemExit(f"there is no GPU here: {error}") from None
    device = re.sub(r"[^A-Za-z0-9]+", "_", devices[0]).strip("_")
    named = f"gpu_studies-{device}.json"
    output = options.output or Path(__file__).with_name(named)
    result: dict = {"machine": machine(), "GPUs": devices, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name in options.only:
            result["rows"].append(measure(name, options.repeats))
            print(json.dumps(result["rows"][-1]), flush=True)
            output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"written: {output}")


if __name__ == "__main__":
    main()
