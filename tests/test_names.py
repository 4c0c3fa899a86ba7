"""Checked against: what README, documentation, experiments and tests call."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import jaxvib as jv
from experiments.house import reference
from jaxvib.foundation.argument_checks import check_argument

ROOT = Path(__file__).parents[1]
CALL = re.compile(r"(?<!\w)jv\.([a-zA-Z]\w*(?:\.[a-zA-Z]\w*)?)")
FOLDERS = (
    "systems ensemble kernels dynamics modes orbits branches design studies reports "
    "transients programs"
)


def texts():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    folders = [ROOT / "jaxvib", ROOT / "experiments", ROOT / "tests"]
    scripts = [path for folder in folders for path in folder.rglob("*.py")]
    others = (ROOT / "experiments").rglob("*.md")
    return {path: path.read_text("utf-8") for path in [*pages, *scripts, *others]}


def test_every_name_that_is_called_is_there():
    called = {
        (name, str(path.relative_to(ROOT)))
        for path, text in texts().items()
        for name in CALL.findall(text)
    }
    assert len({name for name, _ in called}) > 80
    for name, path in called:
        first, *second = name.split(".")
        assert hasattr(jv, first), f"{path}: jv.{name}"
        if second and first in FOLDERS.split():
            assert hasattr(getattr(jv, first), second[0]), f"{path}: jv.{name}"


def test_the_top_lists_what_it_has_and_not_too_much():
    names = set(dir(jv)) - {*FOLDERS.split(), "__version__"}
    assert names >= {name for name in reference.STABLE if "." not in name}
    own = names - {name for name in dir(jv.systems) if not name.startswith("_")}
    assert 20 <= len(own) <= 31
    assert all(callable(getattr(jv, name)) for name in names)
    shown: dict[str, object] = {}
    exec("from jaxvib import *", shown)
    assert set(dir(jv)) - {"__version__"} == set(shown) - {"__builtins__"}


@pytest.fixture(scope="module")
def imports():
    """Return what a process prints that imports jaxvib step by step: one for all tests."""
    code = f"""
import sys, jaxvib
print(*sorted({{'jax', 'numpy', 'scipy'}} & set(sys.modules)))
first = [jaxvib.branches.__name__, jaxvib.reports.__name__]
import jaxvib.studies.run.execute
needless = {{'diffrax', 'lineax', 'matplotlib', 'pandas', 'xarray'}}
print(*sorted(needless & set(sys.modules)))
print(*first, *[getattr(jaxvib, name).__name__ for name in {FOLDERS.split()}])"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_importing_jaxvib_waits_for_nothing(imports):
    assert imports[0] == ""


def test_motions_and_reports_wait_for_nothing_that_others_need(imports):
    assert imports[1] == ""


def test_every_folder_is_an_attribute_from_the_start(imports):
    folders = ["branches", "reports", *FOLDERS.split()]
    assert imports[2].split() == [f"jaxvib.{folder}" for folder in folders]


@pytest.mark.parametrize(
    ("name", "meant"),
    [("simulat", "simulate"), ("HerzContact", "HertzContact"), ("orbit", "orbits")],
)
def test_a_misspelt_name_names_the_nearest(name, meant):
    with pytest.raises(AttributeError, match=rf"{name!r}; did you mean {meant!r}\?"):
        getattr(jv, name)


def test_what_python_asks_of_every_module_is_not_looked_for_in_the_folders():
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'"):
        getattr(jv, "__wrapped__")  # noqa: B009


@pytest.mark.parametrize(
    ("call", "name", "meant"),
    [
        (lambda: jv.two_body_impact(main_mas=1.0), "main_mas", "main_mass"),
        (lambda: jv.simulate(None, [0.0], [0.0, 1.0], tol=1e-6), "tol", "rtol"),
        (lambda: jv.periodic_orbit(None, period_count=2), "period_count", "period"),
    ],
)
def test_a_misspelt_argument_names_the_nearest(call, name, meant):
    with pytest.raises(TypeError, match=rf"{name!r}; did you mean '{meant}\w*'\?"):
        call()


def test_functions_of_the_top_are_those_of_their_folders_and_the_same_each_time():
    assert jv.two_body_impact is jv.two_body_impact
    assert jv.flow is jv.dynamics.flow
    assert jv.flow.__doc__ == jv.dynamics.flow.__doc__
    assert inspect.signature(jv.flow) == inspect.signature(jv.dynamics.flow)


def test_defaults_of_all_public_functions_fit():
    for name in reference.public_names():
        function = reference.named(name)
        if inspect.isfunction(function):
            for each in inspect.signature(function).parameters.values():
                if each.default is not each.empty:
                    check_argument(f"{name}: {each.name}", each.default, each.annotation)


def test_every_public_function_names_a_misspelt_argument():
    for name in sorted(reference.public_names()):
        function = reference.named(name)
        kinds = inspect.signature(function).parameters if callable(function) else {}
        named = [each for each in kinds.values() if each.kind is each.KEYWORD_ONLY]
        taken = any(each.kind is each.VAR_KEYWORD for each in kinds.values())
        if inspect.isfunction(function) and named and not taken:
            near = named[0].name
            with pytest.raises(TypeError, match=f"'{near}z'; did you mean '{near}'"):
                function(**{f"{near}z": 1.0})
