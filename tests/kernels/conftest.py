"""An emulated device in the place of NVIDIA's driver; see `emulated_cuda.py`."""

from pathlib import Path

import pytest

import jaxvib as jv
from jaxvib.kernels.gpu import device_choice, driver
from tests.kernels.iterated_lanes import iterated

EMULATED = str(Path(__file__).with_name("emulated_cuda.py"))


@pytest.fixture
def device(monkeypatch, tmp_path):
    """Return a function that puts an emulated device into this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(driver.LIBRARY, EMULATED)
    monkeypatch.delenv(device_choice.VARIABLE, raising=False)
    monkeypatch.setattr(device_choice, "WORTH", 0.0)

    def insert(properties=""):
        monkeypatch.setenv("EMULATED_CUDA", properties)
        driver._opened.cache_clear()
        return driver.driver() if "devices=0" not in properties else None

    yield insert
    driver._opened.cache_clear()


@pytest.fixture
def by_hand(device, monkeypatch):
    """Return `device`, with kernels that are launched without a check."""
    monkeypatch.setenv(device_choice.VARIABLE, "kernels")
    return device


@pytest.fixture
def kernel():
    return jv.kernel(iterated)
