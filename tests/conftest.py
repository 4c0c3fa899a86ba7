"""How the whole suite runs: strict types and ranks, no deadline, the same examples."""

import gc
import inspect
import os
import tempfile
from pathlib import Path

import jaxtyping

_with_shapes = jaxtyping.jaxtyped


def _checked(*, typechecker):
    """Decorate with what checks the types that a function says.

    Shapes of a call are told apart from those of the call that it stands in, which takes
    longer than most functions do: those that say none go by the typechecker alone, and
    those that say nothing have nothing to be checked.
    """

    def decorate(thing):
        if not inspect.isfunction(thing):
            return _with_shapes(thing, typechecker=typechecker)
        said = thing.__annotations__.values()
        if any(map(_may_say_shapes, said)):
            return _with_shapes(thing, typechecker=typechecker)
        return typechecker(thing) if said else thing

    return decorate


def _may_say_shapes(annotation) -> bool:
    if isinstance(annotation, str):  # of what stands further below
        return "[" in annotation
    return "jaxtyping" in repr(annotation)


# By this name the modules of --jaxtyping-packages find it.
jaxtyping.jaxtyped = _checked

# Most of a test's time is the compiler's. What one worker or process has compiled serves
# all others of the run; a folder that is given lasts from run to run.
_PROGRAMS = tempfile.TemporaryDirectory(prefix="jaxvib-programs-")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", _PROGRAMS.name)

from jaxvib.foundation.environment import use_compilation_cache  # noqa: E402  (float64 from here)

use_compilation_cache()

import hypothesis  # noqa: E402
import jax  # noqa: E402
import pytest  # noqa: E402

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("fixed")


def pytest_collection_finish():
    """Keep what is imported out of all later collections of garbage."""
    gc.collect()
    gc.freeze()


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
