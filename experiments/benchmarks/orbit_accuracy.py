"""Accuracy of periodic orbits, compared with 50-digit arithmetic.

    python -m experiments.benchmarks.orbit_accuracy

Prints a line for each orbit of `tests/orbits/reference.json`, by diffrax and
event-driven, and writes `experiments/benchmarks/orbit_accuracy.json`, with the largest
differences.
"""

import json
from pathlib import Path

import numpy as np

import jaxvib as jv

ROOT = Path(__file__).parents[2]


def errors(reference: dict, engine: str) -> dict[str, float]:
    """Return the errors of one orbit, found from a guess that is off by 1e-4."""
    system = jv.replace(jv.two_body_impact(), reference["parameters"])
    guess = np.array(reference["state"]) * (1 + 1e-4)
    orbit = jv.periodic_orbit(system, guess, reference["periods"], engine=engine)
    state = np.array(reference["state"])
    multipliers = np.array(reference["multipliers"]) @ [1, 1j]
    apart = np.abs(np.asarray(orbit.floquet_multipliers)[:, None] - multipliers)

    def relative(value, true) -> float:
        return float(abs(value / true - 1)) if true else float(abs(value))

    return {
        "state": float(np.abs(orbit.state - state).max() / np.abs(state).max()),
        "error bar of the state": float(orbit.state_error / np.abs(state).max()),
        "multipliers": float(apart.min(axis=0).max()),
        "error bar of the multipliers": float(orbit.multiplier_error),
        "peak force": relative(orbit.max_contact_force, reference["peak_force"]),
        "contact duration": relative(orbit.contact_duration, reference["contact_duration"]),
        "contacts": float(abs(int(orbit.contacts) - reference["contacts"])),
        "determinant": float(abs(orbit.determinant_defect)),
    }


def table_of(references, engine: str) -> dict:
    """Return the errors of all orbits by an engine, and the largest."""
    table = []
    for reference in references:
        found = errors(reference, engine)
        values = reference["parameters"]
        name = ", ".join(f"{path} = {value:g}" for path, value in values.items())
        table.append({"orbit": f"{name}, {reference['periods']} T"} | found)
        print(
            engine, name, {key: f"{value:.1e}" for key, value in found.items()}, flush=True
        )
    largest = {key: max(line[key] for line in table) for key in found}
    print(engine, "largest", {key: f"{value:.1e}" for key, value in largest.items()})
    return {"orbits": table, "largest": largest}


def main() -> None:
    """Go through all orbits by both engines."""
    references = json.loads((ROOT / "tests/orbits/reference.json").read_text())["orbits"]
    tables = table_of(references, "diffrax")
    tables["from event to event"] = table_of(references, "event")
    file = Path(__file__).with_name("orbit_accuracy.json")
    file.write_text(json.dumps(tables, indent=1) + "\n")


if __name__ == "__main__":
    main()
