"""Shares of a study: computed by separate runs and joined.

The joined study has the bytes of a single run: chunks are copied from the shares, and
results that depend on all samples are computed afterwards.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ....foundation.text import duration_text
from ...config import samples
from ...config.toml_writer import to_toml
from ...store.checked_read import read_record
from ...store.dataset import checked
from ...store.folder import Folder
from ...store.recovery import has_study, refuse_differences
from ...store.rows import Rows
from ...store.share import Share
from ...store.store import check_free
from ...store.times import FILE as TIMES
from ...store.times import read_times
from ..chunk import chunk_numbers, chunk_part, number_of_chunks
from ..device import choose
from ..execute import failed
from ..record import record
from ..study import Study, load
from .merging import Part, fields_of, new_store

_LEAST = 2  # minimum of `run.chunk`


def shared(study: Study, text: str) -> Study:
    """Return a study restricted to the share `I/N`.

    **Raises:** `ValueError` for an invalid text, for a study that is computed in one
    piece, and if there are more shares than chunks.
    """
    share = Share.parse(text)
    if not study.paths:
        raise ValueError(
            f"share = {share} of {study.sampling_text()}, which is computed in one piece; "
            "allowed: studies that sweep a parameter"
        )
    chunks = number_of_chunks(study)
    if share.of > chunks:
        raise ValueError(
            f"share = {share} of samples that are stored in {chunks} "
            f"chunk{'s' * (chunks > 1)}; allowed: I/N with N at most {chunks}"
            f"{_smaller_chunks_hint(study, share)}"
        )
    return dataclasses.replace(study, share=share)


def _smaller_chunks_hint(study: Study, share: Share) -> str:
    """Return a hint how to cut chunks so that each share has one, if possible."""
    sampling = study.sampling
    step = samples.strip(sampling, study.paths) if sampling.how.refined else 1
    size = max(step, _LEAST, study.samples // share.of // step * step)
    if -(-study.samples // size) < share.of:
        return ""
    return f", or chunks of {size} samples by --set run.chunk={size}"


def summary(study: Study, directory: Path) -> dict[str, Any]:
    """Return the outcome of a run of a share."""
    parts = [chunk_part(study, number) for number in chunk_numbers(study)]
    codes = Rows(directory, "result")
    sessions = read_times(directory)["sessions"]
    return {
        "study": study.title,
        "share": str(study.share),
        "done": sum(part.stop - part.start for part in parts),
        "failed": sum(int(np.sum(failed(codes[part]))) for part in parts),
        "seconds": sum(each["seconds"] for each in sessions),
        "results": str(directory),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """Format the result of `summary` as text."""
    return [
        f"share      {found['share']}",
        f"done       {found['done']} samples in {duration_text(found['seconds'])}",
        f"failed     {found['failed']}",
        f"results    {found['results']}",
    ]


def is_share(directory: Path) -> bool:
    """Return whether a folder contains a share of a study."""
    return has_study(directory) and "share" in read_record(Folder(directory))


def join(directories: Sequence[Path], out: Path) -> list[str]:
    """Join all shares of a study in a new folder; return messages.

    The rest of the work is done by resuming the study in `out`. **Raises:**
    `ValueError` if shares are missing, unfinished or of different studies, and if this
    machine would give other bytes; `FileExistsError` if `out` is not free; `OSError`
    for damaged files.
    """
    check_free(out)
    parts = [_Share(directory) for directory in directories]
    study = load(directories[0] / "config.toml")
    device, _ = choose(study.run.device)
    _check(parts, record(study, device))
    parts.sort(key=lambda part: part.share.number)
    joined = {key: value for key, value in parts[0].record.items() if key != "share"}
    config = json.loads(json.dumps(joined["config"]))
    config["output"]["directory"] = str(out)
    with new_store(out, joined, to_toml(config)) as store:
        for number in range(number_of_chunks(study)):
            piece = parts[number % len(parts)], chunk_part(study, number)
            store.append(number, fields_of([piece]))
        sessions = [
            each for part in parts for each in read_times(part.directory)["sessions"]
        ]
        text = json.dumps({"sessions": sessions}, indent=2) + "\n"
        Folder(out).write(TIMES, text.encode(), sync=False)
    return [f"{out} written: {study.samples} samples from {len(parts)} shares"]


class _Share(Part):
    """One of the shares."""

    def __init__(self, directory: Path):
        super().__init__(directory, checked)
        if "share" not in self.record:
            raise ValueError(f"{directory} contains no share; allowed: shares of one study")
        self.share = Share.parse(self.record["share"])

    def left(self) -> list[int]:
        """Return the numbers of its missing chunks."""
        count = -(-self.samples // self.record["chunk"])
        steps = {commit.step for commit in self.commits}
        return [n for n in self.share.chunks(count) if f"chunk {n}" not in steps]


def _check(parts: Sequence[_Share], expected: Mapping) -> None:
    """Raise `ValueError` unless these are all shares of the requested study."""
    of = parts[0].share.of
    seen: dict[int, Path] = {}
    for part in parts:
        share, directory = part.share, part.directory
        refuse_differences(
            directory, part.record, {**expected, "share": f"{share.number}/{of}"}
        )
        if share.number in seen:
            raise ValueError(
                f"share {share} is in {seen[share.number]} and in {directory}; allowed: "
                "once"
            )
        seen[share.number] = directory
        if left := part.left():
            raise ValueError(
                f"{directory} lacks {len(left)} chunk{'s' * (len(left) > 1)} of share "
                f"{share}; resume its run with --resume"
            )
    if missing := [str(number) for number in range(1, of + 1) if number not in seen]:
        some = ", ".join(missing[:10]) + ", ..." * (len(missing) > 10)
        raise ValueError(f"share {some} of {of} is missing; allowed: all shares at once")
