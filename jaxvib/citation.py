"""The citation of jaxvib, from `CITATION.cff`."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def citation() -> str:
    """Return the text of `CITATION.cff`, from the package or its checkout."""
    installed = _PACKAGE / "CITATION.cff"
    file = installed if installed.exists() else _PACKAGE.parent / "CITATION.cff"
    return file.read_text("utf-8").rstrip()
