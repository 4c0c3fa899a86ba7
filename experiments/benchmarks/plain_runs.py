"""Classes of the README's map held against plain motions of 10,000 periods.

    python -m experiments.benchmarks.plain_runs [--size 64] [--periods 10000]

Each sample of the map moves from rest for `--periods` load periods by `jv.flow` alone:
no Newton iteration, no extrapolation, no exponents. Its states at the end of the last
384 periods tell its class: the shortest number of periods, up to 128, after which all of
them recur within 1e-6 of their range; otherwise how far a second motion is away that
starts 1e-9 of the range beside it 2048 periods before: more than 1e-5 is chaotic, else
quasi-periodic, or a longer period that is approached slowly. A sample with another class
than the map's, which may be on another attractor, moves again from the map's own state;
if it disagrees again, it is told after how many periods it has settled. Writes
`plain_runs.json`: the pairs of classes, and the decided samples that disagree.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.benchmarks.regime_map import samples
from experiments.machine import machine
from jaxvib.ensemble import Reason
from jaxvib.orbits import regimes

RESULT = Path(__file__).with_suffix(".json")
WINDOW, MOST, MORE = 384, 128, 2048
RECURS, BESIDE, APART = 1e-6, 1e-9, 1e-5
AT_ONCE = 128  # periods of one call


@jv.kernel
def moved(amplitude, frequency, state, periods):
    """Return the state after a number of load periods."""
    load = jv.HarmonicLoad(amplitude=amplitude, frequency=frequency)
    span = periods * 2 * np.pi / frequency
    return jv.flow(jv.two_body_impact(load=load), state, 0.0, span, rtol=1e-9)


def after(values: dict, state: np.ndarray, periods: int) -> np.ndarray:
    """Return all states after a number of load periods."""
    loads = values["load.amplitude"], values["load.frequency"]
    while periods:
        count = min(periods, AT_ONCE)
        state = moved.map(*loads, state, np.full(len(state), float(count)))
        periods -= count
    return state


def told(values: dict, state: np.ndarray, periods: int) -> np.ndarray:
    """Return what each motion is in words: a number of periods, or how it spreads."""
    state = after(values, state, periods - WINDOW - MORE)
    other = state + BESIDE * np.abs(state).max(axis=1, keepdims=True)
    state, other = (after(values, each, MORE) for each in (state, other))
    seen = [state]
    for _ in range(WINDOW):
        seen.append(after(values, seen[-1], 1))
    seen = np.array(seen)
    size = np.ptp(seen, axis=0).max(axis=1) + np.abs(state).max(axis=1)
    apart = np.abs(other - state).max(axis=1) / size
    words = np.where(apart > APART, "chaotic", "quasi-periodic").astype(object)
    for count in range(MOST, 0, -1):
        missed = np.abs(seen[count:] - seen[:-count]).max(axis=(0, 2))
        words[missed < RECURS * size] = str(count)
    return words


def settles(values: dict, state: np.ndarray, words: np.ndarray) -> list[int | None]:
    """Return after how many of 4096 periods motions recur as they do in the end."""
    seen = [state]
    for _ in range(2 * MORE):
        seen.append(after(values, seen[-1], 1))
    seen, found = np.array(seen), []
    for lane, word in enumerate(words):
        if not word.isdigit():
            found.append(None)
            continue
        own, count = seen[:, lane], int(word)
        missed = np.abs(own[count:] - own[:-count]).max(axis=1) > 1e-3 * np.ptp(own)
        found.append(int(np.flatnonzero(missed).max(initial=-1)) + 1)
    return found


def of_map(found) -> np.ndarray:
    """Return the map's classes in the same words."""
    kinds = {
        Reason.QUASI_PERIODIC: "quasi-periodic",
        Reason.CHAOTIC: "chaotic",
        Reason.LONGER_PERIOD: "longer",
    }
    codes, counts = np.asarray(found.result), np.asarray(found.periods)
    names = [kinds.get(Reason(int(code)), "undecided") for code in codes]
    return np.where(codes == 0, counts.astype(str), names).astype(object)


def agree(mine: str, plain: str) -> bool:
    """Return whether the map's class is that of the plain motion, or claims nothing."""
    return mine in ("undecided", plain) or (mine == "longer" and plain != "chaotic")


def main() -> None:
    """Compute the map and the plain motions; print and store the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--periods", type=int, default=10_000)
    given = parser.parse_args()
    values = samples(given.size)
    found = regimes(jv.two_body_impact(), values)
    mine, began = of_map(found), time.process_time()
    rest = np.tile(jv.two_body_impact().rest(), (len(mine), 1))
    plain = told(values, rest, given.periods)
    other = np.flatnonzero([not agree(*pair) for pair in zip(mine, plain, strict=True)])
    there = {name: value[other] for name, value in values.items()}
    states = np.asarray(found.state)[other]
    again = told(there, states, given.periods)
    settled = settles(there, states, again)
    rows = [
        {"sample": int(i), "map": mine[i], "plain": word, "settled after": periods}
        for i, word, periods in zip(other, again, settled, strict=True)
        if not agree(mine[i], word)
    ]
    pairs = Counter(f"{a} / {b}" for a, b in zip(mine, plain, strict=True) if a != b)
    whole = {
        "machine": machine(),
        "samples": len(mine),
        "periods": given.periods,
        "core-seconds": round(time.process_time() - began, 1),
        "same class": int(np.sum(mine == plain)),
        "map / plain motion from rest, where they differ": dict(pairs.most_common()),
        "of each class of the map": dict(Counter(mine.tolist()).most_common()),
        "agree from the map's own state": len(other) - len(rows),
        "disagree": rows,
    }
    RESULT.write_text(json.dumps(whole, indent=1) + "\n")
    print(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
