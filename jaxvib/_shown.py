"""How modules show themselves in notebooks: as the lines that they print."""

import html

import equinox as eqx


class Shown(eqx.Module):
    """A module whose text a notebook shows as it is."""

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self), quote=False)}</pre>"
