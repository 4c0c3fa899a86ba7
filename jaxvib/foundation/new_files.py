"""Writing of new files, all or none."""

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_new(files: Mapping[Path, Any]) -> None:
    """Write new files under temporary names, renamed once all are on the disk.

    **Arguments:** `files`: the bytes of each file, or a function that writes them to a
    stream; their folders are created if needed. **Raises:** `ValueError` if a name is
    taken; `OSError` if writing fails, which leaves nothing behind.
    """
    refuse_taken(files)
    key = secrets.token_hex(4)  # unique to this process
    temporary = {file: file.with_name(f".{file.name[:200]}.{key}.new") for file in files}
    named: list[Path] = []
    try:
        for file, content in files.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            with temporary[file].open("xb") as stream:
                if callable(content):
                    content(stream)
                else:
                    stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        refuse_taken(files)
        for file, path in temporary.items():
            path.rename(file)
            named.append(file)
    except BaseException:
        for path in (*temporary.values(), *named):
            path.unlink(missing_ok=True)
        raise


def refuse_taken(files: Iterable[Path]) -> None:
    """Raise `ValueError` for a file that exists, or in the place of a folder."""
    for file in files:
        if file.parent.exists() and not file.parent.is_dir():
            raise ValueError(f"{file.parent} is a file; allowed: a folder")
        if os.path.lexists(file):
            raise ValueError(f"{file} already exists; choose a new name")
