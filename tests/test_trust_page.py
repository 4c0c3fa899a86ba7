"""Checked against: the result files, and the tests that the page names."""

import re
from pathlib import Path

from experiments import trust

ROOT = Path(__file__).parents[1]


def test_the_page_is_what_the_result_files_say():
    found = trust.PAGE.read_text(encoding="utf-8")
    assert found == trust.page(), "run `python -m experiments.trust`"
    assert "{{" not in found


def test_every_test_and_command_on_the_page_is_there():
    text = trust.PAGE.read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len({name for _, name in tests}) > 40
    for file, name in tests:
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        assert (ROOT / file).is_file()
    modules = re.findall(r"`python -m ([\w.]+)`", text)
    files = [f"{module.replace('.', '/')}.py" for module in modules]
    files += re.findall(r"`python (\S+\.py)`", text)
    files += re.findall(r"`(jaxvib/\S+\.py)`", text)
    assert all((ROOT / file).is_file() for file in files)


def test_every_row_has_as_many_cells_as_its_head():
    for block in trust.PAGE.read_text(encoding="utf-8").split("\n\n"):
        rows = [row for row in block.splitlines() if row.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1
