"""Backlash: two contacts with play between them."""

from collections.abc import Sequence

from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.quantity import Range, check_range, floats
from ..base.law import ContactLaw, LoadLaw
from .unilateral import Contact


def backlash(
    direction: Float[Array, " n"] | Sequence[float],
    play: Real[ArrayLike, ""],
    law: ContactLaw,
    name: str = "play",
    variation: LoadLaw | None = None,
) -> tuple[Contact, Contact]:
    r"""Return the two contacts of a `play` $b$ (m) along a direction $n$.

    $n^T q$ is free between $-b/2$ and $b/2$; beyond, a flank exerts the force of the
    `law` (gear backlash, bearing clearance, a loose bolt). With a `LinearContact` this
    is the piecewise linear spring with a dead zone. On parameter paths the flanks are
    `name-ahead` and `name-behind`; each has the `variation`, such as that of the mesh
    stiffness with the number of teeth in contact. **Raises:** `ValueError` unless
    `play` is 0 or more.

    >>> flanks = jv.backlash([1.0, -1.0], play=1e-3, law=jv.LinearContact(1e6))
    >>> [flank.name for flank in flanks]
    ['play-ahead', 'play-behind']
    """
    check_range("play", play, "m", Range(at_least=0.0))
    direction, half = floats("direction", direction), play / 2
    return (
        Contact(direction, half, law, f"{name}-ahead", variation),
        Contact(-direction, half, law, f"{name}-behind", variation),
    )
