"""Hunt-Crossley contact: elastic contact with damping."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import OptionalQuantity, Quantity, Range, check_range, quantity
from ...foundation.suggestions import unknown_key
from ..base.event_form import ContactForm
from ..base.law import ContactLaw
from .contact import HertzContact
from .power import PowerContact

_HERTZ = 1.5  # the exponent of two smooth bodies
# Below it x - log(1 + x) is evaluated as a series, to avoid cancellation.
_SMALL, _TERMS = 0.2, 30
# Three to five steps reach rounding: c v from 1e-8 to 1e6, e from 1e-6 to 1 - 1e-6.
_NEWTON_STEPS = 12


class HuntCrossleyContact(ContactLaw):
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

    stiffness: Float[Quantity, ""] = quantity(
        "stiffness", "N/m^n", "stiffness K of the contact", above=0.0
    )
    damping: Float[Quantity, ""] = quantity(
        "damping", "s/m", "damping c of the contact", at_least=0.0
    )
    exponent: OptionalQuantity[Float[Array, ""]] = quantity(
        "exponent", "", "exponent n of the penetration", optional=True, at_least=1.0
    )
    jumps = False

    def __init__(
        self,
        stiffness: Real[ArrayLike, ""],
        damping: Real[ArrayLike, ""],
        exponent: Real[ArrayLike, ""] | None = _HERTZ,
    ):
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
    """Return e of `HuntCrossleyContact.restitution` from c v, elementwise; 1 below 0."""
    turn = jnp.asarray(turn, float)
    strong = turn >= 1
    near = _weakly_damped(jnp.where(strong | (turn < 0), 0.0, turn))
    forward = jnp.where(strong, turn, 1.0)
    far = -jnp.expm1(-_strongly_damped(forward)) / forward
    return jnp.where(strong, far, near)


# Each derivative is that of the implicit equation, and so are its own derivatives.
@jax.custom_jvp
def _weakly_damped(turn):
    """Return e for c v in [0, 1), from an equation that is regular at 0."""

    def step(_, ratio):
        miss, slope = _along(lambda ratio: _miss(ratio, turn), ratio)
        return ratio - miss / slope

    return jax.lax.fori_loop(0, _NEWTON_STEPS, step, 1 - turn / 3)


@_weakly_damped.defjvp
def _weakly_damped_jvp(primals, tangents):
    (turn,), (dturn,) = primals, tangents
    ratio = _weakly_damped(turn)
    _, of_turn = _along(lambda turn: _miss(ratio, turn), turn)
    _, of_ratio = _along(lambda ratio: _miss(ratio, turn), ratio)
    return ratio, -of_turn / of_ratio * dturn


def _miss(ratio, turn):
    """Return the difference of both sides of the equation for e, over (c v)^2."""
    return _excess(turn) - ratio**2 * _excess(-ratio * turn)


def _excess(x):
    """Return (x - log(1 + x)) / x^2, accurate also for small x."""
    small = jnp.abs(x) < _SMALL
    near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, x)
    series = jnp.zeros_like(near)
    for k in reversed(range(2, _TERMS)):
        series = series * near + (-1) ** k / k
    return jnp.where(small, series, (far - jnp.log1p(far)) / far**2)


@jax.custom_jvp
def _strongly_damped(turn):
    """Return w = -log(1 - c e v) for c v >= 1: 1 - c e v is below rounding."""
    target = turn - jnp.log1p(turn)

    # w - (1 - exp(-w)) is increasing and convex in w.
    def step(_, w):
        x = -jnp.expm1(-w)
        return w - (w - x - target) / x

    return jax.lax.fori_loop(0, _NEWTON_STEPS, step, jnp.sqrt(2 * target) + target)


@_strongly_damped.defjvp
def _strongly_damped_jvp(primals, tangents):
    (turn,), (dturn,) = primals, tangents
    w = _strongly_damped(turn)
    return w, turn / ((1 + turn) * -jnp.expm1(-w)) * dturn


def _along(function, x):
    """Return the value and the slope of a function that acts elementwise."""
    return jax.jvp(function, (x,), (jnp.ones_like(x),))


def _flores(ratio):
    return 8 * (1 - ratio) / (5 * ratio)


@jax.custom_jvp
def _exact(ratio):
    """Return c v for a coefficient of restitution."""
    # Monotone and convex in log(c v): Newton iterations from Flores' value converge.
    below = ratio < 1
    ratio = jnp.where(below, ratio, 0.5)
    turn = jnp.log(_flores(ratio))
    for _ in range(_NEWTON_STEPS):
        value, slope = _along(lambda turn: restitution_of(jnp.exp(turn)), turn)
        turn = turn - (value - ratio) / slope
    return jnp.where(below, jnp.exp(turn), 0.0)


@_exact.defjvp
def _exact_jvp(primals, tangents):
    (ratio,), (dratio,) = primals, tangents
    turn = _exact(ratio)
    _, slope = _along(restitution_of, turn)
    return turn, dratio / slope


# c v as a function of the coefficient of restitution.
_RULES = {
    "exact": _exact,
    "flores": _flores,
    "lankarani_nikravesh": lambda ratio: 3 * (1 - ratio**2) / 4,
}
