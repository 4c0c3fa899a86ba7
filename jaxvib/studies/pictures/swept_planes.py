"""The two swept paths of a map, and the arrangement of samples on it."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from ...drawing.chart import Classes, Scale
from ...drawing.field_charts import is_logarithmic
from ..store.finished_study import Run, readable
from .picture import Axis, Cells, Choice, Slices

MOST_OF_A_SLIDER = 33  # options of a slider that a hand can distinguish
MOST_CELLS = 256  # along one axis (its square in all); finer grids are subsampled


@dataclasses.dataclass(frozen=True)
class Plane:
    """A grid study as maps: x and y are two of its paths, slider options the others."""

    run: Run
    number: int
    x_path: str
    y_path: str

    @property
    def x(self) -> Axis:
        """The horizontal axis."""
        return axis(self.run, self.x_path)

    @property
    def y(self) -> Axis:
        """The vertical axis."""
        return axis(self.run, self.y_path)

    @property
    def others(self) -> list[str]:
        """The paths of the grid that are on neither axis."""
        return [path for path in self.run.grid if path not in (self.x_path, self.y_path)]

    @functools.cached_property
    def sheets(self) -> np.ndarray:
        """Sample numbers, shape (options, ny, nx), subsampled for display."""
        names = list(self.run.grid)
        numbers = np.arange(self.run.size, dtype=np.int32)
        numbers = numbers.reshape(tuple(self.run.grid.values()))
        numbers = numbers[tuple(slice(None, None, each) for each in self._strides)]
        last = [names.index(self.y_path), names.index(self.x_path)]
        numbers = np.moveaxis(numbers, last, (-2, -1))
        return numbers.reshape(-1, *numbers.shape[-2:])

    @functools.cached_property
    def _strides(self) -> list[int]:
        """The subsampling stride of each path; the result is a grid again."""
        counts = np.array(list(self.run.grid.values()))
        strides = -(-counts // MOST_CELLS)
        while (shown := -(-counts // strides)).prod() > MOST_CELLS**2:
            strides[shown.argmax()] += 1
        return strides.tolist()

    @property
    def slices(self) -> Slices | None:
        """The selectable slices, None if only two paths have several values."""
        paths = long_paths(self.run)
        if len(paths) < 3:
            return None
        strides = dict(zip(self.run.grid, self._strides, strict=True))
        places = [self.run.along(path)[:: strides[path]] for path in paths]
        options = (
            tuple(value_text(self.run, path, value) for value in values)
            for path, values in zip(paths, places, strict=True)
        )
        axes = (axis(self.run, path) for path in paths)
        return Slices(tuple(axes), tuple(places), tuple(options))

    @property
    def thinned(self) -> str:
        """Sentences about omitted samples; empty if there are none."""
        shown, number = self.sheets.size, self.run.size
        text = f" Shown: {shown} of {number} samples (even subsample)." * (shown < number)
        if self.run.has("computed"):
            done = int(np.sum(self.run.field("computed") > 0))
            text += f" {done} of {number} samples were computed, the others were filled "
            text += "in cells whose corners agree."
        return text

    @property
    def choice(self) -> Choice | None:
        """The options of the slider, None if the grid has two paths only."""
        if not self.others:
            return None
        labels = [sample_text(self.run, sheet[0, 0], self.others) for sheet in self.sheets]
        return Choice(", ".join(map(readable, self.others)), tuple(labels))

    def cells(
        self, values: np.ndarray, paint: Scale | Classes, versus: int | None = None
    ) -> tuple[Cells, ...]:
        """Return a field, shape (samples,), as one layer per option."""
        x = self.run.field(self.x_path)[self.sheets[0, 0]]
        y = self.run.field(self.y_path)[self.sheets[0, :, 0]]
        options = range(len(self.sheets)) if self.others else [None]
        return tuple(
            Cells(x, y, values[sheet], paint, sheet, self.number, option, versus)
            for option, sheet in zip(options, self.sheets, strict=True)
        )


def planes(runs: Sequence[Run]) -> list[Plane]:
    """Return one plane per run; a grid with fewer than two long paths has none."""
    return [
        Plane(run, number, *_two_paths(run))
        for number, run in enumerate(runs)
        if len(long_paths(run)) > 1
    ]


def long_paths(run: Run) -> list[str]:
    """Return the paths of a grid that have more than one value."""
    return [path for path, number in run.grid.items() if number > 1]


def axis(run: Run, path: str) -> Axis:
    """Return the axis of a swept path, logarithmic if its values are."""
    return Axis(run.label(path), path, log=is_logarithmic(run.field(path)))


def value_text(run: Run, path: str, value: float) -> str:
    """Return a path with value and unit, such as `load amplitude 500 N`."""
    shown = run.quantity_text(run.unit(path), value, digits=4)
    return f"{readable(path)} {shown}"


def slider_samples(
    run: Run, most: int = MOST_OF_A_SLIDER
) -> tuple[list[int], Choice | None]:
    """Return an even subsample and its slider (None for a single sample)."""
    count = min(run.size, most)
    samples = np.linspace(0, run.size - 1, count).round().astype(int).tolist()
    return samples, choice_of(run, samples)


def choice_of(
    run: Run,
    samples: Sequence[int | np.integer] | np.ndarray,
    paths: Sequence[str] | None = None,
) -> Choice | None:
    """Return the slider over samples by the values of some paths, None for a single one."""
    if len(samples) < 2:
        return None
    chosen = run.paths if paths is None else paths
    labels = tuple(sample_text(run, sample, chosen) for sample in samples)
    return Choice(", ".join(map(readable, chosen)), labels)


def sample_text(
    run: Run, sample: int | np.integer, paths: Sequence[str] | None = None
) -> str:
    """Return paths with their values at a sample; all swept paths by default."""
    chosen = run.paths if paths is None else paths
    return ", ".join(value_text(run, path, run.field(path)[sample]) for path in chosen)


def _two_paths(run: Run) -> tuple[str, str]:
    """Return the paths of x and y: frequency and amplitude if they are swept."""
    long = long_paths(run)
    x = next((path for path in long if path.endswith("frequency")), long[-1])
    others = [path for path in long if path != x]
    return x, next((path for path in others if path.endswith("amplitude")), others[0])
