"""Measures of the package's sources: sizes, type hints, and checks of classes.

    python -m experiments.house.measures [PACKAGE]

prints modules and lines, lines of code (without blank lines, comments and docstrings),
the median and the largest function, lines with `isinstance`, those that ask for classes
of laws outside `jaxvib/systems`, the share of typed parameters and results of public
functions and methods, calls of `hasattr` and `getattr`, `zip` in systems and dynamics,
functions that return bare tuples of four values or more, the largest number of modules
in a folder, and lines and code by folder, for the package of this checkout or another.
"""

import ast
import io
import re
import statistics
import sys
import tokenize
from collections import Counter
from pathlib import Path

from .sources import PACKAGE

_BLANK = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
)  # fmt: skip
_PROBES = re.compile(r"\b(?:hasattr|getattr)\(")
_LAWS = re.compile(r"isinstance\([^)]*\w(Contact|Law|Load|Friction)\b")


def measures(package: Path) -> dict[str, float]:
    """Return the measures of a package by name."""
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    lengths = [_length(node) for node in nodes if isinstance(node, ast.FunctionDef)]
    public = [function for tree in trees.values() for function in _public(tree.body)]
    hints = [hint for function in public for hint in _hints(function)]
    return {
        "modules": len(texts),
        "lines": sum(len(text.splitlines()) for text in texts.values()),
        "lines of code": sum(len(_code(texts[path], trees[path])) for path in texts),
        "lines of a function, median": statistics.median(lengths),
        "lines of a function, largest": max(lengths),
        "isinstance": sum(text.count("isinstance(") for text in texts.values()),
        "isinstance of laws above systems": classes_of_laws(package),
        "typed public parameters, %": 100 * statistics.mean(hints),
        "typed public results, %": 100 * statistics.mean(_has_result(f) for f in public),
        "hasattr and getattr": sum(len(_PROBES.findall(text)) for text in texts.values()),
        "zip in systems and dynamics": sum(
            text.count("zip(")
            for path, text in texts.items()
            if path.relative_to(package).parts[0] in ("systems", "dynamics")
        ),
        "functions returning 4+ bare values": sum(
            isinstance(node, ast.FunctionDef) and _values_returned(node) >= 4
            for node in nodes
        ),
        "most modules in a folder": max(Counter(path.parent for path in texts).values()),
    }


def by_folder(package: Path) -> dict[str, tuple[int, int]]:
    """Return lines and lines of code by folder of a package."""
    found: dict[str, tuple[int, int]] = {}
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(package).parts
        folder = parts[0] if len(parts) > 1 else "."
        lines, code = found.get(folder, (0, 0))
        own = len(_code(text, ast.parse(text)))
        found[folder] = lines + len(text.splitlines()), code + own
    return dict(sorted(found.items()))


def classes_of_laws(package: Path) -> int:
    """Return how often a module outside of `systems` asks for the class of a law."""
    paths = [path for path in package.rglob("*.py") if "systems" not in path.parts]
    return sum(len(_LAWS.findall(path.read_text(encoding="utf-8"))) for path in paths)


def _values_returned(function: ast.FunctionDef) -> int:
    """Return the length of the longest tuple that a function itself returns."""
    found, left = 0, list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            found = max(found, len(node.value.elts))
        left += ast.iter_child_nodes(node)
    return found


def _length(node: ast.FunctionDef | ast.Expr) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _code(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that are neither blank, comments nor docstrings."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _BLANK:
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            found -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return found


def _public(body) -> list[ast.FunctionDef]:
    """Return the public functions of a module, with the methods of public classes."""
    found = []
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found.append(node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            found += _public(node.body)
    return found


def _hints(function: ast.FunctionDef) -> list[bool]:
    every = function.args
    given = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
    named = [each for each in given if each is not None]
    return [
        each.annotation is not None for each in named if each.arg not in ("self", "cls")
    ]


def _has_result(function: ast.FunctionDef) -> bool:
    return function.returns is not None


def main() -> None:
    """Print the measures of a package."""
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE
    for name, value in measures(package).items():
        print(f"{name:38}{value:9.6g}")
    for folder, (lines, code) in by_folder(package).items():
        print(f"{folder:38}{lines:9}{code:9}")


if __name__ == "__main__":
    main()
