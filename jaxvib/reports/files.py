"""Picture files at journal column widths (SVG, PDF, PNG), drawn with matplotlib."""

import csv
import dataclasses
import io
import itertools
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..drawing import Chart, draw
from ..drawing.axes import patch
from ..studies.pictures.picture import Cells, Classes, Picture

# inches: common figure widths of journals, single to double column
_COLUMN, _ONE_AND_A_HALF, _PAGE = 90 / 25.4, 140 / 25.4, 190 / 25.4
_HEIGHT = 0.76  # of a chart, over its width
_LETTERS = 12  # characters per inch of an 8-point title
_SMALL = 16  # characters per inch of a 6-point legend, or more
_CLASSES = 20  # those of names of classes, in small letters
_FITTING = 4  # most entries of a legend inside its axes
# Intervals along x where numbers would touch, and their lengths up to a power of ten.
_FEWER, _STEPS = (4, 3, 2), (1, 2, 4, 5, 8, 10)
_HANDLE = 5  # width of a legend's line and its padding, in characters
_MOST_OPTIONS = 4  # slider options drawn as panels
_STYLE: Any = {
    "svg.hashsalt": "jaxvib",
    "pdf.fonttype": 42,  # text stays editable
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "hatch.linewidth": 0.5,
}
_UNDATED = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


_HEAD = ("x is", "y is", "what", "setting", "x", "y", "value", "sample")


