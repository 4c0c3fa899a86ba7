"""Arrays in zarr v3: the subset that jaxvib writes and reads.

Fixed-width numbers on a regular grid of chunks; each chunk is little-endian bytes
compressed by zstd with its checksum. Any other metadata are rejected. Source: zarr
specification v3 (zarr-specs.readthedocs.io).
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
_LEVEL = 3  # zstd's default compromise of size and time
_MOST_AXES = 16  # of an array: results have a few, hostile metadata may have any number
_MOST_METADATA = 1 << 20  # bytes per array; about 1000 are used
_TYPES = {
    np.dtype(name).name: np.dtype(name)
    for name in (
        "bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16",
    )
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Layout:
    """The metadata of an array.

    **Raises:** `ValueError` for an unsupported type of elements.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype
    axes: tuple[str, ...]
    attributes: Mapping[str, str | list[int]]

    def __post_init__(self) -> None:
        if _TYPES.get(self.dtype.name) != self.dtype:
            raise ValueError(f"{self.dtype} cannot be stored; allowed: {', '.join(_TYPES)}")

    @property
    def chunk_bytes(self) -> int:
        """The size of a chunk in memory."""
        return math.prod(self.chunks) * self.dtype.itemsize

    def holds(self, other: "Layout") -> bool:
        """Return whether chunks of another layout fit, ignoring attributes."""
        return dataclasses.replace(other, attributes=self.attributes) == self

    def document(self) -> dict[str, Any]:
        """Return the metadata as a zarr v3 document."""
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
        """Encode a chunk, padded with zeros if it has fewer rows than others."""
        from numcodecs import zstd

        padded = np.zeros(self.chunks, self.dtype.newbyteorder("<"))
        padded[tuple(slice(size) for size in values.shape)] = values
        return bytes(zstd.compress(padded.tobytes(), _LEVEL, True))

    def unpacked(self, content: bytes, what: object) -> np.ndarray:
        """Decode a chunk. **Raises:** `OSError` if it is damaged.

        The output size is fixed by the layout, not by the file.
        """
        from numcodecs import zstd

        found = np.empty(self.chunk_bytes, np.uint8)
        try:
            if _frame_bytes(content) != found.size:
                raise ValueError("wrong number of bytes")
            zstd.decompress(content, found)
        except (ValueError, RuntimeError):
            raise OSError(f"{what} is damaged") from None
        stored = found.view(self.dtype.newbyteorder("<")).reshape(self.chunks)
        return stored.astype(self.dtype, copy=False)


def read_layout(content: bytes, what: Path | str) -> Layout:
    """Parse an array's `zarr.json`.

    **Raises:** `OSError` for another zarr version, other codecs or element types, or
    anything else that jaxvib does not write.
    """
    table = json_table(content[:_MOST_METADATA], what)
    try:
        shape, attributes = table["shape"], table["attributes"]
        chunks = table["chunk_grid"]["configuration"]["chunk_shape"]
        axes = table.get("dimension_names", [])
        lists = [value for value in attributes.values() if type(value) is list]
        scalars = [value for value in attributes.values() if type(value) is not list]
        words = [*attributes, *scalars, *axes, table["data_type"]]
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
            raise ValueError("unsupported form")
        layout = Layout(tuple(shape), tuple(chunks), dtype, tuple(axes), attributes)
        if layout.document() != table:
            raise ValueError("unsupported form")
    except (KeyError, TypeError, ValueError, AttributeError):
        raise OSError(f"{what} does not describe an array of jaxvib") from None
    return layout


def group_metadata(
    attributes: Mapping[str, str], members: Mapping[str, Mapping[str, Any]]
) -> bytes:
    """Return a group's `zarr.json` with consolidated metadata of its content."""
    return _text(group_document(attributes, members))


def group_document(
    attributes: Mapping[str, str], members: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a group's metadata as a zarr v3 document, its content by name."""
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
    """Return the decompressed size declared by a zstd frame, -1 if there is none.

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
        return -1  # no size or no checksum
    return int.from_bytes(field, "little") + (256 if width == 2 else 0)
