"""From pictures and runs to the bytes that the page carries, and back out of it.

The bytes are zlib: a JSON text, its length before it (4 bytes, little-endian), then all
arrays, each at a multiple of 8 bytes. In the JSON an array is
`{"$": [type, offset, shape]}`.
"""

import dataclasses
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import colours
from .motion import coarse, representative, stored_motions
from .picture import Picture
from .reading import Run
from .regimes import sort_by_regime

_INTEGERS = (np.uint8, np.int8, np.int16, np.int32)


def pack(content: Any) -> bytes:
    """Return dictionaries, sequences, dataclasses, words and arrays as bytes."""
    arrays = _Arrays()
    text = json.dumps(_plain(content, arrays), allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    return zlib.compress(struct.pack("<I", len(text)) + text + bytes(arrays.content), 9)


class _Arrays:
    """Arrays laid one after the other, equal ones once."""

    def __init__(self):
        self.content = bytearray()
        self._places: dict[tuple, int] = {}

    def add(self, array: np.ndarray) -> dict:
        raw = array.tobytes()
        place = self._places.setdefault((array.dtype.str, raw), len(self.content))
        if place == len(self.content):
            self.content += raw + b"\0" * (-len(raw) % 8)
        return {"$": [array.dtype.str[1:], place, list(array.shape)]}


def page_content(pictures: Sequence[Picture], runs: Sequence[Run]) -> dict:
    """Return all that the page draws from."""
    sorting = sort_by_regime(runs) if runs[0].has("periods") else None
    samples = [
        _samples(run, sorting.classes, sorting.members[i])
        if sorting
        else {"name": run.name}
        for i, run in enumerate(runs)
    ]
    return {
        "pictures": list(pictures),
        "runs": samples,
        "lines": colours.LINES,
        "scales": colours.SCALES,
    }


def _samples(run: Run, classes, members: np.ndarray) -> dict:
    return {
        "name": run.name,
        "pair": run.study["system"] == "two_body_impact",
        "paths": [
            {"path": path, "unit": run.unit(path), "values": run.field(path)}
            for path in run.paths
        ],
        "classes": classes,
        "members": members,
        "periodic": run.field("result") == 0,
        "stable": run.field("stable"),
        "periods": run.field("periods"),
        "contacts": run.field("contacts"),
        "largest_multiplier": coarse(run.field("largest_multiplier")),
        "max_contact_force": coarse(run.field("max_contact_force")),
        "amplitude": coarse(run.field("amplitude")),
        "motions": _motions(run),
    }


def _motions(run: Run) -> dict | None:
    stored = stored_motions(run)
    if stored is None:
        return None
    # Times stay as they are: a contact lasts a thousandth of the last one.
    drawn = {name: coarse(stored[name]) for name in ("states", "force")}
    return {**stored, **drawn, "first": representative(run, stored["samples"])}


def _plain(value: Any, arrays: _Arrays) -> Any:
    if isinstance(value, np.ndarray):
        return arrays.add(_small(value))
    if dataclasses.is_dataclass(value):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return _plain({"is": type(value).__name__, **fields}, arrays)
    if isinstance(value, dict):
        return {key: _plain(each, arrays) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _small(values: np.ndarray) -> np.ndarray:
    """Return the numbers in the smallest type that a drawing needs."""
    if values.dtype == bool:
        return values.astype(np.uint8)
    if np.issubdtype(values.dtype, np.floating):
        return values.astype("<f4")
    kinds = [kind for kind in _INTEGERS if np.array_equal(values.astype(kind), values)]
    return values.astype(kinds[0])
