"""Random bodies between random stops: branches judged by an integrator of their own.

    python -m experiments.bifurcations.random_impacts [--number 300] [--first 0] [--elastic]

One to three bodies with one to three stops between them or to the ground; modal damping
ratios of 0.001 to 0.5, restitution 0 to 1, gaps of both signs; each system along its load,
its frequency, a gap or a restitution (with `--elastic`: a stiffness of linear stops, or of
Hertz contacts). The start is the motion that a transient leads to; systems without a
periodic one near its end are counted apart. Everything follows from a system's number, so
that `--first 17 --number 1` repeats one. Writes `random_impacts.json`, or
`random_elastic.json`, and prints a table.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.linalg
from scipy.optimize import linprog

import jaxvib as jv
from experiments.bifurcations.flights import Bodies, FlightError
from experiments.bifurcations.hertz_flights import flights_of
from experiments.bifurcations.judged import KINDS, judged

PATHS = ("loads.0.law.amplitude", "loads.0.law.frequency", "contacts.0.gap")
HARD, ELASTIC = "contacts.0.law.restitution", "contacts.0.law.stiffness"
_TRANSIENT = 150  # periods: Newton's method converges from there
SETTINGS = jv.branches.ContinuationSettings(most_points=200)


def drawn(number: int, elastic: bool = False) -> tuple[Bodies, str, tuple[float, float]]:
    """Return a random system, the path of a parameter and its range."""
    rng = np.random.default_rng([48, number])
    n, stops = number % 3 + 1, number // 3 % 3 + 1
    path = (*PATHS, ELASTIC if elastic else HARD)[number // 9 % 4]
    mass = np.diag(rng.uniform(0.5, 2.0, n))
    springs = rng.uniform(0.5, 3.0, n + 1)
    stiffness = np.diag(springs[:-1] + springs[1:])
    stiffness -= np.diag(springs[1:-1], 1) + np.diag(springs[1:-1], -1)
    root = np.sqrt(mass)
    inner = scipy.linalg.sqrtm(np.linalg.solve(root, stiffness) / np.diag(root)).real
    ratio = np.exp(rng.uniform(np.log(1e-3), np.log(0.5)))
    damping = 2 * ratio * root @ inner @ root
    normals = np.array([_normal(rng, n) for _ in range(stops)])
    natural = np.sqrt(scipy.linalg.eigvalsh(stiffness, mass))
    frequency = rng.uniform(0.3, 2.5) * rng.choice(natural)
    push = rng.uniform(-1.0, 1.0, n)
    push /= np.abs(push).max()
    ratios = np.where(rng.random(stops) < 0.15, 0.0, rng.uniform(0.0, 1.0, stops))
    exponent = 1.5 if elastic and number // 36 % 2 else 1.0
    stiff = stiffness.max() * np.exp(rng.uniform(0.0, np.log(300.0), stops))
    bodies = Bodies(
        mass, damping, stiffness, normals, np.ones(stops), ratios, push, 1.0,
        frequency, stiff if elastic else np.zeros(stops),
    )  # fmt: skip
    # Gaps and load so that the motion without stops about reaches some of them.
    reach = np.abs(normals @ bodies.response())
    gaps = reach * rng.uniform(0.3, 1.6, stops)
    gaps *= np.where(rng.random(stops) < 0.15, -0.5, 1.0)
    scale = 1 / max(np.abs(gaps).max(), 1e-9)
    bodies = Bodies(
        mass, damping, stiffness, normals, gaps * scale, ratios, push,
        scale * rng.uniform(0.5, 1.5), frequency, bodies.springs, exponent,
    )  # fmt: skip
    low, high = rng.uniform(0.5, 0.9), rng.uniform(1.1, 1.6)
    value = value_at(bodies, path)
    bounds = sorted((low * value, high * value))
    if path == HARD:
        bounds = max(0.0, value - 0.3), min(1.0, value + 0.3)
    return bodies, path, (float(bounds[0]), float(bounds[1]))


def _normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return the direction of a stop to the ground, or between two neighbours."""
    normal = np.zeros(n)
    i = rng.integers(n)
    normal[i] = rng.choice([-1.0, 1.0])
    if i + 1 < n and rng.random() < 0.4:
        normal[i + 1] = -normal[i]
    return normal


def value_at(bodies: Bodies, path: str) -> float:
    """Return the value of a parameter."""
    name = path.split(".")[-1]
    if path.startswith("loads"):
        return getattr(bodies, name)
    return {"gap": bodies.gaps, "restitution": bodies.restitutions,
            "stiffness": bodies.springs}[name][0]  # fmt: skip


