"""Autonomous systems for `autonomous`: each in JAX, and in Fortran for AUTO-07p."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

_HEAD = """
      SUBROUTINE FUNC(NDIM,U,ICP,PAR,IJAC,F,DFDU,DFDP)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM, ICP(*), IJAC
      DOUBLE PRECISION, INTENT(IN) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(OUT) :: F(NDIM)
      DOUBLE PRECISION, INTENT(INOUT) :: DFDU(NDIM,NDIM), DFDP(NDIM,*)
      DOUBLE PRECISION P, X, Y, Z, B, D
      P = PAR(1)
      X = U(1)
      Y = U(2)
      IF (NDIM.GT.2) Z = U(3)
      IF (IJAC.GT.0) DFDU = 0D0
      IF (IJAC.GT.1) DFDP(:,1) = 0D0
"""
_MIDDLE = """
      END SUBROUTINE FUNC

      SUBROUTINE STPNT(NDIM,U,PAR,T)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM
      DOUBLE PRECISION, INTENT(INOUT) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(IN) :: T
"""
_TAIL = """
      END SUBROUTINE STPNT
"""


class Case(NamedTuple):
    """A field, a state at rest of it, the parameter it is followed in, and what to compare.

    `switches`: at which kinds of bifurcation a branch of cycles is left for the next one.
    `rates`, `start`: of AUTO, in Fortran; `constants`: its own, with the
    `largest_step` along cycles.
    """

    field: Callable
    parameters: dict[str, float]
    guess: list[float]
    path: str
    bounds: tuple[float, float]
    switches: list[str]
    rates: str
    start: str
    constants: dict[str, Any]
    largest_step: float

    @property
    def equations(self) -> str:
        """The field, its derivatives and where to start, as AUTO compiles them."""
        return _HEAD + self.rates + _MIDDLE + self.start + _TAIL


def van_der_pol(x, p):
    """Return the rates of x'' = (mu - x^2) x' - x, van der Pol's own form of 1920."""
    return jnp.stack([x[1], (p["mu"] - x[0] ** 2) * x[1] - x[0]])


def lorenz(x, p):
    """Return the rates of Lorenz's convection with sigma = 10, b = 8/3."""
    turn = p["r"] * x[0] - x[1] - x[0] * x[2]
    return jnp.stack([10 * (x[1] - x[0]), turn, x[0] * x[1] - 8 / 3 * x[2]])


def oscillator(x, p):
    """Return the rates of the electronic oscillator of AUTO's demo tor."""
    bent = 0.933578 * (x[1] - x[0]) ** 3
    first = -(0.5 + p["nu"]) * x[0] + 0.5 * x[1] - 0.328578 * x[0] ** 3 + bent
    second = 0.5 * x[0] - (0.5 - 0.6) * x[1] - x[2] - bent
    return jnp.stack([first / 0.6, second, x[1]])


def rossler(x, p):
    """Return the rates of Rossler's field with b = 2, c = 4."""
    return jnp.stack([-x[1] - x[2], x[0] + p["a"] * x[1], 2 + x[2] * (x[0] - 4)])


CASES = {
    "van der Pol": Case(
        van_der_pol, {"mu": -0.5}, [0.0, 0.0], "mu", (-1.0, 4.0), [],
        """
      F(1) = Y
      F(2) = (P - X**2)*Y - X
      IF (IJAC.EQ.0) RETURN
      DFDU(1,2) = 1D0
      DFDU(2,1) = -2D0*X*Y - 1D0
      DFDU(2,2) = P - X**2
      IF (IJAC.EQ.1) RETURN
      DFDP(2,1) = Y
        """,
        """
      PAR(1) = -0.5D0
      U = 0D0
        """,
        {"NDIM": 2, "DS": 1e-2, "DSMAX": 5e-2},
        2e-1,
    ),
    "Lorenz": Case(
        lorenz, {"r": 20.0}, [7.0, 7.0, 19.0], "r", (16.0, 30.0), [],
        """
      B = 8D0/3D0
      F(1) = 10D0*(Y - X)
      F(2) = P*X - Y - X*Z
      F(3) = X*Y - B*Z
      IF (IJAC.EQ.0) RETURN
      DFDU(1,1) = -10D0
      DFDU(1,2) = 10D0
      DFDU(2,1) = P - Z
      DFDU(2,2) = -1D0
      DFDU(2,3) = -X
      DFDU(3,1) = Y
      DFDU(3,2) = X
      DFDU(3,3) = -B
      IF (IJAC.EQ.1) RETURN
      DFDP(2,1) = X
        """,
        """
      PAR(1) = 20D0
      U(1:2) = SQRT(8D0/3D0*19D0)
      U(3) = 19D0
        """,
        {"NDIM": 3, "DS": 1e-1, "DSMAX": 5e-1},
        5e-1,
    ),
    "electronic oscillator": Case(
        oscillator, {"nu": -0.7}, [0.0, 0.0, 0.0], "nu", (-0.75, -0.57),
        ["branch_point"],
        """
      B = 0.933578D0
      D = 3D0*B*(Y - X)**2
      F(1) = (-(0.5D0 + P)*X + 0.5D0*Y - 0.328578D0*X**3 + B*(Y - X)**3)/0.6D0
      F(2) = 0.5D0*X - (0.5D0 - 0.6D0)*Y - Z - B*(Y - X)**3
      F(3) = Y
      IF (IJAC.EQ.0) RETURN
      DFDU(1,1) = (-(0.5D0 + P) - 3D0*0.328578D0*X**2 - D)/0.6D0
      DFDU(1,2) = (0.5D0 + D)/0.6D0
      DFDU(2,1) = 0.5D0 + D
      DFDU(2,2) = -(0.5D0 - 0.6D0) - D
      DFDU(2,3) = -1D0
      DFDU(3,2) = 1D0
      IF (IJAC.EQ.1) RETURN
      DFDP(1,1) = -X/0.6D0
        """,
        """
      PAR(1) = -0.7D0
      U = 0D0
        """,
        {"NDIM": 3, "DS": 1e-3, "DSMAX": 1e-2},
        1e-2,
    ),
    "Rossler": Case(
        rossler, {"a": 0.05}, [0.025, -0.5, 0.5], "a", (0.02, 0.386),
        ["period_doubling", "period_doubling", "period_doubling"],
        """
      F(1) = -Y - Z
      F(2) = X + P*Y
      F(3) = 2D0 + Z*(X - 4D0)
      IF (IJAC.EQ.0) RETURN
      DFDU(1,2) = -1D0
      DFDU(1,3) = -1D0
      DFDU(2,1) = 1D0
      DFDU(2,2) = P
      DFDU(3,1) = Z
      DFDU(3,3) = X - 4D0
      IF (IJAC.EQ.1) RETURN
      DFDP(2,1) = Y
        """,
        """
      PAR(1) = 0.05D0
      U(1) = (4D0 - SQRT(16D0 - 8D0*PAR(1)))/2D0
      U(3) = 2D0/(4D0 - U(1))
      U(2) = -U(3)
        """,
        {"NDIM": 3, "DS": 1e-2, "DSMAX": 2e-2},
        2e-1,
    ),
}  # fmt: skip
