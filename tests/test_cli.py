"""Checked against: exit codes and words of the design, and what lies in the folder."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import jaxvib as jv
from jaxvib import cli
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.study import load
from jaxvib.studies.store.lock import Lock
from tests.studies.configs import array_files

from .machine import slowness
from .studies.pushed import CONFIG, KIND, accelerations, install
from .users import newcomer

COMMANDS = [
    "run", "check", "status", "report", "live", "sample", "export", "merge", "new",
    "completion", "schema", "info", "cache", "cite",
]  # fmt: skip
# Packages that take a tenth of a second and more to import.
LARGE = {"jax", "numpy", "scipy", "equinox", "diffrax", "optax", "matplotlib", "zarr"}


@pytest.fixture(autouse=True)
def pushed_kind(monkeypatch, tmp_path):
    # What the command sets in its environment must not outlive a test.
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pushed.toml").write_text(CONFIG)


def jaxvib(*words, **options):
    return CliRunner().invoke(cli.main, list(words), **options)


def shell_of(words, **options):
    return subprocess.run([sys.executable, "-m", "jaxvib", *words], **options)


def shell(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "jaxvib", *words], capture_output=True, text=True, **options
    )


def imported_by(*words):
    """Run a command; return what it did, and the names of the modules that it imported.

    What takes long before a command answers are imports: their names are the same on
    slow and busy machines, seconds are not.
    """
    command = [sys.executable, "-X", "importtime", "-m", "jaxvib", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stderr.splitlines(keepends=True)
    imports = [line for line in lines if line.startswith("import time:")]
    done.stderr = "".join(line for line in lines if line not in imports)
    return done, {line.rpartition("|")[2].strip() for line in imports}


def test_alone_it_lists_all_commands_and_ends_with_one_to_try():
    done = jaxvib()
    assert done.exit_code == 0
    assert done.output == jaxvib("--help").output
    listed = re.findall(r"^  (\w+)  +\S.*\.$", done.output, re.MULTILINE)
    assert listed == COMMANDS
    assert done.output.rstrip().endswith("Try: jaxvib run quick")
    assert "quick" in builtin_studies.titles()


def test_help_is_there_at_once():
    done, imported = imported_by("--help")
    assert done.returncode == 0
    assert "jaxvib" in imported
    assert imported.isdisjoint(LARGE)


def test_a_run_stores_results_and_says_so_in_twelve_lines():
    done = jaxvib("run", "pushed.toml", "--out", "there")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == (
        "Pushed from rest: 12 = 4 x 3 samples of load.amplitude x load.phase"
    )
    assert lines[1].startswith("CPU (no GPU found)")
    assert len(lines) - 2 <= 12
    assert "jaxvib run pushed.toml --set attached.mass=120 --out there-2" in lines[-1]
    dataset = jv.open_study("there")
    amplitude, phase = np.meshgrid(np.linspace(100, 400, 4), [0.0, 0.5, 1.0], indexing="ij")
    expected = accelerations({"load.amplitude": amplitude, "load.phase": phase})
    np.testing.assert_allclose(dataset["acceleration"], expected, rtol=1e-15)
    record = json.loads(Path("there/study.json").read_text())
    assert record["config"]["system"]["main"]["mass"] == 500.0
    assert record["versions"]["jaxvib"] == jv.__version__
    assert record["fingerprint"]["device"] == "cpu"
    times = json.loads(Path("there/times.json").read_text())
    assert [session["samples"] for session in times["sessions"]] == [12]


def test_a_run_prints_its_numbers_as_json():
    lines = jaxvib("run", "pushed.toml", "--set", "analysis.fail_above=250.0").output
    done = jaxvib("run", "pushed.toml", "--set", "analysis.fail_above=250.0", "--out",
                  "there", "--json")  # fmt: skip
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (found["done"], found["failed"]) == (12, 6)
    assert found["reasons"] == {"Newton's method did not converge": 6}
    assert found["found"] == [line for line in lines.splitlines() if line[:6] == "pushed"]
    assert Path(found["results"]).is_dir()
    assert Path(found["failed_list"]).is_file()
    assert done.stderr.startswith("Pushed from rest: 12 = 4 x 3 samples")
    again = jaxvib("run", "pushed.toml", "--out", "there", "--json")
    assert (again.exit_code, again.stdout) == (2, "")


def test_each_command_that_is_read_by_programs_prints_one_json_object():
    jaxvib("run", "pushed.toml", "--out", "there")
    checked = json.loads(jaxvib("check", "pushed.toml", "--json").stdout)
    assert checked["samples"] == 12
    assert (checked["fits"], checked["free"]) == (True, True)
    state = json.loads(jaxvib("status", "there", "--json").stdout)
    assert (state["state"], state["done"], state["chunks"]) == ("complete", 12, 3)
    assert json.loads(jaxvib("new", "--json").stdout) == builtin_studies.titles()
    copied = json.loads(jaxvib("new", "quick", "mine.toml", "--json").stdout)
    assert copied == {"written": "mine.toml"}
    told = json.loads(jaxvib("info", "--json").stdout)
    assert told["jaxvib"] == jv.__version__
    assert told["precision"] == "float64"


def test_a_terminal_has_colours_and_a_pipe_and_no_color_have_none():
    words = ["run", "pushed.toml", "--set", "gapp=1"]
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    environment["TERM"] = "xterm-256color"

    def seen(**more):
        leader, terminal = os.openpty()
        shell_of(words, stderr=terminal, env=environment | more)
        os.close(terminal)
        found = os.read(leader, 65536)
        os.close(leader)
        return found

    assert seen().startswith(b"\x1b[31m\x1b[1mjaxvib:\x1b[0m --set gapp=1")
    assert b"\x1b" not in seen(NO_COLOR="1")
    assert b"\x1b" not in seen(TERM="dumb")
    assert "\x1b" not in shell(*words, env=environment).stderr
    assert jaxvib("run", "pushed.toml", color=True).output.count("\x1b[32m") == 2


def test_the_same_config_gives_the_same_bytes_and_so_does_the_resolved_one():
    jaxvib("run", "pushed.toml", "--out", "first")
    jaxvib("run", "pushed.toml", "--out", "second")
    jaxvib("run", "first/config.toml", "--out", "third")
    assert array_files("first") == array_files("second") == array_files("third")
    for name in ("study.json", "journal.jsonl"):
        first, second = (Path(folder, name).read_text() for folder in ("first", "second"))
        if name == "study.json":
            assert first == second


def test_failed_samples_are_counted_and_listed():
    done = jaxvib("run", "pushed.toml", "--set", "analysis.fail_above=250.0")
    assert done.exit_code == 1
    assert "failed     6 (6: Newton's method did not converge)" in done.output
    listed = Path("results/pushed/failed.csv").read_text().splitlines()
    assert listed[0] == "sample,load.amplitude,load.phase,code,reason"
    assert listed[1].startswith("6,300.0,0.0,4,Newton's method did not converge")
    assert len(listed) == 7
    np.testing.assert_array_equal(jv.open_study("results/pushed")["result"][2:], 4)


def test_a_study_is_not_run_over_another():
    jaxvib("run", "pushed.toml", "--out", "there")
    before = array_files("there")
    done = jaxvib("run", "pushed.toml", "--out", "there")
    assert done.exit_code == 2
    assert "there already contains a study" in done.output
    assert array_files("there") == before


def test_a_run_that_broke_off_goes_on_to_the_same_bytes(monkeypatch):
    jaxvib("run", "pushed.toml", "--out", "whole")
    compute, calls = KIND.compute, []

    def break_off(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise OSError("No space left on device")
        return compute(*arguments)

    install(monkeypatch, compute=break_off)
    done = jaxvib("run", "pushed.toml", "--out", "broken")
    assert done.exit_code == 3
    again = "jaxvib run pushed.toml --out broken --resume"
    assert (
        f"No space left on device; finished samples are kept; resume with: {again}"
        in done.output
    )
    with pytest.raises(ValueError, match="is not complete"):
        jv.open_study("broken")
    done = jaxvib(*again.split()[1:])
    assert done.exit_code == 0
    assert len(calls) == 4
    assert array_files("broken") == array_files("whole")
    times = json.loads(Path("broken/times.json").read_text())
    assert [session["samples"] for session in times["sessions"]] == [10, 2]


def test_the_command_to_resume_draws_the_same_files(monkeypatch):
    def break_off(*arguments):
        raise OSError("No space left on device")

    install(monkeypatch, compute=break_off)
    words = ["run", "pushed.toml", "--set", "output.report=true", "--out", "broken"]
    done = jaxvib(*words, "--pictures")
    again = " ".join(["jaxvib", *words, "--pictures", "--resume"])
    assert done.output.splitlines()[-1].endswith(f"resume with: {again}")


def test_resume_without_a_study_begins_one():
    assert jaxvib("run", "pushed.toml", "--resume").exit_code == 0
    assert jaxvib("run", "pushed.toml", "--resume").exit_code == 0
    jv.open_study("results/pushed")


def test_resume_refuses_another_config():
    jaxvib("run", "pushed.toml", "--out", "there")
    done = jaxvib("run", "pushed.toml", "--out", "there", "--resume", "--set", "gap=0.1")
    assert done.exit_code == 2
    assert "config.system.gap = 0.05, and this run has 0.1" in done.output


def test_damage_ends_a_resumed_run_unless_it_can_be_mended():
    jaxvib("run", "pushed.toml", "--out", "there")
    before = array_files("there")
    Path("there/results.zarr/acceleration/c/1/0").unlink()
    done = jaxvib("report", "there")
    assert done.exit_code == 3
    assert "results.zarr/acceleration/c/1/0" in done.output
    assert jaxvib("run", "pushed.toml", "--out", "there", "--resume").exit_code == 0
    assert array_files("there") == before
    Path("there/study.json").write_text("{}")
    assert jaxvib("run", "pushed.toml", "--out", "there", "--resume").exit_code == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "nothing.toml"], "nothing.toml: no such file"),
        (["run", "pushed.toml", "--set", "gapp=1"], "did you mean system.gap?"),
        (["run", "pushed.toml", "--set", "run.device=gpu"], "JAX finds no GPU"),
        (["run", "pushed.toml", "--out", "pushed.toml"], "pushed.toml"),
        (["check", "pushed.toml", "--set", "gap=-1"], "allowed: [0, inf) m"),
        (["report", "nothing"], "nothing"),
        (["run", "pushed.toml", "--pictures"], "of a report: output.report = false"),
        (["run", "pushed.toml", "--pictures", "--share", "1/3"], "a share has no report"),
        (["new", "quik"], "did you mean 'quick'?"),
        (["new", "quick", "pushed.toml"], "pushed.toml already exists"),
        (["runn"], "Did you mean"),
        (["run"], "Missing argument"),
    ],
)
def test_bad_input_ends_with_code_2_and_nothing_written(words, message):
    before = sorted(Path().rglob("*"))
    done = jaxvib(*words)
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert isinstance(done.exception, SystemExit)
    assert sorted(Path().rglob("*")) == before


def test_a_mistake_is_met_without_jax_and_without_traceback():
    done, imported = imported_by("run", "quick", "--set", "atached.mass=120")
    assert imported & LARGE == {"numpy"}
    assert done.returncode == 2
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first == (
        "jaxvib: --set atached.mass=120: system.atached.mass = 120 is not a known key; did "
        "you mean system.attached.mass? allowed: (0, inf) kg"
    )
    assert rest == ["every key: jaxvib schema; built-in studies: jaxvib new"]


def test_ready_studies_are_listed_and_copied():
    listed = jaxvib("new").output
    for system, studies in builtin_studies.by_system().items():
        group = listed.split(f"{system[1:]}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in group.splitlines()] == list(studies)
    every = [name for each in builtin_studies.by_system().values() for name in each]
    assert sorted(every) == sorted(builtin_studies.titles())
    done = jaxvib("new", "quick", "mine.toml")
    assert done.exit_code == 0
    assert (
        Path("mine.toml").read_text()
        == (builtin_studies.folder() / "quick.toml").read_text()
    )
    assert "jaxvib check mine.toml" in done.output


def test_on_a_terminal_new_asks_what_is_studied_and_writes_a_config_that_is_valid():
    master, terminal = os.openpty()
    systems = builtin_studies.by_system()
    asked = "a body on a spring with an attached body that can hit it"
    wanted, names = list(systems).index(asked) + 1, list(systems[asked])
    place = names.index("quick") + 1
    os.write(master, f"{wanted}\n{place}\nasked.toml\n".encode())
    done = shell("new", stdin=terminal)
    os.close(terminal)
    os.close(master)
    assert done.returncode == 0, done.stderr
    assert "a body on a spring with an attached body that can hit it" in done.stdout
    assert "jaxvib check asked.toml" in done.stdout
    assert load(Path("asked.toml")).system.kind == "two_body_impact"


def test_a_misspelt_built_in_study_names_the_nearest():
    done = jaxvib("check", "quik")
    assert done.exit_code == 2
    assert "unknown study 'quik'; did you mean 'quick'?" in done.output
    assert "no such file" in jaxvib("check", "quik.toml").output


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_shells_complete_commands(name):
    script = jaxvib("completion", name).output
    assert "_JAXVIB_COMPLETE" in script
    asked = {
        "COMP_WORDS": "jaxvib che",
        "COMP_CWORD": "1",
        "_JAXVIB_COMPLETE": "bash_complete",
    }
    done = shell(env=os.environ | asked)
    assert "check" in done.stdout


@pytest.mark.parametrize(
    ("words", "begun", "expected", "kind"),
    [
        (["run"], "qui", "quick", "plain"),
        (["check"], "regime", "regime_map", "plain"),
        (["live"], "bras", "bras", "file"),
        (["export"], "", "gear_mesh", "plain"),
        (["new"], "tower_m", "tower_modes", "plain"),
        (["report"], "res", "res", "file"),
        (["sample"], "", "", "file"),
        (["run", "quick", "--set"], "attached.", "attached.mass", "plain"),
        (["check", "quick", "--set"], "load.f", "load.frequency", "plain"),
        (["live", "gear_mesh", "--set"], "linear.", "linear.modules", "plain"),
    ],
)
def test_studies_parameters_and_files_are_completed(words, begun, expected, kind):
    complete = ShellComplete(cli.main, {}, "jaxvib", "_JAXVIB_COMPLETE")
    found = complete.get_completions(words, begun)
    assert any(each.type == kind and each.value.startswith(expected) for each in found)
    named = [each.value for each in found if each.type == "plain"]
    assert all(name.startswith(begun) for name in named)


@pytest.mark.parametrize("words", [["run", "--set"], ["run", "no_such_study", "--set"]])
def test_nothing_is_completed_for_a_config_that_cannot_be_read(words):
    assert not ShellComplete(cli.main, {}, "jaxvib", "_J").get_completions(words, "a")


def test_the_schema_is_json():
    assert json.loads(jaxvib("schema").output)["title"] == "a jaxvib study"


def test_info_says_in_twelve_lines_what_runs_here(tmp_path):
    done = shell("info", env=newcomer(tmp_path))
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) <= 12
    for word in ("jaxvib", "Python", "jax ", "devices", "float64", str(tmp_path), "works"):
        assert word in done.stdout
    assert not list(tmp_path.rglob("*jaxvib_probe*"))


def test_the_cache_folder_is_private(tmp_path):
    shell("info", env=newcomer(tmp_path))
    folders = [each for each in (tmp_path / "jaxvib").iterdir() if each.is_dir()]
    assert {each.name.partition("-")[0] for each in folders} == {"jax", "kernels"}
    for folder in (*folders, tmp_path / "jaxvib"):
        assert folder.stat().st_mode & 0o077 == 0


def test_info_reports_a_home_that_is_not_writable():
    done = shell("info", env=newcomer("/proc/nothing"))
    assert done.returncode == 0
    assert "is not writable" in done.stdout


def test_cache_clear_removes_the_cached_files_and_nothing_else(tmp_path):
    kept = tmp_path / "jaxvib" / "kernels" / "one.text"
    other = tmp_path / "other" / "mine"
    for path in (kept, other):
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(1_000_000))
    done = shell("info", env=newcomer(tmp_path))
    assert "1 files, 1 MB" in done.stdout
    done = shell("cache", env=newcomer(tmp_path))
    folder, programs, kernels, bounds = done.stdout.splitlines()
    assert folder == f"folder      {tmp_path / 'jaxvib'}"
    assert programs.startswith("jax-")
    assert kernels == "kernels     1 files, 1 MB"
    assert bounds == "bounds      2.15 GB; 90 days without use"
    done = shell("cache", "clear", env=newcomer(tmp_path))
    assert done.returncode == 0
    assert done.stdout.endswith(" MB\n")
    assert not kept.exists()
    assert other.exists()
    assert shell("cache", "empty", env=newcomer(tmp_path)).returncode == 2


def test_cite_prints_the_citation():
    assert jaxvib("cite").output.startswith("cff-version:")


@pytest.mark.slow
def test_ctrl_c_while_it_compiles_ends_at_once_and_says_how_to_go_on(tmp_path):
    environment = newcomer(tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-m", "jaxvib", "run", "quick"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    with process:
        process.stdout.readline()
        journal = Path("results/quick/journal.jsonl")
        while not journal.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        began = time.perf_counter()
        _, errors = process.communicate(timeout=60)
        seconds = time.perf_counter() - began
    assert seconds < 2 * slowness()
    assert process.returncode == 130
    again = "jaxvib run quick --out results/quick --resume"
    assert errors == f"\nstopped; finished samples are kept; resume with: {again}\n"


def test_a_second_run_in_the_same_folder_is_refused_and_names_the_first():
    jaxvib("run", "pushed.toml", "--out", "there")
    Path("empty").mkdir()
    for folder in ("there", "empty"):
        before = {path: path.stat().st_mtime for path in Path(folder).rglob("*")}
        lock = Lock(Path(folder))
        lock.acquire()
        done = jaxvib("run", "pushed.toml", "--out", folder, "--resume")
        assert done.exit_code == 2
        assert f"{folder} is in use by process {os.getpid()} on" in done.output
        lock.release()
        assert {path: path.stat().st_mtime for path in Path(folder).rglob("*")} == before
        assert jaxvib("run", "pushed.toml", "--out", folder, "--resume").exit_code == 0
        assert not Path(folder, "run.lock").exists()


@pytest.mark.parametrize("resume", [[], ["--resume"]])
@pytest.mark.parametrize("name", ["config.toml", "report.html", "pictures"])
def test_files_of_ones_own_are_never_written_over(resume, name):
    Path(name).write_text(CONFIG)
    before = sorted(Path().rglob("*"))
    done = jaxvib("run", "pushed.toml", "--out", ".", *resume)
    assert done.exit_code == 2
    assert f"{name} exists and belongs to no study; choose another folder" in done.output
    assert Path(name).read_text() == CONFIG
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    "words", ["run pushed.toml --out", "status", "report", "new quick", "live quick --out"]
)
def test_an_empty_name_is_refused(words):
    before = sorted(Path().rglob("*"))
    done = jaxvib(*words.split(), "")
    assert done.exit_code == 2
    assert "the name is empty" in done.output
    assert sorted(Path().rglob("*")) == before


def test_a_variation_of_a_study_in_this_folder_lies_beside_it():
    Path("here").mkdir()
    os.chdir("here")
    done = jaxvib("run", "../pushed.toml", "--out", ".")
    assert done.exit_code == 0
    assert f"--out {Path.cwd()}-2" in done.output


def test_no_command_is_advised_that_has_just_failed():
    jaxvib("run", "pushed.toml", "--out", "there")
    Path("there/study.json").write_text("{}")
    done = jaxvib("run", "pushed.toml", "--out", "there", "--resume")
    assert done.exit_code == 3
    assert "study.json is damaged or missing" in done.output.splitlines()[-1]
    assert "--resume" not in done.output


@pytest.mark.parametrize("content", [None, "", "[]", '{"sessions": [{"seconds": "x"}]}'])
def test_times_are_never_needed(content):
    jaxvib("run", "pushed.toml", "--out", "there")
    times = Path("there/times.json")
    times.unlink()
    if content is not None:
        times.write_text(content)
    assert jaxvib("run", "pushed.toml", "--out", "there", "--resume").exit_code == 0
    assert len(json.loads(times.read_text())["sessions"]) == 1


def test_a_fault_of_our_own_ends_with_code_3_and_one_line(monkeypatch):
    def fail(read, study):
        raise KeyError("\x1b[31mred")

    install(monkeypatch, summary=fail)
    done = jaxvib("run", "pushed.toml", "--out", "there")
    assert done.exit_code == 3
    assert done.output.splitlines()[-1] == (
        "jaxvib: KeyError: '\\x1b[31mred'; this is a bug in jaxvib; set "
        "JAXVIB_TRACEBACK=1 for a traceback"
    )


def test_a_terminal_is_never_sent_control_characters():
    title = r'title="\u001b]0;owned\u0007"'
    done = jaxvib("run", "pushed.toml", "--out", "there", "--set", title)
    assert done.exit_code == 0
    assert all(line.isprintable() for line in done.output.split("\n"))
    for bad in (r'system."\u001b[31m"=1', f"gap={'9' * 5000}", "gap=" + "\x1b" * 5000):
        done = jaxvib("run", "pushed.toml", "--set", bad)
        assert done.exit_code == 2
        assert all(line.isprintable() for line in done.output.split("\n"))
        assert max(map(len, done.output.split())) <= 201


def test_a_journal_never_makes_a_run_remove_files_outside():
    jaxvib("run", "pushed.toml", "--out", "there")
    Path("mine").write_text("mine")
    before = array_files("there")
    journal = Path("there/journal.jsonl")
    lines = journal.read_bytes()
    for name in ("../mine", str(Path("mine").resolve()), "results.zarr/../../mine"):
        text = json.dumps({"files": {name: 1}, "step": "chunk 1"}).encode()
        guard = zlib.crc32(text, int(lines.splitlines()[-1][:8], 16))
        journal.write_bytes(lines + b"%08x %s\n" % (guard, text))
        assert jaxvib("report", "there").exit_code == 3
        assert jaxvib("run", "pushed.toml", "--out", "there", "--resume").exit_code == 0
        assert Path("mine").read_text() == "mine"
        assert array_files("there") == before


# Runs Python with signals that are not ignored, as they are under `nohup`.
HEEDING = """
import os, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.parametrize(
    ("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)]
)
def test_a_signal_ends_at_once_with_one_line_and_its_code(name, code):
    words = [
        sys.executable,
        "-c",
        HEEDING,
        "-m",
        "jaxvib",
        "run",
        "quick",
        "--out",
        "there",
    ]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()  # JAX is being imported now
        process.send_signal(getattr(signal, name))
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == code
    assert errors == "\nstopped; nothing was written\n"
    assert not Path("there").exists()


def test_signals_are_heeded_before_anything_is_imported():
    heavy = {"click", "numpy", "pydantic", "tomllib", "pathlib", "jaxvib.cli"}
    code = f"import sys, jaxvib.__main__; print({heavy} & set(sys.modules))"
    root = Path(jv.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=root
    )
    assert done.stdout == "set()\n", done.stderr


def test_a_run_imports_no_module_of_other_analyses():
    heavy = {"optax", "scipy.optimize", "scipy.stats", "scipy.sparse.linalg"}
    code = "import sys, jaxvib.studies.run.execute; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    found = set(done.stdout.split())
    assert "jaxvib.studies.run.execute" in found, done.stderr
    assert not heavy & found
    others = tuple(
        f"jaxvib.{each}." for each in ("design", "branches", "modes", "transients")
    )
    assert not [name for name in found if name.startswith(others)]
