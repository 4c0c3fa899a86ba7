"""Nonlinear modes of a cantilever with a stop at its tip, by the number of its modes.

    python -m experiments.benchmarks.nonlinear_modes [--modes 10 20 40 80 320]

The unit cantilever of `benchmarks.elastic` without damping and load, its first mode from
below the energy of touching, where it is linear, to 1.3 times that: seconds of
`jv.nonlinear_modes`, its points, and the frequency at the end with its error bar.
Beside it for the motion at the end: `balance`, harmonic balance of the force at the stop
with all modes, begun at the answer, with as many harmonics as bring it within 1e-11 of the
frequency (the least difference if none do), and, up to `--others` modes, `scipy`: how far
DOP853 at 1e-12 returns from, and its seconds for that one period. `gradient`: of the
frequency at a fixed energy by the stop's stiffness and gap, for the modes of the first
row, beside central differences of it. Processor seconds of one process, LAPACK with one
thread; `first_s` includes compilation. Writes `nonlinear_modes-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments.machine import machine
from jaxvib.ensemble.blas import one_blas_thread
from tests.modal_cantilever import GAP, cantilever_frequencies, free_cantilever

STIFFNESS, REACH = 50.0, 1.3  # N/m^1.5; the energy, of that of touching
TOUCHING = (cantilever_frequencies(1)[0] * GAP / 2) ** 2 / 2  # J, of the first mode
STEPS = jv.branches.ContinuationSettings(first_step=0.2, largest_step=0.2)
HARMONICS, CLOSE = (25, 50, 100, 200, 400, 800), 1e-11


def cosine_matrix(harmonics: int) -> np.ndarray:
    """Return cosines at 8 points of a half period per harmonic, (points, harmonics + 1)."""
    points = (np.arange(8 * harmonics) + 0.5) / (8 * harmonics)
    return np.cos(np.outer(np.pi * points, np.arange(harmonics + 1)))


def projected(cosines: np.ndarray) -> np.ndarray:
    """Return the matrix from values at these points to their cosine series."""
    project = 2 * cosines.T / len(cosines)
    project[0] /= 2
    return project


def stop_force(tip: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the force at the stop and its slope."""
    depth = np.maximum(tip - GAP, 0.0)
    return STIFFNESS * depth**1.5, 1.5 * STIFFNESS * np.sqrt(depth)


def force_series(system, orbit, harmonics: int) -> np.ndarray:
    """Return the cosine series of the force in a motion that begins where all rest."""
    times = float(orbit.period) / 2 * (np.arange(8 * harmonics) + 0.5) / (8 * harmonics)
    path = jv.simulate(system, orbit.state, np.append(0.0, times), engine="modal").states
    modes = path.shape[1] // 2
    tip = np.asarray(path)[1:, :modes] @ (2 * (-1.0) ** np.arange(modes))
    return projected(cosine_matrix(harmonics)) @ stop_force(tip)[0]


def balanced(modes: int, energy: float, forces: np.ndarray, frequency: float):
    r"""Return force and frequency at an energy by harmonic balance at the stop.

    The force $\sum_k F_k \cos k \Omega t$ moves the tip by $-\sum_k G(k \Omega) F_k \cos k
    \Omega t$, $G(w) = \sum_j \phi_j^2 / (\omega_j^2 - w^2)$ with all modes; at t = 0 all
    rest, and the energy is that of the modes' and the stop's springs. Newton's method.
    """
    squares, order = cantilever_frequencies(modes) ** 2, np.arange(len(forces))
    cosines = cosine_matrix(len(forces) - 1)
    project = projected(cosines)
    for _ in range(60):
        denominator = squares[:, None] - (order * frequency) ** 2
        moved = 4 * np.sum(1 / denominator, axis=0)  # G, with shapes of 2 at the tip
        slope = 8 * frequency * order**2 * np.sum(1 / denominator**2, axis=0)
        pushed, stiff = stop_force(-cosines @ (moved * forces))
        through = project @ (stiff[:, None] * cosines)
        bent = -2 * np.sum(forces / denominator, axis=1)  # of each mode at t = 0
        depth = max(-np.sum(moved * forces) - GAP, 0.0)
        rest = bent @ (squares * bent) / 2 + 0.4 * STIFFNESS * depth**2.5
        by_mode, by_depth = squares * bent, STIFFNESS * depth**1.5
        by_force = -2 * by_mode @ (1 / denominator) - by_depth * moved
        turned = -4 * frequency * (order**2 * forces / denominator**2).sum(1)
        by_frequency = by_mode @ turned - by_depth * (slope @ forces)
        own = np.eye(len(forces)) + through * moved
        matrix = np.column_stack([own, through @ (slope * forces)])
        last = np.append(by_force, by_frequency) / energy
        wrong = np.append(forces - project @ pushed, rest / energy - 1)
        step = np.linalg.solve(np.vstack([matrix, last]), wrong)
        forces, frequency = forces - step[:-1], frequency - step[-1]
        if abs(step[-1]) < 1e-13 * frequency:
            return forces, float(frequency)
    return forces, np.nan


