"""Three bifurcations placed by six parameters, from 200 starts.

    python -m experiments.design.places

Equilibria of x' = h + r x + q x^2 - c x^3 have a lower and an upper fold along h, and
that of a chemical oscillator, u' = a - (b + d) u + k u^2 v and v' = b u - k u^2 v, a Hopf
point along b. All three are placed at given values by the least change of the six other
parameters, from 200 starts by SLSQP with gradients; from 4 starts also with differences
in their place, and once by differential evolution with a penalty. Designs are compared
with the closed forms. Writes core-seconds, once compiled, to `places.json`.
"""

import json
import time
from pathlib import Path

import numpy as np
import scipy.optimize

import jaxvib as jv
from experiments.machine import machine
from jaxvib.design import Limit, Problem, SearchSettings, bifurcation_measure, optimise
from jaxvib.design.searches.evaluation import Evaluator

RESULT = Path(__file__).with_suffix(".json")
STARTS, FEW = 200, 4
TOLERANCE = 1e-9
AIMS = np.array([-0.5, 0.3, 2.5])  # lower fold, upper fold, Hopf point
BOUNDS = {
    "r": (0.6, 1.6),
    "q": (-0.4, 0.4),
    "c": (0.6, 1.6),
    "a": (0.7, 1.6),
    "d": (0.7, 1.6),
    "k": (0.7, 1.6),
}
NAMES = ("lower fold", "upper fold", "Hopf point")
PENALTY = 1e3  # of squared distances from the aims, in differential evolution


def rates(state, p):
    """Return the rates of change of x, u and v."""
    x, u, v = state
    reaction = p["k"] * u**2 * v
    return [
        p["h"] + p["r"] * x + p["q"] * x**2 - p["c"] * x**3,
        p["a"] - (p["b"] + p["d"]) * u + reaction,
        p["b"] * u - reaction,
    ]


def closed_form(values: dict) -> np.ndarray:
    """Return the places of both folds and of the Hopf point."""
    r, q, c = values["r"], values["q"], values["c"]
    root = np.sqrt(q**2 + 3 * c * r)
    x = np.array([(q + root) / (3 * c), (q - root) / (3 * c)])
    folds = -(r * x + q * x**2 - c * x**3)
    return np.append(folds, values["d"] + values["k"] * (values["a"] / values["d"]) ** 2)


def problem() -> Problem:
    """Return the least change of six parameters that places all three."""
    numbers = {"h": 0.0, "b": 0.5} | dict.fromkeys(BOUNDS, 1.0) | {"q": 0.0}
    system = jv.autonomous_system(rates, parameters=numbers, dimension=3)
    measures = (
        bifurcation_measure("fold", "h", (-3.0, 0.02), guess=[1.0, 1.0, 0.5]),
        bifurcation_measure("fold", "h", (-0.02, 3.0), guess=[-1.0, 1.0, 0.5]),
        bifurcation_measure("hopf", "b", (0.3, 12.0), guess=[1.0, 1.0, 0.5]),
    )
    aims = zip(NAMES, measures, AIMS.tolist(), strict=True)
    limits = {name: Limit(measure, aim, aim) for name, measure, aim in aims}
    change = jv.design.change_measure(system, BOUNDS)
    return Problem(system, BOUNDS, change, constraints=limits)


def errors(variables: dict) -> np.ndarray:
    """Return the distances of the closed forms from the aims."""
    return np.abs(closed_form(variables) - AIMS)


def by_gradients(given: Problem) -> dict:
    """Return the designs from all starts."""
    optimise(given, "slsqp", settings=SearchSettings(starts=2, steps=3), throw=False)
    began = time.process_time()
    settings = SearchSettings(starts=STARTS, steps=100, tolerance=TOLERANCE)
    found = optimise(given, "slsqp", settings=settings)
    seconds = time.process_time() - began
    starts = {path: np.asarray(values) for path, values in found.starts.variables.items()}
    every = [
        errors({path: values[i] for path, values in starts.items()}).max()
        for i in range(STARTS)
    ]
    objective = np.asarray(found.starts.objective)
    placed = np.array(every) < 1e-8
    return {
        "starts": STARTS,
        "core-seconds": round(seconds, 1),
        "evaluations": int(found.evaluations),
        "placed": int(placed.sum()),
        "largest error of these": float(np.max(np.array(every)[placed])),
        "least change": float(objective[placed].min()),
        "of these within 1e-6 of the least change": int(
            (objective[placed] < objective[placed].min() + 1e-6).sum()
        ),
    }


def by_differences(given: Problem) -> dict:
    """Return the designs from a few starts, by the same method with differences."""
    began, count, ends = time.process_time(), 0, []
    for start in np.random.default_rng(0).uniform(size=(FEW, len(BOUNDS))):
        evaluator = Evaluator(given, start)

        def found(x, evaluator=evaluator):
            return evaluator(np.clip(x, 0, 1), slopes=False)

        def missed(x, found=found):
            return np.concatenate(found(x).limits) - AIMS

        ended = scipy.optimize.minimize(
            lambda x, found=found: found(x).objective, start, method="SLSQP",
            bounds=[(0, 1)] * len(start), constraints={"type": "eq", "fun": missed},
            options={"maxiter": 100, "ftol": TOLERANCE},
        )  # fmt: skip
        count += len(evaluator.history)
        ends.append(float(errors(given.values(ended.x)).max()))
    seconds = time.process_time() - began
    return {
        "starts": FEW,
        "core-seconds": round(seconds, 1),
        "core-seconds for 200 starts": round(seconds / FEW * STARTS, 1),
        "evaluations": count,
        "errors": ends,
    }


def by_evolution(given: Problem) -> dict:
    """Return the result of one run of differential evolution."""
    evaluator = Evaluator(given, given.normalised)
    began = time.process_time()

    def penalised(x):
        seen = evaluator(x, slopes=False)
        if seen.code:
            return 1e6
        missed = np.concatenate(seen.limits) - AIMS
        return seen.objective + PENALTY * float(missed @ missed)

    found = scipy.optimize.differential_evolution(
        penalised, [(0, 1)] * len(BOUNDS), maxiter=60, popsize=8, seed=0, polish=False
    )
    return {
        "core-seconds": round(time.process_time() - began, 1),
        "evaluations": len(evaluator.history),
        "largest error": float(errors(given.values(found.x)).max()),
        "change": float(evaluator(found.x, slopes=False).objective),
    }


def main() -> None:
    """Write the result."""
    given = problem()
    result = {"gradients": by_gradients(given)}
    print(json.dumps(result, indent=1), flush=True)
    result["differences"] = by_differences(given)
    result["differential evolution"] = by_evolution(given)
    result["machine"] = machine()
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
