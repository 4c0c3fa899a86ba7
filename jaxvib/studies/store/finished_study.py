"""A finished study read from its folder, the input of all pictures."""

import dataclasses
import functools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from ...drawing.chosen_units import quantity_text
from ...drawing.labels import with_unit
from ...ensemble import Reason
from .dataset import groups, stored_fields, thinning, verified
from .folder import Folder
from .store import has_study
from .subsample import MOST_SHOWN, kept
from .times import read_times

_LETTERS = {"x": "displacement", "v": "velocity"}  # as in the states of two bodies
_SECTIONS = frozenset(
    {"modules", "contacts", "frictions", "loads", "linear", "law", "variables"}
)


@dataclasses.dataclass(frozen=True)
class Run:
    """A study's results and metadata, read from its folder.

    **Fields:** `name`: of the folder; `results`: fields by name, with `values`, `dims`
    and `attrs` as in xarray, samples (or points) along the leading axis; `traces`:
    stored orbits, `motion`: stored motions of chains, `mode_shapes`: those of beams,
    each None if there are none; `study` and `times`: content of `study.json` and
    `times.json`; `config`: the text of `config.toml`; `chosen`: the samples of a
    subsample, `None` for all of them.
    """

    name: str
    results: Any
    traces: Any
    study: dict
    times: dict
    config: str
    motion: Any = None
    mode_shapes: Any = None
    chosen: np.ndarray | None = None

    @property
    def analysis(self) -> str:
        """The kind of analysis that was run."""
        return self.study["analysis"]

    @property
    def options(self) -> dict[str, Any]:
        """The table `[analysis]` of the config."""
        return self.study["config"]["analysis"]

    @property
    def grid(self) -> dict[str, int]:
        """Swept path: number of values, the first one slowest; empty unless a grid."""
        return self.study.get("grid") or {}

    @property
    def paths(self) -> list[str]:
        """The swept paths, in the order of the config."""
        return list(self.study["coordinates"])

    @property
    def tuned(self) -> list[str]:
        """The variables of a design: the paths whose gradient is stored."""
        names = [str(name) for name in self.results]
        return [name for name in names if f"gradient.{name}" in names]

    @functools.cached_property
    def size(self) -> int:
        """The number of samples, of points on a branch, of evaluations in a design."""
        if self.has("evaluations"):
            return int(np.sum(self.field("evaluations")))
        name = "objective" if self.has("objective") else "result"
        return len(np.atleast_1d(self.field(name)))

    @functools.cached_property
    def failed(self) -> np.ndarray:
        """Mask of the samples without a usable result, shape (samples,)."""
        codes = [int(code) for code in Reason if code.failed]
        return np.isin(self.field("result"), codes)

    def has(self, name: str) -> bool:
        """Whether the results have a field or a path of this name."""
        return name in self.results

    def field(self, name: str) -> np.ndarray:
        """Return a field or a swept path, samples along the first axis."""
        return np.asarray(self.results[name].values)

    def rows(self, name: str) -> np.ndarray:
        """Return a field as rows along its last axis, one per search or front."""
        values = self.field(name)
        return values.reshape(-1, values.shape[-1])

    def gridded(self, name: str) -> np.ndarray:
        """Return a field of a grid with one axis per path, followed by its own."""
        values = self.field(name)
        return values.reshape(*self.grid.values(), *values.shape[1:])

    def along(self, path: str) -> np.ndarray:
        """Return the values of one path of a grid."""
        position = list(self.grid).index(path)
        return np.moveaxis(self.gridded(path), position, 0).reshape(self.grid[path], -1)[
            :, 0
        ]

    def names(self, axis: str, size: int) -> list[str]:
        """Return the names along an axis, or numbers if the study has none."""
        names = self.study.get("axes", {}).get(axis, [])
        return list(names) if len(names) == size else [str(i) for i in range(size)]

    def unit(self, name: str) -> str:
        """Return the unit of a field or a path, empty if it has none."""
        return self.results[name].attrs.get("units", "")

    def quantity_text(self, unit: str, *values: complex, **form: Any) -> str:
        """Return values in SI, of a unit, in the unit shown, as `chosen_units` does."""
        return quantity_text(self.chosen_units, unit, *values, **form)

    def label(self, path: str) -> str:
        """Return the axis label of a swept path, with unit and convention."""
        note = ", 0-peak" if path.endswith("load.amplitude") else ""
        return with_unit(f"{readable(path)}{note}", self.unit(path))

    def component(self, field: str, axis: str, number: int, size: int) -> str:
        """Return the name of a field's component along an axis, with unit if stored."""
        units = self.results[field].attrs.get("component_units", "").split(", ")
        letter, _, of = (name := self.names(axis, size)[number]).partition("_")
        if of and letter in _LETTERS:
            name = f"{_LETTERS[letter]} of {of}"
        return with_unit(name, units[number] if len(units) == size else "")

    @functools.cached_property
    def place(self) -> str:
        """The folder as its config names it, for commands; otherwise its name."""
        try:
            return str(tomllib.loads(self.config)["output"]["directory"])
        except (tomllib.TOMLDecodeError, KeyError):
            return self.name

    @property
    def sampled(self) -> bool:
        """Whether its results are samples of a sweep, each with a config."""
        return bool(self.study.get("config", {}).get("sweep")) and bool(self.paths)

    @property
    def chosen_units(self) -> tuple[str, ...]:
        """The units selected in the config for pictures."""
        return tuple(self.study.get("config", {}).get("output", {}).get("units", ()))


def readable(path: str) -> str:
    """Return a path as words: `main mass` for `main.mass`, without section names."""
    steps = [step for step in path.split(".") if step not in _SECTIONS]
    return " ".join(steps or [path]).replace("_", " ")


def read_run(directory: Path | str) -> Run:
    """Read a finished study and verify it.

    **Raises:** `FileNotFoundError` if there is none, `ValueError` if it is unfinished
    and `OSError` if it is damaged.
    """
    directory = Path(directory)
    if not has_study(directory):
        raise FileNotFoundError(f"{directory} contains no study")
    record, commits = verified(directory)
    some = thinning(record, MOST_SHOWN)
    inside = {
        group: stored_fields(directory, record, commits, group) for group in groups(commits)
    }
    results = stored_fields(directory, record, commits, some=some)
    shown = dict(record)
    if some is not None:
        grid = record["grid"]
        shown["grid"] = grid and kept(grid, MOST_SHOWN)
        inside = {}  # their positions refer to all samples
    return Run(
        directory.resolve().name,
        results,
        inside.get("traces"),
        shown,
        read_times(directory),
        Folder(directory).read("config.toml").decode("utf-8", "replace"),
        inside.get("motion"),
        inside.get("mode_shapes"),
        some,
    )
