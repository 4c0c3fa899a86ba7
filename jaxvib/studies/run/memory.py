"""Memory of a study, and the number of samples per chunk."""

from typing import Any

from ...foundation.machine import memory
from ...foundation.text import size_text
from ..analyses.kinds import ANALYSES
from ..store.subsample import MOST_SHOWN

_BASE = 1.0e9  # bytes, of Python, JAX and its compiler
_HELD = 4.0  # ratio to the stored size, while collecting, summarising and drawing
_COMPUTED = 16.0  # ratio to the stored size of a sample, during computation
_OF_ALL = 0.125  # fraction of the memory for one chunk
MOST_SAMPLES = 1024  # per chunk: bounds the loss of an interruption, amortises the call
# Larger chunks are used if there would be too many, each with a few files.
_LARGEST_CHUNK, _MOST_CHUNKS = 1 << 19, 8192


def needed(study: Any) -> float:
    """Return the total memory of a study in bytes.

    Held samples are limited to those that are drawn and summarised.
    """
    return _BASE + _HELD * min(study.samples, MOST_SHOWN) * _stored(study.analysis)


def too_large(study: Any) -> str | None:
    """Return why a study exceeds this machine's memory, and what fits; else `None`."""
    available, required = memory(), needed(study)
    if required <= available:
        return None
    each = _HELD * _stored(study.analysis)
    fitting = int(max(0.0, available - _BASE) // each)
    what = f"{fitting} sample{'s' * (fitting > 1)}" if fitting else "a smaller analysis"
    return (
        f"{study.samples} samples need about {size_text(required)} of memory; available: "
        f"{size_text(available)}; allowed: {what}"
    )


def fitting_chunk(analysis: Any, samples: int) -> int:
    """Return the number of samples computed and stored at a time, a power of 2.

    For very many samples, chunks are enlarged so that a folder can hold their files.
    """
    each, most = _COMPUTED * _stored(analysis), MOST_SAMPLES
    while samples > _MOST_CHUNKS * most and 2 * most <= _LARGEST_CHUNK:
        most *= 2
    while most > 2 and most * each > _OF_ALL * memory():
        most //= 2
    return most


def _stored(analysis) -> float:
    return ANALYSES[analysis.kind].sample_bytes(analysis)
