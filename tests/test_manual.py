"""Checked against: what the manual's own blocks print, and the public names themselves."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.house import notebooks, reference, site
from tests.reports.browser import CHROMIUM, Browser
from tests.reports.firefox import FIREFOX, Firefox

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# The search of the theme is in the tree of its own element.
DIALOG = (
    "[...document.querySelectorAll('*')].map((e) => e.shadowRoot)"
    ".find((root) => root?.querySelector('dialog'))"
)
TEXTS = {
    path.relative_to(ROOT): path.read_text("utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if path.parent.name != "reference"
}
WITH_NUMPYRO = [page for page, text in TEXTS.items() if "import numpyro" in text]
WITH_BLOCKS = [
    page for page, text in TEXTS.items() if "```python" in text and page not in WITH_NUMPYRO
]
PROCESSES = 5


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


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_runs(page, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs pip install --group docs")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.reads(notebooks.notebook(page), as_version=4)
    nbformat.validate(book)
    place = {"metadata": {"path": tmp_path}}
    nbclient.NotebookClient(book, timeout=600, resources=place).execute()
    told = [out.get("text", "") for cell in book.cells for out in cell.get("outputs", [])]
    assert any("ours" in text for text in told)


@pytest.fixture(scope="module")
def manual():
    """Return the folder of the site, built without a warning or a dead link."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("needs pip install --group docs")
    site.main()
    return site.SITE


@pytest.mark.slow
def test_the_site_builds_without_a_warning_or_a_dead_link(manual):
    assert (manual / "index.html").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_the_search_of_the_site_works_from_disk(manual, browser, tmp_path):
    kind, program = {"chromium": (Browser, CHROMIUM), "firefox": (Firefox, FIREFOX)}[
        browser
    ]
    if program is None:
        pytest.skip(f"no {browser} is installed")
    window = kind(tmp_path)
    window.open(manual / "howto" / "live_pages.html")
    window.run("document.querySelector('.md-search__button').click()")
    window.wait(f"{DIALOG}?.querySelector('input')")
    window.run(
        f"const entry = {DIALOG}.querySelector('input'); entry.value = 'Hertz';"
        "entry.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    window.wait(f"{DIALOG}.querySelector('a')")
    found = window.run(f"return [...{DIALOG}.querySelectorAll('a')].map((a) => a.href)")
    window.close()
    law = (manual / "theory" / "contacts.html").resolve().as_uri()
    assert any(link.startswith(f"{law}?") for link in found)


def run_pages(pages):
    done = subprocess.run(
        [sys.executable, ".ci/blocks.py", *map(str, pages)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# Several pages in a process, which starts in 3 s, and share what it traces.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(PROCESSES))
def test_the_blocks_of_pages_print_what_they_say(first):
    run_pages(WITH_BLOCKS[first::PROCESSES])


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_NUMPYRO, ids=str)
def test_the_blocks_of_a_page_on_samplers_print_what_it_says(page):
    pytest.importorskip("numpyro", reason="needs pip install -e '.[bayes]'")
    run_pages([page])
