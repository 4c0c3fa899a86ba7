"""Two-body modules: the pieces that planar systems are overlaid from."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._quantity import quantity


class ModuleMatrices(eqx.Module):
    """What a module adds to the rows and columns of its two bodies, (2, 2) each."""

    mass: Float[Array, "2 2"]
    damping: Float[Array, "2 2"]
    stiffness: Float[Array, "2 2"]


class TranslationTranslation(eqx.Module):
    r"""Two bodies that translate on one line, joined by a spring and a damper.

    $$m = \mathrm{diag}(m_i, m_j), \qquad c = \begin{bmatrix} k & -k \\ -k & k
      \end{bmatrix}, \qquad d = \begin{bmatrix} d & -d \\ -d & d \end{bmatrix}.$$

    The masses of a body add up over its modules. **Fields:** `first`, `second`: names
    of the bodies, `"ground"` is the fixed one; `mass` $m_j$ and `first_mass` $m_i$
    (kg), `stiffness` $k$ (N/m), `damping` $d$ (N s/m). **Raises:** `ValueError` naming
    a field out of its range. **Source:** Pavlov, Lilkova-Markova, Evlogiev and
    Ivanova, modules of planar discrete systems.
    """

    first: str = eqx.field(static=True)
    second: str = eqx.field(static=True)
    mass: Float[Array, ""] = quantity("mass", "kg", "mass of the second body", at_least=0.0)
    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N/m", "stiffness of the spring", at_least=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "N s/m", "damping of the damper", at_least=0.0
    )
    first_mass: Float[Array, ""] = quantity(
        "first_mass", "kg", "mass of the first body", at_least=0.0
    )

    def __init__(
        self, first, second, *, mass=0.0, stiffness=0.0, damping=0.0, first_mass=0.0
    ):
        self.first = first
        self.second = second
        self.mass = mass
        self.stiffness = stiffness
        self.damping = damping
        self.first_mass = first_mass

    @property
    def name(self) -> str:
        """The module's name on a parameter path: both of its bodies."""
        return f"{self.first}-{self.second}"

    def matrices(self) -> ModuleMatrices:
        """Return the module's mass, damping and stiffness matrices."""
        link = jnp.array([[1.0, -1.0], [-1.0, 1.0]])
        mass = jnp.diag(jnp.stack([self.first_mass, self.mass]))
        return ModuleMatrices(mass, self.damping * link, self.stiffness * link)


class TranslationRotation(eqx.Module):
    r"""A body that rotates by $\varphi$ about a hinge on a body that translates.

    $$m = \begin{bmatrix} m_i + m_j & m_j l_j/2 \\ m_j l_j/2 & J_O \end{bmatrix},
      \qquad c = \mathrm{diag}(0, k \pm m_j g l_j/2), \qquad
      d = \mathrm{diag}(0, d), \qquad J_O = J_C + m_j l_j^2/4,$$

    with $+$ for a hanging and $-$ for a standing body. $\varphi$ is absolute, positive
    when the mass centre (at $l_j/2$ from the hinge) moves along $+x$. **Fields:**
    `first`, `second`: names of the bodies; `mass` $m_j$, `first_mass` $m_i$ (kg),
    `length` $l_j$ (m), `stiffness` $k$ (N m/rad), `damping` $d$ (N m s/rad), `inertia`
    $J_C$ (kg m^2, a uniform rod's $m l^2/12$ if `None`), `gravity` (m/s^2),
    `standing`. **Raises:** `ValueError` naming a field out of its range. **Source:**
    Pavlov, Lilkova-Markova, Evlogiev and Ivanova.
    """

    first: str = eqx.field(static=True)
    second: str = eqx.field(static=True)
    mass: Float[Array, ""] = quantity("mass", "kg", "mass of the rotating body", above=0.0)
    length: Float[Array, ""] = quantity(
        "length", "m", "length of the rotating body", above=0.0
    )
    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N m/rad", "stiffness of the angular spring", at_least=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "N m s/rad", "damping of the angular damper", at_least=0.0
    )
    first_mass: Float[Array, ""] = quantity(
        "first_mass", "kg", "mass of the translating body", at_least=0.0
    )
    inertia: Float[Array, ""] | None = quantity(
        "inertia",
        "kg m^2",
        "moment of inertia about the mass centre",
        optional=True,
        at_least=0.0,
    )
    gravity: Float[Array, ""] = quantity(
        "gravity", "m/s^2", "acceleration of gravity", at_least=0.0
    )
    standing: bool = eqx.field(static=True)

    def __init__(
        self, first, second, *, mass, length, stiffness=0.0, damping=0.0,
        first_mass=0.0, inertia=None, gravity=9.81, standing=False,
    ):  # fmt: skip
        self.first = first
        self.second = second
        self.mass = mass
        self.length = length
        self.stiffness = stiffness
        self.damping = damping
        self.first_mass = first_mass
        self.inertia = inertia
        self.gravity = gravity
        self.standing = standing

    @property
    def name(self) -> str:
        """The module's name on a parameter path: both of its bodies."""
        return f"{self.first}-{self.second}"

    def matrices(self) -> ModuleMatrices:
        """Return the module's mass, damping and stiffness matrices."""
        arm = self.length / 2
        own = self.mass * self.length**2 / 12 if self.inertia is None else self.inertia
        moment = self.mass * arm
        about_hinge = own + moment * arm
        weight = self.gravity * moment
        turning = self.stiffness + (-weight if self.standing else weight)
        zero = jnp.zeros_like(moment)
        return ModuleMatrices(
            jnp.array([[self.first_mass + self.mass, moment], [moment, about_hinge]]),
            jnp.array([[zero, zero], [zero, self.damping]]),
            jnp.array([[zero, zero], [zero, turning]]),
        )
