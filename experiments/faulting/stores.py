"""Fault injection into a store: kills, failing operations, damage, concurrent runs."""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from jaxvib.studies.run import builtin_studies

from .study import (
    OPERATIONS,
    OUT,
    Ending,
    command,
    contents,
    folder,
    outside,
    run,
    run_whole,
)

KILL, SHORT, EIO, ENOSPC = -2, -1, 5, 28
_DAMAGES = (
    "a bit flipped", "a piece changed", "cut short", "emptied", "longer", "removed",
    "replaced by a link", "replaced by a folder", "replaced by another file of it",
)  # fmt: skip


class Judge:
    """Counts how cases end, beside a study that nothing happened to."""

    def __init__(self, *options: str):
        where = folder("undisturbed")
        began = time.perf_counter()
        assert run(where, *options).code == 0
        self.seconds = time.perf_counter() - began
        self.expected = contents(where / OUT)
        self.whole = where
        self.kept = ""  # what the names begin with of the files that must not differ
        self.counts: Counter[str] = Counter()
        self.bad: list[str] = []

    def end(self, case: str, where: Path, before: str, *endings: Ending) -> str:
        """Count a case by its worst outcome; the last ending is of what had to mend it."""
        outcome = self._outcome(where, before, *endings)
        self.counts[outcome] += 1
        if outcome not in ("same bytes", "refused"):
            told = [f"{one.code}: {one.words[-300:]}" for one in endings]
            self.bad.append(f"{case}: {outcome}: {told}")
        return outcome

    def _outcome(self, where: Path, before: str, *endings: Ending) -> str:
        if any(one.traceback for one in endings):
            return "traceback"
        if outside(where) != before:
            return "touched outside"
        if any(one.code < 0 and one.code != -9 for one in endings):
            return "crashed or hung"
        last = endings[-1]
        if last.code in (2, 3):
            lines = last.words.strip().splitlines()
            told = [line for line in lines if line.startswith("jaxvib: ")]
            return "refused" if len(told) == 1 else "silent"
        if last.code != 0:
            return "another code"
        same = self.found(where) == self.expected
        return "same bytes" if same else "different bytes"

    def found(self, where: Path) -> dict[str, bytes]:
        """Return the bytes of the study in a folder that must not differ."""
        files = contents(where / OUT)
        return {name: files[name] for name in files if name.startswith(self.kept)}

    def result(self) -> dict:
        """Return the counts and the first cases that ended badly."""
        return {
            "cases": sum(self.counts.values()),
            "outcomes": dict(sorted(self.counts.items())),
            **({"bad": self.bad[:20]} if self.bad else {}),
        }


def kills(cases: range, rng: random.Random) -> dict:
    """Kill the run (or one that goes on) at a random instant; then go on with it."""
    judge = Judge()
    for case in cases:
        where = folder("kill")
        before = outside(where)
        again = rng.randrange(3)  # killed once or more before it is left alone
        for _ in range(again + 1):
            run(where, "--resume", kill_after=rng.uniform(0, 1.1 * judge.seconds))
        judge.end(f"kill {case}", where, before, run(where, "--resume"))
    return judge.result()


def kills_at_operations(cases: range, rng: random.Random) -> dict:
    """Kill the run before each of its operations on files, each commit among them."""
    judge = Judge()
    for nth in _some(range(1, sum(_operations()) + 1), cases):
        where = folder("kill")
        before = outside(where)
        killed = run(where, arm=(-1, nth, KILL))
        assert killed.code == -9, killed
        judge.end(f"kill at operation {nth}", where, before, run(where, "--resume"))
    return judge.result()


def failing_operations(cases: range, rng: random.Random) -> dict:
    """Let one operation fail in a run or in one that goes on; then go on without."""
    judge = Judge()
    counts = _operations()
    failures = [
        (kind, nth, error, begun)
        for begun in (False, True)
        for kind, count in enumerate(counts)
        for nth in range(1, count + 1)
        for error in (
            (EIO, ENOSPC, SHORT) if OPERATIONS[kind] == "write" else (EIO, ENOSPC)
        )
    ]
    ends = Counter()
    for kind, nth, error, begun in _some(failures, cases):
        where = folder("fail")
        before = outside(where)
        if begun:
            run(where, arm=(-1, rng.randrange(1, sum(counts)), KILL))
        first = run(where, "--resume", arm=(kind, nth, error))
        said = first.words.strip().splitlines()[-1:] or [""]
        if first.code not in (0, 2, 3) or (first.code and "jaxvib: " not in said[0]):
            judge.counts["silent"] += 1
            judge.bad.append(f"{OPERATIONS[kind]} {nth} {error}: {first}")
            continue
        if first.code == 0 and contents(where / OUT) != judge.expected:
            judge.counts["different bytes"] += 1
            judge.bad.append(f"{OPERATIONS[kind]} {nth} {error}: {first}")
            continue
        ends[f"ended with {first.code}"] += 1
        name = f"{OPERATIONS[kind]} {nth}, error {error}"
        judge.end(name, where, before, first, run(where, "--resume"))
    return judge.result() | {"the failing run": dict(sorted(ends.items()))}


