"""Verifies the ranges that constraints on bifurcations promise, at random points."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ....design import verify_stable_range
from ....systems.parameters import parameter_at
from ...store.fields import Variable
from .kind import DesignOptions

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


def verified_fields(rows, options: DesignOptions, run: Any) -> dict[str, Variable]:
    """Return stability at random points, along (sample, design, point).

    A design whose constraint promises no range has NaN and -1.
    """
    fields = {}
    for name, limit in options.constraints.items():
        if limit.measure not in ("bifurcation", "stable_range") or limit.path is None:
            continue
        seen = [[_verified(design.system, limit, options, run) for design in row]
                for row in rows]  # fmt: skip
        if all(each is None for row in seen for each in row):
            continue
        for field, words in (
            ("parameter", f"{limit.path} at random points of the range"),
            ("stable", "1 stable, 0 unstable, -1 undecided or not found"),
            ("lost", "bifurcations on the way there, -1 not reached"),
            ("growth", "largest |multiplier|, or real part of an eigenvalue, 1/s"),
        ):
            nothing = np.full(options.verify, np.nan if field in _REAL else -1)
            values = np.array([
                [nothing if each is None else getattr(each, field) for each in row]
                for row in seen
            ])  # fmt: skip
            unit = parameter_at(rows[0][0].system, limit.path).unit
            fields[f"verified.{name}.{field}"] = Variable(
                ("sample", "design", "random_point"), values,
                unit if field == "parameter" else "", words,
            )  # fmt: skip
    return fields


def _verified(system, limit, options: DesignOptions, run):
    bounds = promised_range(limit, float(parameter_at(system, limit.path).value))
    if bounds is None:
        return None
    return verify_stable_range(
        system, limit.path, bounds, points=options.verify, periods=limit.periods or 1,
        guess=limit.guess, seed=run.seed,
    )  # fmt: skip


def verified_lines(read: Callable, options: DesignOptions) -> list[str]:
    """Return how many of the random points are stable, for each verified constraint.

    `read`: returns an array of a study; it raises `OSError` for one that it has not.
    """
    lines = []
    for name in options.constraints:
        try:
            stable, lost = read(f"verified.{name}.stable"), read(f"verified.{name}.lost")
        except OSError:
            continue
        good = int(np.sum((stable == 1) & (lost == 0)))
        values = read(f"verified.{name}.parameter")
        lines.append(
            f"verified   {name}: stable at {good} of {stable.size} random points from "
            f"{values.min():.6g} to {values.max():.6g}"
        )
    return lines
