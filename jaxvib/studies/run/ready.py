"""The ready studies that come with jaxvib: `configs/`."""

import re
import tomllib
from pathlib import Path

from ..._nearest import unknown_key

_PACKAGE = Path(__file__).parents[2]
_DATA = re.compile(r'\bdata = "([\w.]+)"')


def folder() -> Path:
    """Return the folder of the ready studies: in the package, or beside it."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


def titles() -> dict[str, str]:
    """Return the title of each ready study by its name."""
    files = sorted(folder().glob("*.toml"))
    return {file.stem: tomllib.loads(file.read_text("utf-8"))["title"] for file in files}


def find(config: str) -> Path:
    """Return the file that is meant by a path or by the name of a ready study.

    **Raises:** `ValueError` for a plain name that is neither, with the nearest study's.
    """
    path = Path(config)
    ready = folder() / f"{config}.toml"
    if path.exists() or path.name != config or path.suffix:
        return path
    if not ready.exists():
        raise ValueError(f"{unknown_key('study', config, titles())}; no such file either")
    return ready


def by_system() -> dict[str, dict[str, str]]:
    """Return the titles of the ready studies by the kind of their system."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted(folder().glob("*.toml")):
        tables = tomllib.loads(file.read_text("utf-8"))
        found.setdefault(tables["system"]["kind"], {})[file.stem] = tables["title"]
    return found


def copy(name: str, file: Path) -> Path:
    """Copy a ready study to a file of one's own, and what it reads beside it.

    **Raises:** `ValueError` for an unknown name or a file that exists.
    """
    known = titles()
    name = name.removesuffix(".toml")
    if name not in known:
        raise ValueError(unknown_key("study", name, known))
    content = (folder() / f"{name}.toml").read_bytes()
    # With the records that it reads, which lie beside it.
    news = {file: content} | {
        file.with_name(data): (folder() / data).read_bytes()
        for data in _DATA.findall(content.decode())
    }
    for new, content in news.items():
        try:
            with new.open("xb") as copied:  # never through a link
                copied.write(content)
        except FileExistsError:
            if new.read_bytes() != content or new == file:
                raise ValueError(f"{new} exists already") from None
    return file
