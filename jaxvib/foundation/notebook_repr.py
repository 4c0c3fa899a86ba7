"""Notebook representation of modules."""

import html

import equinox as eqx


class NotebookRepr(eqx.Module):
    """A module that a notebook shows as its plain-text repr."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self), quote=False)}</pre>"