def _some(places: Sequence, cases: range) -> Sequence:
    """Return the places of some cases, none beyond the last: each is taken once."""
    return random.Random(0).sample(places, len(places))[cases.start : cases.stop]


def _operations() -> tuple[int, ...]:
    where = folder("count")
    return run(where, arm=(-1, 0, 0)).counts


def damages(cases: range, rng: random.Random) -> dict:
    """Damage each file of a store in each way; open it, report, and go on with it."""
    judge = Judge()
    files = [*sorted(judge.expected), "journal.jsonl", "times.json"]
    every = [(file, how) for file in files for how in _DAMAGES]
    opened = Counter()
    for case in cases:
        file, how = every[case % len(every)]
        where = folder("damage")
        shutil.copytree(judge.whole / OUT, where / OUT)
        damage(where / OUT / file, how, judge.whole / OUT, rng)
        before = outside(where)
        name = f"{file} {how}"
        shown = command(where, "report", OUT)
        unharmed = contents(where / OUT) == judge.expected
        if shown.code == 0 and not unharmed:
            judge.counts["silent"] += 1
            judge.bad.append(f"{name}: a report is drawn: {shown.words[-200:]}")
            continue
        opened["report drawn" if shown.code == 0 else "refused with one line"] += 1
        judge.end(name, where, before, shown, run(where, "--resume"))
    return judge.result() | {"reports": dict(sorted(opened.items()))}


def damage(path: Path, how: str, whole: Path, rng: random.Random) -> None:
    """Do one of the damages to a file."""
    content = bytearray(path.read_bytes())
    place = rng.randrange(max(1, len(content)))
    changes: dict[str, Callable[[], bytes]] = {
        "a bit flipped": lambda: _flipped(content, place, rng),
        "a piece changed": lambda: (
            content[:place] + rng.randbytes(16) + content[place + 16 :]
        ),
        "cut short": lambda: content[:place],
        "emptied": lambda: b"",
        "longer": lambda: content + rng.randbytes(20),
        "replaced by another file of it": lambda: _another(path, whole, rng),
    }
    if how in changes:
        path.write_bytes(changes[how]())
        return
    path.unlink()
    if how == "replaced by a link":
        copy = path.with_name(f"{path.name}.copy")  # of the same bytes, which must not do
        copy.write_bytes(content)
        os.symlink(copy, path)
    elif how == "replaced by a folder":
        path.mkdir()
        (path / "inside").write_text("inside")


def _flipped(content: bytearray, place: int, rng: random.Random) -> bytes:
    content[place : place + 1] = bytes([content[place] ^ 1 << rng.randrange(8)])
    return content


def _another(path: Path, whole: Path, rng: random.Random) -> bytes:
    others = [other for other in sorted(whole.rglob("*")) if other.is_file()]
    return rng.choice(others).read_bytes()


def rivals(cases: range, rng: random.Random) -> dict:
    """Start two runs in one folder at once."""
    judge = Judge()
    ends = Counter()
    for case in cases:
        where = folder("rivals")
        before = outside(where)
        other = os.fork()
        if other == 0:
            time.sleep(rng.uniform(0, 0.5 * judge.seconds))
            code = 70
            try:
                code = run(where, "--resume").code
            finally:
                os._exit(code)
        one = run(where, "--resume")
        _, status = os.waitpid(other, 0)
        codes = sorted((one.code, os.waitstatus_to_exitcode(status)))
        ends[" and ".join(map(str, codes))] += 1
        if codes not in ([0, 0], [0, 2]):
            judge.counts["another code"] += 1
            judge.bad.append(f"rivals {case}: {codes}: {one.words[-300:]}")
            continue
        judge.end(f"rivals {case}", where, before, run(where, "--resume"))
    return judge.result() | {"codes of both": dict(sorted(ends.items()))}


def whole_kills(cases: range, rng: random.Random) -> dict:
    """Kill the command as a user has it, natural modes with JAX, at a random instant."""
    config = builtin_studies.folder() / "tower_modes.toml"
    options = ("--set", "run.chunk=4", "--set", "output.report=false")
    where = folder("whole")
    began = time.perf_counter()
    first = run_whole(config, where / OUT, *options)
    seconds = time.perf_counter() - began
    judge = Judge()
    # Two runs of it differ in the state of git, should somebody commit in between.
    judge.kept = "results.zarr"
    judge.expected = judge.found(where)
    for case in cases:
        shutil.rmtree(where / OUT, ignore_errors=True)
        before = outside(where)
        run_whole(config, where / OUT, *options, kill_after=rng.uniform(0, seconds))
        last = run_whole(config, where / OUT, *options, "--resume")
        judge.end(f"whole {case}", where, before, first, last)
    return judge.result()
