"""Take the commands and code out of README.md, so that they are run as they are printed.

`readme.py setup NUMBER` prints the set-up line NUMBER (1 or 2), found between the marks
`<!-- setup -->` and `<!-- /setup -->`. `readme.py run` runs every other shell and Python
block, in order, in the current folder, and compares what a block prints with the `text`
block that follows it: words must be equal, numbers agree to two digits. `readme.py printed
LOG` compares the output of set-up line 1 with the `text` block behind the set-up lines: a
line of the block must be in the output, up to `...` if it ends so.

Standard library only: it runs before anything is installed.
"""

import math
import os
import pathlib
import re
import subprocess
import sys

README = pathlib.Path("README.md")
_SETUP = re.compile(r"<!-- setup -->(.*?)<!-- /setup -->", re.DOTALL)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?j?%?", re.IGNORECASE)


def setup_lines() -> list[str]:
    """Return the two set-up lines."""
    text = "".join(_SETUP.findall(README.read_text(encoding="utf-8")))
    blocks = [body for language, body in _BLOCK.findall(text) if language == "bash"]
    lines = [line for body in blocks for line in body.splitlines() if line.strip()]
    if len(lines) != 2:
        raise SystemExit(f"README.md has {len(lines)} set-up lines; allowed: 2")
    return lines


def compare_summary(printed: str) -> None:
    """Stop unless a study printed each line of the `text` block behind the set-up."""
    _, _, text = README.read_text(encoding="utf-8").partition("<!-- /setup -->")
    promised = next(body for language, body in _BLOCK.findall(text) if language == "text")
    lines = {line.split()[0]: line for line in printed.splitlines() if line.strip()}
    for line in promised.splitlines():
        found = lines.get(line.split()[0], "")
        if line.endswith("..."):
            line = line.removesuffix("...")
            found = " ".join(found.split()[: len(line.split())])
        compare(line, found)


def run_blocks() -> None:
    """Run the README's other blocks."""
    text = _SETUP.sub("", README.read_text(encoding="utf-8"))
    environment = os.environ | {
        "PATH": f"{pathlib.Path('.venv/bin').resolve()}:{os.environ['PATH']}",
        "PYTHONWARNINGS": "error",
    }
    commands = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": ["python", "-c"]}
    printed = None
    for language, body in _BLOCK.findall(text):
        if language in commands:
            print(f"--- README {language} block\n{body}", flush=True)
            done = subprocess.run(
                [*commands[language], body],
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            printed = done.stdout
            print(printed, flush=True)
        elif language == "text" and printed is not None:
            compare(body, printed)
            printed = None


def compare(expected: str, actual: str) -> None:
    """Stop unless two texts say the same."""
    pairs = zip(expected.split(), actual.split(), strict=False)
    same = len(expected.split()) == len(actual.split()) and all(
        alike(a, b) for a, b in pairs
    )
    if not same:
        raise SystemExit(f"README.md promises\n{expected}\nbut it prints\n{actual}")


def alike(expected: str, actual: str) -> bool:
    """Return whether two words are equal but for the digits of their numbers."""
    if _NUMBER.sub("#", expected) != _NUMBER.sub("#", actual):
        return False
    numbers = zip(_NUMBER.findall(expected), _NUMBER.findall(actual), strict=True)
    for one, other in numbers:
        a, b = (float(number.rstrip("j%")) for number in (one, other))
        # Evidence such as a residual of 3e-10 differs from machine to machine.
        if not math.isclose(a, b, rel_tol=1e-2, abs_tol=1e-5):
            return False
    return True


if __name__ == "__main__":
    if sys.argv[1:2] == ["setup"]:
        print(setup_lines()[int(sys.argv[2]) - 1])
    elif sys.argv[1:2] == ["printed"]:
        compare_summary(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8"))
    else:
        run_blocks()
