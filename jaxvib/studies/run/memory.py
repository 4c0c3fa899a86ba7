"""Room in memory: what a study needs, and how many samples go into one chunk."""

from ..._machine import memory
from ..analyses.kinds import ANALYSES
from ..store.thinned import MOST_SHOWN

_BASE = 1.0e9  # bytes, of Python, JAX and its compiler
_HELD = 4.0  # times what is stored: while it is gathered, summed up and drawn
_COMPUTED = 16.0  # times what is stored of a sample: while it is computed
_OF_ALL = 0.125  # of the memory, for one chunk
MOST_SAMPLES = (
    1024  # of a chunk: a stopped run loses no more, and a call is worth its start
)
# Larger chunks are for studies that would have more of them, each a few files of its own.
_LARGEST_CHUNK, _MOST_CHUNKS = 1 << 19, 8192


def needed(study) -> float:
    """Return the memory that a study takes in all, bytes.

    Of more samples than are drawn and summed up, no more are held at a time.
    """
    return _BASE + _HELD * min(study.samples, MOST_SHOWN) * _stored(study.analysis)


def too_large(study) -> str | None:
    """Return why a study does not fit into this machine, and what would; else `None`."""
    there, wanted = memory(), needed(study)
    if wanted <= there:
        return None
    each = _HELD * _stored(study.analysis)
    fitting = int(max(0.0, there - _BASE) // each)
    what = f"{fitting} sample{'s' * (fitting > 1)}" if fitting else "a smaller analysis"
    return (
        f"{study.samples} samples need about {size(wanted)} of memory, and there are "
        f"{size(there)}; allowed here: {what}"
    )


def fitting_chunk(analysis, samples: int) -> int:
    """Return how many samples are computed and stored at a time, a power of 2.

    Of very many samples so many that the chunks stay in number what a folder can hold.
    """
    each, most = _COMPUTED * _stored(analysis), MOST_SAMPLES
    while samples > _MOST_CHUNKS * most and 2 * most <= _LARGEST_CHUNK:
        most *= 2
    while most > 2 and most * each > _OF_ALL * memory():
        most //= 2
    return most


def size(number: float) -> str:
    """Return a number of bytes for the eye."""
    for unit in ("kB", "MB", "GB"):
        number /= 1000
        if number < 1000:
            return f"{number:.3g} {unit}"
    return f"{number / 1000:.3g} TB"


def _stored(analysis) -> float:
    return ANALYSES[analysis.kind].sample_bytes(analysis)
