r"""216 branches of the simplest oscillator with a hard stop, past their only known grazing.

    python -m experiments.bifurcations.impact_branches [--number 216]

$\ddot x + b\dot x + x = p\cos\omega t$ with a wall at 1: damping 0.02 to 0.3, restitution 0
to 0.8, frequency 0.3 to 3 of its own; each branch along p from half the grazing load to 1.3
of it. The motion that does not touch grazes where its amplitude is the gap. An orbit with
one impact of speed v a period has, in closed form, $(1, v)$ before it and $(1, -e v)$ after
it (`one_impact`), unless it rests at the wall then. All points are also judged by `judged`.
Writes `impact_branches.json`.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import numpy as np
from scipy.linalg import expm
from scipy.optimize import least_squares

import jaxvib as jv
from experiments.bifurcations.flights import Bodies, Flights
from experiments.bifurcations.judged import KINDS, judged

DAMPINGS, RESTITUTIONS = (0.1, 0.02, 0.3), (0.8, 0.5, 0.3, 0.0)
RATIOS = (0.3, 0.5, 0.6, 0.66, 0.6733, 0.7, 0.8, 0.9, 1.1, 1.3, 1.5, 1.8, 2.0, 2.05, 2.2,
          2.4, 2.6, 3.0)  # fmt: skip
CASES = [
    (r * float(np.sqrt(1 - b * b / 4)), b, e)
    for b in DAMPINGS for e in RESTITUTIONS for r in RATIOS
]  # fmt: skip
PATH = "loads.push.law.amplitude"
_COMPILED = "/jax/core/compile/backend_compile_duration"


def grazing_load(w: float, b: float) -> float:
    """Return the load at which the motion without impacts grazes the wall."""
    return float(abs(1 - w * w + 1j * b * w))


def one_impact(w: float, b: float, e: float, speed: float) -> np.ndarray:
    """Return the load, and the state at its crest, of an orbit with one impact a period."""
    rates, period = np.array([[0.0, 1.0], [-1.0, -b]]), 2 * np.pi / w
    before, after = np.array([1.0, speed]), np.array([1.0, -e * speed])
    whole = expm(rates * period)
    forced = np.linalg.solve(np.eye(2) - whole, before - whole @ after)
    here = complex(forced[0], -forced[1] / w)  # of x = Re(here exp(iwt)), t from the impact
    load, crest = abs(here) * grazing_load(w, b), abs(here) / (1 - w * w + 1j * b * w)
    crest *= grazing_load(w, b)
    rest = np.angle(here / crest) / w % period  # s, from the crest to the impact
    state = expm(rates * (period - rest)) @ (after - forced)
    return np.array([load, state[0] + crest.real, state[1] + (1j * w * crest).real])


def oscillator(w: float, b: float, e: float, load: float) -> jv.ImpactSystem:
    """Return the oscillator as a system of jaxvib."""
    mass = jv.TranslationTranslation("ground", "m", mass=1.0, stiffness=1.0, damping=b)
    stop = jv.Contact([1.0], gap=1.0, law=jv.RestitutionContact(e), name="wall")
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(load, w), "push")
    return jv.ImpactSystem(jv.assemble([mass]), [stop], [push])


def bodies(w: float, b: float, e: float, load: float) -> Bodies:
    """Return the same for `flights`."""
    one, ones = np.eye(1), np.ones(1)
    return Bodies(one, b * one, one, one, ones, np.array([e]), ones, load, w, np.zeros(1))


def measured(case: tuple[float, float, float]) -> dict:
    """Return what is wrong with the branch of a case, and what it says."""
    w, b, e = case
    size = grazing_load(w, b)
    system = oscillator(*case, 0.9 * size)
    z = 0.9 * size / (1 - w * w + 1j * b * w)
    orbit = jv.periodic_orbit(system, [z.real, (1j * w * z).real])
    branch = jv.continue_orbit(
        system, orbit, PATH, (0.5 * size, 1.3 * size), progress=False
    )
    own = bodies(*case, 0.9 * size)
    found = judged(branch, own, PATH, 0.8 * size)
    places = [float(x.parameter) / size for x in branch.bifurcations if x.kind == "grazing"]
    apart = [_from_closed_form(case, own, branch, i) for i in range(len(branch.parameter))]
    return {
        "frequency": w,
        "damping": b,
        "restitution": e,
        "points": len(branch.parameter),
        "grazings": places,
        "grazing off": min((abs(x - 1) for x in places), default=None),
        "below": [x for x in places if x < 1 - 1e-9 and _touches_nothing(branch, x * size)],
        "impacting off": max((x for x in apart if x is not None), default=None),
        "points with one impact": sum(x is not None for x in apart),
        "ends": [jv.reason(int(code)) for code in branch.ends],
        "faults": [[fault.kind, fault.value / size, fault.words] for fault in found.faults],
        "impacting points": int(np.sum(np.asarray(branch.contacts) > 0)),
    }


def _touches_nothing(branch, load: float) -> bool:
    """Return whether the points of a branch beside a load have no contacts."""
    near = np.argsort(np.abs(np.asarray(branch.parameter) - load))[:2]
    return not np.asarray(branch.contacts)[near].any()


def _from_closed_form(case, own: Bodies, branch, i: int) -> float | None:
    """Return how far a point is from the curve of orbits with one impact, relative."""
    if int(branch.contacts[i]) != 1 or int(branch.periods) != 1:
        return None
    point = np.append(branch.parameter[i], branch.states[i])
    touches = Flights(own.with_value(PATH, point[0])).motion(point[1:]).touches
    if len(touches) != 1 or (case[2] == 0 and touches[0].pressing > 0):
        return None  # told by `judged`, or at rest at the wall after the impact
    scale = np.array([point[0], *np.full(2, np.abs(point[1:]).max())])
    nearest = least_squares(
        lambda speed: (one_impact(*case, speed[0]) - point) / scale,
        [touches[0].speed], x_scale=touches[0].speed, xtol=1e-15, ftol=1e-15, gtol=1e-15,
    )  # fmt: skip
    return float(np.abs(nearest.fun).max())


def summary(rows: list[dict]) -> dict:
    """Return the counts over all branches."""
    off = [row["grazing off"] for row in rows]
    apart = [x for row in rows if (x := row["impacting off"]) is not None]
    kinds = {kind: [sum(f[0] == kind for f in row["faults"]) for row in rows]
             for kind in KINDS}  # fmt: skip
    return {
        "branches": len(rows),
        "points": sum(row["points"] for row in rows),
        "impacting points": sum(row["impacting points"] for row in rows),
        "grazing at 1 within 1e-10": sum(x is not None and x < 1e-10 for x in off),
        "grazing at 1 not within 1e-3": sum(x is None or x > 1e-3 for x in off),
        "branches with a false grazing where nothing touches": sum(
            bool(row["below"]) for row in rows
        ),
        "points with one impact": sum(row["points with one impact"] for row in rows),
        "branches with them": len(apart),
        "branches where all are within 1e-9": sum(x < 1e-9 for x in apart),
        "largest distance from the closed form": max(apart),
        "faults (branches)": {
            kind: f"{sum(found)} ({sum(map(bool, found))})" for kind, found in kinds.items()
        },
    }


def main() -> None:
    """Trace and judge all branches, or an even sample of them."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--number", type=int, default=len(CASES))
    options.add_argument("--to", type=Path, default=Path(__file__).with_suffix(".json"))
    given = options.parse_args()
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, seconds, **_: compiled.append(seconds) if name == _COMPILED else None
    )
    chosen = np.linspace(0, len(CASES) - 1, given.number).round().astype(int)
    began, rows, programs = time.process_time(), [], []
    for i in chosen:
        rows.append(measured(CASES[i]))
        programs.append(len(compiled))
        for kind, value, words in rows[-1]["faults"]:
            print(f"{i}: {kind} at {value:.10g}: {words}", flush=True)
    found = summary(rows) | {
        "programs compiled": programs[-1],
        "of them after the first tenth": programs[-1] - programs[len(rows) // 10],
        "core-seconds": round(time.process_time() - began, 1),
    }
    given.to.write_text(json.dumps({"summary": found, "branches": rows}, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
