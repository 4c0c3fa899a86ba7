"""Object files of LLVM modules, for machines other than this process."""

from collections.abc import Sequence
from typing import Any

from ..cpu.machine_code import for_all_targets, without_rescheduling
from ..ir.assembler import LoweringError
from ..lower.lowering import Program

# Lines of LLVM IR, as LLVM's time grows with their square: 31,000 take it 4 s and make a
# WebAssembly module of 300 kB, 78,000 take 42 s and make 700 kB.
_LONGEST = 60_000


def too_long(program: Program) -> bool:
    """Return whether LLVM would take minutes for a program."""
    return _lines(program) > _LONGEST


def check_length(program: Program, most: int = _LONGEST) -> None:
    """Raise `LoweringError` for a program of more than some number of instructions."""
    if _lines(program) > most:
        raise LoweringError(f"it has {_lines(program)} instructions; allowed: {most}")


def _lines(program: Program) -> int:
    return program.text.count("\n")


def emitted(texts: Sequence[str], machine: Any) -> bytes:
    """Return the object file of IR texts for one of LLVM's target machines.

    Internal functions of the first text are there even if nothing but LLVM calls them.
    """
    llvm = for_all_targets()
    modules = []
    for text in texts:
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        modules.append(module)
    whole, *others = modules
    for module in others:
        whole.link_in(module)
    whole.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(whole, builder)
    with without_rescheduling():
        return machine.emit_object(whole)
