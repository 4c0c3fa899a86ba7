"""The overlay: mass, damping and stiffness matrices added up from modules."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

GROUND = "ground"


class Assembled(eqx.Module):
    r"""A planar system $M \ddot q + D \dot q + C q = f$ overlaid from modules.

    Matrices are computed from the modules' parameters when asked for and never
    stored, so that each entry can be swept or differentiated. **Fields:** `modules`;
    `names`: of the degrees of freedom, in order of first mention.
    """

    modules: tuple
    names: tuple[str, ...] = eqx.field(static=True)

    @property
    def mass(self) -> Float[Array, "n n"]:
        """The mass matrix M."""
        return self.matrices()[0]

    @property
    def damping(self) -> Float[Array, "n n"]:
        """The damping matrix D."""
        return self.matrices()[1]

    @property
    def stiffness(self) -> Float[Array, "n n"]:
        """The stiffness matrix C."""
        return self.matrices()[2]

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""
        size = len(self.names) + 1  # the ground is row and column 0, dropped at the end
        position = {GROUND: 0} | {name: i + 1 for i, name in enumerate(self.names)}
        totals = [jnp.zeros((size, size))] * 3
        for module in self.modules:
            place = jnp.array([position[module.first], position[module.second]])
            parts = module.matrices()
            totals = [
                total.at[place[:, None], place[None, :]].add(part)
                for total, part in zip(
                    totals, (parts.mass, parts.damping, parts.stiffness), strict=True
                )
            ]
        return tuple(total[1:, 1:] for total in totals)


def assemble(modules: Sequence) -> Assembled:
    """Overlay modules into one system, in any order.

    Each module is added into the rows and columns of its bodies; the row and column of
    `"ground"` are dropped. **Raises:** `ValueError` naming the module if it joins a
    body to itself or there is none. **Source:** Pavlov, Lilkova-Markova, Evlogiev and
    Ivanova.
    """
    if not modules:
        raise ValueError("modules = [] is empty; allowed: one module or more")
    names: list[str] = []
    for module in modules:
        if module.first == module.second:
            raise ValueError(f"module {module.name!r} joins a body to itself")
        for name in (module.first, module.second):
            if name != GROUND and name not in names:
                names.append(name)
    return Assembled(tuple(modules), tuple(names))
