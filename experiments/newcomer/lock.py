"""Write `packaging/pylock.toml`: versions, files and hashes of all that jaxvib installs.

    python -m experiments.newcomer.lock

For Linux on x86-64 and ARM, Python 3.11 to 3.13 and, by source files, other machines; in
the standard format that `pip install -r` and `uv pip install -r` read. Needs `uv`, which is
in the dependency group `release`, and the network.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .wheels import ROOT

FILE = ROOT / "packaging" / "pylock.toml"
HEADER = "# Made by `python -m experiments.newcomer.lock`: what was newest then.\n"
_KEPT = re.compile(
    r"-none-any\.whl|-(?:cp31[123]-cp31[123]|cp3\d+-abi3|py3-none)-manylinux\w+_(?:x86_64|aarch64)"
)


def needed(text: str) -> str:
    """Return a lock without the wheels for other machines and Pythons."""
    kept = []
    for line in text.splitlines(keepends=True):
        name = re.search(r'url = "[^"]+/([^/"]+\.whl)"', line)
        if not (line.startswith("    {") and name) or _KEPT.search(name[1]):
            kept.append(line)
    return "".join(kept)


def main() -> None:
    """Resolve, and write the lock."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pylock.toml"
        words = [
            "pip",
            "compile",
            "pyproject.toml",
            "--universal",
            "--format",
            "pylock.toml",
        ]
        words += ["--python-version", "3.11", "--no-annotate", "--no-header", "-q"]
        uv = Path(sys.executable).parent / "uv"
        subprocess.run([uv, *words, "-o", file], cwd=ROOT, check=True, capture_output=True)
        FILE.write_text(HEADER + needed(file.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
