"""What a study found, in a few lines for the terminal."""

import csv
import io
from collections import Counter
from pathlib import Path

import numpy as np

from ...ensemble import reason
from ..analyses.kinds import ANALYSES
from ..store.folder import Folder
from ..store.stored import RESULTS, read_array
from ..store.times import read_times
from .execute import failed
from .study import Study

FAILURES = "failed.csv"


def summary(study: Study, directory: Path) -> tuple[list[str], int]:
    """Return the lines, and how many samples failed; those are listed in `failed.csv`."""

    def read(name: str) -> np.ndarray:
        return read_array(directory, name)

    codes = np.atleast_1d(read("result"))
    bad = failed(codes)
    counted = Counter(codes[bad].tolist()).most_common(3)
    why = "; ".join(f"{count}: {reason(code)}" for code, count in counted)
    listed = f" ({why}); listed in {directory / FAILURES}" if counted else ""
    if counted:
        _list_failures(study, directory / FAILURES, codes, bad, read)
    lines = [
        f"done       {len(codes)} samples {_time(directory)}",
        f"failed     {int(bad.sum())}{listed}",
        *ANALYSES[study.analysis.kind].summary(read, study),
        f"evidence   {study.run.evidence}",
        f"results    {directory / RESULTS}",
    ]
    return lines, int(bad.sum())


def _time(directory: Path) -> str:
    sessions = read_times(directory)["sessions"]
    seconds = sum(session["seconds"] for session in sessions)
    compiling = sum(session["compile_seconds"] for session in sessions)
    return f"in {seconds:.0f} s, {compiling:.0f} s of it compiling"


def _list_failures(study: Study, file: Path, codes, bad, read) -> None:
    columns = {path: read(path) for path in study.paths}
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["sample", *columns, "code", "reason"])
    for sample in np.flatnonzero(bad):
        values = [float(column[sample]) for column in columns.values()]
        code = int(codes[sample])
        writer.writerow([int(sample), *values, code, reason(code)])
    Folder(file.parent).write(file.name, text.getvalue().encode(), sync=False)
