"""A pytest plugin: CPU time of each test, and a time limit for long runs.

    python -m pytest -p experiments.house.costs --costs costs.jsonl --until 1800 ...

adds a line per test to `costs.jsonl`, also from workers of pytest-xdist: its outcome,
the CPU time `cpu` of its process and of finished child processes, fixtures included (a
shared one counts for the test that needed it first), and `kept`, the seconds of
compilation saved by cached programs. Without a cache the cost is about the sum of both.
Tests that would start later than `--until` seconds after the first are skipped with a
reason.

    python -m experiments.house.costs costs.jsonl

prints the seconds of each file and of the most expensive tests, and tests that did not
pass.
"""

import collections
import json
import os
import sys
import time
from pathlib import Path

import pytest

_OUTCOMES = pytest.StashKey[list[str]]()
_KEPT = "/jax/compilation_cache/compile_time_saved_sec"
_WORSE = ["passed", "skipped", "failed"]


def pytest_addoption(parser):
    """Ask where the lines go, and how long tests may begin."""
    parser.addoption("--costs", type=Path, help="file to add the costs of tests to")
    parser.addoption("--until", type=float, default=float("inf"), help="seconds")


def pytest_configure(config):
    """Begin to measure, in each worker."""
    config.pluginmanager.register(_Costs(config.option), "costs-of-tests")


class _Costs:
    def __init__(self, options):
        self.file, self.until = options.costs, options.until
        self.begun, self.kept = time.monotonic(), 0.0

    def pytest_collection_finish(self, session):
        import jax  # not before tests/conftest.py has chosen the folder of programs

        jax.monitoring.register_event_duration_secs_listener(self.add_kept)

    def add_kept(self, event, seconds, **_):
        # Reading a small program can take longer than compiling it did.
        self.kept += max(0.0, seconds) if event == _KEPT else 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.stash[_OUTCOMES] = []
        cpu, kept = sum(os.times()[:4]), self.kept
        done = yield
        cost = {
            "test": item.nodeid,
            "outcome": max(item.stash[_OUTCOMES], key=_WORSE.index),
            "cpu": round(sum(os.times()[:4]) - cpu, 2),
            "kept": round(self.kept - kept, 2),
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
    print("   cpu s  kept s  tests")
    _print_sums({"all": costs, **files})
    _print_sums({cost["test"]: [cost] for cost in costs}, most=40)
    for cost in costs:
        if cost["outcome"] != "passed":
            print(f"{cost['outcome']}: {cost['test']}")


def _print_sums(groups: dict[str, list[dict]], most: int | None = None) -> None:
    rows = [
        (sum(c["cpu"] for c in part), sum(c["kept"] for c in part), len(part), name)
        for name, part in groups.items()
    ]
    for cpu, kept, number, name in sorted(rows, key=lambda row: -row[0])[:most]:
        print(f"{cpu:8.1f}{kept:8.1f}{number:7}  {name}")


if __name__ == "__main__":
    main(sys.argv[1])
