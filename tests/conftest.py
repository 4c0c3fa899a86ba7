"""How the whole suite runs: strict types and ranks, no deadline, the same examples."""

import dataclasses
import gc
import inspect
import os
import re
import tempfile
from pathlib import Path

import jaxtyping

_with_shapes = jaxtyping.jaxtyped


def _checked(*, typechecker):
    """Return a decorator that checks the annotations of a function or dataclass.

    jaxtyping opens a scope of shapes for each call, which takes longer than most
    functions: functions and dataclasses whose annotations have no shapes get the
    typechecker alone, functions without annotations nothing.
    """

    def decorate(thing):
        if dataclasses.is_dataclass(thing) and not hasattr(thing.__init__, "__wrapped__"):
            thing.__init__ = decorate(thing.__init__)  # written by `dataclass`
        if not inspect.isfunction(thing) or not thing.__annotations__:
            return thing
        if _has_shapes(thing):
            return _with_shapes(typechecker(thing), typechecker=None)
        return typechecker(thing)

    return decorate


def _has_shapes(function) -> bool:
    """Return whether an annotation, which may be a string, has a name of jaxtyping."""
    parts = []
    for annotation in function.__annotations__.values():
        names = re.findall(r"\w+", annotation) if isinstance(annotation, str) else ()
        parts += [annotation, *(function.__globals__.get(name) for name in names)]
    return any("jaxtyping" in repr(part) for part in parts)


# The import hook of --jaxtyping-packages looks it up by this name.
jaxtyping.jaxtyped = _checked

# Most of a test's time is compilation. All workers and processes of a run share compiled
# programs; a folder given by the environment keeps them for later runs.
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
    """Keep what is imported out of all later collections of garbage.

    Tracing makes many objects and little garbage: a collection of all of them per 700
    new ones, the default, takes a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)


# Every compiled program is a few mappings of memory, of which Linux allows a process 65530;
# beyond them compilation ends in a segmentation fault.
_MOST_MAPPINGS = 30_000


@pytest.fixture(autouse=True, scope="module")
def few_mappings():
    """Clear JAX's caches when a long run has too many compiled programs."""
    yield
    mappings = Path("/proc/self/maps")
    if mappings.exists() and len(mappings.read_text().splitlines()) > _MOST_MAPPINGS:
        jax.clear_caches()
