"""Three oscillators on the paper's cantilever: placed eigenvalues, most damping.

    python -m experiments.design.beam

Certified eigenvalues and their implicit derivatives. (1) Positions and stiffnesses of
the three place two eigenvalues at target values: least squares. (2) Positions,
stiffnesses and dampers maximise the smallest damping ratio below 600 rad/s, of the
first three modes of the cantilever and of the oscillators.
"""

import json
import time

import numpy as np

import jaxvib as jv
from jaxvib.design import (
    Problem,
    SearchSettings,
    beam_measure,
    optimise,
    placement_measure,
)

MASS = 0.02  # kg, each: 3 per cent of the beam's
TARGETS = (-2.5 + 23.0j, -9.0 + 145.0j)  # 1/s
PLACES = {f"positions.{i}": (0.05, 1.0) for i in range(3)}
SPRINGS = {f"link_stiffness.{i}": (1.0, 2e4, "log") for i in range(3)}
DAMPERS = {f"link_damping.{i}": (0.05, 10.0, "log") for i in range(3)}
HIGHEST = 600.0  # rad/s: above the third mode, below the fourth


def oscillators(frequencies, damping):
    """Return the cantilever with an oscillator at each mode's largest deflection."""
    stiffness = MASS * np.square(frequencies)
    return jv.oscillators_on_beam(
        jv.Beam(1.0, 0.675, 36.45831), [0.95, 0.5, 0.3], [MASS] * 3, stiffness, damping
    )


def beam() -> dict:
    """Return both designs."""
    start = oscillators([25.0, 160.0, 450.0], [0.3, 1.0, 3.0])
    placing = Problem(
        start, PLACES | SPRINGS, placement_measure(TARGETS, 8), combine="squares"
    )
    placed, seconds = _timed(placing, "least_squares", steps=60)
    values = np.asarray(jv.beam_eigenvalues(placed.system, count=8).values)
    far = [float(np.min(np.abs(values - target)) / abs(target)) for target in TARGETS]
    found = {
        "two eigenvalues placed": {
            "asked for, 1/s": [str(target) for target in TARGETS],
            "relative distance of the nearest": far,
            "evaluations": int(placed.evaluations),
            "seconds": seconds,
            "design": _design(placed),
        }
    }
    weak = oscillators([20.0, 120.0, 350.0], [0.1, 0.5, 1.0])
    measure = beam_measure("damping_ratio", tuple(range(8)), below=HIGHEST)
    damping = Problem(
        weak, PLACES | SPRINGS | DAMPERS, measure, combine="smallest", goal="maximise"
    )
    damped, seconds = _timed(damping, "trust_constr", steps=250, tolerance=1e-7)
    values = np.asarray(jv.beam_eigenvalues(damped.system, count=8).values)
    below = values[np.abs(values) < HIGHEST]
    found["least damping ratio greatest"] = {
        "before": float(damped.objective[0]),
        "after": float(damped.objective[int(damped.best)]),
        "damping ratios below 600 rad/s": (-below.real / np.abs(below)).tolist(),
        "evaluations": int(damped.evaluations),
        "seconds": seconds,
        "what is left of the gradient": _known(damped.optimality),
        "result": jv.reason(damped.result),
        "design": _design(damped),
    }
    return found


def _timed(problem, method, **options):
    began = time.perf_counter()
    design = optimise(problem, method, settings=SearchSettings(**options))
    return design, round(time.perf_counter() - began, 1)


def _design(design) -> dict:
    return {path: design.value(path) for path in design.variables}


def _known(number) -> float | None:
    return float(number) if np.isfinite(number) else None


if __name__ == "__main__":
    print(json.dumps(beam(), indent=1))
