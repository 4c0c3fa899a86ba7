"""Shares of the basins of pyBasin's five systems, beside those that are published.

    python -m experiments.published_basins [SYSTEM ...] [--grid] [--diffrax] [--links FILE]

`basins` follows motions from period to period of a load, so Duffing's oscillator is its
case (`basin_benchmark`). The other four have no load: here motions are followed by `flow`,
a span at a time, each until its attractor is told.

- pendulum: a rotor with damping 0.1, torque 0.5 and K = 1 rests or turns for ever.
- lorenz: two chaotic attractors (a broken butterfly) beside motions without bound.
- friction: a mass on a belt slides evenly, or sticks and slips. The friction falls
  exponentially with the speed of sliding, which no law of `CoulombFriction` does; it is
  posed as pyBasin's smooth field, whose sign of the speed is a tanh.
- rossler: a hundred oscillators in a network are in step, or one leaves all bounds.
- duffing: as `basin_benchmark`, for more starts than that.

Published: shares of 4000 starts by bSTAB (TUHH-DYN) that pyBasin keeps as its reference
(github.com/adrianwix/pyBasin), of 10,000 for Duffing; of 500 for the network, from Menck,
Heitzig, Marwan and Kurths, Nature Physics 9 (2013) 89, whose 400 links pyBasin has and
this repository has not: `--links` is a file of them, as 0-1 0-2 and so on, without which
the network is left out and its row stays. The pendulum's share is an area besides, by
scipy. With `--grid` the pendulum has a million starts and Duffing's oscillator 250,000,
evenly on a grid.
`--diffrax` times the pendulum's study beside a vmap of diffrax's Dopri5, as pyBasin
has it: to 1000 s at its tolerances. Writes `published_basins.json`.
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
from experiments.benchmarks.regime_map import machine
from jaxvib.ensemble import map_samples

RESULT = Path(__file__).with_suffix(".json")
TAU = 2 * np.pi
UNDECIDED = -1


class Study(NamedTuple):
    """A system, the box of its starts, and how a motion's attractor is told.

    `tell`: of states before and after a span, which span it was and a number kept of each
    motion, to the position of its attractor, or -1, and the number; motions are followed
    for `spans` of `span` seconds. `published`: shares by name, in the order of the
    positions, of so many `starts`.
    """

    system: Any
    box: tuple
    span: float
    spans: int
    tell: Callable
    published: dict[str, float]
    starts: int
    rtol: float = 1e-8
    engine: str = "auto"


def settled(study: Study, starts: np.ndarray) -> np.ndarray:
    """Return the position of each start's attractor, -1 of those that are undecided."""

    def end(state):
        return jv.flow(
            study.system, state, 0.0, study.span, rtol=study.rtol, engine=study.engine
        )

    label = np.full(len(starts), UNDECIDED)
    going, states, kept = np.arange(len(starts)), starts, np.zeros(len(starts))
    for number in range(study.spans):
        after = np.asarray(map_samples(end, states))
        found, kept = study.tell(states, after, number, kept)
        label[going] = found
        left = (found == UNDECIDED) & np.isfinite(after).all(axis=1)
        going, states, kept = going[left], after[left], kept[left]
        if not going.size:
            break
    return label


ALPHA, TORQUE, STIFFNESS = 0.1, 0.5, 1.0
LEAN = np.arcsin(TORQUE / STIFFNESS)  # where the pendulum rests
SADDLE = np.pi - LEAN


def pendulum() -> Study:
    """Return the pendulum under a torque.

    In a well and with less energy than at the saddle on its right it cannot leave. Who
    passes a saddle to the right stays above that saddle's unstable manifold, which turns
    for ever: so does he.
    """

    def rates(x, p):
        return [x[1], p["torque"] - p["damping"] * x[1] - p["stiffness"] * jnp.sin(x[0])]

    def tell(before, after, number, kept):
        wells = [np.floor((x[:, 0] - SADDLE) / TAU) for x in (before, after)]
        angle, speed = after[:, 0] - TAU * (wells[1] + 1), after[:, 1]
        top = -TORQUE * SADDLE - STIFFNESS * np.cos(SADDLE)
        energy = speed**2 / 2 - TORQUE * angle - STIFFNESS * np.cos(angle)
        turns = wells[1] > wells[0]
        return np.where(energy < top, 0, np.where(turns, 1, UNDECIDED)), kept

    numbers = {"damping": ALPHA, "torque": TORQUE, "stiffness": STIFFNESS}
    system = jv.autonomous_system(rates, parameters=numbers, dimension=2)
    box = ([LEAN - np.pi, -10.0], [LEAN + np.pi, 10.0])
    published = {"at rest": 0.1505, "turning": 0.8495}
    return Study(system, box, 5.0, 20, tell, published, 4000)


