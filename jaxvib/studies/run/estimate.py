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
from .runtime_history import computing, past_runtime, record_runtime
from .study import Study

_TAKEN = "already contains a study"
_WIDE = 1.5  # ratio of bounds from which a range of seconds is shown


def estimate(
    study: Study,
    directory: Path,
    measured_from: float | None = None,
    draw: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Return samples, memory and run time of a study; nothing is stored.

    The time is scaled from the last run of the same structure on this machine, or of
    the same kinds; without one it is unknown. `seconds` is the estimate, between
    `least` and `most`; `cold` that without compiled programs, if known. **Arguments:**
    `measured_from`: when the command began, by `time.monotonic`, to measure a few
    samples instead; `draw`: draws the report of a study's folder, which is then
    included.
    **Raises:** `ValueError` for a study that cannot run here.
    """
    device, line = choose(study.run.device)
    build(study)
    if measured_from is not None:
        record_runtime(study, *measure(study, measured_from, device, draw))
    took = past_runtime(study)
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
        "time": _expected(study, took),
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
        f"time       {_unknown(found) if found['time'] is None else _time_text(found)}",
        f"results    {found['results']} {'(new folder)' if found['free'] else _TAKEN}",
    ]


def _expected(study: Study, took: dict[str, Any] | None) -> dict[str, Any] | None:
    if took is None:
        return None
    least, most = computing(took["runs"], study.samples)
    others = took["startup"] + took["after"]
    made = took["cold_compile"]
    return took | {
        "computing": most,
        "least": others + took["compile"] + took.get("low", 1.0) * least,
        "seconds": others + took["compile"] + most,
        "most": others + took["compile"] + took.get("high", 1.0) * most,
        "cold": None if made is None else others + made + most,
    }


def _time_text(found: dict[str, Any]) -> str:
    time = found["time"]
    number = time["samples"]
    some = f"{number} sample{'s' * (number > 1)}"
    if "low" in time:
        source = f"from {some}, measured now"
    elif time["same"]:
        source = f"from the last run of this structure ({some})"
    else:
        source = f"from the last comparable run ({some})"
    made = "load programs" if time["kept"] else "compile"
    cold = ""
    if time["kept"] and time["cold"] is not None:
        cold = f" ({duration_text(time['cold'])} without compiled programs)"
    least, seconds, most = (
        duration_text(time[key]) for key in ("least", "seconds", "most")
    )
    computed = duration_text(time["computing"])
    if time["bound"]:
        about = f"at least {least}"
    elif (
        time["seconds"] > _WIDE * time["least"]
    ):  # one run does not separate start-up from rate
        about, computed = f"{least} to {seconds}", f"up to {computed}"
    else:
        about = f"about {seconds}" + (f" ({least} to {most})" if least != most else "")
    return (
        f"{about}{cold}: {duration_text(time['startup'])} to start, "
        f"{duration_text(time['compile'])} to {made}, {computed} to compute, "
        f"{duration_text(time['after'])} to summarise and draw; {source}"
    )


def _unknown(found: dict[str, Any]) -> str:
    kinds = f"{found['analysis']} of {found['system']}"
    return f"unknown: no {kinds} has run here; --measure computes a few samples"
