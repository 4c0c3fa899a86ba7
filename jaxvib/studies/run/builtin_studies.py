"""The built-in studies: `configs/`."""

import re
import tomllib
from pathlib import Path

from ...foundation.suggestions import unknown_key

_PACKAGE = Path(__file__).parents[2]
_SYSTEMS = {
    "two_body_impact": "a body on a spring with an attached body that can hit it",
    "impact_assembly": "masses with contacts, friction, loads and springs of any law",
    "elastic_impact": "elastic structures in their modes, with contacts and loads",
    "assembly": "linear assemblies of bodies, rods and springs",
    "beam_with_bodies": "a beam that carries bodies",
    "beam_chain": "a chain of bodies joined by beams",
}
_DATA = re.compile(r'\bdata = "([\w.]+)"')


def folder() -> Path:
    """Return the folder of the built-in studies: in the package, or next to it."""
    installed = _PACKAGE / "configs"
    return installed if installed.is_dir() else _PACKAGE.parent / "configs"


def titles() -> dict[str, str]:
    """Return the title of each built-in study by name."""
    files = sorted(folder().glob("*.toml"))
    return {file.stem: tomllib.loads(file.read_text("utf-8"))["title"] for file in files}


def find(config: str) -> Path:
    """Return the config file for a path or the name of a built-in study.

    **Raises:** `ValueError` for an unknown name, suggesting the nearest study.
    """
    path = Path(config)
    ready = folder() / f"{config}.toml"
    if path.exists() or path.name != config or path.suffix:
        return path
    if not ready.exists():
        raise ValueError(
            f"{unknown_key('study', config, titles())}, and there is no such file"
        )
    return ready


def by_system() -> dict[str, dict[str, str]]:
    """Return the titles of the built-in studies by their system, described in words."""
    found: dict[str, dict[str, str]] = {words: {} for words in _SYSTEMS.values()}
    for file in sorted(folder().glob("*.toml")):
        tables = tomllib.loads(file.read_text("utf-8"))
        kind = tables["system"]["kind"]
        found.setdefault(_SYSTEMS.get(kind, kind), {})[file.stem] = tables["title"]
    return found


def listed(titles: dict[str, str]) -> list[str]:
    """Return the list of the built-in studies, grouped by their systems."""
    lines = []
    for words, studies in by_system().items():
        lines += [f"{words[0].upper()}{words[1:]}:"]
        lines += [f"  {name:22} {titles[name]}" for name in studies] + [""]
    return [*lines, "Try: jaxvib new quick my_study.toml"]


def copy(name: str, file: Path) -> Path:
    """Copy a built-in study, with the files that it reads.

    **Raises:** `ValueError` for an unknown name or an existing file.
    """
    known = titles()
    name = name.removesuffix(".toml")
    if name not in known:
        raise ValueError(unknown_key("study", name, known))
    content = (folder() / f"{name}.toml").read_bytes()
    # With its records, which are in the same folder.
    news = {file: content} | {
        file.with_name(data): (folder() / data).read_bytes()
        for data in _DATA.findall(content.decode())
    }
    for new, content in news.items():
        try:
            with new.open("xb") as copied:  # does not follow links
                copied.write(content)
        except FileExistsError:
            if new.read_bytes() != content or new == file:
                raise ValueError(f"{new} already exists") from None
    return file
