"""Lowered programs that come with the package, in the form of cache entries.

A wheel contains one file of the entries that `python -m experiments.newcomer.programs`
found in the cache after it had run the built-in systems and studies; a checkout of the
sources has none. As their names are the cache's keys, an entry is used under the same
conditions: the same code, versions, structure and shapes.

The file is a line of JSON, which locates every entry, and blocks compressed by LZMA, each
with a program for all vector widths: these differ in little but the width.
"""

import collections
import functools
import json
import lzma
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("shipped_programs.bin")
_MARK, _END = "$", b"\0"  # of the width in a type; of an entry in a block
_LEVEL = 9  # of LZMA: reading is no slower


class _Index(NamedTuple):
    """The place of each entry, (block, number in it), and of each block in the file."""

    entries: dict[str, tuple[int, int]]
    blocks: list[tuple[int, int]]


def shipped_entry(name: str) -> bytes | None:
    """Return the cache entry of a name that comes with the package, if any."""
    place = _index().entries.get(name)
    if place is None:
        return None
    block, number = place
    begin, size = _index().blocks[block]
    with FILE.open("rb") as file:
        file.seek(begin)
        content = lzma.decompress(file.read(size))
    header, _, text = content.split(_END)[number].partition(b"\n")
    width = json.loads(header).get("width") if text else None
    if width is None:
        return header + b"\n"
    return header + b"\n" + zlib.compress(_template_text(text.decode(), width).encode(), 1)


def file_of(entries: Mapping[str, bytes]) -> bytes:
    """Return the content of a file of entries.

    **Raises:** `ValueError` for a program that uses the mark of a width.
    """
    blocks = collections.defaultdict(dict)
    for name, entry in entries.items():
        header, _, packed = entry.partition(b"\n")
        about: Any = json.loads(header)
        text, alike = "", name
        if packed:
            text = _width_template(zlib.decompress(packed).decode(), about["width"])
            alike = json.dumps([about["results"], about["inputs"]])
        blocks[alike][name] = header + b"\n" + text.encode()
    index, compressed, begin = _Index({}, []), [], 0
    for block, (_, parts) in enumerate(sorted(blocks.items())):
        compressed.append(lzma.compress(_END.join(parts.values()), preset=_LEVEL))
        index.blocks.append((begin, len(compressed[-1])))
        begin += len(compressed[-1])
        for number, name in enumerate(parts):
            index.entries[name] = block, number
    return json.dumps(index).encode() + b"\n" + b"".join(compressed)


@functools.cache
def _index() -> _Index:
    if not FILE.exists():
        return _Index({}, [])
    with FILE.open("rb") as file:
        entries, blocks = json.loads(file.readline())
        start = file.tell()
    return _Index(entries, [(start + begin, size) for begin, size in blocks])


def _width_template(text: str, width: int) -> str:
    if _MARK in text:
        raise ValueError(f"the program contains {_MARK}")
    text = text.replace(f"<{width} x ", f"<{_MARK} x ")
    return text.replace(f".v{width}", f".v{_MARK}")


def _template_text(text: str, width: int) -> str:
    return text.replace(_MARK, str(width))
