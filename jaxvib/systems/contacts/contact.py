"""Contact laws: elastic contacts and hard stops."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily: .optimize takes 0.3 s
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.arrays import array_namespace
from ...foundation.quantity import Quantity, Range, check_range, quantity
from ..base.event_form import ContactForm
from ..base.law import ContactLaw

_POSITIVE = Range(above=0.0)
_POISSON = Range(above=-1.0, at_most=0.5)
_RATIO = Range(at_least=1e-100, at_most=1.0)


class HertzContact(ContactLaw):
    r"""Elastic contact of two smooth bodies.

    Bodies that penetrate each other by $z$ (m, negative while apart) repel each other
    with the force $F$ and store the energy $U$:

    $$F(z) = K \max(z, 0)^{3/2}, \qquad U(z) = \tfrac{2}{5} K \max(z, 0)^{5/2}.$$

    $F$ is $C^1$; its second derivative grows without bound as $z \to 0^+$ and is taken
    as 0 for $z \le 0$. Arrays of any shape are mapped elementwise.

    **Fields:** `stiffness`: $K > 0$, in N/m^1.5, a scalar.

    **Raises:** `ValueError` if `stiffness` is not a positive number.

    **Source:** Johnson, *Contact Mechanics* (1985), equation (4.23).

    >>> float(jv.HertzContact(stiffness=1e9).force(1e-4))
    1000.0
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m^1.5", "Hertz stiffness K of the contact", above=0.0
    )
    jumps = False

    @classmethod
    def from_materials(
        cls,
        youngs_moduli: tuple[Real[ArrayLike, ""], Real[ArrayLike, ""]],
        poissons_ratios: tuple[Real[ArrayLike, ""], Real[ArrayLike, ""]],
        curvature_sum: Real[ArrayLike, ""],
        shape_factor: Real[ArrayLike, ""] = 1 / np.pi,
    ) -> "HertzContact":
        r"""Build the contact of two bodies with moduli $E_i$ (Pa) and ratios $\mu_i$.

        $$K = \frac{4 q}{3 (\delta_1 + \delta_2) \sqrt{A + B}}, \qquad
          \delta_i = \frac{1 - \mu_i^2}{\pi E_i},$$

        with $A + B$ the `curvature_sum` (1/m) and $q$ the `shape_factor`. Two spheres
        have $A + B = 1/R_1 + 1/R_2$ and $q = 1/\pi$. An argument out of its range
        raises `ValueError`. **Source:** Pogorelova and Postnikova (2011).
        """
        compliance = 0.0
        for modulus, ratio in zip(youngs_moduli, poissons_ratios, strict=True):
            check_range("youngs_moduli", modulus, "Pa", _POSITIVE)
            check_range("poissons_ratios", ratio, "", _POISSON)
            compliance += (1 - ratio**2) / (np.pi * modulus)
        check_range("curvature_sum", curvature_sum, "1/m", _POSITIVE)
        check_range("shape_factor", shape_factor, "", _POSITIVE)
        root = array_namespace(curvature_sum).sqrt(curvature_sum)
        return cls(4 * shape_factor / (3 * compliance * root))

    @classmethod
    def from_curvatures(
        cls,
        youngs_moduli: tuple[Real[ArrayLike, ""], Real[ArrayLike, ""]],
        poissons_ratios: tuple[Real[ArrayLike, ""], Real[ArrayLike, ""]],
        curvatures: tuple[float, float],
    ) -> "HertzContact":
        r"""Build the contact of bodies that meet in an ellipse.

        The local gap is $A x^2 + B y^2$ with `curvatures` $0 < A \le B$ (1/m). The
        shape factor follows from complete elliptic integrals of the squared
        eccentricity $m$ of the contact ellipse:

        $$q = \tfrac12 \sqrt{\frac{E(m)}{(1-m) K(m)^3}}, \qquad
          \frac{A}{B} = \frac{K(m) - E(m)}{E(m)/(1-m) - K(m)}.$$

        An argument out of its range raises `ValueError`. **Source:** Johnson (1985),
        equations (4.26) to (4.32).
        """
        smaller, larger = curvatures
        check_range("curvatures", larger, "1/m", _POSITIVE)
        check_range("curvatures", smaller, "1/m", Range(above=0.0, at_most=larger))
        factor = shape_factor(smaller / larger)
        return cls.from_materials(youngs_moduli, poissons_ratios, smaller + larger, factor)

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(self.stiffness, hertz=True)

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        return self.stiffness * _positive_part_power(penetration, 1.5)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        return 0.4 * self.stiffness * _positive_part_power(penetration, 2.5)


