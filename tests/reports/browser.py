"""A real headless Chromium, driven by its DevTools protocol with the standard library."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
MISSING = "no Chromium is installed"

_ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",  # reads commands from 3, writes answers to 4
]
_LAUNCH = "import os, sys; r, w, *c = sys.argv[1:]; os.dup2(int(r), 3); "
_LAUNCH += "os.dup2(int(w), 4); os.execv(c[0], c)"
_LONGEST = 60  # s, until an answer


class Browser:
    """One window; what it logs and asks of the network is kept."""

    def __init__(self, profile: Path, width: int = 1366, height: int = 900):
        (theirs, self._out), (self._in, answers) = map(_above, (os.pipe(), os.pipe()))
        more = [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        launch = [sys.executable, "-c", _LAUNCH, str(theirs), str(answers)]
        self._process = subprocess.Popen(
            [*launch, str(CHROMIUM), *_ARGUMENTS, *more],
            pass_fds=(theirs, answers), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs)
        os.close(answers)
        self._number, self._rest, self._session = 0, b"", None
        self._messages: list[str] = []
        self._addresses: list[str] = []
        self._loaded = 0
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.command(f"{domain}.enable")

    def open(self, page: Path) -> None:
        loaded = self._loaded
        self.command("Page.navigate", url=page.resolve().as_uri())
        while self._loaded == loaded:
            self._hear()

    def run(self, script: str, *arguments):
        return self.evaluate(
            f"(function () {{ {script} }}).apply(null, {json.dumps(arguments)})"
        )

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true, a minute at most."""
        self.evaluate(
            "new Promise((done) => { const look = () => "
            f"({condition}) ? done(true) : requestAnimationFrame(look); look(); }})"
        )

    def command(self, name: str, **parameters):
        """Send a command of the DevTools protocol and return its answer."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": name, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._hear()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def point(self, x: float, y: float, *, click: bool = False) -> None:
        for part in (3, 0):
            self._mouse("mouseMoved", x - part, y - part)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self._mouse(kind, x, y, button="left", clickCount=1)

    def turn_wheel(self, x: float, y: float, distance: int) -> None:
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=distance)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.command(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                windowsVirtualKeyCode=code,
            )  # fmt: skip

    def console(self) -> list[str]:
        """Return warnings and errors of the console since the last call."""
        return self._since(self._messages)

    def requests(self) -> list[str]:
        """Return the addresses asked for since the last call, the page's data aside."""
        return [
            address
            for address in self._since(self._addresses)
            if not address.startswith(("data:", "blob:"))
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
        self._session = None
        self.command("Browser.close")
        self._process.wait(_LONGEST)
        os.close(self._out)
        os.close(self._in)

    def evaluate(self, expression: str):
        """Return the value of a JavaScript expression, a promise's once it is kept."""
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True,
            awaitPromise=True, userGesture=True,
        )  # fmt: skip
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def _mouse(self, kind: str, x: float, y: float, **more) -> None:
        place = {"x": round(x), "y": round(y)}
        self.command("Input.dispatchMouseEvent", type=kind, **place, **more)

    def _since(self, kept: list[str]) -> list[str]:
        self.evaluate("1")  # whatever came before has been heard with its answer
        found = kept.copy()
        kept.clear()
        return found

    def _hear(self) -> dict:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], _LONGEST)
            assert ready, "the browser does not answer"
            self._rest += os.read(self._in, 1 << 20)
        text, _, self._rest = self._rest.partition(b"\0")
        message = json.loads(text)
        parameters = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded += 1
            case "Network.requestWillBeSent":
                self._addresses.append(parameters["request"]["url"])
            case "Log.entryAdded":
                if parameters["entry"]["level"] in ("warning", "error"):
                    self._messages.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled":
                if parameters["type"] in ("warning", "error", "assert"):
                    self._messages.append(str(parameters["args"]))
            case "Runtime.exceptionThrown":
                self._messages.append(str(parameters["exceptionDetails"]))
        return message


def _above(ends: tuple[int, int]) -> list[int]:
    """Return both ends of a pipe under numbers that the browser's own do not take."""
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved
