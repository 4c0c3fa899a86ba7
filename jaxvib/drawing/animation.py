"""Animations of time histories: each body is a marker that moves along its row."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import colours
from .axes import plain
from .labels import shared


def animation(
    times: np.ndarray,
    places: np.ndarray,
    names: Sequence[str],
    units: Sequence[str],
    duration: float,
) -> Any:
    """Return a `matplotlib.animation.FuncAnimation` of positions (times, bodies).

    `times` is in seconds. The animation lasts `duration` seconds at 25 frames per
    second, evenly spaced over `times`; each body leaves a short trace.
    """
    from matplotlib import animation, pyplot

    figure, axes = pyplot.subplots(layout="constrained")
    low, high = np.nanmin(places), np.nanmax(places)
    edge = 0.05 * (high - low) or 1.0
    axes.set(xlim=(low - edge, high + edge), ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_xlabel(shared("displacement", units))
    axes.spines[["top", "right"]].set_visible(False)
    palette = colours.LINES["light"]
    marks, traces = [], []
    for row in range(len(names)):
        colour = palette[row % len(palette)]
        traces.append(axes.plot([], [], color=colour, alpha=0.4, linewidth=6)[0])
        marks.append(axes.plot([], [], "s", color=colour, markersize=14)[0])
    moments = np.linspace(times[0], times[-1], max(2, round(25 * duration)))
    shown = np.stack([np.interp(moments, times, column) for column in places.T], axis=1)

    def move(frame: int):
        recent = shown[max(0, frame - 12) : frame + 1]
        for row, (mark, trace) in enumerate(zip(marks, traces, strict=True)):
            mark.set_data([shown[frame, row]], [row])
            trace.set_data(recent[:, row], np.full(len(recent), row))
        axes.set_title(f"t = {moments[frame]:.4g} s", loc="left", fontsize=10)
        return [*marks, *traces]

    return animation.FuncAnimation(figure, move, len(moments), interval=40)
