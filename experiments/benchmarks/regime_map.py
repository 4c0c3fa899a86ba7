"""The 64 x 64 regime map, compared with a loop over scipy's `solve_ivp`.

Both do the same work on the same samples, the loop on a random choice of them. Runs
alternate and are repeated, the least time is reported, compilation separately. The
accuracy of both is measured by an independent integration at a relative tolerance of
1e-12, on the same choice of samples.

    python -m experiments.benchmarks.regime_map [--size 64] [--choice 48] [--repeats 3]

Writes `experiments/benchmarks/regime_map-<device>-<cores>.json`. With `--engines` the
map is computed instead by adaptive steps only, by the automatic choice, which uses
events for the transients, and by events only, all in one run; this writes
`regime_map_engines-<device>-<cores>.json`. With `--outside-kernels` it writes the
processor time that maps spend outside machine code, in all threads and in the main one:
the README's in three sizes, basins, a diagram and cycles, to
`outside_kernels-<device>-<cores>.json`. XLA's programs, those of cycles, call kernels too:
a part of the time outside that is known by the clock only, on a machine at rest.
"""

import argparse
import json
import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np

import jaxvib as jv
from experiments.benchmarks.plain_loop import PlainLoop, Regime, Tolerances
from experiments.machine import machine
from jaxvib.kernels.cpu import machine_code
from jaxvib.orbits import SettlingSettings, regimes
from tests.independent import TwoBody, periodic_orbit

TOLERANCES = Tolerances()
ENGINES = ("diffrax", "auto", "event")
SIZES = (64, 96, 256)  # of the maps of `--outside-kernels`
SAME = 1e-6  # orbits that are farther apart, relatively, are two


def samples(size: int) -> dict[str, np.ndarray]:
    """Return the load amplitudes and frequencies of the map, one entry a sample."""
    amplitude, frequency = np.meshgrid(
        np.linspace(100.0, 1000.0, size), np.linspace(5.0, 8.0, size), indexing="ij"
    )
    return {"load.amplitude": amplitude.ravel(), "load.frequency": frequency.ravel()}


def errors(stiffness, values, states, periods, multipliers, peaks) -> dict:
    """Return the errors of orbits against the independent integration."""
    state, multiplier, peak = [], [], []
    for i, count in enumerate(periods):
        if count < 1:
            continue
        system = TwoBody(
            contact_stiffness=stiffness,
            load_amplitude=values["load.amplitude"][i],
            load_frequency=values["load.frequency"][i],
        )
        true = periodic_orbit(system, states[i], int(count))
        state.append(np.abs(states[i] - true.state).max() / np.abs(true.state).max())
        distance = np.abs(np.asarray(multipliers[i])[:, None] - true.multipliers)
        multiplier.append(distance.min(axis=0).max())
        peak.append(abs(peaks[i] - true.peak_force) / max(true.peak_force, 1.0))
    return {
        name: {"median": float(np.median(error)), "99 %": float(np.quantile(error, 0.99)),
               "orbits": len(error)}
        for name, error in (("state", state), ("multiplier", multiplier), ("peak", peak))
    }  # fmt: skip


def agreement(orbits, others) -> dict:
    """Return on how many samples two maps agree, and how far their orbits are apart."""
    results, periods = (
        np.asarray(orbits.result) == others.result,
        np.asarray(orbits.periods) == others.periods,
    )
    settled = results & periods & (np.asarray(orbits.result) == 0)
    apart = np.abs(np.asarray(orbits.state) - others.state).max(1)
    apart = (apart / np.abs(np.asarray(others.state)).max(1))[settled]
    same = apart < SAME
    return {
        "same result": int(results.sum()),
        "same result and periods": int((results & periods).sum()),
        "periodic in both": int(settled.sum()),
        "of these the same orbit": int(same.sum()),
        "its state apart, largest": float(apart[same].max()),
        "its contacts differ": int(
            (np.asarray(orbits.contacts) != others.contacts)[settled][same].sum()
        ),
    }


def compare_engines(size: int, repeats: int) -> None:
    """Make the map by each engine in turn, compare, write the result."""
    system, whole, about = jv.two_body_impact(), samples(size), machine()
    rows: dict[str, dict] = {engine: {"seconds": []} for engine in ENGINES}
    maps = {}
    for _ in range(repeats + 1):
        for engine, row in rows.items():
            started = time.perf_counter()
            maps[engine] = regimes(system, whole, settings=SettlingSettings(engine=engine))
            row["seconds"].append(time.perf_counter() - started)
            print(engine, row["seconds"], flush=True)
    before = min(rows["diffrax"]["seconds"][1:])
    for engine, row in rows.items():
        row["first call, s"], *row["seconds"] = row["seconds"]
        row["times faster than by steps"] = before / min(row["seconds"])
        row["beside that by steps"] = agreement(maps[engine], maps["diffrax"])
    about["load at the end"] = os.getloadavg()[0]
    file = f"regime_map_engines-{about['device']}-{about['cores']}.json"
    whole = {"machine": about, "samples": size**2, "engines": rows}
    Path(__file__).with_name(file).write_text(json.dumps(whole, indent=1) + "\n")
    print(json.dumps(whole, indent=1))


class _TimedCode(machine_code._Code):
    """Machine code with the processor time of its calls, by thread, s.

    `programs`: all of them, whose calls by XLA have run times of their own, by the clock.
    """

    calls: ClassVar[list[tuple[int, float]]] = []
    programs: ClassVar[list["_TimedCode"]] = []

    def __init__(self, code: bytes):
        super().__init__(code)
        self.programs.append(self)
        inner = self.run

        def run(*arguments):
            begun = time.thread_time()
            inner(*arguments)
            self.calls.append((threading.get_ident(), time.thread_time() - begun))

        self.run = run


