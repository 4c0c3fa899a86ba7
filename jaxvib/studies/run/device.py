"""Selects the device of a study."""

import os

import jax

from ...kernels.gpu.device_choice import VARIABLE, mode
from ...kernels.gpu.driver import DriverError, driver


def choose(requested: str) -> tuple[str, str]:
    """Return a device's name and its description, for `auto`, `cpu` or `gpu`.

    The name is that of JAX's device, on which bits depend; those of kernels do not. Call
    it before any computation. **Raises:** `ValueError` for `gpu` if there is none.
    """
    if requested == "cpu":
        jax.config.update("jax_platforms", "cpu")
        os.environ[VARIABLE] = "cpu"
        return "cpu", "CPU"
    if has_gpu():
        kind = jax.devices("gpu")[0].device_kind
        return kind, f"GPU ({kind})"
    try:
        name = driver().devices[0].identity
    except DriverError:
        name = ""
    if name and mode() != "cpu":
        return "cpu", f"CPU; long calls of kernels on {name}"
    if requested == "gpu":
        raise ValueError('run.device = "gpu", but JAX finds no GPU; allowed: "auto", "cpu"')
    return "cpu", "CPU (no GPU found)"


def has_gpu() -> bool:
    """Return whether JAX finds a GPU."""
    return jax.default_backend() in ("gpu", "cuda", "rocm")
