"""The pictures as files, PNG and SVG, drawn by matplotlib."""

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..drawing import Chart, draw
from ..drawing.chosen_units import in_chosen_units
from ..studies.pictures.picture import Picture, Share
from ..studies.store.folder import Folder

_INCHES = (5.6, 4.2)  # of one chart, as wide as a text column of a paper on A4
_MOST_OPTIONS = 4  # of a slider, drawn side by side: more are too small to read


def write_files(
    pictures: Sequence[Picture], directory: Path, units: Sequence[str] = ()
) -> list[Path]:
    """Write each picture as PNG and SVG into a folder; the same bytes each time.

    `units`: what axes are in, where they fit.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder = Folder(directory.parent)
    written = []
    with rc_context({"svg.hashsalt": "jaxvib", "font.size": 9}):
        for picture in pictures:
            panels = [in_chosen_units(chart, units) for chart in _panels(picture)]
            width = 2 if len(panels) == 4 else min(3, len(panels))
            width = 1 if picture.stacked else width
            height = -(-len(panels) // width)
            size = (_INCHES[0] * width, _INCHES[1] * height)
            figure = Figure(size, layout="constrained")
            FigureCanvasAgg(figure)
            places = figure.subplots(height, width, squeeze=False).flat[: len(panels)]
            for axes, chart in zip(places, panels, strict=True):
                draw(chart, axes, classes=False)
            for axes in figure.axes[len(panels) : width * height]:
                axes.remove()
            _legend(figure, picture)
            for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
                content = io.BytesIO()
                figure.savefig(content, format=kind, dpi=150, metadata=metadata)
                name = f"{directory.name}/{picture.name}.{kind}"
                folder.write(name, content.getvalue(), sync=False)
                # All has its place now: to find it again takes as long as to draw.
                figure.set_layout_engine(None)
                written.append(folder.root / name)
    return written


def _panels(picture: Picture) -> list[Chart]:
    """Return what to draw: each chart, at a few options if there is a slider."""
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
    title = " ".join(filter(None, (chart.title, words)))
    return dataclasses.replace(chart, layers=tuple(layers), title=title)


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
