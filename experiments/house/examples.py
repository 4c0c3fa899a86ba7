"""Run the examples of the docstrings and compare their output.

    python -m experiments.house.examples [NAME ...]    # default: all public names

An example is a doctest: lines after `>>>`. Each starts with the names defined by the
first block of the reference, and its output is compared like that of the manual's
blocks: words must be equal, numbers agree to two digits.
"""

import contextlib
import doctest
import inspect
import io
import re
import sys
from collections.abc import Callable

from . import reference

sys.path.insert(0, str(reference.ROOT / ".ci"))

from readme import alike

_PARSER = doctest.DocTestParser()
START = reference.FOLDER / "index.md.in"


def examples(thing) -> list[doctest.Example]:
    """Return the examples in a docstring."""
    return _PARSER.get_examples(inspect.getdoc(thing) or "")


def start() -> dict[str, object]:
    """Return the names that examples start with."""
    names: dict[str, object] = {}
    block = re.search(r"```python\n(.*?)```", START.read_text("utf-8"), re.DOTALL)
    exec(block[1], names)
    return names


def printed(source: str, names: dict[str, object]) -> str:
    """Return what a statement prints, or what Python shows of an expression's value."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(source, "<example>", "single"), names)
    return told.getvalue()


def faults(names: list[str], say: Callable = print) -> list[str]:
    """Return what is wrong with the examples of public names."""
    given, found = start(), []
    for name in names:
        own = dict(given)
        for example in examples(reference.named(name)):
            told = printed(example.source, own)
            same = len(told.split()) == len(example.want.split()) and all(
                map(alike, example.want.split(), told.split())
            )
            if not same:
                found.append(
                    f"jv.{name}: {example.source}says {example.want}and prints {told}"
                )
        say(name)
    return found


def main(names: list[str]) -> None:
    """Run the examples of names, or of all."""
    listed = [name for *_, text in reference.GROUPS.values() for name in text.split()]
    found = faults(
        [name for name in names or listed if not isinstance(reference.named(name), int)]
    )
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main(sys.argv[1:])
