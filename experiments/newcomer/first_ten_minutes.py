"""The first ten minutes of a new user, as measurable steps.

Everything runs on a clean clone with a new environment in a temporary folder: the
commands of the README, a first study, a changed number, mistakes, an interrupted run.
Prints a table and exits with 1 if a promise is not kept. Takes some minutes; needs the
network for the installation.

    python -m experiments.newcomer.first_ten_minutes [--here]

`--here` skips the installation and uses the environment that runs it.
"""

import argparse
import dataclasses
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from experiments.newcomer.terminal import Terminal
from experiments.newcomer.typos import TYPOS
from jaxvib.cli import main as main_command
from tests.reports import browser

ROOT = Path(__file__).parents[2]
QUICK = "quick"


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of the table: what is promised, and what was found."""

    row: int
    what: str
    found: str
    promised: str
    kept: bool


class Table:
    """The lines so far, printed as they come."""

    def __init__(self):
        self.lines: list[Line] = []

    def add(self, row: int, what: str, found, promised: str, kept) -> None:
        """Add and print one line."""
        line = Line(row, what, str(found), promised, bool(kept))
        self.lines.append(line)
        mark = "ok" if line.kept else "NOT KEPT"
        print(f"{row:3}  {what:44}  {line.found:>24}  {promised:24}  {mark}", flush=True)

    def below(self, row: int, what: str, found: float, limit: float, unit: str) -> None:
        """Add a line for a number with an upper limit."""
        self.add(row, what, f"{found:.3g} {unit}", f"below {limit:g} {unit}", found < limit)

    def at_most(self, row: int, what: str, found: int, limit: int) -> None:
        """Add a line for a count with an upper limit."""
        self.add(row, what, found, f"{limit} or less", found <= limit)


def readme(table: Table, clone: Path) -> None:
    """Rows 1 and 2: the README's beginning and its commands."""
    lines = (clone / "README.md").read_text().splitlines()
    table.add(1, "lines of the README", len(lines), "120 or less", len(lines) <= 120)
    pictures = re.findall(
        r'(?:src|srcset)="([^"]+)"|!\[.*?\]\((\S+?)\)', "\n".join(lines[:5])
    )
    files = [clone / (one or other) for one, other in pictures]
    there = [file for file in files if file.is_file()]
    size = max((file.stat().st_size for file in there), default=0) / 1e6
    table.add(1, "moving picture in lines 1 to 5", f"{size:.2f} MB", "below 1.5 MB",
              there and len(there) == len(files) and size < 1.5)  # fmt: skip
    start = next((n for n, line in enumerate(lines, 1) if "<!-- setup -->" in line), 999)
    table.add(2, "line of the first command", start + 2, "12 or less", start + 2 <= 12)


def install(table: Table, clone: Path) -> Path:
    """Row 3: the installation; returns the folder of its programs."""
    started = time.monotonic()
    environment = clone / ".venv"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin/pip", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "install", "-q", "."], cwd=clone, capture_output=True,
                          text=True, check=True)  # fmt: skip
    table.below(3, "installation by pip", time.monotonic() - started, 60, "s")
    noise = len((done.stdout + done.stderr).splitlines())
    table.add(3, "lines of noise while installing", noise, "0", noise == 0)
    listed = subprocess.run(
        [*pip, "list", "--format=json"], capture_output=True, check=True
    )
    table.below(3, "distributions", len(json.loads(listed.stdout)), 45, "")
    size = sum(f.stat().st_size for f in environment.rglob("*") if f.is_file()) / 1e6
    table.add(3, "size on disk", f"{size:.0f} MB", "stated", True)
    return environment / "bin"


