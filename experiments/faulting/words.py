"""Untrusted text: configs, names in them, and malicious stores."""

import json
import os
import random
import resource
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from jaxvib.foundation.text import safe_text
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.study import load
from jaxvib.studies.store.journal import Journal

from .stores import Judge
from .study import OUT, command, folder, outside, run

SLOW = 10.0  # s of a processor that a config may take to be refused
_MOST_MEMORY = 1 << 31  # bytes
_BITS = (
    "[", "]", "{", "}", '"', "'", "=", ".", ",", "\n", "#", "\\", "\0", "\x1b[31m",
    "\u202e", "1e999", "-1", "nan", "inf", "9" * 400, "true", '"""', "[[", "kind", "a/b",
    '"../x"', "0x", "1_000", "2026-01-01", "\xff", "[sweep]", "[run]\nchunk = 0\n",
    "a." * 70,
)  # fmt: skip
_EVIL = (
    None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1.5, float("inf"), "", "x", "../../mine",
    "/etc/passwd", "a\0b", "\x1b[31m", "x" * 100_000, [], {}, [[]], ["../mine"], {"a": {}},
    [10**9, 10**9], {"id": "pickle"}, "object", "|O", [{"name": "numcodecs.pickle"}],
)  # fmt: skip
_NAMES = (
    "../mine", "..", ".", "/etc/passwd", "a/b", "a\\b", "a\0b", "", " ", "x" * 101,
    "é" * 60, "a\nb", "\x1b[2J", "\u202egnp.exe", "C:\\x", "~", "-rf", "nul", "a b",
    "$(touch mine)", "<script>", "zarr.json", "c", "results.zarr", "😀", "a" * 100, "\x7f",
    "\u2028", "%2e%2e",
)  # fmt: skip
_PLACES = (  # study, key in it, what stays before the name
    ("tower_modes", "roof-pendulum", "roof-"), ("tower_with_stop", "push", ""),
    ("tower_with_stop", "first-roof", "first-"), ("damper_sensitivity", "variance", ""),
    ("damper_sensitivity", "peak", ""), ("damper_front", "mass", ""),
)  # fmt: skip


def configs(cases: range, rng: random.Random) -> dict:
    """Change ready configs at random and read them: refused with one line, or taken."""
    texts = [
        path.read_text("utf-8") for path in sorted(builtin_studies.folder().glob("*.toml"))
    ]
    judge, file = _Words(), folder("configs") / "config.toml"
    for case in cases:
        text = rng.choice(texts)
        for _ in range(rng.choice((1, 1, 2, 3, 8))):
            text = _mutated(text, rng)
        judge.read(file, text.encode("utf-8", "surrogatepass"), f"config {case}")
    return judge.result()


def names(cases: range, rng: random.Random) -> dict:
    """Give bodies, loads, measures and swept paths names that lead elsewhere."""
    judge, file = _Words(), folder("names") / "config.toml"
    for case in cases:
        study, key, before = rng.choice(_PLACES)
        name = rng.choice(_NAMES)
        if rng.random() < 0.5:
            name = rng.choice((f"x{name}", f"{name}x", f"x{name}x"))
        text = (builtin_studies.folder() / f"{study}.toml").read_text("utf-8")
        changed = text.replace(key, json.dumps(f"{before}{name}", ensure_ascii=False))
        taken = judge.read(file, changed.encode("utf-8", "surrogatepass"), f"name {case}")
        leads = name in (".", "..") or any(bad in name for bad in "/\\\0\n\x1b\u202e\x7f")
        if taken and leads:
            judge.counts["taken and leads elsewhere"] += 1
            judge.bad.append(f"{name!r} in place of {key}")
    return judge.result()


class _Words:
    """Counts how configs are read."""

    def __init__(self):
        self.counts: Counter[str] = Counter()
        self.bad: list[str] = []
        self.slowest = 0.0

    def read(self, file: Path, content: bytes, case: str) -> bool:
        """Read a config; return whether it is taken."""
        file.write_bytes(content)
        began, outcome = time.process_time(), "taken"
        try:
            load(file)
        except ValueError as error:
            shown = safe_text(error)
            longest = max(map(len, shown.split(" ")))
            sound = shown.isprintable() and longest <= 200 and str(file) in str(error)
            outcome = "refused with one line" if sound else "an unfit line"
        except Exception as error:
            outcome = "traceback"
            self.bad.append(f"{case}: {type(error).__name__}: {str(error)[:200]}")
        seconds = time.process_time() - began
        self.slowest = max(self.slowest, seconds)
        if seconds > SLOW:
            outcome = "slow"
        if outcome in ("an unfit line", "slow"):
            self.bad.append(f"{case}: {outcome}: {seconds:.1f} s: {content[:300]!r}")
        self.counts[outcome] += 1
        return outcome == "taken"

    def result(self) -> dict:
        """Return the counts and the first cases that ended badly."""
        return {
            "cases": sum(self.counts.values()),
            "outcomes": dict(sorted(self.counts.items())),
            "slowest, s": round(self.slowest, 2),
            **({"bad": self.bad[:20]} if self.bad else {}),
        }


def _mutated(text: str, rng: random.Random) -> str:
    place, other = (rng.randrange(len(text) + 1) for _ in range(2))
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    changes: tuple[Callable[[], str], ...] = (
        lambda: text[:place] + rng.choice(_BITS) + text[place:],
        lambda: text[:place] + text[place + 1 :],
        lambda: text[:place] + chr(rng.randrange(0xD800)) + text[place + 1 :],
        lambda: text[: min(place, other)] + text[max(place, other) :],
        lambda: text[:place],
        lambda: "\n".join([*lines[:line], lines[rng.randrange(len(lines))], *lines[line:]]),
        lambda: "\n".join([*lines[:line], *lines[line + 1 :]]),
        lambda: text.replace(
            rng.choice(text.split() or [""]) or "\n", rng.choice(_BITS), 1
        ),
        lambda: text + text[min(place, other) : max(place, other)],
        lambda: (
            text[:place] + rng.choice(_BITS) * rng.choice((2, 100, 5000)) + text[place:]
        ),
    )
    return rng.choice(changes)()


