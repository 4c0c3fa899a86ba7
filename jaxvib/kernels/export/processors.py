"""Names of processors and of their features in LLVM."""

import functools
import re
import subprocess
import sys

from ...foundation.suggestions import nearest

# LLVM prints the names, and passes over unknown ones with a warning.
_PROGRAM = """
import sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
binding.Target.from_triple(sys.argv[1]).create_target_machine(cpu="help")
"""
_NAME = re.compile(r"^  (\S+) +- ", re.MULTILINE)


def check_processor(triple: str, processor: str, features: str) -> None:
    """Raise `ValueError` for a processor or features that a target does not have.

    Where the names are not known, LLVM passes over those that it does not know.
    """
    processors, known = _names(triple)
    if processor and processors and processor not in processors:
        raise ValueError(_message("processor", processor, triple, processors))
    for each in filter(None, features.split(",")):
        if each[0] not in "+-":
            raise ValueError(f"features = {features!r}; allowed: +NAME,-NAME,...")
        if known and each[1:] not in known:
            raise ValueError(_message("feature", each[1:], triple, known))


def _message(what: str, found: str, triple: str, known: tuple[str, ...]) -> str:
    near = nearest(found, known)
    hint = f"did you mean {near!r}? " if near else ""
    return f"{what} = {found!r}; {hint}allowed for {triple}: {', '.join(known)}"


@functools.cache
def _names(triple: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a target's processors and of features, none if not known."""
    command = [sys.executable, "-c", _PROGRAM, triple]
    # Within another program, `sys.executable` is that one, or nothing.
    if not sys.executable or getattr(sys, "frozen", False):
        return (), ()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.SubprocessError):
        return (), ()
    processors, _, features = done.stderr.partition("Available features")
    return tuple(_NAME.findall(processors)), tuple(_NAME.findall(features))
