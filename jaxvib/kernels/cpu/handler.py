"""LLVM IR of the entry points for Python and for XLA's FFI on a CPU."""

import platform

from ..lower.lowering import Signature
from ..lower.workspace import ALIGNMENT

# Byte offsets in XLA's structures (xla/ffi/api/c_api.h).
_EXTENSION, _ARGUMENTS, _RESULTS = 8, 72, 112  # in the call frame
_KIND, _METADATA = 8, 24  # in an extension; kind 1 requests metadata
_MAJOR, _MINOR, _TRAITS = 24, 28, 32  # in the metadata
_DATA, _RANK, _SIZES = 24, 32, 40  # in a buffer
_API, _CREATE_ERROR = 16, 48  # in the call frame; in the functions that it points to
_EXHAUSTED = 8  # XLA's error code RESOURCE_EXHAUSTED


# Reading and setting a thread's floating-point mode: XLA's threads flush denormals to
# zero, `run` must not. And a clock, in ticks.
_MODES = {
    "x86_64": """
declare i64 @llvm.readcyclecounter()
define i64 @ticks() {
%now = call i64 @llvm.readcyclecounter()
ret i64 %now
}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define void @run(i64 %n, i64 %from, i64 %to, ptr %inputs, ptr %outputs) {
%before = alloca i32
%plain = alloca i32
store i32 8064, ptr %plain
call void @llvm.x86.sse.stmxcsr(ptr %before)
call void @llvm.x86.sse.ldmxcsr(ptr %plain)
call void @lanes(i64 %n, i64 %from, i64 %to, ptr %inputs, ptr %outputs)
call void @llvm.x86.sse.ldmxcsr(ptr %before)
ret void
}
""",
    "aarch64": """
define i64 @ticks() {
%now = call i64 asm sideeffect "mrs $0, cntvct_el0", "=r"()
ret i64 %now
}
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)
define void @run(i64 %n, i64 %from, i64 %to, ptr %inputs, ptr %outputs) {
%before = call i64 @llvm.aarch64.get.fpcr()
call void @llvm.aarch64.set.fpcr(i64 0)
call void @lanes(i64 %n, i64 %from, i64 %to, ptr %inputs, ptr %outputs)
call void @llvm.aarch64.set.fpcr(i64 %before)
ret void
}
""",
}


