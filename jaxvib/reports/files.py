"""The pictures as files, PNG and SVG, drawn by matplotlib."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..studies.pictures import colours
from ..studies.pictures.picture import (
    Axis,
    Cells,
    Chart,
    Classes,
    Followers,
    Line,
    Notes,
    Picture,
    Points,
    Scale,
    Share,
)
from ..studies.store.folder import Folder

_INCHES = (5.6, 4.2)  # one chart
_MOST_OPTIONS = 4  # of a slider, drawn side by side


def write_files(pictures: Sequence[Picture], directory: Path) -> list[Path]:
    """Write each picture as PNG and SVG into a folder; the same bytes each time."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder = Folder(directory.parent)
    written = []
    with rc_context({"svg.hashsalt": "jaxvib", "font.size": 9}):
        for picture in pictures:
            panels = _panels(picture)
            width = 2 if len(panels) == 4 else min(3, len(panels))
            width = 1 if picture.stacked else width
            height = -(-len(panels) // width)
            size = (_INCHES[0] * width, _INCHES[1] * height)
            figure = Figure(size, layout="constrained")
            FigureCanvasAgg(figure)
            for axes, (chart, option, title) in zip(
                figure.subplots(height, width, squeeze=False).flat[: len(panels)],
                panels,
                strict=True,
            ):
                _draw(figure, axes, chart, option, title)
            for axes in figure.axes[len(panels) : width * height]:
                axes.remove()
            _legend(figure, picture)
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                content = io.BytesIO()
                figure.savefig(content, format=kind, dpi=150, metadata=metadata)
                name = f"{directory.name}/{picture.name}.{kind}"
                folder.write(name, content.getvalue(), sync=False)
                written.append(folder.root / name)
    return written


def _panels(picture: Picture) -> list[tuple[Chart, int | None, str]]:
    """Return what to draw: each chart, at a few options if there is a slider."""
    if picture.choice is None:
        return [(chart, None, chart.title) for chart in picture.charts]
    options = picture.choice.options
    evenly = np.linspace(0, len(options) - 1, min(_MOST_OPTIONS, len(options)))
    return [
        (chart, int(option), " ".join(filter(None, (chart.title, options[int(option)]))))
        for option in np.unique(evenly.round())
        for chart in picture.charts
    ]


def _draw(figure, axes, chart: Chart, option: int | None, title: str) -> None:
    for layer in chart.layers:
        if getattr(layer, "option", None) in (None, option):
            _DRAWN[type(layer)](figure, axes, layer)
    _label(axes.xaxis, axes.set_xlim, axes.set_xscale, chart.x)
    _label(axes.yaxis, axes.set_ylim, axes.set_yscale, chart.y)
    axes.set_title(_plain(title), loc="left", fontsize=10)
    if chart.equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.spines[["top", "right"]].set_visible(False)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend(frameon=False, fontsize=8)


def _cells(figure, axes, layer: Cells) -> None:
    colouring = _colouring(layer.paint)
    values = np.ma.masked_invalid(layer.values)
    # Cells are pixels inside the SVG too: as 4096 paths each map would take 1 MB.
    mesh = axes.pcolormesh(
        layer.x, layer.y, values, shading="nearest", rasterized=True, **colouring
    )
    if isinstance(layer.paint, Scale) and values.count():
        figure.colorbar(mesh, ax=axes, label=layer.paint.label, pad=0.02)


def _points(figure, axes, layer: Points) -> None:
    drawn = axes.scatter(layer.x, layer.y, c=layer.values, s=16, **_colouring(layer.paint))
    if isinstance(layer.paint, Scale):
        figure.colorbar(drawn, ax=axes, label=layer.paint.label, pad=0.02)


def _line(figure, axes, layer: Line) -> None:
    palette = colours.LINES["light"]
    axes.plot(
        layer.x,
        layer.y,
        color=palette[layer.colour % len(palette)],
        linestyle={"solid": "-", "dash": "--", "dot": ":"}[layer.style],
        linewidth=1.4,
        marker="." if layer.marks else None,
        markersize=3,
        label=_plain(layer.name) if layer.legend else None,
    )


def _notes(figure, axes, layer: Notes) -> None:
    marker = _MARKERS[layer.symbol]
    axes.plot(layer.x, layer.y, marker, color="#1b2127", markersize=4, label=layer.name)


def _followers(figure, axes, layer: Followers) -> None:
    x, y = layer.x[layer.first], layer.y[layer.first]
    axes.plot(x, y, "o", color="#1b2127", markersize=5, label=_plain(layer.name))


_MARKERS = {
    "diamond": "D",
    "square": "s",
    "cross": "x",
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
    from matplotlib.colors import (
        LinearSegmentedColormap,
        ListedColormap,
        LogNorm,
        Normalize,
    )

    if isinstance(paint, Classes):
        number = len(paint.colours)
        return {
            "cmap": ListedColormap(paint.colours),
            "norm": Normalize(-0.5, number - 0.5),
        }
    stops = LinearSegmentedColormap.from_list(paint.colours, colours.SCALES[paint.colours])
    return {
        "cmap": stops,
        "norm": (LogNorm if paint.log else Normalize)(paint.low, paint.high),
    }


def _label(axis, set_limits, set_scale, words: Axis) -> None:
    axis.set_label_text(_plain(words.label))
    if words.log:
        set_scale("log")
    if words.ticks:
        axis.set_ticks(range(len(words.ticks)), [_plain(tick) for tick in words.ticks])
    if words.low is not None or words.high is not None:
        set_limits(words.low, words.high)


def _legend(figure, picture: Picture) -> None:
    from matplotlib.patches import Patch

    entries = _legend_entries(picture)
    if not entries:
        return
    columns = 2 if len(picture.charts) == 1 or picture.stacked else 4
    patches = [
        Patch(facecolor=colour, edgecolor="#888888", linewidth=0.3, label=label)
        for colour, label in entries
    ]
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.19 * -(-len(entries) // columns))
    figure.legend(
        handles=patches, loc="outside lower left", ncols=columns, frameon=False, fontsize=8
    )


def _legend_entries(picture: Picture) -> list[tuple[str, str]]:
    """Return colour and label of each legend line; classes of one colour share a line."""
    by_colour: dict[str, list[Share]] = {}
    for share in picture.shares:
        by_colour.setdefault(share.colour, []).append(share)
    entries = []
    for colour, shares in by_colour.items():
        counts = [
            sum(each) for each in zip(*(share.counts for share in shares), strict=True)
        ]
        more = f" and {len(shares) - 1} more" if len(shares) > 1 else ""
        entries.append((colour, f"{shares[0].name}{more}: {' | '.join(map(str, counts))}"))
    return entries


def _plain(text: str) -> str:
    return text.replace("$", r"\$")  # matplotlib reads $...$ as a formula
