"""Error bars of periodic orbits, compared with true errors from 18 digits.

    python -m experiments.error_bars [--number 200] [--seed 1]

Random chains of one, two and three bodies under a harmonic load, with Hertz contacts
from soft to rigid, linear stops, and (event-driven) hard stops; gaps may be closed at
rest. A guess comes from a fixed-step integration; each engine computes its orbit from
there, and `tests/extended.py`, which shares no code with either, the true one. Writes
the shares of orbits whose true errors are below their error bars, the largest error in
bars, and the ratio of error bars to true errors to `experiments/error_bars.json`.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from jaxvib.dynamics.engines import plan_for
from jaxvib.ensemble import map_samples
from jaxvib.orbits.periodic_orbit import orbit_from_guess
from tests import extended

RESULT = Path(__file__).with_suffix(".json")
ENGINES = {"diffrax": ("hertz", "linear"), "event": ("hertz", "linear", "stop")}
# Bodies, their chain's contacts: each between two bodies, or of one with a wall.
CONTACTS = {1: ([1],), 2: ([1, -1],), 3: ([1, -1, 0], [0, 1, -1])}
_TRANSIENT, _STEPS = 80, 800  # periods, steps each
_ROUNDING = float(np.finfo(float).eps)
NAMES = ("state", "multipliers")


def random_samples(rng, bodies: int, law: str, number: int) -> dict:
    """Return parameters of random chains, each an array with a leading axis of samples.

    The ground carries body 1, body 1 carries body 2 and so on; times are in units of
    1 / rad/s of the first body, lengths in about a load's static displacement.
    """
    shape = number, bodies

    def spread(low, high, size=shape):
        return np.exp(rng.uniform(np.log(low), np.log(high), size))

    masses = np.concatenate([np.ones((number, 1)), spread(0.1, 1.0, shape)[:, 1:]], 1)
    rates = np.concatenate([np.ones((number, 1)), spread(0.5, 2.0, shape)[:, 1:]], 1)
    ratios = spread(2e-3, 0.1)
    mass, damping, stiffness = (np.zeros((number, bodies, bodies)) for _ in range(3))
    for i in range(bodies):
        link = np.zeros(bodies)
        link[i] = 1.0
        if i:
            link[i - 1] = -1.0
        outer = np.outer(link, link)
        spring = masses[:, i] * rates[:, i] ** 2
        stiffness += spring[:, None, None] * outer
        damping += (2 * ratios[:, i] * masses[:, i] * rates[:, i])[:, None, None] * outer
        mass[:, i, i] = masses[:, i]
    count = len(CONTACTS[bodies])
    gaps = rng.uniform(0.0, 1.5, (number, count))
    if law != "stop":  # a third is pressed, or closed without force
        pressed = rng.uniform(size=(number, count)) < 1 / 3
        gaps = np.where(pressed, np.minimum(0.0, rng.uniform(-0.3, 0.1, gaps.shape)), gaps)
    ranges = {"hertz": (1e1, 1e9), "linear": (3e0, 1e5), "stop": (0.3, 0.95)}
    return {
        "mass": mass,
        "damping": damping,
        "stiffness": stiffness,
        "gaps": gaps,
        "values": spread(*ranges[law], (number, count)),
        "amplitude": spread(0.2, 2.0, number),
        "frequency": spread(0.4, 2.5, number),
        "phase": rng.uniform(0, 2 * np.pi, number),
        "periods": rng.choice([1, 1, 1, 2], number),
    }


def settled(samples: dict, bodies: int, law: str) -> np.ndarray:
    """Return states at t = 0 after a transient, by fixed steps: guesses, no more."""
    inverse = np.linalg.inv(samples["mass"])
    damping, stiffness = inverse @ samples["damping"], inverse @ samples["stiffness"]
    directions = np.array(CONTACTS[bodies], float)
    pushes = np.einsum("sij,cj->sci", inverse, directions)
    period = 2 * np.pi / samples["frequency"]
    h = (period / _STEPS)[:, None]
    values, gaps = samples["values"], samples["gaps"]
    pull = inverse[:, :, 0] * samples["amplitude"][:, None]
    # As stiff as the steps can follow: contacts are shorter than they are.
    response = np.einsum("sci,ci->sc", pushes, directions)
    most = 0.03 / (h**2 * response)

    def rate(t, q, v):
        depth = q @ directions.T - gaps
        z = np.maximum(depth, 0)
        force = values * (z**1.5 if law == "hertz" else z) if law != "stop" else 0 * z
        force = np.minimum(force, most * z)
        load = np.cos(samples["frequency"] * t + samples["phase"])[:, None] * pull
        a = load - np.einsum("sij,sj->si", stiffness, q)
        a = a - np.einsum("sij,sj->si", damping, v)
        return v, a - np.einsum("sci,sc->si", pushes, force)

    q, v = np.zeros_like(pull), np.zeros_like(pull)
    for step in range(_TRANSIENT * _STEPS):
        t = (step % _STEPS) * h[:, 0]
        k1 = rate(t, q, v)
        k2 = rate(t + h[:, 0] / 2, q + h / 2 * k1[0], v + h / 2 * k1[1])
        q, v = q + h * k2[0], v + h * k2[1]
        if law == "stop":
            speed = v @ directions.T
            hits = (q @ directions.T > gaps) & (speed > 0)
            impulse = np.where(hits, (1 + values) * speed / response, 0.0)
            v = v - np.einsum("sci,sc->si", pushes, impulse)
    return np.concatenate([q, v], axis=1)


def system_of(sample: dict, bodies: int, law: str) -> jv.ImpactSystem:
    """Return jaxvib's system of one sample."""
    made = {"hertz": jv.HertzContact, "linear": jv.LinearContact,
            "stop": jv.RestitutionContact}[law]  # fmt: skip
    linear = jv.LinearSystem(sample["mass"], sample["damping"], sample["stiffness"])
    contacts = tuple(
        jv.Contact(
            jnp.array(direction, float), sample["gaps"][i], made(sample["values"][i])
        )
        for i, direction in enumerate(CONTACTS[bodies])
    )
    law_ = jv.HarmonicLoad(sample["amplitude"], sample["frequency"], sample["phase"])
    load = jv.AppliedLoad(jnp.eye(bodies)[0], law_)
    return jv.ImpactSystem(linear, contacts, (load,))