def run_text() -> str:
    """Return `run`, which is `lanes` with IEEE arithmetic in any thread, and `ticks`.

    **Raises:** `KeyError` on other processor architectures.
    """
    machine = platform.machine().lower()
    return _MODES[{"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)]


def handler_text(signature: Signature, workspace: int = 0) -> str:
    """Return the function `handler(frame)`, which calls `run` with XLA's buffers.

    A program with a `workspace` of some bytes gets it from `malloc`; without memory the
    call fails with XLA's error RESOURCE_EXHAUSTED.

    Every buffer has the lanes as its last axis. The handler reports FFI version 0.1,
    which every later 0.x accepts. `spent` sums the ticks of its calls; if `better`
    holds the address of other code, that is called instead.
    """
    inputs, outputs = len(signature.inputs), len(signature.outputs)
    definitions, allocation, released = (
        _workspace(workspace, inputs) if workspace else [""] * 3
    )
    pointers = max(inputs, 1) + bool(workspace)
    return f"""{definitions}
@spent = global i64 0
@better = global ptr null
define ptr @handler(ptr %frame) {{
entry:
%inputs = alloca [{pointers} x ptr]
%outputs = alloca [{max(outputs, 1)} x ptr]
%pe = getelementptr i8, ptr %frame, i64 {_EXTENSION}
%extension = load ptr, ptr %pe
%none = icmp eq ptr %extension, null
br i1 %none, label %run, label %asked
asked:
%pk = getelementptr i8, ptr %extension, i64 {_KIND}
%kind = load i32, ptr %pk
%metadata = icmp eq i32 %kind, 1
br i1 %metadata, label %tell, label %run
tell:
%pm = getelementptr i8, ptr %extension, i64 {_METADATA}
%version = load ptr, ptr %pm
%major = getelementptr i8, ptr %version, i64 {_MAJOR}
store i32 0, ptr %major
%minor = getelementptr i8, ptr %version, i64 {_MINOR}
store i32 1, ptr %minor
%traits = getelementptr i8, ptr %version, i64 {_TRAITS}
store i32 0, ptr %traits
ret ptr null
run:
%pa = getelementptr i8, ptr %frame, i64 {_ARGUMENTS}
%arguments = load ptr, ptr %pa
%pr = getelementptr i8, ptr %frame, i64 {_RESULTS}
%results = load ptr, ptr %pr
{_gathered("arguments", "inputs", inputs)}
{_gathered("results", "outputs", outputs)}
%first = load ptr, ptr %results
%prank = getelementptr i8, ptr %first, i64 {_RANK}
%rank = load i64, ptr %prank
%last = sub i64 %rank, 1
%psizes = getelementptr i8, ptr %first, i64 {_SIZES}
%sizes = load ptr, ptr %psizes
%pn = getelementptr i64, ptr %sizes, i64 %last
%n = load i64, ptr %pn
%other = load atomic ptr, ptr @better acquire, align 8
%same = icmp eq ptr %other, null
%code = select i1 %same, ptr @run, ptr %other
{allocation}%begun = call i64 @ticks()
call void %code(i64 %n, i64 0, i64 %n, ptr %inputs, ptr %outputs)
%now = call i64 @ticks()
{released}%passed = sub i64 %now, %begun
%before = atomicrmw add ptr @spent, i64 %passed monotonic
ret ptr null
}}
"""


def _workspace(size: int, inputs: int) -> tuple[str, str, str]:
    """Return the IR that defines, takes and releases a workspace."""
    # Of the function that creates an error: their size, an extension, message and code.
    arguments = "{ i64, ptr, ptr, i32 }"
    message = f"a kernel's arrays need {size} bytes"
    definitions = f"""
declare ptr @malloc(i64)
declare void @free(ptr)
@message = private constant [{len(message) + 1} x i8] c"{message}\\00"
"""
    taken = f"""%memory = call ptr @malloc(i64 {size + ALIGNMENT})
%nomemory = icmp eq ptr %memory, null
br i1 %nomemory, label %fail, label %go
fail:
%papi = getelementptr i8, ptr %frame, i64 {_API}
%api = load ptr, ptr %papi
%pcreate = getelementptr i8, ptr %api, i64 {_CREATE_ERROR}
%create = load ptr, ptr %pcreate
%error = alloca {arguments}
store {arguments} {{ i64 32, ptr null, ptr @message, i32 {_EXHAUSTED} }}, ptr %error
%failure = call ptr %create(ptr %error)
ret ptr %failure
go:
%above = getelementptr i8, ptr %memory, i64 {ALIGNMENT}
%place = ptrtoint ptr %above to i64
%whole = and i64 %place, {-ALIGNMENT}
%aligned = inttoptr i64 %whole to ptr
%pwork = getelementptr ptr, ptr %inputs, i64 {inputs}
store ptr %aligned, ptr %pwork
"""
    return definitions, taken, "call void @free(ptr %memory)\n"


def _gathered(source: str, target: str, count: int) -> str:
    return "\n".join(
        f"""%{source}{k} = getelementptr ptr, ptr %{source}, i64 {k}
%{source}b{k} = load ptr, ptr %{source}{k}
%{source}d{k} = getelementptr i8, ptr %{source}b{k}, i64 {_DATA}
%{source}p{k} = load ptr, ptr %{source}d{k}
%{target}s{k} = getelementptr ptr, ptr %{target}, i64 {k}
store ptr %{source}p{k}, ptr %{target}s{k}"""
        for k in range(count)
    )
