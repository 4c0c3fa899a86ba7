"""Selects the device of a study."""

import jax


def choose(wanted: str) -> tuple[str, str]:
    """Return a device's name and its description, for `auto`, `cpu` or `gpu`.

    Call it before any computation. **Raises:** `ValueError` for `gpu` if JAX finds
    none.
    """
    if wanted == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif wanted == "gpu" and not has_gpu():
        raise ValueError('run.device = "gpu", but JAX finds no GPU; allowed: "auto", "cpu"')
    if wanted == "cpu" or not has_gpu():
        note = "" if wanted == "cpu" else " (no GPU found)"
        return "cpu", f"CPU{note}"
    kind = jax.devices("gpu")[0].device_kind
    return kind, f"GPU ({kind})"


def has_gpu() -> bool:
    """Return whether JAX finds a GPU."""
    return jax.default_backend() in ("gpu", "cuda", "rocm")
