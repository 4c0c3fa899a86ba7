"""Checked against: the configs and the stored output of the studies."""

import json
import re

import pytest

from experiments import gallery

STUDIES = sorted(path.stem for path in gallery.CONFIGS.glob("*.toml"))
STORED = json.loads(gallery.STORED.read_text("utf-8"))


def test_every_study_is_a_tile_that_leads_to_its_page():
    tiles = re.findall(r'<a href="gallery/(\w+)\.html">(.*?)</a>', gallery.page())
    assert sorted(name for name, _ in tiles) == STUDIES
    for name, inside in tiles:
        assert f"<code>jaxvib run {name}</code>" in inside
        assert f'src="gallery/small/{name}.png"' in inside


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_a_study_holds_its_config_and_tells_its_picture_in_numbers(name):
    page = gallery.study_page(name, STORED)
    config = (gallery.CONFIGS / f"{name}.toml").read_text("utf-8").rstrip("\n")
    assert f"```toml\n{config}\n```" in page
    (alternative,) = re.findall(rf"!\[(.+)\]\({name}\.png\)", page)
    assert re.search(r"\d", alternative)
    assert "[" not in alternative
    assert "]" not in alternative


def test_every_picture_of_the_manual_is_told_in_numbers():
    pages = [gallery.ROOT / "README.md", *(gallery.ROOT / "docs").rglob("*.md")]
    texts = [page.read_text("utf-8") for page in pages]
    told = [words for text in texts for words in re.findall(r"!\[(.*?)\]\(", text)]
    assert len(told) >= 3
    assert all(re.search(r"\d", words) for words in told)
