"""A real headless Chromium, driven over WebDriver with the standard library alone."""

import base64
import contextlib
import json
import shutil
import subprocess
import urllib.request
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "no Chromium with its chromedriver is installed"

_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
]


class Browser:
    """One window; what it logs and asks of the network is kept."""

    def __init__(self, address: str, profile: Path, width: int = 1366, height: int = 900):
        self._address = address
        options = {
            "binary": CHROMIUM,
            "args": [
                *_ARGUMENTS,
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}",
            ],
        }
        capabilities = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        answer = self._ask(
            "POST", "/session", {"capabilities": {"alwaysMatch": capabilities}}
        )
        self._session = f"/session/{answer['sessionId']}"
        self._call("/url", {"url": "about:blank"})
        self._log("performance")  # of the window's first page, which is not ours

    def open(self, page: Path) -> None:
        self._call("/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *arguments):
        return self._call("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true, at most the script time limit."""
        script = (
            "const done = arguments[0]; const look = () => "
            f"({condition}) ? done(true) : requestAnimationFrame(look); look();"
        )
        self._call("/execute/async", {"script": script, "args": []})

    def command(self, name: str, **parameters):
        """Send a command of the DevTools protocol."""
        return self._call("/goog/cdp/execute", {"cmd": name, "params": parameters})

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        moves = [
            {"type": "pointerMove", "x": round(x) - 3, "y": round(y) - 3, "duration": 20},
            {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 20},
        ]
        if click:
            moves += [
                {"type": "pointerDown", "button": 0},
                {"type": "pointerUp", "button": 0},
            ]
        mouse = {"type": "pointer", "id": "mouse", "actions": moves}
        self._call("/actions", {"actions": [mouse]})

    def turn_wheel(self, x: float, y: float, distance: int) -> None:
        turn = {
            "type": "scroll",
            "x": round(x),
            "y": round(y),
            "deltaX": 0,
            "deltaY": distance,
        }
        self._call(
            "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [turn]}]}
        )

    def press(self, key: str) -> None:
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._call(
            "/actions", {"actions": [{"type": "key", "id": "keys", "actions": keys}]}
        )

    def console(self) -> list[str]:
        """Return warnings and errors of the console since the last call."""
        return [
            entry["message"] for entry in self._log("browser") if entry["level"] != "INFO"
        ]

    def requests(self) -> list[str]:
        """Return the addresses asked for since the last call, the page's data aside."""
        events = [
            json.loads(entry["message"])["message"] for entry in self._log("performance")
        ]
        addresses = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [
            address for address in addresses if not address.startswith(("data:", "blob:"))
        ]

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write a screenshot of the window, or of the whole page."""
        clip = {}
        if whole:
            root = "const r = document.documentElement; "
            size = self.run(root + "return [r.scrollWidth, r.scrollHeight]")
            clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        options = {"captureBeyondViewport": True, "clip": clip} if whole else {}
        shot = self.command("Page.captureScreenshot", **options)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self._ask("DELETE", self._session)

    def _log(self, kind: str) -> list[dict]:
        return self._call("/se/log", {"type": kind})

    def _call(self, path: str, content: dict):
        return self._ask("POST", self._session + path, content)

    def _ask(self, method: str, path: str, content: dict | None = None):
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self._address + path, body, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]


@contextlib.contextmanager
def driver():
    """Run chromedriver on a free port of this machine; gives its address."""
    with subprocess.Popen(
        [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout:
            if "started successfully on port" in line:
                break
        port = line.rstrip(".\n").rsplit(" ", 1)[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
