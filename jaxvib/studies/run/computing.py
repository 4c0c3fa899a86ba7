"""Computes samples of a study, isolating those that fail."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...ensemble import Reason
from ...ensemble.evaluation_store import EvaluationStore, PrefixedStore
from ...foundation.progress import without_progress
from ..analyses.kinds import ANALYSES
from ..store.fields import Variable, joined
from .study import Study

_TRIES = 8  # samples tried to find one that can be computed


def compute_part(
    study: Study,
    system: Any,
    draw: Callable[[slice], Mapping[str, np.ndarray]],
    part: slice,
    progress: Any,
    remember: EvaluationStore | None = None,
    among: int | None = None,
) -> dict[str, Variable]:
    """Return the results of a part of the samples, with reason codes in `result`.

    If the computation of a part fails, its halves are computed, down to the failing
    samples: these get the code `COMPUTATION_FAILED` and no numbers. Parts that run out
    of memory are halved too. A sample's bytes do not depend on the rest of its part, so
    that the others are unaffected.

    **Arguments:** `draw`: returns the values of samples by path; `progress`: notified
    of completed samples and reasons of failures; `remember`: stored evaluations of a
    search; `among`: number of samples known to `draw`, by default all of the study's.
    **Raises:** `RuntimeError` if no sample of a study can be computed, `MemoryError` if
    the memory does not suffice for one, `OSError` from the disk.
    """
    kind = ANALYSES[study.analysis.kind]
    first = part.start
    tell = _counting_once(progress.advance, part.stop - part.start)

    def compute(start: int, stop: int) -> dict[str, Variable]:
        more: dict[str, Any] = {}
        if remember is not None:
            prefix = f"from {start - first}/" if start > first else ""
            more["remember"] = PrefixedStore(remember, prefix)
        if kind.needs_sample_count:
            more["number"] = study.samples
        here = draw(slice(start, stop))
        with without_progress():  # the study has its own progress bar
            return kind.compute(system, here, study.analysis, study.run, tell, **more)

    def halved(start: int, stop: int) -> dict[str, Variable]:
        try:
            return compute(start, stop)
        except OSError:
            raise
        except Exception as error:
            alone, memory = stop - start == 1, _is_out_of_memory(error)
            if alone and memory:
                raise MemoryError(f"sample {start} needs too much memory") from error
            if alone:
                progress.message(f"sample {start}: {_error_text(error)}")
                return _empty_fields(example(error))
            if not memory:
                example(error)  # otherwise each sample would be tried in vain
        middle = (start + stop) // 2
        return joined(halved(start, middle), halved(middle, stop))

    found: list[dict[str, Variable]] = []

    def example(error: Exception) -> dict[str, Variable]:
        """Return the results of a sample that can be computed."""
        number = study.samples if among is None else among
        tried = np.linspace(0, number - 1, min(number, _TRIES)).round().astype(int)
        for place in tried.tolist():
            if found:
                break
            try:
                found.append(compute(place, place + 1))
            except (OSError, MemoryError):
                raise
            except Exception:
                continue
        if not found:
            raise RuntimeError(
                f"no sample can be computed: {_error_text(error)}"
            ) from error
        return found[0]

    fields = halved(part.start, part.stop)
    tell(part.stop - part.start)
    return fields


def _counting_once(advance: Callable[[int], None], most: int) -> Callable[[int], None]:
    """Return a progress callback that counts recomputed samples once."""
    left = most

    def tell(number: int) -> None:
        nonlocal left
        number = min(number, left)
        left -= number
        if number:
            advance(number)

    return tell


def _is_out_of_memory(error: Exception) -> bool:
    words = str(error)
    return isinstance(error, MemoryError) or any(
        sign in words for sign in ("RESOURCE_EXHAUSTED", "Out of memory", "out of memory")
    )


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def _empty_fields(fields: dict[str, Variable]) -> dict[str, Variable]:
    """Return the fields of one sample with empty values."""

    def empty(name: str, field: Variable) -> Variable:
        kind = field.values.dtype.kind
        blank = np.nan if kind in "fc" else -1 if kind == "i" else 0
        blank = int(Reason.COMPUTATION_FAILED) if name == "result" else blank
        return dataclasses.replace(field, values=np.full_like(field.values, blank))

    return {name: empty(name, field) for name, field in fields.items()}
