"""Estimates samples, memory and run time of a study before it runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...foundation.machine import memory
from ...foundation.text import duration_text, size_text
from ..analyses.kinds import ANALYSES
from ..store.store import has_study
from .chunk import build, number_of_chunks
from .cost_measurement import measure
from .device import choose
from .memory import needed, too_large
from .study import Study

_TAKEN = "already contains a study"
_UNKNOWN = "not predicted; --measure computes a few samples to predict it"


def estimate(
    study: Study,
    directory: Path,
    measured_from: float | None = None,
    draw: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Return samples and memory of a study and, measured, its run time.

    Nothing is stored. **Arguments:** `measured_from`: when the command began, by
    `time.monotonic`, to predict the run time from a few samples (`measure`); otherwise
    `time` is `None`. `draw`: draws the report of a study's folder, which is included.
    **Raises:** `ValueError` for a study that cannot run here.
    """
    device, line = choose(study.run.device)
    build(study)
    took = None
    if measured_from is not None:
        took = measure(study, measured_from, device, draw)
    return {
        "study": study.title,
        "described": study.sampling_text(),
        "samples": study.samples,
        "analysis": study.analysis.kind,
        "system": study.system.kind,
        "evidence": study.run.evidence,
        "rtol": study.run.rtol,
        "chunks": number_of_chunks(study),
        "further_work": ANALYSES[study.analysis.kind].further_work(study.analysis),
        "device": line,
        "cores": os.cpu_count() or 1,
        "memory_needed": needed(study),
        "memory_here": memory(),
        "fits": too_large(study) is None,
        "stored": study.samples
        * ANALYSES[study.analysis.kind].sample_bytes(study.analysis),
        "time": took,
        "results": str(directory),
        "free": not has_study(directory),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the result of `estimate` as text."""
    memory = size_text(found["memory_needed"])
    here = f" (available: {size_text(found['memory_here'])})"
    number = found["chunks"]
    further = f"; {found['further_work']}" if found["further_work"] else ""
    return [
        f"samples    {found['described']}",
        f"work       {found['analysis']}, evidence {found['evidence']}, rtol "
        f"{found['rtol']:g}; stored in {number} chunk{'s' * (number > 1)}{further}",
        f"device     {found['device']}, {found['cores']} cores",
        f"memory     about {memory}{'' if found['fits'] else here}, "
        f"and {size_text(found['stored'])} on disk",
        f"time       {_UNKNOWN if found['time'] is None else _time_text(found['time'])}",
        f"results    {found['results']} {'(new folder)' if found['free'] else _TAKEN}",
    ]


def _time_text(time: dict[str, Any]) -> str:
    least, seconds, most = (
        duration_text(time[key]) for key in ("least", "seconds", "most")
    )
    around = f" ({least} to {most})" if least != most else ""
    cold = f", {duration_text(time['cold'])} without compiled programs"
    parts = ", ".join(
        f"{duration_text(time[key])} to {what}"
        for key, what in (
            ("startup", "start"),
            ("compile", "load programs" if time["kept"] else "compile"),
            ("computing", "compute"),
            ("after", "summarise and draw"),
        )
    )
    return (
        f"about {seconds}{around}{cold if time['kept'] else ''}: {parts}; "
        f"measured from {time['samples']} samples"
    )
