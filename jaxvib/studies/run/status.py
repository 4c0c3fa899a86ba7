"""How far a study is, read from its folder while it runs or after; nothing is written."""

import time
from pathlib import Path

from ..store.folder import Folder
from ..store.journal import Journal
from ..store.lock import is_held
from ..store.store import has_study
from ..store.stored import read_record
from .watch import FILE


def status(directory: Path) -> list[str]:
    """Return lines on how far a study is, who computes what, and what failed.

    **Raises:** `FileNotFoundError` where there is no study, `OSError` for one that is
    damaged.
    """
    if not has_study(directory):
        raise FileNotFoundError(f"{directory} holds no study")
    record = read_record(Folder(directory))
    steps = {commit.step for commit in Journal(directory / "journal.jsonl").sound()}
    samples, width = record["samples"], record["chunk"]
    numbers = [int(step[6:]) for step in steps if step.startswith("chunk ")]
    done = sum(min(width, samples - number * width) for number in numbers)
    if "group " in steps:
        done = samples
    chunks = -(-samples // width)
    holder = is_held(directory)
    lines = [
        f"study      {record['title']}",
        f"state      {_state(holder, steps)}",
        f"done       {done} of {samples} samples ({100 * done / samples:.3g} %), "
        f"{len(numbers)} of {chunks} chunks",
    ]
    return lines + (_live(directory, samples - done) if holder else [])


def _state(holder: str, steps: set[str]) -> str:
    if holder:
        return f"at work: {holder}"
    return "complete" if "complete" in steps else "stopped; `--resume` continues it"


def _live(directory: Path, left: int) -> list[str]:
    """Return what the run says of itself; nothing where it has not said anything yet."""
    try:
        found = Folder(directory).read_json(FILE)
        rate = found["samples"] / max(1e-9, found["now"] - found["began"])
        more = f", about {_duration(left / rate)} left" if rate > 0 else ""
        lines = [
            f"rate       {rate:.3g} samples/s{more}",
            f"failed     {found['failed']} samples of those done since the last start",
        ]
        lines += [f"worker     {_worker(each)}" for each in found["workers"]]
        lines += [f"said       {line}" for line in found["said"]]
        old = time.time() - found["now"]
        if old > 30:
            lines.append(f"written    {_duration(old)} ago: the run may hang")
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return []
    return lines


def _worker(found: dict) -> str:
    if found["chunk"] is None:
        what = "has nothing to do"
    else:
        what = f"at chunk {found['chunk']} for {_duration(time.time() - found['since'])}"
    return f"{found['name']} {what}{', not heard of' if found['silent'] else ''}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
