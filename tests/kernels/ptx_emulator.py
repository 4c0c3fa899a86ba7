"""A kernel's PTX on a CPU, one thread after the other, to the last bit.

Every instruction becomes one call of an LLVM function of `ptx_operations`, which does what
NVIDIA's manual (PTX ISA 8.0) says: shifts clamp, conversions saturate, minima ignore NaN.
Unknown instructions are refused, and so are registers that a path reads before it writes
them, accesses outside the arrays or not aligned, local memory that is read before it is
written, bytes of a workspace that two threads use, and threads that do not end.
"""

import ctypes
import itertools
import re

import numpy as np

from jaxvib.kernels.cpu.machine_code import bindings
from jaxvib.kernels.gpu.driver import workspace_of
from tests.kernels.ptx_operations import OPERATIONS, TYPES
from tests.kernels.ptx_runtime import FIELDS, POINTERS, RUNTIME

LOCAL = 1 << 20  # where local memory begins in its own address space
FAULTS = {1: "load outside the arrays", 2: "store outside the arrays", 3: "misaligned",
          4: "local memory read before it is written", 5: "no end",
          6: "workspace of another thread"}  # fmt: skip
_SPECIAL = {
    "%tid.x": "%tid",
    "%ctaid.x": "%ctaid",
    "%ntid.x": "%ntid",
    "%nctaid.x": "%grid",
}


class EmulationError(RuntimeError):
    """What a GPU would not do, or nobody should rely on."""


_INTRINSIC = re.compile(r"call (\w+) (@llvm[\w.]+)\(([^)]*)\)")


