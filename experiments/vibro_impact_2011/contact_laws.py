"""Hertz contact and hard stop: the stiffness above which both agree.

    python -m experiments.vibro_impact_2011.contact_laws

A Hertz contact without damping is elastic, so that its limit for K to infinity is a
stop of restitution 1, which the orbits must approach as K^(-2/5), the order of the
contact duration. Computed are the paper's motion at 500 N and 5.8 rad/s with both laws,
and the fold that ends its branch at low loads. Writes `contact_laws.json`.
"""

import json
import time
from pathlib import Path

import numpy as np

import jaxvib as jv

PATH = "load.amplitude"
STIFFNESSES = (3.504e7, 1e9, 1.53696e11, 1e13)


def system(law):
    """Return the two-body system with a law of contact."""
    return jv.two_body_impact(contact=law)


def fold(law, orbit, low: float) -> float:
    """Return the load at which the branch of an orbit turns back."""
    branch = jv.continue_orbit(system(law), orbit, PATH, (low, 510.0), "arclength")
    loads = [float(p.parameter) for p in branch.bifurcations if p.kind == "fold"]
    return min(loads)


def main() -> None:
    """Compare, print and store."""
    begin = time.perf_counter()
    stop = jv.RestitutionContact(1.0)
    steel = jv.periodic_orbit(system(jv.HertzContact(STIFFNESSES[2])))
    hard = jv.periodic_orbit(system(stop), steel.state, periods=1)
    size = np.abs(hard.state).max()
    rows = []
    for stiffness in STIFFNESSES:
        law = jv.HertzContact(stiffness)
        orbit = jv.periodic_orbit(system(law), hard.state, periods=1)
        rows.append(
            {
                "stiffness, N/m^1.5": stiffness,
                "state, off the stop's": float(
                    np.abs(orbit.state - hard.state).max() / size
                ),
                "largest |multiplier|": float(orbit.largest_multiplier),
                "amplitude of the main body, m": float(orbit.amplitude[0]),
                "contact duration, s": float(orbit.contact_duration),
                "fold, N": fold(law, orbit, 90.0),
            }
        )
        print(rows[-1], flush=True)
    rows.append(
        {
            "stiffness, N/m^1.5": "stop, restitution 1",
            "largest |multiplier|": float(hard.largest_multiplier),
            "amplitude of the main body, m": float(hard.amplitude[0]),
            "fold, N": fold(stop, hard, 90.0),
        }
    )
    print(rows[-1], f"{time.perf_counter() - begin:.0f} s", flush=True)
    first, last = rows[2:4]
    orders = np.log(first["state, off the stop's"] / last["state, off the stop's"])
    order = float(orders / np.log(last["stiffness, N/m^1.5"] / first["stiffness, N/m^1.5"]))
    print(f"order in 1 / K: {order:.3f}")
    file = Path(__file__).with_name("contact_laws.json")
    file.write_text(json.dumps({"order in 1 / K": order, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
