"""Bifurcations of forced oscillators compared with reference values.

    python -m experiments.bifurcations.run [NAME ...]

Every branch is continued automatically from one orbit; the bifurcations found are
printed with their reference values and stored in `results.json`; with names, only those
again.
"""

import argparse
import json
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import scipy.special

import jaxvib as jv
from experiments.bifurcations import closed_forms, nlvib
from experiments.machine import machine

TAU = 2 * np.pi


def duffing(t, x, p):
    """Return the rates of x'' + 0.04 x' + x + x^3 = 0.015 cos(w t)."""
    return [x[1], 0.015 * jnp.cos(p["w"] * t) - 0.04 * x[1] - x[0] - x[0] ** 3]


def fitzhugh_nagumo(t, x, p):
    """Return the rates of AUTO's demo ffn."""
    push = x[0] - x[0] ** 3 / 3 + x[1] - p["amp"] * jnp.cos(10 * t)
    return [3 * push, -(x[0] - p["a"] + 0.8 * x[1]) / 3]


def predator_prey(t, x, p):
    """Return the rates of a predator and its prey through the seasons."""
    eaten = 4 * jnp.pi * x[0] * x[1] / (p["b0"] * (1 + p["eps"] * jnp.cos(TAU * t)) + x[0])
    return [TAU * (1 - x[0]) * x[0] - eaten, eaten - TAU * x[1]]


def mathieu(t, x, p):
    """Return the rates of x'' + (a - 0.8 cos 2 t) x = 0."""
    return [x[1], -(p["a"] - 0.8 * jnp.cos(2 * t)) * x[0]]


def pendulum(t, x, p):
    """Return the rates of a driven pendulum."""
    return [x[1], 1.5 * jnp.cos(2 / 3 * t) - x[1] / p["quality"] - jnp.sin(x[0])]


def impact_oscillator():
    """Return x'' + 0.1 x' + x = A cos t with a hard stop at 1 of restitution 0.8."""
    one = jnp.array([1.0])
    linear = jv.LinearSystem(jnp.eye(1), 0.1 * jnp.eye(1), jnp.eye(1))
    stop = jv.Contact(one, 1.0, jv.RestitutionContact(0.8))
    load = jv.AppliedLoad(one, jv.HarmonicLoad(0.09, 1.0))
    return jv.ImpactSystem(linear, (stop,), (load,))


def forced(field, period, **parameters):
    """Return the forced system of two states."""
    return jv.forced_system(field, parameters=parameters, period=period, dimension=2)


