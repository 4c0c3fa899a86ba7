"""Symbols of an object file in the Executable and Linkable Format (ELF)."""

import struct
from typing import NamedTuple

# Numbers of the format: the type of a symbol table, the section of undefined symbols,
# the binding of local and the visibility of hidden ones, and machines.
_SYMBOLS, _UNDEFINED, _LOCAL, _HIDDEN = 2, 0, 0, 2
_MACHINES = {3: "i386", 40: "ARM", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}


class ObjectSymbols(NamedTuple):
    """The machine of an object file, and its global symbols, without hidden ones."""

    machine: str
    defined: tuple[str, ...]
    undefined: tuple[str, ...]


def object_symbols(code: bytes) -> ObjectSymbols:
    """Read the global symbols of an object file.

    **Raises:** `ValueError` for another format. **Source:** System V Application Binary
    Interface, chapter 4.
    """
    if code[:4] != b"\x7fELF":
        raise ValueError(f"the object file begins with {code[:4]!r}; allowed: ELF")
    wide, order = code[4] == 2, "<" if code[5] == 1 else ">"
    machine = struct.unpack_from(order + "H", code, 18)[0]
    defined, undefined = [], []
    sections = _sections(code, wide, order)
    for kind, start, size, link in sections:
        if kind != _SYMBOLS:
            continue
        names = sections[link][1]
        layout = order + ("IBBHQQ" if wide else "IIIBBH")
        for at in range(start, start + size, struct.calcsize(layout)):
            entry = struct.unpack_from(layout, code, at)
            name, about, other, section = entry[:4] if wide else (entry[0], *entry[3:])
            begin = names + name
            if not name or about >> 4 == _LOCAL:
                continue
            found = code[begin : code.index(b"\0", begin)].decode()
            if section == _UNDEFINED:
                undefined.append(found)
            elif other & 3 != _HIDDEN:
                defined.append(found)
    return ObjectSymbols(
        _MACHINES.get(machine, str(machine)), tuple(defined), tuple(undefined)
    )


def _sections(code: bytes, wide: bool, order: str) -> list[tuple[int, int, int, int]]:
    """Return type, start, size and linked section of each section."""
    if wide:
        start, (each, count) = 40, struct.unpack_from(order + "HH", code, 58)
        (table,) = struct.unpack_from(order + "Q", code, start)
        layout = order + "IIQQQQI"
    else:
        start, (each, count) = 32, struct.unpack_from(order + "HH", code, 46)
        (table,) = struct.unpack_from(order + "I", code, start)
        layout = order + "IIIIIII"
    found = []
    for number in range(count):
        entry = struct.unpack_from(layout, code, table + number * each)
        found.append((entry[1], entry[4], entry[5], entry[6]))
    return found
