"""Writes configs: nested tables as TOML."""

import json
import re
from collections.abc import Iterator, Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(tables: dict) -> str:
    """Return tables as TOML, one line per key."""
    lines = [
        f"{key_text(k)} = {_value(v)}" for k, v in tables.items() if not isinstance(v, dict)
    ]
    for section, table in tables.items():
        if isinstance(table, dict) and table:
            lines += ["", f"[{key_text(section)}]"]
            lines += [f"{key_text(k)} = {_value(v)}" for k, v in _lines(table)]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the flattened keys of nested tables with their values, and empty tables."""
    for key, value in table.items():
        if isinstance(value, dict) and value:
            yield from _lines(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def sample_config(tables: Mapping, values: Mapping[str, float] | None = None) -> str:
    """Return the config of a single sample, from a resolved config's tables.

    Without `values` the sweep is omitted, so that it can be appended.
    """
    one = dict(tables)
    one["title"] = f"{tables['title']}, one sample"
    one["sweep"] = {path: [float(value)] for path, value in (values or {}).items()}
    one["run"] = {**tables["run"], "chunk": 2}
    directory = f"{tables['output']['directory']}-sample"
    one["output"] = {**tables["output"], "directory": directory}
    sweep = {"sweep": one.pop("sweep")}  # last, as on the page
    return to_toml(one | sweep)


def key_text(path: str) -> str:
    """Return a dotted path as a TOML key, quoted if necessary."""
    steps = path.split(".")
    return ".".join(s if _BARE.fullmatch(s) else json.dumps(s) for s in steps)


def _value(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # A JSON string is a TOML string, except for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        items = ", ".join(f"{key_text(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {items} }}" if items else "{}"
    return repr(value)
