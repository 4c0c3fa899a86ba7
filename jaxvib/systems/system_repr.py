"""Text representation of systems and their parts: values with units."""

import jax
import numpy as np

from ..foundation.notebook_repr import NotebookRepr
from ..foundation.suggestions import check_keywords
from .parameters import parameters

_MOST_LINES = 8  # of a system's text


class SystemRepr(NotebookRepr):
    """A module whose repr shows its physical parameters with units."""

    def __new__(cls, *given, **named):
        """Create a module. **Raises:** `TypeError` for a misspelt argument."""
        check_keywords(cls, named)
        return super().__new__(cls)

    def __repr__(self) -> str:
        groups: dict[str, list[str]] = {}
        for path, parameter in parameters(self).items():
            group, _, name = path.rpartition(".")
            value = _text(parameter.value)
            entry = f"{name} {value} {parameter.unit}".rstrip()
            groups.setdefault(group, []).append(entry)
        name = type(self).__name__
        own = groups.pop("", [])
        head = f"{name}: {', '.join(own)}" if own else name
        width = max(map(len, groups), default=0)
        lines = [
            f"  {group:{width}}  {', '.join(items)}" for group, items in groups.items()
        ]
        if len(lines) >= _MOST_LINES:
            hidden = len(lines) - _MOST_LINES + 2
            lines = [*lines[: _MOST_LINES - 2], f"  and {hidden} more parts"]
        return "\n".join([head, *lines])


def _text(value) -> str:
    if isinstance(value, jax.core.Tracer) or np.size(value) > 9:
        return f"of shape {np.shape(value)}"
    return np.array2string(
        np.asarray(value), separator=", ", formatter={"float_kind": "{:.6g}".format}
    ).replace("\n", "")
