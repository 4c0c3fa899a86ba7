"""Many impacting motions at once: event-driven integration and adaptive time-stepping.

    python -m experiments.benchmarks.engines [--lanes 64 1024 8192] [--repeats 3]
                                             [--many 1000000]

The two-body system, rigid and soft, load 200 to 800 N at 5 to 8 rad/s, gap 0.05 m, 50
periods from rest in one call. Every engine runs in the same chunks on all cores; runs
alternate and the least time is reported; ratios are of CPU time. Errors are those of
the final state compared with `tests.independent` at 1e-12, on lanes where a
perturbation of 1e-9 of the initial state does not grow. Peers: a `vmap` of diffrax,
Tsit5 in numba (one lane after another) and in C++ (eight lanes in one register,
compiled here), both on all cores, heyoka.py with events on one core, and scipy's
`solve_ivp` (DOP853) in a loop over a few lanes. Missing peers are reported and skipped.
`--many` lanes run event-driven only, once, with their memory. Writes
`engines-<device>-<cores>.json`.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import diffrax
import numpy as np
import scipy.integrate

import jaxvib as jv
from experiments.machine import machine
from jaxvib.dynamics.flow import solve_system
from tests.independent import TwoBody, motion
from tests.systems_table import RIGID, SOFT

PERIODS = 50
BASE = jv.two_body_impact()
CHECKED = 24  # lanes whose errors are measured


def lanes(number: int):
    """Return contact stiffness, load amplitude and frequency of each lane.

    The first ones are the same whatever the number.
    """
    rng = np.random.default_rng(1)
    stiffness = np.where(np.arange(number) % 2, RIGID, SOFT)
    return stiffness, *rng.uniform((200, 5), (800, 8), (number, 2)).T


def varied(lane):
    """Return the system of a lane."""
    paths = ("contact.stiffness", "load.amplitude", "load.frequency")
    return jv.replace(BASE, dict(zip(paths, lane, strict=True)))


def by(engine: str, rtol: float):
    """Return the final state of a lane by one of jaxvib's engines."""

    def run(lane):
        system = varied(lane)
        span = PERIODS * system.period()
        rest = system.rest()
        return solve_system(system, rest, 0.0, span, rtol=rtol, engine=engine).state

    return run


def plain_diffrax(rtol: float):
    """Return the final state of a lane as anyone would ask diffrax for it."""

    def run(lane):
        system = varied(lane)
        equation = system.equation()
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, _: equation.vector_field(t, y)),
            diffrax.Tsit5(),
            0.0,
            PERIODS * system.period(),
            None,
            system.rest(),
            stepsize_controller=diffrax.PIDController(rtol, rtol * 1e-2),
            max_steps=1_000_000,
            adjoint=diffrax.ForwardMode(),
        ).ys[-1]

    return run


def mapped(function):
    """Return a run of a function of one lane over all of them, in order of their cost."""

    def run(values):
        return jv.map_samples(function, values, np.lexsort(values[1:]))

    return run


def compiled_lanes(rtol: float):
    """Return the C++ lanes, or nothing where no compiler is at hand."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    library = Path(tempfile.mkdtemp()) / "tsit5_lanes.so"
    source = Path(__file__).with_name("tsit5_lanes.cpp")
    flags = ["-O3", "-march=native", "-ffast-math", "-fopenmp-simd", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, source, "-lpthread"], check=True)
    function = ctypes.CDLL(str(library)).tsit5_lanes

    def run(values):
        order = np.lexsort(values[1:])
        columns = [np.ascontiguousarray(column[order]) for column in values]
        found = np.empty((len(order), 4))
        pointers = [
            array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            for array in (*columns, found)
        ]
        function(
            *pointers[:3], len(order), PERIODS, ctypes.c_double(rtol), pointers[3],
            os.cpu_count(),
        )  # fmt: skip
        states = np.empty_like(found)
        states[order] = found
        return states

    return run


def numba_lanes(rtol: float):
    """Return Tsit5 in numba, or nothing where numba is not installed."""
    if importlib.util.find_spec("numba") is None:
        return None
    from experiments.benchmarks.tsit5_numba import lanes_in_numba

    return lambda values: lanes_in_numba(*values, PERIODS, rtol)


def heyoka_lanes(rtol: float):
    """Return heyoka's Taylor steps with events, or nothing where it is not installed."""
    if importlib.util.find_spec("heyoka") is None:
        return None
    from experiments.benchmarks.taylor_heyoka import lanes_in_heyoka

    return lambda values: lanes_in_heyoka(*values, PERIODS, rtol)


PLAIN = "vmapped diffrax Tsit5, rtol 1e-9"
ENGINES = {
    "event, rtol 1e-5": mapped(by("event", 1e-5)),
    "event, rtol 1e-6": mapped(by("event", 1e-6)),
    "event, rtol 1e-9": mapped(by("event", 1e-9)),
    "jaxvib's diffrax path, rtol 1e-8": mapped(by("diffrax", 1e-8)),
    PLAIN: mapped(plain_diffrax(1e-9)),
    "numba Tsit5, rtol 1e-9": numba_lanes(1e-9),
    "C++ Tsit5 in lanes, rtol 1e-9": compiled_lanes(1e-9),
    "heyoka with events, tol 1e-7": heyoka_lanes(1e-7),
    "heyoka with events, tol 1e-9": heyoka_lanes(1e-9),
}
MISSING = [name for name, run in ENGINES.items() if run is None]
ENGINES = {name: run for name, run in ENGINES.items() if run is not None}


