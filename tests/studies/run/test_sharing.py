"""Checked against: every byte of the same study that one run computed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.config.samples import DRAWN
from tests.studies.pushed import CONFIG, install

HEAD = CONFIG[: CONFIG.index("[sweep]")]
TAIL = CONFIG[CONFIG.index("[run]") :]
SWEEPS = {
    "grid": CONFIG[CONFIG.index("[sweep]") : CONFIG.index("[run]")],
    "paired": '[sweep]\nmethod = "paired"\n'
    "load.amplitude = { linspace = [100.0, 400.0, 12] }\n"
    "load.phase = { linspace = [0.0, 1.0, 12] }\n",
    **{
        method: f'[sweep]\nmethod = "{method}"\ncount = 12\n'
        "load.amplitude = { bounds = [100.0, 400.0] }\n"
        "load.phase = { bounds = [0.0, 1.0] }\n"
        for method in DRAWN
    },
    "refine": '[sweep]\nmethod = "refine"\ncoarsest = 2\n'
    "load.amplitude = { linspace = [100.0, 400.0, 6] }\n"
    "load.phase = [0.0, 0.5, 1.0]\n",
}


def command(*words):
    return CliRunner().invoke(cli.main, list(map(str, words)))


def files(directory):
    """Return all files of a study but those that tell how long it took."""
    found = [path for path in Path(directory).rglob("*") if path.is_file()]
    timed = ("times.json", "run.lock")
    return {p.relative_to(directory): p.read_bytes() for p in found if p.name not in timed}


@pytest.fixture
def config(tmp_path, monkeypatch):
    install(monkeypatch, smooth=frozenset({"acceleration"}))  # a map may be refined
    monkeypatch.chdir(tmp_path)
    Path("pushed.toml").write_text(CONFIG)


def computed(shares: int, *words):
    for number in range(1, shares + 1):
        done = command("run", "pushed.toml", "--share", f"{number}/{shares}", *words)
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize("method", SWEEPS)
def test_shares_are_merged_to_the_bytes_of_one_run(config, method):
    tail = TAIL.replace("chunk = 5", "chunk = 6") if method == "refine" else TAIL
    Path("pushed.toml").write_text(HEAD + SWEEPS[method] + tail)
    assert command("run", "pushed.toml", "--out", "there").exit_code == 0
    Path("there").rename("one")
    computed(2, "--out", "there")
    # The second one first: their order means nothing.
    done = command("merge", "there-2-of-2", "there-1-of-2", "--out", "there")
    assert done.exit_code == 0, done.output
    number = 18 if method == "refine" else 12
    assert f"there written: {number} samples from 2 shares" in done.output
    assert "m/s^2 at most" in done.output
    assert files("there") == files("one")
    sessions = json.loads(Path("there/times.json").read_text())["sessions"]
    assert sum(each["samples"] for each in sessions) == number


def test_a_share_is_a_study_of_its_own_until_it_is_merged(config):
    computed(3)  # into the folder that the config's name says
    folder = Path("results/pushed-2-of-3")
    said = command("status", folder).output
    assert "share      2/3\nstate      complete\n" in said
    assert "5 of 5 samples (100 %), 1 of 1 chunks" in said
    for words in (["report", folder], ["export", folder, "x.csv"]):
        done = command(*words)
        assert (done.exit_code, "contains share 2/3 of a study" in done.output) == (2, True)
    done = command("run", "pushed.toml", "--out", folder, "--resume")
    assert done.exit_code == 2
    assert "was started with share = 2/3, and this run has None" in done.output


def test_a_share_that_was_stopped_goes_on(config):
    assert command("run", "pushed.toml", "--out", "there").exit_code == 0
    Path("there").rename("one")
    computed(1, "--out", "there")
    journal = Path("there-1-of-1/journal.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]))  # its start and one chunk of three
    shutil.rmtree("there-1-of-1/results.zarr/acceleration/c/1")
    done = command("merge", "there-1-of-1", "--out", "early")
    assert (done.exit_code, Path("early").exists()) == (2, False)
    assert "lacks 2 chunks of share 1/1; resume its run with --resume" in done.output
    assert command("status", "there-1-of-1").output.count("stopped; `--resume`") == 1
    computed(1, "--out", "there", "--resume")
    assert command("merge", "there-1-of-1", "--out", "there").exit_code == 0
    assert files("there") == files("one")


def test_the_end_of_a_share_is_json_and_its_code_reports_failed_samples(config):
    text = CONFIG.replace('kind = "pushed"', 'kind = "pushed"\nfail_above = 250.0')
    Path("pushed.toml").write_text(text)
    done = command("run", "pushed.toml", "--share", "2/3", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert (told["share"], told["done"], told["failed"]) == ("2/3", 5, 4)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        ("0/3", "share = '0/3'; allowed: I/N, e.g. 3/16"),
        ("4/3", "share = 4/3; allowed: I/N with I at most N"),
        ("1", "share = '1'; allowed: I/N"),
        (
            "1/4",
            "stored in 3 chunks; allowed: I/N with N at most 3, or chunks of 3 samples",
        ),
        ("1/13", "stored in 3 chunks; allowed: I/N with N at most 3\n"),
    ],
)
def test_invalid_shares_are_refused(config, share, words):
    done = command("run", "pushed.toml", "--share", share)
    assert (done.exit_code, words in done.output) == (2, True), done.output
    assert not Path("results").exists()


def test_chunks_are_cut_as_the_message_says(config):
    done = command("run", "pushed.toml", "--share", "1/6")
    option = done.output.split("--set ")[1].split()[0]
    computed(6, "--set", option, "--out", "there")


def test_a_study_in_one_piece_has_no_shares(config):
    done = command("run", "basins", "--share", "1/2")
    assert done.exit_code == 2
    assert "which is computed in one piece; allowed: studies that sweep" in done.output


def test_shares_that_do_not_belong_together_are_refused(config):
    computed(2, "--out", "a")
    computed(3, "--out", "b")
    computed(2, "--out", "c", "--set", "system.main.mass=600")
    assert command("run", "pushed.toml", "--out", "whole").exit_code == 0
    shutil.copytree("a-1-of-2", "again")
    for folders, words in [
        (["a-1-of-2"], "share 2 of 2 is missing; allowed: all shares at once"),
        (["a-1-of-2", "again", "a-2-of-2"], "share 1/2 is in a-1-of-2 and in again"),
        (["a-1-of-2", "b-2-of-3"], "started with share = 2/3, and this run has 2/2"),
        (["a-1-of-2", "c-2-of-2"], "config.system.main.mass = 600.0, and this run has 500"),
        (["a-1-of-2", "whole"], "whole contains no share; allowed: shares of one study"),
        (["whole", "a-1-of-2"], "a-1-of-2 contains share 1/2 of a study"),
        (["a-1-of-2", "nowhere"], "nowhere contains no study"),
    ]:
        done = command("merge", *folders, "--out", "new")
        assert (done.exit_code, words in done.output) == (2, True), done.output
        assert not Path("new").exists()
    done = command("merge", "a-1-of-2", "a-2-of-2", "--out", "whole")
    assert (done.exit_code, "already contains a study" in done.output) == (2, True)
    chunk = Path("a-2-of-2/results.zarr/acceleration/c/1/0")
    chunk.write_bytes(chunk.read_bytes()[:-1] + b"?")
    done = command("merge", "a-1-of-2", "a-2-of-2", "--out", "new")
    assert (done.exit_code, "damaged or missing" in done.output) == (3, True)
    assert not Path("new").exists()


def test_shares_of_machines_that_give_other_bytes_are_not_merged(config, monkeypatch):
    computed(2, "--out", "there")
    shutil.rmtree("there-2-of-2")
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    assert command("run", "pushed.toml", "--share", "2/2", "--out", "there").exit_code == 0
    done = command("merge", "there-1-of-2", "there-2-of-2", "--out", "new")
    assert done.exit_code == 2
    assert "there-1-of-2 was started with fingerprint.xla_flags = " in done.output
    assert not Path("new").exists()


@pytest.mark.slow
def test_tasks_of_a_job_array_at_once_give_the_bytes_of_one_run(config):
    """The loop stands for SLURM: each task is a process that knows its number alone."""
    study = '[system]\nkind = "two_body_impact"\n[analysis]\nkind = "periodic_orbit"\n'
    sweep = "[sweep]\nload.amplitude = { linspace = [100.0, 900.0, 8] }\n"
    run = '[run]\nchunk = 2\ndevice = "cpu"\nevidence = "quick"\n[output]\nreport = false\n'
    Path("study.toml").write_text(study + sweep + run)
    jaxvib = [sys.executable, "-m", "jaxvib"]
    subprocess.run([*jaxvib, "run", "study.toml", "--out", "there"], check=True)
    Path("there").rename("one")
    tasks = [
        subprocess.Popen(
            [*jaxvib, "run", "study.toml", "--share", f"{task}/2", "--out", "there"]
        )
        for task in (1, 2)
    ]
    assert [task.wait() for task in tasks] == [0, 0]
    folders = ["there-1-of-2", "there-2-of-2"]
    subprocess.run([*jaxvib, "merge", *folders, "--out", "there"], check=True)
    assert files("there") == files("one")
