"""One run of a study at the terminal: its output, interruption and exit code."""

import concurrent.futures
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .foundation.command import signals
from .foundation.command.terminal import print_line, print_result
from .studies.analyses.kinds import SYSTEMS
from .studies.resources import library
from .studies.run.study import Study
from .studies.store.lock import Lock

execute = library("studies.run.execute")

DONE, SAMPLES_FAILED = 0, 1  # exit codes; the others are in `cli`
_TICK = 0.2  # s, refresh interval of the progress line


class Session:
    """A study from its config to its report.

    **Arguments:** `config`, `assignments`, `out`: as given, to name the next command;
    `started`: by `time.monotonic`; `pictures`: also draw the report's pictures as files;
    `as_json`: print the summary as JSON, and everything else to stderr. **Fields:**
    `study`; `directory`: the results folder, `out` or the share's folder next to it.
    """

    def __init__(
        self,
        study: Study,
        config: str,
        assignments: Sequence[str],
        out: Path,
        started: float,
        *,
        pictures: bool = False,
        as_json: bool = False,
    ):
        self.study = study
        self.directory = out if study.share is None else study.share.folder(out)
        self._out = out
        self._config = config
        self._assignments = assignments
        self._started = started
        self._pictures = pictures
        self._as_json = as_json
        self._begun = False
        self._lock = Lock(self.directory)

    def __enter__(self) -> "Session":
        signals.set_exit_message(self._interruption_text)
        return self

    def __exit__(self, *_) -> None:
        self._lock.release()

    def prepare(self, *, resume: bool) -> tuple[Any, Any]:
        """Return the system and its store, new or resumed.

        **Raises:** `ValueError` and `FileExistsError` if the study cannot run and
        `BlockingIOError` if another run holds the folder; nothing is written then.
        `OSError` if the store is damaged or not writable.
        """
        from .studies.store.store import check_free, has_study

        if not has_study(self.directory):
            check_free(self.directory)
        elif not resume:
            raise FileExistsError(
                f"{self.directory} already contains a study; resume it with --resume, or "
                "choose another folder with --out"
            )
        else:
            self._lock.acquire()
        print_line(f"{self.study.title}: {self.study.sampling_text()}", err=self._as_json)
        from .studies.run.device import choose  # imports JAX
        from .studies.run.memory import too_large

        if self.study.run.cluster is not None:
            execute.require_dask(self.study.run.cluster)
        device, line = choose(self.study.run.device)
        where = f"{line}, {os.cpu_count()} cores; results go to {self.directory}"
        print_line(where, err=self._as_json)
        system = execute.build(self.study)
        if why := too_large(self.study):
            raise ValueError(why)
        self._begun = True
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock.acquire()
        store = execute.open_store(self.study, self.directory, device, resume=resume)
        return system, store

    def compute(self, system: Any, store: Any) -> None:
        """Compute and store the remaining samples.

        **Raises:** `OSError`, `MemoryError` or `RuntimeError` on failure.
        """
        from .studies.run.progress import Progress

        asked = execute.samples_asked(self.study)
        progress = Progress(asked, execute.samples_done(self.study, store))
        # In a separate thread: the main one could not handle Ctrl-C while XLA compiles.
        pool = concurrent.futures.ThreadPoolExecutor(1)
        work = pool.submit(
            execute.execute, self.study, system, store, progress, self._started
        )
        while not concurrent.futures.wait([work], _TICK).done:
            progress.refresh()
        progress.close()
        work.result()

    def report(self) -> int:
        """Draw the report, print the summary and return the exit code."""
        from .studies.run import summary
        from .studies.run.distributed import sharing

        if self.study.share is not None:
            found = sharing.summary(self.study, self.directory)
            print_result(found, sharing.lines, as_json=self._as_json)
            return SAMPLES_FAILED if found["failed"] else DONE
        found = summary.summary(self.study, self.directory)
        if self.study.output.report:
            from .reports.report import written_report

            written = written_report(self.directory, pictures=self._pictures)
            found["report"] = str(written.path)
            if written.no_live:
                found["live"] = f"none: {written.no_live}"
        found["next"] = self._next()

        def lines(found: dict) -> list[str]:
            ends = [
                f"{key:10} {found[key]}"
                for key in ("report", "live", "next")
                if key in found
            ]
            return summary.lines(found) + ends

        print_result(found, lines, as_json=self._as_json)
        return SAMPLES_FAILED if found["failed"] else DONE

    def command(self, *options: str) -> str:
        """Return the command that repeats this run, with more options."""
        pictures = ["--pictures"] * self._pictures
        return self._command(self._assignments, self._out, *pictures, *options)

    def _command(self, assignments, directory: Path, *options: str) -> str:
        sets = [word for each in assignments for word in ("--set", each)]
        share = self.study.share
        shared = [] if share is None else ["--share", str(share)]
        words = ["jaxvib", "run", self._config, *sets, *shared, "--out", str(directory)]
        return shlex.join([*words, *options])

    def _interruption_text(self) -> str:
        if self._begun:
            return f"finished samples are kept; resume with: {self.command('--resume')}"
        return "nothing was written"

    def _next(self) -> str:
        variation = SYSTEMS[self.study.system.kind].variation(self.study.system)
        path = variation.partition("=")[0]
        if path in self.study.paths:
            return shlex.join(["jaxvib", "report", str(self.directory)])
        kept = [each for each in self._assignments if each.partition("=")[0] != path]
        out = self._out if self._out.name.strip(".") else self._out.resolve()
        return self._command([*kept, variation], Path(f"{out}-2"))
