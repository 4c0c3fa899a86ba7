"""`export_c`: the motions of a system as an object file for C."""

import re
from pathlib import Path

from ..foundation.new_files import refuse_taken, write_new
from ..kernels.export.object_code import object_code, target_of
from ..systems.system import System
from .c_text import CProgram
from .motion_functions import MotionFunctions

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_OPTIONAL = ("sensitivity", "response")


def export_c(
    system: System,
    directory: Path | str,
    *,
    name: str = "system",
    target: str = "host",
    processor: str = "",
    features: str = "",
) -> Path:
    r"""Write the motions of a system as an object file, and return its folder.

    The folder gets `NAME.o` and `NAME.h`, an example in C and a `README.txt` that says how
    to compile it. The functions are those of `flow`, for all values of the parameters:

    - `NAME_motion`: state and contact forces after a motion from $t_0$ to $t_1$
    - `NAME_sensitivity`: its derivative along a change of state, times and parameters
    - `NAME_response`, `NAME_period`: a period of the load, with the monodromy matrix
      and the largest contact forces
    - `NAME_derivatives`: $\dot y$, contact forces and gaps in a state
    - `NAME_rest`; for hard stops `NAME_impact`

    They need no library and allocate nothing. `motion`, `sensitivity` and `response`
    return a code of `Reason`; the others check nothing. `derivatives` leaves out the force
    that holds a body at a hard stop, and holding friction unless the sliding velocity is
    exactly 0.

    With fused multiply-adds, results are bit-identical to those in Python: tested on x86-64
    and, emulated, on AArch64, RISC-V, Cortex-M7 and Cortex-M55.

    `name`: a prefix of all names; `target`: "host", "x86-64" (processors since 2013),
    "aarch64", "cortex-a53", "cortex-m7", "cortex-m55", "riscv64" or a target triple of
    LLVM with ELF object files; `processor` and `features` in LLVM's notation.

    Motions are computed in float64. A processor without it, such as a Cortex-M4, is
    refused: event times and contact forces of stiff contacts need more than the seven
    digits of float32.

    **Raises:** `ValueError` for a name that is no identifier of C, an unknown target,
    processor or feature, a processor that cannot compute doubles, a system whose motions
    cannot be compiled, or files that exist; nothing is written then. A `sensitivity` or
    `response` that would be too long, or needs what the processor lacks, is left out,
    which `README.txt` states.

    >>> import pathlib, tempfile
    >>> folder = jv.programs.export_c(system, pathlib.Path(tempfile.mkdtemp()) / "damper")
    >>> sorted(file.name for file in folder.iterdir())
    ['README.txt', 'example.c', 'system.h', 'system.o']
    """
    check_name(name)
    directory = Path(directory)
    names = f"{name}.o", f"{name}.h", "example.c", "README.txt"
    refuse_taken(directory / each for each in names)
    machine = target_of(target, processor, features)
    functions = MotionFunctions(system)
    named = {f"{name}_{verb}": each for verb, each in functions.all().items()}
    compiled = object_code(named, machine, [f"{name}_{verb}" for verb in _OPTIONAL])
    program = CProgram(name, system, functions, compiled, machine)
    texts = program.header(), program.example(), program.instructions()
    contents = [compiled.code, *(text.encode() for text in texts)]
    write_new({directory / k: each for k, each in zip(names, contents, strict=True)})
    return directory


def check_name(name: str) -> None:
    """Raise `ValueError` for a name that is not an identifier of C."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name = {name!r}; allowed: a letter, then letters, digits and underscores"
        )
