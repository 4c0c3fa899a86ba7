"""Writing of files into a folder, all or none."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_new(directory: Path, files: Mapping[str, bytes]) -> Path:
    """Write new files into a folder, created if needed, and return the folder.

    If one cannot be written, those written before are removed. **Raises:** `ValueError`
    if a file exists; `OSError` if writing fails.
    """
    refuse_taken(directory, files)
    directory.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    try:
        for name, content in files.items():
            path = directory / name
            with path.open("xb") as file:
                written.append(path)
                file.write(content)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return directory


def refuse_taken(directory: Path, names: Iterable[str]) -> None:
    """Raise `ValueError` for a file that exists, or in the place of the folder."""
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{directory} is a file; allowed: a folder")
    for name in names:
        if os.path.lexists(directory / name):
            raise ValueError(f"{directory / name} already exists; choose a new name")
