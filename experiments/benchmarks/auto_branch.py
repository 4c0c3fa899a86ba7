"""The forced Duffing oscillator's branch by AUTO-07p, for `branches` to stand beside ours.

AUTO-07p is free software of E. J. Doedel and others. It is looked for where the caller
says that it has been built; nothing of it is here. The equations and the constants are
ours, are written into a temporary folder and compiled there with gfortran -O2. AUTO
knows no time in the vector field, so an oscillator of two more states makes the load, as
in its own demonstrations of forced systems.
"""

import os
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

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
""" + "".join(
    f"      SUBROUTINE {name}\n      END SUBROUTINE {name}\n"
    for name in ("BCND", "ICND", "FOPT", "PVLS")
)  # fmt: skip

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
FOLD = ("5", "-5")


class Auto:
    """AUTO-07p with the Duffing oscillator compiled in, in a folder of its own."""

    def __init__(self, built: str, folder: str):
        self.folder = Path(folder)
        (self.folder / "duffing.f90").write_text(EQUATIONS)
        parts = [str(part) for part in sorted((Path(built) / "lib").glob("*.o"))]
        subprocess.run(
            ["gfortran", "-O2", "-fopenmp", "duffing.f90", *parts, "-o", "duffing"],
            cwd=self.folder, check=True,
        )  # fmt: skip

    def branch(self, intervals: int, step: float) -> dict:
        """Return points, processor seconds and folds of the branch in steps of a size."""
        mesh = {"NTST": intervals}
        self._run(COMMON | LOAD | mesh)
        shutil.move(self.folder / "fort.8", self.folder / "fort.3")
        seconds = self._run(COMMON | BRANCH | mesh | {"DS": step / 4, "DSMAX": step})
        lines = [line.split() for line in (self.folder / "fort.7").open()]
        points = [line for line in lines if line[0] != "0"]
        return {
            "points": len(points),
            "seconds": seconds,
            "folds": [float(line[4]) for line in points if line[2] in FOLD],
        }

    def _run(self, constants: dict) -> float:
        text = "".join(f"{name}={value}\n" for name, value in constants.items())
        (self.folder / "fort.2").write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["./duffing"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def auto_rows(built: str, folds, step: float = 5e-4) -> list[dict]:
    """Return lines of the table: AUTO at meshes from coarse to fine."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        auto = Auto(built, folder)
        for intervals in (5, 10, 20, 40, 100):
            found = auto.branch(intervals, step)
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
