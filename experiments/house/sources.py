"""Parse modules, imports and functions of the package, without importing it."""

import ast
import functools
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "jaxvib"
_OF_NUMBERS = {"np", "jnp", "math", "range", "int", "float", "complex"}


class Import(NamedTuple):
    """An import of one module of the package by another; lazy if inside a function."""

    importer: str
    imported: str
    lazy: bool


class Function(NamedTuple):
    """A function or method: its place, its lines and its arguments but for `self`."""

    place: str
    lines: int
    arguments: int


class Number(NamedTuple):
    """A number, or several, that a module names; what the comments beside it say."""

    place: str
    reason: str


def modules() -> dict[str, Path]:
    """Return the source of every module by its name below the package, "" for its own."""
    return {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache  # walking all syntax trees takes a second
def imports() -> list[Import]:
    """Return every import of a module of the package by another one."""
    known = modules()
    found = set()
    for importer, path in known.items():
        package = importer if path.name == "__init__.py" else _parent(importer)
        for node, inside in _walk(_tree(path)):
            for imported in _imported(node, package, known):
                if imported != importer:
                    found.add(Import(importer, imported, inside))
    return sorted(found)


def lazy_statements() -> list[str]:
    """Return the module of every import statement that stands inside a function."""
    return [
        module
        for module, path in modules().items()
        for node, inside in _walk(_tree(path))
        if inside and isinstance(node, ast.Import | ast.ImportFrom)
    ]


@functools.cache
def functions() -> list[Function]:
    """Return every function of the package, those inside others too."""
    return [
        Function(".".join([module, *names, node.name]), _lines(node), _arguments(node.args))
        for module, path in modules().items()
        for node, names in _definitions(_tree(path))
    ]


def numbers() -> list[Number]:
    """Return every constant of numbers of the package, with the words of its comments."""
    return [
        Number(f"{module}.{ast.unparse(target)}", _reason(node, comments))
        for module, path in modules().items()
        for text in [path.read_text(encoding="utf-8")]
        for comments in [_comments(text)]
        for node in _tree(path).body
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_number(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]


def folder(module: str) -> str:
    """Return the folder at the top that a module is in, or the module at the top."""
    return module.split(".")[0]


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _parent(module: str) -> str:
    return module.rpartition(".")[0]


def _imported(node: ast.AST, package: str, known) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        if node.level:
            steps = package.split(".")[: len(package.split(".")) - node.level + 1]
        elif (node.module or "").split(".")[0] == PACKAGE.name:
            steps = []
        else:
            return
        written = (node.module or "").split(".")
        base = ".".join([*steps, *(written if node.level else written[1:])]).strip(".")
        for alias in node.names:
            inner = f"{base}.{alias.name}".strip(".")
            yield inner if inner in known else base
    elif isinstance(node, ast.Import):
        for alias in node.names:
            first, _, rest = alias.name.partition(".")
            if first == PACKAGE.name:
                yield rest


def _walk(tree: ast.AST) -> Iterator[tuple[ast.AST, bool]]:
    # Every node, and whether it is inside a function.
    left: list[tuple[ast.AST, bool]] = [(tree, False)]
    while left:
        node, inside = left.pop()
        inside |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield child, inside
            left.append((child, inside))


def _definitions(tree: ast.AST, names: tuple[str, ...] = ()) -> Iterator:
    for node in ast.iter_child_nodes(tree):
        within = names
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = (*names, node.name)
            if not isinstance(node, ast.ClassDef):
                yield node, names
        yield from _definitions(node, within)


def _lines(node: ast.AST) -> int:
    return node.end_lineno - node.lineno + 1


def _arguments(given: ast.arguments) -> int:
    named = [*given.posonlyargs, *given.args]
    bound = named[:1] and named[0].arg in ("self", "cls")
    return len(named) + len(given.kwonlyargs) - bool(bound)


def _is_number(node: ast.AST | None) -> bool:
    # Of literals, arithmetic and functions of numbers alone, one literal at least.
    if node is None or isinstance(node, ast.Lambda | ast.Dict | ast.ListComp):
        return False
    literals = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    known = all(type(value) in (int, float, complex) for value in literals)
    return bool(literals) and known and names <= _OF_NUMBERS


def _comments(text: str) -> dict[int, tuple[str, bool]]:
    # Of each line its comment, and whether the line is nothing else.
    return {
        token.start[0]: (token.string.lstrip("# "), token.line.lstrip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }


def _reason(node: ast.Assign | ast.AnnAssign, comments: dict[int, tuple[str, bool]]) -> str:
    # On its own lines, or on those directly above that are comments and nothing else.
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    found = [comments[line][0] for line in lines if line in comments]
    above = node.lineno - 1
    while comments.get(above, ("", False))[1]:
        found.insert(0, comments[above][0])
        above -= 1
    return " ".join(found)
