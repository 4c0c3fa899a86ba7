"""Whether a GPU computes a program as the CPU does, tried once and remembered.

A process of its own launches 256 lanes and compares their bits with the CPU's: a crash,
a hang or a lost device ends there. The verdict is kept beside the machine code, for the
GPU, its driver, the CPU's cores, the versions of jaxvib, llvmlite and jaxlib, and the
program.
"""

import hashlib
import importlib.metadata
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...foundation.cache import cache_folder, read_entry, remove_entry, write_entry
from ...foundation.machine import usable_cores
from ..lower.lowering import Signature
from .driver import Device

LANES = 256  # of a trial: every thread of two blocks, and milliseconds of the CPU
# Seconds of a trial: NVIDIA's compiler needs some ten for the longest programs.
LIMIT = 120.0
# Lanes whose time on the CPU is taken: whole vectors, few beside those of a long call.
_TIMED = 16
XLA_FAILURE = "XLA_FAILURE"  # any but too little memory
# Failures that a program has each time, by CUDA's names. All others, such as too little
# memory, depend on what else runs on the machine: their verdicts are not kept.
_LASTING = {XLA_FAILURE} | {
    f"CUDA_ERROR_{name}"
    for name in (
        "ILLEGAL_ADDRESS", "ILLEGAL_INSTRUCTION", "INVALID_ADDRESS_SPACE",
        "INVALID_IMAGE", "INVALID_PC", "INVALID_PTX", "INVALID_VALUE", "LAUNCH_FAILED",
        "LAUNCH_OUT_OF_RESOURCES", "LAUNCH_TIMEOUT", "MISALIGNED_ADDRESS",
        "NO_BINARY_FOR_GPU", "UNSUPPORTED_PTX_VERSION",
    )
}  # fmt: skip
# Signals that others send, such as Ctrl-C and the end of a job.
_FROM_OUTSIDE = ("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")
UNFINISHED = (
    "its check was not finished, or another process makes it now; `jaxvib cache clear` "
    "lets it be repeated"
)
_UNTRIED = "it was not tried there"
_KIND = ".verdict"  # suffix of kept verdicts
_LOG = logging.getLogger("jaxvib")


class Trial(NamedTuple):
    """A program, the number of a GPU, and lanes; in XLA's program or by the driver."""

    ptx: str
    signature: Signature
    ordinal: int
    arrays: list[np.ndarray]
    in_xla: bool = False


class Outcome(NamedTuple):
    """The lanes' results, the seconds of their launch, and the lanes/s of a full GPU.

    `repeated`: whether launches of the same lanes many times over gave the same bits.
    """

    results: list[np.ndarray]
    seconds: float
    rate: float
    repeated: bool = True


class Verdict(NamedTuple):
    """Whether a program is launched on a GPU.

    **Fields:** `launched`; `reason`: why, in words; `least`: lanes from which the GPU is
    faster; `rate`: its lanes/s; `program`, `device`: their names; `in_xla`: why it is
    not launched inside XLA's programs, "" if it is; `kept`: whether it holds for later
    processes; of an unfinished check `boot`, the machine's start, and `begun`, its time.
    """

    launched: bool
    reason: str
    least: int = 0
    rate: float = 0.0
    program: str = ""
    device: str = ""
    in_xla: str = _UNTRIED
    kept: bool = True
    boot: str = ""
    begun: float = 0.0

    @property
    def is_abandoned(self) -> bool:
        """Whether its process ended during the check, and the machine did not."""
        late = time.time() - self.begun > 3 * LIMIT
        return self.reason == UNFINISHED and self.boot == _boot() != "" and late


class Subject(NamedTuple):
    """A program and the GPU that it is to run on, by its number."""

    name: str
    ptx: str
    signature: Signature
    device: Device
    ordinal: int

    @property
    def entry(self) -> str:
        """The name of the verdict in the cache."""
        # Of the package above, which this floor does not import.
        jaxvib = sys.modules["jaxvib"].__version__
        versions = f"jaxvib {jaxvib} cores {usable_cores()}"
        for name in ("llvmlite", "jaxlib"):
            versions += f" {name} {importlib.metadata.version(name)}"
        text = f"{self.device.identity}\n{versions}\n{self.ptx}"
        return f"kernels/{hashlib.sha256(text.encode()).hexdigest()}{_KIND}"


def verdict(
    subject: Subject,
    arrays: Sequence[np.ndarray],
    on_cpu: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]],
    *,
    in_xla: bool,
) -> Verdict:
    """Return the kept verdict, or try the program on these lanes, the last axes.

    `in_xla`: whether to try it inside XLA's programs too.
    """
    entry = subject.entry
    kept = _read(entry)
    if kept is not None and not kept.is_abandoned:
        if in_xla and kept.launched and kept.in_xla == _UNTRIED:
            kept = kept._replace(in_xla=_tried_in_xla(subject, arrays, on_cpu))
            _write(entry, kept)
        return kept
    name, device = subject.name, subject.device.identity
    _LOG.warning("jaxvib: checking %s on %s, once, for at most %g s", name, device, LIMIT)
    unfinished = Verdict(
        False, UNFINISHED, program=name, device=device, boot=_boot(), begun=time.time()
    )
    # Kept before the launch, lest a machine that goes down with it tries again.
    _write(entry, unfinished)
    try:
        found = _tried(subject, arrays, on_cpu)
        if found.launched and in_xla:
            found = found._replace(in_xla=_tried_in_xla(subject, arrays, on_cpu))
    except BaseException:
        remove_entry(entry)
        raise
    found = found._replace(program=name, device=device)
    if found.kept:
        _write(entry, found)
    else:
        remove_entry(entry)
    end = "is launched there" if found.launched else "runs on the CPU"
    _LOG.warning("jaxvib: %s %s: %s", name, end, found.reason)
    return found


