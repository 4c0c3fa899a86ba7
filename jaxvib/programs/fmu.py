"""`export_fmu`: a system as an FMU of FMI 3.0."""

import dataclasses
import hashlib
import io
import math
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from pathlib import Path

from .. import __version__
from ..ensemble import reason
from ..foundation.new_files import refuse_taken, write_new
from ..kernels.export.object_code import HOST, CFunction, object_code, target_of
from ..systems.base.system import System
from .c_program import check_name
from .model_description import Description, Variables, with_external_forces
from .motion_functions import RETURN_CODES, RTOL, MotionFunctions

_SOURCE = Path(__file__).with_name("fmi3.c")
# The date of all files in the archive: its bytes depend on its content only.
_DATE = (1980, 1, 1, 0, 0, 0)


def export_fmu(
    system: System, file: Path | str, *, name: str = "system", title: str = ""
) -> Path:
    r"""Write a system as an FMU of FMI 3.0 for this platform, and return its path.

    The FMU is for co-simulation, in which it integrates by the event-driven kernel of
    `flow`, and for model exchange, in which the importer integrates
    $\dot y = f(t, y)$ and finds the events. It contains:

    - parameters: all of the system's with units, ranges and values, tunable
    - states, which are outputs and begin at rest, and their derivatives, without the
      forces that hold a body at a hard stop
    - outputs: contact forces (N) and gaps (m); the gaps are event indicators
    - inputs: an external force on each degree of freedom of an `ImpactSystem` or of
      two bodies; in co-simulation it is constant over a step

    Model exchange applies impacts at hard stops when their gaps close. A contact that
    comes to rest at its stop ends the simulation with an error: use co-simulation.
    Systems with friction are for co-simulation only. Directional and adjoint derivatives
    are exact. Values out of their range are refused.

    A C compiler, `$CC` with its options, `cc`, `gcc` or `clang`, links the FMU's library;
    its sources are in `sources/`. **Raises:** `ValueError` without a compiler, for a
    platform other than Linux, a file that exists or has another ending than `.fmu`, a name
    that is no identifier of C, or a system whose motions cannot be compiled; nothing is
    written then. `RuntimeError` with the compiler's message if it fails. **Source:** FMI
    3.0.1, Modelica Association (2023).
    """
    check_name(name)
    file = Path(file)
    if file.suffix != ".fmu":
        raise ValueError(f"{file} ends in {file.suffix or 'nothing'}; allowed: .fmu")
    refuse_taken([file])
    compiler, place = _compiler(), _platform()
    pushed = with_external_forces(system)
    functions = MotionFunctions(pushed.system)
    exchange = not functions.slides
    compiled = object_code(_functions(functions, exchange), target_of(HOST))
    variables = Variables(pushed, functions)
    period = float(pushed.system.period()) if functions.periodic else float("nan")
    description = Description(
        name, title or name, "", variables, exchange, any(functions.hard), period,
        __version__,
    )  # fmt: skip
    # It says which description belongs to the library.
    content = description.xml() + _SOURCE.read_bytes() + compiled.code
    token = hashlib.sha256(content).hexdigest()
    header = _header(functions, variables, token, exchange, compiled)
    sources = {
        "sources/model.h": header.encode(),
        "sources/fmi3.c": _SOURCE.read_bytes(),
        "sources/model.o": compiled.code,
    }
    files = {
        "modelDescription.xml": description._replace(token=token).xml(),
        **sources,
        f"binaries/{place}/{name}.so": _library(compiler, sources),
    }
    write_new({file: _archive(files)})
    return file


def _functions(functions: MotionFunctions, exchange: bool) -> dict[str, CFunction]:
    """Return the functions that the C source calls, by name."""
    found = {"motion": functions.motion(), "derivatives": functions.derivatives()}
    if exchange:
        found["tangents"] = functions.tangents()
    if any(functions.hard):
        found |= {"impact": functions.impact(), "approach": functions.approach()}
    if functions.breaks:
        found["next_break"] = functions.next_break()
    return {f"model_{name}": each for name, each in found.items()}


