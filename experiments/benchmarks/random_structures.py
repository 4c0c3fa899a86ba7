"""Random elastic structures with stops and round holes: errors and error bars.

    python -m experiments.benchmarks.random_structures [--number 200] [--seed 1]
        [--kinds NAME ...]

Structures in 10 to 40 modes with 1 to 5 contacts of every law: stops, round holes with and
without friction, about other centres, pressed ones, and both. Each moves over one period
of its load from a random state by the engine "modal" at the tolerance 1e-9, by `flow` and,
with monodromy matrix and observables, by `observe_with_monodromy`. scipy's DOP853 at
1e-11, with equations by hand, restarted at every onset, release and jump of a slope, gives
the same: the state, what a random small change has become (by complex steps), and the
largest force of each contact. Displacements are multiplied by their mode's frequency.
Error bars: the tolerance times the largest state, ten times it for changes, both times
what the motion makes of changes if that is more than 1; for forces that of the state times
their slopes.
Prints the largest errors of each kind in bars and, of all kinds together, writes them to
`random_structures-<device>-<cores>.json`.
"""

import argparse
import cmath
import json
import math
import os
import time
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import jaxvib as jv
from experiments.machine import machine
from jaxvib.dynamics.flow import observe_with_monodromy
from jaxvib.dynamics.observables import largest_forces
from jaxvib.ensemble import reason
from jaxvib.ensemble.blas import one_blas_thread

RTOL = 1e-9
# Errors of sensitivities may be larger than those of states by this factor.
_SENSITIVITIES = 10.0
TIGHT = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13}
_STEP = 1e-30  # of complex steps
# Levels on the wrong side by more than this, relative to motions of size 1, are events.
_CLEARLY = 1e-9
# First and longest steps, s: a motion without force is otherwise followed far too fast.
_FIRST, _LONGEST = 1e-4, 0.1


class Law(NamedTuple):
    """A contact law: random numbers, jaxvib's, and by hand.

    `levels`: at zeros of these its slope jumps; `force`: while closed, by which of them
    are positive.
    """

    draw: object
    build: object
    force: object
    levels: object = lambda numbers, z, v: []


def _power(z, exponent):
    return z**exponent if z.real > 0 else 0.0


def _stiffness(rng):
    return math.exp(rng.uniform(math.log(10.0), math.log(3e3)))


def _piecewise(numbers, z, _, deep):
    (soft, stiff), depth = numbers
    return soft * z + (stiff - soft) * (z - depth) * deep


LAWS = {
    "hertz": Law(_stiffness, jv.HertzContact, lambda k, z, _: k * _power(z, 1.5)),
    "linear": Law(_stiffness, jv.LinearContact, lambda k, z, _: k * z),
    "power": Law(
        lambda rng: (_stiffness(rng), rng.uniform(1.1, 3.0)),
        lambda numbers: jv.PowerContact(*numbers),
        lambda numbers, z, _: numbers[0] * _power(z, numbers[1]),
    ),
    "piecewise": Law(
        lambda rng: ((_stiffness(rng), _stiffness(rng)), 10 ** rng.uniform(-3, -1)),
        lambda numbers: jv.PiecewiseLinearContact(numbers[0], depths=[numbers[1]]),
        _piecewise,
        lambda numbers, z, v: [z - numbers[1]],
    ),
    "hunt-crossley": Law(
        lambda rng: (_stiffness(rng), rng.uniform(0.0, 2.0)),
        lambda numbers: jv.HuntCrossleyContact(*numbers),
        lambda k, z, v, pushes: k[0] * _power(z, 1.5) * (1 + k[1] * v) * pushes,
        lambda numbers, z, v: [1 + numbers[1] * v],
    ),
}


class Kind(NamedTuple):
    """Modes of each plane, and the laws of stops and of holes.

    `dry`: with a friction that jumps; `share` of all structures, less of those that
    scipy takes longest for.
    """

    modes: int
    stops: tuple[str, ...] = ()
    holes: tuple[str, ...] = ()
    rubs: bool = True
    dry: bool = False
    share: float = 0.17


KINDS = {
    "a smooth hole": Kind(8, (), ("hertz",), rubs=False),
    "spinning in a hole": Kind(5, (), ("hunt-crossley",), dry=True),
    "rubbed linear holes": Kind(5, (), ("linear",) * 2),
    "a hole and stops": Kind(20, ("linear", "hunt-crossley"), ("piecewise",)),
    "stops": Kind(20, tuple(LAWS)),
    "rubbed Hertz holes": Kind(10, (), ("hertz",) * 3, share=0.09),
    "rubbed holes of every law": Kind(6, (), tuple(LAWS), share=0.06),
}


