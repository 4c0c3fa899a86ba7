"""Shares of the basins of pyBasin's five systems, compared with published values.

    python -m experiments.published_basins [SYSTEM ...] [--grid SIDE] [--diffrax]
        [--links FILE]

Four are cases of `basins`, which finds the attractors itself:

- pendulum: a rotor with damping 0.1, torque 0.5 and K = 1 rests or rotates forever. Its
  angle is mapped to an attracting circle, so that rotation is a cycle.
- lorenz: two chaotic attractors (a broken butterfly) and unbounded motions.
- friction: a mass on a belt slides steadily, or sticks and slips. The friction
  decreases exponentially with the sliding speed, which no law of `CoulombFriction`
  provides; it is defined as pyBasin's smooth field, in which a tanh replaces the sign
  of the speed.
- duffing: as `basin_benchmark`, and on a grid.

The fifth has its own classification:

- rossler: a hundred oscillators in a network synchronise, or one diverges. Synchronised
  they are chaotic; `basins` would classify them by exponents over thousands of turns,
  here of 300 states, and not by the distance between the oscillators, which is asked
  for here.

Published: shares of 4000 initial states by bSTAB (TUHH-DYN) that pyBasin uses as its
reference (github.com/adrianwix/pyBasin), of 10,000 for Duffing; of 500 for the network,
from Menck, Heitzig, Marwan and Kurths, Nature Physics 9 (2013) 89, whose 400 links are
in pyBasin but not in this repository: `--links` is a file of them, as 0-1 0-2 and so
on; without it the network is skipped and its row is kept. The share of the pendulum is
also an area, computed by scipy. With `--grid 300` the pendulum and Duffing's oscillator
have 300 x 300 initial states on a regular grid. `--diffrax` compares the time of the
pendulum's study with a vmap of diffrax's Dopri5, as in pyBasin: to 1000 s at its
tolerances. Writes `published_basins.json`.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv
from experiments import basin_benchmark
from experiments.machine import machine
from jaxvib.ensemble import Reason, map_samples

RESULT = Path(__file__).with_suffix(".json")
TAU = 2 * np.pi


class Study(NamedTuple):
    """A system, the box of its starts, and which attractor is which.

    `told`: from `Basins` to the position in `published` of each start, -1 of none;
    `period`: about the time in which motions go round, s; `published`: shares by name, of
    so many `starts`; `placed`: from coordinates in the box to states; `named`: starts that
    stand before the others, by which attractors are told.
    """

    system: Any
    box: tuple
    told: Callable
    period: float | None
    published: dict[str, float]
    starts: int
    placed: Callable = np.asarray
    named: Any = ()


def by_kind(found) -> np.ndarray:
    """Return 0 of what comes to rest, and 1 of what comes to a cycle."""
    moves = np.asarray(found.attractors.orbits.result) != Reason.EQUILIBRIUM
    return np.append(moves.astype(int), -1)[found.label]


ALPHA, TORQUE, STIFFNESS = 0.1, 0.5, 1.0
LEAN = np.arcsin(TORQUE / STIFFNESS)  # where the pendulum rests
SADDLE = np.pi - LEAN


def pendulum() -> Study:
    """Return the pendulum under a torque, by the cosine and sine of its angle."""

    def rates(x, p):
        cosine, sine, speed = x
        back = 1 - cosine**2 - sine**2  # to the circle, on which every motion is
        return [
            back * cosine - sine * speed,
            back * sine + cosine * speed,
            p["torque"] - p["damping"] * speed - p["stiffness"] * sine,
        ]

    def placed(angles):
        return np.stack([np.cos(angles[:, 0]), np.sin(angles[:, 0]), angles[:, 1]], axis=1)

    numbers = {"damping": ALPHA, "torque": TORQUE, "stiffness": STIFFNESS}
    system = jv.autonomous_system(rates, parameters=numbers, dimension=3)
    box = ([LEAN - np.pi, -10.0], [LEAN + np.pi, 10.0])
    published = {"at rest": 0.1505, "turning": 0.8495}
    return Study(system, box, by_kind, 1.3, published, 4000, placed)


def pendulum_area() -> float:
    """Return the share at rest as an area, between both stable manifolds of a saddle.

    They are followed backwards by scipy out of the box, through as many turns as it takes,
    with the area that the line from the origin to them sweeps: dA = (x dy - y dx) / 2.
    """

    def back(t, x):
        rates = -x[1], ALPHA * x[1] - TORQUE + STIFFNESS * np.sin(x[0])
        return [*rates, (x[0] * rates[1] - x[1] * rates[0]) / 2]

    def leaves(t, x):
        return x[1] + 10.0

    leaves.terminal = True
    slope = STIFFNESS * np.cos(LEAN)  # of the rate by the angle, at the saddle
    rate = -ALPHA / 2 - np.sqrt(ALPHA**2 / 4 + slope)
    begins, ends = [], []
    for side in (-1e-7, 1e-7):
        begins.append([SADDLE + side, side * rate, 0.0])
        found = solve_ivp(
            back, (0, 200), begins[-1], "DOP853", events=leaves, rtol=1e-12, atol=1e-14
        )
        ends.append(found.y[:, -1])

    def chord(start, end):
        return (start[0] * end[1] - start[1] * end[0]) / 2

    area = ends[0][2] + chord(*ends) - ends[1][2] + chord(begins[1], begins[0])
    return abs(area) / (TAU * 20.0)


def lorenz() -> Study:
    """Return Lorenz's field with sigma = 0.12, r = 0, b = -0.6, from a plane of starts."""

    def rates(x, p):
        return [0.12 * (x[1] - x[0]), -x[0] * x[2] - x[1], x[0] * x[1] + 0.6 * x[2]]

    def told(found):
        sides = np.nanmean(found.attractors.points[..., 0], axis=1) < 0
        label = np.append(sides.astype(int), -1)[found.label]
        return np.where(found.result == Reason.ESCAPED, 2, label)

    system = jv.autonomous_system(rates, parameters={}, dimension=3)
    box = ([-10.0, -20.0, 0.0], [10.0, 20.0, 0.0])
    published = {"butterfly x > 0": 0.09325, "butterfly x < 0": 0.08725}
    published["unbounded"] = 0.8195
    return Study(system, box, told, 5.0, published, 4000)