def _header(functions, variables: Variables, token: str, exchange: bool, compiled) -> str:
    """Return `model.h`: sizes, start values, reasons and functions of the system."""
    numbers = functions.parameters.numbers
    starts = [variables.all[reference].start for reference in variables.outputs]
    reasons = [f'{{{int(code)}, "{reason(code)}"}}' for code in RETURN_CODES]
    macros, declared = [], []
    for name, declaration in compiled.declarations.items():
        memory = ", workspace" if "workspace" in declaration else ""
        verb = name.removeprefix("model_").upper()
        macros.append(f"#define {verb}(...) {name}(__VA_ARGS__{memory})")
        declared += textwrap.wrap(declaration, 88, subsequent_indent="    ")
    sizes = {
        "PARAMETERS": len(numbers),
        "STATES": variables.states,
        "CONTACTS": len(variables.contacts),
        "FIRST_STATE": variables.first_state,
        "HARD_STOPS": int(any(functions.hard)),
        "BREAKS": int(functions.breaks),
        "HAS_MODEL_EXCHANGE": int(exchange),
        "DEFAULT_RTOL": repr(RTOL),
        "TOKEN": f'"{token}"',
    }
    workspace = (
        f"static _Thread_local _Alignas(64) char workspace[{compiled.workspace}];\n"
        if compiled.workspace
        else ""
    )
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    return "\n".join(
        [
            "/* A system of jaxvib: numbers of its parameters and states. */",
            *lines,
            _table(
                "double", "defaults", [repr(number.value) for number in numbers] or ["0.0"]
            ),
            _table("double", "start_state", [repr(start) for start in starts]),
            _table("int", "places", [str(place) for place in variables.places] or ["0"]),
            _table("Range", "ranges", _ranges(variables)),
            _table("bool", "hard", [str(int(each)) for each in functions.hard] or ["0"]),
            "static const struct { int code; const char *text; } reasons[] = {",
            ",\n".join(reasons),
            "};",
            *declared,
            *macros,
            workspace,
        ]
    )


def _ranges(variables: Variables) -> list[str]:
    """Return the ranges of parameters and inputs in C, in the order of their references."""
    found = []
    for each in variables.all[1 : variables.first_state]:
        numbers = ", ".join(_number(bound) for bound in dataclasses.astuple(each.allowed))
        found.append(f"{{{_string(each.name)}, {numbers}, {_string(str(each.allowed))}}}")
    return found or ["{0}"]


def _number(bound: float) -> str:
    """Return a number in C.

    >>> _number(-math.inf), _number(0.1)
    ('-INFINITY', '0.1')
    """
    return repr(float(bound)) if math.isfinite(bound) else f"{'-' * (bound < 0)}INFINITY"


def _string(text: str) -> str:
    r"""Return a string in C, whose other characters than letters are octal numbers.

    >>> print(_string('a"'))
    "a\042"
    """
    plain = "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'


def _table(kind: str, name: str, values: list[str]) -> str:
    unused = "__attribute__((unused)) "
    entries = textwrap.fill(
        ", ".join(values), 88, break_long_words=False, break_on_hyphens=False
    )
    return f"{unused}static const {kind} {name}[] = {{\n{entries}\n}};"


def _compiler() -> list[str]:
    """Return the words that call a C compiler: its path, and options in `CC`."""
    chosen = os.environ.get("CC", "")
    try:
        given = shlex.split(chosen)
    except ValueError as error:
        raise ValueError(f"CC = {chosen!r}: {error}") from None
    commands = [given] if given else [["cc"], ["gcc"], ["clang"]]
    for name, *options in commands:
        found = shutil.which(name)
        if found:
            return [found, *options]
    raise ValueError(
        f"no C compiler is found ({', '.join(command[0] for command in commands)}), "
        "which links an FMU's library; allowed: a compiler on the path, or in the "
        "environment variable CC, with options"
    )


def _platform() -> str:
    """Return FMI's name of this platform."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(
        platform.machine(), platform.machine()
    )
    if not sys.platform.startswith("linux"):
        raise ValueError(f"sys.platform = {sys.platform!r}; FMUs are for linux")
    return f"{machine}-linux"


def _library(compiler: list[str], sources: dict[str, bytes]) -> bytes:
    """Return the shared library of an FMU."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in sources.items():
            (Path(folder) / Path(name).name).write_bytes(content)
        # Without contraction of products and sums, as in the kernels.
        words = [
            *compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-ffp-contract=off",
            "-o", "model.so", "fmi3.c", "model.o", "-lm",
        ]  # fmt: skip
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        return (Path(folder) / "model.so").read_bytes()


def _archive(content: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in content.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), each, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
