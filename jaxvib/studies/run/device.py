"""Which device a study runs on."""

import jax


def choose(wanted: str) -> tuple[str, str]:
    """Return a device's name and a line about it, for `auto`, `cpu` or `gpu`.

    To be called before anything is computed. **Raises:** `ValueError` for `gpu` where
    JAX finds none.
    """
    if wanted == "cpu":
        jax.config.update("jax_platforms", "cpu")
    elif wanted == "gpu" and not has_gpu():
        raise ValueError(
            'run.device = "gpu", and JAX finds no GPU here; allowed here: "auto", "cpu"'
        )
    if wanted == "cpu" or not has_gpu():
        note = "" if wanted == "cpu" else " (no GPU found)"
        return "cpu", f"CPU{note}"
    kind = jax.devices("gpu")[0].device_kind
    return kind, f"GPU ({kind})"


def has_gpu() -> bool:
    """Return whether JAX finds a GPU."""
    return jax.default_backend() in ("gpu", "cuda", "rocm")
