"""Checked against: the modules of a package written here, and Python's own imports."""

import subprocess
import sys

import pytest

PACKAGE = {
    "__init__.py": '''"""A package."""
from typing import TYPE_CHECKING
from jaxvib.foundation.lazy_exports import export_lazily
if TYPE_CHECKING:
    from .bar import Bar as Bar
    from .bar import bar as bar
    from .inner.foo import foo as foo
    from .inner.foo import other as other
else:
    export_lazily(__name__)
''',
    "bar.py": "class Bar: pass\ndef bar(): return 1\n",
    "inner/__init__.py": "",
    "inner/foo.py": "def foo(): return 2\ndef other(): return 3\n",
    "other.py": "",
}


@pytest.fixture
def run(tmp_path):
    for name, text in PACKAGE.items():
        path = tmp_path / "lazy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def printed(code):
        command = [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}",
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.split()

    return printed


LOADED = "print(*sorted(name for name in sys.modules if name.startswith('lazy.')))"


def test_a_module_is_imported_when_its_name_is_used(run):
    assert run(f"import lazy\n{LOADED}") == []
    assert run(f"import lazy\nlazy.foo\n{LOADED}") == ["lazy.inner", "lazy.inner.foo"]
    assert run(f"from lazy import Bar\n{LOADED}") == ["lazy.bar"]


@pytest.mark.parametrize(
    "first", ["lazy.bar", "import lazy.bar", "from lazy.bar import Bar", "lazy.Bar"]
)
def test_a_function_hides_the_module_of_its_name(run, first):
    assert run(f"import lazy\n{first}\nprint(lazy.bar())") == ["1"]


def test_a_function_hides_a_module_of_its_name_that_does_not_define_it(run):
    for use in ("import lazy.other", "lazy.other; import lazy.other"):
        assert run(f"import lazy\n{use}\nprint(lazy.other())") == ["3"]


def test_every_public_name_is_that_of_its_module_after_all_modules_are_imported():
    code = """
import importlib, pkgutil, sys
import jaxvib
for module in pkgutil.walk_packages(jaxvib.__path__, "jaxvib."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from jaxvib.foundation.lazy_exports import _LazyPackage
for package in list(sys.modules.values()):
    if isinstance(package, _LazyPackage):
        for name, place in package._exports.items():
            module = importlib.import_module(place, package.__name__)
            found = getattr(package, name)
            if getattr(found, "__wrapped__", found) is not getattr(module, name):
                print(package.__name__, name)
print("compared")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["compared"]


def test_all_names_are_listed_and_no_other_is_found(run):
    listed = run("import lazy\nprint(*lazy.__all__)\nfrom lazy import *\nprint(foo(), Bar)")
    assert listed[:4] == ["Bar", "bar", "foo", "other"]
    assert run("import lazy\nprint(hasattr(lazy, 'baz'), 'foo' in dir(lazy))") == [
        "False",
        "True",
    ]
