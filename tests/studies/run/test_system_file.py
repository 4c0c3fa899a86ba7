"""Checked against: the default system, and messages written by hand."""

import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib import cli
from jaxvib.foundation.command.command_failures import BAD_INPUT
from jaxvib.studies.run.builtin_studies import find
from jaxvib.studies.run.system_file import read_system

ONLY_SYSTEM = '[system]\nkind = "two_body_impact"\ngap = 0.02\n'
BEAM = '[system]\nkind = "beam_chain"\nbodies = 4\nends = "free"\ngamma = 1.0\n'


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "use_compilation_cache", lambda: None)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bodies.toml"
    path.write_text(ONLY_SYSTEM)
    return path


def test_a_config_needs_no_study(config):
    found = read_system(config, ["main.mass=900"])
    assert found.title == "bodies"
    assert found.units == []
    assert float(found.system.gap) == 0.02
    assert float(found.system.main.mass) == 900.0
    assert jv.parameters(found.system)["attached.mass"].value == 100.0


def test_of_a_study_the_title_and_units_are_used_too():
    found = read_system(find("quick"), ['output.units=["Hz"]'])
    assert found.title == "Periodic regimes, a quick look"
    assert found.units == ["Hz"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            BEAM,
            r'line 2: system.kind = "beam_chain" has no periodic motions; allowed: "ela',
        ),
        (
            ONLY_SYSTEM.replace("gap", "gpa"),
            r"line 3: system.gpa = .* did you mean system.gap",
        ),
        ("title = 1\n", r"system is missing; allowed"),
    ],
)
def test_faults_are_named(config, text, message):
    config.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_system(config)


def test_the_command_writes_a_page_beside_and_refuses_faults(config):
    done = CliRunner().invoke(cli.main, ["live", "bodies.toml"])
    assert done.exit_code == 0, done.output
    assert done.output == "bodies-live.html\n"
    assert "<title>bodies</title>" in (config.parent / done.output.strip()).read_text()
    done = CliRunner().invoke(cli.main, ["live", "bodies.toml", "--set", "gap=-1"])
    assert done.exit_code == BAD_INPUT
    assert "gap = -1" in done.output
    config.write_text(
        '[system]\nkind = "impact_assembly"\n[system.linear.modules.ground-a]\n'
        'module = "translation_translation"\nmass = 1.0\nstiffness = 4.0\n'
        '[system.loads.push]\nload = "step"\nat = "a"\n'
        "law.amplitude = 1.0\nlaw.start = 0.0\n"
    )
    done = CliRunner().invoke(cli.main, ["live", "bodies.toml"])
    assert done.exit_code == BAD_INPUT
    assert "push is not periodic" in done.output