class LinearContact(ContactLaw):
    r"""A linear elastic stop with the penetration $z$ (m).

    $$F(z) = k \max(z, 0), \qquad U(z) = \tfrac12 k \max(z, 0)^2.$$

    $F$ has a kink at $z = 0$, where its slope is taken as 0. Arrays of any shape are
    mapped elementwise. **Fields:** `stiffness`: $k > 0$, in N/m, a scalar.
    **Raises:** `ValueError` if `stiffness` is not a positive number.

    >>> float(jv.LinearContact(stiffness=1e6).force(1e-3))
    1000.0
    """

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m", "stiffness k of the stop", above=0.0
    )
    jumps = False

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(self.stiffness)

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        depth = jnp.asarray(penetration)
        return self.stiffness * jnp.where(depth > 0, depth, 0)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        return self.force(penetration) * penetration / 2


class RestitutionContact(ContactLaw):
    r"""A hard stop: instantaneous impacts with a coefficient of restitution.

    When the penetration $z = n^T q - g$ reaches 0 with $\dot z > 0$, an impulse $P$
    along the contact's direction changes the velocities of all bodies:

    $$\dot q^+ = \dot q^- + M^{-1} n P, \qquad
      P = -\frac{(1 + e)\, \dot z^-}{n^T M^{-1} n}, \qquad \dot z^+ = -e\, \dot z^-.$$

    Bodies never penetrate; accumulating impacts end in a persistent contact, until its
    normal force would become tensile. Requires the event-driven engine
    (`engine="event"`). `force` and `energy`, functions of a penetration, are 0.
    **Fields:** `restitution`: $e \in [0, 1]$, a scalar: 1 is elastic, 0 perfectly
    inelastic. **Raises:** `ValueError` if it is out of its range. **Source:**
    Brogliato, *Nonsmooth Mechanics* (2016), section 4.3.

    >>> stop = jv.Contact([0.0, 1.0], gap=0.01, law=jv.RestitutionContact(0.7))
    >>> float(stop.law.restitution)
    0.7
    """

    restitution: Float[Quantity, ""] = quantity(
        "restitution", "", "coefficient of restitution", at_least=0.0, at_most=1.0
    )
    jumps = False
    impulsive = True

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(None, restitution=self.restitution)

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return 0: the stop acts by impulses."""
        return jnp.zeros_like(jnp.asarray(penetration))

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return 0: the stop stores nothing."""
        return jnp.zeros_like(jnp.asarray(penetration))


def shape_factor(ratio: float) -> float:
    r"""Return q of `HertzContact.from_curvatures` for the ratio A/B, 1 for a circle.

    The differences of elliptic integrals in A/B cancel for a nearly circular contact;
    Carlson's integrals do not, with $c = 1 - m$: $A/B = R_D(0, c, 1) / R_D(0, 1, c)$.

    **Raises:** `ValueError` for a ratio out of its range. **Source:** DLMF 19.25.1.
    """
    check_range("ratio", ratio, "", _RATIO)
    special = scipy.special

    def excess(log_complement):
        c = np.exp(log_complement)
        along, across = special.elliprd(0, c, 1), special.elliprd(0, 1, c)
        return np.log(along / across) - np.log(ratio)

    lowest = np.log(1e-3 * _RATIO.at_least)
    c = np.exp(scipy.optimize.brentq(excess, lowest, 0.0, xtol=1e-15))
    return float(np.sqrt(special.ellipe(1 - c) / (c * special.ellipkm1(c) ** 3)) / 2)


def _positive_part_power(z, exponent):
    return _half_power(round(2 * exponent), z)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _half_power(halves, z):
    """Return z^(halves/2) where z > 0 and 0 elsewhere, for an odd number of halves."""
    # The inner `where` gives the root a harmless 1 while the bodies are apart; a square
    # root costs a tenth of a power.
    touching = z > 0
    safe = jnp.where(touching, z, 1)
    return jnp.where(touching, safe ** (halves // 2) * jnp.sqrt(safe), 0)


@_half_power.defjvp
def _half_power_jvp(halves, primals, tangents):
    # Each derivative is again a power, whereas the product rule applied to z sqrt(z)
    # gives z^-1.5 from the second derivative on, which overflows near onset.
    (z,), (dz,) = primals, tangents
    return _half_power(halves, z), halves / 2 * _half_power(halves - 2, z) * dz
