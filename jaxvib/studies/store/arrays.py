"""Arrays as zarr v3 has them, the part of it that jaxvib writes and will read.

Numbers of fixed width on a regular grid of chunks, each chunk their little-endian bytes
through zstd with its checksum. Metadata that say anything else are not read. Source:
zarr specification v3 (zarr-specs.readthedocs.io).
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .folder import json_table

METADATA = "zarr.json"
_LEVEL = 3  # of zstd: its own default, between size and time
_MOST_AXES = 16  # of an array: results have a few, hostile metadata may have any number
_MOST_METADATA = 1 << 20  # bytes of an array's, some 1000 of which are used
_TYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in (
        "bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16",
    )
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Layout:
    """What an array's metadata say: all but its numbers.

    **Raises:** `ValueError` for a type of elements that is not among those stored.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    axes: tuple[str, ...]
    attributes: Mapping[str, str | list[int]]

    def __post_init__(self):
        if _TYPES.get(self.dtype.name) != self.dtype:
            raise ValueError(f"{self.dtype} is not stored; allowed: {', '.join(_TYPES)}")

    @property
    def whole_bytes(self) -> int:
        """The size of the whole array in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def chunk_bytes(self) -> int:
        """The size of a chunk in memory."""
        return math.prod(self.chunks) * self.dtype.itemsize

    def holds(self, other: "Layout") -> bool:
        """Return whether chunks of another layout fit in, whatever is noted about it."""
        return dataclasses.replace(other, attributes=self.attributes) == self

    def document(self) -> dict[str, Any]:
        """Return the metadata as zarr v3 has them."""
        one = np.zeros((), self.dtype).item()
        endian = {"configuration": {"endian": "little"}} if self.dtype.itemsize > 1 else {}
        named = {"dimension_names": list(self.axes)} if self.axes else {}
        return {
            "shape": list(self.shape),
            "data_type": self.dtype.name,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": list(self.chunks)},
            },
            "chunk_key_encoding": {
                "name": "default",
                "configuration": {"separator": "/"},
            },
            "fill_value": [0.0, 0.0] if isinstance(one, complex) else one,
            "codecs": [
                {"name": "bytes", **endian},
                {"name": "zstd", "configuration": {"level": _LEVEL, "checksum": True}},
            ],
            "attributes": dict(self.attributes),
            **named,
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }

    def metadata(self) -> bytes:
        """Return the content of the array's `zarr.json`."""
        return _text(self.document())

    def packed(self, values: np.ndarray) -> bytes:
        """Return a chunk's file, filled with zeros where it has fewer rows than others."""
        from numcodecs import zstd

        whole = np.zeros(self.chunks, self.dtype.newbyteorder("<"))
        whole[tuple(slice(size) for size in values.shape)] = values
        return bytes(zstd.compress(whole.tobytes(), _LEVEL, True))

    def unpacked(self, content: bytes, what: object) -> np.ndarray:
        """Return a chunk from its file. **Raises:** `OSError` if that is damaged.

        It is unpacked into as many bytes as it must have, whatever it says itself.
        """
        from numcodecs import zstd

        found = np.empty(self.chunk_bytes, np.uint8)
        try:
            if _frame_bytes(content) != found.size:
                raise ValueError("another number of bytes")
            zstd.decompress(content, found)
        except (ValueError, RuntimeError):
            raise OSError(f"{what} is damaged") from None
        stored = found.view(self.dtype.newbyteorder("<")).reshape(self.chunks)
        return stored.astype(self.dtype, copy=False)


def read_layout(content: bytes, what: Path | str) -> Layout:
    """Return what an array's `zarr.json` says.

    **Raises:** `OSError` for another version of zarr, other codecs or types of elements,
    and whatever else jaxvib does not write.
    """
    table = json_table(content[:_MOST_METADATA], what)
    try:
        shape, attributes = table["shape"], table["attributes"]
        chunks = table["chunk_grid"]["configuration"]["chunk_shape"]
        axes = table.get("dimension_names", [])
        lists = [value for value in attributes.values() if type(value) is list]
        said = [value for value in attributes.values() if type(value) is not list]
        words = [*attributes, *said, *axes, table["data_type"]]
        numbers = [*shape, *chunks]
        dtype = _TYPES[table["data_type"]]
        well_formed = (
            all(type(word) is str for word in words)
            and all(type(number) is int and number >= 0 for number in numbers)
            and all(type(number) is int for value in lists for number in value)
            and len(shape) == len(chunks) == len(axes) <= _MOST_AXES
            and all(chunks)
        )
        if not well_formed:
            raise ValueError("of another form")
        layout = Layout(tuple(shape), tuple(chunks), dtype, tuple(axes), attributes)
        if layout.document() != table:
            raise ValueError("of another form")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise OSError(f"{what} describes no array of jaxvib") from None
    return layout


def group_metadata(
    attributes: Mapping[str, str], members: Mapping[str, Mapping[str, Any]]
) -> bytes:
    """Return a group's `zarr.json` with the metadata of all arrays and groups inside."""
    return _text(group_document(attributes, members))


def group_document(
    attributes: Mapping[str, str], members: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a group's metadata as zarr v3 has them, those inside by their names."""
    inside = {name: dict(members[name]) for name in sorted(members)}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": inside}
    return {
        "attributes": dict(attributes),
        "zarr_format": 3,
        "consolidated_metadata": consolidated,
        "node_type": "group",
    }


def _text(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=2).encode()


def _frame_bytes(content: bytes) -> int:
    """Return the size that a zstd frame says it has unpacked, -1 if it says none.

    Source: RFC 8878, section 3.1.1.1.
    """
    if len(content) < 6 or content[:4] != b"\x28\xb5\x2f\xfd":
        return -1
    descriptor = content[4]
    single, flag = descriptor >> 5 & 1, descriptor >> 6
    width = (1 if single else 0, 2, 4, 8)[flag]
    start = 5 + (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3]
    field = content[start : start + width]
    if not width or len(field) < width or not descriptor >> 2 & 1:
        return -1  # without a size, or without a checksum of its own
    return int.from_bytes(field, "little") + (256 if width == 2 else 0)
