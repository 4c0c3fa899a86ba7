"""`live_page`: one page that computes the motions of one system."""

import base64
import html
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...drawing import colours
from ...drawing.chosen_units import chosen_unit
from ...foundation.quantity import check_range
from ...foundation.range import Range
from ...systems.base.system import System
from ...systems.two_bodies import TwoBodyImpact
from ..packing import UNITS, pack
from ..parts import policy, scripts, text_of, version
from .kernels import RTOL
from .panel import panel

_WORKER = ("motions.js", "spectrum.js", "shooting.js", "cells.js", "proof.js", "worker.js")
_PANEL = ("plot.js", "live_controls.js", "live.js")
_PERIODIC = (
    "live_spectrum.js", "live_pool.js", "diagram.js", "live_map.js", "live_periodic.js"
)  # fmt: skip
_BEFORE = ("theme.js", "data.js", "words.js", "player.js", "bodies.js")


def live_page(
    system: System,
    path: Path | str,
    *,
    title: str = "",
    units: Sequence[str] = (),
    duration: float | None = None,
) -> Path:
    """Write a page that computes the motions of a system, and return its path.

    Folders of the path are created. The page is one HTML file, which a browser opens
    from disk and which loads nothing. It integrates by the kernels of `flow`, as
    WebAssembly in a worker: a slider for each scalar parameter, time history, phase
    plane, Poincaré points, contact force and an animation; periodic orbits by Newton's
    method with their Floquet multipliers.

    `units`: those shown, such as `["Hz", "mm"]`; the first that fits is used.
    `duration` (s): with one, the page shows motions from rest under loads of any time
    history, such as a record or a shock: displacements, contact forces and their peaks.
    **Raises:** `ValueError` for a system that is not one of bodies and elements, for
    loads without a common period if there is no duration, or one that is not positive,
    for records of more than a million pieces in it, or if a motion cannot be compiled to
    WebAssembly.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> written = jv.live_page(system, folder / "two_bodies.html")
    >>> written.stat().st_size < 300_000
    True
    """
    if duration is not None:
        check_range("duration", duration, "s", Range(above=0.0))
    pair = isinstance(system, TwoBodyImpact)
    live = panel(system, units, {}, pair=pair, duration=duration)
    content = {
        "live": live,
        "lines": colours.LINES,
        "units": {unit: chosen_unit(unit, units) for unit in UNITS},
    }
    title = title or f"Live motion of {type(system).__name__}"
    script = scripts((*_BEFORE, *panel_scripts(live), "live_page.js"))
    written = Path(path)
    page = string.Template(text_of("live.html")).substitute(
        policy=policy(script),
        version=version(),
        title=html.escape(title),
        style=text_of("page.css") + text_of("live.css"),
        lead="Move a slider: the motion follows, computed in this page.",
        panel=text_of("live_panel.html"),
        rtol=f"{RTOL:g}",
        data=base64.b64encode(pack(content)).decode(),
        worker=worker(),
        script=script,
    )
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(page, "utf-8")
    return written


def panel_scripts(live: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the scripts of a panel of some content."""
    return (*_PANEL, *(_PERIODIC if live["duration"] is None else ("live_response.js",)))


def worker() -> str:
    """Return the element with the text of the worker."""
    return f"<script type='text/plain' id='worker'>{scripts(_WORKER)}</script>"
