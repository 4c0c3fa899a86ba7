"""Fault injection: kills, failing disks, damage, dead workers.

    python -m experiments.faults [--share 0.5] [--jobs 2] [--resume] [--out FILE]

Each case ends in one of a few ways, which are counted: *same bytes* as an undisturbed
study (config, record and results; a journal lists the order of events), *refused* with
one line and code 2 or 3, and others, none of which is allowed. `--share 1` is the full
number of cases. Most cases are the real command, with its config, session, store, lock,
journal and codes, in processes forked from one with all imports, on a study whose
numbers come from numpy; "whole" ones are the command as a user runs it, with JAX. Parts
that are not run again are kept in the file. Counts are written every few cases;
`--resume` continues parts after the cases that are in the file.

Failing operations come from a preloaded library (`faulting/failing.c`), built by `cc`;
without a compiler they are skipped.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "faults.json"
_BUILT = "JAXVIB_FAULTS"
# Part: its function, number of cases at --share 1, whether it needs the library.
PARTS = {
    "kills at random": ("stores.kills", 1000, False),
    "kills before each operation on files": ("stores.kills_at_operations", 450, True),
    "kills of whole commands": ("stores.whole_kills", 20, False),
    "failing operations": ("stores.failing_operations", 3000, True),
    "damages": ("stores.damages", 5000, False),
    "two runs at once": ("stores.rivals", 100, False),
    "workers killed and frozen": ("workers.workers", 1600, False),
    "a Dask cluster killed and frozen": ("workers.dask", 600, False),
    "a full disk": ("surroundings.full_disk", 200, False),
    "a network lost": ("surroundings.network", 200, False),
    "changed configs": ("words.configs", 20_000, False),
    "names": ("words.names", 1000, False),
    "hostile stores": ("words.hostile_stores", 300, False),
}
_COMMAND = "the command, forked"
_HOW = {
    place: "the reader" if place in ("words.configs", "words.names") else _COMMAND
    for place, _, _ in PARTS.values()
} | {"stores.whole_kills": "the whole command"}
_SLOWEST = "slowest, s"  # of a part's cases: the only number that is no sum
_BATCH = 50  # cases, after which counts are written: half a minute of the slowest part
GOOD = ("same bytes", "refused", "refused with one line", "taken", "read as what it says")


def campaign(share: float, jobs: int, parts: dict[str, dict], tell: Callable) -> None:
    """Run parts, each from the cases on that are counted; `tell` when counts have changed.

    `parts` has their counts and is kept up to date.
    """
    from experiments.faulting import study, workers

    study.install()
    workers.install()
    fork = multiprocessing.get_context("fork")
    left, running = [*parts], {}
    with concurrent.futures.ProcessPoolExecutor(jobs, fork) as pool:
        while left or running:
            while left and len(running) < jobs:
                part = left.pop(0)
                first = parts[part].get("cases", 0)
                last = min(first + _BATCH, max(2, round(share * PARTS[part][1])))
                running[pool.submit(_batch, part, range(first, last))] = part, last - first
            ended, _ = concurrent.futures.wait(running, return_when="FIRST_COMPLETED")
            for each in ended:
                (part, asked), found = running.pop(each), each.result()
                parts[part] = _added(parts[part], found) if parts[part] else found
                tell()
                if 0 < asked == found["cases"]:
                    left.insert(0, part)
                else:
                    print(f"{part}: {parts[part]}", flush=True)


def _batch(part: str, cases: range) -> dict:
    from experiments.faulting import stores, study, surroundings, words, workers

    place, _, needs_library = PARTS[part]
    if needs_library and os.environ.get(_BUILT) != "yes":
        return {"cases": 0, "outcomes": {}, "skipped": os.environ.get(_BUILT, "")}
    if not cases:
        return {"cases": 0, "outcomes": {}}
    module, _, name = place.partition(".")
    modules = (stores, surroundings, words, workers)
    rooms = {each.__name__.rpartition(".")[2]: each for each in modules}
    began, spent = time.perf_counter(), _processor_time()
    try:
        found = getattr(rooms[module], name)(cases, random.Random(f"{part} {cases.start}"))
    finally:
        study.clean()
    seconds = {
        "seconds": round(time.perf_counter() - began, 1),
        "core seconds": round(_processor_time() - spent, 1),
    }
    return {"how": _HOW[place], **found, **seconds}


def _added(one: dict, other: dict) -> dict:
    """Return two batches as one: counts and seconds are added, lists go on."""
    found = one | other
    for key in one.keys() & other.keys():
        before, value = one[key], other[key]
        if isinstance(value, dict):
            found[key] = _added(before, value)
        elif key == _SLOWEST:
            found[key] = max(before, value)
        elif isinstance(value, float):
            found[key] = round(before + value, 1)
        elif not isinstance(value, str):
            found[key] = before + value
    return found


def _processor_time() -> float:
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def with_library(folder: Path) -> None:
    """Go on in a process with the library preloaded, or with the reason why not."""
    compiler = shutil.which("cc")
    if compiler is None:
        os.environ[_BUILT] = "no C compiler `cc` here"
        return
    built = folder / "failing.so"
    source = HERE / "faulting" / "failing.c"
    words = [compiler, "-O1", "-shared", "-fPIC", "-o", built, source, "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        os.environ[_BUILT] = f"cc does not build the library: {done.stderr[:200]}"
        return
    environment = {**os.environ, _BUILT: "yes", "LD_PRELOAD": str(built)}
    sys.stdout.flush()
    again = [sys.executable, "-m", "experiments.faults", *sys.argv[1:]]
    raise SystemExit(subprocess.run(again, env=environment, check=False).returncode)


def main() -> int:
    """Run the campaign; 1 if a case ended as none may."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.1, help="of the full numbers")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="add the cases that lack")
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if _BUILT not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            with_library(Path(folder))
    before = json.loads(given.out.read_text())["parts"] if given.out.exists() else {}
    parts = {part: before.get(part, {}) if given.resume else {} for part in given.parts}

    def write() -> None:
        now = {part: counts for part, counts in parts.items() if counts}
        every = {part: {**before, **now}[part] for part in PARTS if part in before | now}
        totals = {
            key: round(sum(part.get(key, 0) for part in every.values()))
            for key in ("seconds", "core seconds")
        }
        result = {"python": platform.python_version(), **totals, "parts": every}
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")

    campaign(given.share, given.jobs, parts, write)
    bad = [part for part, each in parts.items() if set(each["outcomes"]) - set(GOOD)]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