def system_of(bodies: Bodies) -> jv.ImpactSystem:
    """Return the system as one of jaxvib."""
    elastic = jv.LinearContact if bodies.exponent == 1 else jv.HertzContact
    laws = [
        elastic(k) if k else jv.RestitutionContact(e)
        for k, e in zip(bodies.springs, bodies.restitutions, strict=True)
    ]
    return jv.ImpactSystem(
        jv.LinearSystem(bodies.mass, bodies.damping, bodies.stiffness),
        [
            jv.Contact(normal, gap, law)
            for normal, gap, law in zip(bodies.normals, bodies.gaps, laws, strict=True)
        ],
        [jv.AppliedLoad(bodies.push, jv.HarmonicLoad(bodies.amplitude, bodies.frequency))],
    )


def settled(bodies: Bodies) -> tuple[np.ndarray, int] | None:
    """Return the state after a transient, and after how many periods it recurs."""
    n = len(bodies.mass)
    room = linprog(np.zeros(n), bodies.normals, bodies.gaps - 0.01, bounds=(-10.0, 10.0))
    if room.status:
        return None
    flights, states = flights_of(bodies), [np.append(room.x, np.zeros(n))]
    try:
        for _ in range(_TRANSIENT):
            states.append(flights.motion(states[-1]).state)
    except FlightError:
        return None
    size = np.abs(states[-1]).max()
    for periods in range(1, 5):
        if np.abs(states[-1] - states[-1 - periods]).max() < 1e-3 * size:
            return states[-1], periods
    return states[-1], 1


def measured(number: int, elastic: bool = False) -> dict:
    """Return what is wrong with the branch of a system, and what it took."""
    bodies, path, bounds = drawn(number, elastic)
    row = {"number": number, "path": path, "bounds": bounds}
    system, start = system_of(bodies), settled(bodies)
    if start is None:
        return row | {"start": "no room between the stops, or chattering", "faults": []}
    begin = time.process_time()
    orbit = jv.periodic_orbit(system, start[0], start[1], throw=False)
    if int(orbit.result):
        return row | {"start": jv.reason(int(orbit.result)), "faults": []}
    branch = jv.continue_orbit(
        system, orbit, path, bounds, settings=SETTINGS, progress=False
    )
    traced = time.process_time()
    found = judged(branch, bodies, path, bounds[1] - bounds[0])
    return row | {
        "points": found.points,
        "grazings": found.grazings,
        "uncertain": found.skipped,
        "ends": [jv.reason(int(code)) for code in branch.ends],
        "faults": [[fault.kind, fault.value, fault.words] for fault in found.faults],
        "seconds": [traced - begin, time.process_time() - traced],
    }


def summary(rows: list[dict]) -> dict:
    """Return the counts over all systems: faults, and branches with one."""
    traced = [row for row in rows if "points" in row]
    ends = Counter(end for row in traced for end in row["ends"])
    faults = {
        kind: [
            sum(fault[0] == kind for row in traced for fault in row["faults"]),
            sum(any(fault[0] == kind for fault in row["faults"]) for row in traced),
        ]
        for kind in KINDS
    }
    totals = {
        name: sum(row[name] for row in traced)
        for name in ("points", "grazings", "uncertain")
    }
    seconds = np.sum([row["seconds"] for row in traced], axis=0).round(1).tolist()
    starts = Counter(row["start"] for row in rows if "start" in row)
    return {
        "systems": len(rows),
        "branches": len(traced),
        **totals,
        "faults, branches": faults,
        "branches with any": sum(bool(row["faults"]) for row in traced),
        "without a start": dict(starts.most_common()),
        "ends": dict(ends.most_common()),
        "core-seconds": {"jaxvib": seconds[0], "judging": seconds[1]},
    }


def table(found: dict) -> str:
    """Return the counts as a table."""
    lines = [
        f"{found['branches']} branches of {found['systems']} systems, "
        f"{found['points']} points, {found['grazings']} listed grazings",
        f"{'':22}{'faults':>8}{'branches':>10}",
    ]
    for kind, (count, branches) in found["faults, branches"].items():
        lines.append(f"{kind:22}{count:8}{branches:10}")
    lines.append(f"{'any':22}{'':8}{found['branches with any']:10}")
    return "\n".join(lines)


def main() -> None:
    """Trace and judge the branches, and store what is wrong with each."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--number", type=int, default=300)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--elastic", action="store_true")
    options.add_argument("--to", type=Path)
    given = options.parse_args()
    name = "random_elastic.json" if given.elastic else "random_impacts.json"
    rows = []
    for number in range(given.first, given.first + given.number):
        rows.append(measured(number, given.elastic))
        for kind, value, words in rows[-1]["faults"]:
            print(f"{number}: {kind} at {value:.10g}: {words}", flush=True)
    found = summary(rows)
    to = given.to or Path(__file__).with_name(name)
    to.write_text(json.dumps({"summary": found, "systems": rows}, indent=1) + "\n")
    print(table(found))
    for key in ("without a start", "ends", "core-seconds"):
        print(key, json.dumps(found[key]))


if __name__ == "__main__":
    main()
