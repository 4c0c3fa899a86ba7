"""A real headless Firefox, driven by its Marionette protocol with the standard library."""

import base64
import json
import os
import re
import select
import shutil
import socket
import subprocess
from pathlib import Path

FIREFOX = shutil.which("firefox") or shutil.which("firefox-esr")
MISSING = "no Firefox is installed"

_PREFERENCES = {
    "marionette.port": 0,  # one that is free
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.log.level": "Info",
}
_LONGEST = 120  # s, until an answer
# What pages log is kept by their own process, what they throw by the browser's.
_LOGGED = """
const storage = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage);
const found = storage.getEvents()
  .map((event) => [event.level, [...event.arguments].join()]);
storage.clearEvents();
sendAsyncMessage("logged", found);
"""
_CONSOLE = """
const [logged, done] = arguments;
const thrown = Services.console.getMessageArray()
  .filter((each) => each instanceof Ci.nsIScriptError)
  .filter((each) => each.sourceName.startsWith("file:"))
  .map((each) => each.errorMessage);
Services.console.reset();
const messages = gBrowser.selectedBrowser.messageManager;
messages.addMessageListener("logged", function listen({ data }) {
  messages.removeMessageListener("logged", listen);
  const said = data.filter(([level]) => ["warn", "error", "assert"].includes(level));
  done([...said.map(([, text]) => text), ...thrown]);
});
messages.loadFrameScript(`data:,${encodeURIComponent(logged)}`, false);
"""


class Firefox:
    """One window; what it logs is kept."""

    def __init__(self, profile: Path, width: int = 1366, height: int = 900):
        lines = (
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in _PREFERENCES.items()
        )
        (profile / "user.js").write_text("".join(lines))
        size = {"MOZ_HEADLESS_WIDTH": f"{width}", "MOZ_HEADLESS_HEIGHT": f"{height}"}
        self._process = subprocess.Popen(
            [str(FIREFOX), "--headless", "--marionette", "--remote-allow-system-access",
             "--no-remote", "--profile", str(profile)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | size | {"HOME": str(profile)},
        )  # fmt: skip
        self._number, self._rest = 0, b""
        self._socket = socket.create_connection(("127.0.0.1", self._port()), _LONGEST)
        self._hear()  # its greeting
        self.command("WebDriver:NewSession", pageLoadStrategy="normal")

    def open(self, page: Path) -> None:
        self.command("WebDriver:Navigate", url=page.resolve().as_uri())

    def run(self, script: str, *arguments):
        return self._answer("WebDriver:ExecuteScript", script, arguments)

    def evaluate(self, expression: str):
        """Return the value of a JavaScript expression, a promise's once it is kept."""
        script = "const done = arguments[arguments.length - 1]; "
        script += f"Promise.resolve({expression.strip()}).then(done);"
        return self._answer("WebDriver:ExecuteAsyncScript", script, ())

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        script = (
            "const done = arguments[arguments.length - 1]; const look = () => "
            f"({condition}) ? done(true) : requestAnimationFrame(look); look();"
        )
        self._answer("WebDriver:ExecuteAsyncScript", script, ())

    def console(self) -> list[str]:
        """Return warnings and errors of pages since the last call."""
        self.command("Marionette:SetContext", value="chrome")
        found = self._answer("WebDriver:ExecuteAsyncScript", _CONSOLE, (_LOGGED,))
        self.command("Marionette:SetContext", value="content")
        return found

    def picture(self, path: Path) -> None:
        """Write a screenshot of the whole page."""
        shot = self.command("WebDriver:TakeScreenshot", full=True)["value"]
        path.write_bytes(base64.b64decode(shot))

    def close(self) -> None:
        self.command("Marionette:Quit", flags=["eForceQuit"])
        self._socket.close()
        self._process.communicate(timeout=_LONGEST)

    def command(self, name: str, **parameters):
        """Send a command of the Marionette protocol and return its answer."""
        self._number += 1
        text = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self._hear()
        assert number == self._number
        assert error is None, error
        return result

    def _answer(self, command: str, script: str, arguments):
        return self.command(
            command, script=script, args=list(arguments), scriptTimeout=1000 * _LONGEST
        )["value"]

    def _hear(self) -> list:
        while b":" not in self._rest:
            self._rest += self._more()
        length, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(length):
            self._rest += self._more()
        text, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(text)

    def _more(self) -> bytes:
        more = self._socket.recv(1 << 16)
        assert more, "Firefox has gone"
        return more

    def _port(self) -> int:
        """Return the port that Firefox says it listens on."""
        assert self._process.stdout is not None
        output, said = self._process.stdout.fileno(), b""
        while not (found := re.search(rb"Listening on port (\d+)\s", said)):
            ready, _, _ = select.select([output], [], [], _LONGEST)
            more = os.read(output, 1 << 16) if ready else b""
            assert more, f"Firefox does not start: {said.decode()}"
            said += more
        return int(found[1])
