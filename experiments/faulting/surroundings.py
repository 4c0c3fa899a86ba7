"""Fault injection into the environment: a full disk, a lost network."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter

from .stores import Judge
from .study import OUT, folder, outside, run
from .workers import SLOW, forked, free_port, schedule, send, work

_BLOCK = 4096  # bytes, the least that a file takes on the disk


def full_disk(cases: range, rng: random.Random) -> dict:
    """Let a run and the one that goes on meet a full disk; then give them room."""
    if reason := _cannot_mount():
        return {"cases": 0, "outcomes": {}, "skipped": reason}
    judge, ends = Judge(), Counter()
    needed = sum(
        -(-path.stat().st_size // _BLOCK)
        for path in (judge.whole / OUT).rglob("*")
        if path.is_file()
    )
    for case in cases:
        where = folder("disk")
        before = outside(where)
        disk = where / OUT
        disk.mkdir()
        blocks = rng.randrange(1, needed + 1)
        _mount("-t", "tmpfs", "-o", f"size={blocks * _BLOCK}", "tmpfs", str(disk))
        try:
            first = run(where, "--resume")
            second = run(where, "--resume")
            ends[f"{first.code}, again {second.code}"] += 1
            _mount("-o", "remount,size=64m", str(disk))
            name = f"{blocks} blocks, {case}"
            last = run(where, "--resume")
            if first.code not in (0, 2, 3) or second.code not in (0, 2, 3):
                judge.counts["another code"] += 1
                judge.bad.append(f"{name}: {first} {second}")
                continue
            judge.end(name, where, before, first, second, last)
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    return judge.result() | {"while it is full": dict(sorted(ends.items()))}


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def _cannot_mount() -> str:
    """Return why no small disk can be had here, `""` if it can."""
    if shutil.which("mount") is None:
        return "no command `mount` here"
    place = folder("mount")
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"no small disk can be mounted: {done.stderr.strip()[:200]}"
    subprocess.run(["umount", str(place)], check=True)
    return ""


_WAYS = ("cut", "silent for good", "silent for a while", "cut and mended")


def network(cases: range, rng: random.Random) -> dict:
    """Cut one of two workers of a Dask cluster off, or let its network fall silent.

    It reaches the scheduler, and is reached, through relays alone: those are killed (its
    connections break) or stopped (nothing is heard any more, as behind a pulled cable).
    """
    judge, kinds = Judge(*SLOW), Counter()
    for case in cases:
        way = _WAYS[case % len(_WAYS)]
        where = folder("network")
        before = outside(where)
        port, towards, back, own = (free_port() for _ in range(4))
        address = f"tcp://127.0.0.1:{port}"
        scheduler = forked(schedule, port)
        relays = [forked(_relay, towards, port), forked(_relay, back, own)]
        some = [
            forked(work, address),
            forked(
                work, f"tcp://127.0.0.1:{towards}", own, f"tcp://127.0.0.1:{back}"
            ),
        ]  # fmt: skip

        def meddle(driver: int, way=way, relays=relays, ports=(towards, port, back, own)):
            time.sleep(rng.uniform(0.2, 1.2))
            send(signal.SIGKILL if way.startswith("cut") else signal.SIGSTOP, *relays)
            if way == "silent for a while":
                time.sleep(rng.uniform(0, 2))
                send(signal.SIGCONT, *relays)
            if way == "cut and mended":
                time.sleep(rng.uniform(0, 1))
                relays.extend([forked(_relay, *ports[:2]), forked(_relay, *ports[2:])])

        try:
            first = run(where, *SLOW, "--cluster", address, meddle=meddle)
        finally:
            send(signal.SIGKILL, scheduler, *some, *relays)
            for pid in (scheduler, *some, *relays):
                os.waitpid(pid, 0)
        kinds[f"{way}: the run ended with {first.code}"] += 1
        last = run(where, *SLOW, "--resume", "--workers", str(rng.randrange(1, 3)))
        judge.end(f"{way} {case}", where, before, first, last)
    return judge.result() | {"kinds": dict(sorted(kinds.items()))}


async def _relay(port: int, to: int) -> None:
    """Pass on what comes at one port to another, both ways."""

    async def pass_on(reader, writer):
        try:
            while part := await reader.read(1 << 16):
                writer.write(part)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def connected(reader, writer):
        for _ in range(100):  # whoever listens there may not have begun
            try:
                there, back = await asyncio.open_connection("127.0.0.1", to)
                break
            except OSError:
                await asyncio.sleep(0.05)
        else:
            writer.close()
            return
        await asyncio.gather(pass_on(reader, back), pass_on(there, writer))

    server = await asyncio.start_server(connected, "127.0.0.1", port)
    async with server:
        await server.serve_forever()
