"""Checked against: what the manual's own blocks print, and the public names themselves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.house import notebooks, reference, site

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WITH_BLOCKS = sorted(
    path.relative_to(ROOT)
    for path in DOCS.rglob("*.md")
    if "```python" in path.read_text("utf-8") and path.parent.name != "reference"
)


def test_every_public_name_stands_once_in_the_reference():
    listed = [name for *_, names in reference.GROUPS.values() for name in names.split()]
    assert len(listed) == len(set(listed))
    assert set(listed) == reference.public_names()


def test_a_dead_link_and_a_foreign_script_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#here">b</a><a href="#top">up</a>'
        '<a href="b.html#gone">b</a><a href="c.html">c</a><a href="https://x.org">x</a>'
        '<script src="https://x.org/y.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="here">B</p>')
    assert site.faults(tmp_path) == [
        "a.html: b.html#gone leads to no place of its page",
        "a.html: c.html leads nowhere",
        "a.html: https://x.org/y.js is fetched from elsewhere",
    ]


TUTORIALS = notebooks.tutorials()


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_is_its_tutorial(page):
    assert notebooks.place(page).read_text("utf-8") == notebooks.notebook(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_runs(page, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs pip install -e '.[docs]'")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.reads(notebooks.place(page).read_text("utf-8"), as_version=4)
    nbformat.validate(book)
    place = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(book, timeout=600, resources=place).execute()
    told = [out.get("text", "") for cell in book.cells for out in cell.get("outputs", [])]
    assert any("ours" in text for text in told)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_or_a_dead_link():
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("needs pip install -e '.[docs]'")
    site.main()


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=str)
def test_the_blocks_of_a_page_print_what_it_says(page):
    if "import numpyro" in (ROOT / page).read_text("utf-8"):
        pytest.importorskip("numpyro", reason="needs pip install -e '.[bayes]'")
    done = subprocess.run(
        [sys.executable, ".ci/blocks.py", str(page)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