def seconds_per_lane(arrays: Sequence[np.ndarray], on_cpu: Callable) -> float:
    """Return the time of a lane on all cores, s, the least of three calls."""
    best = np.inf
    arrays = [np.ascontiguousarray(array[..., :: LANES // _TIMED]) for array in arrays]
    for number in range(3):
        begin = time.perf_counter()
        on_cpu(arrays)
        best = min(best, time.perf_counter() - begin)
        if number and best > 0.01:  # the first call compiles
            break
    # So few lanes run on one core.
    return best / arrays[0].shape[-1] / usable_cores()


def verdicts() -> list[Verdict]:
    """Return all kept verdicts."""
    folder = cache_folder("kernels")
    names = [] if folder is None else sorted(path.name for path in folder.glob(f"*{_KIND}"))
    found = [_read(f"kernels/{name}") for name in names]
    return [each for each in found if each is not None]


def _read(entry: str) -> Verdict | None:
    content = read_entry(entry)
    return (
        None if content is None else Verdict(*json.loads(content)[: len(Verdict._fields)])
    )


def _write(entry: str, found: Verdict) -> None:
    write_entry(entry, json.dumps(found).encode())


def _tried(subject: Subject, arrays, on_cpu) -> Verdict:
    lanes, each = arrays[0].shape[-1], seconds_per_lane(arrays, on_cpu)
    outcome = _asked(Trial(subject.ptx, subject.signature, subject.ordinal, list(arrays)))
    if isinstance(outcome, Verdict):
        return outcome
    if different := difference(outcome.results, on_cpu(arrays)):
        return Verdict(False, different)
    if not outcome.repeated:
        return Verdict(False, "lanes have other bits in a longer launch")
    times = outcome.rate * each
    if times < 1:
        return Verdict(False, f"the GPU is {times:.2g} times as fast as the CPU")
    least = int(np.ceil(outcome.seconds / each))
    reason = (
        f"{lanes} lanes have the CPU's bits; {times:.2g} times as fast as the CPU, "
        f"faster from {least} lanes on"
    )
    return Verdict(True, reason, least, outcome.rate)


def _tried_in_xla(subject: Subject, arrays, on_cpu) -> str:
    trial = Trial(subject.ptx, subject.signature, subject.ordinal, list(arrays), True)
    outcome = _asked(trial)
    if isinstance(outcome, Verdict):
        return outcome.reason if outcome.kept else _UNTRIED
    return difference(outcome.results, on_cpu(arrays))


def difference(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> str:
    """Return which lanes differ in a bit, "" for none; all NaN are one."""
    lanes = wanted[0].shape[-1]
    wrong = np.zeros(lanes, bool)
    for one, other in zip(found, wanted, strict=True):
        same = one.view(f"u{one.itemsize}") == other.view(f"u{other.itemsize}")
        if one.dtype.kind == "f":
            same |= np.isnan(one) & np.isnan(other)
        wrong |= ~same.reshape(-1, lanes).all(axis=0)
    if not wrong.any():
        return ""
    number, first = wrong.sum(), wrong.argmax()
    return f"{number} of {lanes} lanes have other bits than on the CPU, first lane {first}"


def _asked(trial: Trial) -> Outcome | Verdict:
    """Return the outcome of a trial in another process, or why there is none."""
    command = [sys.executable, "-P", "-m", "jaxvib.kernels.gpu.device_trial"]
    if not sys.executable or getattr(sys, "frozen", False):
        return Verdict(False, "there is no Python to check it with", kept=False)
    # The other process shares the GPU's memory with this one, and makes no checks.
    environment = os.environ | {
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAXVIB_GPU": "cpu"
    }  # fmt: skip
    try:
        folder = tempfile.TemporaryDirectory()
    except OSError as error:
        return Verdict(False, f"no folder for its check: {error}", kept=False)
    with folder as name:
        folder = Path(name)
        try:
            (folder / "given").write_bytes(pickle.dumps(trial))
            code, said = _ended([*command, name], environment)
        except OSError as error:
            return Verdict(False, f"no process could be started: {error}", kept=False)
        except subprocess.TimeoutExpired:
            return Verdict(False, f"its launch did not end in {LIMIT:g} s")
        if not 0 <= code < 256:  # Windows: the code of an exception
            ended = _signal(-code)
            if ended in _FROM_OUTSIDE:
                reason = f"it is not proved: {ended} from outside ended its check"
                return Verdict(False, reason, kept=False)
            return Verdict(False, f"its launch ended by {ended}")
        error = folder / "error"
        if error.exists():
            short, _, message = error.read_text(encoding="utf-8").partition("\n")
            return Verdict(False, message, kept=short in _LASTING)
        if code:
            said = said.strip().splitlines() or ["nothing"]
            return Verdict(False, f"its launch failed: {said[-1][:200]}", kept=False)
        return pickle.loads((folder / "found").read_bytes())


def _ended(command: Sequence[str], environment: dict[str, str]) -> tuple[int, str]:
    """Return the code and the errors of a process that has ended, or is ended."""
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=nothing, stdout=nothing, stderr=pipe
    ) as process:
        try:
            _, said = process.communicate(timeout=LIMIT)
        except BaseException:  # of Ctrl-C too, after which `subprocess.run` does not wait
            process.kill()
            process.wait()
            raise
    return process.returncode, said.decode(errors="replace")


def _boot() -> str:
    """Return what identifies the machine's last start, "" if nothing is known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
