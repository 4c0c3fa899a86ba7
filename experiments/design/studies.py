"""Results of the built-in design studies, compared with closed forms.

    python -m experiments.design.studies

Runs each study and reads its store.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import numpy as np

import jaxvib as jv
from jaxvib.design import optimal_absorber, peaks_measure


def store(name: str):
    """Return the results of a ready study, run now."""
    command = [sys.executable, "-m", "jaxvib", "run", name]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, name)
        # It ends with 1 where a search is not done in its steps, which the results say.
        subprocess.run([*command, "--out", str(folder)], check=False)
        return jv.open_study(folder).load()


def absorbers() -> dict:
    """Return the absorbers found, and how far they are from the closed forms."""
    results, found = store("tuned_mass_damper"), {}
    for mass_ratio in (0.05, 0.1):
        here = results.sel({"attached.mass": mass_ratio})
        for criterion in ("h2", "h_infinity", "den_hartog"):
            one = here.sel(design=criterion)
            exact = optimal_absorber(criterion, mass_ratio)._asdict()
            found[f"{criterion}, mass ratio {mass_ratio}"] = {
                name: {
                    "found": float(one[name]),
                    "off the closed form": abs(float(one[name] - exact[name])),
                }
                for name in exact
            } | {
                "objective": float(one["optimum.objective"]),
                "evaluations": int(one["evaluations"]),
            }
    return found


def front() -> dict:
    """Return how far a front of peak against mass is from the exact absorbers' one."""
    results = store("damper_front")
    system = jv.two_body_impact(main_mass=1.0, main_frequency=1.0, main_damping_ratio=0.0)
    peaks = jax.jit(peaks_measure("main", "main", 0.4, 1.6, 2).analysis.function)
    off, masses = [], results["attached.mass"].values
    for mass, found in zip(masses, results["objective.peak"].values, strict=True):
        exact = optimal_absorber("h_infinity", mass)
        best = jv.replace(system, {
            "attached.mass": mass, "attached.frequency": exact.frequency_ratio,
            "attached.damping_ratio": exact.damping_ratio,
        })  # fmt: skip
        off.append(abs(found / float(peaks(best).max()) - 1))
    steps = np.hypot(*(
        np.diff(results[name].values) / np.ptp(results[name].values)
        for name in ("objective.mass", "objective.peak")
    ))  # fmt: skip
    return {
        "mass, kg": [float(masses[0]), float(masses[-1])],
        "highest peak, m/N": results["objective.peak"].values[[0, -1]].tolist(),
        "points": len(masses),
        "dominated or without success": int(
            np.sum((results["dominated"] != 0) | (results["point_result"] != 0))
        ),
        "largest relative difference to the exact peak": max(off),
        "largest step over the mean one": float(steps.max() / steps.mean()),
        "evaluations": int(results["evaluations"]),
    }


def flip() -> dict:
    """Return how little moves a period doubling out of the operating range."""
    results = store("flip_out_of_range")
    best = int(results["best"])
    there = [float(results["limit.flip"][step]) + 6.15 for step in (0, best)]
    return {
        "period doubling before, rad/s": there[0],
        "after, rad/s": there[1],
        "evaluations": int(results["evaluations"]),
        **_before_and_after(results, best),
    }


def mirror() -> dict:
    """Return the bodies that reflect a packet best, of several starts."""
    results = store("chain_mirror")
    best = int(results["best"])
    masses = [float(results[f"optimum.mass_factors.{i}"]) for i in range(64, 70)]
    return {
        "reflected share of each start": results["starts.objective"].values.tolist(),
        "reflected share of the best": float(results["optimum.objective"]),
        "masses of bodies 64 to 69, over the others'": masses,
        "evaluations": int(results["evaluations"]),
        "what is left of the gradient": float(results["optimality"]),
        "steps": best,
    }


def robust() -> dict:
    """Return the worst peak of a robust absorber beside that of the nominal one."""
    results = store("robust_absorber")
    return {
        str(name): {
            "objective": float(results["optimum.objective"].sel(design=name)),
            "frequency": float(results["optimum.attached.frequency"].sel(design=name)),
            "damping ratio": float(
                results["optimum.attached.damping_ratio"].sel(design=name)
            ),
        }
        for name in results["design"].values
    }


def optimisers() -> dict:
    """Return what each optimiser took to which objective, of one problem."""
    results = store("optimisers")
    return {
        str(name): {
            "objective": float(results["optimum.objective"].sel(design=name)),
            "evaluations": int(results["evaluations"].sel(design=name)),
        }
        for name in results["design"].values
    }


def on_a_beam() -> dict:
    """Return how near eigenvalues come to their places, and the least damping ratio."""
    results = store("beam_placement")
    return {
        str(name): {
            "objective": float(results["optimum.objective"].sel(design=name)),
            "evaluations": int(results["evaluations"].sel(design=name)),
            "result": jv.reason(int(results["design_result"].sel(design=name))),
        }
        for name in results["design"].values
    }


def identified() -> dict:
    """Return what a fit finds of a response with 1 per cent of noise."""
    results = store("fit_response")
    truth = {"main.damping_ratio": 0.02, "attached.frequency": 5.2,
             "attached.damping_ratio": 0.08}  # fmt: skip
    return {
        path: {
            "made with": value,
            "fitted": float(results[f"fitted.{path}"]),
            "95 % interval": results[f"interval.{path}"].values.tolist(),
        }
        for path, value in truth.items()
    }


def influences() -> dict:
    """Return Sobol's indices of the response."""
    results = store("damper_sensitivity")
    paths = results["parameter"].values.tolist()
    return {
        name: {
            kind: dict(zip(paths, np.round(results[f"{name}.{kind}"].values[0], 4).tolist(),
                           strict=True))
            for kind in ("normalised", "first_order", "total_order")
        }
        for name in ("variance", "peak")
    }  # fmt: skip


def _before_and_after(results, best: int) -> dict:
    names = [str(name) for name in results if str(name).startswith("optimum.")]
    paths = [name.removeprefix("optimum.") for name in names]
    return {
        path: [float(results[path][0]), float(results[path][best])]
        for path in paths
        if path != "objective"
    }


def studies() -> dict:
    """Return everything."""
    return {
        "absorbers": absorbers(),
        "front of peak against mass": front(),
        "robust absorber": robust(),
        "period doubling out of the range": flip(),
        "chain mirror": mirror(),
        "optimisers": optimisers(),
        "oscillators on a beam": on_a_beam(),
        "fit": identified(),
        "sensitivity": influences(),
    }


if __name__ == "__main__":
    print(json.dumps(studies(), indent=1))
