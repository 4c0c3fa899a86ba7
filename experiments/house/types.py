"""How complete the types of public names are, by pyright; of stable names all are known.

    python -m experiments.house.types    # prints figures, and what is not known

A type is known if every argument, result, field and base class has one, all the way
down; types of other packages count as known. Then the Python blocks of README and manual
are checked, a page as one file, in pyright's standard mode. **Needs:** the package
`pyright`.
"""

import json
import os
import site
import subprocess
import sys
import tempfile
from pathlib import Path

from . import reference

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / ".ci"))
from blocks import blocks  # noqa: E402

# A page in which an error must be found: a number is allowed, a text is not.
MISTAKEN = "```python\nimport jaxvib as jv\njv.HarmonicLoad(1.0, frequency='2 Hz')\n```"


def environment() -> dict[str, str]:
    """Return variables with which pyright finds this checkout and what is installed."""
    paths = [str(ROOT), *site.getsitepackages(), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def completeness() -> dict[str, dict]:
    """Return what pyright says about each symbol that `import jaxvib` reaches, by name."""
    found = _told("--verifytypes", "jaxvib", "--ignoreexternal", folder=ROOT)
    return {one["name"]: one for one in found["typeCompleteness"]["symbols"]}


def _told(*words: str, folder: Path) -> dict:
    """Return what pyright writes of a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "pyright", *words, "--outputjson"],
        capture_output=True, text=True, cwd=folder, env=environment(),
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def pages() -> list[Path]:
    """Return the pages of the manual that are written by hand, and the README."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.parent.name != "reference"]


def program(text: str) -> str:
    """Return a page's Python blocks as one program, on the lines where they stand."""
    lines: list[str] = []
    for block in blocks(text):
        if block.language == "python":
            lines += [""] * (block.line - len(lines))
            lines += block.body.splitlines()
    return "\n".join([*lines, ""]) if lines else ""


def page_errors(texts: dict[str, str]) -> list[str]:
    """Return what pyright finds in pages, by their names; packages may be missing."""
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for number, (name, text) in enumerate(texts.items()):
            file = Path(folder).resolve() / f"page_{number}.py"
            file.write_text(program(text), encoding="utf-8")
            names[str(file)] = name
        found = _told(*names, folder=Path(folder))["generalDiagnostics"]
    return [
        f"{names[one['file']]}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in found
        if one.get("rule") != "reportMissingImports" or "jaxvib" in one["message"]
    ]


def unknown(symbols: dict[str, dict]) -> dict[str, list[str]]:
    """Return, for each stable name whose type is not known, why."""
    found: dict[str, list[str]] = {}
    for name in sorted(reference.STABLE):
        thing = reference.named(name)
        full = f"{thing.__module__}.{thing.__qualname__}"
        members = [each for each in symbols if f"{each}.".startswith(f"{full}.")]
        if full not in members:
            found[name] = [f"{full} is not seen"]
        for each in members:
            if not symbols[each]["isTypeKnown"]:
                messages = [one["message"] for one in symbols[each]["diagnostics"]]
                found.setdefault(name, []).append(f"{each}: {'; '.join(messages)}")
    return found


def main() -> None:
    """Print the figures.

    **Raises:** `SystemExit` if a stable name is not known whole, or a page has an error.
    """
    symbols = completeness()
    known = sum(one["isTypeKnown"] for one in symbols.values())
    print(f"{known} of {len(symbols)} public symbols have a known type")
    missing = unknown(symbols)
    print(f"{len(reference.STABLE) - len(missing)} of {len(reference.STABLE)} stable names")
    texts = {str(page.relative_to(ROOT)): page.read_text("utf-8") for page in pages()}
    texts = {name: text for name, text in texts.items() if program(text)}
    mistake, *wrong = page_errors({"": MISTAKEN} | texts) or [""]
    if "frequency" not in mistake:
        raise SystemExit(f"in a page with a mistake is found: {mistake}")
    print(f"{len(wrong)} errors in the Python blocks of {len(texts)} pages")
    if missing or wrong:
        lines = [line for lines in missing.values() for line in lines]
        raise SystemExit("\n".join([*lines, *wrong]))


if __name__ == "__main__":
    main()
