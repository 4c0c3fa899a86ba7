"""`live_page`: one page that computes the motions of one system."""

import base64
import html
import string
from collections.abc import Sequence
from pathlib import Path

from ...drawing import colours
from ...drawing.chosen_units import chosen_unit
from ...systems.system import System
from ...systems.two_bodies import TwoBodyImpact
from ..packing import UNITS, pack
from ..parts import policy, scripts, text_of, version
from .kernels import RTOL
from .panel import panel

_WORKER = ("motions.js", "spectrum.js", "shooting.js", "cells.js", "proof.js", "worker.js")
PANEL = (
    "plot.js", "live_controls.js", "live_spectrum.js", "live_pool.js", "diagram.js",
    "live_map.js", "live.js",
)  # fmt: skip
_PAGE = (
    "theme.js", "data.js", "words.js", "player.js", "bodies.js", *PANEL, "live_page.js",
)  # fmt: skip


def live_page(
    system: System,
    path: Path | str,
    *,
    title: str = "",
    units: Sequence[str] = (),
) -> Path:
    """Write a page that computes the motions of a system, and return its path.

    Folders of the path are created. The page is one HTML file, which a browser opens
    from disk and which loads nothing. It integrates by the kernels of `flow`, as
    WebAssembly in a worker: a slider for each scalar parameter, time history, phase
    plane, Poincaré points, contact force and an animation; periodic orbits by Newton's
    method with their Floquet multipliers.

    `units`: those shown, such as `["Hz", "mm"]`; the first that fits is used.
    **Raises:** `ValueError` for a system that is not one of bodies under loads with a
    common period, or whose motion cannot be compiled to WebAssembly.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> written = jv.live_page(system, folder / "two_bodies.html")
    >>> written.stat().st_size < 300_000
    True
    """
    content = {
        "live": panel(system, units, {}, pair=isinstance(system, TwoBodyImpact)),
        "lines": colours.LINES,
        "units": {unit: chosen_unit(unit, units) for unit in UNITS},
    }
    title = title or f"Live motion of {type(system).__name__}"
    script = scripts(_PAGE)
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


def worker() -> str:
    """Return the element with the text of the worker."""
    return f"<script type='text/plain' id='worker'>{scripts(_WORKER)}</script>"
