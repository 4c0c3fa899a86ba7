"""Charts of branches and of bifurcation curves."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...drawing import Axis, Chart, Line, Notes, draw
from ...drawing.axes import Axes
from ...drawing.labels import with_unit
from ...drawing.polyline import STYLES, SYMBOLS, chord_verdicts, position_on
from ...systems.base.system import System
from .measures import Components, Measure, Measured, measured

_OTHERS = ("star", "diamond", "square", "circle", "hexagon", "cross", "triangle-up")
_INK = 6  # index of the neutral line colour


def plot_branches(
    branches: Sequence[Any],
    *,
    measure: Measure = None,
    components: Components = None,
    system: System | None = None,
    labels: Sequence[str] | None = None,
    ax: Axes = None,
) -> Axes:
    """Draw branches along one parameter on the same axes, and return the axes.

    Each has its colour; the legend names each branch, each line style and each kind of
    bifurcation once. For equilibria and cycles together: `measure="range"`, which draws
    the lowest and highest values of cycles around the values of equilibria.

    **Arguments:** `branches`: along the same parameter. `labels`: of the legend, one per
    branch; default: what the branches consist of, numbered if necessary. The others as in
    `AbstractBranch.plot`, but `measure` is "range" by default where equilibria are among
    moving branches, as "amplitude" and "state" are different quantities.

    **Raises:** `ValueError` for no branch, branches along different parameters, as many
    labels as are not branches, and as `AbstractBranch.plot`.

    >>> branch = jv.continue_orbit(system, orbit, "load.amplitude", (450.0, 550.0))
    >>> axes = jv.branches.plot_branches([branch], components=["main"])
    >>> axes.get_ylabel()
    'amplitude of main (m)'
    """
    branches = tuple(branches)
    paths = list(dict.fromkeys(branch.path for branch in branches))
    if len(paths) != 1:
        raise ValueError(f"branches along {paths}; allowed: along one parameter")
    names = ("",) if len(branches) == 1 else _numbered([one.noun for one in branches])
    names = names if labels is None else tuple(labels)
    _check_labels(names, branches, "branches")
    kinds = {hasattr(branch.orbits, "period") for branch in branches}
    if measure is None and len(kinds) > 1:
        measure = "range"
    curves = [measured(branch, measure, components, system) for branch in branches]
    x = Axis(with_unit(paths[0], branches[0].unit), paths[0])
    words = list(dict.fromkeys(each.label for each in curves))
    layers = _branch_layers(list(zip(names, branches, curves, strict=True)))
    return draw(Chart(x, Axis(" / ".join(words)), tuple(layers)), ax)


def plot_curves(
    curves: Sequence[Any], *, labels: Sequence[str] | None = None, ax: Axes = None
) -> Axes:
    """Draw bifurcation curves in the plane of their two parameters; return the axes.

    Each has its colour and label; codimension-two points are marked by kind.
    **Arguments:** `curves`: of the same two parameters. `labels`: one per curve; default:
    the kinds, numbered if necessary.

    **Raises:** `ValueError` for no curve, curves in different parameters, or another
    number of labels.
    """
    curves = tuple(curves)
    planes = list(dict.fromkeys(frozenset(curve.paths) for curve in curves))
    if len(planes) != 1:
        found = [" and ".join(curve.paths) for curve in curves]
        raise ValueError(f"curves in {found}; allowed: in the same two parameters")
    kinds = [curve.kind.replace("_", " ") for curve in curves]
    names = _numbered(kinds) if labels is None else tuple(labels)
    _check_labels(names, curves, "curves")
    paths, units = curves[0].paths, curves[0].units
    layers: list[Line | Notes] = []
    found: dict[str, list[np.ndarray]] = {}
    for colour, (name, curve) in enumerate(zip(names, curves, strict=True)):
        order = [curve.paths.index(path) for path in paths]
        places = np.asarray(curve.parameters)[:, order]
        marks = [np.asarray(point.parameters)[order] for point in curve.codimension_two]
        for point, mark in zip(curve.codimension_two, marks, strict=True):
            found.setdefault(point.kind, []).append(mark)
        # The marked points become points of the line.
        drawn = _inserted(
            places, [_Mark(position_on(places, mark), mark) for mark in marks]
        )
        layers.append(Line(drawn[:, 0], drawn[:, 1], name, colour))
    for number, (kind, each) in enumerate(found.items()):
        x, y = np.array(each).T
        words = kind.replace("_", " ")
        symbol = _OTHERS[number % len(_OTHERS)]
        layers.append(Notes(x, y, (words,) * len(x), words, symbol))
    across, up = (
        Axis(with_unit(*each), each[0]) for each in zip(paths, units, strict=True)
    )
    title = kinds[0] if len(curves) == 1 else ""
    return draw(Chart(across, up, tuple(layers), title), ax)


class _Mark(NamedTuple):
    """A point to insert: its position among the points of a line, and its value."""

    position: float
    value: np.ndarray


def _branch_layers(named: list[tuple[str, Any, Measured]]) -> Iterator[Line | Notes]:
    single = sum(len(curves.names) for _, _, curves in named) == 1
    marks: dict[str, list[np.ndarray]] = {}
    present, colour = set(), 0
    for name, branch, curves in named:
        x, values, verdicts, kinds = _with_bifurcations(branch, curves)
        chords = _chords(x, values, verdicts)
        present |= set(chords.tolist()) & set(STYLES)
        for kind in dict.fromkeys(filter(None, kinds)):
            own = np.array([each == kind for each in kinds])
            height = values[own].reshape(own.sum(), -1)
            across = np.broadcast_to(x[own, None], height.shape)
            places = np.stack([across.ravel(), height.ravel()])
            marks.setdefault(kind, []).append(places)
        for column, word in enumerate(curves.names):
            words = name if len(curves.names) == 1 and name else word
            if len(curves.names) > 1 and len(named) > 1:
                words = f"{name}, {word}"
            label = "" if single else words
            yield from _by_verdict(x, values[:, column], chords, label, colour)
            colour += 1
    if not single and present != {1}:
        nowhere = np.full(1, np.nan)
        for verdict, (style, word) in STYLES.items():
            if verdict in present:
                yield Line(nowhere, nowhere, word, _INK, style)
    for kind, each in marks.items():
        x, y = np.concatenate(each, axis=1)
        words = kind.replace("_", " ")
        texts = (words,) * len(x)
        yield Notes(x, y, texts, words, SYMBOLS.get(kind, "diamond"))


def _chords(x, values, verdicts) -> np.ndarray:
    """Return the verdicts of the chords; those of length 0 have none, 2."""
    places = np.column_stack([x, values.reshape(len(x), -1)])
    still = np.all(places[1:] == places[:-1], axis=1)
    return np.where(still, 2, chord_verdicts(verdicts))


def _by_verdict(x, lines, chords, name: str, colour: int) -> Iterator[Line]:
    """Return lines by the verdicts of their chords.

    The first line has the `name` in the legend, or each verdict its own if it is empty.
    """
    first = True
    for verdict, (style, word) in STYLES.items():
        if verdict not in chords:
            continue
        own = np.append(chords == verdict, False)
        own[1:] |= own[:-1].copy()
        for number, values in enumerate(lines.T):
            shown = np.where(own, values, np.nan)
            legend = number == 0 and (first or not name)
            yield Line(x, shown, name or word, colour, style, legend=legend)
        first = False


def _with_bifurcations(branch, curves: Measured):
    """Return parameters, values, verdicts and kinds ("" of other points) of a branch.

    Bifurcations are inserted between the points beside them, with the verdicts of both,
    so that marks are on the lines, and the line style changes there.
    """
    x, states = np.asarray(branch.parameter), np.asarray(branch.states)
    known = [
        point for point in branch.bifurcations if np.isfinite(np.asarray(point.state)).all()
    ]
    place = np.column_stack([x, states])
    positions = [
        position_on(place, np.append(point.parameter, point.state)) for point in known
    ]
    last = len(x) - 1
    marks, values, verdicts = [], [], []
    verdict = np.asarray(branch.stable)
    for point, position in zip(known, positions, strict=True):
        value = curves.at(point)
        inside = np.clip(position, 0, last)
        below = min(int(inside), max(last - 1, 0))
        above, share = min(below + 1, last), inside - below
        if value is None:
            value = (1 - share) * curves.values[below] + share * curves.values[above]
        # An orbit at rest has neither a lowest nor a highest value.
        before = min(max(int(np.floor(position)), 0), last)
        behind = min(max(int(np.floor(position)) + 1, 0), last)
        for side in (before, behind):
            values.append(_Mark(position, np.broadcast_to(value, curves.values.shape[1:])))
            marks.append(_Mark(position, np.asarray(float(point.parameter))))
            verdicts.append(_Mark(position, verdict[side]))
    numbers = [
        _Mark(position, np.asarray(number))
        for i, position in enumerate(positions)
        for number in (i + 1, 0)
    ]
    which = _inserted(np.zeros(len(x), int), numbers)
    kinds = [known[i - 1].kind if i else "" for i in which]
    return (
        _inserted(x, marks),
        _inserted(curves.values, values),
        _inserted(verdict, verdicts),
        kinds,
    )


def _inserted(values: np.ndarray, marks: Sequence[_Mark]) -> np.ndarray:
    """Return the values with those of the marks inserted in order of position."""
    marks = sorted(marks, key=lambda mark: mark.position)
    before = [int(np.floor(mark.position)) + 1 for mark in marks]
    if not marks:
        return values
    return np.insert(values, before, np.stack([mark.value for mark in marks]), axis=0)


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, those that occur repeatedly with a number."""
    return tuple(
        f"{name} {list(names[: i + 1]).count(name)}"
        if list(names).count(name) > 1
        else name
        for i, name in enumerate(names)
    )


def _check_labels(labels, drawn, noun: str) -> None:
    if len(labels) != len(drawn):
        raise ValueError(f"labels: {len(labels)} of {len(drawn)} {noun}; allowed: one each")
