"""The same motions as one kernel and inside XLA programs: first call, rate, difference.

    python -m experiments.benchmarks.kernels [--lanes 8192] [--only NAME ...]

Each program is one lane over one load period: the two bodies, event-driven (final
state; observables; with the monodromy matrix), between hard stops over three periods,
time-stepping, by diffrax, and Duffing's oscillator by diffrax. As one kernel it runs in
`Kernel.map`; "in XLA" in `map_samples` of the function, where only the motion is a
kernel and the rest XLA; both in this process, in order of cost, on all cores. The first
call is the CPU time of tracing, compilation and 64 lanes without cache; "second
process" is that of a new process that loads the cached machine code. Rates are
microseconds of CPU time per lane and period, the least of the repeats; "alone" is one
lane in one call. Errors are those of final states, for two bodies with Hertz's law,
relative to the largest displacement and speed, compared with `tests.independent` at
1e-13. Writes `kernels-<device>-<cores>.json`.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from experiments.machine import machine
from jaxvib.dynamics.flow import observe, observe_with_monodromy, solve_system
from tests.independent import TwoBody, motion

RTOL = 1e-8
JUDGED = 24  # lanes whose error is told


def two_bodies(what, contact=None, periods=1.0):
    """Return the lane (amplitude, frequency) -> `what` of the two bodies from rest."""
    system = jv.two_body_impact(contact=contact)

    def run(amplitude, frequency):
        values = {"load.amplitude": amplitude, "load.frequency": frequency}
        lane = jv.replace(system, values)
        return what(lane, lane.rest(), 0.0, periods * lane.period())

    return run


def ended(engine):
    """Return the function of a system that gives the state in the end."""
    return lambda *motion: solve_system(*motion, rtol=RTOL, engine=engine).state


def observables(*motion):
    """Return the state in the end, the contacts and the deepest penetration."""
    state, seen, _ = observe(*motion, rtol=RTOL, grazing=1e-9, engine="event")
    return state, seen.onsets, seen.deepest


def with_monodromy(*motion):
    """Return the same with the monodromy matrix."""
    seen = observe_with_monodromy(*motion, rtol=RTOL, grazing=1e-9, engine="event")
    return seen.state, seen.monodromy, seen.observables.onsets


def duffing(amplitude, frequency):
    """Return the end of a period of Duffing's oscillator, by diffrax."""
    system = jv.forced_system(
        lambda t, x, p: jnp.stack(
            [x[1], -0.3 * x[1] + x[0] - x[0] ** 3 + p["a"] * jnp.cos(p["w"] * t)]
        ),
        parameters={"a": 0.37, "w": 1.2},
        period=lambda p: 2 * jnp.pi / p["w"],
        dimension=2,
        largest_step=0.25,  # or the field is looked at 512 times, each written down
    )
    lane = jv.replace(system, {"a": amplitude * 1e-3, "w": frequency * 0.2})
    return ended("diffrax")(lane, jnp.array([1.0, 0.0]), 0.0, lane.period())


PROGRAMS = {
    "events": (two_bodies(ended("event")), 1),
    "events, watched": (two_bodies(observables), 1),
    "events, watched, monodromy": (two_bodies(with_monodromy), 1),
    "hard stops": (two_bodies(ended("event"), jv.RestitutionContact(0.7), 3.0), 3),
    "diffrax": (two_bodies(ended("diffrax")), 1),
    "Duffing by diffrax": (duffing, 1),
}


def loads(number: int):
    """Return amplitudes (N) and frequencies (rad/s), neighbours alike."""
    rng = np.random.default_rng(0)
    amplitude, frequency = rng.uniform(200, 800, number), rng.uniform(5, 8, number)
    order = np.lexsort((amplitude, frequency))
    return amplitude[order], frequency[order]


def timed(function, *arguments):
    """Return a result, and the processor seconds that it took."""
    begin = time.process_time()
    result = jax.block_until_ready(function(*arguments))
    return result, time.process_time() - begin


