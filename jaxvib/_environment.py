"""The one place where jaxvib sets up JAX: float64 from here on, and enough threads."""

import os
import re
import sys
import time
import warnings

BEGUN = time.time()  # jaxvib's modules are read from here on
_BROKEN = re.compile(r"Error reading persistent compilation cache entry for '([^']+)'")


def use_float64() -> None:
    """Switch 64-bit numbers on, whether JAX has been imported already or not.

    Contacts last a thousandth of a period and press bodies into each other by a ten
    thousandth of their travel: in float32 nothing would be left of the force.
    """
    if "jax" in sys.modules:
        sys.modules["jax"].config.update("jax_enable_x64", True)
    else:
        os.environ["JAX_ENABLE_X64"] = "1"  # read by JAX when it is imported


def require_float64() -> None:
    """Raise `ValueError` if float64 was switched off after jaxvib had switched it on.

    In float32 a solver would blame its tolerance, its steps or its start.
    """
    if not sys.modules["jax"].config.jax_enable_x64:
        raise ValueError(
            "jax_enable_x64 = False, so that all numbers are float32; allowed: True, by "
            'jax.config.update("jax_enable_x64", True)'
        )


def use_enough_threads() -> None:
    """Give XLA's pool more threads than matrices can keep waiting at the same time.

    Up to jaxlib 0.11.0, batches of 2^15 numbers and more are factorised in pieces by the
    pool, and who asked waits in a thread of the pool itself: as many at once as there are
    threads, one on each core, wait forever. Later ones, on Python 3.12 or later, do not
    share them out. To be called before JAX has looked for devices; a number of threads
    given by `NPROC` is kept.
    """
    if sys.version_info < (3, 12):
        os.environ.setdefault("NPROC", str(8 * (os.cpu_count() or 1)))


def use_compilation_cache() -> None:
    """Let JAX keep compiled programs from one process to the next, per user.

    To be called before JAX is imported. A folder given by `JAX_COMPILATION_CACHE_DIR`
    is used instead.
    """
    # With its checks as callbacks into Python, equinox's programs are not kept by JAX
    # 0.10. As NaN, a failed check becomes a reason code like any other NaN.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        from ._cache import programs_folder

        folder = programs_folder()
        if folder is None:
            return  # nothing can be written anywhere: compiled anew each time
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    _replace_broken_programs()


def keep_programs() -> None:
    """Let JAX keep what it compiles for more than a tenth of a second, in Python too.

    To be called once JAX is imported. Where the user has chosen a folder, or none by
    `JAX_ENABLE_COMPILATION_CACHE=false`, nothing changes.
    """
    config = sys.modules["jax"].config
    if config.jax_compilation_cache_dir or not config.jax_enable_compilation_cache:
        return
    from ._cache import programs_folder

    folder = programs_folder()
    if folder is None:
        return  # nothing can be written anywhere: compiled anew each time
    config.update("jax_compilation_cache_dir", str(folder))
    config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def _replace_broken_programs() -> None:
    # JAX warns of an entry that it cannot read, compiles anew and keeps the broken one,
    # to warn of it for ever. Removed at the warning, it is replaced by what is compiled.
    show = warnings.showwarning

    def remove_or_show(message, category, filename, lineno, file=None, line=None):
        found = _BROKEN.match(str(message))
        if found is None or not _removed(found[1]):
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = remove_or_show  # ty: ignore


def _removed(program: str) -> bool:
    import pathlib

    folder = pathlib.Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    entries = [
        entry
        for entry in folder.glob("*-cache")
        if entry.name == f"{program}-cache" or entry.name.startswith(f"{program}-")
    ]
    try:
        for entry in entries:
            entry.unlink(missing_ok=True)
    except OSError:
        return False
    return bool(entries)