def friction() -> Study:
    """Return the mass on a belt of 1.5 m/s, by pyBasin's smooth field."""

    def rates(x, p):
        slip = x[1] - 1.5
        force = 0.5 * (1 + jnp.exp(-jnp.abs(slip) / 0.5)) * jnp.tanh(200 * slip)
        return [x[1], -x[0] - 0.1 * x[1] - force]

    system = jv.autonomous_system(rates, parameters={}, dimension=2)
    published = {"sliding": 0.3165, "stick-slip": 0.6835}
    return Study(system, ([-2.0, 0.0], [2.0, 2.0]), by_kind, 6.0, published, 4000)


def duffing() -> Study:
    """Return Duffing's oscillator, whose attractors are told by a start of each."""
    named = np.array([start for start, _ in basin_benchmark.PUBLISHED.values()])

    def told(found):
        same = found.label[:, None] == found.label[: len(named)]
        return np.where(same.any(axis=1), same.argmax(axis=1), -1)

    published = {name: share for name, (_, share) in basin_benchmark.PUBLISHED.items()}
    system, box = basin_benchmark.duffing(), tuple(basin_benchmark.BOX)
    return Study(system, box, told, None, published, 10_000, named=named)


STUDIES = {f.__name__: f for f in (pendulum, lorenz, friction, duffing)}
NUMBER = 20_000
PLANES = ("pendulum", "duffing")
IN_STEP = {"in step": 0.496, "not in step": 0.504}  # of 500 starts


