"""What a worker does, whatever it is reached by: says who it is, and computes chunks."""

import functools
import pickle
from collections.abc import Mapping
from typing import Any

from ...ensemble import map_samples
from ..config.document import parse
from ..store.provenance import fingerprint, versions
from .chunk import built, compute_chunk
from .device import choose
from .executors import Failure


def outcome(config: str, number: int, progress) -> tuple[str, int, Any]:
    """Return a chunk's results as `("done", number, fields)`, or why there are none."""
    return _tried(number, compute_chunk, config, number, progress)


def lanes_outcome(
    number: int, function: bytes, lanes: bytes, chunk: int
) -> tuple[str, int, Any]:
    """Return a pickled map of pickled lanes as `outcome` does the fields of a chunk."""
    return _tried(number, _mapped, function, lanes, chunk)


def _tried(number: int, compute, *arguments) -> tuple[str, int, Any]:
    try:
        return "done", number, compute(*arguments)
    except (OSError, MemoryError) as error:  # what another time or place may not meet
        return "failed", number, Failure(f"{type(error).__name__}: {error}")
    except Exception as error:
        return "failed", number, Failure(str(error), final=True)


def _mapped(function: bytes, lanes: bytes, chunk: int) -> bytes:
    return pickle.dumps(map_samples(_function(function), pickle.loads(lanes), chunk=chunk))


@functools.lru_cache(maxsize=64)
def _function(pickled: bytes):
    # One object for all lanes of it, whose compiled form is kept.
    return pickle.loads(pickled)


@functools.lru_cache(maxsize=2)
def identity(config: str) -> dict[str, Any]:
    """Return what the bytes of this process's results depend on, beside the config.

    What a chunk needs is imported and built by then.
    """
    wanted = parse(config, "config").tables["run"]["device"]
    device, _ = choose(wanted)
    built(config)
    return {"versions": versions(), "fingerprint": fingerprint(device)}


def unlike(found: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return in what a worker differs from the record of a study, `""` if in nothing."""
    for table in ("versions", "fingerprint"):
        for key in {**record[table], **found[table]}:
            here, there = record[table].get(key), found[table].get(key)
            if here != there:
                return f"{table}.{key} = {there}, and the study was begun with {here}"
    return ""