class Contact(NamedTuple):
    """A stop in a direction, or a hole in two, by numbers. `friction`: mu, v_s, v_0."""

    rows: np.ndarray
    gap: float
    offset: np.ndarray
    law: str
    numbers: object
    friction: tuple[float, float, float | None]

    def built(self):
        """Return jaxvib's contact."""
        law = LAWS[self.law].build(self.numbers)
        if len(self.rows) == 1:
            return jv.Contact(self.rows[0], self.gap, law)
        mu, surface, slow = self.friction
        return jv.AnnularContact(self.rows, self.gap, law, mu, surface, slow, self.offset)

    def motion(self, q, v):
        """Return penetration, its rate, the speed of sliding, and the unit vector."""
        places, rates = (self.rows @ q).tolist(), (self.rows @ v).tolist()
        if len(self.rows) == 1:
            return places[0] - self.gap, rates[0], 0.0, (1.0,)
        x, y = places[0] - self.offset[0], places[1] - self.offset[1]
        radius = cmath.sqrt(x * x + y * y)
        x, y = x / radius, y / radius
        sliding = x * rates[1] - y * rates[0] + self.friction[1]
        return radius - self.gap, x * rates[0] + y * rates[1], sliding, (x, y)

    def levels(self, q, v) -> list[float]:
        """Return numbers at whose zeros the force or its slope jumps: first its depth."""
        z, rate, sliding, _ = self.motion(q, v)
        found = [z, *LAWS[self.law].levels(self.numbers, z, rate)]
        if len(self.rows) == 2 and self.friction[0] > 0 and self.friction[2] is None:
            found.append(sliding)
        return [level.real for level in found]

    def normal(self, z, rate, sides) -> complex:
        """Return the normal force while closed. `sides`: which levels are positive."""
        law = LAWS[self.law]
        count = law.force.__code__.co_argcount - 3
        return law.force(self.numbers, z, rate, *sides[1 : 1 + count])

    def pull(self, q, v, sides):
        """Return the generalized force on the structure, complex."""
        if not sides[0]:
            return 0.0
        z, rate, sliding, out = self.motion(q, v)
        force = self.normal(z, rate, sides)
        if len(out) == 1:
            return -force * self.rows[0]
        mu, _, slow = self.friction
        if slow is None:
            share = mu if sides[-1] or not mu else -mu
        else:
            share = mu * sliding / cmath.sqrt(sliding * sliding + slow * slow)
        x, y = out
        return -force * ((x - share * y) * self.rows[0] + (y + share * x) * self.rows[1])


class Structure(NamedTuple):
    """A structure by numbers; `loads`: (direction, amplitude, phase)."""

    frequencies: np.ndarray
    ratio: float
    contacts: list[Contact]
    loads: list
    pace: float
    start: np.ndarray
    change: np.ndarray

    @property
    def period(self) -> float:
        """Return the period of the loads."""
        return 2 * np.pi / self.pace

    @property
    def scales(self) -> np.ndarray:
        """Return the factors that make velocities of displacements."""
        return np.concatenate([self.frequencies, np.ones_like(self.frequencies)])

    def built(self) -> jv.ImpactSystem:
        """Return jaxvib's system."""
        modes = jv.ElasticStructure(
            self.frequencies, np.zeros((0, self.frequencies.size)), (), self.ratio
        )
        loads = [
            jv.AppliedLoad(direction, jv.HarmonicLoad(amplitude, self.pace, phase))
            for direction, amplitude, phase in self.loads
        ]
        return jv.ImpactSystem(modes, [c.built() for c in self.contacts], loads)


def draw(rng, kind: Kind) -> Structure:
    """Return a random structure, of frequencies near and above 1 and motions of size 1."""
    planes = 2 if kind.holes else 1
    steps = rng.uniform(0.2, 1.8, kind.modes)
    plane = 1 + (np.cumsum(steps) - steps[0]) * min(1.0, 30 / kind.modes)
    frequencies = np.tile(plane, planes)
    if planes == 2 and rng.random() < 0.5:  # not round
        frequencies = frequencies * rng.uniform(0.95, 1.05, frequencies.size)
    size = frequencies.size

    start, change = rng.normal(size=(2, 2, size)) / frequencies
    start[0], change[0] = start[0] / frequencies, change[0] / frequencies

    def shape():
        return rng.normal(size=kind.modes) / plane**0.3

    def contact(law, is_hole):
        along = shape()
        rows = np.kron(np.eye(planes), along) if is_hole else None
        if rows is None:
            rows = np.kron(rng.normal(size=planes), along)[None]
        # Of the size of its motion at the start.
        gap = rng.uniform(0.7, 2.2) * float(np.linalg.norm(rows @ start[0]))
        away = gap * rng.choice([0.0, 0.3, 1.2], p=[0.4, 0.55, 0.05])
        offset = away * rng.normal(size=2) if is_hole else np.zeros(2)
        if not is_hole and rng.random() < 0.2:
            gap = -0.2 * gap
        rubs = kind.rubs and is_hole
        mu = rng.uniform(0.05, 0.4) if rubs else 0.0
        surface = rng.choice([0.0, rng.normal()])
        slow = 10 ** rng.uniform(-1.3, 0)
        if kind.dry:
            # Fast, and with a friction too small for a whirl that comes to roll.
            surface, slow, mu = rng.choice([-100.0, 100.0]), None, mu / 10
        numbers = LAWS[law].draw(rng)
        return Contact(rows, gap, offset, law, numbers, (mu, surface, slow))

    contacts = [contact(law, True) for law in kind.holes]
    contacts += [contact(law, False) for law in kind.stops]
    loads = [
        (rng.normal(size=size) / frequencies, rng.uniform(0.2, 2.0), rng.uniform(0, 6.0))
        for _ in range(planes)
    ]
    return Structure(
        frequencies,
        float(rng.choice([0.0, 0.005, 0.02])) or 1e-4,
        contacts,
        loads,
        rng.uniform(2.0, 5.0),
        start.reshape(-1),
        change.reshape(-1),
    )


