"""Computes certified eigenvalues, derivatives and mode shapes, and their summary."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from ....ensemble import Reason
from ....modes import beam_eigenvalues
from ....modes.beams.eigenvalue_curves import meetings, rows_of_curves
from ....modes.beams.slopes import beam_slopes
from ....modes.beams.spectra import BeamSpectra, beam_spectra
from ....systems import parameters, replace
from ....systems.beam import BeamWithBodies
from ...config import samples as sampling
from ...store.fields import Variable, variables
from ...store.rows import Rows
from ...store.subsample import evenly_chosen
from ..summary_text import at
from .kind import BeamEigenvaluesOptions


def compute(
    system: BeamWithBodies,
    samples: Mapping[str, np.ndarray],
    options: BeamEigenvaluesOptions,
    run: Any,
    progress: Callable[[int], None],
) -> dict[str, Variable]:
    """Return the eigenvalues of samples, each field along the axis `sample`."""
    designs = _Designs(system)
    if not samples:
        return variables(_of_one(system, options.count))
    found = beam_spectra(designs, samples, options.count, progress=progress)
    slopes = beam_slopes(designs, samples, found.values)
    known = parameters(system)
    fields = {}
    for path, values in slopes.items():
        parameter = next(p for p in known if f"{path}.".startswith(f"{p}."))
        unit = f"(rad/s)/({known[parameter].unit or '1'})"
        words = f"d values / d {path}; NaN for repeated values"
        fields[f"slopes.{path}"] = Variable(("sample", "value"), values, unit, words)
    return {**variables(found), **fields}


def group(
    name: str,
    system: BeamWithBodies,
    samples: Mapping[str, np.ndarray | Rows],
    study: Any,
    read: Callable,
) -> dict[str, Variable]:
    """Return mode shapes of an even subsample."""
    grid = sampling.grid_of(study.sampling, study.paths)
    options = study.analysis
    chosen = evenly_chosen(study.samples, grid, options.shapes)
    there = np.isfinite(read("values")[chosen]).all(axis=1)
    found = {
        i: _shapes(replace(system, {p: v[i] for p, v in samples.items()}), options)
        for i in np.asarray(chosen)[there].tolist()
    }
    blank = next(iter(found.values()), None) or _shapes(system, options)
    blank = {key: np.full_like(array, np.nan) for key, array in blank.items()}
    rows = [found.get(i, blank) for i in np.asarray(chosen).tolist()] or [blank]
    stacked = {key: np.stack([row[key] for row in rows])[: len(chosen)] for key in blank}
    described = {
        "values": (("value",), "rad/s", "eigenvalues"),
        "points": (("point",), "m", "points along the beam"),
        "shapes": (("value", "point"), "", "deflection V of the beam, largest is 1"),
        "bodies": (("value", "freedom"), "", "motions Z of the bodies"),
        "links": (("value", "link"), "", "motions D Z of the bodies at the links"),
        "positions": (("link",), "m", "positions of the links"),
    }
    fields = {
        key: Variable(("shape", *axes), stacked[key], unit, words)
        for key, (axes, unit, words) in described.items()
    }
    places = np.asarray(chosen, np.int64)
    return {"sample": Variable(("shape",), places, "", "sample"), **fields}


def summary(read: Callable, study: Any) -> list[str]:
    """Return certification, range, least damped value and crossings."""
    values, certified = read("values"), read("certified")
    repeated = int(read("repeated").sum())
    ratios = -values.real / np.where(values == 0, 1.0, np.abs(values))
    worst = np.unravel_index(np.nanargmin(ratios), ratios.shape)
    where = at(read, study, worst[0])
    where = f" at {where}" if where else ""
    ends = np.nanmin(np.abs(values)), np.nanmax(np.abs(values))
    lines = [
        f"certified  {int(np.sum(certified))} of {len(certified)}, {repeated} of them "
        "recomputed individually",
        f"values     {values.shape[1]} each, modulus "
        + study.quantity_text("rad/s", *ends, digits=6),
        f"least      damped: {study.quantity_text('rad/s', values[worst], digits=6)}"
        f"{where}",
    ]
    if not study.sampling.how.drawn and len(values) > 2:  # neighbours are in rows
        lines.append(f"curves     {_met(read, study)}")
    return lines


class _Designs:
    """A map from samples to systems; equal instances share a compiled form."""

    def __init__(self, system):
        leaves, structure = jax.tree.flatten(system)
        self._system = system
        self._key = (structure, tuple(np.asarray(leaf).tobytes() for leaf in leaves))

    def __call__(self, sample):
        return replace(self._system, sample)

    def __eq__(self, other):
        return isinstance(other, _Designs) and self._key == other._key

    def __hash__(self):
        return hash(self._key)


def _of_one(system, count: int):
    """Return the result for a single system, as for one design."""
    modes = beam_eigenvalues(system, count=count)
    certified = np.asarray(modes.certified)[None]
    return BeamSpectra(
        np.asarray(modes.values)[None],
        np.asarray(modes.residuals)[None],
        certified,
        np.asarray(modes.radius)[None],
        np.zeros(1, bool),
        np.where(certified, int(Reason.SUCCESS), int(Reason.NOT_CERTIFIED)),
    )


def _shapes(system, options) -> dict[str, np.ndarray]:
    modes = beam_eigenvalues(system, count=options.count)
    points = np.linspace(0.0, float(system.beam.length), options.points)
    bodies = np.asarray(modes.bodies)
    return {
        "values": np.asarray(modes.values),
        "points": points,
        "shapes": np.asarray(modes.shape(points)),
        "bodies": bodies,
        "links": bodies @ np.asarray(system.link_map).T,
        "positions": np.asarray(system.positions),
    }


def _met(read: Callable, study) -> str:
    """Return the counts of crossings, veerings and undecided encounters of curves."""
    grid = sampling.grid_of(study.sampling, study.paths)
    columns = {path: read(path) for path in study.paths}
    slopes = {path: read(f"slopes.{path}") for path in study.paths}
    rows = rows_of_curves(columns, grid, read("values"), slopes)
    kinds = [met.kind for _, curves in rows for met in meetings(curves)]
    counted = (kinds.count(kind) for kind in ("crossing", "veering", "undecided"))
    return "{} crossings, {} veerings, {} undecided".format(*counted)
