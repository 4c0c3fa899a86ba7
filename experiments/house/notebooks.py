"""Generate notebooks from the tutorials.

    python -m experiments.house.notebooks    # docs/notebooks/*.ipynb

A block of code becomes a code cell, the text between two blocks a Markdown cell; output
blocks are omitted, since the cell prints its own output. They are made when the manual
is built; a slow test runs them.
"""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def tutorials() -> list[Path]:
    """Return the pages that become notebooks."""
    pages = sorted((DOCS / "tutorials").glob("*.md"))
    return [page for page in pages if page.name != "index.md"]


def notebook(page: Path) -> str:
    """Return a tutorial as the text of a notebook."""
    text = page.read_text(encoding="utf-8")
    cells, begin = [], 0
    for match in _BLOCK.finditer(text):
        cells += _words(text[begin : match.start()], len(cells))
        if match[1] == "python":
            cells.append(_cell("code", match[2], len(cells)))
        begin = match.end()
    cells += _words(text[begin:], len(cells))
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": _KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def place(page: Path) -> Path:
    """Return the file of a tutorial's notebook."""
    return DOCS / "notebooks" / f"{page.stem}.ipynb"


def _words(text: str, number: int) -> list[dict]:
    # Beside a notebook lie the others, not the pages.
    text = re.sub(r"\((\w+)\.md\)", r"(\1.ipynb)", text).strip()
    return [_cell("markdown", text, number)] if text else []


def _cell(kind: str, text: str, number: int) -> dict:
    cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.rstrip("\n").splitlines(keepends=True)}


def main() -> None:
    """Write all notebooks."""
    for page in tutorials():
        place(page).parent.mkdir(exist_ok=True)
        place(page).write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
