"""Checked against: the systems that ready studies build, and lists written down by hand."""

import ast
import importlib
import typing
from pathlib import Path

import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib import cli
from jaxvib.studies.analyses import kinds
from jaxvib.studies.analyses.kinds import ANALYSES, SYSTEMS, analyses_of
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.studies.systems.base import Role
from jaxvib.systems.base.roles import Linear
from jaxvib.systems.base.system import System
from tests.studies.pushed import CONFIG

SEARCHES = ["design", "fit", "pareto_front", "sensitivity"]
MOTIONS = ["basins", "bifurcation_diagram", "continuation", "fragility",
           "integrity_curves", "noise_response", "nonlinear_modes", "periodic_orbit",
           "response", "shock_spectrum"]  # fmt: skip
WITH_MODES = sorted([*MOTIONS, "natural_modes"])
POSSIBLE = {
    "two_body_impact": [*WITH_MODES, *SEARCHES],
    "impact_assembly": [*WITH_MODES, *SEARCHES],
    "elastic_impact": [*MOTIONS, *SEARCHES],
    "assembly": ["frequency_response", "linear_motion", "natural_modes", *SEARCHES],
    "beam_chain": ["chain_motion", "energy_split", *SEARCHES],
    "beam_with_bodies": ["beam_eigenvalues", *SEARCHES],
}
IS = {Role.PERIODIC: System, Role.DRIVEN: System, Role.LINEAR: Linear,
      Role.MODULES: Linear, Role.BEAM: jv.BeamWithBodies,
      Role.CHAIN: jv.BeamChain}  # fmt: skip
STUDIES = ["quick", "basins", "tower_modes", "wave_packet", "beam_with_bodies"]
PREFIX = {"library": "jaxvib.", "lazily": ""}
INSTALLED = [kind for kind in ANALYSES.values() if kind.name != "pushed"]


def test_the_analyses_of_a_system_follow_from_its_roles(monkeypatch):
    monkeypatch.delitem(ANALYSES, "pushed")
    listed = {name for names in POSSIBLE.values() for name in names}
    assert {
        name: [each for each in analyses_of(kind) if each in listed]
        for name, kind in SYSTEMS.items()
    } == POSSIBLE


@pytest.mark.parametrize("name", STUDIES)
def test_systems_are_what_their_roles_say_and_name_their_states(name):
    study = load(builtin_studies.find(name))
    kind, system = SYSTEMS[study.system.kind], build(study)
    assert kind.roles
    for role in Role:
        assert isinstance(system, IS[role]) or role not in kind.roles
    assert isinstance(system, System) == (Role.PERIODIC in kind.roles)
    if Role.PERIODIC in kind.roles:
        assert len(system.state_names) == len(system.rest())
        assert len(system.freedom_names) == system.degrees_of_freedom
    if Role.MODULES in kind.roles:
        assert list(system.linear_part().module_names()) == study.axes["module"]
        assert list(system.linear_part().names) == study.axes["freedom"]


def test_every_module_of_the_folder_is_a_kind_of_its_name():
    names = {
        path.stem
        for path in Path(kinds.__file__).parent.iterdir()
        if path.suffix == ".py" or (path / "kind.py").exists()
    }
    assert {kind.name for kind in INSTALLED} == names - {"__init__"}


@pytest.mark.parametrize("kind", INSTALLED, ids=lambda kind: kind.name)
def test_options_and_kind_have_the_same_name(kind):
    assert typing.get_args(kind.options.model_fields["kind"].annotation) == (kind.name,)


def lazy_names(path):
    """Yield the modules that a file imports lazily, and the names used of each."""
    aliases, found = {}, []
    for node in ast.walk(tree := ast.parse(path.read_text())):
        if isinstance(node, ast.Assign) and isinstance(
            node.targets[0], ast.Name | ast.Tuple
        ):
            target, value = node.targets[0], node.value
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            pairs = zip(map(ast.unparse, names), values, strict=False)
            aliases |= {name: each for name, each in pairs if lazy(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.append(ast.unparse(node.value))
            called = aliases.get(found[-1], node.value)
            if lazy(called):
                name = ast.literal_eval(called.args[0])
                yield PREFIX[ast.unparse(called.func)] + name, node.attr
    unused = {name for name in aliases.keys() - set(found) if "." not in name}
    assert not unused & {ast.unparse(n) for body in tree.body for n in targets(body)}, path


def lazy(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) in PREFIX


def targets(node):
    return node.targets if isinstance(node, ast.Assign) else []


def test_lazily_imported_modules_are_used_and_have_what_is_used_of_them():
    package = Path(kinds.__file__).parents[2]
    found = {each for path in package.rglob("*.py") for each in lazy_names(path)}
    assert len(found) > 50
    missing = [
        each for each in found if not hasattr(importlib.import_module(each[0]), each[1])
    ]
    assert not missing


def test_a_kind_without_pictures_has_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.toml").write_text(CONFIG.replace("report = false", "report = true"))
    done = CliRunner().invoke(cli.main, ["run", "plain.toml", "--out", "out"])
    assert done.exit_code == 0, done.output
    assert "<html" in (tmp_path / "out" / "report.html").read_text()
