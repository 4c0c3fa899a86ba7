"""A WebAssembly module from LLVM's object file, without a linker."""

from collections.abc import Iterable

from ..ir.assembler import LoweringError
from .leb128 import (
    WORD_BYTES,
    Reader,
    named,
    padded_signed,
    padded_unsigned,
    signed,
    unsigned,
)

PAGE = 65536  # bytes of a page of WebAssembly's memory
# What every browser accepts of a function: "Limits of implementations" in W3C's
# WebAssembly JavaScript Interface.
_LONGEST_FUNCTION, _MOST_LOCALS = 7_654_321, 50_000
_HEADER = b"\0asm\1\0\0\0"
# Sections of a module, in their order but for the number of segments before the code.
_CUSTOM, _IMPORT, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT = 0, 2, 3, 5, 6, 7
# The last sections of a module: the code, the data, and the number of segments of data.
_CODE, _DATA, _DATA_COUNT = 10, 11, 12
_FUNCTIONS, _TABLES, _MEMORIES, _GLOBALS = range(4)  # kinds of imports and exports
# Relocations that hold addresses, of 5 bytes in LEB128, unsigned and signed.
_ADDRESSES = {3: (Reader.unsigned, padded_unsigned), 4: (Reader.signed, padded_signed)}
_INDICES = (0, 6, 7)  # of functions, types and global variables, which stay as they are
_I32_CONSTANT, _END, _MUTABLE_I32, _WITH_MAXIMUM = b"\x41", b"\x0b", b"\x7f\1", b"\1"


def module_of(code: bytes, exported: str, stack: int, data: int) -> bytes:
    """Return a module without imports that exports its last function and its `memory`.

    `code`: LLVM's object file for wasm32. The memory begins with the `stack`, of so many
    bytes, as a stack that overflows then leaves the memory and stops the program. The
    initialised data are from the address `data` on, and end the memory.

    **Raises:** `LoweringError` if the file imports functions, or if a function exceeds
    what browsers accept.
    """
    sections, custom = _sections(code)
    _check_imports(sections.pop(_IMPORT, b"\0"))
    _check_functions(sections[_CODE])
    if "reloc.DATA" in custom:
        raise LoweringError("LLVM's data hold addresses")
    moved = _moved(sections[_CODE], custom.get("reloc.CODE", b"\0\0"), data)
    sections[_CODE], end = moved, data
    if _DATA in sections:
        segments = _segments(sections[_DATA])
        end += max(address + len(content) for address, content in segments)
        sections[_DATA] = _vector(
            b"\0" + _constant(data + address) + unsigned(len(content)) + content
            for address, content in segments
        )
    pages = unsigned(-(-end // PAGE))
    sections[_MEMORY] = _vector([_WITH_MAXIMUM + pages + pages])
    sections[_GLOBAL] = _vector([_MUTABLE_I32 + _constant(stack)])  # the stack pointer
    last = Reader(sections[_FUNCTION]).unsigned() - 1
    sections[_EXPORT] = _vector(
        [
            named("memory") + bytes([_MEMORIES]) + unsigned(0),
            named(exported) + bytes([_FUNCTIONS]) + unsigned(last),
        ]
    )
    order = sorted(sections, key=lambda n: _CODE - 0.5 if n == _DATA_COUNT else n)
    return _HEADER + b"".join(
        bytes([n]) + unsigned(len(sections[n])) + sections[n] for n in order
    )


def _sections(code: bytes) -> tuple[dict[int, bytes], dict[str, bytes]]:
    """Return the sections of an object file by number, and the custom ones by name."""
    sections, custom = {}, {}
    reader = Reader(code[len(_HEADER) :])
    while reader.more():
        number, section = reader.byte(), reader.take(reader.unsigned())
        if number == _CUSTOM:
            inner = Reader(section)
            name = inner.name()
            custom[name] = inner.rest()
        else:
            sections[number] = section
    return sections, custom


def _moved(code: bytes, relocations: bytes, data: int) -> bytes:
    """Return the code for data from an address on, instead of from 0 on."""
    content, reader = bytearray(code), Reader(relocations)
    reader.unsigned()  # the number of the section
    for _ in range(reader.unsigned()):
        kind, offset, symbol = reader.byte(), reader.unsigned(), reader.unsigned()
        if kind in _INDICES:
            continue
        if kind not in _ADDRESSES:
            raise LoweringError(f"LLVM's relocation {kind} of symbol {symbol} is unknown")
        reader.signed()  # in the address already
        read, written = _ADDRESSES[kind]
        place = slice(offset, offset + WORD_BYTES)
        content[place] = written(read(Reader(bytes(content[place]))) + data)
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


def _segments(data: bytes) -> list[tuple[int, bytes]]:
    """Return the address and the bytes of each segment of a section of data."""
    reader, found = Reader(data), []
    for _ in range(reader.unsigned()):
        reader.unsigned()  # flags: 0, as they all have an address
        reader.byte()  # i32.const
        address = reader.signed()
        reader.byte()  # the end of the expression
        found.append((address, reader.take(reader.unsigned())))
    return found


def _constant(address: int) -> bytes:
    return _I32_CONSTANT + signed(address) + _END


def _vector(entries: Iterable[bytes]) -> bytes:
    entries = list(entries)
    return unsigned(len(entries)) + b"".join(entries)
