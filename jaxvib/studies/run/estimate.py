"""What a study would cost: samples, memory and time, before anything runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..._machine import memory
from ..._words import duration
from ..analyses.kinds import ANALYSES
from ..store.store import has_study
from .chunk import build, number_of_chunks
from .device import choose
from .measuring import measure
from .memory import needed, size, too_large
from .past import recall, remember
from .study import Study

_TAKEN = "holds a study already"


def estimate(
    study: Study,
    directory: Path,
    measured_from: float | None = None,
    draw: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Return samples, memory and time of a study; nothing is kept of it.

    The time is that of the last run on this machine of the same structure, or else of the
    same kinds, taken to the number of samples; without one nothing is known of it.
    `seconds` is that of a run now, `cold` that of one for which nothing is compiled yet,
    where it is known. **Arguments:** `measured_from`: when the command began, by
    `time.monotonic`, to compute a few samples instead; `draw`: makes the report in a
    study's folder, which is measured then. **Raises:** `ValueError` for a study that could
    not be run here.
    """
    device, line = choose(study.run.device)
    build(study)
    if measured_from is not None:
        remember(study, measure(study, measured_from, device, draw))
    took = recall(study)
    return {
        "study": study.title,
        "described": study.described(),
        "samples": study.samples,
        "analysis": study.analysis.kind,
        "system": study.system.kind,
        "evidence": study.run.evidence,
        "rtol": study.run.rtol,
        "chunks": number_of_chunks(study),
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
    """Return what `estimate` found for a person."""
    here = f": more than the {size(found['memory_here'])} here"
    number = found["chunks"]
    return [
        f"samples    {found['described']}",
        f"work       {found['analysis']}, evidence {found['evidence']}, rtol "
        f"{found['rtol']:g}; stored in {number} chunk{'s' * (number > 1)}",
        f"device     {found['device']}, {found['cores']} cores",
        f"memory     about {size(found['memory_needed'])}{'' if found['fits'] else here}, "
        f"and {size(found['stored'])} on disk",
        f"time       {_unknown(found) if found['time'] is None else _told(found)}",
        f"results    {found['results']} {'is free' if found['free'] else _TAKEN}",
    ]


def _expected(study: Study, took: dict[str, Any] | None) -> dict[str, Any] | None:
    if took is None:
        return None
    others = took["startup"] + took["after"] + took["each"] * study.samples
    made = took["cold_compile"]
    return took | {
        "seconds": others + took["compile"],
        "cold": None if made is None else others + made,
    }


def _told(found: dict[str, Any]) -> str:
    time = found["time"]
    number = time["samples"]
    some = f"{number} sample{'s' * (number > 1)}"
    spread = ""
    if "low" in time:
        source = f"{some} were measured"
        spread = f" ({time['low']:.2g} to {time['high']:.2g} s)"
    elif time["same"]:
        source = f"{some} took in the last run of this structure"
    else:
        source = f"{some} took in the last run of these kinds; another structure may differ"
    made = "load or trace programs" if time["kept"] else "compile"
    cold = ""
    if time["kept"] and time["cold"] is not None:
        cold = f" ({duration(time['cold'])} where nothing is compiled yet)"
    return (
        f"{'at least' if time['bound'] else 'about'} {duration(time['seconds'])}{cold}: "
        f"{duration(time['startup'])} to start, {duration(time['compile'])} to {made}, "
        f"{time['each']:.2g} s for each sample{spread}, {duration(time['after'])} to sum "
        f"up and draw; as {source}"
    )


def _unknown(found: dict[str, Any]) -> str:
    kinds = f"{found['analysis']} of {found['system']}"
    return f"not known: no {kinds} was run here; --measure computes a few samples"
