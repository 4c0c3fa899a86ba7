"""Checked against: signals that are sent to the process of a check, or to its parent."""

import os
import signal
import threading
import time

import pytest

import jaxvib as jv
from jaxvib.kernels.gpu import device_check
from tests.kernels.iterated_lanes import (
    FREQUENCIES,
    STARTS,
    assert_same,
    expected,
    iterated,
    launches,
    reason,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")


@pytest.fixture
def hanging(device, tmp_path):
    """Return a function that acts on the process of a check when its launch hangs."""
    told = tmp_path / "told"

    def during(act):
        device(f"fault=hang told={told}")

        def wait():
            while not (told.exists() and told.read_text()):
                time.sleep(0.01)
            act(int(told.read_text()))

        watcher = threading.Thread(target=wait, daemon=True)
        watcher.start()
        return watcher

    return during


def assert_checked_anew(device, kernel):
    """Assert that nothing is known of a device, and that it is checked and launched."""
    assert not device_check.verdicts()
    device()
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    assert reason(kernel) == ""
    assert [each.launched for each in device_check.verdicts()] == [True]
    assert len(launches()) == 1


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_check_that_is_ended_from_outside_proves_nothing(
    device, hanging, kernel, caplog, sent
):
    hanging(lambda process: os.kill(process, sent))
    assert_same(kernel.map(STARTS, FREQUENCIES), expected(kernel))
    told = f"it is not proved: {sent.name} from outside ended its check"
    assert reason(kernel) == told
    assert f"jaxvib: iterated runs on the CPU: {told}" in caplog.messages
    assert not launches()
    assert_checked_anew(device, jv.kernel(iterated))


@pytest.fixture
def heeded():
    """Let Ctrl-C raise, which a shell's background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_process_of_a_check(device, hanging, kernel, heeded):
    checking = []

    def interrupt(process):
        checking.append(process)
        os.kill(os.getpid(), signal.SIGINT)

    hanging(interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernel.map(STARTS, FREQUENCIES)
    with pytest.raises(ProcessLookupError):
        os.kill(checking[0], 0)
    assert reason(kernel) == "no call of `map` was long enough for a check"
    assert_checked_anew(device, kernel)