def orbits(samples: dict, guesses, bodies: int, law: str, engine: str):
    """Return jaxvib's orbits of all samples, mapped as one compiled program."""

    def find(lane):
        sample, guess = lane
        periods = jnp.asarray(sample["periods"], jnp.int32)
        system = system_of(sample, bodies, law)
        plan = plan_for(system, engine, guess)
        settings = periods, jnp.asarray(1e-8), jnp.asarray(1e-2)
        return orbit_from_guess(system, guess, *settings, plan)

    return map_samples(find, (samples, guesses), chunk=32)


def true_orbit(sample: dict, guess, bodies: int, law: str) -> extended.Orbit:
    """Return the true orbit of one sample next to a guess."""
    touches = [
        extended.Touch(direction, gap, law, value)
        for direction, gap, value in zip(
            CONTACTS[bodies], sample["gaps"], sample["values"], strict=True
        )
    ]
    system = extended.System(
        sample["mass"], sample["damping"], sample["stiffness"], touches,
        np.eye(bodies)[0], sample["amplitude"], sample["frequency"], sample["phase"],
    )  # fmt: skip
    return extended.periodic_orbit(system, guess, int(sample["periods"]))


def compared(orbit, true: extended.Orbit) -> dict:
    """Return true errors and error bars of one orbit, and what else tells of it."""
    ours = np.asarray(orbit.floquet_multipliers)
    size = np.abs(orbit.state).max()
    return {
        "state": float(np.abs(orbit.state - true.state).max() / size),
        "state bar": float(orbit.state_error / size),
        "multipliers": matched(ours, true.multipliers),
        "multipliers bar": float(orbit.multiplier_error),
        "contacts": [int(orbit.contacts), true.onsets],
        "duration": [float(orbit.contact_duration), true.duration],
        "stable": [int(orbit.stable), int(np.abs(true.multipliers).max() < 1)],
        "largest": float(orbit.largest_multiplier),
        "condition": float(orbit.condition),
        "grazing": float(true.grazing),
    }


