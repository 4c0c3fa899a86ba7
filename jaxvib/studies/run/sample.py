"""Recomputes a single sample of a study and compares it with the stored results."""

import dataclasses
import functools
from pathlib import Path

import numpy as np
import xarray

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
    again = _computed(study, build(study), slice(own, own + 1))
    values = {path: float(again[path].values[0]) for path in study.paths}
    lines = [f"sample     {number} of {total} of {study.title}"]
    lines += [
        f"           {path} = {value!r} {again[path].unit}".rstrip()
        for path, value in values.items()
    ]
    codes = [int(each["result"].values[0]) for each in (again, stored)]
    lines += [f"result     {reason(codes[0])}; stored: {reason(codes[1])}"]
    lines += [
        f"{name:28} {_shown(field.values[0])} {field.unit}".rstrip()
        + _stored_text(stored[name].values[0], field.values[0])
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


def _shown(values) -> str:
    return ", ".join(
        "nan" if np.isnan(value) else f"{value:.10g}" for value in np.ravel(values)
    )


def _stored_text(stored, again) -> str:
    same = np.array_equal(stored, again, equal_nan=np.asarray(again).dtype.kind in "fc")
    return "" if same else f"; stored: {_shown(stored)}"
