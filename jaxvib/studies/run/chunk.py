"""The unit of work: one chunk of samples, computed by any executor."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ensemble.checkpoint import EvaluationStore
from ...systems import parameters
from ..analyses.kinds import ANALYSES, SYSTEMS
from ..config import samples
from ..store.fields import Variable, with_coordinates
from .computing import compute_part
from .refining import refined_part
from .study import Study, load_text


def compute_chunk(config: str, number: int, progress: Any = None) -> dict[str, Variable]:
    """Return the results of a chunk of a study, with its swept values.

    Pure: the bytes depend only on the two arguments and the `fingerprint`. The system
    built from a config is cached for its other chunks. **Arguments:** `config`: the
    text of a resolved config; `progress`: notified of completed samples and reasons of
    failures. **Raises:** `ValueError` for an invalid chunk number; as `compute_part`.
    """
    study, system = built(config)
    return chunk_fields(study, system, number, progress or Silent())


def chunk_fields(
    study: Study,
    system: Any,
    number: int,
    progress: Any,
    remember: EvaluationStore | None = None,
) -> dict[str, Variable]:
    """As `compute_chunk`, for a study that is built already."""
    part = chunk_part(study, number)

    draw = functools.partial(samples.draw, study.sampling, study.paths, study.run.seed)

    if study.sampling.how.refined:
        fields = refined_part(study, system, part, progress)
    else:
        fields = compute_part(study, system, draw, part, progress, remember)
    return with_coordinates(fields, coordinates(study, draw(part)))


def number_of_chunks(study: Study) -> int:
    """Return the number of chunks of a study."""
    return -(-study.samples // study.run.chunk)


def chunk_numbers(study: Study) -> range:
    """Return the numbers of the chunks that this run computes."""
    count = number_of_chunks(study)
    return range(count) if study.share is None else study.share.chunks(count)


def chunk_part(study: Study, number: int) -> slice:
    """Return the samples of a chunk. **Raises:** `ValueError` for an invalid number."""
    last = number_of_chunks(study) - 1
    if not 0 <= number <= last:
        raise ValueError(f"chunk = {number} is not in [0, {last}]")
    start = number * study.run.chunk
    return slice(start, min(start + study.run.chunk, study.samples))


def build(study: Study) -> Any:
    """Return the system of a study. **Raises:** `ValueError` if it cannot be built."""
    try:
        return _built(study)
    except ValueError as error:
        place = study.document.where_named(str(error))
        raise ValueError(f"{place}: {error}") from error


def _built(study: Study):
    system = SYSTEMS[study.system.kind].build(study.system)
    values = {
        path: float(np.asarray(entry.value))
        for path, entry in parameters(system).items()
        if np.ndim(entry.value) == 0
    }
    declared = SYSTEMS[study.system.kind].declared(study.system)
    ANALYSES[study.analysis.kind].check(study.analysis, values, declared, system)
    return system


class Silent:
    """A progress without output."""

    def advance(self, samples: int) -> None:
        """Count completed samples."""

    def fail(self, samples: int) -> None:
        """Count failed samples."""

    def message(self, line: str) -> None:
        """Print a line."""


@functools.lru_cache(maxsize=2)
def built(config: str) -> tuple[Study, Any]:
    """Return a config's study and system, cached."""
    study = load_text(config)
    return study, build(study)


def coordinates(study: Study, values: Mapping[str, np.ndarray]) -> dict[str, Variable]:
    """Return swept values as labelled arrays, with the system's declarations."""
    declared = SYSTEMS[study.system.kind].declared(study.system)
    return {
        path: Variable(("sample",), column, declared[path].unit, declared[path].description)
        for path, column in values.items()
    }