def picture_files(pictures: Sequence[Picture]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each picture's files; the bytes are reproducible."""
    # 0.3 s of imports, and 0.4 s for each picture: only for a caller who wants files.
    from matplotlib import rc_context

    for picture in pictures:
        with rc_context(_STYLE):
            figure = _drawn(picture)
            for kind, metadata in _UNDATED.items():
                content = io.BytesIO()
                figure.savefig(content, format=kind, dpi=220, metadata=metadata)
                yield f"{picture.name}.{kind}", content.getvalue()


def _drawn(picture: Picture):
    """Return a picture as a matplotlib figure with a fixed layout."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    panels = _panels(picture)
    across = 1 if picture.stacked else _across(picture, len(panels))
    down = -(-len(panels) // across)
    width = _COLUMN if across == 1 else _PAGE
    width, shape = (_ONE_AND_A_HALF, 0.45) if picture.stacked else (width, _HEIGHT)
    engine = ConstrainedLayoutEngine()
    figure = Figure((width, down * shape * width / across), layout=engine)
    FigureCanvasAgg(figure)
    places = figure.subplots(down, across, squeeze=False).flat[: len(panels)]
    for axes, chart in zip(places, panels, strict=True):
        draw(chart, axes, classes=False)
        _fit(axes, width / across, chart.x.ticks, alone=across == 1)
        _wrap_label(axes, shape * width / across)
    for axes in figure.axes[len(panels) : across * down]:
        axes.remove()
    named = [axes for axes, chart in zip(places, panels, strict=True) if chart.legend]
    _legend(figure, picture, _shared_handles(named))
    # Laid out once: each savefig would repeat it with an engine, even with "none".
    engine.execute(figure)
    figure.set_layout_engine(None)
    for axes, chart in zip(places, panels, strict=True):
        if not (chart.x.log or chart.x.ticks):
            _part_numbers(axes)
    return figure


def _across(picture: Picture, panels: int) -> int:
    """Return the number of panels in a row: the charts of one option of a slider."""
    charts = len(picture.charts)
    if picture.choice is not None and 1 < charts <= 3:
        return charts
    return 2 if panels == 4 else min(3, panels)


def _fit(axes, width: float, names: Sequence[str], *, alone: bool) -> None:
    """Fit title, tick labels of x and legend into a panel of this width, in inches.

    `alone`: whether there is no panel beside it.
    """
    title = axes.get_title(loc="left")
    letters = int(width * _LETTERS)
    parts = title.split(", ")
    if max(map(len, parts)) < letters:  # no line breaks within a value and its unit
        title = ", ".join(part.replace(" ", "\u00a0") for part in parts)
    title = textwrap.fill(title, letters, break_on_hyphens=False)
    axes.set_title(title, loc="left", fontsize=8)
    if sum(len(name) + 2 for name in names) > letters:
        for tick in axes.get_xticklabels():
            tick.set(rotation=30, horizontalalignment="right", rotation_mode="anchor")
    if not alone and (legend := axes.get_legend()):
        handles = legend.legend_handles
        length = sum(len(handle.get_label()) + _HANDLE for handle in handles)
        room = length + len(title) < width * _SMALL
        # 6 points is the smallest size that journals accept.
        axes.legend(
            handles=handles, frameon=False, fontsize=6, labelspacing=0.2,
            handlelength=2 if room else 3,
            # On one line above the axes, beside the title.
            **({"loc": "lower right" if title else "lower left", "ncols": len(handles),
                "bbox_to_anchor": (bool(title), 1), "borderpad": 0} if room else {}),
        )  # fmt: skip


def _part_numbers(axes) -> None:
    """Show fewer numbers along x where they would touch."""
    for most in _FEWER:
        boxes = [tick.get_window_extent() for tick in axes.get_xticklabels()]
        gaps = [after.x0 - before.x1 for before, after in itertools.pairwise(boxes)]
        if not gaps or min(gaps) >= boxes[0].height / 2:
            return
        axes.locator_params(axis="x", nbins=most, steps=_STEPS)


def _wrap_label(axes, height: float) -> None:
    """Break a label of y that is longer than the axes, of this height in inches."""
    # A difference is not broken: textwrap keeps non-breaking spaces.
    label = axes.get_ylabel().replace(" - ", "\u00a0-\u00a0")
    letters = max(int(height * _LETTERS), 12)
    axes.set_ylabel(textwrap.fill(label, letters, break_on_hyphens=False))


def _shared_handles(panels: Sequence[Any]) -> list[Any]:
    """Return the entries of the panels' legends, and remove these legends.

    Where the panels are small, legends would hide curves. The only legend of a picture
    stays if it is short, and each panel keeps its own if names have another meaning in
    another panel. A panel of one curve has no legend of its own.
    """
    legends = [axes.get_legend() for axes in panels if axes.get_legend()]
    if not legends or (len(legends) == 1 and len(legends[0].legend_handles) <= _FITTING):
        return []
    found: dict[str, Any] = {}
    for axes in panels:
        legend = axes.get_legend()
        entries = legend.legend_handles if legend else axes.get_legend_handles_labels()[0]
        for handle in entries:
            known = found.setdefault(handle.get_label(), handle)
            if _look(known) != _look(handle):
                return []
    for legend in legends:
        legend.remove()
    return list(found.values())


def _look(handle) -> tuple:
    """Return the properties that distinguish entries of a legend."""
    line = getattr(handle, "get_linestyle", None)
    colour = handle.get_color() if hasattr(handle, "get_color") else handle.get_facecolor()
    marker = handle.get_marker() if hasattr(handle, "get_marker") else None
    return type(handle), str(colour), str(line and line()), str(marker)


def _panels(picture: Picture) -> list[Chart]:
    """Return the charts to draw: for a slider, each chart at a few of its options."""
    if picture.choice is None:
        return list(picture.charts)
    options = picture.choice.options
    evenly = np.linspace(0, len(options) - 1, min(_MOST_OPTIONS, len(options)))
    return [
        _at_option(chart, int(option), options[int(option)])
        for option in np.unique(evenly.round())
        for chart in picture.charts
    ]


def _at_option(chart: Chart, option: int, words: str) -> Chart:
    layers = [
        each for each in chart.layers if getattr(each, "option", None) in (None, option)
    ]
    title = ", ".join(filter(None, (chart.title, words)))
    return dataclasses.replace(chart, layers=tuple(layers), title=title)


def _legend(figure, picture: Picture, lines: Sequence[Any]) -> None:
    if not picture.shares and not lines:
        return
    patches = [*lines] + [
        patch(
            share.colour, f"{share.name}: {' | '.join(map(str, share.counts))}", share.hatch
        )
        for share in picture.shares
    ]
    width, height = figure.get_size_inches()
    longest = max(len(each.get_label()) for each in patches) + _HANDLE
    columns = min(len(patches), max(1, int(width * _CLASSES / longest)))
    figure.set_size_inches(width, height + 0.15 * -(-len(patches) // columns))
    figure.legend(
        handles=patches, loc="outside lower left", ncols=columns, frameon=False,
        fontsize=6, handlelength=2, columnspacing=1.2,
    )  # fmt: skip


def numbers_of(picture: Picture) -> str:
    """Return the data of a picture as CSV with a header.

    Columns: labels of x and y with units, the layer, the slider's option, the position,
    the value or class shown by colour, the sample.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(_HEAD)
    for chart in picture.charts:
        for layer in chart.layers:
            option = getattr(layer, "option", None)
            moved = picture.choice is not None and option is not None
            setting = picture.choice.options[option] if moved else ""
            table.writerows(_rows(chart, layer, setting))
    return text.getvalue()


def _rows(chart: Chart, layer, setting: str) -> Iterator[tuple]:
    named = (_tick(chart.x), _tick(chart.y))
    x, y = np.asarray(layer.x, float), np.asarray(layer.y, float)
    if isinstance(layer, Cells):
        x, y = np.meshgrid(x, y)
    paint = getattr(layer, "paint", None)
    values = getattr(layer, "values", None)
    samples = getattr(layer, "samples", None)
    texts = getattr(layer, "texts", None)
    what = paint.label if hasattr(paint, "label") else getattr(layer, "name", "class")
    for i, (across, up) in enumerate(zip(x.ravel(), y.ravel(), strict=True)):
        value = "" if values is None else values.ravel()[i]
        if np.isnan(up) or (values is not None and np.isnan(value)):
            continue
        if isinstance(paint, Classes):
            value = paint.names[int(value)]
        elif texts is not None:
            value = texts[i]
        yield (
            chart.x.label,
            chart.y.label,
            what,
            setting,
            named[0](across),
            named[1](up),
            value,
            "" if samples is None else samples.ravel()[i],
        )


def _tick(axis):
    """Return a function that formats a position on an axis, by its tick name if any."""

    def written(place: float):
        return axis.ticks[int(place)] if axis.ticks else repr(float(place))

    return written
