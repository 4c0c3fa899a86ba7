"""Hunt-Crossley contact: elastic contact with damping."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import Range, check_range, quantity
from ...foundation.suggestions import unknown_key
from ..contact import HertzContact
from ..event_form import ContactForm
from ..system_repr import SystemRepr
from .power import PowerContact

_HERTZ = 1.5  # the exponent of two smooth bodies
# Below it x - log(1 + x) is evaluated as a series, to avoid cancellation.
_SMALL, _TERMS = 0.2, 30
# Three to five steps reach rounding: c v from 1e-8 to 1e6, e from 1e-6 to 1 - 1e-6.
_NEWTON_STEPS = 12


class HuntCrossleyContact(SystemRepr):
    r"""Contact of two smooth bodies with dissipation.

    Bodies that penetrate each other by $z$ (m) at the rate $\dot z$ (m/s) repel each
    other with

    $$F(z, \dot z) = K \max(z, 0)^n \max(1 + c \dot z, 0),$$

    which is 0 at onset and at separation, and never tensile. The stored energy is that
    of $c = 0$. Arrays of any shape are mapped elementwise.

    **Fields:** `stiffness`: $K > 0$, in N/m^n; `damping`: $c \ge 0$, in s/m; `exponent`:
    $n \ge 1$, all scalars. An exponent of 1.5, given as a plain number, is Hertz's: it
    is stored as None and is not a parameter, and the motion is smooth in $\sqrt z$, as
    `engine="event"` requires. **Raises:** `ValueError` naming a field out of its range.

    **Source:** Hunt and Crossley, *J. Applied Mechanics* 42 (1975) 440.

    >>> law = jv.HuntCrossleyContact(1e9, damping=0.5)
    >>> float(law.force(1e-4, 0.2))
    1100.0
    """

    stiffness: Float[Array, ""] = quantity(
        "stiffness", "N/m^n", "stiffness K of the contact", above=0.0
    )
    damping: Float[Array, ""] = quantity(
        "damping", "s/m", "damping c of the contact", at_least=0.0
    )
    exponent: Float[Array, ""] | None = quantity(
        "exponent", "", "exponent n of the penetration", optional=True, at_least=1.0
    )
    jumps = False

    def __init__(self, stiffness, damping, exponent=_HERTZ):
        usual = exponent is None or (
            isinstance(exponent, int | float) and exponent == _HERTZ
        )
        self.stiffness, self.damping = stiffness, damping
        self.exponent = None if usual else exponent

    @classmethod
    def with_restitution(
        cls,
        stiffness: Real[ArrayLike, ""],
        restitution: Real[ArrayLike, ""],
        speed: Real[ArrayLike, ""],
        exponent: Real[ArrayLike, ""] = _HERTZ,
        rule: str = "exact",
    ) -> "HuntCrossleyContact":
        r"""Build the law from a coefficient of restitution $e$ at an impact speed $v$.

        `rule`: "exact", the root $c$ of the equation in `restitution`; or approximate:
        "flores", $c = 8 (1 - e) / (5 e v)$, good for soft bodies too, and
        "lankarani_nikravesh", $c = 3 (1 - e^2) / (4 v)$, good for $e$ near 1.
        **Raises:** `ValueError` for a number out of its range or an unknown rule.

        **Source:** Flores, Machado, Silva and Martins, *Multibody System Dynamics* 25
        (2011) 357; Lankarani and Nikravesh, *J. Mechanical Design* 112 (1990) 369.
        """
        check_range("restitution", restitution, "", Range(above=0.0, at_most=1.0))
        check_range("speed", speed, "m/s", Range(above=0.0))
        if rule not in _RULES:
            raise ValueError(unknown_key("rule", rule, _RULES))
        turn = _RULES[rule](jnp.asarray(restitution, float))
        return cls(stiffness, turn / speed, exponent)

    def restitution(self, speed: Real[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        r"""Return the coefficient of restitution $e$ of a free impact at a speed $v$, m/s.

        During contact $\dot z/c - \ln(1 + c \dot z)/c^2 + U(z)/m$ is conserved, so
        that, for any masses, stiffness and exponent,

        $$-c e v - \ln(1 - c e v) = c v - \ln(1 + c v).$$
        """
        return restitution_of(self.damping * jnp.asarray(speed, float))

    @property
    def has_event_form(self) -> bool:
        """Whether the exponent is Hertz's."""
        return self.exponent is None

    def event_form(self) -> ContactForm:
        """Return the form of the force for event-driven integration."""
        return ContactForm(self.stiffness, hertz=True, damping=self.damping)

    def release_rate(self) -> Float[Array, ""]:
        """Return the rate, m/s, below which the force is 0: its slope jumps there."""
        return -1 / jnp.maximum(self.damping, jnp.finfo(float).tiny)

    def force(
        self, penetration: Float[ArrayLike, "*n"], rate: Float[ArrayLike, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m, and its rate, m/s."""
        factor = 1 + self.damping * jnp.asarray(rate)
        return self._elastic().force(penetration) * jnp.where(factor > 0, factor, 0)

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        return self._elastic().energy(penetration)

    def _elastic(self) -> HertzContact | PowerContact:
        if self.exponent is None:
            return HertzContact(self.stiffness)
        return PowerContact(self.stiffness, self.exponent)


def restitution_of(turn: ArrayLike) -> Array:
    """Return e of `HuntCrossleyContact.restitution` from c v, elementwise."""
    turn = jnp.asarray(turn, float)
    moving = turn > 0
    forward = jnp.where(moving, turn, 1.0)
    target = _excess(forward)

    # x = c e v = 1 - exp(-w): w - (1 - exp(-w)) is increasing and convex in w.
    def step(w, target):
        x = -jnp.expm1(-w)
        value = jnp.where(x < _SMALL, _excess(-x), w - x)
        return w - (value - target) / x

    fixed = jax.lax.stop_gradient(target)
    start = jnp.sqrt(2 * fixed) + fixed
    root = jax.lax.fori_loop(0, _NEWTON_STEPS, lambda _, w: step(w, fixed), start)
    # One more Newton step carries the derivatives of the implicit equation.
    back = -jnp.expm1(-step(root, target))
    return jnp.where(moving, back / forward, 1.0)


def _excess(x):
    """Return x - log(1 + x), accurate also for small x."""
    small = jnp.abs(x) < _SMALL
    near = jnp.where(small, x, 0.0)
    series = jnp.zeros_like(near)
    for k in reversed(range(2, _TERMS)):
        series = series * near + (-1) ** k / k
    return jnp.where(small, series * near**2, x - jnp.log1p(jnp.where(small, 0.0, x)))


def _flores(ratio):
    return 8 * (1 - ratio) / (5 * ratio)


def _exact(ratio):
    """Return c v for a coefficient of restitution."""
    # Monotone and convex in log(c v): Newton iterations from Flores' value converge.
    turn = jnp.log(_flores(ratio))

    def miss(turn):
        return restitution_of(jnp.exp(turn)) - ratio

    for _ in range(_NEWTON_STEPS):
        value, slope = jax.jvp(miss, (turn,), (jnp.ones_like(turn),))
        turn = turn - value / slope
    return jnp.where(ratio < 1, jnp.exp(turn), 0.0)


# c v as a function of the coefficient of restitution.
_RULES = {
    "exact": _exact,
    "flores": _flores,
    "lankarani_nikravesh": lambda ratio: 3 * (1 - ratio**2) / 4,
}
