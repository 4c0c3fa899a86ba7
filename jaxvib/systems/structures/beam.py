"""Euler-Bernoulli beams carrying bodies on linear links."""

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ...foundation.quantity import OptionalQuantity, Quantity, check_shape, quantity
from ..base.system_repr import SystemRepr
from ..symmetry import check_kinetic_energy


class End(eqx.Module):
    """An end at which two derivatives of the deflection V are 0, of the orders `zeros`."""

    zeros: ClassVar[tuple[int, int]]

    def conditions(self, scales: tuple, side: int) -> Float[Array, "2 4"]:
        """Return the boundary conditions, see `ElasticSupport`."""
        return jnp.array(np.eye(4)[list(self.zeros)])


class Clamped(End):
    """A clamped end: V = V' = 0."""

    zeros = 0, 1


class Hinged(End):
    """A hinged end: V = V'' = 0."""

    zeros = 0, 2


class Sliding(End):
    """A sliding (guided) end: V' = V''' = 0."""

    zeros = 1, 3


class Free(End):
    """A free end: V'' = V''' = 0."""

    zeros = 2, 3


class ElasticSupport(eqx.Module):
    r"""An end on a translational and a rotational spring.

    $$b V'' = \pm k_r V', \qquad b V''' = \mp k_t V,$$

    upper signs at the left end, lower signs at the right end. **Fields:** `stiffness`
    $k_t \ge 0$ (N/m), `rotational_stiffness` $k_r \ge 0$ (N m/rad). **Raises:**
    `ValueError` naming a field out of its range.

    >>> soft = jv.Beam(
    ...     1.0, 0.675, 36.46, ends=("clamped", jv.ElasticSupport(stiffness=1e3))
    ... )
    >>> jv.beam_eigenvalues(jv.BeamWithBodies(soft), count=1).values.imag.round(2).tolist()
    [71.72]
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness of the support", default=0.0, at_least=0.0
    )
    rotational_stiffness: Float[Quantity, ""] = quantity(
        "rotational_stiffness", "N m/rad", "rotational stiffness", default=0.0, at_least=0.0
    )

    def conditions(self, scales: tuple, side: int) -> Float[Array, "2 4"]:
        """Return the dimensionless boundary conditions, as rows over V, V', V'', V'''.

        **Arguments:** `scales`: the beam's units of stiffness and of rotational
        stiffness, b/l^3 and b/l; `side`: +1 at the left end, -1 at the right one.
        """
        turn = side * self.rotational_stiffness / scales[1]
        shift = side * self.stiffness / scales[0]
        free = Free().conditions(scales, side)
        return free.at[0, 1].set(-turn).at[1, 0].set(shift)


ENDS = {"clamped": Clamped, "hinged": Hinged, "sliding": Sliding, "free": Free}


def _as_ends(ends) -> tuple:
    several = hasattr(ends, "__iter__") and not isinstance(ends, str)
    ends = tuple(ends) if several else (ends,)
    if len(ends) != 2:
        raise ValueError(f"ends = {ends!r} has {len(ends)} ends; allowed: left and right")
    return tuple(_as_end(end) for end in ends)


def _as_end(end):
    if hasattr(end, "conditions"):
        return end
    if not isinstance(end, str) or end not in ENDS:
        raise ValueError(f"ends: {end!r} is not one of {', '.join(ENDS)}")
    return ENDS[end]()


class Beam(SystemRepr):
    r"""A uniform Euler-Bernoulli beam, $k u_{tt} + b u_{xxxx} = f$, $0 \le x \le l$.

    **Fields:** `length` $l$ (m), `mass_per_length` $k = \rho F$ (kg/m),
    `bending_stiffness` $b = E J$ (N m^2), `ends`: left and right, each `"clamped"`,
    `"hinged"`, `"sliding"`, `"free"` or an `ElasticSupport`. **Raises:** `ValueError`
    naming a field out of its range.

    >>> beam = jv.Beam(length=1.0, mass_per_length=0.675, bending_stiffness=36.46)
    >>> beam.ends
    (Clamped(), Free())
    """

    length: Float[Quantity, ""] = quantity("length", "m", "length of the beam", above=0.0)
    mass_per_length: Float[Quantity, ""] = quantity(
        "mass_per_length", "kg/m", "mass of the beam per length", above=0.0
    )
    bending_stiffness: Float[Quantity, ""] = quantity(
        "bending_stiffness", "N m^2", "bending stiffness E J of the beam", above=0.0
    )
    ends: tuple = eqx.field(converter=_as_ends, default=("clamped", "free"))


class BeamWithBodies(SystemRepr):
    r"""A beam carrying n bodies on m links: a coupled ODE-PDE system.

    $$A \ddot z + B_1 \dot z + C_1 z + C_2 (D z - u_a) + B_2 (D \dot z - \dot u_a) = 0$$
    $$k u_{tt} + b u_{xxxx} = \sum_i [q_i (d_i^T z - u) + p_i (d_i^T \dot z - u_t)
      + \mu_i (d_i^T \ddot z - u_{tt})] \, \delta(x - a_i), \quad u_a = u(a_i, t).$$

    A link that `turns` is attached to the slope $u_x(a_i)$ instead of $u(a_i)$ and
    exerts a moment. **Fields:** `beam`; `positions` $a_i$ (m); `link_stiffness` $q_i$
    (N/m, or N m/rad if the link turns), `link_damping` $p_i$, `link_inertance` $\mu_i$
    (a lumped mass is an inertance to the ground); `link_map` $D$ (m, n), a row of zeros
    is a link to the ground; `mass` $A$, `damping` $B_1$, `stiffness` $C_1$ of the
    bodies (n, n), where A may be singular; `coupling_stiffness` $C_2$ and
    `coupling_damping` $B_2$ (n, m), by default $D^T \mathrm{diag}(q)$ and $D^T
    \mathrm{diag}(p)$ (the contribution of $\mu$ to the bodies is always $D^T
    \mathrm{diag}(\mu)$). A link at x = 0 or l acts just inside the end.

    **Raises:** `ValueError` naming a field of a wrong shape or out of its range.
    **Source:** Mizhidon, hybrid systems; its (6) and (24) lack the bracket about
    $\lambda^2 A + C_1 + C_2 D$.

    >>> bare = jv.BeamWithBodies(beam)
    >>> jv.beam_eigenvalues(bare, count=2).values.imag.round(2).tolist()
    [25.84, 161.94]
    """

    beam: Beam
    positions: Float[Quantity, " m"] = quantity(
        "positions", "m", "positions of the links", at_least=0.0
    )
    link_stiffness: Float[Quantity, " m"] = quantity(
        "link_stiffness", "N/m", "stiffness of the links"
    )
    link_damping: Float[Quantity, " m"] = quantity(
        "link_damping", "N s/m", "damping of the links"
    )
    link_map: Float[Quantity, "m n"] = quantity("link_map", "", "map from bodies to links")
    mass: Float[Quantity, "n n"] = quantity("mass", "kg", "mass matrix of the bodies")
    damping: Float[Quantity, "n n"] = quantity("damping", "N s/m", "damping of the bodies")
    stiffness: Float[Quantity, "n n"] = quantity(
        "stiffness", "N/m", "stiffness of the bodies"
    )
    coupling_stiffness: OptionalQuantity[Float[Array, "n m"]] = quantity(
        "coupling_stiffness",
        "N/m",
        "stiffness of the links' forces on the bodies",
        optional=True,
    )
    coupling_damping: OptionalQuantity[Float[Array, "n m"]] = quantity(
        "coupling_damping",
        "N s/m",
        "damping of the links' forces on the bodies",
        optional=True,
    )
    link_inertance: Float[Quantity, " m"] = quantity(
        "link_inertance", "kg", "inertance of the links", at_least=0.0
    )
    turns: tuple[bool, ...] = eqx.field(static=True)

    def __init__(
        self,
        beam: Beam,
        positions: ArrayLike | Sequence[Any] = (),
        link_stiffness: ArrayLike | Sequence[Any] = (),
        link_damping: ArrayLike | Sequence[Any] | None = None,
        link_map: ArrayLike | Sequence[Any] | None = None,
        mass: ArrayLike | Sequence[Any] | None = None,
        damping: ArrayLike | Sequence[Any] | None = None,
        stiffness: ArrayLike | Sequence[Any] | None = None,
        coupling_stiffness: ArrayLike | Sequence[Any] | None = None,
        coupling_damping: ArrayLike | Sequence[Any] | None = None,
        link_inertance: ArrayLike | Sequence[Any] | None = None,
        turns: Sequence[bool] | None = None,
    ):
        links = len(positions)
        none = np.zeros(links)
        self.beam = beam
        self.positions = positions if links else none
        self.link_stiffness = link_stiffness if links else none
        self.link_damping = none if link_damping is None else link_damping
        self.mass = np.zeros((0, 0)) if mass is None else mass
        bodies = np.zeros((len(self.mass), len(self.mass)))
        self.link_map = np.zeros((links, len(bodies))) if link_map is None else link_map
        self.damping = bodies if damping is None else damping
        self.stiffness = bodies if stiffness is None else stiffness
        self.coupling_stiffness = coupling_stiffness
        self.coupling_damping = coupling_damping
        self.link_inertance = none if link_inertance is None else link_inertance
        self.turns = (False,) * links if turns is None else tuple(map(bool, turns))

    def __check_init__(self) -> None:
        links, bodies = self.links, self.bodies
        allowed = {
            "positions": (links,),
            "link_stiffness": (links,),
            "link_damping": (links,),
            "link_inertance": (links,),
            "link_map": (links, bodies),
            "mass": (bodies, bodies),
            "damping": (bodies, bodies),
            "stiffness": (bodies, bodies),
            "coupling_stiffness": (bodies, links),
            "coupling_damping": (bodies, links),
        }
        for name, shape in allowed.items():
            value = getattr(self, name)
            if value is not None:
                check_shape(name, value, shape)
        if len(self.turns) != links:
            raise ValueError(f"turns has {len(self.turns)} entries; allowed: {links}")
        check_kinetic_energy(self.mass)
        _check_on_beam(self.positions, self.beam.length)

    @property
    def links(self) -> int:
        """The number m of links."""
        return jnp.shape(self.positions)[0]

    @property
    def bodies(self) -> int:
        """The number n of the bodies' degrees of freedom."""
        return jnp.shape(self.mass)[0]


def _check_on_beam(positions, length) -> None:
    if isinstance(positions, jax.core.Tracer) or isinstance(length, jax.core.Tracer):
        return
    beyond = np.asarray(positions)[np.asarray(positions) > np.asarray(length)]
    if beyond.size:
        raise ValueError(f"positions = {beyond[0]:g} m is not in [0, {float(length):g}]")
