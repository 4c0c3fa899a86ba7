"""Orbits and their derivatives for systems of increasing size: accuracy and cost.

    python -m experiments.benchmarks.large_systems [--bodies 2 8 32 200] [--few 2 3 8]

Bodies of 1 kg in a row on springs and dampers, up to five of them with a Hertz stop,
two loads. `periodic_orbit` without a guess: first and second call, wall and CPU time.
Errors compared with scipy's DOP853 at 1e-13 on separately written equations, after one
period: of the state, and of M along a random direction by the variational equation,
both relative to the largest entry. Derivatives of state, largest multiplier and largest
force by 10 parameters (`jax.jacfwd`), one along a random direction compared with a
central difference of the orbit. Writes `large_systems-<device>-<cores>.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments.machine import machine

FREQUENCY = 12.0
FIELDS = ("state", "largest_multiplier", "max_contact_force")


def row(bodies: int) -> jv.ImpactSystem:
    """Return bodies in a row, each on a spring of its own, some beside a stop."""
    modules = []
    for i in range(bodies):
        left = f"b{i - 1}" if i else "ground"
        modules += [
            jv.TranslationTranslation(
                left, f"b{i}", mass=1.0, stiffness=2000.0, damping=2.0
            ),
            jv.TranslationTranslation(
                "ground", f"b{i}", mass=0.0, stiffness=200.0, damping=2.0
            ),
        ]
    linear = jv.assemble(modules)
    places = np.unique(np.linspace(0, bodies - 1, 5).round().astype(int))
    stops = tuple(
        jv.Contact(linear.direction(f"b{p}"), 0.01 + 0.001 * j, jv.HertzContact(1e6))
        for j, p in enumerate(places)
    )
    pushes = tuple(
        jv.AppliedLoad(linear.direction(f"b{p}"), jv.HarmonicLoad(60.0, FREQUENCY))
        for p in places[:2]
    )
    return jv.ImpactSystem(linear, stops, pushes)


def timed(function):
    """Return what a function returns, with its wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    found = jax.block_until_ready(function())
    seconds = {
        "wall_s": round(time.perf_counter() - wall, 2),
        "processor_s": round(time.process_time() - processor, 2),
    }
    return found, seconds


def by_hand(system, start, direction):
    """Return scipy's state, and what a small change has become, after one period."""
    _, damping, springs = (np.asarray(m) for m in system.matrices())
    places = [int(np.argmax(np.asarray(c.direction))) for c in system.contacts]
    gaps = np.array([float(c.gap) for c in system.contacts])
    pushes = sum(np.asarray(p.direction) for p in system.loads)
    n = len(springs)

    def rates(time, both):
        x, v, dx, dv = both.reshape(4, n)
        push = 60.0 * np.cos(FREQUENCY * time) * pushes - springs @ x - damping @ v
        pull = -springs @ dx - damping @ dv
        depth = np.maximum(x[places] - gaps, 0)
        push[places] -= 1e6 * depth**1.5
        pull[places] -= 1.5e6 * np.sqrt(depth) * dx[places]
        return np.concatenate([v, push, dv, pull])

    found = solve_ivp(
        rates, (0, 2 * np.pi / FREQUENCY), np.concatenate([start, direction]),
        method="DOP853", rtol=1e-13, atol=1e-16,
    )  # fmt: skip
    return found.y[: 2 * n, -1], found.y[2 * n :, -1]


def orbit_of(bodies: int) -> dict:
    """Return times and errors of the orbit of a row."""
    system = row(bodies)
    orbit, first = timed(lambda: jv.periodic_orbit(system))
    _, second = timed(lambda: jv.periodic_orbit(system))
    state = np.asarray(orbit.state)
    direction = np.random.default_rng(5).normal(size=state.size)
    direction[:bodies] /= FREQUENCY
    end, expected = by_hand(system, state, direction)
    moved = np.asarray(orbit.monodromy) @ direction
    return {
        "bodies": bodies,
        "result": jv.reason(orbit.result),
        "stable": int(orbit.stable),
        "contacts": int(orbit.contacts),
        "first_call": first,
        "second_call": second,
        "state_error": float(np.abs(end - state).max() / np.abs(state).max()),
        "monodromy_error": float(np.abs(moved - expected).max() / np.abs(moved).max()),
        "determinant_defect": float(orbit.determinant_defect),
        "multiplier_error_bar": float(orbit.multiplier_error),
    }


def derivatives_of(bodies: int) -> dict:
    """Return times and errors of the derivatives of a row's orbit by 10 parameters."""
    system = row(bodies)
    orbit = jv.periodic_orbit(system)
    names = ["linear.modules.ground-b0.mass", "linear.modules.ground-b0.stiffness"]
    names += ["linear.modules.ground-b0.damping", "linear.modules.b0-b1.mass"]
    names += ["linear.modules.b0-b1.stiffness", "linear.modules.b0-b1.damping"]
    names += ["contacts.0.gap", "contacts.0.law.stiffness"]
    names += ["loads.0.law.amplitude", "loads.0.law.frequency"]
    known = jv.parameters(system)
    values = {name: jnp.asarray(known[name].value, float) for name in names}
    # The loads share their period.
    also = "loads.1.law.frequency"

    def measured(values):
        changed = values | {also: values["loads.0.law.frequency"]}
        found = jv.periodic_orbit(jv.replace(system, changed), orbit.state)
        return jnp.concatenate([jnp.atleast_1d(getattr(found, f)) for f in FIELDS])

    jacobian, first = timed(lambda: jax.jacfwd(measured)(values))
    _, second = timed(lambda: jax.jacfwd(measured)(values))
    rng = np.random.default_rng(7)
    turned = {name: float(rng.normal()) * float(values[name]) for name in names}
    step = 1e-6
    there, back = (
        np.asarray(
            measured({name: values[name] + s * step * turned[name] for name in names})
        )
        for s in (1, -1)
    )
    along = sum(np.asarray(jacobian[name]) * turned[name] for name in names)
    difference = (there - back) / (2 * step)
    sizes = np.concatenate(
        [
            np.full(2 * bodies, np.abs(along[: 2 * bodies]).max()),
            np.abs(along[2 * bodies :]),
        ]
    )
    errors = np.abs(along - difference) / sizes
    return {
        "bodies": bodies,
        "first_call": first,
        "second_call": second,
        "errors": {
            "state": float(errors[: 2 * bodies].max()),
            "largest_multiplier": float(errors[-2]),
            "max_contact_force": float(errors[-1]),
        },
    }


def main() -> None:
    """Measure and write the result file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, nargs="*", default=[2, 8, 32, 200])
    parser.add_argument("--few", type=int, nargs="*", default=[2, 3, 8])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    orbits, derivatives = [], []
    for bodies in arguments.bodies:
        orbits.append(orbit_of(bodies))
        print(json.dumps(orbits[-1]), flush=True)
    for bodies in arguments.few:
        derivatives.append(derivatives_of(bodies))
        print(json.dumps(derivatives[-1]), flush=True)
    found = {"machine": machine(), "orbits": orbits, "derivatives_by_10": derivatives}
    name = f"large_systems-{jax.default_backend()}-{os.cpu_count()}.json"
    (arguments.out / name).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