def timed(function):
    """Return a result, and the wall and CPU seconds that it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def references(values, number: int):
    """Return which of the first lanes are not chaotic, and where these end."""
    kept, ends = [], []
    for lane in range(min(number, len(values[0]))):
        system = two_body(values, lane)
        span = PERIODS * system.period
        end, moved = (
            motion(system, system.rest + shift, 0, span).state for shift in (0.0, 1e-9)
        )
        if np.abs(moved - end).max() < 1e-8:
            kept.append(lane)
            ends.append(end)
    return kept, np.array(ends)


def two_body(values, lane: int) -> TwoBody:
    """Return a lane's system as the independent integration knows it."""
    stiffness, amplitude, frequency = (float(column[lane]) for column in values)
    return TwoBody(
        contact_stiffness=stiffness, load_amplitude=amplitude, load_frequency=frequency
    )


def scipy_loop(values, number: int) -> float:
    """Return the seconds of processor time that scipy takes per trajectory."""
    begin = time.process_time()
    for lane in range(number):
        system = two_body(values, lane)
        scipy.integrate.solve_ivp(
            lambda t, s, system=system: system.field(
                t, s, system.stiffnesses * np.maximum(system.penetrations(s), 0) ** 1.5
            ),
            (0, PERIODS * system.period),
            system.rest,
            method="DOP853",
            rtol=1e-9,
            atol=1e-11,
        )
    return (time.process_time() - begin) / number


def measure(number: int, repeats: int, kept, ends) -> list[dict]:
    """Return the time per trajectory-period and the errors of every engine."""
    values = lanes(number)
    table = {}
    for name, engine in ENGINES.items():
        states, first, _ = timed(lambda run=engine: run(values))
        table[name] = {
            "engine": name,
            "lanes": number,
            "first call, s": first,
            "wall, us": np.inf,
            "cpu, us": np.inf,
            **errors(states, kept, ends),
        }
    for _ in range(repeats):
        for name, engine in ENGINES.items():
            _, wall, cpu = timed(lambda run=engine: run(values))
            for key, seconds in (("wall, us", wall), ("cpu, us", cpu)):
                each = seconds * 1e6 / number / PERIODS
                table[name][key] = min(table[name][key], each)
    return list(table.values())


def errors(states, kept, ends) -> dict:
    """Return the errors of final states on the lanes that are checked."""
    error = np.abs(states[kept] - ends).max(1) / np.abs(ends).max(1)
    return {
        "error, median": float(np.median(error)),
        "error, largest": float(error.max()),
        "lanes checked": len(kept),
    }


def measure_many(number: int, kept, ends) -> list[dict]:
    """Return the time and the memory of one run of very many lanes, event to event."""
    values, rows = lanes(number), []
    for name in (name for name in ENGINES if name.startswith("event")):
        before = peak_memory()
        states, wall, cpu = timed(lambda name=name: ENGINES[name](values))
        row = {
            "engine": name,
            "lanes": number,
            "wall, s": wall,
            "wall, us": wall * 1e6 / number / PERIODS,
            "cpu, us": cpu * 1e6 / number / PERIODS,
            **errors(states, kept, ends),
            "lanes that failed": int(np.sum(~np.isfinite(states).all(1))),
            "peak memory before, MB": before,
            "peak memory, MB": peak_memory(),
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def peak_memory() -> float:
    """Return the greatest memory that this process has held, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--lanes", type=int, nargs="+", default=[64, 1024, 8192])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--many", type=int, default=1_000_000)
    chosen = arguments.parse_args()
    about = machine()
    for name in MISSING:
        print(f"left out, as it is not installed: {name}")
    rows = []
    first = lanes(min(chosen.lanes))
    kept, ends = references(first, CHECKED)
    loop = scipy_loop(first, 4) * 1e6 / PERIODS
    for number in chosen.lanes:
        found = measure(number, chosen.repeats, kept, ends)
        plain = next(row["cpu, us"] for row in found if row["engine"] == PLAIN)
        for row in found:
            row["scipy, us"] = loop
            row["times faster than scipy"] = loop / row["cpu, us"]
            row["times faster than vmapped diffrax"] = plain / row["cpu, us"]
            print(
                {key: f"{v:.3g}" if isinstance(v, float) else v for key, v in row.items()}
            )
        rows += found
    many = measure_many(chosen.many, kept, ends) if chosen.many else []
    about["load at the end"] = os.getloadavg()[0]
    name = f"engines-{about['device']}-{os.cpu_count()}.json"
    file = Path(__file__).with_name(name)
    file.write_text(
        json.dumps({"machine": about, "rows": rows, "many": many}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
