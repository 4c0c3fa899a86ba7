"""Checked against: each other, the files that say the same to different readers."""

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

import jaxvib as jv
from experiments.house import llms
from experiments.newcomer import wheels

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
CODEMETA = json.loads((ROOT / "codemeta.json").read_text("utf-8"))
RECIPE = (ROOT / "packaging" / "recipe.yaml").read_text("utf-8")


def cited(key):
    (value,) = re.findall(rf'^(?:  - )?{key}: "?(.+?)"?$', CITATION, re.MULTILINE)
    return value


def test_every_file_says_the_same_version():
    recipe = re.search(r'version: "(.+)"', RECIPE)[1]
    changes = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[1]
    assert {cited("version"), CODEMETA["version"], recipe, changes} == {jv.__version__}


def test_every_file_says_the_same_of_the_project():
    assert CODEMETA["description"] == PROJECT["description"]
    assert CODEMETA["author"][0]["name"] == cited("name") == PROJECT["authors"][0]["name"]
    assert CODEMETA["license"] == f"https://spdx.org/licenses/{PROJECT['license']}"
    assert cited("license") == PROJECT["license"]
    keywords = re.findall("^  - ([^:\n]+)$", CITATION, re.MULTILINE)
    assert CODEMETA["keywords"] == keywords


def test_the_files_that_codemeta_names_exist():
    named = [CODEMETA[key] for key in ("readme", "issueTracker", "releaseNotes")]
    for name in [*named, CODEMETA["softwareHelp"]["url"]]:
        assert (ROOT / name).is_file()


def test_the_recipe_needs_what_the_package_needs():
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    needed = {name.removesuffix("-base"): least for name, least in
              re.findall(r"- ([\w-]+) >=([\d.]+)", run)}  # fmt: skip
    declared = dict(
        re.findall(r"^([\w-]+)>=([\d.]+)", "\n".join(PROJECT["dependencies"]), re.M)
    )
    assert needed == declared  # of JAX the newer floor, for Python 3.12
    assert 'python_min: "3.12"' in RECIPE


def test_the_lock_holds_a_version_that_the_package_allows_of_all_that_it_needs():
    locked = tomllib.loads((ROOT / "packaging/pylock.toml").read_text("utf-8"))
    assert locked["requires-python"] == PROJECT["requires-python"]
    found: dict[str, set[str]] = {}
    for package in locked["packages"]:
        found.setdefault(package["name"], set()).add(package["version"])
        assert all(file["hashes"]["sha256"] for file in package["wheels"])
    for line in PROJECT["dependencies"]:
        need = Requirement(line)
        assert any(need.specifier.contains(one) for one in found[need.name]), line


def test_what_installed_wheels_are_tried_with_is_there():
    assert all((ROOT / "tests" / name).exists() for name in wheels.TESTS)


def test_the_page_on_versions_tells_what_the_tests_counted_on_each_python():
    stored = (ROOT / "experiments" / "newcomer" / "pythons.json").read_text("utf-8")
    page = (ROOT / "docs" / "versions.md").read_text("utf-8")
    for row in json.loads(stored):
        words = [f"| {row[key]} " for key in ("python", "jax", "scipy", "passed", "failed")]
        assert any(all(word in line for word in words) for line in page.splitlines())


def test_every_action_of_a_workflow_is_pinned():
    texts = [path.read_text("utf-8") for path in (ROOT / ".github/workflows").iterdir()]
    used = [line for text in texts for line in re.findall(r"uses: (.+)", text)]
    assert len(used) > 5
    for line in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


def test_the_index_for_programs_is_that_of_the_manual():
    assert llms.FILE.read_text("utf-8") == llms.text(), (
        "run python -m experiments.house.llms"
    )
    for page in re.findall(r"\]\((.+?)\)", llms.text()):
        assert (ROOT / page).is_file()


OLD = ROOT / ".ci" / "python.py"


def test_the_first_command_runs_on_any_python_3_and_passes_this_one():
    ast.parse(OLD.read_text("utf-8"), feature_version=(3, 6))
    done = subprocess.run([sys.executable, OLD], check=True, capture_output=True)
    assert done.stdout + done.stderr == b""


def test_an_older_python_is_told_how_to_go_on():
    script = runpy.run_path(str(OLD))
    found = [name for name in (sys.executable, "no-python") if script["works"](name)]
    assert found == [sys.executable]
    told = script["advice"]((3, 9, 1), ["python3.12", "python3.11"])
    assert told.endswith("python3 is 3.9. Write python3.12 in place of python3.")
    assert "pip install --user uv" in script["advice"]((3, 9, 1), [])
