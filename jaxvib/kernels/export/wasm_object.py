"""A WebAssembly module from LLVM's object file, without a linker."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..ir.assembler import LoweringError
from .leb128 import Reader, named, padded_signed, padded_unsigned, signed, unsigned

PAGE = 65536  # bytes of a page of WebAssembly's memory
# What every browser accepts of a function: "Limits of implementations" in W3C's
# WebAssembly JavaScript Interface.
_LONGEST_FUNCTION, _MOST_LOCALS = 7_654_321, 50_000
_HEADER = b"\0asm\1\0\0\0"
# Sections of a module, in their order but for the number of segments before the code.
_CUSTOM, _IMPORT, _MEMORY, _GLOBAL, _EXPORT = 0, 2, 5, 6, 7
# The last sections of a module: the code, the data, and the number of segments of data.
_CODE, _DATA, _DATA_COUNT = 10, 11, 12
_FUNCTIONS, _TABLES, _MEMORIES, _GLOBALS = range(4)  # kinds of imports and exports
_SYMBOLS = 8  # the subsection of symbols (WebAssembly/tool-conventions, Linking)
_DATA_SYMBOL, _SECTION_SYMBOL = 1, 3  # kinds of symbols; others have an index
_UNDEFINED, _NAMED = 0x10, 0x40  # flags of symbols: without definition, with a name
# Relocations that hold addresses: unsigned and signed LEB128 of 5 bytes, words of 4.
_ADDRESSES = {3: padded_unsigned, 4: padded_signed, 5: struct.Struct("<I").pack}
_INDICES = (0, 6, 7)  # of functions, types and global variables, which stay as they are
_I32_CONSTANT, _END, _MUTABLE_I32, _WITH_MAXIMUM = b"\x41", b"\x0b", b"\x7f\1", b"\1"


class _Symbol(NamedTuple):
    """A symbol: the index of a function, or an offset in a segment; `None` if undefined."""

    name: str
    index: int
    segment: int | None


class _Segment(NamedTuple):
    """Bytes of initialised memory from an address on."""

    address: int
    content: bytes


class ObjectFile:
    """LLVM's object file for wasm32.

    **Fields:** `data_size`: bytes of initialised memory.

    **Raises:** `LoweringError` if it imports functions, or if a function exceeds what
    browsers accept.
    """

    def __init__(self, code: bytes):
        self._sections: dict[int, bytes] = {}
        self._custom: dict[str, bytes] = {}
        reader = Reader(code[len(_HEADER) :])
        while reader.more():
            number, section = reader.byte(), reader.take(reader.unsigned())
            if number == _CUSTOM:
                inner = Reader(section)
                name = inner.name()
                self._custom[name] = inner.rest()
            else:
                self._sections[number] = section
        _check_imports(self._sections.pop(_IMPORT, b"\0"))
        _check_functions(self._sections[_CODE])
        self._symbols = list(_symbols(self._custom["linking"]))
        self._segments = _segments(self._sections.get(_DATA, b"\0"))
        ends = [segment.address + len(segment.content) for segment in self._segments]
        self.data_size = max(ends, default=0)

    def module(
        self, exported: str, stack: int, addresses: Mapping[str, int], size: int
    ) -> bytes:
        """Return a module without imports that exports a function and its `memory`.

        The memory of `size` bytes, rounded up to pages, begins with the stack, as a stack
        that overflows then leaves the memory and stops the program; initialised data
        follow. `addresses` are those of undefined symbols of data.
        """
        places = [self._address(symbol, stack, addresses) for symbol in self._symbols]
        sections = dict(self._sections)
        sections[_CODE] = self._relocated(_CODE, "reloc.CODE", places)
        if self._segments:
            data = self._relocated(_DATA, "reloc.DATA", places)
            sections[_DATA] = _vector(_encoded_segment(s, stack) for s in _segments(data))
        pages = unsigned(-(-size // PAGE))
        sections[_MEMORY] = _vector([_WITH_MAXIMUM + pages + pages])
        stack_pointer = _MUTABLE_I32 + _I32_CONSTANT + signed(stack) + _END
        sections[_GLOBAL] = _vector([stack_pointer])
        index = next(symbol.index for symbol in self._symbols if symbol.name == exported)
        sections[_EXPORT] = _vector(
            [
                named("memory") + bytes([_MEMORIES]) + unsigned(0),
                named(exported) + bytes([_FUNCTIONS]) + unsigned(index),
            ]
        )
        order = sorted(sections, key=lambda n: _CODE - 0.5 if n == _DATA_COUNT else n)
        return _HEADER + b"".join(
            bytes([n]) + unsigned(len(sections[n])) + sections[n] for n in order
        )

    def _address(
        self, symbol: _Symbol, base: int, addresses: Mapping[str, int]
    ) -> int | None:
        """Return the address of a symbol of data, `None` for others."""
        if symbol.segment is None:
            return addresses.get(symbol.name)
        return base + self._segments[symbol.segment].address + symbol.index

    def _relocated(self, section: int, name: str, places: list[int | None]) -> bytes:
        """Return a section with the addresses of its symbols."""
        content = bytearray(self._sections[section])
        reader = Reader(self._custom.get(name, b"\0\0"))
        reader.unsigned()  # the number of the section
        for _ in range(reader.unsigned()):
            kind, offset, symbol = reader.byte(), reader.unsigned(), reader.unsigned()
            if kind in _INDICES:
                continue
            place, addend = places[symbol], reader.signed()
            if place is None or kind not in _ADDRESSES:
                found = self._symbols[symbol].name
                raise LoweringError(f"LLVM's relocation {kind} of {found} is unknown")
            written = _ADDRESSES[kind](place + addend)
            content[offset : offset + len(written)] = written
        return bytes(content)


def _check_imports(section: bytes) -> None:
    """Raise `LoweringError` for imports other than the memory and the stack pointer.

    Without others the indices of functions and global variables stay as they are.
    """
    reader, functions = Reader(section), []
    for _ in range(reader.unsigned()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if kind == _MEMORIES:
            reader.take(1)  # flags: 0, as it has no maximum
            reader.unsigned()
        elif kind == _GLOBALS and name == "__stack_pointer":
            reader.take(2)
        elif kind == _FUNCTIONS:
            reader.unsigned()
            functions.append(name)
        else:
            raise LoweringError(f"LLVM's import {name} is not supported")
    if functions:
        raise LoweringError(f"LLVM calls {', '.join(sorted(functions))} for WebAssembly")


def _check_functions(section: bytes) -> None:
    """Raise `LoweringError` for a function that browsers do not accept."""
    reader = Reader(section)
    for _ in range(reader.unsigned()):
        body = reader.take(reader.unsigned())
        inner, variables = Reader(body), 0
        for _ in range(inner.unsigned()):
            variables += inner.unsigned()
            inner.byte()  # their type
        for found, most, what in (
            (len(body), _LONGEST_FUNCTION, "bytes"),
            (variables, _MOST_LOCALS, "variables"),
        ):
            if found > most:
                raise LoweringError(
                    f"a function would have {found} {what}; browsers accept {most}"
                )


def _symbols(linking: bytes) -> Iterator[_Symbol]:
    """Yield the symbols in the order of their numbers."""
    reader = Reader(linking)
    reader.unsigned()  # the version
    while reader.more():
        number, part = reader.byte(), Reader(reader.take(reader.unsigned()))
        if number == _SYMBOLS:
            for _ in range(part.unsigned()):
                yield _symbol(part)


def _symbol(reader: Reader) -> _Symbol:
    kind, flags = reader.byte(), reader.unsigned()
    undefined = bool(flags & _UNDEFINED)
    if kind == _SECTION_SYMBOL:
        return _Symbol("", reader.unsigned(), None)
    if kind == _DATA_SYMBOL:
        name = reader.name()
        if undefined:
            return _Symbol(name, 0, None)
        segment, offset, _ = (reader.unsigned() for _ in range(3))
        return _Symbol(name, offset, segment)
    index = reader.unsigned()
    named_here = not undefined or flags & _NAMED
    return _Symbol(reader.name() if named_here else "", index, None)


def _segments(data: bytes) -> list[_Segment]:
    """Return the segments of a section of data."""
    reader, found = Reader(data), []
    for _ in range(reader.unsigned()):
        reader.unsigned()  # flags: 0, as they all have an address
        reader.byte()  # i32.const
        address = reader.signed()
        reader.byte()  # the end of the expression
        found.append(_Segment(address, reader.take(reader.unsigned())))
    return found


def _encoded_segment(segment: _Segment, base: int) -> bytes:
    address = _I32_CONSTANT + signed(base + segment.address) + _END
    return unsigned(0) + address + unsigned(len(segment.content)) + segment.content


def _vector(entries: Iterable[bytes]) -> bytes:
    entries = list(entries)
    return unsigned(len(entries)) + b"".join(entries)
