"""Checked against: the bytes of the same study that one process computed alone."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.run.study import load
from tests.studies.pushed import CONFIG
from tests.studies.store.test_store import array_files

# The real command, which knows the kind `pushed` too.
COMMAND = """
from jaxvib.__main__ import main
from jaxvib.studies.analyses.kinds import ANALYSES
from tests.studies.pushed import PushedKind

ANALYSES["pushed"] = PushedKind()
main()
"""
# One that dies at its first chunk.
DYING = """
import os

from jaxvib.studies.run import hosts

hosts.outcome = lambda *_: os._exit(9)
"""
NAMES = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pushed.toml").write_text(CONFIG.replace("[run]", '[run]\ndevice = "cpu"'))


def run(*words):
    return CliRunner().invoke(cli.main, ["run", "pushed.toml", *words])


def process(*words: str, before: str = "", **more: str) -> subprocess.Popen:
    """Start the command as one process of a job that the environment tells of."""
    root = str(Path(__file__).parents[3])
    paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", before + COMMAND, "run", "pushed.toml"]
    return subprocess.Popen(
        [*command, "--distributed", *words],
        env={**os.environ, "PYTHONPATH": paths, **more}, stdout=subprocess.PIPE,
        stderr=None if "--json" in words else subprocess.STDOUT, text=True,
    )  # fmt: skip


def together(*words: str, second: str = "") -> list[tuple[int, str]]:
    """Run the command in both processes of a job; return their codes and words."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    job = [
        process(
            *words, before=before, **dict(zip(NAMES, (address, "2", place), strict=True))
        )
        for place, before in (("0", ""), ("1", second))
    ]
    said = [each.communicate()[0] for each in job]
    return [(each.returncode, text) for each, text in zip(job, said, strict=True)]


@pytest.mark.slow
def test_two_processes_of_a_job_give_the_same_bytes(config):
    assert run("--out", "here").exit_code == 0
    first, second = together("--out", "there")
    assert (first[0], second[0]) == (0, 0), first[1] + second[1]
    assert "computed by the 2 processes of this job" in first[1]
    assert "results" not in second[1]
    assert array_files(Path("there")) == array_files(Path("here"))
    (again, text), (other, _) = together("--out", "there")
    assert (again, other) == (2, 0), "what the first refuses keeps nobody waiting"
    assert "there holds a study already" in text


@pytest.mark.slow
def test_the_output_of_a_job_is_one_json_object(config):
    first, second = together("--out", "there", "--json")
    assert json.loads(first[1])["done"] == 12
    assert second == (0, "")


@pytest.mark.slow
def test_where_one_dies_the_run_ends_and_is_gone_on_with(config):
    first, second = together("--out", "there", second=DYING)
    assert (first[0], second[0]) == (3, 9), first[1] + second[1]
    assert "another process of the job is lost" in first[1]
    assert "go on with: jaxvib run pushed.toml" in first[1]
    assert run("--out", "there", "--resume").exit_code == 0
    assert run("--out", "here").exit_code == 0
    assert array_files(Path("there")) == array_files(Path("here"))


def test_a_process_of_no_job_is_told_what_makes_one(config):
    alone = process("--out", "there")
    said, _ = alone.communicate()
    assert alone.returncode == 2, said
    assert "run.distributed = true, and this process belongs to no job" in said
    assert "JAX_COORDINATOR_ADDRESS (host:port of the first process)" in said
    assert not Path("there").exists()


def test_the_number_of_processes_is_a_whole_one(config, monkeypatch):
    monkeypatch.setenv("JAX_NUM_PROCESSES", "two")
    done = run("--out", "there", "--distributed")
    assert done.exit_code == 2
    assert "JAX_NUM_PROCESSES = 'two' is not a whole number" in done.output


def test_a_job_has_no_other_workers(config):
    with pytest.raises(ValueError, match="workers = 2 stands beside distributed = true"):
        load(Path("pushed.toml"), ["run.workers=2", "run.distributed=true"])
