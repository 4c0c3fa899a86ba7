"""Programs and object files for machines other than this process."""

import hashlib
import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr

from ...foundation.arrays import is_concrete
from ...foundation.cache import read_entry, write_entry
from ..cpu.machine_code import for_all_targets, without_rescheduling
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import SHORT, needs_memory
from ..lower.lowering import Program, lower_lanes, trace

# Lines of LLVM IR, as LLVM's time grows with their square: 31,000 take it 4 s and make a
# WebAssembly module of 300 kB, 78,000 take 42 s and make 700 kB.
_LONGEST = 60_000


def traced_for(function: Callable, arguments: tuple) -> tuple[Any, ClosedJaxpr, Any]:
    """Return the arrays among the arguments, the jaxpr, and the results' shapes."""
    numbers, others = eqx.partition(arguments, eqx.is_array_like)
    shapes = jax.tree.map(_shape, numbers)
    leaves, tree = jax.tree.flatten(shapes)

    def flat(*leaves):
        return function(*eqx.combine(jax.tree.unflatten(tree, leaves), others))

    if not leaves:
        raise LoweringError("it takes no arrays")
    closed, results = trace(flat, leaves)
    if not closed.jaxpr.outvars:
        raise LoweringError("it returns no arrays")
    if not is_concrete(closed.consts):
        raise LoweringError("it captures traced values")
    return shapes, closed, results


def lowered(closed: ClosedJaxpr, width: int) -> Program:
    """Lower to vectors of lanes, or with long arrays in memory to vectors along these."""
    return lower_lanes(closed, width, SHORT if needs_memory(closed) else None)


def _shape(number: Any) -> jax.ShapeDtypeStruct:
    dtype = jax.dtypes.canonicalize_dtype(jnp.result_type(number))
    return jax.ShapeDtypeStruct(np.shape(number), dtype)


def too_long(program: Program) -> bool:
    """Return whether LLVM would take minutes for a program."""
    return _lines(program) > _LONGEST


def check_length(program: Program, most: int = _LONGEST) -> None:
    """Raise `LoweringError` for a program of more than some number of instructions."""
    if _lines(program) > most:
        raise LoweringError(f"it has {_lines(program)} instructions; allowed: {most}")


def _lines(program: Program) -> int:
    return program.text.count("\n")


def emitted(texts: Sequence[str], triple: str, **options: Any) -> bytes:
    """Return the object file of IR texts for a target, from the cache or compiled.

    `options`: of `create_target_machine`. Internal functions of the first text are there
    even if nothing but LLVM calls them.
    """
    versions = [f"llvmlite {importlib.metadata.version('llvmlite')}", triple, f"{options}"]
    key = hashlib.sha256("\n".join([*texts, *versions]).encode()).hexdigest()
    entry = f"kernels/{key}.export.o"
    stored = read_entry(entry)
    if stored is not None:
        return stored
    llvm = for_all_targets()
    machine = llvm.Target.from_triple(triple).create_target_machine(**options)
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
        code = machine.emit_object(whole)
    write_entry(entry, code)
    return code