def settled(study: Study, starts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return each start's position in what is published, -1 of none, and what was found."""
    states = study.placed(starts)
    first = len(study.named)
    whole = np.concatenate([study.named, states]) if first else states
    found = jv.basins(study.system, whole, period=study.period, progress=False)
    return study.told(found)[first:], found.attractors.names


def rossler(links: str, number: int) -> np.ndarray:
    """Return 0 of starts whose network comes in step at a coupling of 0.218, 1 of others.

    Beyond 400, where a motion is lost, its time is slowed down: its path is the same.
    """
    pairs = np.array([pair.split("-") for pair in links.split()], int)
    laplacian = np.zeros((100, 100))
    np.add.at(laplacian, (pairs[:, 0], pairs[:, 1]), -1.0)
    laplacian += laplacian.T
    laplacian -= np.diag(laplacian.sum(axis=1))

    def rates(state, p):
        x, y, z = state.reshape(3, 100)
        drawn = -y - z - 0.218 * (laplacian @ x)
        rate = jnp.concatenate([drawn, x + 0.2 * y, 0.2 + z * (x - 7.0)])
        return rate / (1 + jnp.sum((state / 400) ** 20))

    system = jv.autonomous_system(rates, parameters={}, dimension=300)

    def later(state):
        return jv.flow(system, state, 0.0, 5.0, rtol=1e-5, engine="diffrax")

    box = np.repeat([[-15.0, -15.0, -5.0], [15.0, 15.0, 35.0]], 100, axis=1)
    states = np.random.default_rng(1).uniform(*box, (number, 300))
    label, going = np.full(number, -1), np.arange(number)
    for bound in (*[0.01] * 199, 1.5):  # of how far apart oscillators in step are
        states = np.asarray(map_samples(later, states))
        gone = ~(np.abs(states).max(axis=1) < 400)
        apart = np.ptp(states.reshape(-1, 3, 100), axis=2).max(axis=1)
        label[going] = np.where(gone, 1, np.where(apart < bound, 0, -1))
        left = label[going] < 0
        going, states = going[left], states[left]
        if not going.size:
            break
    return label


def beside(label: np.ndarray, published: dict[str, float], starts: int) -> dict:
    """Return our shares beside those of so many `starts`, and how far apart they are."""
    table = {}
    for position, (name, theirs) in enumerate(published.items()):
        share = float(np.mean(label == position))
        spread = share * (1 - share) / len(label) + theirs * (1 - theirs) / starts
        apart = round(float(abs(share - theirs) / np.sqrt(spread)), 2)
        table[name] = {"published": theirs, "share": share, "standard errors apart": apart}
    return {"undecided": float(np.mean(label < 0)), "shares": table}


def shares(study: Study, starts: np.ndarray) -> dict:
    """Return what was found, and our shares beside the published ones."""
    label, names = settled(study, starts)
    return {"attractors": names} | beside(label, study.published, study.starts)


def drawn(study: Study, number: int, seed: int = 1) -> np.ndarray:
    """Return starts drawn evenly from a study's box."""
    box = np.asarray(study.box)
    return np.random.default_rng(seed).uniform(*box, (number, box.shape[1]))


def grid(study: Study, side: int) -> np.ndarray:
    """Return the centres of side^2 equal parts of a box of two components."""
    low, high = np.asarray(study.box)
    part = (np.arange(side) + 0.5) / side
    both = np.stack(np.meshgrid(part, part, indexing="ij"), axis=-1).reshape(-1, 2)
    return low + both * (high - low)


def beside_diffrax(number: int = 1000) -> dict:
    """Return core-seconds of the pendulum's study by both, after a first call each."""
    study = pendulum()
    starts = drawn(study, number)

    @jax.jit
    @jax.vmap
    def far(state):
        def rates(t, x, args):
            return jnp.stack([x[1], TORQUE - ALPHA * x[1] - STIFFNESS * jnp.sin(x[0])])

        return diffrax.diffeqsolve(
            diffrax.ODETerm(rates), diffrax.Dopri5(), 0.0, 1000.0, None, state,
            max_steps=None, stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-6),
        ).ys[-1]  # fmt: skip

    seconds, labels = {}, {}
    for name, run in (
        ("jaxvib", lambda: settled(study, starts)[0]),
        ("diffrax", lambda: np.where(np.asarray(far(starts))[:, 1] > 1.0, 1, 0)),
    ):
        run()
        began = time.process_time()
        labels[name] = run()
        seconds[name] = round(time.process_time() - began, 2)
    told = int(np.sum(labels["jaxvib"] != labels["diffrax"]))
    return {"starts": number, "core-seconds": seconds, "told otherwise": told}


def row(name: str, side: int | None, links: Path | None) -> dict:
    """Return the result of one system, of starts on a grid if it has a `side`."""
    began = time.process_time()
    if links is not None and name == "rossler":
        starts = range(200)  # a motion takes half a core-second
        found = beside(rossler(links.read_text(), len(starts)), IN_STEP, 500)
    else:
        study = STUDIES[name]()
        starts = grid(study, side) if side else drawn(study, NUMBER)
        found = shares(study, starts)
    found = {"starts": len(starts), "on a grid": bool(side)} | found
    found["core-seconds"] = round(time.process_time() - began, 1)
    if name == "pendulum":
        found["at rest, as an area"] = pendulum_area()
    return found


def main() -> None:
    """Write the result of a run; of systems that are not named the last one stays."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", nargs="*", help=f"of {', '.join(STUDIES)}, rossler")
    parser.add_argument("--grid", type=int, help="starts along a side of the box")
    parser.add_argument("--diffrax", action="store_true")
    parser.add_argument("--links", type=Path, help="file of the network's links")
    given = parser.parse_args()
    if given.links is None and "rossler" in given.systems:
        parser.error("rossler: its links are asked for, --links FILE")
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {"shares": {}}
    result["machine"] = machine()
    for name in given.systems:
        side = given.grid if name in PLANES else None
        found = row(name, side, given.links)
        result["shares"][f"{name}, on a grid" if side else name] = found
        print(name, json.dumps(found, indent=1))
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if given.diffrax:
        result["pendulum beside diffrax"] = beside_diffrax()
        print(json.dumps(result["pendulum beside diffrax"], indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
