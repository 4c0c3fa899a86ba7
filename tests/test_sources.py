"""Checked against: Unicode's own classes of characters."""

import ast
import re
import unicodedata
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("jaxvib", "tests", "experiments", "configs", "docs", ".ci")
TEXTS = {".py", ".md", ".toml", ".js", ".css", ".html", ".json", ".cff", ".sh", ".cpp",
         ".svg", ".yml", ".yaml"}  # fmt: skip
# Controls, marks that turn or join the text around them, and what has no meaning at all.
UNSEEN = {"Cc", "Cf", "Co", "Cn"}
# Without one, a docstring has no characters but those of its file. Parsing takes longer.
ESCAPE = re.compile(r"\\[^\n'\"\\n]")


def texts():
    inside = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*"))]
    for path in [*sorted(ROOT.iterdir()), *inside]:
        if path.suffix in TEXTS and path.is_file() and not path.name.endswith(".min.js"):
            yield path, path.read_bytes().decode("utf-8")


def unseen(text: str) -> list[str]:
    return [
        f"line {text.count(chr(10), 0, place) + 1}: {character!r}"
        for place, character in enumerate(text)
        if unicodedata.category(character) in UNSEEN and character != "\n"
    ]


def test_no_source_holds_a_character_that_cannot_be_seen():
    found = {str(path): unseen(text) for path, text in texts()}
    assert len(found) > 300
    assert not {path: places for path, places in found.items() if places}


def test_no_formula_of_a_docstring_is_eaten_by_an_escape():
    r"""A `\beta` in a string that is not raw reaches the reader as a backspace."""
    for path, text in texts():
        if path.suffix != ".py" or not ESCAPE.search(text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                said = ast.get_docstring(node, clean=False) or ""
                assert not unseen(said), f"{path}: {getattr(node, 'name', 'module')}"


def test_a_backspace_and_a_mark_that_turns_the_text_are_seen():
    assert unseen("a\n$\x08egin$") == ["line 2: '\\x08'"]
    assert unseen("harmless \u202e") == ["line 1: '\\u202e'"]
    assert not unseen("$\\begin$ ünd ° ω\n")
