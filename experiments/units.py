"""One motion in lengths from m to pm and times of 1 s and 1 us, by all functions.

    python -m experiments.units

The two-body system and Duffing's oscillator (`tests.similarity`) are the same motion in
any units; every function is called in all of them, and its result, converted to metres
and seconds, is compared with that in metres and seconds. A difference is the largest
one of all units, relative to the size of the result. Flows and sections at a tolerance
of 1e-10, the rest at its default. Writes `units.json`.
"""

import argparse
import json
import time as clock
from pathlib import Path

import numpy as np

import jaxvib as jv
from tests.similarity import UNITS, duffing, states_in, two_bodies

HERE = Path(__file__).parent
START = np.array([0.02, 0.17, 0.4, -0.3])
SWING = np.array([0.5, 0.1])
ORBIT = np.array([0.0800211577, 0.2072153515, 0.7223403033, 0.3775679893])
FREQUENCIES = np.linspace(5.0, 7.0, 5)


def back(states, length, time):
    """Return states in metres and seconds."""
    return states_in(np.asarray(states), 1 / length, 1 / time)


def flow_by(engine, make, state, span):
    """Return the verb `flow` by an engine."""

    def verb(length, time):
        system, start = make(length, time), states_in(state, length, time)
        end = jv.flow(system, start, 0.0, span / time, rtol=1e-10, engine=engine)
        return {"state": back(end, length, time)}

    return verb


def simulated(length, time):
    """Return the verb `simulate`."""
    times = np.linspace(0.0, 2.2, 12) / time
    found = jv.simulate(two_bodies(length, time), states_in(START, length, time), times)
    force = np.asarray(found.contact_force) * length / time**2
    return {"states": back(found.states, length, time), "contact force": force}


def simulated_field(length, time):
    """Return the verb `simulate` of a field."""
    start = states_in(SWING, length, time)
    found = jv.simulate(duffing(length, time), start, np.linspace(0.0, 9.0, 12) / time)
    return {"states": back(found.states, length, time)}


def orbit_of(make, guess, freedoms):
    """Return the verb `periodic_orbit`."""

    def verb(length, time):
        orbit = jv.periodic_orbit(make(length, time), states_in(guess, length, time))
        amplitude = np.asarray(orbit.amplitude)[:freedoms] * length
        return {
            "state": back(orbit.state, length, time),
            "multipliers": np.asarray(orbit.floquet_multipliers),
            "amplitude": amplitude,
            "stable, contacts": np.array([orbit.stable, orbit.contacts], float),
        }

    return verb


def exponents_of(make, start):
    """Return the verb `lyapunov_exponents`."""

    def verb(length, time):
        found = jv.lyapunov_exponents(
            make(length, time), states_in(start, length, time), 32, skip=16
        )
        return {"exponents": np.asarray(found.exponents) / time}

    return verb


def sectioned(make, start):
    """Return the verb `poincare_section`."""

    def verb(length, time):
        found = jv.orbits.poincare_section(
            make(length, time), states_in(start, length, time), 8, skip=24, rtol=1e-10
        )
        return {"states": back(found.states, length, time)}

    return verb


def branched(length, time):
    """Return the verbs `continue_orbit` and `bifurcation_point`."""
    system = duffing(length, time, w=0.9)
    orbit = jv.periodic_orbit(system)
    bounds = 0.8 * time, 2.4 * time
    branch = jv.continue_orbit(system, orbit, "w", bounds, method="arclength")
    folds = [b for b in branch.bifurcations if b.kind == "fold"]
    points = [jv.bifurcation_point(system, fold, "fold", "w") for fold in folds]
    return {
        "folds of the branch": np.array([fold.parameter for fold in folds]) / time,
        "bifurcation_point": np.array([point.parameter for point in points]) / time,
        "its state": back(points[0].state, length, time),
        "results": np.array([point.result for point in points], float),
    }


def settled(length, time):
    """Return the verbs `attractors` and `basins`."""
    system = duffing(length, time, w=1.6)
    starts = np.stack(np.meshgrid(np.linspace(-2, 2, 6), [0.0, 1.0]), -1).reshape(-1, 2)
    found = jv.basins(system, np.asarray(states_in(starts, length, time)))
    return {
        "labels": np.asarray(found.label, float),
        "states": back(found.attractors.state, length, time),
        "multipliers": np.asarray(found.attractors.floquet_multipliers),
    }


