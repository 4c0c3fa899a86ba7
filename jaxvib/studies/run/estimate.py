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
from .past import computing, recall, remember
from .study import Study

_TAKEN = "holds a study already"
_WIDE = 1.5  # times: a range of seconds that is told instead of one


def estimate(
    study: Study,
    directory: Path,
    measured_from: float | None = None,
    draw: Callable[[Path], object] = lambda folder: None,
) -> dict[str, Any]:
    """Return samples, memory and time of a study; nothing is kept of it.

    The time is that of the last run on this machine of the same structure, or else of the
    same kinds, taken to the number of samples; without one nothing is known of it.
    `seconds` is that of a run now, between `least` and `most`; `cold` that of one for which
    nothing is compiled yet, where it is known. **Arguments:** `measured_from`: when the
    command began, by `time.monotonic`, to compute a few samples instead; `draw`: makes the
    report in a study's folder, which is measured then. **Raises:** `ValueError` for a study
    that could not be run here.
    """
    device, line = choose(study.run.device)
    build(study)
    if measured_from is not None:
        remember(study, *measure(study, measured_from, device, draw))
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


def _told(found: dict[str, Any]) -> str:
    time = found["time"]
    number = time["samples"]
    some = f"{number} sample{'s' * (number > 1)}"
    if "low" in time:
        source = f"{some} were measured"
    elif time["same"]:
        source = f"{some} took in the last run of this structure"
    else:
        source = f"{some} took in the last run of these kinds; another structure may differ"
    made = "load or trace programs" if time["kept"] else "compile"
    cold = ""
    if time["kept"] and time["cold"] is not None:
        cold = f" ({duration(time['cold'])} where nothing is compiled yet)"
    least, seconds, most = (duration(time[key]) for key in ("least", "seconds", "most"))
    computed = duration(time["computing"])
    if time["bound"]:
        about = f"at least {least}"
    elif time["seconds"] > _WIDE * time["least"]:  # one run tells no fixed part from a rate
        about, computed = f"{least} to {seconds}", f"up to {computed}"
    else:
        about = f"about {seconds}" + (f" ({least} to {most})" if least != most else "")
    return (
        f"{about}{cold}: {duration(time['startup'])} to start, "
        f"{duration(time['compile'])} to {made}, {computed} to compute, "
        f"{duration(time['after'])} to sum up and draw; as {source}"
    )


def _unknown(found: dict[str, Any]) -> str:
    kinds = f"{found['analysis']} of {found['system']}"
    return f"not known: no {kinds} was run here; --measure computes a few samples"
