"""Make `llms.txt` from the navigation of the manual, for programs that read before asking.

    python -m experiments.house.llms

A line for each page that is stored, with its headings, or its first sentence if it has
none, in the sections of `mkdocs.yml`. **Source:** the format of https://llmstxt.org.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "llms.txt"
_LINE = re.compile(r"^( +)- (?:([^:]+): ?)?(\S+\.md)?$")  # of the navigation
_MADE = ("gallery.md", "reference/")  # with the manual, not stored
_LINK = re.compile(r"!?\[([^]]*)\]\([^)]*\)(?:\{[^}]*\})?")
_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
INTRODUCTION = """\
Install with `pip install jaxvib`; `import jaxvib as jv`. `jaxvib new` lists ready studies,
`jaxvib new NAME` writes a config, `jaxvib check` estimates its cost, `jaxvib run` runs it.
SI units, angular frequencies in rad/s. All code on these pages is run by the tests, and its
output compared with that shown. The reference is in the docstrings, such as
`help(jv.periodic_orbit)`. What jaxvib cannot do is in [refusals](docs/refusals.md): look
there before writing a workaround.
"""


def about(page: Path) -> str:
    """Return the headings of a page, without links, or its first sentence."""
    plain = _LINK.sub(r"\1", _BLOCK.sub("", page.read_text(encoding="utf-8")))
    if headings := re.findall(r"^## (.+?)(?: \{.*\})?$", plain, re.MULTILINE):
        return "; ".join(headings)
    paragraphs = [" ".join(part.split()) for part in plain.split("\n\n")]
    words = next(part for part in paragraphs if part and part[0] not in "#|!<-")
    return re.split(r"(?<=[.?!]) ", words)[0]


def text() -> str:
    """Return the file's text."""
    claim = (ROOT / "README.md").read_text("utf-8").split("\n\n")[1]
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    lines = ["# jaxvib", "", f"> {claim}", "", INTRODUCTION]
    for line in navigation.splitlines():
        _, name, page = _LINE.match(line).groups()
        if not page:
            lines += ["", f"## {name}", ""]
        elif not page.startswith(_MADE):
            path = ROOT / "docs" / page
            title = name or path.read_text("utf-8").splitlines()[0].removeprefix("# ")
            lines.append(f"- [{title}](docs/{page}): {about(path)}")
    return "\n".join(lines).replace("\n\n## Reference\n", "") + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