def diagrammed(length, time):
    """Return the verb `bifurcation_diagram`."""
    system = two_bodies(length, time)
    found = jv.bifurcation_diagram(
        system,
        "load.frequency",
        FREQUENCIES * time,
        points=16,
        settings=jv.orbits.SettlingSettings(transient=128),
    )
    return {
        "periods": np.asarray(found.periods, float),
        "amplitude": np.asarray(found.orbits.amplitude) * length,
        "exponents": np.asarray(found.lyapunov_exponent) / time,
    }


def linear(length, time):
    """Return the verbs `natural_frequencies` and `frequency_response`."""
    stiffness = 1e4 / time**-2
    cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=stiffness,
                                     damping=3.0 * time)  # fmt: skip
    rider = jv.TranslationTranslation("cart", "rider", mass=1.0, stiffness=stiffness / 2,
                                      damping=1.0 * time)  # fmt: skip
    system = jv.assemble([cart, rider])
    found = jv.frequency_response(system, np.array([30.0, 70.0]) * time, force="cart")
    return {
        "natural frequencies": np.asarray(jv.natural_frequencies(system)) / time,
        "frequency response": np.asarray(found) * time**2,
    }


def swept(length, time):
    """Return the verb `sweep`."""
    system = two_bodies(length, time)
    guess = states_in(ORBIT, length, time)
    data = jv.sweep(
        lambda s: jv.periodic_orbit(s, guess),
        system,
        {"load.frequency": np.array([5.75, 5.8, 5.85]) * time},
    )
    return {
        "state": back(data["state"].values, length, time),
        "multipliers": data["floquet_multipliers"].values,
    }


VERBS = {
    "flow, diffrax, two bodies": flow_by("diffrax", two_bodies, START, 2.2),
    "flow, event, two bodies": flow_by("event", two_bodies, START, 2.2),
    "flow, diffrax, Duffing": flow_by("diffrax", duffing, SWING, 7.0),
    "simulate, two bodies": simulated,
    "simulate, Duffing": simulated_field,
    "periodic_orbit, two bodies": orbit_of(two_bodies, ORBIT, 2),
    "periodic_orbit, Duffing": orbit_of(duffing, SWING, 1),
    "lyapunov_exponents, two bodies": exponents_of(two_bodies, ORBIT),
    "lyapunov_exponents, Duffing": exponents_of(duffing, SWING),
    "poincare_section, two bodies": sectioned(two_bodies, START),
    "poincare_section, Duffing": sectioned(duffing, SWING),
    "continue_orbit, bifurcation_point, Duffing": branched,
    "basins, attractors, Duffing": settled,
    "bifurcation_diagram, two bodies": diagrammed,
    "natural_frequencies, frequency_response": linear,
    "sweep, two bodies": swept,
}


def difference(found, expected) -> float:
    """Return how far a result is from another, per size of its columns."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return np.inf
    size = np.abs(expected)
    if expected.ndim:
        size = np.nanmax(size, axis=tuple(range(expected.ndim - 1)), initial=0.0)
    apart = np.abs(found - expected) / np.where(size > 0, size, 1.0)
    gone = np.isnan(found) != np.isnan(expected)
    return float(np.max(np.where(gone, np.inf, np.nan_to_num(apart)), initial=0.0))


def compared(verb) -> dict[str, float]:
    """Return by how much each number of a verb differs among all units."""
    base, *others = [verb(length, time) for length, time in UNITS]
    return {
        name: max(difference(other[name], base[name]) for other in others) for name in base
    }


def main() -> None:
    """Call every verb in all units and write what it says, verb by verb."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--verbs", nargs="+", choices=VERBS, default=list(VERBS),
        help="those to call; the rows of others stay",
    )  # fmt: skip
    chosen = parser.parse_args().verbs
    rows, began, stored = {}, clock.process_time(), HERE / "units.json"
    before = 0.0
    if len(chosen) < len(VERBS):  # the others' rows stay as they are
        old = json.loads(stored.read_text(encoding="utf-8"))
        rows, before = old["largest differences, per size"], old["core-minutes"]
    for name in chosen:
        rows[name] = compared(VERBS[name])
        print(f"{name:45s}", {k: f"{v:.1e}" for k, v in rows[name].items()}, flush=True)
        whole = {
            "lengths, m": sorted({length for length, _ in UNITS}),
            "times, s": sorted({time for _, time in UNITS}),
            "largest differences, per size": rows,
            "core-minutes": round(before + (clock.process_time() - began) / 60, 1),
        }
        text = json.dumps(whole, indent=1) + "\n"
        stored.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
