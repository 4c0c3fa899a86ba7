"""The work of a worker, independent of its connection: identity and chunks."""

import functools
import pickle
from collections.abc import Mapping
from typing import Any

from ....ensemble import map_samples
from ...config.document import parse
from ...nested import differences
from ...store.store_metadata import fingerprint, versions
from ..chunk import built, compute_chunk
from ..device import choose
from .executors import Failure


def run_chunk(config: str, number: int, progress: Any) -> tuple[str, int, Any]:
    """Return a chunk's results as `("done", number, fields)`, or its failure."""
    return _tried(number, compute_chunk, config, number, progress)


def run_lanes(
    number: int, function: bytes, lanes: bytes, chunk: int
) -> tuple[str, int, Any]:
    """Apply a pickled function to pickled lanes; return as `run_chunk`."""
    return _tried(number, _mapped, function, lanes, chunk)


def _tried(number: int, compute, *arguments) -> tuple[str, int, Any]:
    try:
        return "done", number, compute(*arguments)
    except (OSError, MemoryError) as error:  # may succeed at another time or place
        return "failed", number, Failure(f"{type(error).__name__}: {error}")
    except Exception as error:
        return "failed", number, Failure(str(error), final=True)


def _mapped(function: bytes, lanes: bytes, chunk: int) -> bytes:
    return pickle.dumps(map_samples(_function(function), pickle.loads(lanes), chunk=chunk))


@functools.lru_cache(maxsize=64)
def _function(pickled: bytes):
    # Cached: one function object for all its lanes, so that it is compiled once.
    return pickle.loads(pickled)


@functools.lru_cache(maxsize=2)
def identity(config: str) -> dict[str, Any]:
    """Return what the results of this process depend on besides the config.

    Everything needed for a chunk is then imported and built.
    """
    requested = parse(config, "config").tables["run"]["device"]
    device, _ = choose(requested)
    built(config)
    return {"versions": versions(), "fingerprint": fingerprint(device)}


def incompatibility(found: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    """Return the difference of a worker from the record of a study, `""` if none."""
    known = {key: record[key] for key in ("versions", "fingerprint")}
    for path, here, there in differences(known, dict(found)):
        return f"{path} = {there}, the study was started with {here}"
    return ""
