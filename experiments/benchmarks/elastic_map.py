"""Regimes of a cantilever at a rigid stop: processor time a sample, and accuracy.

    python -m experiments.benchmarks.elastic_map [--side 16] [--modes 20] [--checked 4]

The map of the study `cantilever_stop` over load frequency and gap, here on a square grid
of `side`^2 samples spread evenly over it. The first call, of two samples with different
motions, compiles; the second is that of all samples. Processor seconds of the whole
process, and those that a map of 64 x 64 samples would take. `verdicts`: the number of
samples for each reason, and of the periodic ones by period. `checked`: periodic motions
with contacts, integrated over their period from the orbit's state by scipy's DOP853 at
1e-11: the largest distance of end and start, displacements times their modes' frequency,
relative to the largest. Writes `elastic_map-<device>-<cores>.json`.
"""

import argparse
import collections
import json
import time
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments.machine import machine
from jaxvib.ensemble import Reason
from jaxvib.studies.run.builtin_studies import find
from jaxvib.studies.run.system_file import read_system

FREQUENCY, GAP = "loads.shaker.law.frequency", "contacts.stop.gap"
FREQUENCIES, GAPS = (16.0, 40.0), (0.004, 0.02)  # rad/s and m, of the study's sweep
# One periodic and one chaotic motion, which need all programs.
FIRST = {FREQUENCY: np.array([24.0, 32.0]), GAP: np.array([0.02, 0.0093])}
WHOLE = 64**2


def spread(side: int) -> dict[str, np.ndarray]:
    """Return `side`^2 samples of the map."""
    both = np.linspace(*FREQUENCIES, side), np.linspace(*GAPS, side)
    frequency, gap = np.meshgrid(*both, indexing="ij")
    return {FREQUENCY: frequency.ravel(), GAP: gap.ravel()}


def seconds(function):
    """Return a result, and the processor seconds of this process."""
    begun = time.process_time()
    return function(), time.process_time() - begun


def miss(system, state: np.ndarray, periods: int) -> float:
    """Return how far DOP853 ends from a state after some periods, relatively."""
    structure, contact, load = system.linear, system.contacts[0], system.loads[0]
    squares = np.asarray(structure.frequencies) ** 2
    losses = 2 * float(structure.damping_ratio) * np.sqrt(squares)
    tip, gap = np.asarray(contact.direction), float(contact.gap)
    stiffness = float(contact.law.stiffness)
    place, amplitude = np.asarray(load.direction), float(load.law.amplitude)
    frequency = float(load.law.frequency)
    half = tip.size

    def rates(time, both):
        x, v = both[:half], both[half:]
        push = place * (amplitude * np.cos(frequency * time))
        push -= tip * (stiffness * max(tip @ x - gap, 0.0))
        return np.concatenate([v, push - squares * x - losses * v])

    span = (0.0, periods * 2 * np.pi / frequency)
    end = solve_ivp(rates, span, state, method="DOP853", rtol=1e-11, atol=1e-16).y[:, -1]
    units = np.concatenate([np.sqrt(squares), np.ones(half)])
    return float(np.abs(units * (end - state)).max() / np.abs(units * state).max())


def checks(system, samples: dict, orbits, number: int) -> list[dict]:
    """Return the figures of periodic motions with contacts, evenly chosen."""
    touching = np.flatnonzero((orbits.result == 0) & (orbits.contacts > 0))
    touching = touching[np.argsort(orbits.periods[touching], kind="stable")]
    some = touching[np.linspace(0, touching.size / 2, number, endpoint=False).astype(int)]
    found = []
    for place in some:
        values = {path: float(column[place]) for path, column in samples.items()}
        periods = int(orbits.periods[place])
        there = jv.replace(system, values)
        row = values | {
            "periods": periods,
            "contacts": int(orbits.contacts[place]),
            "state_error": float(orbits.state_error[place]),
            "misses": miss(there, np.asarray(orbits.state[place]), periods),
        }
        print(json.dumps(row), flush=True)
        found.append(row)
    return found


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--modes", type=int, default=20)
    parser.add_argument("--checked", type=int, default=4)
    options = parser.parse_args()
    words = [f"system.linear.modes={options.modes}"]
    system = read_system(find("cantilever_stop"), words).system
    about, samples = machine(), spread(options.side)
    _, first = seconds(lambda: jv.orbits.regimes(system, FIRST))
    print(f"first call {first:.1f} s", flush=True)
    orbits, cost = seconds(lambda: jv.orbits.regimes(system, samples))
    number = options.side**2
    names = collections.Counter(Reason(code).name for code in orbits.result.tolist())
    periods = collections.Counter(orbits.periods[orbits.result == 0].tolist())
    touching = int(np.sum((orbits.result != 0) | (orbits.contacts > 0)))
    found = {
        "machine": about,
        "modes": options.modes,
        "samples": number,
        "first call, s": first,
        "processor seconds": cost,
        "a sample": cost / number,
        "a map of 4096": cost / number * WHOLE,
        "with contacts": touching,
        "verdicts": dict(names),
        "periods": {str(key): periods[key] for key in sorted(periods)},
    }
    print(json.dumps(found), flush=True)
    found["checked"] = checks(system, samples, orbits, options.checked)
    name = f"elastic_map-{about['device']}-{about['cores']}.json"
    Path(__file__).with_name(name).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
