"""HTML representation of results in notebooks: a table and a picture."""

import base64
import html
import io
import re

from .axes import Axes

# 460 x 290 pixels, about as high as a dozen table rows.
_INCHES, _DOTS = (4.6, 2.9), 100
_STYLE = "font-family:monospace;padding:1px 10px 1px 0;text-align:left;vertical-align:top"


class Plottable:
    """A result that notebooks show as a table with a picture below it.

    The table is parsed from `__repr__`: a title line, then lines with a name, two or
    more blanks and a value. The picture is drawn by `plot` if `drawable` is True.
    """

    @property
    def drawable(self) -> bool:
        """Whether this is a single result that `plot` can draw."""
        return False

    def plot(self, *, ax: Axes = None) -> Axes:
        """Draw the result on the given or new matplotlib axes and return them."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        first, *others = repr(self).splitlines()
        rows = "".join(map(_row, others))
        picture = _picture(self) if self.drawable else ""
        return f"<b>{_text(first)}</b><table>{rows}</table>{picture}"


def _row(line: str) -> str:
    name, _, value = re.sub(r"\s{2,}", "\0", line.strip(), count=1).partition("\0")
    cells = f'<td style="{_STYLE}">{_text(name)}</td>'
    if not value:
        return f'<tr><td style="{_STYLE}" colspan="2">{_text(name)}</td></tr>'
    return f'<tr>{cells}<td style="{_STYLE}">{_text(value)}</td></tr>'


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _picture(result: Plottable) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    result.plot(ax=figure.subplots())
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=_DOTS)
    data = base64.b64encode(content.getvalue()).decode()
    return f'<img alt="{type(result).__name__}" src="data:image/png;base64,{data}">'
