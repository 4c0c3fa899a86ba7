"""Checked against: the same study, from the same config, on the CPU."""

import subprocess
import sys

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.studies.run.device import has_gpu
from tests.users import newcomer

pytestmark = [pytest.mark.slow, pytest.mark.gpu]


@pytest.fixture(scope="module", autouse=True)
def gpu():
    if not has_gpu():
        pytest.skip("JAX finds no GPU here")


def run(device, directory):
    words = ["run", "quick", "--set", f"run.device={device}", "--out", str(directory)]
    done = subprocess.run(
        [sys.executable, "-m", "jaxvib", *words],
        capture_output=True,
        text=True,
        env=newcomer(directory.parent),
    )
    assert done.returncode == 0, done.stderr
    return jv.open_study(directory)


def test_a_gpu_gives_the_same_orbits_from_the_same_config(tmp_path):
    cpu, gpu = (run(device, tmp_path / device) for device in ("cpu", "gpu"))
    both = (cpu["result"] == 0) & (gpu["result"] == 0) & (cpu["stable"] == 1)
    assert float(both.mean()) > 0.5
    difference = np.abs(cpu["state"] - gpu["state"]).where(both)
    assert float(difference.max()) < 1e-7