class _Thread:
    """The translation of one kernel's body to an LLVM function of one thread."""

    def __init__(self, body: str, tables: set[str]):
        self.tables, self.depot, self.counter = tables, 0, itertools.count()
        self.registers: dict[str, str] = {"carry": "i1"}
        self.used: set[str] = set()
        self.lines: list[str] = []
        self.flow = Flow()
        self.blocks = _blocks(body, self._declare)
        names = [name for name, _ in self.blocks]
        for (name, instructions), after in zip(
            self.blocks, [*names[1:], "end"], strict=True
        ):
            self._block(name, instructions, after)
        self.flow.check()

    def _declare(self, line: str) -> None:
        register = re.fullmatch(r"\.reg \.(\w+)\s+%(\w+?)(?:<(\d+)>)?", line)
        local = re.fullmatch(r"\.local \.align (\d+) \.b8\s+(\w+)\[(\d+)\]", line)
        if register and register[1] in TYPES:
            numbers = range(int(register[3])) if register[3] else ("",)
            kind = TYPES[register[1]]
            self.registers.update({f"%{register[2]}{k}": kind for k in numbers})
        elif local and not self.depot and int(local[1]) <= 64:
            self.depot = int(local[3])
            self.depot_name = local[2]
        elif not re.fullmatch(r'\.pragma "[\w ]+"', line):
            raise EmulationError(f"unknown directive {line}")

    def _block(self, name: str, instructions: list[str], after: str) -> None:
        self.flow.begin(name)
        n = next(self.counter)
        self.lines += [
            f'"{name}":',
            f"call void @count(ptr %report, i64 {len(instructions)})",
            f"%s{n} = call i1 @going(ptr %report)",
            f"br i1 %s{n}, label %go{n}, label %end",
            f"go{n}:",
        ]
        for position, instruction in enumerate(instructions):
            ends = position == len(instructions) - 1
            if self._jump(instruction, after):
                if not ends:
                    raise EmulationError(f"{instruction} within a block")
                return
            self._statement(instruction)
        self._go(after)

    def _go(self, *targets: str) -> None:
        self.flow.follow(targets)
        if len(targets) == 1:
            self.lines.append(f'br label %"{targets[0]}"')

    def _jump(self, instruction: str, after: str) -> bool:
        if instruction == "ret":
            self._go("end")
            return True
        jump = re.fullmatch(r"(?:@(!?)(%p\d+) )?bra(?:\.uni)? (\S+)", instruction)
        if not jump:
            return False
        self.used.add(instruction.partition(jump[3])[0].split()[-1])
        if jump[2]:
            value = self.read(jump[2], "i1")
            there, other = (after, jump[3]) if jump[1] else (jump[3], after)
            self.lines.append(f'br i1 {value}, label %"{there}", label %"{other}"')
            self.flow.follow((there, other))
        else:
            self._go(jump[3])
        return True

    def _statement(self, instruction: str) -> None:
        opcode, _, rest = instruction.partition(" ")
        operands = re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s]+", rest)
        self.used.add(opcode)
        parts = opcode.split(".")
        if opcode in OPERATIONS:
            operation = OPERATIONS[opcode]
            if len(operands) != 1 + len(operation.arguments):
                raise EmulationError(f"unknown operands: {instruction}")
            taken = zip(operation.arguments, operands[1:], strict=True)
            values = [f"{t} {self.read(o, t)}" for t, o in taken]
            call = f'call {operation.result} @"{opcode}"({", ".join(values)})'
            signed = parts[0] == "cvt" and parts[-2][0] == "s"
            self.write(operands[0], self.assign(call), operation.result, signed)
        elif parts[0] in ("ld", "st"):
            self._access(instruction, parts, operands)
        elif parts[0] == "mov":
            self._move(instruction, parts[1], operands)
        elif re.fullmatch(r"cvta\.(to\.)?(global|local)\.u64", opcode):
            value = self.read(operands[1], "i64")
            if parts[-2] == "local":
                from_, to = ("%place", LOCAL) if "to" in parts else (LOCAL, "%place")
                value = self.assign(f"sub i64 {value}, {from_}")
                value = self.assign(f"add i64 {value}, {to}")
            self.write(operands[0], value, "i64")
        elif opcode == "activemask.b32":
            self.write(operands[0], "1", "i32")
        elif opcode == "bar.warp.sync":  # of a thread alone: nothing to wait for
            self.read(operands[0], "i32")
        elif parts[0] == "cvt" and len(parts) == 3:
            self._resize(instruction, *parts[1:], operands)
        elif re.fullmatch(r"(add|sub)c?(\.cc)?\.[su](32|64)", opcode):
            self._carried(parts, operands)
        else:
            raise EmulationError(f"unknown instruction {instruction}")

    def assign(self, text: str) -> str:
        """Write an instruction and return the name of its value."""
        name = f"%v{next(self.counter)}"
        self.lines.append(f"{name} = {text}")
        return name

    def read(self, operand: str, kind: str) -> str:
        """Return the value of a register or a constant; of a wider register, its end."""
        if operand in self.registers:
            self.flow.read(operand)
            own = self._own(operand, kind)
            value = self.assign(f'load {own}, ptr %"{operand}"')
            return value if own == kind else self._narrowed(value, own, kind, operand)
        if re.fullmatch(r"0d[0-9A-F]{16}", operand):
            if kind == "double":
                return f"0x{operand[2:]}"
            return str(int(np.uint64(int(operand[2:], 16)).astype(np.int64)))
        if re.fullmatch(r"0f[0-9A-F]{8}", operand):
            bits = np.uint32(int(operand[2:], 16))
            if kind == "float":
                return f"0x{bits.view(np.float32).astype(float).view(np.uint64):016X}"
            return str(bits)
        if re.fullmatch(r"-?\d+", operand) and kind[0] == "i":
            return operand
        raise EmulationError(f"unknown operand {operand} as {kind}")

    def _own(self, operand: str, kind: str) -> str:
        """Return the type of a register that is used as `kind`."""
        own = self.registers[operand]
        same = {"double": "i64", "float": "i32"}.get(kind) == own
        return kind if same else own

    def _narrowed(self, value: str, own: str, kind: str, operand: str) -> str:
        if kind in ("double", "float") or int(own[1:]) < int(kind[1:]):
            raise EmulationError(f"{operand} has not {kind}")
        return self.assign(f"trunc {own} {value} to {kind}")

    def write(self, operand: str, value: str, kind: str, signed: bool = False) -> None:
        """Write a register; a wider one is filled with zeros, or with the sign."""
        self.flow.write(operand)
        own = self._own(operand, kind)
        if own != kind:
            if kind in ("double", "float") or int(own[1:]) < int(kind[1:]):
                raise EmulationError(f"{operand} cannot hold {kind}")
            value = self.assign(f"{'sext' if signed else 'zext'} {kind} {value} to {own}")
        self.lines.append(f'store {own} {value}, ptr %"{operand}"')

    def _access(self, instruction: str, parts: list[str], operands: list[str]) -> None:
        loads = parts[0] == "ld"
        what, where = operands if loads else operands[::-1]
        space = parts[1] if parts[1] in ("param", "global", "local") else ""
        vector = next((int(p[1]) for p in parts if p in ("v2", "v4")), 1)
        constant = ["nc"] if loads and "nc" in parts else []
        wide = [f"v{vector}"] if vector > 1 else []
        known = [parts[0], *filter(None, [space]), *constant, *wide]
        names = what.strip("{}").replace(" ", "").split(",")
        kind = re.fullmatch(r"([bsuf])(8|16|32|64)", parts[-1])
        place = re.fullmatch(r"\[(.+?)(?:\+(-?\d+))?\]", where)
        if parts[:-1] != known or not kind or not place or len(names) != vector:
            raise EmulationError(f"unknown instruction {instruction}")
        stored, size = f"i{kind[2]}", int(kind[2]) // 8
        if space == "param":
            index = place[1].rsplit("_", 1)[1]
            at = self.assign(f"getelementptr i64, ptr %params, i64 {index}")
            self.write(names[0], self.assign(f"load i64, ptr {at}"), "i64")
            return
        address = self.read(place[1], "i64")
        if space == "local":
            address = self.assign(f"sub i64 {address}, {LOCAL}")
            address = self.assign(f"add i64 {address}, %place")
        address = self.assign(f"add i64 {address}, {place[2] or 0}")
        bounds = f"i64 {address}, i64 {size * vector}, ptr %report, i64 %place"
        at = self.assign(f"call ptr @{'source' if loads else 'target'}({bounds})")
        for k, name in enumerate(names):
            element = self.assign(f"getelementptr {stored}, ptr {at}, i64 {k}")
            if loads:
                value = self.assign(f"load {stored}, ptr {element}, align 1")
                self.write(name, value, stored, signed=kind[1] == "s")
            else:
                value = self.read(name, stored)
                self.lines.append(f"store {stored} {value}, ptr {element}, align 1")

    def _move(self, instruction: str, kind: str, operands: list[str]) -> None:
        to, source = operands
        whole = TYPES.get(kind.replace("u", "b"), "")
        if to.startswith("{") or source.startswith("{"):
            if whole not in ("i64", "i32"):
                raise EmulationError(f"unknown instruction {instruction}")
            bits = int(whole[1:]) // 2
            half = f"i{bits}"
            if to.startswith("{"):
                value = self.read(source, whole)
                upper = self.assign(f"lshr {whole} {value}, {bits}")
                parts = to.strip("{}").replace(" ", "").split(",")
                for name, each in zip(parts, (value, upper), strict=True):
                    if name != "_":
                        self.write(
                            name, self.assign(f"trunc {whole} {each} to {half}"), half
                        )
                return
            low, high = source.strip("{}").replace(" ", "").split(",")
            low, high = (
                self.assign(f"zext {half} {self.read(each, half)} to {whole}")
                for each in (low, high)
            )
            high = self.assign(f"shl {whole} {high}, {bits}")
            self.write(to, self.assign(f"or {whole} {low}, {high}"), whole)
        elif source in _SPECIAL:
            self.write(to, _SPECIAL[source], "i32")
        elif source in self.tables:
            self.write(to, self.assign(f"ptrtoint ptr @{source} to i64"), "i64")
        elif self.depot and source == self.depot_name:
            self.write(to, str(LOCAL), "i64")
        elif whole:
            self.write(to, self.read(source, whole), whole)
        else:
            raise EmulationError(f"unknown instruction {instruction}")

    def _resize(self, instruction: str, to: str, of: str, operands: list[str]) -> None:
        if not all(re.fullmatch(r"[su](8|16|32|64)", each) for each in (to, of)):
            raise EmulationError(f"unknown instruction {instruction}")
        value = self.read(operands[1], f"i{of[1:]}")
        if int(of[1:]) < int(to[1:]):
            extend = "sext" if of[0] == "s" else "zext"
            value = self.assign(f"{extend} i{of[1:]} {value} to i{to[1:]}")
        elif int(of[1:]) > int(to[1:]):
            value = self.assign(f"trunc i{of[1:]} {value} to i{to[1:]}")
        self.write(operands[0], value, f"i{to[1:]}", signed=to[0] == "s")

    def _carried(self, parts: list[str], operands: list[str]) -> None:
        """Add or subtract with one more bit, which is the carry or the borrow."""
        bits = int(parts[-1][1:])
        t, w = f"i{bits}", f"i{bits + 1}"
        a, b = (self.assign(f"zext {t} {self.read(o, t)} to {w}") for o in operands[1:])
        name = parts[0].rstrip("c")
        value = self.assign(f"{name} {w} {a}, {b}")
        if parts[0].endswith("c"):
            carry = self.assign(f"zext i1 {self.read('carry', 'i1')} to {w}")
            value = self.assign(f"{name} {w} {value}, {carry}")
        if "cc" in parts:
            over = self.assign(f"lshr {w} {value}, {bits}")
            self.write("carry", self.assign(f"trunc {w} {over} to i1"), "i1")
        self.write(operands[0], self.assign(f"trunc {w} {value} to {t}"), t)

    def text(self) -> str:
        """Return the function `thread` and the functions of its instructions."""
        functions = [OPERATIONS[o].text(o) for o in sorted(self.used) if o in OPERATIONS]
        declared = {
            f"declare {t} {name}({', '.join(a.split()[0] for a in taken.split(', '))})"
            for t, name, taken in _INTRINSIC.findall("\n".join(functions))
        }
        allocated = [f'%"{name}" = alloca {kind}' for name, kind in self.registers.items()]
        first = self.blocks[0][0]
        return "\n".join([
            *sorted(declared), *functions,
            "define internal void @thread(ptr %params, ptr %report, i64 %place, "
            "i32 %tid, i32 %ctaid, i32 %ntid, i32 %grid) {", "enter:", *allocated,
            f'br label %"{first}"', *self.lines, "end:", "ret void", "}",
        ])  # fmt: skip


