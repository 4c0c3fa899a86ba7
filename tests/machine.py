"""How slow the machine is on which the tests run, and what else runs on it now."""

import subprocess
import sys
import time

_IMPORT = 0.9  # seconds in which the machines that the limits were chosen on import JAX


def slowness() -> float:
    """Return how many times longer than there `import jax` takes now, 1 at least.

    A limit of seconds times this is as strict on a slow or busy machine as on those.
    """
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import jax"], check=True)
    return max(1.0, (time.perf_counter() - began) / _IMPORT)
