"""Verifies the ranges that constraints on bifurcations promise, at random points."""

from typing import Any

import numpy as np

from ..... import design, systems
from ....store.fields import Variable
from ...measure_options import LimitOptions
from .charts import OBJECTIVE

_REAL = ("parameter", "growth")  # fields of real numbers


def promised_range(limit: Any, own: float) -> tuple[float, float] | None:
    """Return the range, from the own value on, in which a constraint promises stability.

    None for one that promises no range, such as a width.
    """
    low, high = own, own
    least, most = limit.at_least, limit.at_most
    if limit.measure == "bifurcation" or limit.field in ("low", "high"):
        high = least if least is not None and least > own else own
        low = most if most is not None and most < own else own
    elif limit.field == "margin" and least is not None and least > 0:
        low, high = own - least, own + least
    return (low, high) if low < high else None


def measured_range(measure: Any, system: Any) -> tuple[float, float] | None:
    """Return the part of a system's stable range that a measure is of, None if lost."""
    analysis = design.stable_range_measure(
        measure.field, measure.path, tuple(measure.bounds), periods=measure.periods or 1,
        guess=measure.guess,
    ).analysis  # fmt: skip
    low, own, high = map(float, analysis(system, analysis.start(system)).result)
    margin = min(own - low, high - own)
    ends = {"low": (low, own), "high": (own, high), "margin": (own - margin, own + margin)}
    low, high = ends.get(measure.field, (low, high))
    return (low, high) if low < high else None


def verified_fields(rows, options: Any, run: Any) -> tuple[dict[str, Variable], np.ndarray]:
    """Return stability at random points, (sample, design, point), and whether all is.

    A design whose constraint promises no range has NaN and -1. The second array,
    (sample, design), says whether all ranges of a design passed.
    """
    fields, passed = {}, np.ones((len(rows), len(rows[0])), bool)
    measures = {name: [one] * len(rows[0]) for name, one in options.constraints.items()}
    for name, each in (measures | {OBJECTIVE: options.objectives()}).items():
        seen = [
            [_verified(found.system, one, options, run)
             for found, one in zip(row, each, strict=True)]
            for row in rows
        ]  # fmt: skip
        # A constraint may promise no range; that of an objective is there, or was lost.
        none = [name != OBJECTIVE or one.measure != "stable_range" for one in each]
        passed &= [
            [
                fine if one is None else one.passed
                for one, fine in zip(row, none, strict=True)
            ]
            for row in seen
        ]
        if all(one is None for row in seen for one in row):
            continue
        path = next(one.path for one in each if one.path is not None)
        for field, words in (
            ("parameter", f"{path} at random points of the range"),
            ("stable", "1 stable, 0 unstable, -1 undecided or not found"),
            ("lost", "bifurcations on the way there, -1 not reached"),
            ("growth", "largest |multiplier|, or real part of an eigenvalue, 1/s"),
        ):
            fill = np.nan if field in _REAL else -1
            nothing = np.full(options.points_to_verify, fill)
            values = np.array([
                [nothing if one is None else getattr(one, field) for one in row]
                for row in seen
            ])  # fmt: skip
            unit = systems.parameter_at(rows[0][0].system, path).unit
            fields[f"verified.{name}.{field}"] = Variable(
                ("sample", "design", "random_point"), values,
                unit if field == "parameter" else "", words,
            )  # fmt: skip
    return fields, passed


def _verified(system, limit, options: Any, run):
    if limit.measure not in ("bifurcation", "stable_range") or limit.path is None:
        return None
    if isinstance(limit, LimitOptions):
        bounds = promised_range(
            limit, float(systems.parameter_at(system, limit.path).value)
        )
    else:
        bounds = measured_range(limit, system) if limit.measure == "stable_range" else None
    if bounds is None:
        return None
    return design.verify_stable_range(
        system, limit.path, bounds, points=options.points_to_verify,
        periods=limit.periods or 1, guess=limit.guess, seed=run.seed,
    )  # fmt: skip