def pendulum_area() -> float:
    """Return the share at rest as an area, between both stable manifolds of a saddle.

    They are followed backwards by scipy out of the box, through as many turns as it takes.
    """

    def back(t, x):
        return [-x[1], ALPHA * x[1] - TORQUE + STIFFNESS * np.sin(x[0])]

    def leaves(t, x):
        return x[1] + 10.0

    leaves.terminal = True
    slope = STIFFNESS * np.cos(LEAN)  # of the rate by the angle, at the saddle
    rate = -ALPHA / 2 - np.sqrt(ALPHA**2 / 4 + slope)
    sides = []
    for side in (-1e-7, 1e-7):
        start = [SADDLE + side, side * rate]
        found = solve_ivp(
            back, (0, 200), start, "DOP853", events=leaves, rtol=1e-12, atol=1e-14,
            max_step=1e-3,
        )  # fmt: skip
        sides.append(found.y)
    x, y = np.concatenate([sides[0], sides[1][:, ::-1]], axis=1)
    area = np.sum(x * np.roll(y, -1) - y * np.roll(x, -1)) / 2
    return abs(area) / (TAU * 20.0)


def lorenz() -> Study:
    """Return Lorenz's field with sigma = 0.12, r = 0, b = -0.6, from a plane of starts."""
    span, spans, last = 5.0, 200, 20

    def rates(x, p):
        return [0.12 * (x[1] - x[0]), -x[0] * x[2] - x[1], x[0] * x[1] + 0.6 * x[2]]

    def tell(before, after, number, kept):
        gone = ~(np.abs(after).max(axis=1) < 200)
        if number >= spans - last:
            kept = kept + after[:, 0]
        side = np.where(kept > 0, 0, 1) if number == spans - 1 else UNDECIDED
        return np.where(gone, 2, side), kept

    system = jv.autonomous_system(rates, parameters={}, dimension=3)
    box = ([-10.0, -20.0, 0.0], [10.0, 20.0, 0.0])
    published = {"butterfly x > 0": 0.09325, "butterfly x < 0": 0.08725}
    published["unbounded"] = 0.8195
    return Study(system, box, span, spans, tell, published, 4000)


BELT = 1.5
SLIDING = 0.5 * (1 + np.exp(-BELT / 0.5))  # friction, and so the place, at rest


def friction() -> Study:
    """Return the mass on a belt, by pyBasin's smooth field.

    The cycle that repels is 1.17 to 1.33 away from even sliding, stick-slip 1.46 to 1.67:
    who is within 0.3 comes to slide, who is 1.45 away after 100 s is outside that cycle.
    """

    def rates(x, p):
        slip = x[1] - BELT
        force = 0.5 * (1 + jnp.exp(-jnp.abs(slip) / 0.5)) * jnp.tanh(200 * slip)
        return [x[1], -x[0] - 0.1 * x[1] - force]

    def tell(before, after, number, kept):
        away = np.hypot(after[:, 0] - SLIDING, after[:, 1])
        sticks = (away > 1.45) & (number >= 4)
        return np.where(away < 0.3, 0, np.where(sticks, 1, UNDECIDED)), kept

    system = jv.autonomous_system(rates, parameters={}, dimension=2)
    published = {"sliding": 0.3165, "stick-slip": 0.6835}
    box = ([-2.0, 0.0], [2.0, 2.0])
    return Study(system, box, 20.0, 25, tell, published, 4000, 1e-6)


def rossler(links: str) -> Study:
    """Return the network of links with a coupling of 0.218.

    Beyond 400, where a motion is lost, its time is slowed down: its path is the same.
    """
    pairs = np.array([pair.split("-") for pair in links.split()], int)
    laplacian = np.zeros((100, 100))
    np.add.at(laplacian, (pairs[:, 0], pairs[:, 1]), -1.0)
    laplacian += laplacian.T
    laplacian -= np.diag(laplacian.sum(axis=1))
    spans = 200

    def rates(state, p):
        x, y, z = state.reshape(3, 100)
        drawn = -y - z - 0.218 * (laplacian @ x)
        rate = jnp.concatenate([drawn, x + 0.2 * y, 0.2 + z * (x - 7.0)])
        return rate / (1 + jnp.sum((state / 400) ** 20))

    def tell(before, after, number, kept):
        gone = ~(np.abs(after).max(axis=1) < 400)
        apart = np.ptp(after.reshape(-1, 3, 100), axis=2).max(axis=1)
        bound = 1.5 if number == spans - 1 else 0.01
        return np.where(gone, 1, np.where(apart < bound, 0, UNDECIDED)), kept

    system = jv.autonomous_system(rates, parameters={}, dimension=300)
    box = np.repeat([[-15.0, -15.0, -5.0], [15.0, 15.0, 35.0]], 100, axis=1)
    published = {"in step": 0.496, "not in step": 0.504}
    return Study(system, box, 5.0, spans, tell, published, 500, 1e-5, "diffrax")


