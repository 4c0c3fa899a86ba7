"""Rendering of charts on matplotlib axes; matplotlib is imported on first use."""

from typing import Any

import numpy as np

from . import colours
from .chart import Axis, Cells, Chart, Classes, Followers, Line, Notes, Points, Scale

Axes = Any  # of matplotlib, which is imported only when something is drawn
_INK = "#1b2127"
_LEGEND_SIZES = (8, 7, 6)  # points; smaller letters are hard to read in print
_FEW = 30.0  # ratio high/low of a log axis that has only one or two powers of ten


def draw(chart: Chart, ax: Axes = None, *, classes: bool = True) -> Axes:
    """Draw a chart on the given or new axes and return them.

    `classes`: whether the legend includes the colours of classes.
    """
    axes = new_axes() if ax is None else ax
    for layer in chart.layers:
        _DRAWN[type(layer)](axes.figure, axes, layer)
    _label(axes.xaxis, axes.set_xlim, axes.set_xscale, chart.x)
    _label(axes.yaxis, axes.set_ylim, axes.set_yscale, chart.y)
    axes.set_title(plain(chart.title), loc="left", fontsize=10)
    if chart.equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.spines[["top", "right"]].set_visible(False)
    handles, _ = axes.get_legend_handles_labels()
    if classes:
        handles += _patches(chart)
    handles = list({each.get_label(): each for each in handles}.values())  # each name once
    if len(handles) > 1 and chart.legend:
        _legend(axes, handles)
    return axes


def _legend(axes, handles) -> None:
    """Draw a legend in up to half of the width and height of the axes, else above them."""
    for size in _LEGEND_SIZES:
        legend = axes.legend(handles=handles, frameon=False, fontsize=size)
        room, taken = axes.get_window_extent(), legend.get_window_extent()
        if taken.width <= 0.5 * room.width and taken.height <= 0.5 * room.height:
            return
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2}
    axes.legend(handles=handles, frameon=False, fontsize=_LEGEND_SIZES[-1], **above)


def new_axes() -> Axes:
    """Return axes of a new pyplot figure, which a notebook or window displays."""
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def plain(text: str) -> str:
    """Escape `$`, which matplotlib would read as a formula."""
    return text.replace("$", r"\$")


def patch(colour: str, name: str, hatch: str = "") -> Any:
    """Return the legend entry of a colour and its hatch."""
    from matplotlib.patches import Patch

    return Patch(
        facecolor=colour,
        edgecolor=_contrasting_ink(colour),
        linewidth=0.3,
        label=plain(name),
        hatch=3 * hatch or None,
    )


def _patches(chart: Chart) -> list:
    found = []
    for layer in chart.layers:
        if isinstance(paint := getattr(layer, "paint", None), Classes):
            present = np.unique(np.asarray(layer.values))
            for member in present[np.isfinite(present)].astype(int).tolist():
                colour, name = paint.colours[member], plain(paint.names[member])
                found.append(patch(colour, name, paint.hatch(member)))
    return found


def _cells(figure, axes, layer: Cells) -> None:
    colouring = _colouring(layer.paint)
    values = np.ma.masked_invalid(layer.values)
    # Rasterized even in SVG: 4096 vector paths would take 1 MB per map.
    mesh = axes.pcolormesh(
        layer.x, layer.y, values, shading="nearest", rasterized=True, **colouring
    )
    if isinstance(layer.paint, Classes):
        for member, hatch in enumerate(layer.paint.hatches):
            own = np.asarray(layer.values) == member
            if hatch and own.any():
                ink = _contrasting_ink(layer.paint.colours[member])
                axes.add_patch(_hatched(mesh.get_coordinates(), own, 3 * hatch, ink))
    elif values.count():
        figure.colorbar(mesh, ax=axes, label=layer.paint.label, pad=0.02)


def _hatched(corners: np.ndarray, own: np.ndarray, hatch: str, ink: str):
    """Return a hatched patch over the cells `own`, with corners (rows, columns, 2)."""
    from matplotlib import patches, path

    around = (corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1])
    rings = np.stack([each[own] for each in (*around, around[0])], axis=1)
    step = path.Path
    codes = [step.MOVETO, step.LINETO, step.LINETO, step.LINETO, step.CLOSEPOLY]
    # A single compound path: separate paths take 1 ms each, about 1 s per map.
    cells = path.Path(rings.reshape(-1, 2), codes * len(rings))
    return patches.PathPatch(
        cells, hatch=hatch, facecolor="none", edgecolor=ink, linewidth=0, rasterized=True
    )


