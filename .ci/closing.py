"""Print pytest's closing lines in a log as one: of the fast tests and of the slow ones.

    python closing.py LOG

Standard library only.
"""

import collections
import pathlib
import re
import sys

_CLOSING = re.compile(r"^=* ?(\d+ \w+(?:, \d+ \w+)*) in ([\d.]+)s")


def closing(log: str) -> str:
    """Return the sum of all closing lines."""
    counts, seconds = collections.Counter(), 0.0
    for found in filter(None, map(_CLOSING.match, log.splitlines())):
        for part in found[1].split(", "):
            number, word = part.split()
            counts[word] += int(number) if word != "deselected" else 0
        seconds += float(found[2])
    if not counts:
        raise SystemExit("no closing line of pytest was found")
    listed = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    whole = int(seconds)
    clock = f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{listed} in {seconds:.2f}s ({clock})"


if __name__ == "__main__":
    print(closing(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")))
