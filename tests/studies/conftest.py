"""Studies of the kind `pushed`, beside the ones that the package knows."""

import pytest

from jaxvib import cli

from . import pushed


@pytest.fixture(autouse=True)
def pushed_kind(monkeypatch):
    pushed.install(monkeypatch)
    # What the command sets in its environment must not outlive a test.
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