def first_words(table: Table, terminal: Terminal) -> None:
    """Rows 4 and 5: the help and what is installed."""
    terminal.run("jaxvib", "--help")  # Python writes its bytecode once
    shown = terminal.run("jaxvib", "--help")
    table.below(4, "jaxvib --help", shown.seconds, 0.4, "s")
    listed = shown.out.split("Commands:")[-1]  # the usage above ends with [ARGS]...
    commands = re.findall(r"^  (\w+) +\S.*$", listed, re.MULTILINE)
    number = len(main_command.commands)
    table.add(
        4, "commands, a line each", len(commands), f"{number}", len(commands) == number
    )
    cut = [line for line in listed.splitlines() if line.endswith("...")]
    table.add(4, "lines that are cut short", len(cut), "0", not cut)
    last = shown.out.strip().splitlines()[-1]
    table.add(4, "ends with a command to try", last.strip(), "Try: jaxvib ...",
              last.strip().startswith("Try: jaxvib "))  # fmt: skip
    alone = terminal.run("jaxvib")
    table.add(4, "jaxvib alone says the same", alone.code, "exit code 0",
              (alone.code, alone.out) == (0, shown.out))  # fmt: skip
    told = terminal.run("jaxvib", "info")
    table.at_most(5, "lines of jaxvib info", len(told.out.splitlines()), 12)
    words = ("jax", "device", "float64", "cache")
    table.add(5, "versions, device, precision, cache", told.code, "in stdout only",
              told.code == 0 and not told.err and _all(words, told.out))  # fmt: skip


def ready_studies(table: Table, terminal: Terminal, clone: Path) -> None:
    """Rows 6 and 7: the ready studies and the look before the leap."""
    listed = terminal.run("jaxvib", "new")
    configs = sorted((clone / "configs").glob("*.toml"))
    table.add(6, "jaxvib new lists every ready study", len(configs), "all of configs/",
              all(config.stem in listed.out for config in configs))  # fmt: skip
    copied = terminal.run("jaxvib", "new", QUICK, "mine.toml")
    table.add(6, "jaxvib new STUDY FILE copies one", copied.code, "exit code 0",
              copied.code == 0 and (terminal.folder / "mine.toml").is_file())  # fmt: skip
    checks = {config: terminal.run("jaxvib", "check", str(config)) for config in configs}
    slowest = max(done.seconds for done in checks.values())
    table.below(6, "jaxvib check, the slowest of configs/", slowest, 5, "s")
    table.add(6, "all of configs/ pass it", len(checks), "exit code 0",
              all(done.code == 0 for done in checks.values()))  # fmt: skip
    longest = max(len(config.read_text().splitlines()) for config in configs)
    table.at_most(6, "lines of the longest config", longest, 40)
    bare = [line for config in configs for line in config.read_text().splitlines()
            if "=" in line and "#" not in line]  # fmt: skip
    table.add(6, "keys without a comment", len(bare), "0", not bare)
    looked = checks[next(config for config in configs if config.stem == "regime_map")].out
    words = ("samples", "memory", "time")
    table.add(7, "check says samples, memory, time", len(looked.splitlines()), "all three",
              all(word in looked for word in words))  # fmt: skip
    table.add(7, "check writes nothing", "results/" if _written(terminal) else "nothing",
              "nothing", not _written(terminal))  # fmt: skip


def first_study(table: Table, terminal: Terminal) -> None:
    """Rows 7 to 11: progress, the first study, its end."""
    told = terminal.run("jaxvib", "check", QUICK, "--measure", "--json").out
    expected = json.loads(told)["time"]["cold"]
    shutil.rmtree(terminal.environment["XDG_CACHE_HOME"])  # a first run compiles
    first = terminal.watch("jaxvib", "run", QUICK)
    table.below(8, "first line of the run after", first.pieces[0][0], 5, "s")
    table.add(8, "says what it does meanwhile", "compiling", "compiling",
              first.first("compiling") < 5)  # fmt: skip
    words = ("samples/s", "failed", "<")
    table.add(9, "progress: rate, time left, failed", first.code, "all three",
              "samples/s" in first.out and "<" in first.out)  # fmt: skip
    table.below(10, "first study, everything", first.seconds, 40, "s")
    piped = terminal.run("jaxvib", "run", QUICK, "--out", "second")
    table.add(10, "second run", f"{piped.seconds:.1f} s", "below half of the first",
              piped.seconds < first.seconds / 2)  # fmt: skip
    bars = [word for word in ("\r", *words[:1]) if word in piped.out + piped.err]
    table.add(9, "bytes of progress in a pipe", "some" if bars else 0, "0", not bars)
    table.add(7, "expected time against the run", f"{expected:.0f} / {first.seconds:.0f} s",
              "within a factor of 2", 0.5 < expected / first.seconds < 2)  # fmt: skip
    table.at_most(11, "lines of the summary", len(piped.out.splitlines()), 12)
    words = ("done", "failed", "undecided", "largest", "evidence", "report", "next")
    missing = [word for word in words if word not in piped.out]
    table.add(11, "summary lacks", ", ".join(missing) or "nothing", "nothing", not missing)


