"""Lines of branches: their styles and marks, places on them, and the limit of stability."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .chart import Line, Notes

# Style and name of a line by the verdict on its points.
STYLES = {1: ("solid", "stable"), 0: ("dash", "unstable"), -1: ("dot", "undecided")}
_SYMBOLS = {
    "fold": "triangle-up",
    "period_doubling": "circle",
    "neimark_sacker": "hexagon",
    "hopf": "diamond",
    "branch_point": "star",
    "grazing": "cross",
}
_OTHERS = ("star", "diamond", "square", "circle", "hexagon", "cross", "triangle-up")
_INK = 6  # index of the neutral line colour


class BranchCurves(NamedTuple):
    """Curves of a branch.

    `values`: (points, curves, lines), with two lines for the lowest and the highest value.
    `at`: returns the (curves, lines) at a bifurcation, or None where they are unknown.
    """

    label: str
    names: tuple[str, ...]
    values: np.ndarray
    at: Callable[[Any], np.ndarray | None] = lambda point: None


class DrawnPoints(NamedTuple):
    """The points of a branch and, between those beside it, two of each bifurcation.

    `rows`: the point of the branch of each, of a bifurcation's those beside it; `found`:
    the bifurcations; `marks`: the first point of each; `positions`: see `position_on`.
    """

    rows: np.ndarray
    found: list[Any]
    marks: np.ndarray
    positions: np.ndarray


def drawn_points(branch: Any) -> DrawnPoints:
    """Return the points that are drawn of a branch.

    `branch`: has `parameter`, `states`, `stable` and `bifurcations`, each of which has
    `kind`, `parameter` and `state`; those without a finite state are left out.
    """
    line = np.column_stack([branch.parameter, branch.states])
    places = [np.append(point.parameter, point.state) for point in branch.bifurcations]
    pairs = zip(branch.bifurcations, places, strict=True)
    known = [
        (position_on(line, place), point)
        for point, place in pairs
        if np.isfinite(place).all()
    ]
    known.sort(key=lambda pair: pair[0])
    positions = np.array([position for position, _ in known])
    before = np.floor(positions).astype(int)
    beside = np.clip(np.stack([before, before + 1], -1).ravel(), 0, len(line) - 1)
    rows = np.insert(np.arange(len(line)), np.repeat(before + 1, 2), beside)
    marks = before + 1 + 2 * np.arange(len(known))
    return DrawnPoints(rows, [point for _, point in known], marks, positions)


def branch_layers(
    branches: Sequence[tuple[str, Any, BranchCurves]],
    *,
    marked: bool = False,
    text: Callable[[Any], str] = lambda point: kind_words(point.kind),
) -> Iterator[Line | Notes]:
    """Yield the lines of branches and the marks of their bifurcations.

    Each curve has its colour. Bifurcations are points of the lines, whose style changes
    there; without one, the chord between points of different verdicts is undecided.
    `branches`: a name, the branch (`drawn_points`) and its curves; `marked`: whether the
    points are marked; `text`: of a bifurcation.
    """
    single = sum(len(curves.names) for _, _, curves in branches) == 1
    marks: dict[str, list[tuple[float, float, str]]] = {}
    present, colour = set(), 0
    for number, (name, branch, curves) in enumerate(branches):
        drawn = drawn_points(branch)
        x, values, chords = _placed(branch, curves, drawn)
        present |= set(chords.tolist()) & set(STYLES)
        for point, place in zip(drawn.found, drawn.marks, strict=True):
            heights = values[place].ravel().tolist()
            marks.setdefault(point.kind, []).extend(
                (x[place], height, text(point)) for height in heights
            )
        for column, word in enumerate(curves.names):
            words = name if len(curves.names) == 1 and name else word
            if len(curves.names) > 1 and len(branches) > 1:
                words = f"{name}, {word}"
            label = "" if single else words
            for style, shown, own, first in _by_verdict(values[:, column], chords, label):
                legend = first and not single
                yield Line(x, shown, own, colour, style, None, number, None, legend, marked)
            colour += 1
    if present != {1}:
        nowhere = np.full(1, np.nan)
        for verdict, (style, word) in STYLES.items():
            if verdict in present:
                yield Line(nowhere, nowhere, word, _INK, style)
    for kind, each in marks.items():
        across, up, texts = zip(*each, strict=True)
        symbol = _SYMBOLS.get(kind, "diamond")
        yield Notes(np.array(across), np.array(up), texts, kind_words(kind), symbol)


def _placed(branch: Any, curves: BranchCurves, drawn: DrawnPoints):
    """Return x, values and the verdicts of the chords of the drawn points.

    The verdict of a chord is that of both ends, -1 if they differ; one of length 0 has
    none, 2.
    """
    x, values = (np.asarray(each)[drawn.rows] for each in (branch.parameter, curves.values))
    last = len(curves.values) - 1
    pairs = zip(drawn.found, drawn.positions, drawn.marks, strict=True)
    for point, position, mark in pairs:
        height = curves.at(point)
        if height is None:
            inside = np.clip(position, 0, last)
            below = min(int(inside), max(last - 1, 0))
            above, share = min(below + 1, last), inside - below
            height = (1 - share) * curves.values[below] + share * curves.values[above]
        x[mark : mark + 2], values[mark : mark + 2] = float(point.parameter), height
    verdicts = np.asarray(branch.stable)[drawn.rows]
    chords = np.where(verdicts[1:] == verdicts[:-1], verdicts[1:], -1)
    places = np.column_stack([x, values.reshape(len(x), -1)])
    return x, values, np.where(np.all(places[1:] == places[:-1], axis=1), 2, chords)


def _by_verdict(lines: np.ndarray, chords: np.ndarray, name: str):
    """Yield style, values, name and whether it is the first of lines by verdict.

    The name is that of the verdict where `name` is empty.
    """
    first = True
    for verdict, (style, word) in STYLES.items():
        if verdict not in chords:
            continue
        own = np.append(chords == verdict, False)
        own[1:] |= own[:-1].copy()
        for number, values in enumerate(lines.T):
            line = np.where(own, values, np.nan)
            yield style, line, name or word, first and number == 0
        first = False


def kind_words(kind: str) -> str:
    """Return a kind of bifurcation as words."""
    return kind.replace("_", " ")


def curve_layers(
    curves: Sequence[Any], paths: Sequence[str], names: Sequence[str]
) -> Iterator[Line | Notes]:
    """Yield the lines of bifurcation curves, and the marks of codimension-two points.

    Each curve has its colour; marked points become points of the line. `curves`: have
    `paths`, `parameters` (points, 2), and `codimension_two`: points with `kind` and
    `parameters`; `paths`: of the chart's axes; `names`: of the curves.
    """
    found: dict[str, list[np.ndarray]] = {}
    for colour, (name, curve) in enumerate(zip(names, curves, strict=True)):
        order = [list(curve.paths).index(path) for path in paths]
        marks = [np.asarray(point.parameters)[order] for point in curve.codimension_two]
        for point, mark in zip(curve.codimension_two, marks, strict=True):
            found.setdefault(point.kind, []).append(mark)
        x, y = _with_marks(np.asarray(curve.parameters)[:, order], marks).T
        yield Line(x, y, name, colour)
    for number, (kind, each) in enumerate(found.items()):
        words, (x, y) = kind_words(kind), np.array(each).T
        texts = tuple(f"{words} at {a:.8g}, {b:.8g}" for a, b in each)
        yield Notes(x, y, texts, words, _OTHERS[number % len(_OTHERS)])


def numbered(kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the words of kinds, those that occur repeatedly with a number."""
    names = [kind_words(kind) for kind in kinds]
    return tuple(
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    )


