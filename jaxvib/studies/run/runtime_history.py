"""Run times of earlier studies on this machine, stored with the compilation cache.

`jaxvib cache clear` removes both, so that run times are only known for structures
whose programs are cached. The file is optional; a damaged one is ignored.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s

from ...foundation.cache import programs_kept, read_entry, write_entry
from ..store.provenance import versions
from ..store.times import read_times
from .study import Study

TIMES = "studies/times.json"  # in the cache
_MOST = 500  # most recent structures
_NUMBERS = ("samples", "startup", "compile", "backend", "after")
_MOST_RUNS = 8  # most recent ones per structure: machines and their load change
_APART = 1.5  # minimum ratio of sample numbers to separate start-up from rate


def record_runtime(
    study: Study, took: dict[str, Any], runs: Sequence[tuple[int, float]]
) -> None:
    """Store the cost of a study: `_NUMBERS`, in seconds, and whether it was `cold`.

    `runs`: numbers of samples computed together, with their seconds.
    """
    found = _read()
    key = _structure(study)
    before = found.pop(key, {})
    kinds = {"analysis": study.analysis.kind, "system": study.system.kind}
    state = "cold" if took["cold"] else "warm"
    every = dict(map(tuple, before.get("runs", []))) | dict(runs)
    last = [*(run for run in every.items() if run not in runs), *runs][-_MOST_RUNS:]
    found[key] = before | kinds | {state: took, "last": state, "runs": last}
    text = json.dumps(dict(list(found.items())[-_MOST:]))
    write_entry(TIMES, text.encode())


def record_run(study: Study, directory: Path, seconds: float) -> None:
    """Store the cost of a run that has just ended, given its total seconds."""
    last = read_times(directory)["sessions"][-1:]
    if not last or not last[0]["samples"] or study.run.workers > 1 or study.run.cluster:
        return  # compilation by workers is not known here
    startup, compiled = last[0]["startup_seconds"], last[0]["compile_seconds"]
    computing = max(0.0, last[0]["seconds"] - startup - compiled)
    took = {
        "samples": last[0]["samples"],
        "startup": startup,
        "compile": compiled,
        "backend": last[0]["backend_seconds"],
        "after": max(0.0, seconds - last[0]["seconds"]),
        "cold": last[0]["cold"],
    }
    runs = [(last[0]["samples"], computing)]
    first, spent = last[0].get("first", runs[0])
    record_runtime(study, took, [(first, spent), *runs] if first < runs[0][0] else runs)


def past_runtime(study: Study) -> dict[str, Any] | None:
    """Return the cost of the last comparable run; `None` if there is none.

    `same`: whether it had the same structure, otherwise only the same kinds. `cached`:
    whether its programs are cached, so that they need not be compiled. `runs`: numbers
    of samples with their seconds. `cold_compile`: seconds of a full compilation, `None`
    if unknown; `bound`: whether compilation is needed and its time unknown.
    """
    found = _read()
    entry = found.get(_structure(study))
    same = entry is not None
    if entry is None:
        kinds = [study.analysis.kind, study.system.kind]
        alike = [e for e in found.values() if [e.get("analysis"), e.get("system")] == kinds]
        entry = alike[-1] if alike else None
    if entry is None:
        return None
    took = dict(entry[entry["last"]])
    cold = entry["cold"]["compile"] if "cold" in entry else None
    cached = same and programs_kept()
    if cached and took["cold"]:
        took["compile"] -= took["backend"]  # loading is negligible
    if not cached and cold is not None:
        took["compile"] = cold
    bound = not cached and cold is None
    more = {"same": same, "kept": cached, "cold_compile": cold, "bound": bound}
    return took | more | {"runs": entry["runs"]}


def computing(runs: Sequence[Sequence[float]], samples: int) -> tuple[float, float]:
    """Return bounds of the seconds needed for some samples, from earlier runs.

    A run takes a fixed time plus a time per sample: fitted by relative least squares,
    both non-negative. If all runs had similar numbers of samples, the split is unknown
    and the bounds cover both extremes.
    """
    numbers, seconds = np.asarray(runs, float).T
    if numbers.max() < _APART * numbers.min():
        number, taken = numbers[-1], seconds[-1]
        low, high = sorted((taken, taken * samples / number))
        return float(low), float(high)
    weights = 1 / np.maximum(seconds, 1e-3)  # s, the precision of the clock
    terms = np.stack([np.ones_like(numbers), numbers], axis=1) * weights[:, None]
    (fixed, each), _ = scipy.optimize.nnls(terms, seconds * weights)
    expected = float(fixed + each * samples)
    return expected, expected


def _structure(study: Study) -> str:
    """Return a key for what programs and the cost of a sample depend on."""
    resolved = study.resolved()
    parts = [
        _without_numbers(resolved["system"]),
        resolved["analysis"],
        sorted(study.paths),
        [study.run.rtol, study.run.evidence, study.run.device],
        versions(),
        os.environ.get("JAX_COMPILATION_CACHE_DIR"),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _without_numbers(table: Any) -> Any:
    if isinstance(table, dict):
        return {key: _without_numbers(value) for key, value in table.items()}
    if isinstance(table, list):
        return [_without_numbers(value) for value in table]
    return "real" if isinstance(table, float) else table


def _read() -> dict[str, Any]:
    try:
        found = json.loads(read_entry(TIMES) or b"{}")
        return {key: each for key, each in found.items() if _is_entry(each)}
    except (ValueError, AttributeError):
        return {}


def _is_entry(found: Any) -> bool:
    try:
        known = [found[state] for state in ("cold", "warm") if state in found]
        numbers = [took[key] for took in known for key in _NUMBERS]
        numbers += [number for run in found["runs"] for number in (run[0] - 1, run[1])]
        return (
            found[found["last"]] in known
            and bool(found["runs"])
            and all(type(n) in (int, float) and 0 <= n < 1e12 for n in numbers)
        )
    except (KeyError, TypeError):
        return False
