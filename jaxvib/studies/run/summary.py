"""The results of a study in a few lines for the terminal."""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ...ensemble import reason
from ...foundation.text import duration_text
from ..analyses.kinds import ANALYSES
from ..store.checked_read import RESULTS
from ..store.folder import Folder
from ..store.rows import Rows
from ..store.subsample import MOST_SHOWN, evenly_chosen
from ..store.times import read_times
from .execute import failed
from .refining import words as refined
from .study import Study

FAILURES = "failed.csv"
_MOST_LISTED = 100_000  # failed samples, to limit file size and memory


def summary(study: Study, directory: Path) -> dict[str, Any]:
    """Return the outcome of a study, and list failed samples in `failed.csv`.

    Failures are counted over all samples; `found`, the analysis's own lines, refers to
    an even subsample of size `of` if they exceed the memory.
    """
    many = study.samples > MOST_SHOWN
    some = evenly_chosen(study.samples, study.grid, MOST_SHOWN) if many else None

    def read(name: str) -> np.ndarray:
        rows = Rows(directory, name)
        return np.asarray(rows) if some is None else rows[some]

    counted, number = _failures(study, directory)
    words = [refined(read)] if study.sampling.how.refined else []
    sessions = read_times(directory)["sessions"]
    return {
        "study": study.title,
        "done": number,
        "seconds": sum(each["seconds"] for each in sessions),
        "compile_seconds": sum(each["compile_seconds"] for each in sessions),
        "failed": counted.total(),
        "reasons": {reason(code): n for code, n in counted.most_common()},
        "failed_list": str(directory / FAILURES) if counted else None,
        "of": number if some is None else len(some),
        "found": [*words, *ANALYSES[study.analysis.kind].summary(read, study)],
        "evidence": study.run.evidence,
        "results": str(directory / RESULTS),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the result of `summary` as text."""
    most = list(found["reasons"].items())[:3]
    why = "; ".join(f"{n}: {words}" for words, n in most)
    listed = f" ({why}); listed in {found['failed_list']}" if most else ""
    some = found["of"] < found["done"]
    samples = f"{found['done']} sample{'s' * (found['done'] != 1)}"
    return [
        f"done       {samples} in {duration_text(found['seconds'])}, "
        f"{duration_text(found['compile_seconds'])} of it compiling",
        f"failed     {found['failed']}{listed}",
        *([f"of         {found['of']} samples (even subsample):"] if some else []),
        *found["found"],
        f"evidence   {found['evidence']}",
        f"results    {found['results']}",
    ]


def _failures(study: Study, directory: Path) -> tuple[Counter[int], int]:
    """Count failed samples by code and in total; list them in a file."""
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