def near(state, other) -> bool:
    """Return whether two states may be of the same orbit."""
    return bool(np.abs(state - other).max() < 1e-6 * np.abs(state).max())


def matched(ours, true) -> float:
    """Return the largest distance of multipliers, each beside one of the others."""
    left, far = list(true), 0.0
    for value in ours:
        distances = [abs(value - other) for other in left]
        far = max(far, min(distances))
        left.pop(int(np.argmin(distances)))
    return far


def of_structure(rng, bodies: int, law: str, number: int, engines=tuple(ENGINES)):
    """Return the comparisons of all orbits found of one structure, a list of lines."""
    samples = random_samples(rng, bodies, law, number)
    guesses = settled(samples, bodies, law)
    lines, known = [], {}
    for engine in engines:
        if law not in ENGINES[engine]:
            continue
        begin = time.perf_counter()
        found = orbits(samples, guesses, bodies, law, engine)
        took = time.perf_counter() - begin
        good = np.flatnonzero(found.result == 0)
        print(f"{bodies} bodies, {law}, {engine}: {good.size} of {number} in {took:.0f} s",
              flush=True)  # fmt: skip
        for i in good:
            one = jax.tree.map(lambda leaf, i=i: leaf[i], found)
            sample = {key: value[i] for key, value in samples.items()}
            line = {"engine": engine, "bodies": bodies, "law": law, "sample": int(i)}
            try:
                if i not in known or not near(known[i].state, one.state):
                    known[i] = true_orbit(sample, one.state, bodies, law)
                true = known[i]
            except (RuntimeError, np.linalg.LinAlgError, FloatingPointError) as error:
                lines.append(line | {"no truth": str(error)})
                continue
            line |= compared(one, true)
            lines.append(line)
    return lines


def summary(lines: list[dict]) -> dict:
    """Return by engine how many are inside their bars, and how wide these are."""
    table = {}
    for engine in ENGINES:
        mine = [one for one in lines if one["engine"] == engine and "state" in one]
        if not mine:
            continue
        row = {"orbits": len(mine)}
        for name in NAMES:
            error = np.array([one[name] for one in mine])
            bar = np.array([one[f"{name} bar"] for one in mine])
            ratio = np.where(error > 0, error / bar, 0.0)
            row[name] = {
                "inside": int(np.sum(ratio <= 1)),
                "largest error in bars": float(np.max(ratio)),
                # What is closer than a rounding of 1 is right by luck.
                "median bar / error": float(np.median(bar / np.maximum(error, _ROUNDING))),
                "median bar": float(np.median(bar)),
            }
        decided = [one for one in mine if one["stable"][0] != -1]
        row["undecided"] = len(mine) - len(decided)
        row["wrong verdicts"] = sum(one["stable"][0] != one["stable"][1] for one in decided)
        row["other contacts"] = sum(
            one["contacts"][0] != one["contacts"][1] for one in mine
        )
        row["no truth"] = sum("no truth" in one for one in lines if one["engine"] == engine)
        table[engine] = row
    return table


def main() -> None:
    """Run the campaign and write its table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=40, help="samples of each structure")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bodies", type=int, nargs="*", default=list(CONTACTS))
    parser.add_argument("--laws", nargs="*", default=list(ENGINES["event"]))
    parser.add_argument("--out", default=str(RESULT))
    options = parser.parse_args()
    lines = []
    for bodies in options.bodies:
        for law in options.laws:
            seed = options.seed, bodies, ENGINES["event"].index(law)
            rng = np.random.default_rng(seed)
            lines += of_structure(rng, bodies, law, options.number)
            found = {"seed": options.seed, "samples of each structure": options.number,
                     "engines": summary(lines), "orbits": lines}  # fmt: skip
            Path(options.out).write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["engines"], indent=1))


if __name__ == "__main__":
    main()
