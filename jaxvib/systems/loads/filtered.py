"""Filtered white noise: noise with a rational spectrum."""

from collections.abc import Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from ...foundation.quantity import Quantity, Range, check_number, quantity
from ...foundation.types import Number
from ..base.system_repr import SystemRepr
from .fourier import FourierLoad
from .noise import generator, harmonics_below


class FilteredNoise(SystemRepr):
    r"""White noise of one-sided density $S_0$ through a linear filter $H(s)$.

    $$S(\omega) = S_0 |H(i\omega)|^2, \qquad
      H(s) = \frac{\sum_k b_k s^k}{\sum_k a_k s^k},$$

    with the mean square $\int_0^\infty S\,d\omega$. **Fields:** `density` $S_0$ (N^2
    s/rad of forces, (m/s^2)^2 s/rad of base motions), `numerator` $b$, `denominator`
    $a$: both ascending in powers of s (s/rad for a unit), a with more terms.
    **Raises:** `ValueError` for a field out of its range, or an unstable filter.

    >>> noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    >>> print(noise.load(highest=60.0, duration=10.0, seed=1).force(0.3))
    1.8829
    """

    density: Float[Quantity, ""] = quantity(
        "density", "N^2 s/rad", "one-sided density of the white noise", at_least=0.0
    )
    numerator: Float[Quantity, " b"] = quantity("numerator", "", "filter numerator")
    denominator: Float[Quantity, " a"] = quantity("denominator", "", "filter denominator")

    def __check_init__(self) -> None:
        above, below = jnp.shape(self.numerator), jnp.shape(self.denominator)
        if len(above) != 1 or len(below) != 1 or not 0 < above[0] < below[0]:
            raise ValueError(
                f"numerator and denominator have shapes {above} and {below}; allowed: "
                "(b,) and (a,) with 0 < b < a"
            )
        if isinstance(self.denominator, jax.core.Tracer):
            return
        powers = np.asarray(self.denominator)
        roots = np.roots(powers[::-1])
        if powers[-1] == 0 or (roots.size and np.max(roots.real) >= 0):
            raise ValueError(
                f"denominator = {powers} has a root with a real part of "
                f"{np.max(roots.real, initial=-np.inf):g} rad/s; allowed: all below 0"
            )

    @classmethod
    def kanai_tajimi(
        cls, density: ArrayLike, frequency: ArrayLike, damping_ratio: ArrayLike
    ) -> "FilteredNoise":
        r"""Return Kanai-Tajimi noise: soil acceleration from white noise of bedrock.

        $H = (2 \zeta \omega_g s + \omega_g^2)/(s^2 + 2 \zeta \omega_g s + \omega_g^2)$
        with its `frequency` $\omega_g$ (rad/s) and `damping_ratio` $\zeta$. **Source:**
        Tajimi, *2nd World Conf. Earthquake Eng.* (1960).
        """
        square, loss = _second_order(frequency, damping_ratio)
        return cls(density, jnp.stack([square, loss]), _monic(square, loss))

    @classmethod
    def low_pass(
        cls, density: ArrayLike, frequency: ArrayLike, damping_ratio: ArrayLike
    ) -> "FilteredNoise":
        r"""Return low-pass noise, whose spectrum decays as $\omega^{-4}$.

        $H = \omega_f^2/(s^2 + 2 \zeta \omega_f s + \omega_f^2)$ with the `frequency`
        $\omega_f$ (rad/s) and the `damping_ratio` $\zeta$.
        """
        square, loss = _second_order(frequency, damping_ratio)
        return cls(density, square[None], _monic(square, loss))

    def spectrum(self, frequency: Number) -> Float[Array, "*n"]:
        """Return the one-sided density at angular frequencies, rad/s."""
        frequency = jnp.asarray(frequency, float)

        def squared(powers):
            even, odd = jnp.zeros_like(frequency), jnp.zeros_like(frequency)
            for k in reversed(range(powers.shape[0])):
                even, odd = powers[k] - frequency * odd, frequency * even
            return even**2 + odd**2

        return self.density * squared(self.numerator) / squared(self.denominator)

    def matrices(
        self,
    ) -> tuple[Float[Array, "n n"], Float[Array, " n"], Float[Array, " n"]]:
        r"""Return A, b, c of $\dot z = A z + b w$, $f = c^T z$; w has density $S_0$."""
        size = self.denominator.shape[0] - 1
        lead = self.denominator[-1]
        down = jnp.eye(size, k=1).at[-1].set(-self.denominator[:-1] / lead)
        push = jnp.zeros(size).at[-1].set(1 / lead)
        return down, push, jnp.zeros(size).at[: self.numerator.shape[0]].set(self.numerator)

    def load(self, highest: float, duration: float, seed: int) -> FourierLoad:
        """Return one realisation as a load, see `noise_of_density`."""
        return jax.tree.map(lambda leaf: leaf[0], self.loads(highest, duration, [seed]))

    def loads(self, highest: float, duration: float, seeds: Iterable) -> FourierLoad:
        r"""Return realisations as loads with a leading axis, one for each seed.

        Amplitudes are random too, $a_k, b_k \sim N(0, S(\omega_k) \Delta\omega)$, so
        that each realisation is Gaussian; otherwise as `noise_of_density`. A seed gives
        the same numbers regardless of the others. **Arguments:** `highest`: angular
        frequency, rad/s; `duration`: the period, s; `seeds`: whole numbers.
        """
        step, orders = harmonics_below(highest, duration)
        frequencies = step * orders
        spread = np.sqrt(np.asarray(self.spectrum(frequencies)) * step)
        if not np.size(seeds):
            raise ValueError("seeds is empty; allowed: one or more")
        drawn = np.stack([generator(seed).normal(size=(2, orders.size)) for seed in seeds])
        one = FourierLoad(step, spread, spread)
        wide = jax.tree.map(lambda x: jnp.repeat(x[None], len(drawn), axis=0), one)
        return eqx.tree_at(
            lambda load: (load.cosine, load.sine),
            wide,
            (jnp.asarray(drawn[:, 0] * spread), jnp.asarray(drawn[:, 1] * spread)),
        )


def _second_order(frequency, damping_ratio):
    check_number("frequency", frequency, "rad/s", Range(above=0.0))
    check_number("damping_ratio", damping_ratio, "", Range(above=0.0))
    frequency, ratio = jnp.asarray(frequency, float), jnp.asarray(damping_ratio, float)
    return frequency**2, 2 * ratio * frequency


def _monic(square, loss):
    return jnp.stack([square, loss, jnp.ones_like(square)])
