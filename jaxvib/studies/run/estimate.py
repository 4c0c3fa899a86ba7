"""What a study would cost: samples, memory and time, before anything runs."""

import os
import platform
from pathlib import Path

from ..._machine import memory
from ..analyses.kinds import ANALYSES
from ..store.folder import Folder
from ..store.store import has_study
from ..store.times import read_times
from .chunk import build, number_of_chunks
from .device import choose
from .room import needed, size, too_large
from .study import Study


def estimate(study: Study, directory: Path) -> list[str]:
    """Return lines on samples, memory and time; nothing is run or written.

    The time is that of the last study of the same kinds on this machine, in the folder
    of the results or beside it, taken to the number of samples; without one nothing is
    known of it. **Raises:** `ValueError` for a study that could not be run here.
    """
    _, device = choose(study.run.device)
    build(study)
    stored = study.samples * ANALYSES[study.analysis.kind].sample_bytes(study.analysis)
    fits = "" if too_large(study) is None else f": more than the {size(memory())} here"
    number = number_of_chunks(study)
    place = "holds a study already" if has_study(directory) else "is free"
    return [
        f"samples    {study.described()}",
        f"work       {study.analysis.kind}, evidence {study.run.evidence}, rtol "
        f"{study.run.rtol:g}; stored in {number} chunk{'s' * (number > 1)}",
        f"device     {device}, {os.cpu_count() or 1} cores",
        f"memory     about {size(needed(study))}{fits}, and {size(stored)} on disk",
        f"time       {_time(study, directory)}",
        f"results    {directory} {place}",
    ]


def _time(study: Study, directory: Path) -> str:
    sessions = {
        folder: session
        for folder in (directory, *sorted(directory.parent.glob("*")))
        if (session := _last_session(study, folder)) is not None
    }
    if not sessions:
        kinds = f"{study.analysis.kind} of {study.system.kind}"
        return f"not known: none of the studies in {directory.parent} is one of {kinds}"
    folder = max(sessions, key=lambda each: str(sessions[each]["started"]))
    last = sessions[folder]
    before = last["startup_seconds"] + last["compile_seconds"]
    each = max(0.0, last["seconds"] - before) / last["samples"]
    samples = f"{last['samples']} sample{'s' * (last['samples'] > 1)}"
    return (
        f"about {_duration(before + each * study.samples)}: {_duration(before)} to start "
        f"and compile, {each:.2g} s for each sample, as {samples} took in {folder}"
    )


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


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