def back_edges(ptx: str) -> list[tuple[str, str, int]]:
    """Return the jumps that lead back: from a block with so many ways on, to another."""
    body = ptx.partition(".entry")[2].partition("{")[2].rpartition("}")[0]
    tables = set(re.findall(r"\.global \.align 8 \.b8 (\w+)", ptx))
    blocks = _Thread(body, tables).flow.blocks
    found, done, way = [], set(), []

    def visit(name: str) -> None:
        way.append(name)
        after = blocks[name][1] if name in blocks else ()
        for other in after:
            if other in way:
                found.append((name, other, len(after)))
            elif other not in done:
                visit(other)
        done.add(way.pop())

    visit(next(iter(blocks)))
    return found


def _blocks(body: str, declare) -> list[tuple[str, list[str]]]:
    """Return the basic blocks, by name; `declare` takes the directives."""
    blocks: list[tuple[str, list[str]]] = [("start", [])]
    for line in filter(None, (" ".join(each.split()) for each in body.split("\n"))):
        label = re.fullmatch(r"(\$\w+):", line)
        if label:
            blocks.append((label[1], []))
        elif not line.endswith(";"):
            raise EmulationError(f"unknown line {line}")
        elif line.startswith("."):
            declare(line[:-1])
        else:
            blocks[-1][1].append(line[:-1])
            if "bra" in line:  # what follows is a block of its own
                blocks.append((f"{blocks[-1][0]}+", []))
    return blocks