def returned(modes: int, state: np.ndarray, period: float) -> float:
    """Return how far DOP853 is from a state after a period, relative to its size."""
    squares, tip = cantilever_frequencies(modes) ** 2, 2 * (-1.0) ** np.arange(modes)

    def rates(time, state):
        x, v = np.split(state, 2)
        push = STIFFNESS * max(tip @ x - GAP, 0.0) ** 1.5
        return np.concatenate([v, -tip * push - squares * x])

    end = solve_ivp(rates, (0.0, period), state, "DOP853", rtol=1e-12, atol=1e-15).y[:, -1]
    units = np.concatenate([1 / np.sqrt(squares), np.ones(modes)])
    return float(np.abs((end - state) / units).max() / np.abs(state / units).max())


def row(modes: int, compared: bool) -> dict:
    """Return the figures of one number of modes."""
    system, found = free_cantilever(modes, jv.HertzContact(STIFFNESS)), {"modes": modes}
    for name in ("first_s", "branch_s"):
        begun = time.process_time()
        branch = jv.nonlinear_modes(system, 0, REACH * TOUCHING, settings=STEPS)
        found[name] = time.process_time() - begun
    last = jax.tree.map(lambda leaf: np.asarray(leaf)[-1], branch.orbits)
    found["points"], energy = len(branch.parameter), float(last.energy)
    found["point_s"] = found["branch_s"] / found["points"]
    found["reached"] = energy / TOUCHING
    frequency = found["frequency"] = float(last.frequency)
    found["frequency_error"] = float(last.period_error / last.period)
    found["multiplier_error"] = float(last.multiplier_error)
    found["stable"] = int(last.stable)
    off, forces = {}, force_series(system, last, HARMONICS[0])
    for harmonics in HARMONICS:
        begun, longer = time.process_time(), harmonics + 1 - len(forces)
        start = np.append(forces, np.zeros(longer)), frequency
        forces, pace = balanced(modes, energy, *start)
        found["balance_s"] = time.process_time() - begun
        off[harmonics] = abs(pace / frequency - 1)
        if off[harmonics] < CLOSE:
            break
    found["balance"] = off
    if compared:
        begun = time.process_time()
        found["scipy"] = returned(modes, last.state, float(last.period))
        found["scipy_s"] = time.process_time() - begun
    return found


def gradient(modes: int) -> dict:
    """Return slopes of the frequency at an energy, and how far differences are."""
    energy = REACH * TOUCHING

    def system(stiffness, gap):
        return free_cantilever(modes, jv.HertzContact(stiffness), gaps=(gap,))

    branch = jv.nonlinear_modes(system(STIFFNESS, GAP), 0, energy, settings=STEPS)

    def at(logarithms):
        stiffness, gap = jnp.exp(logarithms) * jnp.asarray([STIFFNESS, GAP])
        return branch.frequency_at(system(stiffness, gap), energy)

    begun = time.process_time()
    slopes = np.asarray(jax.jacfwd(at)(jnp.zeros(2)))
    cost = time.process_time() - begun
    ends = [[at(way * 1e-4 * axis) for way in (-2, -1, 1, 2)] for axis in jnp.eye(2)]
    known = [float(a - 8 * b + 8 * c - d) / 12e-4 for a, b, c, d in ends]
    error = float(np.max(np.abs(slopes / known - 1)))
    return {"modes": modes, "slopes": slopes.tolist(), "gradient_s": cost, "error": error}


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--modes", type=int, nargs="+", default=[10, 20, 40, 80, 320])
    parser.add_argument("--others", type=int, default=20)
    options = parser.parse_args()
    found: dict = {"machine": machine(), "rows": []}
    with one_blas_thread():
        for modes in options.modes:
            found["rows"].append(row(modes, modes <= options.others))
            print(json.dumps(found["rows"][-1]), flush=True)
        found["gradient"] = gradient(options.modes[0])
    print(json.dumps(found["gradient"]))
    device = jax.devices()[0].platform
    path = Path(__file__).with_name(f"nonlinear_modes-{device}-{os.cpu_count()}.json")
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
