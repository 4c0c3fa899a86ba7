"""Whether many short copies of a chaotic motion can replace one long one.

    python -m experiments.benchmarks.chaotic_copies [--size 64] [--after 2] [--copies 8]

computes the README's map, and lists how many lanes of each class end after how many
windows of 256 periods, which is the longest path of periods in sequence. Lanes that are
open after some windows are then copied, the copies moved apart by 1e-6 or 1e-3 of the
motion's scales, followed for a window in which they forget this, and judged by their mean
exponents in the next one or two: chaotic if the mean exceeds five of its errors, over
copies, and 4e-3 a period, as for one motion. Beside the classes of today: how many
lanes are called chaotic, how many of these have copies that are apart at last (1e-2 of
the scales), and the differences of exponents in units of both errors. Writes
`chaotic_copies.json`.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.benchmarks.regime_map import samples
from experiments.machine import machine
from jaxvib.ensemble import Reason, map_samples
from jaxvib.foundation.arrays import gather_lanes
from jaxvib.orbits.samples import sample_orbits
from jaxvib.orbits.searches import aperiodic

APART, SURE, CLEAR = 1e-2, 5.0, 4e-3
MOVED, WINDOWS = (1e-6, 1e-3), (1, 2)  # of the scales; windows averaged


class Observed:
    """The lanes of a map that are observed, and those open after some windows."""

    def __init__(self, size: int, after: int):
        self.starts: list = []
        inner, gather = sample_orbits.track_motions, aperiodic.gather_lanes

        def tracked(leaves, static, states, **how):
            self.stage = aperiodic.track_stage(static, how["engine"])
            self.units, _ = map_samples(aperiodic._units_stage(static), (leaves, states))
            self.classes = inner(leaves, static, states, **how)
            return self.classes

        def gathered(tree, lanes):
            found = gather(tree, lanes)
            if isinstance(tree, tuple) and len(tree) == 3:  # the start of a window
                self.starts.append((lanes, found))
            return found

        sample_orbits.track_motions, aperiodic.gather_lanes = tracked, gathered
        jv.orbits.regimes(jv.two_body_impact(), samples(size))
        sample_orbits.track_motions, aperiodic.gather_lanes = inner, gather
        lanes, found = self.starts[after]
        self.open, first = np.unique(lanes, return_index=True)
        self.start = gather_lanes(found, first)

    def ends(self) -> dict:
        """Return by class after how many windows how many lanes ended."""
        found: dict = {}
        for code, periods in zip(self.classes.code, self.classes.watched, strict=True):
            name, windows = Reason(code).name, str(int(periods) // aperiodic.WINDOW)
            row = found.setdefault(name, {})
            row[windows] = row.get(windows, 0) + 1
        return found


def copied(observed: Observed, copies: int, moved: float) -> list[dict]:
    """Return what copies of the open lanes say, for each number of windows averaged."""
    leaves, now, direction = observed.start
    number, size = now.shape
    lanes = np.repeat(np.arange(number), copies)
    away = np.random.default_rng(0).standard_normal((number, copies, size))
    away[:, 0] = 0.0
    units = observed.units[observed.open]
    state = (now[:, None] + moved * units[:, None] * away).reshape(-1, size)
    direction, leaves = gather_lanes((direction, leaves), lanes)
    growth, begun = [], time.process_time()
    for window in range(1 + max(WINDOWS)):
        part = map_samples(observed.stage, (leaves, state, direction), in_order=False)
        state, direction = np.array(part.state), np.array(part.direction)
        growth.append(np.mean(part.records.growth, axis=1).reshape(number, copies))
        if not window:
            ends = state.reshape(number, copies, size)
            apart = np.abs(ends[:, 1:] - ends[:, :1]) / units[:, None]
            forgotten = apart.max(axis=2).min(axis=1) > APART
    spent = time.process_time() - begun
    rows = []
    for windows in WINDOWS:
        each = np.mean(growth[1 : 1 + windows], axis=0)
        mean, error = each.mean(axis=1), each.std(axis=1, ddof=1) / np.sqrt(copies)
        chaotic = mean > np.maximum(SURE * error, CLEAR)
        then = gather_lanes(observed.classes, observed.open)
        classes = {}
        for code in np.unique(then.code):
            its = then.code == code
            kinds = its, its & chaotic, its & chaotic & forgotten
            classes[Reason(code).name] = [int(np.sum(kind)) for kind in kinds]
        same = chaotic & (then.code == Reason.CHAOTIC)
        away = ((mean - then.exponent) / np.hypot(error, then.error))[same]
        spread = np.sqrt(np.mean(away**2))
        rows.append({
            "copies": copies, "moved by": moved, "windows averaged": windows,
            "lanes, called chaotic, of these apart": classes,
            "exponents apart, in errors, root mean square": float(spread),
            "largest": float(np.max(np.abs(away), initial=0.0)),
            "core-seconds of all windows": spent,
        })  # fmt: skip
        print(json.dumps(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Count, copy and write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--after", type=int, default=2)
    parser.add_argument("--copies", type=int, default=8)
    options = parser.parse_args()
    observed = Observed(options.size, options.after)
    result = {
        "machine": machine(),
        "samples": options.size**2,
        "lanes of each window": [len(np.unique(lanes)) for lanes, _ in observed.starts],
        "lanes by class and windows": observed.ends(),
        "copied after windows": options.after,
        "rows": [row for moved in MOVED for row in copied(observed, options.copies, moved)],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
