"""Checked against: what the answer to each planned mistake has to say."""

import pytest
from click.testing import CliRunner

from experiments.newcomer import typos
from jaxvib import cli
from jaxvib.studies.run.study import load

READ = [typo for typo in typos.TYPOS_OF_ALL_KINDS if not typo.built]


@pytest.mark.parametrize("typo", READ, ids=lambda typo: typo.wrong)
def test_a_mistake_in_a_config_is_reported_with_its_line(typo, tmp_path):
    file, line = typos.broken(typo, tmp_path)
    with pytest.raises(ValueError, match=f"typo.toml, line {line}:") as caught:
        load(file)
    said = str(caught.value)
    assert [word for word in typo.expected if word not in said] == []


def test_mistakes_on_the_command_line_end_with_code_2(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    typos.prepare(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for command in typos.COMMANDS:
        done = CliRunner().invoke(cli.main, command.words.split())
        assert done.exit_code == 2, command
        missing = [word for word in command.expected if word not in done.output]
        assert not missing, f"{command}: {done.output}"
    assert sorted(tmp_path.rglob("*")) == before


def test_mistakes_in_python_get_our_messages(tmp_path):
    typos.prepare(tmp_path)
    found = typos.of_calls(tmp_path)
    assert len(found) == len(typos.CALLS)
    assert [answer for answer in found if answer.faults] == []
