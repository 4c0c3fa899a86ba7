"""Curves of Hopf points and of folds of cycles compared with AUTO-07p.

    python -m experiments.bifurcations.curves [--auto DIR]

The field is that of AUTO's demo plp, a reaction held back by its own substrate. At s0 =
110 its equilibria have two Hopf points in rho, and the cycles between them two folds;
each is continued in rho and s0. Both programs end the curves at the same values of s0,
where rho is compared; AUTO prints eleven digits. `--auto DIR` (or AUTO_DIR) is the
folder of a built AUTO-07p, without which its numbers of the last run are kept. Writes
`curves.json`.
"""

import argparse
import json
import os
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from experiments.bifurcations import auto
from experiments.bifurcations.autonomous import AT_REST, COMMON, CYCLES
from experiments.machine import machine
from jaxvib.branches import continue_bifurcation

RESULT = Path(__file__).with_suffix(".json")
ENDS, RANGE = (109.0, 111.0), (1.5, 6.0)
NAMES = "first Hopf point", "last Hopf point", "lower fold", "upper fold"
EQUATIONS = """
      SUBROUTINE FUNC(NDIM,U,ICP,PAR,IJAC,F,DFDU,DFDP)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM, ICP(*), IJAC
      DOUBLE PRECISION, INTENT(IN) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(OUT) :: F(NDIM)
      DOUBLE PRECISION, INTENT(INOUT) :: DFDU(NDIM,NDIM), DFDP(NDIM,*)
      DOUBLE PRECISION D, R, RX, RY
      D = 1D0 + U(1) + 0.1D0*U(1)**2
      R = U(1)*U(2)/D
      F(1) = PAR(2) - U(1) - PAR(1)*R
      F(2) = 0.2D0*(500D0 - U(2)) - PAR(1)*R
      IF (IJAC.EQ.0) RETURN
      RX = U(2)*(1D0 - 0.1D0*U(1)**2)/D**2
      RY = U(1)/D
      DFDU(1,1) = -1D0 - PAR(1)*RX
      DFDU(1,2) = -PAR(1)*RY
      DFDU(2,1) = -PAR(1)*RX
      DFDU(2,2) = -0.2D0 - PAR(1)*RY
      IF (IJAC.EQ.1) RETURN
      DFDP(1,1) = -R
      DFDP(2,1) = -R
      DFDP(1,2) = 1D0
      DFDP(2,2) = 0D0
      END SUBROUTINE FUNC

      SUBROUTINE STPNT(NDIM,U,PAR,T)
      IMPLICIT NONE
      INTEGER, INTENT(IN) :: NDIM
      DOUBLE PRECISION, INTENT(INOUT) :: U(NDIM), PAR(*)
      DOUBLE PRECISION, INTENT(IN) :: T
      PAR(1) = 2.021628D0
      PAR(2) = 110D0
      U(1) = 45.55974D0
      U(2) = 177.7987D0
      END SUBROUTINE STPNT
"""
SETTINGS = COMMON | {"NDIM": 2, "DS": 0.01, "DSMAX": 0.5, "NTST": 100}


def field(x, p):
    """Return the rates of AUTO's demo plp."""
    rate = p["rho"] * x[0] * x[1] / (1 + x[0] + 0.1 * x[0] ** 2)
    return jnp.stack([p["s0"] - x[0] - rate, 0.2 * (500 - x[1]) - rate])


def ours() -> dict[str, list[list[float]]]:
    """Return s0 and rho where curves start and end, and where the cycles end."""
    parameters = {"rho": 2.021628, "s0": 110.0}
    system = jv.autonomous_system(field, parameters=parameters, dimension=2)
    rest = jv.equilibrium(system, [45.55974, 177.7987])
    first, last = jv.continue_equilibrium(system, rest, "rho", RANGE).bifurcations
    cycles = jv.switch_branch(system, last, RANGE)
    *folds, end = sorted(cycles.bifurcations, key=lambda point: point.kind != "fold")
    assert end.kind == "hopf"
    folds.sort(key=lambda fold: fold.parameter)
    points = dict(zip(NAMES, [first, last, *folds], strict=True))
    found = {name: _ends(system, point) for name, point in points.items()}
    return found | {"end of the cycles": [[110.0, float(end.parameter)]]}


def _ends(system, point) -> list[list[float]]:
    curve = continue_bifurcation(system, point, {"rho": (1.0, 8.0), "s0": ENDS})
    ends = sorted(np.asarray(curve.parameters)[[0, -1], ::-1].tolist())
    return [[110.0, float(point.parameter)], *ends]


def of_auto(built: str) -> dict[str, list[list[float]]]:
    """Return AUTO's numbers of the same."""
    with tempfile.TemporaryDirectory() as folder:
        program = auto.Auto(built, folder, EQUATIONS)
        settings = SETTINGS | {"UZSTOP": {1: list(RANGE)}}
        program.run(settings | AT_REST)
        hopf = [point for point in program.points() if point.kind == "hopf"]
        start = program.keep("at rest")
        program.run(settings | CYCLES | {"IRS": hopf[-1].label}, start)
        met = [point for point in program.points() if point.kind == "fold"]
        # At the first Hopf point AUTO goes back the way it came, and meets them again.
        folds = sorted(met[:2], key=lambda fold: fold.parameter)
        kept = program.keep("cycles")
        curve = SETTINGS | {"ISW": 2, "UZSTOP": {2: list(ENDS)}}
        found = {}
        for name, point in zip(NAMES, [*hopf, *folds], strict=True):
            if point.kind == "hopf":
                run = curve | AT_REST | {"ICP": [1, 2], "IRS": point.label}
                from_run = start
            else:  # a run of its own makes the starting data
                run = curve | CYCLES | {"ICP": [1, 2, 11], "IRS": point.label}
                program.run(run, kept)
                run |= {"IRS": int(program.rows()[-1][3])}
                from_run = program.keep("starting data")
            ends = []
            for side in (-1, 1):
                program.run(run | {"DS": side * SETTINGS["DS"]}, from_run)
                # The first parameter, the norm, two states, the second parameter.
                row = [float(number) for number in program.rows()[-1][4:9]]
                ends.append([row[4], row[0]])
            found[name] = [[110.0, point.parameter], *sorted(ends)]
    return found | {"end of the cycles": found[NAMES[0]][:1]}


def differences(told: dict, found: dict) -> dict[str, float]:
    """Return the largest difference of rho at the ends of each curve."""
    assert told.keys() == found.keys()
    return {
        name: float(np.abs(np.subtract(told[name], found[name])).max()) for name in told
    }


def main() -> None:
    """Follow the curves by both programs, print and store where they end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--auto", default=os.environ.get("AUTO_DIR"))
    built = parser.parse_args().auto
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    version = auto.versions(built) if built else stored["version"]
    told = of_auto(built) if built else stored["AUTO-07p"]
    found = ours()
    result = {"machine": machine(), "version": version, "AUTO-07p": told, "jaxvib": found}
    for name, apart in differences(told, found).items():
        print(f"{name:18} {told[name]}, largest difference {apart:.1e}")
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
