"""Checked against: the bytes of the same study that one process computed alone."""

import concurrent.futures
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jaxvib import cli
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import execute
from jaxvib.studies.run.chunk import Silent, compute_chunk
from jaxvib.studies.run.distributed import cluster
from jaxvib.studies.run.distributed.worker import task
from jaxvib.studies.run.record import record
from jaxvib.studies.run.study import load
from tests.studies.pushed import CONFIG, KIND, install
from tests.studies.store.test_store import array_files

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@pytest.fixture(scope="module")
def scheduler():
    """Start a cluster of threads in this process: its workers know the kind `pushed`."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
        memory_limit=None,
    ) as cluster:  # fmt: skip
        yield cluster.scheduler_address


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pushed.toml").write_text(CONFIG)
    done = run("--out", "here")
    assert done.exit_code == 0, done.output


def run(*words):
    return CliRunner().invoke(cli.main, ["run", "pushed.toml", *words])


def test_a_cluster_gives_the_same_bytes(config, scheduler):
    done = run("--out", "there", "--cluster", scheduler)
    assert done.exit_code == 0, done.output
    assert f"computed by the cluster at {scheduler}, 2 workers" in done.output
    assert array_files(Path("there")) == array_files(Path("here"))


@pytest.mark.skipif(not shutil.which("openssl"), reason="certificates need openssl")
def test_a_cluster_under_tls_hears_nobody_without_its_certificate(config, tmp_path):
    for name in ("cert", "other"):
        words = f"req -x509 -nodes -days 1 -subj /CN=jaxvib -keyout {name}.key -out {name}"
        command = ["openssl", *words.split(), "-newkey", "rsa:2048"]
        subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)

    def holding(name):
        own = {"cert": str(tmp_path / name), "key": str(tmp_path / f"{name}.key")}
        tls = "distributed.comm.tls"
        return dask.config.set(
            {
                "distributed.comm.require-encryption": True,
                f"{tls}.ca-file": str(tmp_path / "cert"),
                **{f"{tls}.{part}": own for part in ("scheduler", "worker", "client")},
            }
        )

    with (
        holding("cert"),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None,
            memory_limit=None, protocol="tls", security=distributed.Security(),
        ) as workers,
    ):  # fmt: skip
        address = workers.scheduler_address
        assert address.startswith("tls://")
        done = run("--out", "there", "--cluster", address)
        assert done.exit_code == 0, done.output
        assert array_files(Path("there")) == array_files(Path("here"))
        with holding("other"):
            done = run("--out", "stranger", "--cluster", address)
        assert (done.exit_code, "no Dask scheduler answers" in done.output) == (3, True)
        plain = address.replace("tls:", "tcp:")
        done = run("--out", "plain", "--cluster", plain)
        assert (done.exit_code, "no Dask scheduler answers" in done.output) == (3, True)
    done = run("--out", "none", "--cluster", address)
    assert (done.exit_code, "needs certificates" in done.output) == (2, True), done.output
    assert not Path("none").exists()


def test_a_study_begun_here_is_ended_there_and_the_other_way_round(
    config, scheduler, monkeypatch
):
    compute = KIND.compute

    def break_off(system, samples, *arguments):
        if samples["load.amplitude"][0] > 150.0:
            raise OSError("No space left on device")
        return compute(system, samples, *arguments)

    for first, then in ((), ("--cluster", scheduler)), (("--cluster", scheduler), ()):
        out = f"broken{len(first)}"
        with monkeypatch.context() as patch:
            install(patch, compute=break_off)
            patch.setattr("time.sleep", lambda seconds: None)
            done = run("--out", out, *first)
        assert done.exit_code == 3, done.output
        assert "No space left on device" in done.output
        done = run("--out", out, "--resume", *then)
        assert done.exit_code == 0, done.output
        assert array_files(Path(out)) == array_files(Path("here"))


def test_workers_of_another_version_get_no_work(config, scheduler, monkeypatch):
    monkeypatch.setattr(
        execute,
        "task",
        lambda *_: ("incompatible", distributed.get_worker().address, "no AVX"),
    )
    done = run("--out", "there", "--cluster", scheduler)
    assert done.exit_code == 3
    assert "no worker of the cluster matches the study: one has no AVX" in done.output


def test_new_workers_take_the_chunks_of_lost_ones(config, monkeypatch):
    monkeypatch.setattr(cluster, "_LOOK", 0.1)
    study = load(Path("pushed.toml"))
    text = to_toml(study.resolved())
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0",
            memory_limit=None,
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):  # fmt: skip
        like = record(study, "cpu")
        executor = cluster.DaskExecutor(
            workers.scheduler_address,
            lambda number: (task, text, number, like),
            Silent(),
        )
        # One that differs was met: chunks are for the others, of which one is known.
        executor._incompatible["tcp://127.0.0.1:1"] = "another processor"
        workers.scale(0)
        while client.scheduler_info()["workers"]:
            client.sync(client._update_scheduler_info)
        work = pool.submit(lambda: dict(executor.submit([0, 1])))
        kept = 0
        while kept < 2:
            kept = client.run_on_scheduler(
                lambda dask_scheduler: len(dask_scheduler.unrunnable)
            )
        workers.scale(1)
        try:
            found = work.result(timeout=30)
        finally:
            executor.close()
    for number in (0, 1):
        expected = compute_chunk(text, number)
        for name, field in found[number].items():
            np.testing.assert_array_equal(field.values, expected[name].values)


def test_where_no_scheduler_answers_it_is_said(config, monkeypatch):
    monkeypatch.setattr(cluster, "_ANSWER", 0.3)
    done = run("--out", "there", "--cluster", "tcp://127.0.0.1:9")
    assert done.exit_code == 3
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.output
    assert "resume with: jaxvib run pushed.toml" in done.output


def test_without_dask_the_message_names_the_package(config, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run("--out", "there", "--cluster", "tcp://127.0.0.1:9")
    assert done.exit_code == 2
    assert 'run.cluster = "tcp://127.0.0.1:9" needs Dask' in done.output
    assert 'pip install "jaxvib[cluster]"' in done.output
    assert not Path("there").exists()
