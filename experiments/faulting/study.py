"""A study that only counts, run by the real command in forked processes.

Its numbers come from numpy, so that a run takes hundredths of a second: config,
session, store, journal, lock, summary and exit codes are jaxvib's own; device, compiler
and system are not involved. `run_whole` is the command itself, in its own process, with
JAX.
"""

import contextlib
import ctypes
import gc
import hashlib
import importlib
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from jaxvib import cli
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.analyses.study_kind import StudyKind
from jaxvib.studies.config.tables import Table
from jaxvib.studies.run import chunk, device, execute, record
from jaxvib.studies.run.distributed import worker_tasks
from jaxvib.studies.store.fields import Variable

OUT = "there"
CONFIG = """
title = "Counted"
[system]
kind = "two_body_impact"
[analysis]
kind = "counted"
[sweep]
load.amplitude = { linspace = [100.0, 400.0, 6] }
load.phase = [0.0, 0.5]
[run]
chunk = 3
device = "cpu"
[output]
report = false
"""
_IMPORTED_LATE = (
    "jax", "jaxvib.ensemble", "jaxvib.studies.run.summary", "jaxvib.studies.run.progress",
    "jaxvib.studies.store.times", "tqdm.auto", "xarray", "numcodecs.zstd",
    "matplotlib.backends.backend_agg", "jaxvib.systems", "distributed",
    "jaxvib.studies.run.status",
)  # fmt: skip
LONGEST = 60  # s that a process may take
OPERATIONS = ("open", "write", "close", "fsync", "rename", "mkdir", "unlink")


class Ending(NamedTuple):
    """How a process ended: its code (minus the signal), and what it said last."""

    code: int
    words: str
    counts: tuple[int, ...] = ()

    @property
    def traceback(self) -> bool:
        """Whether a traceback or a code of nobody came out."""
        return "Traceback" in self.words or "; this is a bug in jaxvib" in self.words


class _Options(Table):
    kind: Literal["counted"]
    seconds: float = 0.0


def _compute(system, samples, options, run, progress, **more):
    time.sleep(options.seconds)
    force, phase = samples["load.amplitude"], samples["load.phase"]
    numbers = np.stack([force * np.cos(phase), force * np.sin(phase), phase], -1)
    return {
        "numbers": Variable(("sample", "number"), numbers, "N", "counted"),
        "result": Variable(("sample",), np.zeros(len(force), np.int32)),
    }


def _first(system, samples, study, read):
    return {
        "sample": Variable(("trace",), np.arange(2)),
        "numbers": Variable(("trace", "number"), read("numbers")[:2], "N"),
    }


_COUNTED = StudyKind(
    name="counted",
    options=_Options,
    sampled=True,
    compute=_compute,
    groups={"first": _first},
    summary=lambda read, study: [f"counted    {read('numbers').sum():.3g}"],
    sample_bytes=lambda options: 24.0,
)


def install() -> None:
    """Let the command run the study, with nothing behind it that a fork could break."""
    for name in _IMPORTED_LATE:  # here once, instead of in each process
        importlib.import_module(name)
    ANALYSES["counted"] = _COUNTED
    execute.build = chunk.build = lambda study: None
    device.choose = worker_tasks.choose = lambda wanted: ("cpu", "CPU")
    record.git_state = lambda: None
    found = record.versions()
    record.versions = worker_tasks.versions = lambda: found
    cli.use_compilation_cache = lambda: None
    gc.freeze()  # so that forked processes share its pages


def command(
    where: Path, *words: str, arm=None, kill_after: float | None = None, meddle=None
) -> Ending:
    """Run the `jaxvib` command in a folder, in a process forked from this one.

    **Arguments:** `arm`: kind, number and error of the file operation that fails (see
    `failing.c`); `kill_after`: seconds until it is killed; `meddle`: called with the
    number of the process while that is at work.
    """
    with tempfile.TemporaryFile(dir=_scratch()) as said:
        child = os.fork()
        if child == 0:
            _obey(where, words, said.fileno(), arm)
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(child, signal.SIGKILL)
        if meddle is not None:
            meddle(child)
        _, status = os.waitpid(child, 0)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    words_, _, counts = text.partition("\0")
    numbers = tuple(int(each) for each in counts.split())
    return Ending(os.waitstatus_to_exitcode(status), words_, numbers)


def _obey(where: Path, words, said: int, arm) -> None:
    code = 70
    try:
        signal.alarm(LONGEST)
        os.chdir(where)
        for stream in (1, 2):
            os.dup2(said, stream)
        sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
        if arm is not None:
            library = ctypes.CDLL(None)
            library.faults_arm(OUT.encode(), *map(ctypes.c_long, arm))
        try:
            cli.main(list(words), prog_name="jaxvib")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException as error:
            print(f"Traceback: {type(error).__name__}: {error}")
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        if arm is not None:
            counts = [library.faults_count(kind) for kind in range(len(OPERATIONS))]
            os.write(1, f"\0{' '.join(map(str, counts))}".encode())
    finally:
        os._exit(code)


def run(where: Path, *options: str, **how) -> Ending:
    """Run the study in a folder."""
    return command(where, "run", "counted.toml", "--out", OUT, *options, **how)


def run_whole(config: Path, out: Path, *options: str, kill_after=None) -> Ending:
    """Run a study by the command in a process of its own."""
    words = [sys.executable, "-m", "jaxvib", "run", str(config), "--out", str(out)]
    process = subprocess.Popen(
        [*words, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        if kill_after is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(kill_after)
            process.kill()
        words_, _ = process.communicate()
    return Ending(process.returncode, words_)


def folder(name: str) -> Path:
    """Return a new folder with the config and files of a stranger in it."""
    where = _scratch() / name
    shutil.rmtree(where, ignore_errors=True)
    (where / "stranger").mkdir(parents=True)
    for mine in ("mine", "stranger/mine"):
        (where / mine).write_text("mine")
    (where / "counted.toml").write_text(CONFIG)
    return where


def contents(directory: Path) -> dict[str, bytes]:
    """Return the bytes of a study that must not differ, by their names.

    The journal's are left out: it tells in which order the steps were done.
    """
    files = [directory / name for name in ("study.json", "config.toml")]
    files += sorted((directory / "results.zarr").rglob("*"))
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in files
        if path.is_file() and not path.is_symlink()
    }


def outside(where: Path) -> str:
    """Return a hash of all that lies beside the study: names, kinds, bytes."""
    found = hashlib.sha256()
    for above, folders, files in os.walk(where):
        if Path(above) == where and OUT in folders:
            folders.remove(OUT)
        for name in sorted([*folders, *files]):
            path = Path(above, name)
            mode = path.lstat().st_mode
            found.update(f"{path}\0{mode}\0".encode("utf-8", "surrogateescape"))
            found.update(path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found.hexdigest()


_SCRATCH: list[Path] = []


def _scratch() -> Path:
    if not _SCRATCH:
        memory = Path("/dev/shm")
        _SCRATCH.append(
            Path(tempfile.mkdtemp("", "faults-", memory if memory.is_dir() else None))
        )
    return _SCRATCH[0]


def clean() -> None:
    """Remove all folders of this process."""
    for scratch in _SCRATCH:
        shutil.rmtree(scratch, ignore_errors=True)
    _SCRATCH.clear()
