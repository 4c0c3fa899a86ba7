"""Symbols of an object file in the Executable and Linkable Format (ELF)."""

import struct
from typing import NamedTuple

# Numbers of the format: the type of a symbol table, the section of undefined symbols,
# and machines.
_SYMBOLS, _UNDEFINED = 2, 0
_MACHINES = {3: "i386", 40: "ARM", 62: "x86-64", 183: "AArch64", 243: "RISC-V"}


class ObjectFacts(NamedTuple):
    """The machine of an object file, and the names of what it needs from others."""

    machine: str
    undefined: tuple[str, ...]


def object_facts(code: bytes) -> ObjectFacts:
    """Read the machine and the undefined symbols of an object file.

    **Raises:** `ValueError` for another format. **Source:** System V Application Binary
    Interface, chapter 4.
    """
    if code[:4] != b"\x7fELF":
        raise ValueError(f"the object file begins with {code[:4]!r}; allowed: ELF")
    wide, order = code[4] == 2, "<" if code[5] == 1 else ">"
    machine = struct.unpack_from(order + "H", code, 18)[0]
    layout = order + ("IBBHQQ" if wide else "IIIBBH")
    section_of = 3 if wide else 5
    undefined = []
    sections = _sections(code, wide, order)
    for kind, start, size, link in sections:
        if kind != _SYMBOLS:
            continue
        names = sections[link][1]
        for at in range(start, start + size, struct.calcsize(layout)):
            entry = struct.unpack_from(layout, code, at)
            if entry[0] and entry[section_of] == _UNDEFINED:
                begin = names + entry[0]
                undefined.append(code[begin : code.index(b"\0", begin)].decode())
    return ObjectFacts(_MACHINES.get(machine, str(machine)), tuple(undefined))


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
