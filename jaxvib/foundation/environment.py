"""JAX configuration: float64, thread pool size and compilation cache."""

import contextlib
import os
import re
import sys
import time
import warnings

BEGUN = time.time()  # before jaxvib's modules are read
_BROKEN = re.compile(r"Error reading persistent compilation cache entry for '([^']+)'")


def use_float64() -> None:
    """Enable 64-bit numbers, before or after the import of JAX.

    Contacts last a thousandth of a period and penetrate by a ten thousandth of the
    travel: in float32 the contact force would be lost to rounding.
    """
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", True)
    else:
        os.environ["JAX_ENABLE_X64"] = "1"  # read by JAX when it is imported


def has_float64() -> bool:
    """Return whether JAX has float64 numbers."""
    return sys.modules["jax"].config.jax_enable_x64


def require_float64() -> None:
    """Raise `ValueError` if float64 was disabled after jaxvib had enabled it.

    In float32 a solver would blame its tolerance, its step size or its initial guess.
    """
    if not has_float64():
        raise ValueError(
            "jax_enable_x64 = False, so that all numbers are float32; allowed: True, by "
            'jax.config.update("jax_enable_x64", True)'
        )


def use_enough_threads() -> None:
    """Give XLA's pool more threads than factorisations can block at the same time.

    Up to jaxlib 0.11.0, the pool factorises batches of 2^15 numbers and more in pieces,
    and the caller waits in a thread of the same pool: with one caller per thread, and
    one thread per core, all wait forever. Later versions, on Python 3.12 or later, do
    not split batches. To be called before JAX initialises its devices; a number of
    threads set by `NPROC` is kept.
    """
    if sys.version_info < (3, 12):
        os.environ.setdefault("NPROC", str(8 * (os.cpu_count() or 1)))


def use_compilation_cache() -> None:
    """Enable JAX's persistent compilation cache, per user.

    To be called before JAX is imported. `JAX_COMPILATION_CACHE_DIR` has precedence.
    """
    # JAX 0.10 does not cache equinox's programs if their checks are Python callbacks.
    # As NaN, a failed check becomes a reason code like any other NaN.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        from .cache import programs_folder

        folder = programs_folder()
        if folder is None:
            return  # no writable folder: no cache
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    _replace_broken_programs()


def keep_programs() -> None:
    """Cache what takes JAX more than 0.1 s to compile, also in Python sessions.

    To be called after the import of JAX. Does nothing if the user has chosen a folder,
    or none by `JAX_ENABLE_COMPILATION_CACHE=false`.
    """
    config = sys.modules["jax"].config
    if config.jax_compilation_cache_dir or not config.jax_enable_compilation_cache:
        return
    from .cache import programs_folder

    folder = programs_folder()
    if folder is None:
        return  # no writable folder: no cache
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def _replace_broken_programs() -> None:
    # JAX warns of an unreadable entry, recompiles and keeps the broken entry, and so
    # warns for ever. Removed at the first warning, it is replaced by the new program.
    show = warnings.showwarning

    def remove_or_show(message, category, filename, lineno, file=None, line=None):
        found = _BROKEN.match(str(message))
        if found is None or not _removed(found[1]):
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = remove_or_show  # ty: ignore


def _removed(program: str) -> bool:
    folder = os.environ["JAX_COMPILATION_CACHE_DIR"]
    own = re.compile(rf"{re.escape(program)}-(.*-)?cache")
    entries = [name for name in os.listdir(folder) if own.fullmatch(name)]
    try:
        for name in entries:
            with contextlib.suppress(FileNotFoundError):  # by another process
                os.unlink(os.path.join(folder, name))
    except OSError:
        return False
    return bool(entries)
