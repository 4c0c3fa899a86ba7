"""Curves of bifurcations as labelled arrays, padded to one length, with counts."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ....ensemble import reason
from ...store.fields import Variable
from .kind import ContinuationOptions

KINDS = ("fold", "period_doubling", "neimark_sacker", "branch_point", "grazing")


def curve_variables(
    curves: Sequence, declared: Mapping, paths: Sequence[str]
) -> dict[str, Variable]:
    """Return curves and their special points as labelled arrays.

    `curve.<path>` has the axes `curve` and `curve_point`, with NaN beyond the number of
    points; special points are along the axis `special`.
    """
    level = np.asarray(float(declared[paths[1]].value))
    length = max((len(curve.parameters) for curve in curves), default=0)
    meaning = {"meaning": ", ".join(f"{i} {kind}" for i, kind in enumerate(KINDS))}
    axes = ("curve", "curve_point")
    found = {
        "curve.kind": Variable(
            ("curve",), np.array([KINDS.index(c.kind) for c in curves], np.int8),
            "", "kind", meaning,
        ),
        "curve.points": Variable(
            ("curve",), np.array([len(c.parameters) for c in curves], np.int32),
            "", "number of points",
        ),
        "curve.ends": Variable(
            ("curve", "end"), np.array([c.ends for c in curves], np.int32).reshape(-1, 2),
            "", "reason codes of both ends",
        ),
        "curve.level": Variable((), level, "", "second parameter on the branch"),
    }  # fmt: skip
    special = [(number, p) for number, c in enumerate(curves) for p in c.codimension_two]
    names = sorted({point.kind for _, point in special})
    kinds = np.array([names.index(point.kind) for _, point in special], np.int8)
    owners = np.array([number for number, _ in special], np.int32)
    words = {"meaning": ", ".join(f"{i} {name}" for i, name in enumerate(names))}
    found["special.kind"] = Variable(("special",), kinds, "", "kind", words)
    found["special.curve"] = Variable(("special",), owners, "", "its curve")
    for position, path in enumerate(paths):
        values = np.full((len(curves), length), np.nan)
        for row, curve in zip(values, curves, strict=True):
            row[: len(curve.parameters)] = np.asarray(curve.parameters)[:, position]
        places = np.array([point.parameters[position] for _, point in special], float)
        unit, text = declared[path].unit, declared[path].description
        found[f"curve.{path}"] = Variable(axes, values, unit, text)
        found[f"special.{path}"] = Variable(("special",), places, unit, text)
    return found


def curve_lines(read: Callable, options: ContinuationOptions) -> list[str]:
    """Return the summary lines of each curve."""
    lines = []
    columns = [read(f"curve.{path}") for path in (options.path, options.second_path)]
    counts, ends = read("curve.points"), read("curve.ends")
    for number, code in enumerate(read("curve.kind")):
        last = counts[number] - 1
        first, second = (
            f"({columns[0][number][i]:.6g}, {columns[1][number][i]:.6g})" for i in (0, last)
        )
        low, high = (reason(end) for end in ends[number])
        lines.append(
            f"curve      {KINDS[code].replace('_', ' ')} in {options.path} and "
            f"{options.second_path}, {counts[number]} points"
        )
        lines.append(f"           from {first}: {low}")
        lines.append(f"           to {second}: {high}")
    return lines