def unit_circle(*, legend: bool = True) -> Line:
    """Return the limit of stability in the plane of multipliers."""
    angle = np.linspace(0.0, 2 * np.pi, 181)
    return Line(np.cos(angle), np.sin(angle), "stability limit", 3, "dot", legend=legend)


def _with_marks(points: np.ndarray, marks: Sequence[np.ndarray]) -> np.ndarray:
    """Return points (points, n) with marks between those that they are nearest to."""
    placed = [(position_on(points, mark), mark) for mark in marks]
    placed.sort(key=lambda pair: pair[0])
    before = [int(np.floor(position)) + 1 for position, _ in placed]
    between = np.reshape([mark for _, mark in placed], (-1, points.shape[1]))
    return np.insert(points, before, between, axis=0)


def position_on(points: np.ndarray, mark: np.ndarray) -> float:
    """Return the position of a mark on the line through points (points, n).

    2.25 is a quarter of the way from point 2 to point 3; -0.5 and len(points) - 0.5 are
    before the first and behind the last point.
    """
    if len(points) < 2:
        return -0.5
    size = np.ptp(points, axis=0)
    size = np.where(size > 0, size, np.maximum(np.abs(points).max(axis=0), 1e-300))
    start, along = points[:-1] / size, np.diff(points, axis=0) / size
    squares = np.maximum(np.sum(along**2, axis=1), 1e-300)
    shares = np.sum((mark / size - start) * along, axis=1) / squares
    nearest = start + np.clip(shares, 0.0, 1.0)[:, None] * along
    apart = np.nan_to_num(np.sum((mark / size - nearest) ** 2, axis=1), nan=np.inf)
    best = int(np.argmin(apart))
    last = len(points) - 2
    if (best == 0 and shares[0] < 0) or (best == last and shares[last] > 1):
        return -0.5 if best == 0 and shares[0] < 0 else last + 1.5
    return best + float(np.clip(shares[best], 0.0, 1.0))