class Flow:
    """Which registers are written on every way to where they are read."""

    def __init__(self):
        self.numbers: dict[str, int] = {}
        self.blocks: dict[str, list] = {}  # own events, and the blocks that follow

    def begin(self, name: str) -> None:
        """Begin a block."""
        self.here = self.blocks[name] = [[], ()]

    def follow(self, names) -> None:
        """End a block."""
        self.here[1] = names

    def read(self, register: str) -> None:
        """Note that a register is read."""
        self.here[0].append((False, register))

    def write(self, register: str) -> None:
        """Note that a register is written."""
        self.here[0].append((True, register))

    def _after(self, name: str, written: int, check: bool = False) -> int:
        for writes, register in self.blocks[name][0]:
            bit = 1 << self.numbers.setdefault(register, len(self.numbers))
            if writes:
                written |= bit
            elif check and not written & bit:
                raise EmulationError(f"{register} is read before it is written, in {name}")
        return written

    def check(self) -> None:
        """Raise `EmulationError` for a register that some way leaves unwritten."""
        start = next(iter(self.blocks))
        before, waiting = {start: 0}, [start]
        while waiting:
            name = waiting.pop()
            after = self._after(name, before[name])
            for other in self.blocks[name][1]:
                if other == "end":
                    continue
                if other not in self.blocks:
                    raise EmulationError(f"no block {other}")
                both = after & before.get(other, after)
                if both != before.get(other):
                    before[other] = both
                    waiting.append(other)
        for name, written in before.items():
            self._after(name, written, check=True)