def duffing() -> Study:
    """Return Duffing's oscillator, whose motions end within 0.01 of one of its orbits."""
    system = basin_benchmark.duffing()
    named = np.array([start for start, _ in basin_benchmark.PUBLISHED.values()])
    found = jv.basins(system, named, progress=False)
    period = jax.jit(lambda state: jv.flow(system, state, 0.0, TAU))
    points, owner = [], []
    for position, label in enumerate(found.label):
        state = found.attractors.orbits.state[label]
        for _ in range(int(found.attractors.orbits.periods[label])):
            points.append(np.asarray(state))
            owner.append(position)
            state = period(state)

    def tell(before, after, number, kept):
        apart = np.linalg.norm(after[:, None] - np.array(points), axis=2)
        near = np.array(owner)[apart.argmin(axis=1)]
        return np.where(apart.min(axis=1) < 0.01, near, UNDECIDED), kept

    published = {name: share for name, (_, share) in basin_benchmark.PUBLISHED.items()}
    return Study(
        system, tuple(basin_benchmark.BOX), 2 * TAU, 40, tell, published, 10_000, 1e-6
    )


# How many starts there are: of the network a motion takes half a core-second.
NUMBERS = {"pendulum": 20_000, "lorenz": 20_000, "friction": 20_000, "duffing": 20_000}
NUMBERS |= {"rossler": 200}
SIDES = {"pendulum": 1000, "duffing": 500}
STUDIES = {f.__name__: f for f in (pendulum, lorenz, friction, rossler, duffing)}


def shares(study: Study, starts: np.ndarray) -> dict:
    """Return our shares beside the published ones, and how far apart they are."""
    label = settled(study, starts)
    table = {}
    for position, (name, published) in enumerate(study.published.items()):
        share = float(np.mean(label == position))
        spread = share * (1 - share) / len(starts)
        spread += published * (1 - published) / study.starts
        apart = round(float(abs(share - published) / np.sqrt(spread)), 2)
        table[name] = {
            "published": published,
            "share": share,
            "standard errors apart": apart,
        }
    return {"undecided": float(np.mean(label == UNDECIDED)), "shares": table}


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
        term = diffrax.ODETerm(lambda t, x, args: jnp.stack(study.system.field(x, numbers)))
        return diffrax.diffeqsolve(
            term, diffrax.Dopri5(), 0.0, 1000.0, None, state, max_steps=None,
            stepsize_controller=diffrax.PIDController(rtol=1e-8, atol=1e-6),
        ).ys[-1]  # fmt: skip

    names, values = study.system.names, study.system.values
    numbers = dict(zip(names, values, strict=True))
    seconds, labels = {}, {}
    for name, run in (
        ("jaxvib", lambda: settled(study, starts)),
        ("diffrax", lambda: np.where(np.asarray(far(starts))[:, 1] > 1.0, 1, 0)),
    ):
        run()
        began = time.process_time()
        labels[name] = run()
        seconds[name] = round(time.process_time() - began, 2)
    told = int(np.sum(labels["jaxvib"] != labels["diffrax"]))
    return {"starts": number, "core-seconds": seconds, "told otherwise": told}


def main() -> None:
    """Write the result of a run; of systems that are not named the last one stays."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("systems", nargs="*", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--grid", action="store_true")
    parser.add_argument("--diffrax", action="store_true")
    parser.add_argument("--links", type=Path, help="file of the network's links")
    given = parser.parse_args()
    if given.links is None and "rossler" in given.systems:
        parser.error("rossler: its links are asked for, --links FILE")
    result = json.loads(RESULT.read_text()) if RESULT.exists() else {"shares": {}}
    result["machine"] = machine()
    for name in given.systems:
        study = rossler(given.links.read_text()) if name == "rossler" else STUDIES[name]()
        on_grid = given.grid and name in SIDES
        starts = grid(study, SIDES[name]) if on_grid else drawn(study, NUMBERS[name])
        began = time.process_time()
        found = shares(study, starts)
        found = {"starts": len(starts), "on a grid": on_grid} | found
        found["core-seconds"] = round(time.process_time() - began, 1)
        if name == "pendulum":
            found["at rest, as an area"] = pendulum_area()
        result["shares"][f"{name}, on a grid" if on_grid else name] = found
        print(name, json.dumps(found, indent=1))
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if given.diffrax:
        result["pendulum beside diffrax"] = beside_diffrax()
        print(json.dumps(result["pendulum beside diffrax"], indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
