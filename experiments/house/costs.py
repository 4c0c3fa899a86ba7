"""A pytest plugin: CPU time of each test, and a time limit for long runs.

    python -m pytest -p experiments.house.costs --costs costs.jsonl --until 1800 ...

adds a line per test to `costs.jsonl`, also from workers of pytest-xdist: its outcome,
the CPU time `cpu` of its process and of finished child processes, fixtures included (a
shared one counts for the test that needed it first), and `compiled`, the seconds in
which XLA compiled the programs of its process, or read them from the cache.
Tests that would start later than `--until` seconds after the first are skipped with a
reason. With a limit the fast tests run first, and the slow ones begin with another file
for each number `--turn`, so that no test is skipped in every run.

    python -m experiments.house.costs costs.jsonl

prints the seconds of each file and of the most expensive tests, and tests that did not
pass.
"""

import collections
import json
import math
import os
import sys
import time
from pathlib import Path

import pytest

_OUTCOMES = pytest.StashKey[list[str]]()
_COMPILED = "/jax/core/compile/backend_compile_duration"
_WORSE = ["passed", "skipped", "failed"]


def pytest_addoption(parser):
    """Ask where the lines go, how long tests may begin, and with which."""
    parser.addoption("--costs", type=Path, help="file to add the costs of tests to")
    parser.addoption("--until", type=float, default=math.inf, help="seconds")
    parser.addoption("--turn", type=int, default=0, help="which slow file runs first")


def pytest_configure(config):
    """Begin to measure, in each worker."""
    config.pluginmanager.register(_Costs(config.option), "costs-of-tests")


def ordered(files: list, slow: list[bool], workers: int, turn: int) -> list[int]:
    """Return the places of tests in an order in which a time limit skips slow ones.

    pytest-xdist gives each worker an equal part of the list: in each part the fast tests
    come first, then the slow ones, file by file, from another file on each turn.
    """
    rest, found = list(range(len(files))), []
    for left in range(workers, 0, -1):
        count = len(rest) // left
        part, rest = rest[:count], rest[count:]
        later = list(dict.fromkeys(files[k] for k in part if slow[k]))
        # Multiples of the golden ratio fall evenly on the files, however many turns.
        first = int(len(later) * (turn * (math.sqrt(5) - 1) / 2 % 1))
        places = {file: k for k, file in enumerate(later[first:] + later[:first])}
        keys = {k: places[files[k]] if slow[k] else -1 for k in part}
        found += sorted(part, key=keys.__getitem__)
    return found


class _Costs:
    def __init__(self, options):
        self.file, self.until, self.turn = options.costs, options.until, options.turn
        self.begun, self.compiled = time.monotonic(), 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        if self.until < math.inf:
            workers = getattr(config, "workerinput", {}).get("workercount", 1)
            slow = [item.get_closest_marker("slow") is not None for item in items]
            places = ordered([item.path for item in items], slow, workers, self.turn)
            items[:] = [items[place] for place in places]

    def pytest_collection_finish(self, session):
        import jax  # not before tests/conftest.py has chosen the folder of programs

        jax.monitoring.register_event_duration_secs_listener(self.add_compiled)

    def add_compiled(self, event, seconds, **_):
        self.compiled += seconds if event == _COMPILED else 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.stash[_OUTCOMES] = []
        cpu, compiled = sum(os.times()[:4]), self.compiled
        done = yield
        cost = {
            "test": item.nodeid,
            "outcome": max(item.stash[_OUTCOMES], key=_WORSE.index),
            "cpu": round(sum(os.times()[:4]) - cpu, 2),
            "compiled": round(self.compiled - compiled, 2),
        }
        if self.file is not None:
            with self.file.open(
                "a"
            ) as file:  # one short write: lines of workers stay whole
                file.write(json.dumps(cost) + "\n")
        return done

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        if time.monotonic() - self.begun > self.until:
            pytest.skip(f"the run's {self.until:g} s are over")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        item.stash[_OUTCOMES].append(report.outcome)
        return report


def main(path: str) -> None:
    """Print the costs in a file of them."""
    costs = [json.loads(line) for line in Path(path).read_text().splitlines()]
    files = collections.defaultdict(list)
    for cost in costs:
        files[cost["test"].partition("::")[0]].append(cost)
    print("   cpu s compiled s  tests")
    _print_sums({"all": costs, **files})
    _print_sums({cost["test"]: [cost] for cost in costs}, most=40)
    for cost in costs:
        if cost["outcome"] != "passed":
            print(f"{cost['outcome']}: {cost['test']}")


def _print_sums(groups: dict[str, list[dict]], most: int | None = None) -> None:
    rows = [
        (*(sum(c[key] for c in part) for key in ("cpu", "compiled")), len(part), name)
        for name, part in groups.items()
    ]
    for cpu, compiled, number, name in sorted(rows, key=lambda row: -row[0])[:most]:
        print(f"{cpu:8.1f}{compiled:11.1f}{number:7}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