DUFFING = "reference value"
AUTO_DUFFING = "AUTO-07p, NTST = 20, NCOL = 4, 11 digits printed"
COCO = "COCO, its example po/bistable with NTST = 60"
COCO_STOP = "COCO, its example po/impact with NTST = 60"
AUTO_FINE = "AUTO-07p, its demo ffn with NTST = 200, 11 digits printed"
DOP853 = "det M = 1 by scipy's DOP853 at 1e-13"
AUTO = "printed by AUTO-07p for its demo ffn"
KUZNETSOV = "reference value of Kuznetsov's forced predator and prey"
STOP = "closed form of the orbit with one impact"
CASES = {
    "Duffing": (
        forced(duffing, lambda p: TAU / p["w"], w=1.0), [0.0, 0.0], "w", (0.9, 1.3),
        [("fold", 1.0492623992, DUFFING), ("fold", 1.0439137088, DUFFING),
         ("fold", 1.0492623993, AUTO_DUFFING), ("fold", 1.0439137088, AUTO_DUFFING),
         ("fold", 1.0492624011782, COCO), ("fold", 1.0439137025099, COCO)],
    ),
    "FitzHugh-Nagumo, amp = 0.1": (
        forced(fitzhugh_nagumo, TAU / 10, a=0.8, amp=0.1), [1.26, -0.59], "a", (0.0, 1.5),
        [("neimark_sacker", 0.422945, AUTO), ("neimark_sacker", 0.42294465300, AUTO_FINE),
         ("neimark_sacker",
          closed_forms.fitzhugh_nagumo_torus("a", (0.4229, 0.423), amp=0.1), DOP853)],
    ),
    "FitzHugh-Nagumo, a = 0": (
        forced(fitzhugh_nagumo, TAU / 10, a=0.0, amp=5.0), [0.2, 0.0], "amp", (3.0, 8.0),
        [("neimark_sacker", 4.52337, AUTO), ("neimark_sacker", 4.5233745040, AUTO_FINE),
         ("neimark_sacker",
          closed_forms.fitzhugh_nagumo_torus("amp", (4.5233, 4.5234), a=0.0), DOP853)],
    ),
    "predator and prey, b0 = 0.45": (
        forced(predator_prey, 1.0, b0=0.45, eps=0.2), [0.42, 0.23], "eps", (0.0, 0.8),
        [("period_doubling", 0.3930911888, KUZNETSOV)],
    ),
    "predator and prey, eps = 0.2": (
        forced(predator_prey, 1.0, b0=0.45, eps=0.2), [0.42, 0.23], "b0", (0.3, 0.8),
        [("neimark_sacker", 0.3356174258, KUZNETSOV)],
    ),
    "Mathieu, q = 0.4": (
        forced(mathieu, np.pi, a=2.0), [0.0, 0.0], "a", (0.3, 4.5),
        [("period_doubling", scipy.special.mathieu_b(1, 0.4), "scipy.special"),
         ("period_doubling", scipy.special.mathieu_a(1, 0.4), "scipy.special"),
         ("branch_point", scipy.special.mathieu_b(2, 0.4), "scipy.special"),
         ("branch_point", scipy.special.mathieu_a(2, 0.4), "scipy.special")],
    ),
    "pendulum": (
        forced(pendulum, TAU * 1.5, quality=1.1), None, "quality", (1.0, 1.5),
        [("branch_point", 1.245, "Fitzpatrick, read off a diagram")],
    ),
    "impact oscillator, w = 1": (
        impact_oscillator(), [0.0, 0.9], "loads.0.law.amplitude", (0.05, 0.2),
        [("grazing", 0.1, "closed form"), ("fold", 0.0999707536283133, STOP),
         ("grazing", 0.0999999999829, COCO_STOP), ("fold", 0.0999707528559, COCO_STOP)],
    ),
    **closed_forms.CASES,
    **nlvib.CASES,
}  # fmt: skip

# Two of Mathieu's values lie within a twentieth of the range.
STEPS = {"Mathieu, q = 0.4": 0.03}


def found(system, guess, path, bounds, step):
    """Return a branch and the seconds that it took, compiling included."""
    begin = time.perf_counter()
    orbit = jv.periodic_orbit(system, None if guess is None else np.array(guess))
    settings = jv.branches.ContinuationSettings(largest_step=step)
    branch = jv.continue_orbit(system, orbit, path, bounds, settings=settings)
    return branch, time.perf_counter() - begin


def compared(name: str) -> list[dict]:
    """Return a case's reference values with ours beside them."""
    system, guess, path, bounds, published = CASES[name]
    branch, seconds = found(system, guess, path, bounds, STEPS.get(name))
    rows, others = [], set(range(len(branch.bifurcations)))
    for kind, value, source in published:
        which, near = min(
            (
                (number, point)
                for number, point in enumerate(branch.bifurcations)
                if point.kind == kind
            ),
            key=lambda one, value=value: abs(float(one[1].parameter) - value),
        )
        others.discard(which)
        ours = float(near.parameter)
        rows.append(
            {
                "system": name,
                "kind": kind,
                "parameter": path,
                "published": float(value),
                "source": source,
                "ours": ours,
                "difference": ours - float(value),
                "points": len(branch.parameter),
                "seconds with compilation": round(seconds, 1),
            }
        )
        print(f"{name:30} {kind:16} {value:<14.10g} {ours:<16.12g} {ours - value:+.1e}")
    left = [branch.bifurcations[number] for number in sorted(others)]
    rows[-1]["others found"] = [f"{p.kind} {float(p.parameter):.10g}" for p in left]
    return rows


def main() -> None:
    """Follow every branch, or those named; print and store."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("names", nargs="*")
    names = arguments.parse_args().names or list(CASES)
    file = Path(__file__).with_name("results.json")
    order = list(CASES)
    for name in names:
        rows = compared(name)
        kept = json.loads(file.read_text())["rows"] if file.exists() else []
        kept = [row for row in kept if row["system"] in set(order) - {name}] + rows
        kept.sort(key=lambda row: order.index(row["system"]))
        file.write_text(json.dumps({"machine": machine(), "rows": kept}, indent=1) + "\n")


if __name__ == "__main__":
    main()
