"""Recomputes a single sample of a study and compares it with the stored results."""

import dataclasses
import functools
import itertools
from pathlib import Path

import numpy as np
import xarray

from ...drawing.chosen_units import chosen_unit
from ...drawing.labels import Labels
from ...ensemble import reason
from ..analyses.kinds import ANALYSES
from ..config import samples
from ..config.toml_writer import sample_config
from ..store.dataset import stored_fields, verified
from ..store.fields import Variable, with_coordinates
from ..store.folder import Folder
from .chunk import Silent, build, coordinates
from .computing import compute_part
from .study import Study, load_text

_MOST_NUMBERS = 8  # shown of a field


def results_of(config: str) -> xarray.Dataset:
    """Return the results of a config; nothing is stored.

    **Arguments:** `config`: the text of a config, such as that of one sample, copied
    from the report or written by `jaxvib sample`.
    **Raises:** `ValueError` for an invalid config, as `jaxvib check`.

    >>> jv.studies.results_of('''
    ... [system]
    ... kind = "assembly"
    ... [system.modules.ground-cart]
    ... module = "translation_translation"
    ... mass = 2.0
    ... stiffness = 8.0
    ... [analysis]
    ... kind = "natural_modes"
    ... ''').frequencies.values.tolist()
    [[2.0]]
    """
    study = load_text(config)
    system, kind = build(study), ANALYSES[study.analysis.kind]
    if kind.in_one_piece(bool(study.paths)):
        fields = kind.compute(system, {}, study.analysis, study.run, Silent().advance)
    else:
        fields = _computed(study, system, slice(0, study.samples))
    entries = {name: (f.axes, f.values, f.attributes) for name, f in fields.items()}
    dataset = xarray.Dataset(entries)
    return dataset.set_coords([path for path in study.paths if path in entries])


def sample_again(directory: Path, number: int, config: Path | None = None) -> list[str]:
    """Recompute one sample of a finished study; return a comparison as text.

    **Arguments:** `config`: file for the config of this sample.
    **Raises:** `FileNotFoundError` if there is no study, `ValueError` for a study
    without samples or an invalid number, `FileExistsError` if `config` exists,
    `OSError` for a damaged study.
    """
    record, commits = verified(directory)
    text = Folder(directory).read("config.toml").decode("utf-8", "replace")
    study = load_text(text, directory.name)
    if not study.paths:
        raise ValueError(f"{directory}: the study has no sweep and no samples")
    total = record["samples"]
    if not 0 <= number < total:
        raise ValueError(f"sample = {number} of {directory} is not in [0, {total - 1}]")
    stored = stored_fields(directory, record, commits, some=np.array([number]))
    own = number
    for part in record.get("merged", ()):
        study = dataclasses.replace(
            study, run=study.run.model_copy(update={"seed": part["seed"]})
        )
        if own < part["samples"]:
            break
        own -= part["samples"]
    system = build(study)
    again = _computed(study, system, slice(own, own + 1))
    values = {path: float(again[path].values[0]) for path in study.paths}
    lines = [f"sample     {number} of {total} of {study.title}"]
    lines += [
        f"           {path} = {_exact(study, again[path].unit, value)}"
        for path, value in values.items()
    ]
    codes = [int(each["result"].values[0]) for each in (again, stored)]
    lines += [f"result     {reason(codes[0])}; stored: {reason(codes[1])}"]
    lines += [
        f"{name:28} {_shown(study, system, field, field.values[0])}"
        + _stored_text(study, system, field, stored.get(name))
        for name, field in again.items()
        if name not in ("result", *values) and np.size(field.values[0]) <= _MOST_NUMBERS
    ]
    if config is not None:
        with config.open("x", encoding="utf-8") as file:
            file.write(sample_config(study.resolved(), values))
        lines.append(f"config     {config}")
    return lines


def _computed(study: Study, system, part: slice) -> dict[str, Variable]:
    """Return the results of some samples with their swept values, as in a run."""
    draw = functools.partial(samples.draw, study.sampling, study.paths, study.run.seed)
    fields = compute_part(study, system, draw, part, Silent())
    return with_coordinates(fields, coordinates(study, draw(part)))


def _exact(study: Study, unit: str, value: float) -> str:
    """Return all digits of a number in the unit shown."""
    name, factor = chosen_unit(unit, study.output.units)
    number = value if factor == 1.0 else float(f"{factor * value:.15g}")
    return f"{number!r} {name}".rstrip()


def _shown(study: Study, system, field: Variable, values) -> str:
    """Return the numbers of a field in the units shown; equal units follow the last."""
    numbers, labels = np.ravel(values).tolist(), getattr(system, "labels", Labels())
    along = field.axes[-1].partition("_")[0]
    own = {"state": labels.units, "freedom": labels.freedom_units}.get(along, ())
    mixed = len(own) == len(numbers) and (not field.unit or ", " in field.unit)
    units = own if mixed else [field.unit] * len(numbers)
    shown = functools.partial(study.quantity_text, digits=10, joined=", ")
    pairs = zip(units, numbers, strict=True)
    return ", ".join(
        shown(unit, *(np.nan if np.isnan(number) else number for _, number in some))
        for unit, some in itertools.groupby(pairs, lambda pair: pair[0])
    )


def _stored_text(study: Study, system, field: Variable, before) -> str:
    if before is None:
        return "; not stored by the version that ran the study"
    again, stored = field.values[0], before.values[0]
    same = np.array_equal(stored, again, equal_nan=np.asarray(again).dtype.kind in "fc")
    return "" if same else f"; stored: {_shown(study, system, field, stored)}"
