"""Writing a config: nested tables as TOML."""

import json
import re

from .tables import flattened

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(tables: dict) -> str:
    """Return tables as the text of a config, one line per key."""
    lines = [
        f"{_key(k)} = {_value(v)}" for k, v in tables.items() if not isinstance(v, dict)
    ]
    for section, table in tables.items():
        if isinstance(table, dict) and table:
            lines += ["", f"[{_key(section)}]"]
            lines += [f"{_key(k)} = {_value(v)}" for k, v in flattened(table).items()]
    return "\n".join(lines) + "\n"


def _key(path: str) -> str:
    steps = path.split(".")
    return ".".join(s if _BARE.fullmatch(s) else json.dumps(s) for s in steps)


def _value(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # A JSON string is a TOML string, but for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        items = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {items} }}"
    return repr(value)
