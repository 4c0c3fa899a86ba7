"""Random beams with bodies of every kind: number of certified ones, and errors.

    python experiments/benchmarks/random_beams.py [SYSTEMS] [RESULT.json]

Each system is drawn from all options of `BeamWithBodies`; its first 10 eigenvalues are
computed. The values and their number in all certified systems are compared with finite
elements of high degree that share no code, to 1e-6 relative. For closely spaced links
or slow motions rounding in the elements is larger: a system that differs is compared on
two other meshes, and if the number is right and only digits differ, a determinant in 40
digits decides. A certified list that still differs is wrong. The same determinant gives
the errors of a sample.
"""

import json
import os
import pathlib
import platform
import sys
import time

import jax
import numpy as np

import jaxvib as jv

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests" / "modes" / "beams"))
from exact_determinant import errors
from finite_elements import eigenvalues

ENDS = ("clamped", "hinged", "sliding", "free")
COUNT = 10
AGREE = 1e-6
BEGIN = time.perf_counter()
SAMPLE = 250  # one of so many systems has its errors told


def draw(random):
    """Return a kind's name and a system, as `finite_elements.eigenvalues` takes it."""
    kind = str(random.choice(list(KINDS)))
    case = {"ends": tuple(random.choice(ENDS, 2).tolist())} | KINDS[kind](random)
    if random.random() < 0.15:
        places = case["positions"]
        case["positions"] = places[:1].repeat(len(places))  # coincident
    if random.random() < 0.15:
        case["positions"] = np.round(case["positions"])  # at the ends
    if random.random() < 0.2:
        side = int(random.integers(2))
        ends = list(case["ends"])
        ends[side] = "free"
        springs = 10 ** random.uniform(-1, 5, 2) * (random.random(2) < 0.7)
        case |= {"ends": tuple(ends), "supports": [(float(side), *springs.tolist())]}
    return kind, case


def _links(random, low, high):
    number = int(random.integers(low, high))
    return {
        "positions": np.round(random.random(number), 2),
        "stiffness": 10 ** random.uniform(-2, 6, number) * (random.random(number) < 0.9),
        "damping": 10 ** random.uniform(-3, 2, number) * (random.random(number) < 0.7),
    }


def _oscillators(random):
    links = _links(random, 1, 5)
    number = len(links["positions"])
    masses = np.diag(10 ** random.uniform(-3, 1, number))
    return links | {"link_map": np.eye(number), "mass": masses}


def _rigid_body(random):
    links = _links(random, 2, 5)
    places = links["positions"]
    mass = 10 ** random.uniform(-2, 1)
    inertia = mass * random.uniform(0.01, 0.3) ** 2
    link_map = np.stack([np.ones_like(places), places - places.mean()], axis=1)
    return links | {"link_map": link_map, "mass": np.diag([mass, inertia])}


def _chain(random):
    number = int(random.integers(2, 5))
    links = _links(random, 1, number)
    springs = 10 ** random.uniform(-1, 4, number + 1)
    springs[[0, -1]] *= random.random(2) < 0.3  # some chains are tied to the ground
    stiffness = np.diag(springs[:-1] + springs[1:])
    stiffness -= np.diag(springs[1:-1], 1) + np.diag(springs[1:-1], -1)
    return links | {
        "link_map": np.eye(number)[: len(links["positions"])],
        "mass": np.diag(10 ** random.uniform(-3, 1, number)),
        "body_stiffness": stiffness,
        "body_damping": stiffness * 10 ** random.uniform(-4, -2),
    }


def _ground(random):
    return _links(random, 1, 4)


def _lumped(random):
    links = _links(random, 1, 4)
    number = len(links["positions"])
    return links | {
        "stiffness": np.zeros(number),
        "damping": np.zeros(number),
        "inertance": 10 ** random.uniform(-3, 1, number),
        "turns": (random.random(number) < 0.4).tolist(),
    }


def _turning(random):
    case = _oscillators(random)
    return case | {"turns": (random.random(len(case["positions"])) < 0.5).tolist()}


def _general(random):
    links = _links(random, 1, 5)
    number, bodies = len(links["positions"]), int(random.integers(1, 5))
    roots = random.normal(size=(3, bodies, bodies))
    mass, damping, stiffness = (root @ root.T for root in roots)
    skew = random.normal(size=(bodies, bodies)) * (random.random() < 0.3)
    return links | {
        "link_map": random.normal(size=(number, bodies)),
        "mass": mass * 10 ** random.uniform(-3, 1) + 1e-3 * np.eye(bodies),
        "body_damping": damping * 10 ** random.uniform(-3, 1) + skew - skew.T,
        "body_stiffness": stiffness * 10 ** random.uniform(-2, 3),
    }


def _active(random):
    case = _oscillators(random)
    coupling = np.diag(case["stiffness"])
    return case | {"coupling": coupling * random.uniform(0.5, 1.5, coupling.shape)}


