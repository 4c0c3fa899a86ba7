"""A chain of rigid bodies joined by massless Euler-Bernoulli beams."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ...drawing.plottable import ResultRepr
from ...foundation.machine import memory
from ...foundation.quantity import (
    OptionalQuantity,
    Quantity,
    Range,
    check_number,
    check_shape,
    quantity,
    result_field,
)
from ...foundation.suggestions import unknown_key
from ...foundation.text import size_text
from ...foundation.types import Number
from ..assembly import Assembled, assemble
from ..base.freedoms import GROUND
from ..base.roles import Linear
from ..modules.beams import BeamModule
from ..modules.springs import PointInertia, PointMass

_MOTIONS = ("y", "angle")
_MATRICES = 4  # dense ones at a time: of strains, masses, modes and their factors


class ChainEnergies(ResultRepr):
    """Energies of a chain, J, or in units of m l^2 w1^2 when built from gamma."""

    translational: Float[Array, "*n"] = result_field("translational kinetic energy", "J")
    rotational: Float[Array, "*n"] = result_field("rotational kinetic energy", "J")
    potential: Float[Array, "*n"] = result_field("potential energy", "J")

    @property
    def total(self) -> Float[Array, "*n"]:
        """The sum of all three."""
        return self.translational + self.rotational + self.potential


class Bands(ResultRepr):
    """Dispersion curves: angular frequencies of both branches, rad/s."""

    lower: Float[Array, "*n"] = result_field("lower branch", "rad/s")
    upper: Float[Array, "*n"] = result_field("upper branch", "rad/s")
    lower_velocity: Float[Array, "*n"] = result_field("group velocity, lower", "bodies/s")
    upper_velocity: Float[Array, "*n"] = result_field("group velocity, upper", "bodies/s")


def _whole_number(bodies):
    if isinstance(bodies, bool) or not isinstance(bodies, int | np.integer):
        raise ValueError(f"bodies = {bodies!r} is not a whole number")
    return bodies


class BeamChain(Linear):
    r"""Rigid bodies (deflection $y_i$, rotation $\varphi_i$) joined by beams.

    $$m \ddot y_i = E J_b \Bigl[\tfrac{12}{l^3} (y_{i+1} - 2 y_i + y_{i-1})
      - \tfrac{6}{l^2} (\varphi_{i+1} - \varphi_{i-1})\Bigr], \qquad
      J \ddot \varphi_i = E J_b \Bigl[\tfrac{6}{l^2} (y_{i+1} - y_{i-1})
      - \tfrac{2}{l} (\varphi_{i+1} + 4 \varphi_i + \varphi_{i-1})\Bigr]$$

    (the source misprints the second line), with $J = m l^2 / (6 \gamma)$. The default
    mass 1, length 1 and bending stiffness 1/12 are the dimensionless chain: $Y = y/l$,
    time in $1/\omega_1$, $\omega_1^2 = 12 E J_b / (m l^3)$, energies in
    $m l^2 \omega_1^2$.

    States have shape (4, bodies): $y, \varphi, \dot y, \dot\varphi$. **Fields:**
    `bodies`; `gamma` $= \omega_2^2/\omega_1^2$; `ends`: `"periodic"`, `"free"` (no beam
    beyond the last bodies), `"clamped"` (a beam from each end body to a wall) or
    `"hinged"` (end bodies rotate at $y = 0$); `mass`, `length`,
    `bending_stiffness` $E J_b$; `mass_factors`, `inertia_factors` (bodies,),
    `stiffness_factors` (beams,): for a chain with defects, `None` without. **Raises:**
    `ValueError` for fewer than three bodies, unknown ends, factors of another shape.

    >>> chain = jv.BeamChain(bodies=32, gamma=1.0, ends="periodic")
    >>> round(float(jv.natural_frequencies(chain)[-1]), 4)
    2.4495
    """

    bodies: int = eqx.field(static=True, converter=_whole_number)
    gamma: Float[Quantity, ""] = quantity(
        "gamma",
        "",
        "squared ratio of rotational to translational frequency",
        default=1.0,
        above=0.0,
    )
    ends: str = eqx.field(static=True, default="periodic")
    mass: Float[Quantity, ""] = quantity(
        "mass", "kg", "mass of a body", default=1.0, kw_only=True, above=0.0
    )
    length: Float[Quantity, ""] = quantity(
        "length", "m", "length of a beam", default=1.0, kw_only=True, above=0.0
    )
    bending_stiffness: Float[Quantity, ""] = quantity(
        "bending_stiffness",
        "N m^2",
        "bending stiffness E J_b of a beam",
        default=1 / 12,
        kw_only=True,
        above=0.0,
    )
    mass_factors: OptionalQuantity[Float[Array, " bodies"]] = quantity(
        "mass_factors",
        "",
        "mass of each body over m",
        optional=True,
        kw_only=True,
        above=0.0,
    )
    inertia_factors: OptionalQuantity[Float[Array, " bodies"]] = quantity(
        "inertia_factors",
        "",
        "inertia of each body over J",
        optional=True,
        kw_only=True,
        above=0.0,
    )
    stiffness_factors: OptionalQuantity[Float[Array, " beams"]] = quantity(
        "stiffness_factors",
        "",
        "stiffness of each beam over E J_b",
        optional=True,
        kw_only=True,
        above=0.0,
    )

    def __check_init__(self) -> None:
        if self.bodies < 3:
            raise ValueError(f"bodies = {self.bodies} is not in [3, inf)")
        if self.ends not in _ENDS:
            raise ValueError(unknown_key("ends", self.ends, _ENDS))
        shapes = {
            "mass_factors": self.bodies,
            "inertia_factors": self.bodies,
            "stiffness_factors": self.beams,
        }
        for name, size in shapes.items():
            value = getattr(self, name)
            if value is not None:
                check_shape(name, value, (size,))

    @classmethod
    def from_physical(
        cls,
        bodies: int,
        *,
        mass: Number,
        inertia: Number,
        length: Number,
        bending_stiffness: Number,
        ends: str = "periodic",
    ) -> "BeamChain":
        """Build the chain from the mass (kg) and inertia (kg m^2) of its bodies.

        **Raises:** `ValueError` naming an argument that is not positive.
        """
        for name, value, unit in (
            ("mass", mass, "kg"), ("inertia", inertia, "kg m^2"), ("length", length, "m")
        ):  # fmt: skip
            check_number(name, value, unit, Range(above=0.0))
        return cls(
            bodies, mass * length**2 / (6 * inertia), ends, mass=mass, length=length,
            bending_stiffness=bending_stiffness,
        )  # fmt: skip

    @property
    def beams(self) -> int:
        """The number of beams."""
        return self.bodies + _ENDS[self.ends]

    @property
    def uniform(self) -> bool:
        """Whether all bodies and all beams are equal."""
        factors = (self.mass_factors, self.inertia_factors, self.stiffness_factors)
        return all(factor is None for factor in factors)

    @property
    def frequency(self) -> Float[Array, ""]:
        r"""The unit of frequency, $\omega_1$, rad/s."""
        return jnp.sqrt(12 * self.bending_stiffness / (self.mass * self.length**3))

    @property
    def masses(self) -> Float[Array, " bodies"]:
        """The mass of each body, kg."""
        return self._per_element(self.mass, self.mass_factors, self.bodies)

    @property
    def inertias(self) -> Float[Array, " bodies"]:
        """The moment of inertia of each body, kg m^2."""
        inertia = self.mass * self.length**2 / (6 * self.gamma)
        return self._per_element(inertia, self.inertia_factors, self.bodies)

    @property
    def stiffnesses(self) -> Float[Array, " beams"]:
        """The bending stiffness of each beam, N m^2."""
        return self._per_element(self.bending_stiffness, self.stiffness_factors, self.beams)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, `0.y`, `0.angle`, `1.y` and so on."""
        names = [f"{i}.{motion}" for i in range(self.bodies) for motion in _MOTIONS]
        return tuple(names[i] for i in self.moving)

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The `names`, as locations of contacts and loads."""
        return self.names

    @property
    def moving(self) -> np.ndarray:
        """Positions of the degrees of freedom among (y_0, phi_0, y_1, phi_1, ...)."""
        every = np.arange(2 * self.bodies)
        return every if self.ends != "hinged" else np.delete(every, [0, -2])

    def beam_motion(self, field: Float[Array, "*n bodies"]) -> tuple[Array, Array]:
        """Return a field of the bodies at the left and right ends of each beam."""
        if self.ends == "periodic":
            return field, jnp.roll(field, -1, -1)
        if self.ends == "clamped":
            padding = [(0, 0)] * (field.ndim - 1) + [(1, 1)]
            field = jnp.pad(field, padding)
        return field[..., :-1], field[..., 1:]

    def strains(self, position: Float[Array, "*n 2 bodies"]) -> tuple[Array, Array]:
        r"""Return $d - l (p + q)/2$ (m) and $p - q$ (rad) of each beam.

        The potential energy is the sum of $\tfrac12 w_1 e_1^2 + \tfrac12 w_2 e_2^2$ with
        the weights $12 E J_b/l^3$ and $E J_b/l$.
        """
        left, right = self.beam_motion(position[..., 0, :])
        p, q = self.beam_motion(position[..., 1, :])
        return right - left - self.length * (p + q) / 2, p - q

    def strain_weights(self) -> tuple[Float[Array, " beams"], Float[Array, " beams"]]:
        """Return the weights of the strains, N/m and N m/rad."""
        stiffness = self.stiffnesses
        return 12 * stiffness / self.length**3, stiffness / self.length

    def forces(self, position: Float[Array, "2 bodies"]) -> Float[Array, "2 bodies"]:
        """Return the force (N) and the moment (N m) of the beams on each body."""
        sheared, bent = self.strains(position)
        weights = self.strain_weights()
        shear, moment = weights[0] * sheared, weights[1] * bent
        push = self.on_bodies(shear, -1.0)
        turn = self.length / 2 * self.on_bodies(shear, 1.0)
        turn = turn - self.on_bodies(moment, -1.0)
        if self.ends == "hinged":
            push = push.at[0].set(0.0).at[-1].set(0.0)
        return jnp.stack([push, turn])

    def energies(
        self, state: Real[ArrayLike, "... 4 bodies"] | Sequence[Any]
    ) -> ChainEnergies:
        """Return the energies of states; leading axes, such as times, are kept."""
        state = jnp.asarray(state)
        _check_state(self, state)
        rates = state[..., 2:, :] ** 2
        sheared, bent = self.strains(state[..., :2, :])
        weights = self.strain_weights()
        return ChainEnergies(
            jnp.sum(self._weighted(self.masses, rates[..., 0, :]), -1) / 2,
            jnp.sum(self._weighted(self.inertias, rates[..., 1, :]), -1) / 2,
            jnp.sum(
                self._weighted(weights[0], sheared**2)
                + self._weighted(weights[1], bent**2),
                -1,
            )
            / 2,
        )

    def bands(self, wave_numbers: Real[ArrayLike, "..."] | Sequence[Any]) -> Bands:
        r"""Return both branches of an infinite uniform chain at wave numbers $q$ (rad).

        $$W_1^2 + W_2^2 = 4 s^2 + 2 \gamma (3 - 2 s^2), \qquad
          W_1 W_2 = \sqrt{8 \gamma}\, s^2, \qquad s = \sin(q/2),$$

        in units of $\omega_1$; the group velocities are $d W / d q$.
        """
        wave_numbers = jnp.asarray(wave_numbers, float)
        flat = wave_numbers.reshape(-1)
        values, slopes = jax.vmap(
            lambda q: jax.jvp(self._branches, (q,), (jnp.ones_like(q),))
        )(flat)
        shaped = [x.reshape(wave_numbers.shape) for x in (*values, *slopes)]
        return Bands(*shaped)

    def waves(self, wave_numbers: Float[Array, " n"]) -> tuple[Array, Array, Array, Array]:
        r"""Return $\omega_1, \omega_2$ (rad/s) and $\cos\theta, \sin\theta$ of waves.

        In the mass-normalised coordinates $(\hat y, i l \hat\varphi/\sqrt{6\gamma})$
        the stiffness is real, and the upper branch is $(\cos\theta, \sin\theta)$.
        """
        difference, coupling = self._coupling(wave_numbers)
        # At gamma = 2 both branches meet at q = pi, where any direction is right.
        meets = (difference == 0) & (coupling == 0)
        angle = jnp.arctan2(coupling, jnp.where(meets, 1.0, difference)) / 2
        lower, upper = self._branches(wave_numbers)
        return lower, upper, jnp.cos(angle), jnp.sin(angle)

    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C) over the degrees of freedom `names`."""
        weights, rows = self.strain_rows()
        mass = self.diagonal_mass()
        size = mass.shape[0]
        stiffness = rows.T @ (weights[:, None] * rows)
        return jnp.diag(mass), jnp.zeros((size, size)), stiffness

    def diagonal_mass(self) -> Float[Array, " n"]:
        """Return the diagonal of the mass matrix over the degrees of freedom."""
        return jnp.stack([self.masses, self.inertias], -1).reshape(-1)[self.moving]

    def strain_rows(self) -> tuple[Float[Array, " s"], Float[Array, "s n"]]:
        """Return weights w and rows R with C = R^T diag(w) R.

        **Raises:** `ValueError` if dense matrices do not fit into the memory.
        """
        _check_dense(self.bodies)
        unit = jnp.eye(2 * self.bodies)[:, self.moving].T
        position = jnp.swapaxes(unit.reshape(-1, self.bodies, 2), 1, 2)
        rows = jnp.concatenate(self.strains(position), -1).T
        return jnp.concatenate(self.strain_weights()), rows

    def assembled(self) -> Assembled:
        """Return the same chain assembled from beam modules, masses and inertias."""
        names = [str(i) for i in range(self.bodies)]
        ends = {
            "periodic": [*names, names[0]],
            "clamped": [GROUND, *names, GROUND],
        }.get(self.ends, names)
        modules: list = []
        for name, mass, inertia in zip(names, self.masses, self.inertias, strict=True):
            modules.append(PointMass(f"{name}.y", mass))
            modules.append(PointInertia(f"{name}.angle", inertia))
        modules += [
            BeamModule(left, right, length=self.length, bending_stiffness=stiffness)
            for left, right, stiffness in zip(
                ends[:-1], ends[1:], self.stiffnesses, strict=True
            )
        ]
        return assemble(modules)

    def rest(self) -> Float[Array, "4 bodies"]:
        """Return the state at rest."""
        return jnp.zeros((4, self.bodies))

    def _coupling(self, q):
        # half the difference of the diagonal, and the coupling, in units of omega_1^2
        s, c = jnp.sin(q / 2), jnp.cos(q / 2)
        difference = 2 * s**2 - self.gamma * (3 - 2 * s**2)
        return difference, 2 * jnp.sqrt(6 * self.gamma) * s * c

    def _branches(self, q):
        squared = jnp.sin(q / 2) ** 2
        mean = 2 * squared + self.gamma * (3 - 2 * squared)
        difference, coupling = self._coupling(q)
        product = jnp.sqrt(8 * self.gamma) * squared
        # sqrt of (mean + radius), with a finite derivative where the branches meet
        square = difference**2 + coupling**2
        meets = square == 0
        radius = jnp.where(meets, 0.0, jnp.sqrt(jnp.where(meets, 1.0, square)))
        upper = jnp.sqrt(mean + radius)
        return self.frequency * product / upper, self.frequency * upper

    def on_bodies(self, value: Any, sign: float) -> Array:
        """Sum beam values at bodies: as left body, plus `sign` times as right body."""
        if self.ends == "periodic":
            return value + sign * jnp.roll(value, 1, -1)
        if self.ends == "clamped":
            return value[1:] + sign * value[:-1]
        return jnp.pad(value, (0, 1)) + sign * jnp.pad(value, (1, 0))

    @staticmethod
    def _per_element(value, factors, count):
        return jnp.broadcast_to(value, (count,)) if factors is None else value * factors

    @staticmethod
    def _weighted(weights, field):
        return weights.reshape((1,) * (field.ndim - 1) + weights.shape) * field


# end conditions, and the number of beams minus the number of bodies
_ENDS = {"periodic": 0, "free": -1, "clamped": 1, "hinged": -1}


def _check_dense(bodies: int) -> None:
    """Raise `ValueError` if dense matrices of so many bodies do not fit into memory."""
    available, each = memory(), 8.0 * (2 * bodies) ** 2
    if _MATRICES * each > available:
        most = int(np.sqrt(available / (8.0 * _MATRICES)) / 2)
        raise ValueError(
            f"bodies = {bodies}: each of its dense matrices has {size_text(each)}; "
            f"allowed: {most} or less in the memory of {size_text(available)}, or a "
            "function without dense matrices, as of a uniform periodic chain"
        )


def _check_state(chain, state) -> None:
    if state.shape[-2:] != (4, chain.bodies):
        raise ValueError(
            f"state has shape {state.shape}; allowed: (..., 4, {chain.bodies})"
        )
