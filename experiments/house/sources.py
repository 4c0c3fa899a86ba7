"""The package as its own sources tell it: modules, imports, functions; nothing is run."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "jaxvib"


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


def modules() -> dict[str, Path]:
    """Return the source of every module by its name below the package, "" for its own."""
    return {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports() -> list[Import]:
    """Return every import of a module of the package by another one."""
    known = modules()
    found = set()
    for importer, path in known.items():
        package = importer if path.name == "__init__.py" else _parent(importer)
        for node, inside in _walk(ast.parse(path.read_text(encoding="utf-8"))):
            for imported in _imported(node, package, known):
                if imported != importer:
                    found.add(Import(importer, imported, bool(inside)))
    return sorted(found)


def lazy_statements() -> list[str]:
    """Return the module of every import statement that stands inside a function."""
    return [
        module
        for module, path in modules().items()
        for node, inside in _walk(ast.parse(path.read_text(encoding="utf-8")))
        if inside and isinstance(node, ast.Import | ast.ImportFrom)
    ]


def functions() -> list[Function]:
    """Return every function of the package, those inside others too."""
    return [
        Function(".".join([module, *names, node.name]), _lines(node), _arguments(node.args))
        for module, path in modules().items()
        for node, names in _definitions(ast.parse(path.read_text(encoding="utf-8")))
    ]


def folder(module: str) -> str:
    """Return the folder at the top that a module is in, or the module at the top."""
    return module.split(".")[0]


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


def _walk(tree: ast.AST, inside: tuple[str, ...] = ()) -> Iterator:
    # Every node, with the names of the functions that it stands in.
    for node in ast.iter_child_nodes(tree):
        yield node, inside
        named = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _walk(node, (*inside, "f") if named else inside)


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