class Reference(NamedTuple):
    """End of a motion, what a small change has become, largest forces, their slopes."""

    state: np.ndarray
    change: np.ndarray
    forces: np.ndarray
    slopes: np.ndarray
    onsets: int


def by_hand(structure: Structure) -> Reference:
    """Return the motion by scipy, from one jump of a slope to the next."""
    size = structure.frequencies.size
    squares = structure.frequencies**2
    losses = 2 * structure.ratio * structure.frequencies
    pulls = np.stack([a * row for row, a, _ in structure.loads])
    phases = np.array([phase for *_, phase in structure.loads])

    contacts = structure.contacts

    def rates(time, both):
        state = both[: 2 * size] + 1j * _STEP * both[2 * size :]
        q, v = state[:size], state[size:]
        bend = np.cos(structure.pace * time + phases) @ pulls - squares * q - losses * v
        for contact, own in zip(contacts, sides, strict=True):
            bend = bend + contact.pull(q, v, own)
        found = np.concatenate([v, bend])
        return np.concatenate([found.real, found.imag / _STEP])

    def crossing(c, k):
        """Return the event of a level that changes sides."""

        def event(_, both):
            return contacts[c].levels(*np.split(both[: 2 * size], 2))[k]

        event.terminal, event.direction = True, -1.0 if sides[c][k] else 1.0
        return event

    def missed(part):
        """Return whether a level changes sides, and back, between two steps."""
        wrong = []
        for state in part.sol(_between(part.t)[:-1]).T:
            q, v = np.split(state[: 2 * size], 2)
            found = [contact.levels(q, v) for contact in contacts]
            wrong.append(max(
                level if not side else -level
                for own, now in zip(sides, found, strict=True)
                for side, level in zip(own, now, strict=True)
            ))  # fmt: skip
        return max(wrong[1:], default=0.0) > _CLEARLY

    time, both, parts = 0.0, np.concatenate([structure.start, structure.change]), []
    first = np.split(structure.start, 2)
    sides = [[level > 0 for level in contact.levels(*first)] for contact in contacts]
    places = [(c, k) for c, own in enumerate(sides) for k in range(len(own))]
    onsets, longest = 0, _LONGEST
    while time < structure.period:
        events = [crossing(*place) for place in places]
        span = time, structure.period
        # Shorter than any contact, for an event at its start is not to be the next one.
        steps = {"max_step": longest, "first_step": min(_FIRST, span[1] - span[0])}
        part = solve_ivp(
            rates, span, both, events=events, dense_output=True, **steps, **TIGHT
        )
        if part.status < 0:
            raise RuntimeError(part.message)
        if missed(part):  # two events in a step
            longest = min(longest, float(np.diff(part.t).max())) / 4
            continue
        longest = _LONGEST
        parts.append(part)
        time, both = part.t[-1], part.y[:, -1]
        for (c, k), hits in zip(places, part.t_events, strict=True):
            if hits.size:
                sides[c][k] = not sides[c][k]
                onsets += k == 0 and sides[c][k]
    peaks = np.array([_peak(parts, contact, size) for contact in contacts])
    return Reference(both[: 2 * size], both[2 * size :], *peaks.T, onsets)


def _between(times: np.ndarray) -> np.ndarray:
    """Return the times of steps, and some in between."""
    inside = times[:-1, None] + np.diff(times)[:, None] * np.linspace(0, 1, 6)[:-1]
    return np.append(inside.reshape(-1), times[-1])