def report(table: Table, terminal: Terminal) -> None:
    """Rows 12 and 14: the report, and two runs in one."""
    page = terminal.folder / "second" / "report.html"
    _look(table, 12, page)
    changed = terminal.run("jaxvib", "run", QUICK, "--set", "attached.mass=120",
                           "--out", "heavier")  # fmt: skip
    table.add(
        14, "one number changed by --set", changed.code, "exit code 0", changed.code == 0
    )
    both = terminal.run("jaxvib", "report", "second", "heavier")
    table.add(14, "both runs in one report", both.code, "exit code 0", both.code == 0)
    paths = re.findall(r"\S+\.html", both.out)
    if paths:
        _look(table, 14, terminal.folder / paths[-1])


def mistakes(table: Table, terminal: Terminal, clone: Path) -> None:
    """Row 15: twenty typos."""
    config = (clone / "configs" / "regime_map.toml").read_text()
    slowest, wrong = 0.0, []
    for typo in TYPOS:
        text, line = typo.put_into(config)
        (terminal.folder / "typo.toml").write_text(text)
        done = terminal.run("jaxvib", "run", "typo.toml")
        slowest = max(slowest, done.seconds)
        said = done.out + done.err
        good = (
            done.code == 2
            and "Traceback" not in said
            and f"typo.toml, line {line}:" in said
            and all(word in said for word in typo.expected)
        )
        if not good:
            wrong.append(typo.wrong)
            print(
                f"     {typo.wrong!r} is answered (exit code {done.code}): {said.strip()}"
            )
    table.add(
        15, "typos answered as they should be", len(TYPOS) - len(wrong), "20", not wrong
    )
    table.below(15, "slowest answer", slowest, 1, "s")


def python(table: Table, terminal: Terminal, clone: Path) -> None:
    """Row 16: the README's Python."""
    blocks = re.findall(
        r"```python\n(.*?)```", (clone / "README.md").read_text(), re.DOTALL
    )
    written = [line for line in blocks[0].splitlines() if line.strip()]
    table.at_most(16, "lines of Python in the README", len(written), 10)
    cpu = "import resource; print(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))"
    shutil.rmtree(terminal.environment["XDG_CACHE_HOME"], ignore_errors=True)
    done = terminal.run("python", "-c", f"{blocks[0]}\n{cpu}")
    table.below(16, "that block, cold", float(done.out.splitlines()[-1]), 15, "s CPU")

    def imports(code: str) -> float:
        return min(
            float(terminal.run("python", "-c", f"{code}\n{cpu}").out) for _ in range(5)
        )

    ratio = imports("import jaxvib as jv; jv.two_body_impact()") / imports("import jax")
    table.below(16, "first system, by import jax", ratio, 1.7, "times")
    texts = terminal.run("python", "-c", _PRINT_ALL)
    for entry in json.loads(texts.out):
        table.at_most(16, f"lines of {entry['name']}, text and HTML", entry["lines"], 8)


