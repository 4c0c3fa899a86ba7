"""MathML for the manual, generated when the site is built.

A Markdown extension: `$...$` within a line and `$$...$$` over lines become MathML,
which browsers render without a script or font.
"""

import re

from latex2mathml.converter import convert
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

_BLOCK = re.compile(r"^( *)\$\$(.+?)\$\$ *$", re.DOTALL | re.MULTILINE)
_INLINE = r"(?<![\\$])\$(?=\S)([^$]+?)(?<=\S)\$(?!\d)"


class _Blocks(Preprocessor):
    """Displayed equations, before paragraphs are cut."""

    def run(self, lines):
        """Return a page's lines with equations put aside."""
        text = _BLOCK.sub(self._stashed, "\n".join(lines))
        return text.split("\n")

    def _stashed(self, match):
        drawn = convert(match[2].strip(), display="block")
        place = self.md.htmlStash.store(f'<div class="equation">{drawn}</div>')
        return f"\n\n{match[1]}{place}\n\n"


class _Inline(InlineProcessor):
    """Mathematics within a line."""

    def handleMatch(self, m, data):  # noqa: N802
        """Return one formula, and where it begins and ends."""
        return self.md.htmlStash.store(convert(m[1])), m.start(0), m.end(0)


class Mathematics(Extension):
    """What `mkdocs.yml` names: both kinds of mathematics."""

    def extendMarkdown(self, md):  # noqa: N802
        """Register both with Markdown."""
        md.preprocessors.register(_Blocks(md), "mathml-blocks", 24)
        md.inlinePatterns.register(_Inline(_INLINE, md), "mathml", 189)


def makeExtension(**options):  # noqa: N802
    """Return the extension, as Python-Markdown asks for it."""
    return Mathematics(**options)
