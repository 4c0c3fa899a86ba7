"""How the whole suite runs: strict types and ranks, no deadline, the same examples."""

from pathlib import Path

import hypothesis
import jax
import pytest

import jaxvib  # noqa: F401  (float64 is on from here)

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("fixed")

# Every compiled program is a few mappings of memory, of which Linux allows a process 65530;
# beyond them compilation ends in a segmentation fault.
_MOST_MAPPINGS = 30_000


@pytest.fixture(autouse=True, scope="module")
def few_mappings():
    """Let go of compiled programs when a long run has gathered too many."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and len(mappings.read_text().splitlines()) > _MOST_MAPPINGS:
        jax.clear_caches()
