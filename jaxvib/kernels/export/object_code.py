"""`object_code`: functions of one lane as an object file with C's calling convention."""

import functools
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite.binding import ObjectFileRef

from ...foundation.suggestions import nearest
from ..cpu.machine_code import for_all_targets, host_features
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import SHORT
from ..lower.lowering import Program, lower_lanes
from .emission import check_length, emitted, lowered, too_long, traced_for
from .fused_multiply_add import with_multiply_add
from .missing_functions import integer_text, library_text, with_own_copies

_DEFINITION = re.compile(r"^(define .*)\{$", re.MULTILINE)


class _Type(NamedTuple):
    """A type of numbers: in LLVM's notation and in C."""

    llvm: str
    c: str


_TYPES = {
    "float64": _Type("double", "double"),
    "float32": _Type("float", "float"),
    "int32": _Type("i32", "int32_t"),
    "int64": _Type("i64", "int64_t"),
}


class Target(NamedTuple):
    """A machine, in LLVM's notation: target triple, processor and features."""

    triple: str
    processor: str = ""
    features: str = ""


# Machines with fused multiply-adds and rounding of doubles in hardware.
TARGETS = {
    "x86-64": Target("x86_64-unknown-linux-gnu", "x86-64-v3"),
    "aarch64": Target("aarch64-unknown-linux-gnu", "generic"),
    "cortex-a53": Target("aarch64-unknown-none-elf", "cortex-a53"),
    "cortex-m7": Target("thumbv7em-unknown-none-eabihf", "cortex-m7"),
    "cortex-m55": Target("thumbv8.1m.main-unknown-none-eabihf", "cortex-m55"),
    "riscv64": Target("riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c"),
}
# Machines with float32 only, which `object_code` refuses with that reason.
_WITHOUT_DOUBLES = {
    "cortex-m4": Target("thumbv7em-unknown-none-eabihf", "cortex-m4"),
    "cortex-m33": Target("thumbv8m.main-unknown-none-eabihf", "cortex-m33"),
}
HOST = "host"


class CFunction(NamedTuple):
    """A function to compile: of example `arguments` for one lane, with their names.

    Numbers are passed by value and arrays by pointer; `results` names the results,
    which are arrays written through pointers and, named "return", the returned number.
    """

    function: Callable
    arguments: Mapping[str, Any]
    results: Sequence[str]


class ObjectCode(NamedTuple):
    """An object file, the C declaration of each function, and facts about it.

    **Fields:** `code`: the file's bytes; `machine`: as the file names it;
    `declarations`: of the functions, by name; `workspace`: the bytes of memory that
    they share, 0 if none needs any; `fused`: whether products in sums are fused
    multiply-adds, as in jaxvib's own kernels, or rounded before they are added;
    `left_out`: optional functions that cannot be compiled, with the reason.
    """

    code: bytes
    machine: str
    declarations: dict[str, str]
    workspace: int
    fused: bool
    left_out: dict[str, str]


def target_of(name: str, processor: str = "", features: str = "") -> Target:
    """Return a target by its name in `TARGETS`, "host" or an LLVM target triple.

    **Raises:** `ValueError` for an unknown one, for one without an ELF object file, or
    for a `processor` or `features` that LLVM does not know for it.
    """
    llvm = for_all_targets()
    if name == HOST:
        found = Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), host_features())
    else:
        found = (TARGETS | _WITHOUT_DOUBLES).get(name, Target(_with_vendor(name)))
    try:
        llvm.Target.from_triple(found.triple)
    except RuntimeError:
        allowed = ", ".join([HOST, *TARGETS])
        raise ValueError(
            f"target = {name!r}; allowed: {allowed}, or a target triple of LLVM"
        ) from None
    if any(other in found.triple for other in ("darwin", "macos", "windows", "wasm")):
        raise ValueError(
            f"target = {name!r} has no ELF object files; allowed: targets of Linux and "
            "of machines without an operating system"
        )
    if processor or features:
        check_processor(found.triple, processor, features)
    if processor:
        return found._replace(processor=processor, features=features)
    return found._replace(features=features) if features else found


