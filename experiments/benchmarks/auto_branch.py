"""Branch of the forced Duffing oscillator by AUTO-07p, used by `branches`.

AUTO needs an autonomous vector field, so that an oscillator with two more states
generates the load, as in AUTO's own demos of forced systems. `bifurcations.auto` runs
AUTO.
"""

import tempfile
from typing import Any

from experiments.bifurcations.auto import Auto

EQUATIONS = """
      SUBROUTINE FUNC(NDIM,U,ICP,PAR,IJAC,F,DFDU,DFDP)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM, ICP(*), IJAC
      DOUBLE PRECISION, INTENT(IN) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(OUT) :: F(NDIM)
      DOUBLE PRECISION, INTENT(INOUT) :: DFDU(NDIM,NDIM), DFDP(NDIM,*)
      DOUBLE PRECISION R
      R = U(3)**2 + U(4)**2
      F(1) = U(2)
      F(2) = PAR(2)*U(4) - 0.04D0*U(2) - U(1) - U(1)**3
      F(3) = U(3) + PAR(1)*U(4) - U(3)*R
      F(4) = -PAR(1)*U(3) + U(4) - U(4)*R
      END SUBROUTINE FUNC

      SUBROUTINE STPNT(NDIM,U,PAR,T)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM
      DOUBLE PRECISION, INTENT(INOUT) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(IN) :: T
      PAR(1) = 0.9D0
      PAR(2) = 0D0
      PAR(11) = 8*ATAN(1D0)/PAR(1)
      U(1:2) = 0D0
      U(3) = SIN(8*ATAN(1D0)*T)
      U(4) = COS(8*ATAN(1D0)*T)
      END SUBROUTINE STPNT
"""

COMMON: dict[str, Any] = {
    "NDIM": 4, "IPS": 2, "NCOL": 4, "IAD": 3, "ISW": 1, "IPLT": 1, "NBC": 0, "NINT": 0,
    "NPR": 0, "MXBF": 0, "IID": 2, "ITMX": 9, "ITNW": 7, "NWTN": 3, "JAC": 0,
    "EPSL": 1e-10, "EPSU": 1e-10, "EPSS": 1e-9, "DSMIN": 1e-7, "IADS": 1, "NPAR": 11,
}  # fmt: skip
# From no load to that of the branch, which is then followed in the frequency.
LOAD: dict[str, Any] = {
    "IRS": 0,
    "ILP": 0,
    "ISP": 0,
    "ICP": [2, 11],
    "NMX": 200,
    "DS": 2e-3,
}
LOAD |= {"DSMAX": 1e-2, "UZSTOP": {2: 0.015}}
BRANCH: dict[str, Any] = {"IRS": 2, "ILP": 1, "ISP": 2, "ICP": [1, 11], "NMX": 9999}
BRANCH |= {"UZSTOP": {1: 1.3}, "PAR": {2: 0.015}}


def branch(program: Auto, intervals: int, step: float) -> dict:
    """Return points, processor seconds and folds of the branch in steps of a size."""
    mesh = {"NTST": intervals}
    program.run(COMMON | LOAD | mesh)
    start = program.keep("loaded")
    steps = {"DS": step / 4, "DSMAX": step}
    seconds = program.run(COMMON | BRANCH | mesh | steps, start)
    points = program.points()
    folds = [point.parameter for point in points if point.kind == "fold"]
    return {"points": len(points), "seconds": seconds, "folds": folds}


def auto_rows(built: str, folds, step: float = 5e-4) -> list[dict]:
    """Return lines of the table: AUTO at meshes from coarse to fine."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = Auto(built, folder, EQUATIONS)
        for intervals in (5, 10, 20, 40, 100):
            found = branch(program, intervals, step)
            errors = [
                abs(ours - true) for ours, true in zip(found["folds"], folds, strict=True)
            ]
            rows.append(
                {
                    "branch": f"Duffing by AUTO-07p, NTST = {intervals}, NCOL = 4",
                    "branches": 1,
                    "points": found["points"],
                    "points per core-second": found["points"] / found["seconds"],
                    "error of the folds": float(max(errors)),
                }
            )
    return rows
