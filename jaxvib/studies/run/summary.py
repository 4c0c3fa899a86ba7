"""What a study found, in a few lines for the terminal."""

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np

from ...ensemble import reason
from ..analyses.kinds import ANALYSES
from ..config import samples
from ..store.folder import Folder
from ..store.rows import Rows
from ..store.stored import RESULTS
from ..store.thinned import MOST_SHOWN, evenly_chosen
from ..store.times import read_times
from .execute import failed
from .refining import words as refined
from .study import Study

FAILURES = "failed.csv"
_MOST_LISTED = 100_000  # samples


def summary(study: Study, directory: Path) -> tuple[list[str], int]:
    """Return the lines, and how many samples failed; those are listed in `failed.csv`.

    Failures are counted over all samples; the rest is said of those that can be held at a
    time, evenly chosen where there are more.
    """
    grid = samples.grid_of(study.sampling, study.paths) if study.paths else None
    many = study.samples > MOST_SHOWN
    some = evenly_chosen(study.samples, grid, MOST_SHOWN) if many else None

    def read(name: str) -> np.ndarray:
        rows = Rows(directory, name)
        return np.asarray(rows) if some is None else rows[some]

    counted, number = _failures(study, directory)
    why = "; ".join(f"{n}: {reason(code)}" for code, n in counted.most_common(3))
    bad = sum(counted.values())
    listed = f" ({why}); listed in {directory / FAILURES}" if counted else ""
    lines = [
        f"done       {number} samples {_time(directory)}",
        f"failed     {bad}{listed}",
        *([f"of         {len(some)} samples, evenly chosen:"] if some is not None else []),
        *([refined(read)] if study.sampling.method == "refine" else []),
        *ANALYSES[study.analysis.kind].summary(read, study),
        f"evidence   {study.run.evidence}",
        f"results    {directory / RESULTS}",
    ]
    return lines, bad


def _failures(study: Study, directory: Path) -> tuple[Counter[int], int]:
    """Count failed samples by their codes, and all; list the failed ones in a file."""
    counted: Counter[int] = Counter()
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["sample", *study.paths, "code", "reason"])
    first = 0
    columns = {path: Rows(directory, path) for path in study.paths}
    for codes in Rows(directory, "result").blocks():
        codes = np.atleast_1d(codes)
        bad = failed(codes)
        places = np.flatnonzero(bad)[: max(0, _MOST_LISTED - counted.total())]
        values = [column[first + places].tolist() for column in columns.values()]
        for place, *here in zip(places.tolist(), *values, strict=True):
            code = int(codes[place])
            writer.writerow([first + place, *here, code, reason(code)])
        counted.update(codes[bad].tolist())
        first += len(codes)
    if counted:
        Folder(directory).write(FAILURES, text.getvalue().encode(), sync=False)
    return counted, first


def _time(directory: Path) -> str:
    sessions = read_times(directory)["sessions"]
    seconds = sum(session["seconds"] for session in sessions)
    compiling = sum(session["compile_seconds"] for session in sessions)
    return f"in {seconds:.0f} s, {compiling:.0f} s of it compiling"
