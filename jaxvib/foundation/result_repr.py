"""Text representation of results: numbers with their units, in a few lines."""

import dataclasses
import html

import equinox as eqx
import jax
import numpy as np
from jaxtyping import ArrayLike


class NotebookRepr(eqx.Module):
    """A module that a notebook shows as its plain-text repr."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self), quote=False)}</pre>"


_MOST_LINES = 8  # of a result
_MOST_NUMBERS = 4  # listed; larger arrays show shape and range


def field_lines(result: object) -> list[str]:
    """Return lines with the fields of a module that are declared by `result_field`."""
    lines = []
    for field in dataclasses.fields(result):  # ty: ignore[invalid-argument-type]
        value = getattr(result, field.name)
        if "description" in field.metadata and value is not None:
            lines.append((field.name, _field_text(field, value)))
    width = max((len(name) for name, _ in lines), default=0)
    listed = [f"  {name:{width}}  {words}" for name, words in lines]
    if len(listed) >= _MOST_LINES:
        hidden = len(listed) - _MOST_LINES + 2
        listed = [*listed[: _MOST_LINES - 2], f"  and {hidden} more fields"]
    return listed


def _field_text(field, value) -> str:
    """Return a field's numbers as text; a single reason code is interpreted."""
    if field.name == "result" and np.size(value) == 1 and not _is_traced(value):
        code = int(np.asarray(value).item())
        return f"reason code {code}, see jv.reason" if code else "success"
    return summary(value, field.metadata.get("unit", ""))


def _is_traced(value) -> bool:
    return isinstance(value, jax.core.Tracer)


def summary(value: ArrayLike, unit: str) -> str:
    """Return numbers with their unit: all if few, otherwise shape and range."""
    if _is_traced(value):
        return f"of shape {np.shape(value)} {unit}".rstrip()
    values = np.asarray(value)
    if values.size <= _MOST_NUMBERS:
        listed = ", ".join(map(_number, values.ravel().tolist()))
        return f"{listed or 'none'} {unit}".rstrip()
    shape = " x ".join(map(str, values.shape))
    if values.dtype == bool:
        return f"{shape}, {int(values.sum())} true"
    return f"{shape}, {span(values, unit)}"


def span(values: np.ndarray, unit: str) -> str:
    """Return the range of the finite numbers and the count of the others."""
    known = values[np.isfinite(values)]
    if not known.size:
        return "none finite"
    missing = values.size - known.size
    if np.iscomplexobj(known):
        known, words = np.abs(known), "of modulus "
    else:
        words = ""
    reached = f"{words}{known.min():.4g} to {known.max():.4g} {unit}".rstrip()
    return reached + f", {missing} not finite" * bool(missing)


def _number(value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.6g}"