def _with_vendor(triple: str) -> str:
    """Return a triple with its vendor, without which LLVM does not see the environment.

    >>> _with_vendor("thumbv7em-none-eabihf")
    'thumbv7em-unknown-none-eabihf'
    """
    parts = triple.split("-")
    if len(parts) == 3 and parts[1] in ("none", "linux"):
        parts.insert(1, "unknown")
    return "-".join(parts)


def object_code(
    functions: Mapping[str, CFunction], target: Target, optional: Sequence[str] = ()
) -> ObjectCode:
    """Compile functions of one lane to one object file.

    The file needs no other: no C library, no mathematical library, no allocation. A
    processor without fused multiply-adds rounds each product before it is added; one of
    32 bits gets functions for integers of 64. `optional`: functions that are left out if
    they cannot be compiled, or need what the processor lacks.

    **Raises:** `ValueError` for a function that cannot be compiled, or a processor that
    lacks instructions for doubles, with the names of what it lacks.
    """
    _check_instructions(target)
    programs, left_out = {}, {}
    for name, each in functions.items():
        try:
            programs[name] = _program(name, each)
        except ValueError as error:
            if name not in optional:
                raise
            left_out[name] = str(error)
    code, fused, missing = _complete(functions, programs, target)
    if missing:
        for name in [each for each in optional if each in programs]:
            needed = _complete(functions, {name: programs[name]}, target)[2]
            if needed:
                del programs[name]
                left_out[name] = _needs(name, needed, target)
        code, fused, missing = _complete(functions, programs, target)
    if missing:
        raise ValueError(_needs(", ".join(programs), missing, target))
    declared = {
        name: _declaration(name, functions[name], program)
        for name, program in programs.items()
    }
    workspace = max(program.workspace for program in programs.values())
    machine = object_facts(code).machine
    return ObjectCode(code, machine, declared, workspace, fused, left_out)


def _complete(
    functions: Mapping[str, CFunction], programs: Mapping[str, Program], target: Target
) -> tuple[bytes, bool, set[str]]:
    """Return the object file of programs, and the names of what it still lacks.

    The second result says whether products in sums are fused multiply-adds.
    """
    texts = [
        with_own_copies(program.text).replace(
            "define void @lanes", "define internal void @lanes"
        )
        + _entry(name, functions[name], program)
        for name, program in programs.items()
    ]
    library = library_text("".join(texts)).replace("define hidden", "define internal")
    code, fused = _object([library, *texts], target), True
    missing = set(object_facts(code).undefined)
    if not missing:
        return code, fused, missing
    library += integer_text(missing)
    if "fma" in missing:
        texts, fused = [with_multiply_add(text, False) for text in texts], False
    code = _object([library, *texts], target)
    return code, fused, set(object_facts(code).undefined)


def _needs(name: str, missing: Collection[str], target: Target) -> str:
    return (
        f"{name} needs functions that processor {target.processor or 'generic'!r} of "
        f"{target.triple} and jaxvib lack: {', '.join(sorted(missing))}"
    )


