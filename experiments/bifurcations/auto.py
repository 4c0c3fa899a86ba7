"""Runs AUTO-07p on jaxvib's equations, for comparison of branches.

AUTO-07p is free software of E. J. Doedel and others,
https://github.com/auto-07p/auto-07p. The caller gives the folder of a build
(`./configure && make`); nothing of it is in this repository. Equations and constants
are written to a temporary folder and compiled there with gfortran -O2.
"""

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

# What AUTO's numbers of types of points mean, for equilibria and for cycles.
KINDS = {
    1: "branch_point", 2: "fold", 3: "hopf", 5: "fold", 6: "branch_point",
    7: "period_doubling", 8: "neimark_sacker", -4: "cycle",
}  # fmt: skip
_EMPTY = "".join(
    f"      SUBROUTINE {name}\n      END SUBROUTINE {name}\n"
    for name in ("BCND", "ICND", "FOPT", "PVLS")
)


class Point(NamedTuple):
    """A point of a branch: what it is, its label, the parameter, the last of its numbers.

    That one is the period where AUTO was told to continue it beside the parameter.
    """

    kind: str
    label: int
    parameter: float
    last: float


class Auto:
    """AUTO-07p with a field compiled in, in a folder of its own."""

    def __init__(self, built: str | Path, folder: str | Path, equations: str):
        self.folder = Path(folder)
        (self.folder / "field.f90").write_text(equations + _EMPTY)
        parts = [str(part) for part in sorted((Path(built) / "lib").glob("*.o"))]
        subprocess.run(
            ["gfortran", "-O2", "-fopenmp", "field.f90", *parts, "-o", "field"],
            cwd=self.folder, check=True,
        )  # fmt: skip

    def run(self, constants: dict, start: str | None = None) -> float:
        """Return the processor seconds of a run; it begins at the labels of run `start`."""
        if start is not None:
            shutil.copy(self.folder / start, self.folder / "fort.3")
        text = "".join(f"{name}={value}\n" for name, value in constants.items())
        (self.folder / "fort.2").write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            ["./field"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def keep(self, name: str) -> str:
        """Keep the states of the last run for another to begin at; return their name."""
        shutil.move(self.folder / "fort.8", self.folder / name)
        return name

    def points(self) -> list[Point]:
        """Return all points of the last run's branches."""
        return [
            Point(
                KINDS.get(int(line[2]), ""), int(line[3]), float(line[4]), float(line[-1])
            )
            for line in self.rows()
        ]

    def rows(self) -> list[list[str]]:
        """Return what AUTO printed of the last run's points.

        Branch, number, kind, label, the first parameter, the norm, the states' largest
        values, and the other parameters.
        """
        lines = [line.split() for line in (self.folder / "fort.7").open()]
        return [line for line in lines if line[0] != "0"]


def versions(built: str | Path) -> dict[str, str]:
    """Return which AUTO-07p has been built there, and by which compiler."""
    compiler = _printed(["gfortran", "--version"]).splitlines()[0]
    changes = (Path(built) / "CHANGELOG").read_text()
    commit = _printed(["git", "-C", str(built), "rev-parse", "HEAD"])
    return {
        "AUTO-07p": changes.split(":")[0].strip(),
        "commit of AUTO-07p": commit.strip() or "not told",
        "gfortran": compiler,
    }


def _printed(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout
