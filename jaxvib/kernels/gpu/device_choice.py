"""Where the lanes of a program run: on the GPUs of this machine, or on its CPU."""

import hashlib
import importlib.metadata
import logging
import os
import threading
import zlib
from collections.abc import Callable, Sequence

import jax
import numpy as np

from ...foundation.cache import read_entry, write_entry
from ..cache.code_digest import code_digest
from ..ir.assembler import LoweringError
from ..lower.cost_estimate import SHORT
from ..lower.lowering import Program
from .device_check import LANES, UNFINISHED, Subject, Verdict, seconds_per_lane, verdict
from .device_lanes import run_lanes
from .driver import Device, DriverError, LoadedProgram, driver
from .ptx import DeviceProgram, device_program

# Decides by hand: "kernels" launches them without a check, "xla" leaves all to XLA,
# "cpu" uses no GPU.
VARIABLE = "JAXVIB_GPU"
_MODES = ("", "kernels", "xla", "cpu")
# Processor and driver of programs that are lowered for the GPU of another machine.
_OLDEST = ("sm_75", 12000)
# Estimated seconds on the CPU that are worth a check, which takes a few.
WORTH = 1.0
# This process's programs by their keys: name, GPUs that launch it, and why none does.
_DECIDED: dict[str, tuple[str, tuple[str, ...], str]] = {}
_LOG = logging.getLogger("jaxvib")


def computed_on() -> str:
    """Return where the kernels of this process ran, in words."""
    if mode() in ("cpu", "xla"):
        return f"{VARIABLE} = {mode()}"
    decided = sorted(set(_DECIDED.values()))
    launched = [(name, gpus) for name, gpus, reason in decided if not reason]
    others = [f"{name} ({reason})" for name, _, reason in decided if reason]
    if not launched:
        return "; ".join(["CPU", *others])
    names = ", ".join(name for name, _ in launched)
    gpus = ", ".join(dict.fromkeys(gpu for _, gpus in launched for gpu in gpus))
    return "; ".join([f"{names} on {gpus}", "all others on the CPU", *others])


def mode() -> str:
    """Return what the user chose, "" for nothing. **Raises:** `ValueError`."""
    given = os.environ.get(VARIABLE, "")
    if given not in _MODES:
        allowed = ", ".join(filter(None, _MODES))
        raise ValueError(f"{VARIABLE} = {given!r}; allowed: {allowed}")
    return given


def by_xla() -> bool:
    """Return whether the user leaves all lanes to XLA, which has a GPU."""
    return mode() == "xla" and jax.default_backend() != "cpu"


def _jax_has_gpu() -> bool:
    """Return whether JAX has a plugin for NVIDIA's GPUs and would take it first.

    JAX itself is not asked: its client takes most of the GPU's memory for itself.
    """
    platforms = jax.config.jax_platforms  # ty: ignore[missing-attribute]
    plugins = importlib.metadata.entry_points(group="jax_plugins")
    first = not platforms or platforms.split(",")[0] in ("cuda", "gpu")
    return first and any(plugin.name.startswith("xla_cuda") for plugin in plugins)


class DeviceChoice:
    """The choice for one program, made by its first long call.

    **Arguments:** `name`: of its function; `program`: the CPU's; `jaxpr`: returns that of
    one lane. **Fields:** `reason`: why the GPUs are not used, "" if they are.
    """

    def __init__(self, name: str, program: Program, jaxpr: Callable):
        self._name, self._program, self._jaxpr = name, program, jaxpr
        self._lock = threading.Lock()
        self._each = 0.0  # s of a lane on all cores
        self._waited = 0.0  # s that calls took so far, estimated
        self._launched: list[LoadedProgram] | None = None  # not known before a check
        self._least = 0
        self._in_xla = "no call of `map` was long enough for a check"
        self._reason = self._in_xla

    @property
    def reason(self) -> str:
        """Why no lanes are launched on a GPU, "" if they are."""
        if mode() in ("cpu", "xla"):
            return f"{VARIABLE} = {mode()}"
        try:
            driver()
        except DriverError as error:
            return str(error)
        return self._reason

    def map(self, arrays: Sequence[np.ndarray], on_cpu: Callable) -> list | None:
        """Return results of lanes, the last axes, by GPUs; `None`: they are the CPU's.

        `on_cpu(arrays)`: the results on the CPU, to compare with.
        """
        if not self.uses_gpus(arrays, on_cpu):
            return None
        assert self._launched is not None
        try:
            return run_lanes(self._launched, arrays)
        except DriverError as error:
            self._launched, self._reason = [], str(error)
            self._note()
            _LOG.warning(
                "jaxvib: %s failed on the GPU: %s; it runs on the CPU until this process "
                "ends", self._name, self._reason,
            )  # fmt: skip
            return None

    def uses_gpus(self, arrays: Sequence[np.ndarray], on_cpu: Callable) -> bool:
        """Return whether these lanes belong on GPUs, after a check if it is due."""
        if mode() in ("cpu", "xla"):
            return False
        try:
            devices = driver().devices
        except DriverError:
            return False
        lanes = arrays[0].shape[-1]
        with self._lock:
            if self._launched is None:
                if mode() != "kernels" and not self._is_worth(arrays, on_cpu):
                    return False
                self._decide(devices, arrays, on_cpu)
        return bool(self._launched) and lanes >= self._least

    def in_xla(self) -> DeviceProgram | None:
        """Return the program to launch inside XLA's programs for CUDA, if it may be.

        Where launches are chosen by hand and this machine has no GPU, the program is for
        the oldest ones: it is exported for another machine.
        """
        if mode() in ("cpu", "xla") or (mode() != "kernels" and self._in_xla):
            return None
        try:
            target = _target(driver().devices[0])
        except DriverError:
            target = _OLDEST
        if not target[0]:
            return None
        try:
            ptx = self._ptx(target)
        except LoweringError:
            return None
        return DeviceProgram(ptx, self._program.signature)

    def _is_worth(self, arrays, on_cpu) -> bool:
        """Return whether the calls so far take long enough for a check."""
        if not self._each:
            self._each = seconds_per_lane(_few(arrays), on_cpu)
        self._waited += self._each * arrays[0].shape[-1]
        return self._waited >= WORTH

    def _decide(self, devices: Sequence[Device], arrays, on_cpu) -> None:
        found = [self._verdict(k, each, arrays, on_cpu) for k, each in enumerate(devices)]
        if any(each.reason == UNFINISHED for each in found):
            # Another process makes the check: the next call looks again.
            self._reason = UNFINISHED
            self._note()
            return
        self._in_xla = found[0].in_xla
        self._reason = next((each.reason for each in found if not each.launched), "")
        used = [pair for pair in zip(devices, found, strict=True) if pair[1].launched]
        if used:
            self._reason = ""
        self._least = max((each.least for _, each in used), default=0)
        self._launched = [
            LoadedProgram(
                self._ptx(_target(device)), self._program.signature, device, each.rate
            )
            for device, each in used
        ]
        self._note()

    def _note(self) -> None:
        gpus = tuple(each.device.identity for each in self._launched or ())
        _DECIDED[self._program.key] = self._name, gpus, self._reason

    def _verdict(self, ordinal: int, device: Device, arrays, on_cpu) -> Verdict:
        if not device.processor:
            return Verdict(False, "its compute capability is below 7.0")
        try:
            ptx = self._ptx(_target(device))
        except LoweringError as error:
            return Verdict(False, str(error))
        if mode() == "kernels":
            return Verdict(True, "", rate=np.inf, in_xla="")
        signature = self._program.signature
        subject = Subject(self._name, ptx, signature, device, ordinal)
        in_xla = ordinal == 0 and _jax_has_gpu()
        return verdict(subject, _few(arrays), on_cpu, in_xla=in_xla)

    def _ptx(self, target: tuple[str, int]) -> str:
        """Return the PTX for a processor and a driver, from the cache or lowered."""
        code = code_digest()
        text = f"{self._program.key} {target} {code!r}"
        entry = f"kernels/{hashlib.sha256(text.encode()).hexdigest()}.ptx"
        kept = None if code is None else read_entry(entry)
        if kept is not None:
            return zlib.decompress(kept).decode()
        short = SHORT if self._program.workspace else None
        ptx = device_program(self._jaxpr(), *target, short=short).ptx
        if code is not None:
            write_entry(entry, zlib.compress(ptx.encode(), 1))
        return ptx


def _target(device: Device) -> tuple[str, int]:
    """Return the processor and the version of the driver."""
    return device.processor, device.driver.version


def _few(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return lanes for a check, from all parts of the arrays."""
    lanes = np.linspace(0, arrays[0].shape[-1] - 1, LANES).astype(int)
    return [np.ascontiguousarray(array[..., lanes]) for array in arrays]