def broken_off(table: Table, terminal: Terminal) -> None:
    """Row 20: interrupted, resumed, cited."""
    options = ("--set", "run.chunk=16", "--out", "broken")
    # "running" is said once the first chunk is done
    stopped = terminal.watch("jaxvib", "run", QUICK, *options, interrupt_after="running")
    table.below(20, "Ctrl-C ends the run after", stopped.seconds, 2, "s")
    lines = [line for line in stopped.out.splitlines() if "--resume" in line]
    table.add(
        20, "says how to go on", "--resume" if lines else "nothing", "the command", lines
    )
    if lines:
        command = lines[-1].split("resume with: ")[-1].strip()
        resumed = terminal.run("bash", "-c", command)
        whole = terminal.run("jaxvib", "run", QUICK, *options[:2], "--out", "whole")
        table.add(20, "resumed and whole run end with", f"{resumed.code}, {whole.code}",
                  "exit code 0", resumed.code == whole.code == 0)  # fmt: skip
        unlike = _unlike(terminal.folder / "broken", terminal.folder / "whole")
        table.add(20, "arrays that differ", len(unlike), "0", not unlike)
    cited = terminal.run("jaxvib", "cite")
    table.add(20, "jaxvib cite", cited.code, "exit code 0", cited.code == 0 and cited.out)


_PRINT_ALL = """
import json, jaxvib as jv
system = jv.two_body_impact()
orbit = jv.periodic_orbit(system)
items = [system, system.contact, system.load, orbit]
print(json.dumps([{"name": type(item).__name__, "lines": max(
    repr(item).count("\\n") + 1, item._repr_html_().count("\\n") + 1)} for item in items]))
"""


def _look(table: Table, row: int, page: Path) -> None:
    table.below(row, f"size of {page.name}", page.stat().st_size / 1e6, 3, "MB")
    if not browser.CHROMIUM:
        print(f"     {browser.MISSING}: the page is not opened")
        return
    with tempfile.TemporaryDirectory() as profile:
        window = browser.Browser(Path(profile))
        window.open(page)
        window.wait("document.documentElement.dataset.ready")
        mark = "performance.getEntriesByName('first picture')[0].startTime"
        seconds = window.run(f"return {mark}") / 1e3
        table.below(row, "first picture drawn after", seconds, 1, "s")
        asked = [url for url in window.requests() if url != page.resolve().as_uri()]
        table.add(row, "network requests", len(asked), "0", not asked)
        said = window.console()
        table.add(row, "console errors and warnings", len(said), "0", not said)
        window.close()


def _all(words, text: str) -> bool:
    return all(word in text for word in words)


def _written(terminal: Terminal) -> bool:
    return (terminal.folder / "results").exists()


def _unlike(one: Path, other: Path) -> list[str]:
    def arrays(folder: Path) -> dict[str, bytes]:
        return {
            str(file.relative_to(folder)): file.read_bytes()
            for file in sorted(folder.rglob("c/**/*"))
            if file.is_file()
        }

    a, b = arrays(one), arrays(other)
    if not a:
        raise SystemExit(f"{one} holds no arrays")
    return [name for name in sorted(a.keys() | b.keys()) if a.get(name) != b.get(name)]


def main() -> int:
    """Go through all rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--here", action="store_true")
    here = parser.parse_args().here
    table = Table()
    with tempfile.TemporaryDirectory() as work:
        clone, folder = Path(work, "clone"), Path(work, "folder")
        folder.mkdir()
        subprocess.run(["git", "clone", "-q", str(ROOT), clone], check=True)
        tomllib.loads((clone / "pyproject.toml").read_text())
        readme(table, clone)
        programs = Path(sys.executable).parent if here else install(table, clone)
        terminal = Terminal(folder, programs, Path(work, "cache"))
        first_words(table, terminal)
        ready_studies(table, terminal, clone)
        first_study(table, terminal)
        report(table, terminal)
        mistakes(table, terminal, clone)
        broken_off(table, terminal)
        python(table, terminal, clone)
    broken = [line for line in table.lines if not line.kept]
    print(f"\n{len(table.lines) - len(broken)} of {len(table.lines)} as promised")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