def hostile_stores(cases: range, rng: random.Random) -> dict:
    """Change what a store says, its checksums with it; open it and go on with it.

    The journal is made to fit, so that nothing but the looks at what it says can help.
    """
    judge = Judge()
    attacks = (_records, _metadata, _journals, _bombs, _special_files, _beside)
    kinds: Counter[str] = Counter()
    for case in cases:
        where = folder("hostile")
        run(where)
        attack = attacks[case % len(attacks)]
        attack(where / OUT, rng)
        before = outside(where)
        shown = command(where, "report", OUT)
        kinds[f"report: {'drawn' if shown.code == 0 else 'refused'}"] += 1
        again = run(where, "--resume")
        name = f"{attack.__name__.strip('_')} {case}"
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        if used > _MOST_MEMORY:
            judge.counts["took memory"] += 1
            judge.bad.append(f"{name}: {used / 1e9:.1f} GB")
            continue
        outcome = judge.end(name, where, before, shown, again)
        if outcome == "different bytes":
            # A checksum is no signature: numbers that are forged with it are numbers.
            judge.counts[outcome] -= 1
            judge.counts["read as what it says"] += 1
            judge.bad.pop()
    judge.counts += Counter()  # without zeros
    return judge.result() | {"opened": dict(sorted(kinds.items()))}


def _resealed(directory: Path, changed: str, content: bytes) -> None:
    """Put other bytes into a file, and a journal that says that they are right."""
    (directory / changed).write_bytes(content)
    journal = Journal(directory / "journal.jsonl")
    commits = journal.read()
    for commit in commits:
        if changed in commit.files:
            commit.files[changed] = zlib.crc32(content)
    journal.rewrite(commits)


def _records(directory: Path, rng: random.Random) -> None:
    found = json.loads((directory / "study.json").read_text())
    _spoiled(found, rng)
    _resealed(directory, "study.json", json.dumps(found).encode())


def _metadata(directory: Path, rng: random.Random) -> None:
    files = sorted((directory / "results.zarr").rglob("zarr.json"))
    file = rng.choice(files)
    found = json.loads(file.read_text())
    _spoiled(found, rng)
    _resealed(directory, str(file.relative_to(directory)), json.dumps(found).encode())


def _spoiled(node, rng: random.Random) -> None:
    """Put a hostile value somewhere into nested tables and lists."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or rng.random() < 0.3:
            node[key] = rng.choice(_EVIL)
            return
        node = inner


def _journals(directory: Path, rng: random.Random) -> None:
    path = directory / "journal.jsonl"
    lines = [json.loads(line[9:]) for line in path.read_bytes().splitlines()]
    leads = ("../mine", "../stranger/mine", str(directory.parent / "mine"), "mine",
             "results.zarr/../../mine", "/etc/hostname", "a\0b", "results.zarr", "", "..",
             "counted.toml", "results.zarr/numbers/c/0/0/../../../../../mine")  # fmt: skip
    line = rng.choice(lines)
    if rng.random() < 0.6:
        line["files"][rng.choice(leads)] = rng.choice((0, 1, -1, 2**40, "x", None))
    else:
        _spoiled(line, rng)
    guard, text = 0, b""
    for each in lines:
        entry = json.dumps(each, sort_keys=True).encode()
        guard = zlib.crc32(entry, guard)
        text += b"%08x %s\n" % (guard, entry)
    path.write_bytes(text)


def _bombs(directory: Path, rng: random.Random) -> None:
    from numcodecs import zstd

    chunk = rng.choice(sorted(directory.glob("results.zarr/*/c/*")))
    chunk = chunk / "0" if chunk.is_dir() else chunk
    size = rng.choice((1 << 20, 1 << 28))
    content = bytes(zstd.compress(bytes(size), 3, True))
    if rng.random() < 0.5:  # a size that is not what comes out
        content = content[:5] + rng.randbytes(3) + content[8:]
    _resealed(directory, str(chunk.relative_to(directory)), content)


def _special_files(directory: Path, rng: random.Random) -> None:
    files = [path for path in sorted(directory.rglob("*")) if path != directory]
    path = rng.choice(files)
    target = directory.parent / rng.choice(("mine", "stranger", "nothing"))
    path.rename(directory.parent / "away")
    rng.choice((
        lambda: os.mkfifo(path), lambda: path.symlink_to(target), path.mkdir,
        lambda: path.symlink_to("/dev/zero"), lambda: path.symlink_to(path),
        lambda: path.symlink_to(directory.parent / "away"),
    ))()  # fmt: skip


def _beside(directory: Path, rng: random.Random) -> None:
    evil = json.dumps(rng.choice(_EVIL)).encode()
    deep = b"[" * 100_000
    name = rng.choice(("times.json", "evaluations.jsonl", "run.lock", "study.json.new",
                       "results.zarr/numbers/c/0/0.new", "failed.csv", "report.html",
                       "results.zarr/.zgroup", "results.zarr/numbers/.zarray"))  # fmt: skip
    path = directory / name
    path.unlink(missing_ok=True)
    rng.choice((
        lambda: path.write_bytes(evil), lambda: path.write_bytes(deep),
        lambda: path.symlink_to(directory.parent / "mine"),
        lambda: path.write_bytes(b'{"sessions": [{"seconds": 1e999}]}'),
    ))()  # fmt: skip
