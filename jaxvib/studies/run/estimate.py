"""What a study would cost: samples, memory and time, before anything runs."""

import os
import platform
from pathlib import Path
from typing import Any

from ..._machine import memory
from ..._words import duration
from ..analyses.kinds import ANALYSES
from ..store.folder import Folder
from ..store.store import has_study
from ..store.times import read_times
from .chunk import build, number_of_chunks
from .device import choose
from .memory import needed, size, too_large
from .study import Study

_TAKEN = "holds a study already"


def estimate(study: Study, directory: Path) -> dict[str, Any]:
    """Return samples, memory and time of a study; nothing is run or written.

    The time is that of the last study of the same kinds on this machine, in the folder
    of the results or beside it, taken to the number of samples; without one nothing is
    known of it. **Raises:** `ValueError` for a study that could not be run here.
    """
    _, device = choose(study.run.device)
    build(study)
    return {
        "study": study.title,
        "described": study.described(),
        "samples": study.samples,
        "analysis": study.analysis.kind,
        "system": study.system.kind,
        "evidence": study.run.evidence,
        "rtol": study.run.rtol,
        "chunks": number_of_chunks(study),
        "device": device,
        "cores": os.cpu_count() or 1,
        "memory_needed": needed(study),
        "memory_here": memory(),
        "fits": too_large(study) is None,
        "stored": study.samples
        * ANALYSES[study.analysis.kind].sample_bytes(study.analysis),
        "time": _time(study, directory),
        "results": str(directory),
        "free": not has_study(directory),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Return what `estimate` found for a person."""
    here = f": more than the {size(found['memory_here'])} here"
    number, time = found["chunks"], found["time"]
    return [
        f"samples    {found['described']}",
        f"work       {found['analysis']}, evidence {found['evidence']}, rtol "
        f"{found['rtol']:g}; stored in {number} chunk{'s' * (number > 1)}",
        f"device     {found['device']}, {found['cores']} cores",
        f"memory     about {size(found['memory_needed'])}{'' if found['fits'] else here}, "
        f"and {size(found['stored'])} on disk",
        f"time       {_unknown(found) if time is None else _told(time)}",
        f"results    {found['results']} {'is free' if found['free'] else _TAKEN}",
    ]


def _time(study: Study, directory: Path) -> dict[str, Any] | None:
    sessions = {
        folder: session
        for folder in (directory, *sorted(directory.parent.glob("*")))
        if (session := _last_session(study, folder)) is not None
    }
    if not sessions:
        return None
    folder = max(sessions, key=lambda each: str(sessions[each]["started"]))
    last = sessions[folder]
    before = last["startup_seconds"] + last["compile_seconds"]
    each = max(0.0, last["seconds"] - before) / last["samples"]
    return {
        "seconds": before + each * study.samples,
        "before": before,
        "each": each,
        "of": last["samples"],
        "in": str(folder),
    }


def _told(time: dict[str, Any]) -> str:
    return (
        f"about {duration(time['seconds'])}: {duration(time['before'])} to start and "
        f"compile, {time['each']:.2g} s for each sample, as {time['of']} "
        f"sample{'s' * (time['of'] > 1)} took in {time['in']}"
    )


def _unknown(found: dict[str, Any]) -> str:
    kinds = f"{found['analysis']} of {found['system']}"
    return f"not known: none of the studies beside the results is one of {kinds}"


def _last_session(study: Study, folder: Path) -> dict | None:
    """Return the last session of a study of the same kinds that was run here."""
    try:
        record = Folder(folder).read_json("study.json")
    except OSError:
        return None
    if [record.get(key) for key in ("analysis", "system")] != [
        study.analysis.kind, study.system.kind,
    ]:  # fmt: skip
        return None
    return next(
        (
            session
            for session in reversed(read_times(folder)["sessions"])
            if session["samples"] and session.get("host") == platform.node()
            and "started" in session
        ),
        None,
    )  # fmt: skip
