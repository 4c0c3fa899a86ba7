"""The files that pages are made of, and the policy that allows only their scripts."""

import base64
import hashlib
import html
from collections.abc import Sequence
from pathlib import Path

_HERE = Path(__file__).parent


def escaped(value: object) -> str:
    """Return a value as text with HTML's special characters escaped."""
    return html.escape(str(value), quote=True)


def text_of(name: str) -> str:
    """Return the text of a file of the page."""
    return inline(f"page/{name}")


def inline(name: str) -> str:
    """Return the text of a file in this folder."""
    return (_HERE / name).read_text("utf-8")


def scripts(names: Sequence[str]) -> str:
    """Return several files of the page as one strict script."""
    return '"use strict";\n' + "\n".join(map(text_of, names))


def version() -> str:
    """Return the version of jaxvib that writes the page."""
    from .. import __version__

    return __version__


def policy(*allowed: str) -> str:
    """Return the content security policy of a page with these scripts.

    It allows scripts by hash only and no fetches, so that text from a config or a
    folder name cannot become a script. A worker is a blob of text in the page, and may
    compile WebAssembly.
    """
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in allowed)
    return (
        f"default-src 'none'; script-src {hashes} 'wasm-unsafe-eval'; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
        "form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