def _peak(parts, contact: Contact, size: int) -> tuple[float, float]:
    """Return the largest normal force along parts of a motion, and its largest slope."""

    def force(both, *change):
        q, v = both[:size], both[size : 2 * size]
        sides = [level > 0 for level in contact.levels(q, v)]
        z, rate, *_ = contact.motion(q, v)
        if change:
            z, rate = z + 1j * _STEP * change[0], rate + 1j * _STEP * change[1]
        return complex(contact.normal(z, rate, sides)) if sides[0] else 0j

    best, steepest = 0.0, 0.0
    for part in parts:
        times = _between(part.t)
        states = part.sol(times).T
        found = np.array([force(state).real for state in states])
        top = int(np.argmax(found))
        if not found[top] > best:
            continue
        slopes = [force(states[top], *way).imag for way in ((1.0, 0.0), (0.0, 1.0))]
        steepest = max(map(abs, slopes)) / _STEP
        ends = times[max(top - 1, 0)], times[min(top + 1, times.size - 1)]
        nearer = minimize_scalar(
            lambda when, part=part: -force(part.sol(when)).real,
            bounds=ends, method="bounded", options={"xatol": 1e-9},
        )  # fmt: skip
        best = max(found[top], -nearer.fun)
    return best, steepest


def compared(structure: Structure) -> dict:
    """Return the errors of a structure's motion by jaxvib in bars, and what it did."""
    system, scales, period = structure.built(), structure.scales, structure.period
    state = jnp.asarray(structure.start)
    end = np.asarray(
        jv.flow(system, state, 0.0, period, rtol=RTOL, throw=False, engine="modal")
    )
    seen = observe_with_monodromy(
        system, state, 0.0, period, rtol=RTOL, grazing=0.0, engine="modal"
    )
    forces = np.asarray(largest_forces(system.equation(), seen.observables))
    if not np.isfinite(end).all() or int(seen.result):
        return {"reason": reason(int(seen.result))}
    known = by_hand(structure)
    monodromy = scales[:, None] * np.asarray(seen.monodromy) / scales
    growth = max(float(np.linalg.norm(monodromy, 2)), 1.0)
    size = max(np.linalg.norm(scales * x) for x in (known.state, structure.start))
    bar = RTOL * size * growth
    change = np.asarray(seen.monodromy) @ structure.change
    changes_bar = _SENSITIVITIES * RTOL * growth * np.linalg.norm(scales * structure.change)

    def in_bars(found, expected, unit):
        return float(np.linalg.norm(scales * (found - expected)) / unit)

    reach = [
        np.linalg.norm(np.abs(c.rows) / structure.frequencies) for c in structure.contacts
    ]
    force_bars = bar * known.slopes * np.maximum(reach, 1.0) + RTOL * known.forces
    off = np.abs(forces - known.forces)
    return {
        "onsets": int(known.onsets),
        "state": in_bars(end, known.state, bar),
        "state with monodromy": in_bars(np.asarray(seen.state), known.state, bar),
        "changes": in_bars(change, known.change, changes_bar),
        "forces": float(np.max(off / np.maximum(force_bars, np.finfo(float).tiny))),
        "growth": growth,
    }


ERRORS = ("state", "state with monodromy", "changes", "forces")


def summary(lines: list[dict]) -> dict:
    """Return the largest errors of structures of a kind."""
    answered = [line for line in lines if "reason" not in line]
    if not answered:
        raise RuntimeError(f"no motion has an answer: {lines[0]['reason']}")
    return {
        "structures": len(lines),
        "answered": len(answered),
        "reasons of the others": [line["reason"] for line in lines if "reason" in line],
        "touching": sum(line["onsets"] > 0 for line in answered),
        "onsets": sum(line["onsets"] for line in answered),
        **{
            f"largest error of {name} in bars": max(line[name] for line in answered)
            for name in ERRORS
        },
    }


def structures(seed: int, name: str, count: int) -> list[Structure]:
    """Return random structures of a kind, the same for each count."""
    place = list(KINDS).index(name)
    return [
        draw(np.random.default_rng((seed, place, k)), KINDS[name]) for k in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args()
    begun = time.process_time()
    kinds = {}
    for name in given.kinds:
        count = round(given.number * KINDS[name].share)
        lines = []
        for k, structure in enumerate(structures(given.seed, name, count)):
            lines.append(compared(structure))
            if not all(lines[-1].get(error, 2.0) <= 1.0 for error in ERRORS):
                print(name, k, lines[-1], flush=True)
        kinds[name] = summary(lines)
        print(name, json.dumps(kinds[name]), time.process_time() - begun, flush=True)
    if given.kinds != list(KINDS):
        return
    found = {"machine": machine(), "seed": given.seed, "rtol": RTOL, "kinds": kinds,
             "processor_seconds": time.process_time() - begun}  # fmt: skip
    where = f"{jax.devices()[0].platform}-{os.cpu_count()}"
    path = Path(__file__).with_name(f"random_structures-{where}.json")
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    with one_blas_thread():
        main()
