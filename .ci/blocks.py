"""Run every block of pages of the manual, and compare what they print.

    python .ci/blocks.py [--write] docs/start.md [PAGE ...]

A page is read from top to bottom in one process and an empty folder of its own, so that
what is compiled once serves all its blocks: `python` blocks share their names, `bash`
blocks are commands in that folder, a `toml` or other block with `title="FILE"` is written
there as a file. A `text` block is what the block before it prints: words must be equal,
numbers agree to two digits; `--write` puts what is printed there instead, to be looked at.
`<!-- not run: WHY -->` before a block leaves it out.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from readme import alike

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"^(?P<skip><!-- not run: .+? -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n"
    r"(?P<body>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_TITLE = re.compile(r'title="(.+?)"')


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str
    body: str
    line: int
    skipped: bool


def blocks(text: str) -> list[Block]:
    """Return a page's fenced blocks in their order."""
    found = []
    for match in _BLOCK.finditer(text):
        title = _TITLE.search(match["options"])
        indent = len(match["indent"])
        body = "".join(line[indent:] or "\n" for line in match["body"].splitlines(True))
        line = text[: match.start("language")].count("\n") + 1
        skipped = bool(match["skip"])
        found.append(
            Block(match["language"], title[1] if title else "", body, line, skipped)
        )
    return found


def run_page(page: Path, write: bool = False) -> None:
    """Run a page's blocks; `SystemExit` names the line of one that fails."""
    text, told = page.read_text(encoding="utf-8"), []
    names: dict[str, object] = {"__name__": "__main__"}
    printed = None
    for block in blocks(text):
        if block.language == "text" and printed is not None:
            if write:
                told.append((block, printed))
            else:
                compare(block, printed, page)
        if block.skipped:
            printed = None
        elif block.title:
            Path(block.title).write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            printed = _python(block, names, page)
        elif block.language == "bash":
            printed = _shell(block, page)
        elif block.language == "text":
            printed = None
    if told:
        page.write_text(_with(text, told), encoding="utf-8")


def _with(text: str, told: list[tuple[Block, str]]) -> str:
    lines = text.split("\n")
    for block, printed in reversed(told):
        count = block.body.count("\n")
        lines[block.line : block.line + count] = printed.rstrip("\n").split("\n")
    return "\n".join(lines)


def _python(block: Block, names: dict, page: Path) -> str:
    # Line numbers of the page, so that a traceback tells where to look.
    source = "\n" * block.line + block.body
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(page), "exec"), names)
    except Exception:
        print(f"{page}:{block.line}: this block fails", file=sys.stderr)
        raise
    return printed.getvalue()


def _shell(block: Block, page: Path) -> str:
    command = ["bash", "-euo", "pipefail", "-c", block.body]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{page}:{block.line}: ends with {done.returncode}\n{done.stdout}")
    return done.stdout


def compare(block: Block, printed: str, page: Path) -> None:
    """Stop unless a block printed what stands below it."""
    expected = block.body.split()
    actual = printed.split()
    same = len(expected) == len(actual) and all(map(alike, expected, actual))
    if not same:
        raise SystemExit(
            f"{page}:{block.line}: the page says\n{block.body}\nbut it prints\n{printed}"
        )


def main(pages: list[str]) -> None:
    """Run pages, each in an empty folder."""
    # The interpreter's own folder first, where its `jaxvib` is.
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    os.environ.setdefault("MPLBACKEND", "Agg")
    home = Path.cwd()
    write = "--write" in pages
    for name in (name for name in pages if name != "--write"):
        page = (home / name).resolve()
        started = time.process_time()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run_page(page, write)
        seconds = time.process_time() - started
        children = sum(os.times()[2:4])
        print(f"{name}: as printed ({seconds:.0f} s, {children:.0f} s in commands)")


if __name__ == "__main__":
    main(sys.argv[1:])
