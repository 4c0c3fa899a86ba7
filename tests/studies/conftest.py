"""Studies of the kind `pushed`, beside the ones that the package knows."""

import pytest

from jaxvib.studies.kinds import ANALYSES

from .pushed import CONFIG, PushedKind


@pytest.fixture(autouse=True)
def pushed_kind(monkeypatch):
    monkeypatch.setitem(ANALYSES, "pushed", PushedKind())


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "pushed.toml"
    file.write_text(CONFIG)
    return file
