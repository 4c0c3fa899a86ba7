"""Chart of eigenvalues in the complex plane."""

from typing import Any

import numpy as np

from .chart import Axis, Chart, Line, Notes
from .labels import with_unit


def spectrum_chart(values: Any, unit: str, title: str = "") -> Chart:
    r"""Return a chart of eigenvalues $\lambda$; damped ones lie left of the axis."""
    values = np.ravel(np.asarray(values))
    values = values[np.isfinite(values)]
    low, high = min(0.0, *values.imag), max(0.0, *values.imag)
    marks = Notes(values.real, values.imag, ("",) * len(values), "eigenvalues", "circle")
    axis = Line(np.zeros(2), np.array([low, high]), "undamped", 3, "dot")
    x, y = (Axis(with_unit(part, unit)) for part in ("real part", "imaginary part"))
    return Chart(x, y, (axis, marks), title)
