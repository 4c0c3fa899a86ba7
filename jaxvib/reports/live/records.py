"""Records among the loads of a live response, as polynomials that the page chooses."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...systems.base.system import System
from ...systems.impact import ImpactSystem
from ...systems.loads import Load, PolynomialLoad
from ...systems.parameters import part_names
from ..packing import Exact

Pieces = Mapping[str, Mapping[str, Any]]  # centre and row of each record
_RECORD = ("times", "values", "scale", "periodic", "series")  # what a record has


def records(system: System) -> dict[str, dict[str, Any]]:
    """Return times and polynomials of each record at scale 1, by the load's name.

    A row of `rows` has the coefficients of a piece about the middle of its times. In a
    kernel a long record would be a chain of comparisons for each evaluation.
    """
    found = {}
    for name, _, law in _recorded(system):
        unscaled = dataclasses.replace(law, scale=1.0)
        middles = (law.times[:-1] + law.times[1:]) / 2
        orders = _orders(law)

        def row(time, law=unscaled, orders=orders):
            return jnp.stack(law.series(time, time, orders))

        found[name] = {
            "times": Exact(np.asarray(law.times)),
            "rows": Exact(np.asarray(jax.vmap(row)(middles))),
            "orders": orders,
            "periodic": law.periodic,
        }
    return found


def examples(system: System) -> dict[str, dict[str, np.ndarray]]:
    """Return pieces of the records of a system, as arguments of its kernel."""
    return {
        name: {"centre": np.zeros(()), "row": np.zeros(_orders(law))}
        for name, _, law in _recorded(system)
    }


def with_pieces(system: System, pieces: Pieces) -> System:
    """Return a system whose records are single pieces, times the records' scales."""
    changed: Any = system
    for name, place, law in _recorded(system):
        row = law.scale * pieces[name]["row"]
        sizes = law.largest(), law.angular_frequency()
        piece = PolynomialLoad(pieces[name]["centre"], row, *sizes)
        changed = changed.with_law(place, piece)
    return changed


def _orders(law: Load) -> int:
    """Return the number of coefficients of a piece."""
    return 2 if law.is_piecewise_linear() else 4


def _recorded(system: System) -> Iterator[tuple[str, int, Any]]:
    """Yield name, place and law of each load that is a record."""
    if not isinstance(system, ImpactSystem):
        return
    for place, name in enumerate(part_names(system.loads)):
        load = system.loads[place]
        law = getattr(load, "motion", load.law)
        if law is load.law and all(hasattr(law, each) for each in _RECORD):
            yield name, place, law
