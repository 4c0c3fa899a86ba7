"""Checked against: what version 0.1 printed when it wrote the study."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main

# Written on 22 November 2026 by `jaxvib run quick`, with 3 x 2 samples; without report.
FILES = Path(__file__).with_name("study_of_0_1.npz")


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    folder = tmp_path_factory.mktemp("old") / "study"
    with np.load(FILES) as stored:
        for name in stored.files:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(stored[name].tobytes())
    return folder


def command(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_study_of_0_1_opens_with_every_byte_verified(old):
    study = jv.open_study(old)
    worst = study.max_contact_force.where(study.result == 0)
    place = worst.argmax(...)
    assert f"{float(worst.max()):.4g}" == "3.289e+05"
    assert float(study["load.amplitude"][place["load.amplitude"]]) == 1000.0
    assert float(study["load.frequency"][place["load.frequency"]]) == 5.0
    size = np.abs(study.floquet_multipliers).max("multiplier")[2, 0]
    assert f"{float(size):.3f}" == "0.771"
    assert study.sizes["load.amplitude"] == 3
    assert study.sizes["load.frequency"] == 2


def test_xarray_alone_opens_it(old):
    with xarray.open_zarr(old / "results.zarr", consolidated=False) as found:
        np.testing.assert_array_equal(
            found.max_contact_force.values.reshape(3, 2),
            jv.open_study(old).max_contact_force.values,
        )


def test_a_damaged_byte_of_it_is_found(old, tmp_path):
    with np.load(FILES) as stored:
        for name in stored.files:
            content = bytearray(stored[name].tobytes())
            if name == "results.zarr/max_contact_force/c/0":
                content[-1] ^= 1
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    with pytest.raises(OSError, match="max_contact_force"):
        jv.open_study(tmp_path)


def test_it_is_exported(old, tmp_path):
    command("export", old, tmp_path / "study.csv")
    rows = (tmp_path / "study.csv").read_text().splitlines()
    assert len(rows) == 1 + 6


@pytest.mark.slow
def test_it_is_reported(old):
    command("report", old)
    assert "Periodic regimes, a quick look" in (old / "report.html").read_text()


@pytest.mark.slow
def test_its_samples_can_be_computed_again(old):
    lines = command("sample", old, "4").splitlines()
    said = dict(re.split(" {2,}", line, maxsplit=1) for line in lines[3:])
    forces = [float(each) for each in re.findall(r"([\d.]+) N", said["max_contact_force"])]
    np.testing.assert_allclose(forces, 328867.0694, rtol=1e-7)  # now and then
    assert said["lyapunov_error"].endswith("; not stored by the version that ran the study")