KINDS = {
    "oscillators": _oscillators,
    "rigid body on links": _rigid_body,
    "chain, partly linked": _chain,
    "springs and dampers to the ground": _ground,
    "lumped masses and inertias": _lumped,
    "links that turn": _turning,
    "full matrices, gyroscopic": _general,
    "active coupling": _active,
}


def system_of(case):
    ends = list(case["ends"])
    for place, *springs in case.get("supports", ()):
        ends[int(place)] = jv.ElasticSupport(*springs)
    return jv.BeamWithBodies(
        jv.Beam(1.0, 1.0, 1.0, ends),
        case["positions"],
        case["stiffness"],
        case["damping"],
        case.get("link_map"),
        case.get("mass"),
        case.get("body_damping"),
        case.get("body_stiffness"),
        case.get("coupling"),
        None,
        case.get("inertance"),
        case.get("turns"),
    )


def difference(case, modes, elements, degree):
    """Return the largest relative difference of two lists that are matched in order."""
    theirs = eigenvalues(**case, elements=elements, degree=degree)
    ours = np.asarray(modes.values)
    # rigid motions are exact zeros of ours and pairs of noise of elements
    noise = 1e-3 if np.any(np.abs(ours) < 1e-7) else 0.0
    ours, theirs = (each[np.abs(each) > noise] for each in (ours, theirs))
    theirs = theirs[: len(ours) + 4]
    apart = np.abs(ours[:, None] - theirs) / (1e-6 + np.abs(ours[:, None]))
    # each of ours takes the nearest that is left
    worst = 0.0
    for row in apart:
        nearest = int(np.argmin(row))
        worst = max(worst, row[nearest])
        apart[:, nearest] = np.inf
    # and none of theirs that is clearly smaller is left over
    skipped = np.isfinite(apart[0]) & (np.abs(theirs) < (1 - 1e-4) * np.abs(ours[-1]))
    return np.inf if np.any(skipped) else float(worst)


def main(number, path):
    random = np.random.default_rng(11)
    done = {"certified": {}, "wrong": [], "failed": [], "again": 0, "seconds": 0.0,
            "worst": 0.0, "decided": [], "errors": []}  # fmt: skip
    for index in range(number):
        kind, case = draw(random)
        begin = time.perf_counter()
        modes = jv.beam_eigenvalues(system_of(case), count=COUNT)
        sound = bool(modes.certified)
        done["seconds"] += time.perf_counter() - begin
        done["certified"].setdefault(kind, []).append(sound)
        what = {"system": index, "kind": kind, "ends": case["ends"]}
        if sound:
            _compare(case, modes, what, done)
            if index % SAMPLE == 0:
                done["errors"] += errors(case, modes)
        else:
            done["failed"].append(what)
        if path and (index + 1) % 500 == 0:
            pathlib.Path(path).write_text(_text(index + 1, done))
    text = _text(number, done)
    print(text)
    if path:
        pathlib.Path(path).write_text(text)


def _compare(case, modes, what, done):
    apart = difference(case, modes, 4, 11)
    if not apart <= AGREE:
        done["again"] += 1
        apart = min(difference(case, modes, *mesh) for mesh in ((8, 9), (2, 14)))
    if apart <= AGREE:
        done["worst"] = max(done["worst"], apart)
        return
    what |= {"difference": apart}
    if apart < 1e-3:
        what |= {"error_by_40_digits": max(errors(case, modes))}
    right = what.get("error_by_40_digits", np.inf) <= AGREE
    done["decided" if right else "wrong"].append(what)


def _text(number, done) -> str:
    kinds = sorted(done["certified"].items())
    total = sum(sum(each) for _, each in kinds)
    result = {
        "systems": number,
        "values_of_each": COUNT,
        "certified": total / number,
        "not_certified": done["failed"],
        "compared_with_elements": total,
        "of_these_again_on_other_meshes": done["again"],
        "largest_difference_of_those_that_agree": done["worst"],
        "decided_by_40_digits": done["decided"],
        "certified_but_wrong": done["wrong"],
        "errors_of_a_sample": {
            "systems": -(-number // SAMPLE), "values": len(done["errors"]),
            **{name: float(np.quantile(done["errors"], part)) for name, part in
               (("median", 0.5), ("99 %", 0.99), ("largest", 1.0))},
        },
        "kinds": {n: {"systems": len(each), "certified": sum(each)} for n, each in kinds},
        "ms_per_system_with_compilation": 1e3 * done["seconds"] / number,
        "seconds_in_all": time.perf_counter() - BEGIN,
        "processor_seconds_in_all": time.process_time(),
        "machine": {"device": jax.devices()[0].device_kind, "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), "jax": jax.__version__,
                     "numpy": np.__version__},
    }  # fmt: skip
    return json.dumps(result, indent=1) + "\n"


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
        sys.argv[2] if len(sys.argv) > 2 else None,
    )