class _Report(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p if name in POINTERS else ctypes.c_uint64) for name in FIELDS
    ]


_LIBRARIES = itertools.count()


class EmulatedModule:
    """A PTX text with one kernel, compiled for this CPU.

    **Fields:** `instructions`: its opcodes; `memory`: the bytes at every address that a
    launch may use, {address: size}; `limit`: instructions that a thread may execute;
    `steps`: how many the last launch did.

    **Raises:** `EmulationError` for what is not known, and for a register that some path
    reads before it writes it.
    """

    def __init__(self, ptx: str):
        self._workspace = workspace_of(ptx)
        ptx = re.sub(r"//.*", "", ptx)
        head = ptx.partition(".visible .entry ")[0]
        entries = re.findall(r"\.entry (\w+)\((.*?)\)(.*?)\{(.*)\}", ptx, re.DOTALL)
        if len(entries) != 1 or ".func" in ptx:
            raise EmulationError(f"{len(entries)} entries; allowed: one, without functions")
        ((self._name, parameters, bounds, body),) = entries
        self._parameters = re.findall(r"\.param \.u64 [^,]*_param_(\d+)", parameters)
        block = re.search(r"\.maxntid (\d+)", bounds)
        self.block = int(block[1]) if block else 1024
        table = r"\.global \.align 8 \.b8 (\w+)\[\d+\] = \{([^}]*)\}"
        tables = dict(re.findall(table, head))
        thread = _Thread(body, set(tables))
        self.instructions, self._local = frozenset(thread.used), thread.depot
        self.memory: dict[int, int] = {}
        self.limit, self.steps = 10**8, 0
        constants = "\n".join(
            f"@{name} = constant [{values.count(',') + 1} x i8] "
            f"[{', '.join(f'i8 {int(v)}' for v in values.split(','))}], align 8"
            for name, values in tables.items()
        )
        self._library = _compiled(f"{constants}\n{RUNTIME}\n{thread.text()}", list(tables))
        self._tables = {
            self._library[name]: values.count(",") + 1 for name, values in tables.items()
        }
        self._launch = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, *[ctypes.c_uint32] * 2
        )(self._library["launch"])

    def launch(self, name: str, grid: int, block: int, pointers) -> None:
        """Run a kernel with `grid` blocks of `block` threads on host addresses.

        **Raises:** `EmulationError` for another kernel or number of pointers, a block of
        more threads than allowed, and what a thread must not do.
        """
        if name != self._name or len(pointers) != len(self._parameters):
            raise EmulationError(f"no kernel {name} of {len(pointers)} pointers")
        if not 0 < block <= self.block or not 0 < grid < 2**31:
            raise EmulationError(f"{grid} blocks of {block}; allowed: {self.block} threads")
        parameters = np.asarray(pointers, np.uint64)
        ranges = {**self.memory, **self._tables}
        bounds = np.array([(at, at + size) for at, size in ranges.items()], np.uint64)
        local = np.full(self._local + 64, 0xA5, np.uint8)
        marks = np.zeros(self._local + 1, np.uint8)
        place = -(-local.ctypes.data // 64) * 64
        size = self._workspace * grid * block  # the last argument
        owners = np.zeros(size, np.uint64)
        report = _Report(
            work=int(parameters[-1]), size=size, owners=owners.ctypes.data,
            limit=self.limit, arrays=len(ranges), bounds=bounds.ctypes.data,
            marks=marks.ctypes.data, local=self._local,
        )  # fmt: skip
        self._launch(parameters.ctypes.data, ctypes.addressof(report), place, grid, block)
        self.steps = report.total
        if report.fault:
            raise EmulationError(
                f"{FAULTS[report.fault]}: {report.bytes} bytes at {report.address:#x}"
            )


def _compiled(text: str, names: list[str]):
    """Return the addresses of an IR text's symbols."""
    llvm = bindings()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=1, jit=True, cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
    )  # fmt: skip
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.run(module, builder)
    code = machine.emit_object(module)
    library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in ("launch", *names):
        library.export_symbol(name)
    linker = llvm.create_lljit_compiler(machine)
    return library.link(linker, f"emulated{next(_LIBRARIES)}")
