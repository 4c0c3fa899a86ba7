"""How complete the types of public names are, by pyright; of stable names all are known.

    python -m experiments.house.types    # prints figures, and what is not known

A type is known if every argument, result, field and base class has one, all the way
down; types of other packages count as known. **Needs:** the package `pyright`.
"""

import json
import os
import site
import subprocess
import sys
from pathlib import Path

from . import reference

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    """Return variables with which pyright finds this checkout and what is installed."""
    paths = [str(ROOT), *site.getsitepackages(), os.environ.get("PYTHONPATH", "")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def completeness() -> dict[str, dict]:
    """Return what pyright says about each symbol that `import jaxvib` reaches, by name."""
    words = (sys.executable, "-m", "pyright", "--verifytypes", "jaxvib")
    done = subprocess.run(
        [*words, "--ignoreexternal", "--outputjson"],
        capture_output=True, text=True, cwd=ROOT, env=environment(),
    )  # fmt: skip
    if not done.stdout.startswith("{"):
        raise SystemExit(f"{done.stdout}{done.stderr}")
    found = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    return {symbol["name"]: symbol for symbol in found}


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
    """Print the figures. **Raises:** `SystemExit` if a stable name is not known whole."""
    symbols = completeness()
    known = sum(one["isTypeKnown"] for one in symbols.values())
    print(f"{known} of {len(symbols)} public symbols have a known type")
    missing = unknown(symbols)
    print(f"{len(reference.STABLE) - len(missing)} of {len(reference.STABLE)} stable names")
    if missing:
        raise SystemExit("\n".join(line for lines in missing.values() for line in lines))


if __name__ == "__main__":
    main()
