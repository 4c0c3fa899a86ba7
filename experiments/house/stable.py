"""The stable names: what later versions keep, by `docs/versions.md`.

    python -m experiments.house.stable        # print where a promise is broken
    python -m experiments.house.stable --add orbits.regimes design.optimise

`stable.json` beside this file holds, as of the version that promised them: the arguments
of functions and classes ("called"), the fields and methods of results ("read"), arguments
and options of the commands, the keys of configs and the files and arrays of a store.
"""

import argparse
import dataclasses
import enum
import inspect
import json
from pathlib import Path

from . import reference

FILE = Path(__file__).with_suffix(".json")
PROMISES = reference.PROMISES


def arguments(name: str) -> list[str]:
    """Return the arguments of a function or class, with their defaults, in order."""
    shown = []
    for one in inspect.signature(reference.named(name)).parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in shown:
            shown.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = (
            "" if one.default is one.empty else f"={reference.default_text(one.default)}"
        )
        shown.append(f"{star}{one.name}{default}")
    return shown


def attributes(name: str) -> list[str]:
    """Return the public fields, methods and properties of a class."""
    thing = reference.named(name)
    if issubclass(thing, enum.Enum):
        return [f"{one.name}={int(one)}" for one in thing]
    fields = [one.name for one in dataclasses.fields(thing)]
    others = {one for one in dir(thing) if not one.startswith("_")} - set(fields)
    return [*fields, *sorted(others)]


def is_read(thing: object) -> bool:
    """Return whether a class is made by jaxvib and read by its users: codes, results."""
    if not inspect.isclass(thing) or not dataclasses.is_dataclass(thing):
        return inspect.isclass(thing) and issubclass(thing, enum.Enum)
    return any("axes" in field.metadata for field in dataclasses.fields(thing))


def commands() -> dict[str, list[str]]:
    """Return the arguments and options of each command."""
    from jaxvib.cli import main

    return {
        name: [word for one in command.params for word in (one.opts or [one.name])]
        for name, command in main.commands.items()
    }


def config_keys() -> dict[str, list[str]]:
    """Return the keys of each table of a config, by its name and kind."""
    from jaxvib.studies.analyses.kinds import ANALYSES
    from jaxvib.studies.config.catalogue import catalogue
    from jaxvib.studies.run.study import Output, Run

    tables = {"run": Run, "output": Output}
    tables |= {f"analysis, {kind}": row.options for kind, row in ANALYSES.items()}
    keys = {name: list(table.model_fields) for name, table in tables.items()}
    return keys | {f"system, {kind}": list(paths) for kind, paths in catalogue().items()}


def lost_arguments(promise: list[str], now: list[str]) -> list[str]:
    """Return why calls that the promise allows would fail or mean something else.

    New arguments need a default and stand behind the promised ones, or behind the `*`.
    """
    first, last = ([*listed, "*"].index("*") for listed in (promise, now))
    wrong = [one for one, other in zip(promise[:first], now[:last], strict=False)
             if one != other]  # fmt: skip
    wrong += promise[min(first, last) : first]
    wrong += [one for one in promise[first + 1 :] if one not in now]
    new = [one for one in (*now[first:last], *now[last + 1 :]) if one not in promise]
    return wrong + [one for one in new if "=" not in one and not one.startswith("*")]


def broken() -> list[str]:
    """Return a line for every promise that is not kept."""
    table, found = PROMISES, []
    for name, listed in table["called"].items():
        for one in lost_arguments(listed, arguments(name)):
            found.append(f"{name}: argument {one}")
    now = {
        "read": {name: attributes(name) for name in table["read"]},
        "commands": commands(),
        "config": config_keys(),
    }
    for section, tables in now.items():
        for name, listed in table[section].items():
            lost = [one for one in listed if one not in tables.get(name, ())]
            found += [f"{section}, {name}: {one}" for one in lost]
    return found


def main() -> None:
    """Print broken promises, or add names to the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs="*", default=[], metavar="NAME")
    asked = parser.parse_args()
    table = PROMISES
    for name in asked.add:
        read = is_read(reference.named(name))
        found = attributes(name) if read else arguments(name)
        table["read" if read else "called"][name] = found
    if asked.add:
        FILE.write_text(written(table), encoding="utf-8")
    print("\n".join(broken()) or "every promise is kept")


def written(table: dict[str, dict[str, list[str]]]) -> str:
    """Return the table as JSON with one name a line."""
    sections = []
    for section, rows in table.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
        sections.append(f" {json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(sections) + "\n}\n"


if __name__ == "__main__":
    main()
