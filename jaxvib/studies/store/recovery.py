"""Recovery of a study: find the intact parts of its folder and remove the rest.

Each file is checked against the journal, and each line of the journal against its
checksum. Chunks of lost lines are computed again.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..nested import differences
from .arrays import METADATA
from .checked_read import (
    RECORD,
    RESULTS,
    array_names,
    belongs,
    layout_of,
    read_record,
)
from .folder import Folder
from .journal import Commit, Journal, checksum, damaged

_BYTES_DEPEND_ON = ("config", "versions", "fingerprint")
_ROOT = f"{RESULTS}/{METADATA}"


def has_study(directory: Path) -> bool:
    """Return whether a folder holds a study, finished or not."""
    folder = Folder(directory)
    return any(folder.kind(name) for name in (RECORD, RESULTS))


def record_text(record: Mapping) -> bytes:
    """Return the content of `study.json`."""
    return f"{json.dumps(record, indent=2)}\n".encode()


def recover(directory: Path, record: Mapping, config: str) -> list[Commit] | None:
    """Return the completed steps of a study; `None` if there are none.

    Afterwards the folder contains nothing else, its journal and `config.toml` are
    complete, and partial results are removed. **Raises:** `OSError` and `ValueError` as
    `Store.resume`, leaving the folder unchanged.
    """
    folder, journal = Folder(directory), Journal(directory / "journal.jsonl")
    if folder.kind(RESULTS) and not folder.kind(journal.path.name):
        raise OSError(f"{journal.path} is missing: nothing can be verified; {_NEW}")
    if folder.kind(RESULTS) not in ("", "folder"):
        raise OSError(f"{directory / RESULTS} is not a folder; {_NEW}")
    commits = journal.sound()
    before = _record_of(folder, commits)
    commits = [commit for commit in commits if belongs(commit, before)]
    intact = [commit for commit in commits if _is_intact(directory, commit)]
    done = [commit for commit in intact if commit.step.startswith(("chunk", "group"))]
    if not done and folder.kind(_ROOT) != "file":
        folder.remove(RESULTS)
        folder.remove(journal.path.name)
        return None
    if before.get("merged"):
        raise ValueError(
            f"{directory} was merged from other studies and cannot be resumed; merge "
            "them again into another folder"
        )
    refuse_differences(directory, before, record)
    complete = _is_sound(journal) and _is_complete(intact, commits, before)
    if not complete:
        folder.keep_only(RESULTS, {file for commit in done for file in commit.files})
    if not any(commit.step == "start" for commit in intact):
        folder.remove("config.toml")
        folder.write("config.toml", config.encode())
    start = {file: checksum(folder.path(file)) for file in (RECORD, "config.toml")}
    end = [commit for commit in intact if commit.step == "complete" and complete]
    commits = [Commit("start", start), *sorted(done, key=_place), *end]
    journal.rewrite(commits)
    return commits


_NEW = "start again in another folder with --out"


def _record_of(folder: Folder, commits: Iterable[Commit]) -> dict:
    starts = [commit for commit in commits if commit.step == "start"]
    expected = starts[0].files.get(RECORD) if starts else None
    path = folder.root / RECORD
    try:
        found = read_record(folder)
        other = expected is not None and checksum(path) != expected
    except OSError:
        other = True
    if other:
        raise OSError(f"{path} is damaged or missing, and describes the rest; {_NEW}")
    return found


def _is_intact(directory: Path, commit: Commit) -> bool:
    """Return whether a commit's files match it, and its arrays are in our format."""
    if damaged(commit, directory):
        return False
    names = array_names([commit])
    kind, _, group = commit.step.partition(" ")
    if kind == "group" and group:
        names = [f"{group}/{name}" for name in array_names([commit], group)]
    try:
        for name in names:
            layout_of(directory, name)
    except OSError:
        return False
    return True


def _is_sound(journal: Journal) -> bool:
    try:
        journal.read()
    except OSError:
        return False
    return True


def _place(commit: Commit) -> tuple[bool, int]:
    """Return the sort key of a step: chunks in order, then groups."""
    kind, _, which = commit.step.partition(" ")
    return kind == "group", int(which) if kind == "chunk" else 0


def _is_complete(intact: list[Commit], commits: list[Commit], record: Mapping) -> bool:
    steps = {commit.step for commit in intact}
    lost = {commit.step for commit in commits} - steps - {"start"}
    chunks = sum(step.startswith("chunk") for step in steps)
    missing = chunks and chunks < -(-record["samples"] // record["chunk"])
    return "complete" in steps and not lost and not missing


def refuse_differences(directory: Path, record: Mapping, expected: Mapping) -> None:
    """Raise `ValueError` unless a folder's study gives the requested one's bytes.

    **Arguments:** `record`: of the study in the folder; `expected`: the requested one.
    """
    before, now = (json.loads(record_text(state)) for state in (record, expected))
    for state in (before, now):
        state["config"].pop("output", None)  # the folder does not change the results
    keys = (*_BYTES_DEPEND_ON, "share")
    both = ({key: state.get(key) for key in keys} for state in (before, now))
    for path, here, there in differences(*both):
        raise ValueError(
            f"{directory} was started with {path} = {here}, and this run has {there}"
        )
