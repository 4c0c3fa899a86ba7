"""Reads a config: parses untrusted TOML into plain tables and records line numbers."""

import dataclasses
import difflib
import functools
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...foundation.text import check_name

MAX_BYTES = 1 << 20  # of a config: hundreds of times the longest built-in one
MAX_KEYS = 10_000  # hundreds of times those of a long config; each is checked
MAX_DOTS = 64  # in one key: `tomllib` needs minutes and gigabytes for thousands
MAX_DEPTH = 64  # of brackets (`tomllib` recurses into each) and of nested tables
_SECTION_OF_PARAMETERS = "system"
_LARGEST = 1 << 63  # first integer beyond the 64 bits of TOML

# A list of numbers is one token, since it may be long.
_TOKENS = re.compile(
    r"""(?P<numbers>(?:[0-9]++(?:\.[0-9]++)?+,[ \t]*+)++)"""
    r"""|(?P<piece>"(?:\\.|[^"\\\n])*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)"""
    r"""|(?P<dot>\.)|(?P<blank>[ \t]++)|(?P<comment>\#[^\n]*+)|(?P<other>.)""",
    re.DOTALL,
)
_KEY = r"""(?:"(?:\\.|[^"\\\n])*+"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_HEADER = re.compile(rf"\s*\[+\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


@dataclasses.dataclass(frozen=True)
class Document:
    """A config as plain nested tables, with the origin of each key.

    **Fields:** `tables`; `name`: of the file; `origins`: origin of each dotted path,
    such as `study.toml, line 7` or `--set gap=0.1`.
    """

    tables: dict
    name: str
    origins: dict[str, str]

    def where(self, path: str) -> str:
        """Return the origin of a path: its own, of a key inside it or of its table."""
        while path:
            if path in self.origins:
                return self.origins[path]
            inside = [key for key in self.origins if key.startswith(f"{path}.")]
            if inside:
                return self.origins[inside[-1]]  # the last one set
            path = path.rpartition(".")[0]
        return self.name

    def where_named(self, words: str, section: str = "") -> str:
        """Return the origin of the key that a message names, or of a section."""
        most, best = 0, section
        words = words.partition("did you mean")[0]
        for path in self.origins:
            if path.startswith(section):
                steps = path.split(".")
                ends = [".".join(steps[i:]) for i in range(1, len(steps))]
                mentioned = [e for e in ends if "." in e and e in words]
                mentioned += [
                    e for e in ends if f"'{e}'" in words or words.startswith(f"{e} ")
                ]
                value = _at(self.tables, steps)
                mentioned += (
                    [value] if isinstance(value, str) and f"'{value}'" in words else []
                )
                longest = max(map(len, mentioned), default=0)
                if longest > most:
                    most, best = longest, path
        return self.where(best)

    def override(self, assignments: Sequence[str], sections: Sequence[str]) -> "Document":
        """Return the document with `path=value` assignments applied.

        A path begins with one of the `sections` (or a misspelt one, reported as such);
        otherwise it is a parameter's. Values are written as in TOML; anything that is
        not a TOML value is a string. **Raises:** `ValueError` for another form.
        """
        if not assignments:
            return self
        tables, origins = self.tables, dict(self.origins)
        for assignment in assignments:
            origin = f"--set {shortened(assignment)}"
            path, equals, text = assignment.partition("=")
            steps = [step.strip() for step in path.split(".")]
            if not equals or not all(steps) or len(steps) > MAX_DOTS:
                raise ValueError(f"{origin} is not of the form path=value")
            if not difflib.get_close_matches(steps[0], sections, cutoff=0.75):
                steps = [_SECTION_OF_PARAMETERS, *steps]
            value = _value(text, origin)
            if (
                steps[:-1] == [_SECTION_OF_PARAMETERS, "variables"]
                and isinstance(_at(tables, steps), dict)
                and not isinstance(value, dict)
            ):
                steps.append("value")  # the variable keeps its unit
            tables = _with_value(tables, steps, value, origin)
            origins[".".join(steps)] = origin
        changed = Document(tables, self.name, origins)
        _check_keys(tables, changed.where)
        return changed


def _at(tables: Mapping, steps: Sequence[str]) -> object:
    return functools.reduce(_inside, steps, tables)


def _inside(table: object, step: str) -> object:
    return table.get(step) if isinstance(table, Mapping) else None


def read(path: Path) -> Document:
    """Read a config file.

    **Raises:** `ValueError` naming the file and, if known, the line: if the file is
    missing, longer than 1 MiB, not UTF-8 or not TOML, has more than 10,000 keys, keys
    of more than 64 dots, brackets or tables nested deeper than 64, integers of more
    than 64 bits, or keys that are not valid file names (names of bodies and measures
    become file names).
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    with path.open("rb") as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{path} is longer than {MAX_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")  # editors on Windows begin with a mark
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise ValueError(f"{path}, line {line}: byte 0x{byte:02x} is not UTF-8") from None
    return parse(text, str(path))


def parse(text: str, name: str) -> Document:
    """Parse a config's text. **Raises:** as `read`, under that name."""
    tables, origins = _parsed(text, name), _lines(text, name)
    _check_keys(tables, Document(tables, name, origins).where)
    return Document(_nested(tables, name), name, origins)


def _parsed(text: str, name: str) -> dict:
    _check_sizes(text, name)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        line = found[1] if found else text.count("\n") + 1
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ValueError(f"{name}, line {line}: not TOML: {shortened(reason)}") from None
    except ValueError:  # an integer with more digits than Python converts
        raise ValueError(f"{name} has an integer of more than 4300 digits") from None


def _check_sizes(text: str, name: str) -> None:
    # One pass over the tokens, before the parser runs.
    line, dots, depth, keys = 1, 0, 0, 0
    for token in _TOKENS.finditer(text):
        if token.lastgroup == "dot":
            dots += 1
        elif token.lastgroup == "numbers":
            dots = 0
        elif token.lastgroup in ("other", "comment"):
            dots = 0
            symbol = token.group()
            line += symbol == "\n"
            depth += (symbol in "[{") - (symbol in "]}")
            keys += symbol == "="
        if dots > MAX_DOTS or depth > MAX_DEPTH:
            what = "a key of" if dots > MAX_DOTS else "brackets nested"
            limit = f"{MAX_DOTS} dots" if dots > MAX_DOTS else f"{MAX_DEPTH} deep"
            raise ValueError(f"{name}, line {line}: {what} more than {limit}")
        if keys > MAX_KEYS:
            raise ValueError(f"{name}, line {line}: more than {MAX_KEYS} keys")


def _check_keys(tables: dict, where: Callable[[str], str]) -> None:
    # Not recursive: a quoted key may hold thousands of dots.
    waiting: list[tuple[list[str], Any]] = [([], tables)]
    while waiting:
        above, node = waiting.pop()
        if isinstance(node, list):
            for item in node:
                if isinstance(item, dict | list):
                    waiting.append((above, item))
                elif isinstance(item, int):
                    _check_integer(item, above, where)
            continue
        for key, value in node.items():
            path = [*above, *key.split(".")]
            if isinstance(value, int):
                _check_integer(value, path, where)
            if len(path) > MAX_DEPTH + 1:
                place = where(".".join(path))
                raise ValueError(f"{place}: tables nested more than {MAX_DEPTH} deep")
            for step in path[len(above) :]:
                try:
                    check_name(step)
                except ValueError as error:
                    raise ValueError(
                        f"{where('.'.join(path))}: {shortened('.'.join(path))}: {error}"
                    ) from None
            if isinstance(value, dict | list):
                waiting.append((path, value))


def _check_integer(value: int, path: Sequence[str], where: Callable[[str], str]) -> None:
    """Raise `ValueError` for an integer of more than TOML's 64 bits."""
    if not -_LARGEST <= value < _LARGEST:
        name = shortened(".".join(path))
        raise ValueError(
            f"{where('.'.join(path))}: {name} is an integer of more than the 64 bits of "
            "TOML; allowed: a number with a point or an exponent, 1e30"
        )


def _nested(table: Mapping, name: str) -> dict:
    # `"load.amplitude" = 1` is equivalent to `load.amplitude = 1`.
    result: dict = {}
    for key, value in table.items():
        value = _nested(value, name) if isinstance(value, dict) else value
        *outer, last = key.split(".")
        inner = result
        for step in outer:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{name}: {key} conflicts with {step}, which is a value")
        if isinstance(value, dict) and isinstance(inner.get(last), dict):
            inner[last] |= value
        elif last in inner:
            raise ValueError(f"{name}: {key} is given twice")
        else:
            inner[last] = value
    return result


def _lines(text: str, name: str) -> dict[str, str]:
    # `tomllib` gives no line numbers. A key in a table or list spanning several lines
    # gets the line where that begins.
    origins: dict[str, str] = {}
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            section = path = _plain(header[1])
        elif key := _ASSIGNMENT.match(line):
            path = f"{section}.{_plain(key[1])}".lstrip(".")
        else:
            continue
        origins.setdefault(path, f"{name}, line {number}")
    return origins


def _plain(key: str) -> str:
    if '"' not in key and "'" not in key:
        return re.sub(r"\s", "", key)
    try:
        table, steps = tomllib.loads(f"{key} = 0"), []
    except tomllib.TOMLDecodeError:
        return ""
    while isinstance(table, dict):
        step, table = next(iter(table.items()))
        steps.append(step)
    return ".".join(steps)


def _value(text: str, origin: str):
    try:
        tables = _parsed(f"value = {text}", origin)
    except ValueError:
        return text
    return tables["value"] if len(tables) == 1 else text


def _with_value(table: Mapping, steps: list[str], value, origin: str) -> dict:
    first, *rest = steps
    if not rest:
        return {**table, first: value}
    inner = table.get(first, {})
    if not isinstance(inner, dict):
        raise ValueError(f"{origin}: {first} is a value and has no {rest[0]}")
    return {**table, first: _with_value(inner, rest, value, origin)}


def shortened(text: str) -> str:
    """Truncate a text to fit into a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."