def _maps() -> dict[str, tuple[int, Callable]]:
    """Return the number of samples of maps, and functions that compute them."""
    from experiments.benchmarks.gpu_studies import diagram, double_well

    bodies = jv.two_body_impact()
    pendulum = jv.autonomous_system(
        lambda x, p: [x[1], (p["push"] - x[0] ** 2) * x[1] - x[0]],
        parameters={"push": 1.0},
        dimension=2,
    )

    def cycles(number):
        push = {"push": np.linspace(0.5, 2.0, number)}
        return lambda: regimes(pendulum, push, period=6.5)

    def of_loads(size):
        return lambda: regimes(bodies, samples(size))

    return {
        **{f"regimes, {n} x {n}": (n * n, of_loads(n)) for n in SIZES},
        "basins, 256 x 256": (65536, double_well(256)),
        "bifurcation diagram, 4096 values": (4096, diagram(4096)),
        "cycles of 4096 oscillators": (4096, cycles(4096)),
    }


def outside_kernels(repeats: int) -> None:
    """Write the processor time of maps outside machine code, us a sample."""
    machine_code._Code = _TimedCode  # before any program is compiled
    before = machine()
    rows = [row for name, each in _maps().items()
            for row in _outside_kernels(name, *each, repeats)]  # fmt: skip
    name = f"outside_kernels-{before['device']}-{before['cores']}.json"
    found = {"machine": before, "maps": rows}
    Path(__file__).with_name(name).write_text(json.dumps(found, indent=1) + "\n")


def _outside_kernels(name: str, number: int, run: Callable, repeats: int) -> list[dict]:
    rows = []
    run()  # which compiles
    for _ in range(repeats):
        _TimedCode.calls.clear()
        by_xla = sum(each.seconds() for each in _TimedCode.programs)
        begun = time.process_time(), time.thread_time(), time.perf_counter()
        run()
        now = time.process_time(), time.thread_time(), time.perf_counter()
        every, main, wall = np.subtract(now, begun)
        here = threading.get_ident()
        by_xla = sum(each.seconds() for each in _TimedCode.programs) - by_xla
        kernels = sum(spent for _, spent in _TimedCode.calls)
        of_main = sum(spent for thread, spent in _TimedCode.calls if thread == here)
        rows.append({
            "map": name,
            "samples": number,
            "outside kernels, us a sample": (every - kernels) / number * 1e6,
            "of these in the main thread": (main - of_main) / number * 1e6,
            "in kernels, us a sample": kernels / number * 1e6,
            "in XLA's calls of kernels, us a sample": by_xla / number * 1e6,
            "calls of machine code": len(_TimedCode.calls),
            "core-seconds": every,
            "wall, s": wall,
        })  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Run both, compare, write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--choice", type=int, default=48)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--engines", action="store_true")
    parser.add_argument("--outside-kernels", action="store_true")
    options = parser.parse_args()
    if options.outside_kernels:
        outside_kernels(options.repeats)
        return
    if options.engines:
        compare_engines(options.size, options.repeats)
        return
    system = jv.two_body_impact()
    stiffness = float(system.contact.stiffness)
    whole = samples(options.size)
    number = options.size**2
    chosen = np.sort(np.random.default_rng(0).choice(number, options.choice, replace=False))
    values = {path: value[chosen] for path, value in whole.items()}
    before = machine()

    def ours():
        started = time.perf_counter()
        found = regimes(system, whole)
        return time.perf_counter() - started, found

    def plain():
        started = time.perf_counter()
        found = [
            PlainLoop(stiffness, amplitude, frequency).regime(TOLERANCES)
            for amplitude, frequency in zip(*values.values(), strict=True)
        ]
        return time.perf_counter() - started, found

    first, orbits = ours()
    print(f"first call, with compilation: {first:.1f} s", flush=True)
    ours_seconds, plain_seconds = [], []
    for _ in range(options.repeats):
        seconds, orbits = ours()
        ours_seconds.append(seconds)
        seconds, loop = plain()
        plain_seconds.append(seconds)
        print(f"jaxvib {ours_seconds[-1]:.1f} s for {number} samples, plain loop "
              f"{plain_seconds[-1]:.1f} s for {options.choice}", flush=True)  # fmt: skip

    settled = np.where(np.asarray(orbits.result) == 0, orbits.periods, 0)[chosen]
    per_sample = min(plain_seconds) / options.choice
    rate = number / min(ours_seconds)
    result = {
        "machine": before,
        "samples": number,
        "jaxvib": {
            "first call, s": first,
            "seconds": ours_seconds,
            "samples per second": rate,
            "compilation, s": first - min(ours_seconds),
            "errors": errors(
                stiffness, values, np.asarray(orbits.state)[chosen], settled,
                np.asarray(orbits.floquet_multipliers)[chosen],
                np.asarray(orbits.max_contact_force)[chosen],
            ),
        },
        "plain loop": {
            "samples": options.choice,
            "seconds": plain_seconds,
            "samples per second": 1 / per_sample,
            "tolerances": vars(TOLERANCES),
            "errors": errors(stiffness, values, *_columns(loop)),
        },
        "ratio": rate * per_sample,
        "same periods in both": int(sum(
            count == one.periods for count, one in zip(settled, loop, strict=True))),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip
    name = f"regime_map-{before['device']}-{before['cores']}.json"
    file = Path(__file__).with_name(name)
    file.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    print(f"{file}: {result['ratio']:.0f} times the plain loop")


def _columns(loop: list[Regime]):
    return (
        [one.state for one in loop],
        [one.periods for one in loop],
        [one.multipliers for one in loop],
        [one.peak_force for one in loop],
    )


if __name__ == "__main__":
    main()
