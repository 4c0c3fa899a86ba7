"""Base of results: drawn, shown in notebooks, and exported as labelled arrays."""

import base64
import dataclasses
import html
import io
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import numpy as np

from ..foundation.result_repr import field_lines
from .axes import Axes, draw
from .chart import Chart
from .field_charts import field_charts
from .fields import Variable, columns, real_parts, variables
from .labels import Labels

# 460 x 290 pixels, about as high as a dozen table rows.
_INCHES, _DOTS = (4.6, 2.9), 100
_STYLE = "font-family:monospace;padding:1px 10px 1px 0;text-align:left;vertical-align:top"


class Plottable(eqx.Module):
    """A result, whose fields are declared by `result_field`.

    Notebooks show it as a table, parsed from `__repr__` (a title line, then lines with a
    name, two or more blanks and a value), with a picture below it if `drawable` is True.
    `charts` are the pictures that `plot` and reports draw; `drawn`: the names of the fields
    in them by default, all if empty.
    """

    drawn: ClassVar[tuple[str, ...]] = ()

    @property
    def drawable(self) -> bool:
        """Whether notebooks show a picture of it."""
        return False

    def charts(self) -> list[Chart]:
        """Return the charts of the result, the most important one first.

        By default one for each unit: its numbers along an axis, also that of a batch, over
        the field that ascends there if there is one. **Raises:** `ValueError` for a batch
        with several axes.
        """
        leading = _leading(self)
        if len(leading) > 1:
            shape = np.shape(getattr(self, _declared(self)[0].name))[: len(leading)]
            raise ValueError(
                f"{type(self).__name__}: a batch of shape {shape}; allowed: a single result"
            )
        fields = variables(self, leading)
        chosen = {n for n in fields if not self.drawn or n.partition(".")[0] in self.drawn}
        return field_charts(fields, chosen, lambda axis: self._along(axis)[0])

    def plot(self, *, ax: Axes = None) -> Axes:
        """Draw the first of its charts on given or new matplotlib axes, and return them."""
        return draw(self.charts()[0], ax)

    def to_xarray(self) -> Any:
        """Return the result as an `xarray.Dataset`, a batch with dimensions `sample`.

        Variables are the fields with `long_name` and `units`, complex ones in two, such as
        `values.real` and `values.imag`, since netCDF has real numbers only. Names of states
        and degrees of freedom are coordinates.
        """
        return dataset(variables(self, _leading(self)), self._along, _attributes(self))

    def to_dataframe(self) -> Any:
        """Return a `pandas.DataFrame`: a row for each place along the first axis.

        Columns are the fields along that axis, by component: `amplitude[main]`. Other
        fields are left out; a result without an axis is a single row.
        """
        found = variables(self, _leading(self))
        first = next((one.axes[0] for one in found.values() if one.axes), "row")
        along = [(name, one) for name, one in found.items() if one.axes[:1] == (first,)]
        if not along:
            alone = ((name, np.reshape(one.values, 1)) for name, one in found.items())
            along = [(name, Variable((first,), values)) for name, values in alone]
        every = dict(columns(along, lambda axis: self._along(axis)[0]))
        return dataset(every, lambda axis: ((), ()), {}).to_dataframe()

    def to_netcdf(self, file: str | os.PathLike[str]) -> None:
        """Write the result as a netCDF file, with the variables of `to_xarray`."""
        self.to_xarray().to_netcdf(os.fspath(file))

    def _along(self, axis: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the names and the units along an axis, none if they are not known."""
        axis, labels = axis.removesuffix("_component"), getattr(self, "labels", Labels())
        if axis == "state":
            return labels.names, labels.units
        if axis == "freedom" and labels.freedoms:
            return labels.freedoms, labels.freedom_units
        names = "paths" if axis == "parameter" else f"{axis}_names"
        return getattr(self, names, ()), ()

    def _repr_html_(self) -> str:
        first, *others = repr(self).splitlines()
        rows = "".join(map(_row, others))
        picture = _picture(self) if self.drawable else ""
        return f"<b>{_text(first)}</b><table>{rows}</table>{picture}"


class ResultRepr(Plottable):
    """Base of results whose repr shows the declared fields."""

    def __repr__(self) -> str:
        return "\n".join([type(self).__name__, *field_lines(self)])


def dataset(fields: Mapping[str, Variable], along, attributes: Mapping[str, str]) -> Any:
    """Return labelled arrays as an `xarray.Dataset`.

    `along`: the names and the units along an axis, which become coordinates.
    """
    import xarray

    found: dict[str, Any] = {}
    for name, one in fields.items():
        about = {"long_name": one.description, "units": one.unit}
        # xarray keeps the name of an axis for its coordinate.
        axes = tuple(f"{axis}_component" if axis in fields else axis for axis in one.axes)
        parts = real_parts(name, one)
        found |= {part: (axes, each.values, about) for part, each in parts}
    sizes = {axis: size for axes, values, _ in found.values()
             for axis, size in zip(axes, np.shape(values), strict=True)}  # fmt: skip
    known = {}
    for axis, size in sizes.items():
        names, units = along(axis)
        if names and len(names) == size:
            known[axis] = axis, list(names)
            known |= {f"{axis}_unit": (axis, list(units))} if units else {}
    return xarray.Dataset(found, known, attributes)


def _declared(result) -> list[dataclasses.Field]:
    fields = dataclasses.fields(result)
    known = (f for f in fields if "axes" in f.metadata)
    return [f for f in known if getattr(result, f.name) is not None]


def _leading(result) -> tuple[str, ...]:
    """Return the axes of a batch of results: those that every field has in front."""
    more = [
        np.ndim(getattr(result, field.name)) - len(field.metadata["axes"])
        for field in _declared(result)
    ]
    number = max(min(more, default=0), 0)
    return ("sample",) if number == 1 else tuple(f"sample_{i}" for i in range(number))


def _attributes(result) -> dict[str, str]:
    """Return the static texts of a result, such as a parameter's path."""
    fields = [field.name for field in dataclasses.fields(result)]
    texts = {name: getattr(result, name) for name in fields}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


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