# What programs do with doubles, but for conversions, for which there are functions.
_OPERATIONS = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.rint.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.roundeven.f64(double)
define double @operations(double %x, double %y) {
%a = fadd double %x, %y
%b = fmul double %a, %y
%c = fdiv double %b, %x
%d = call double @llvm.sqrt.f64(double %c)
%e = call double @llvm.rint.f64(double %d)
%f = call double @llvm.floor.f64(double %b)
%g = call double @llvm.roundeven.f64(double %a)
%h = fsub double %e, %f
%i = fadd double %h, %g
ret double %i
}
"""


def _check_instructions(target: Target) -> None:
    """Raise `ValueError` for a processor without doubles, before programs are compiled."""
    missing = object_facts(_object([_OPERATIONS], target)).undefined
    if missing:
        raise ValueError(
            f"processor {target.processor or 'generic'!r} of {target.triple} has no "
            f"instructions for float64 ({', '.join(missing)}), and float32 has too few "
            "digits for event times; allowed: a processor that computes and rounds "
            "float64 in hardware"
        )


def _program(name: str, given: CFunction) -> Program:
    try:
        _, closed, _ = traced_for(given.function, tuple(given.arguments.values()))
        program = lowered(closed, 1)
        # Each number of a long array that is built in would be a name.
        if too_long(program) and any(np.size(each) > SHORT for each in closed.consts):
            program = lower_lanes(closed, 1, SHORT)
        check_length(program)
    except LoweringError as error:
        raise ValueError(f"{name} cannot be compiled by LLVM: {error}") from None
    return program


def _sides(given: CFunction, program: Program):
    """Return name, shape and dtype of each argument and of each result."""
    inputs, outputs = program.signature
    arguments = [(n, *e) for n, e in zip(given.arguments, inputs, strict=True)]
    results = [(n, *e) for n, e in zip(given.results, outputs, strict=True)]
    return arguments, results


def _entry(name: str, given: CFunction, program: Program) -> str:
    """Return the function with C's calling convention, which calls `lanes`."""
    arguments_of, results_of = _sides(given, program)
    lines, inputs, outputs, arguments, returned = [], [], [], [], "ret void"
    for argument, shape, kind in arguments_of:
        type_ = _TYPES[kind].llvm
        arguments.append(f"{'ptr' if shape else type_} %{argument}")
        if not shape:
            lines += [
                f"%{argument}.at = alloca {type_}",
                f"store {type_} %{argument}, ptr %{argument}.at",
            ]
        inputs.append(f"%{argument}" if shape else f"%{argument}.at")
    kind_of_result = "void"
    for result, _, kind in results_of:
        if result == "return":
            kind_of_result = _TYPES[kind].llvm
            lines.append(f"%return.at = alloca {kind_of_result}")
            returned = (
                f"%return = load {kind_of_result}, ptr %return.at\n"
                f"ret {kind_of_result} %return"
            )
            outputs.append("%return.at")
        else:
            arguments.append(f"ptr %{result}")
            outputs.append(f"%{result}")
    if program.workspace:
        arguments.append("ptr %workspace")
        inputs.append("%workspace")
    lines += _filled("inputs", inputs) + _filled("outputs", outputs)
    body = "\n".join(lines)
    return f"""
define {kind_of_result} @{name}({", ".join(arguments)}) {{
entry:
{body}
call void @lanes(i64 1, i64 0, i64 1, ptr %inputs, ptr %outputs)
{returned}
}}
"""


def _filled(name: str, pointers: list[str]) -> list[str]:
    """Return the lines that fill a table of pointers on the stack."""
    lines = [f"%{name} = alloca [{len(pointers)} x ptr]"]
    for place, pointer in enumerate(pointers):
        lines += [
            f"%{name}.{place} = getelementptr ptr, ptr %{name}, i64 {place}",
            f"store ptr {pointer}, ptr %{name}.{place}",
        ]
    return lines


def _declaration(name: str, given: CFunction, program: Program) -> str:
    """Return the function's declaration in C."""
    inputs, outputs = _sides(given, program)
    arguments = [
        f"const {_TYPES[kind].c} {argument}[{_size(shape)}]"
        if shape
        else f"{_TYPES[kind].c} {argument}"
        for argument, shape, kind in inputs
    ]
    returned = "void"
    for result, shape, kind in outputs:
        if result == "return":
            returned = _TYPES[kind].c
        else:
            arguments.append(f"{_TYPES[kind].c} {result}[{_size(shape)}]")
    if program.workspace:
        arguments.append("void *workspace")
    return f"{returned} {name}({', '.join(arguments)});"


def _size(shape: tuple[int, ...]) -> int:
    # C has no arrays without entries.
    return max(int(np.prod(shape)), 1)


def _object(texts: list[str], target: Target) -> bytes:
    """Return the object file of IR texts."""
    # Otherwise an ARM processor's object file needs functions that unwind the stack.
    nounwind = [_DEFINITION.sub(r"\1nounwind {", text) for text in texts]
    return emitted(
        nounwind, target.triple, cpu=target.processor, features=target.features, opt=2,
        reloc="pic", codemodel="small",
    )  # fmt: skip


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


# Numbers of the format: the section of undefined symbols, and machines.
_UNDEFINED = 0
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
    sections = {
        each.name(): each.data() for each in ObjectFileRef.from_data(code).sections()
    }
    names = sections[b".strtab"]
    undefined = [
        names[entry[0] : names.index(b"\0", entry[0])].decode()
        for entry in struct.iter_unpack(layout, sections[b".symtab"])
        if entry[0] and entry[section_of] == _UNDEFINED
    ]
    return ObjectFacts(_MACHINES.get(machine, str(machine)), tuple(undefined))
