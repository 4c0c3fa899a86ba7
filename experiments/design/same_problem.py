"""All optimisers on one problem: the absorber of least variance, mass ratio 0.1.

    python -m experiments.design.same_problem

The closed form gives the error of each. Times are those of the second call, without
compilation.
"""

import json
import time

import numpy as np

import jaxvib as jv
from jaxvib.design import (
    Problem,
    SearchSettings,
    optimal_absorber,
    optimise,
    white_noise_measure,
)

MASS_RATIO = 0.1
BOUNDS = {"attached.frequency": (0.7, 1.1), "attached.damping_ratio": (0.02, 0.5)}
METHODS = {
    "quasi_newton": {},
    "slsqp": {},
    "trust_constr": {},
    "nelder_mead": {},
    "evolution": {"steps": 200, "tolerance": 1e-9},
    "adam": {"steps": 300},
    "adam from 1000 starts at once": {"method": "adam", "starts": 1000, "steps": 300},
    "quasi_newton from 16 starts": {"method": "quasi_newton", "starts": 16},
}


def same_problem() -> dict:
    """Return evaluations, time and error of each optimiser."""
    system = jv.two_body_impact(
        main_mass=1.0, main_frequency=1.0, main_damping_ratio=0.0, gap=1.0,
        attached_mass=MASS_RATIO, attached_frequency=0.75, attached_damping_ratio=0.4,
    )  # fmt: skip
    problem = Problem(system, BOUNDS, white_noise_measure("main", "main"))
    exact = optimal_absorber("h2", MASS_RATIO)
    rows = {}
    for name, options in METHODS.items():
        method, settings = (
            options.get("method", name),
            SearchSettings(
                **{key: value for key, value in options.items() if key != "method"}
            ),
        )
        optimise(problem, method, settings=settings)
        began = time.perf_counter()
        design = optimise(problem, method, settings=settings)
        seconds = time.perf_counter() - began
        rows[name] = {
            "evaluations": int(design.evaluations),
            "seconds": round(seconds, 3),
            "error of the frequency ratio": abs(
                design.value("attached.frequency") - float(exact.frequency_ratio)
            ),
            "error of the damping ratio": abs(
                design.value("attached.damping_ratio") - float(exact.damping_ratio)
            ),
            "what is left of the gradient": _known(design.optimality),
        }
    return rows


def _known(number) -> float | None:
    return float(number) if np.isfinite(number) else None


if __name__ == "__main__":
    print(json.dumps(same_problem(), indent=1))