def measure(name: str, number: int, repeats: int) -> dict:
    """Return the figures of one program by both compilers."""
    function, periods = PROGRAMS[name]
    lanes = loads(number)
    few = tuple(values[:64] for values in lanes)

    def inside_xla(lanes):
        return jv.map_samples(mapped, lanes)

    def mapped(lane):
        return function(*lane)

    compiled = jv.kernel(function)
    _, first = timed(lambda: compiled.map(*few))
    _, first_inside_xla = timed(inside_xla, few)
    inside_xla(lanes)  # another width may be another compilation
    ours, theirs = [], []
    for _ in range(repeats):
        found, seconds = timed(lambda: compiled.map(*lanes))
        ours.append(seconds)
        wanted, seconds = timed(inside_xla, lanes)
        theirs.append(seconds)
    each, one = 1e6 / number / periods, tuple(values[:1] for values in lanes)
    alone = jax.jit(jax.vmap(function))
    jax.block_until_ready(alone(*one))
    found, wanted = np.asarray(jax.tree.leaves(found)[0]), jax.tree.leaves(wanted)[0]
    apart = np.abs(found - wanted).max(axis=1)
    return {
        "program": name,
        "first call, kernel (s)": first,
        "first call, in XLA (s)": first_inside_xla,
        "second process, kernel (s)": second_process(name),
        "kernel (us)": min(ours) * each,
        "in XLA (us)": min(theirs) * each,
        "kernel, alone (us)": repeated(lambda: compiled.map(*one, threads=1)) / periods,
        "in XLA, alone (us)": repeated(lambda: alone(*one)) / periods,
        "errors, kernel (median, largest)": errors(name, found),
        "errors, in XLA (median, largest)": errors(name, wanted),
        "median difference": float(np.median(apart)),
        "largest difference": float(apart.max()),
    }


def repeated(call) -> float:
    """Return the processor microseconds of a call among others like it, the least."""
    calls = 200
    return min(
        timed(lambda: [jax.block_until_ready(call()) for _ in range(calls)])[1]
        for _ in range(3)
    ) * (1e6 / calls)


def errors(name: str, states) -> list[float] | None:
    """Return the median and largest error of some of a program's states, if known."""
    if name in ("hard stops", "Duffing by diffrax"):
        return None
    places = np.linspace(0, len(states) - 1, JUDGED).astype(int)
    exact = np.stack([reference(*pair) for pair in np.stack(loads(len(states)), 1)[places]])
    sizes = np.repeat([np.abs(exact[:, :2]).max(), np.abs(exact[:, 2:]).max()], 2)
    apart = (np.abs(np.asarray(states)[places] - exact) / sizes).max(axis=1)
    return [float(np.median(apart)), float(apart.max())]


@functools.cache
def reference(amplitude: float, frequency: float):
    """Return the state after a period from rest, of the independent integration."""
    ours = jv.two_body_impact()
    system = TwoBody(
        contact_stiffness=float(ours.contact.stiffness),
        load_amplitude=float(amplitude),
        load_frequency=float(frequency),
    )
    return motion(
        system, np.asarray(ours.rest()), 0.0, 2 * np.pi / frequency, rtol=1e-13
    ).state


def second_process(name: str) -> float:
    """Return the seconds of a first call in a process that finds the machine code."""
    command = [sys.executable, "-m", __spec__.name, "--call", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Measure each program and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lanes", type=int, default=8192)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--call", choices=PROGRAMS, help="time one first call")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.call:
        function, _ = PROGRAMS[options.call]
        print(timed(lambda: jv.kernel(function).map(*loads(64)))[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # nothing is cached
        rows = []
        for name in options.only:
            rows.append(measure(name, options.lanes, options.repeats))
            print(json.dumps(rows[-1]), flush=True)
    result = {"machine": machine(), "lanes": options.lanes, "rows": rows}
    device = f"{jax.devices()[0].platform}-{os.cpu_count()}"
    output = options.output or Path(__file__).with_name(f"kernels-{device}.json")
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