def _contrasting_ink(colour: str) -> str:
    """Return an ink colour that contrasts with the given colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    dark = 0.3 * red + 0.59 * green + 0.11 * blue < 90
    return "#ffffffaa" if dark else "#00000077"


# Square points of all marks of a layer, and of all at one x: a crowd's are small.
_MARKED, _STACKED = 6000, 100
_RIM = "#00000070"  # of marks, as yellow ones would vanish on white


def _points(figure, axes, layer: Points) -> None:
    _, column, counts = np.unique(layer.x, return_inverse=True, return_counts=True)
    most = np.clip(_MARKED / max(len(layer.x), 1), 3, 16)
    area = np.clip(_STACKED / counts[column], 2, most)
    drawn = axes.scatter(
        layer.x, layer.y, c=layer.values, s=area, linewidth=0.2, edgecolor=_RIM,
        **_colouring(layer.paint),
    )  # fmt: skip
    if isinstance(layer.paint, Scale):
        figure.colorbar(drawn, ax=axes, label=layer.paint.label, pad=0.02)


# Samples of a line whose dots are shown, and points of all dots: many are small.
_DOTTED, _DOTS = 150, 240


def _line(figure, axes, layer: Line) -> None:
    if layer.rim:
        axes.plot(layer.x, layer.y, color="white", linewidth=3.2)
    palette = colours.LINES["light"]
    known = np.pad(np.isfinite(np.asarray(layer.y, float)), 1)
    alone = np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:])  # no line shows these
    sampled = layer.samples is not None and len(layer.x) <= _DOTTED
    marks = layer.marks or sampled
    axes.plot(
        layer.x,
        layer.y,
        color=palette[layer.colour % len(palette)],
        linestyle=_STYLES[layer.style],
        linewidth=0.9 if layer.style == "dot" else 1.4,
        marker="." if marks or len(alone) else None,
        markevery=None if marks or not len(alone) else alone.tolist(),
        markersize=np.clip(_DOTS / max(len(layer.x), 1), 2.2, 3.5),
        label=plain(layer.name) if layer.legend else None,
    )


def _notes(figure, axes, layer: Notes) -> None:
    marker = _MARKERS[layer.symbol]
    axes.plot(layer.x, layer.y, marker, color=_INK, markersize=4, label=layer.name)


def _followers(figure, axes, layer: Followers) -> None:
    x, y = layer.x[layer.first], layer.y[layer.first]
    axes.plot(x, y, "o", color=_INK, markersize=5, label=plain(layer.name))


_STYLES = {"solid": "-", "dash": "--", "dashdot": "-.", "dot": ":"}
_MARKERS = {
    "diamond": "D",
    "square": "s",
    "cross": "P",
    "x": "X",
    "circle": "o",
    "triangle-up": "^",
    "hexagon": "h",
    "star": "*",
}
_DRAWN = {
    Cells: _cells,
    Points: _points,
    Line: _line,
    Notes: _notes,
    Followers: _followers,
}


def _colouring(paint: Scale | Classes) -> dict:
    from matplotlib import colors as kinds

    if isinstance(paint, Classes):
        number = len(paint.colours)
        return {
            "cmap": kinds.ListedColormap(paint.colours),
            "norm": kinds.Normalize(-0.5, number - 0.5),
        }
    stops = kinds.LinearSegmentedColormap.from_list(
        paint.colours, colours.SCALES[paint.colours]
    )
    return {
        "cmap": stops,
        "norm": (kinds.LogNorm if paint.log else kinds.Normalize)(paint.low, paint.high),
    }


def _label(axis, set_limits, set_scale, words: Axis) -> None:
    axis.set_label_text(plain(words.label))
    if words.log:
        set_scale("log")
        _plain_ticks(axis)
    if words.ticks:
        axis.set_ticks(range(len(words.ticks)), [plain(tick) for tick in words.ticks])
    if words.low is not None or words.high is not None:
        set_limits(words.low, words.high)


def _plain_ticks(axis) -> None:
    """Label a short logarithmic axis with 0.4, 0.6, 1, 2 instead of powers of ten."""
    low, high = axis.get_view_interval()
    if low > 0 and high < _FEW * low:
        axis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_minor_formatter(
            lambda value, _: f"{value:g}" if f"{value:e}"[0] in "246" else ""
        )
