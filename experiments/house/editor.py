"""What an editor shows of the stable names: texts on hovering, and names after a dot.

    python -m experiments.house.editor    # asks pyright's language server, prints lacks

Each stable name must show the first line of its docstring, a result all of its promised
fields and methods, a parameter that was given as a number that it is an array. **Needs:**
the package `pyright`.
"""

import inspect
import json
import subprocess
import sys

from . import reference
from .types import ROOT, environment

PAGE = "file:///page.py"
READ = "jv.HarmonicLoad(amplitude=500.0, frequency=5.8).amplitude"
_OPENED = {"uri": PAGE, "languageId": "python", "version": 1}


class Server:
    """Pyright's language server with one page open, in which positions are asked about."""

    def __init__(self, text: str):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment(),
        )  # fmt: skip
        self.asked("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self._send({"method": "initialized", "params": {}})
        opened = {"textDocument": _OPENED | {"text": text}}
        self._send({"method": "textDocument/didOpen", "params": opened})

    def asked(self, method: str, parameters: dict) -> dict:
        """Return the answer to a question."""
        self._send({"id": 1, "method": method, "params": parameters})
        while True:
            found = self._read()
            if "method" not in found and found.get("id") == 1:
                return found["result"] or {}
            if "method" in found and "id" in found:  # asks for settings: there are none
                items = found["params"].get("items", [])
                self._send({"id": found["id"], "result": [{} for _ in items]})

    def at(self, what: str, line: int, character: int) -> dict:
        """Return what is shown at a position: "hover" or "completion"."""
        place = {"line": line, "character": character}
        asked = {"textDocument": {"uri": PAGE}, "position": place}
        return self.asked(f"textDocument/{what}", asked)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _send(self, message: dict) -> None:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict:
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        if not length:
            raise SystemExit("the language server has ended")
        return json.loads(self._process.stdout.read(length))


def lacks() -> list[str]:
    """Return a line for each stable name of which an editor shows too little."""
    names = sorted(reference.STABLE)
    results = {name: row for name, row in reference.PROMISES["read"].items()
               if not any("=" in one for one in row)}  # codes have values  # fmt: skip
    lines = ["import jaxvib as jv", *(f"jv.{name}" for name in names)]
    given = ", ".join(f"a{i}: jv.{name}" for i, name in enumerate(results))
    lines.append(f"def f({given}):")
    lines += [f"    a{i}.{row[0]}" for i, row in enumerate(results.values())]
    lines.append(READ)
    server, found = Server("\n".join(lines)), []
    for line, name in enumerate(names, 1):
        shown = server.at("hover", line, len(f"jv.{name}"))
        text = shown.get("contents", {}).get("value", "")
        first = inspect.getdoc(reference.named(name)).splitlines()[0]
        if first not in text:
            found.append(f"{name} shows {text!r}")
    for line, (name, row) in enumerate(results.items(), len(names) + 2):
        items = server.at("completion", line, lines[line].index(".") + 1)["items"]
        missing = set(row) - {item["label"] for item in items}
        found += [f"{name} does not offer {one}" for one in sorted(missing)]
    shown = server.at("hover", len(lines) - 1, len(READ) - 1)
    if "amplitude: Array" not in shown.get("contents", {}).get("value", ""):
        found.append(f"{READ} shows {shown}")
    server.close()
    return found


if __name__ == "__main__":
    if missing := lacks():
        raise SystemExit("\n".join(missing))
    print(f"an editor shows {len(reference.STABLE)} stable names whole")
