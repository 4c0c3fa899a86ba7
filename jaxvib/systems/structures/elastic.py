"""Elastic structures in a number of their modes, with residual flexibility."""

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from ...foundation.quantity import (
    Quantity,
    Range,
    check_range,
    check_shape,
    floats,
    quantity,
)
from ..base.freedoms import direction
from ..base.roles import Linear
from ..contacts.contact import LinearContact
from ..contacts.unilateral import Contact

_STIFFNESS = Range(above=0.0)


class Truncation(NamedTuple):
    """Static effect of the modes left out at a place.

    `residual`: their flexibility, m/N; `of_structure`: its share of the static
    flexibility, NaN with rigid-body modes; `of_contact`: its ratio to the compliance of
    a contact there, NaN without one. A ratio far below 1 means that these modes hardly
    change the force of the contact.
    """

    residual: Float[Array, ""]
    of_structure: Float[Array, ""]
    of_contact: Float[Array, ""]


def _residual_flexibility(value):
    return None if value is None else floats("residual", value)


def _shapes(value):
    return floats("shapes", value)


class ElasticStructure(Linear):
    r"""A linear structure in some of its undamped modes, with named points.

    $$\ddot q_k + (2 \zeta_k \omega_k + \alpha + \beta \omega_k^2)\, \dot q_k
      + \omega_k^2 q_k = \sum_p \varphi_{pk} f_p, \qquad u_p = \sum_k \varphi_{pk} q_k.$$

    It is the `linear` part of an `ImpactSystem`, whose contacts and loads act in a
    `direction` of its points; `elastic_structure` builds it from a beam, an assembly or
    matrices. **Fields:** `frequencies` $\omega_k$ (n,), 0 for rigid-body modes; `shapes`
    $\varphi$ (points, n) of modes of unit mass, 1/kg^0.5; `names` of the points;
    `damping_ratio` $\zeta$: one or (n,); `mass_damping` $\alpha$ and
    `stiffness_damping` $\beta$ (Rayleigh damping); `residual` $R$ (points, points), m/N:
    the static flexibility of the modes left out, None if unknown. Contacts and loads
    hold copies of their directions: other `shapes` do not change them.

    **Raises:** `ValueError` for a wrong shape, a value out of its range or repeated
    names.

    >>> string = jv.ElasticStructure([10.0, 20.0], [[1.0, 0.5]], ["middle"])
    >>> string.direction("middle").tolist()
    [1.0, 0.5]
    """

    frequencies: Float[Quantity, " n"] = quantity(
        "frequencies", "rad/s", "natural frequencies", at_least=0.0
    )
    shapes: Float[Array, "points n"] = eqx.field(converter=_shapes)
    names: tuple[str, ...] = eqx.field(converter=tuple, static=True)
    damping_ratio: Float[Quantity, "..."] = quantity(
        "damping_ratio", "", "modal damping ratio", default=0.0, at_least=0.0
    )
    mass_damping: Float[Quantity, ""] = quantity(
        "mass_damping", "1/s", "damping per mass", default=0.0, at_least=0.0
    )
    stiffness_damping: Float[Quantity, ""] = quantity(
        "stiffness_damping", "s", "damping per stiffness", default=0.0, at_least=0.0
    )
    residual: Float[Array, "points points"] | None = eqx.field(
        converter=_residual_flexibility, default=None
    )

    def __check_init__(self) -> None:
        if jnp.ndim(self.frequencies) != 1 or not jnp.size(self.frequencies):
            raise ValueError(
                f"frequencies has shape {jnp.shape(self.frequencies)}; allowed: (n,)"
            )
        points, modes = len(self.names), jnp.size(self.frequencies)
        allowed = {"shapes": [(points, modes)], "damping_ratio": [(), (modes,)]}
        if self.residual is not None:
            allowed["residual"] = [(points, points)]
        for name, shapes in allowed.items():
            check_shape(name, getattr(self, name), *shapes)
        if len(set(self.names)) < points:
            raise ValueError(f"names = {self.names} repeats one; allowed: unique names")

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C) of the modes."""
        squares = self.frequencies**2
        rates = 2 * self.damping_ratio * self.frequencies
        rates = rates + self.mass_damping + self.stiffness_damping * squares
        return jnp.eye(jnp.size(squares)), jnp.diag(rates), jnp.diag(squares)

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the modes, from `mode-1` on."""
        return tuple(f"mode-{k + 1}" for k in range(jnp.size(self.frequencies)))

    def strain_rows(self) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
        r"""Return weights $w$ and rows $R$ with $C = R^T \mathrm{diag}(w) R$."""
        return self.frequencies**2, jnp.eye(jnp.size(self.frequencies))

    def direction(self, place: str | Mapping[str, float]) -> Float[Array, " n"]:
        """Return the direction of a point, or of some with coefficients, in the modes.

        `{"left": 1.0, "right": -1.0}` is the approach of two points.

        **Raises:** `ValueError` for an unknown point, with a suggestion.
        """
        return direction(self.names, place) @ self.shapes

    def in_two_planes(self) -> "ElasticStructure":
        """Return the structure with the same modes in two planes, x and y.

        For round tubes and shafts in annular contacts: the point `middle` becomes
        `middle.x` and `middle.y`. The modes of y follow those of x.

        >>> tube = jv.ElasticStructure([10.0, 20.0], [[1.0, 0.5]], ["middle"])
        >>> tube.in_two_planes().direction("middle.y").tolist()
        [0.0, 0.0, 1.0, 0.5]
        """
        both = jnp.eye(2)
        ratio, residual = self.damping_ratio, self.residual
        return ElasticStructure(
            jnp.tile(self.frequencies, 2),
            jnp.kron(both, self.shapes),
            [f"{name}.{axis}" for axis in "xy" for name in self.names],
            jnp.tile(ratio, 2) if jnp.ndim(ratio) else ratio,
            self.mass_damping,
            self.stiffness_damping,
            None if residual is None else jnp.kron(both, residual),
        )

    def displacements(self, state: Real[Array, "*batch state"]) -> Float[Array, "..."]:
        """Return the displacements of the points, m, of states, shape (..., points)."""
        modes = jnp.size(self.frequencies)
        return state[..., :modes] @ self.shapes.T

    def truncation(
        self,
        place: str | Mapping[str, float],
        contact_stiffness: Real[Array, ""] | float | None = None,
    ) -> Truncation:
        """Return the static effect of the modes left out at a place.

        **Arguments:** `contact_stiffness`: of a contact there, N/m. **Raises:**
        `ValueError` for an unknown point, a stiffness out of its range, or a structure
        whose `residual` is unknown.

        >>> string = jv.ElasticStructure([10.0], [[1.0]], ["middle"], residual=[[0.01]])
        >>> round(float(string.truncation("middle").of_structure), 3)
        0.5
        """
        if contact_stiffness is not None:
            check_range("contact_stiffness", contact_stiffness, "N/m", _STIFFNESS)
        residual = self._residual(place)
        along = self.direction(place)
        rigid = jnp.any(self.frequencies == 0)
        modal = jnp.sum((along / jnp.where(rigid, 1.0, self.frequencies)) ** 2)
        share = jnp.where(rigid, jnp.nan, residual / (residual + modal))
        stiffness = jnp.nan if contact_stiffness is None else contact_stiffness
        return Truncation(residual, share, residual * stiffness)

    def stop(
        self,
        at: str | Mapping[str, float],
        gap: Real[Array, ""] | float,
        stiffness: Real[Array, ""] | float | None = None,
        name: str | None = None,
    ) -> Contact:
        r"""Return a stop at a place, hard unless it has a `stiffness` $k$ (N/m).

        The modes left out are in series with it, as a spring: $1/k_c = 1/k + n^T R n$.
        A hard stop ($1/k = 0$) converges at first order in the number of modes;
        `contact_histories` gives the force averaged over the fastest oscillation in
        contact: the force itself does not converge. Residual flexibilities *between*
        two stops are left out. `name`: on parameter paths, by default that of a point.

        **Raises:** `ValueError` as `truncation`; or if no flexibility is left.

        >>> string = jv.ElasticStructure([10.0], [[1.0]], ["middle"], residual=[[0.01]])
        >>> float(string.stop("middle", gap=1e-3).law.stiffness)
        100.0
        """
        compliance = self._residual(at)
        if stiffness is not None:
            check_range("stiffness", stiffness, "N/m", _STIFFNESS)
            compliance = compliance + 1 / jnp.asarray(stiffness, float)
        check_range("residual flexibility at the stop", compliance, "m/N", _STIFFNESS)
        if name is None and isinstance(at, str):
            name = at
        return Contact(self.direction(at), gap, LinearContact(1 / compliance), name)

    def _residual(self, place) -> Float[Array, ""]:
        if self.residual is None:
            raise ValueError(
                "residual = None: the flexibility of the modes left out is unknown; "
                "allowed: a structure with `residual`"
            )
        along = direction(self.names, place)
        return along @ self.residual @ along
