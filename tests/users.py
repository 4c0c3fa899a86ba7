"""The environment of someone who has never run jaxvib before."""

import os
from pathlib import Path


def newcomer(cache: str | Path, **more: str) -> dict[str, str]:
    """Return this process's environment with an own folder for what is compiled."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE"))
    }
    return {**inherited, "XDG_CACHE_HOME": str(cache), **more}
