"""Build the manual in `site/`, offline, and check its links.

    python -m experiments.house.site

The reference is generated from the docstrings first, notebooks from the tutorials, the
gallery from the configs.
Errors are: warnings of the build, links to missing pages, files or anchors, and any
resource that a browser would load from elsewhere.
"""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from experiments import gallery

from . import notebooks, reference

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
_FETCHED = {"img", "script", "link", "source", "iframe", "video", "object"}
# What zensical's own "page not found" may say: it is shown at any address.
_SKIPPED = {"404.html"}


class _Page(HTMLParser):
    """The links and the places of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.places: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {value for key in ("id", "name") if (value := given.get(key))}
        for key in ("href", "src"):
            if given.get(key) and given.get("rel") != "canonical":
                self.links.append((tag, given[key]))


def faults(folder: Path = SITE) -> list[str]:
    """Return what is wrong with the links of a site that was built."""
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    pages = {path.resolve(): _Page(text) for path, text in texts.items()}
    found = []
    for path, page in pages.items():
        if path.name in _SKIPPED:
            continue
        for tag, link in page.links:
            fault = _fault(path, page, tag, link, pages)
            if fault:
                found.append(f"{path.relative_to(folder.resolve())}: {link} {fault}")
    return found


def _fault(path: Path, page: _Page, tag: str, link: str, pages: dict) -> str:
    if urlsplit(link).scheme in ("http", "https") or link.startswith("//"):
        return "is fetched from elsewhere" if tag in _FETCHED else ""
    if urlsplit(link).scheme:
        return ""
    address, place = urldefrag(link)
    target = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "leads nowhere"
    linked = page if target == path else pages.get(target)
    if place and linked and unquote(place) not in linked.places:
        return "leads to no place of its page"
    return ""


def main() -> None:
    """Build the site; `SystemExit` with what is wrong."""
    reference.main()
    notebooks.main()
    gallery.write()
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if done.returncode or "warning" in told.lower():
        raise SystemExit(told)
    found = faults()
    if found:
        raise SystemExit("\n".join(found))
    pages = len(list(SITE.rglob("*.html")))
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"{SITE}: {pages} pages, {size / 1e6:.1f} MB, no dead link")


if __name__ == "__main__":
    main()
