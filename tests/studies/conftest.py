"""Studies of the kind `pushed`, beside the ones that the package knows."""

import pytest

from . import pushed


@pytest.fixture(autouse=True)
def pushed_kind(monkeypatch):
    pushed.install(monkeypatch)
