"""Autonomous systems compared with AUTO-07p: Hopf points, cycles, folds, flips, tori.

    python -m experiments.bifurcations.autonomous [--auto DIR]

Each system is continued automatically from a state at rest: equilibria to their Hopf
point, the cycles from there, and the branches from their bifurcations. jaxvib and AUTO
do the same with the same equations, written twice. The AUTO points nearest to ours are
used; AUTO prints eleven digits. `--auto DIR` (or AUTO_DIR) is the folder of a built
AUTO-07p. Without it a message is printed and AUTO's numbers of the last run are kept.
Writes `autonomous.json`.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import jax

import jaxvib as jv
from experiments.bifurcations import auto
from experiments.bifurcations.fields import CASES, Case
from experiments.machine import machine

RESULT = Path(__file__).with_suffix(".json")
# Meshes so fine that what is left is the rounding of what AUTO prints.
COMMON: dict[str, Any] = {
    "IRS": 0, "ISW": 1, "ICP": [1], "NTST": 200, "NCOL": 5, "IAD": 3, "IPLT": 0, "NBC": 0,
    "NINT": 0, "NMX": 3000, "NPR": 0, "MXBF": 0, "IID": 2, "ITMX": 20, "ITNW": 9,
    "NWTN": 3, "JAC": 1, "EPSL": 1e-11, "EPSU": 1e-11, "EPSS": 1e-9, "DSMIN": 1e-8,
    "IADS": 1, "NPAR": 11, "THL": {11: 0.0},
}  # fmt: skip
AT_REST = {"IPS": 1, "ILP": 1, "ISP": 2}
CYCLES = {"IPS": 2, "ILP": 1, "ISP": 2, "ICP": [1, 11]}
# A branch point of cycles that AUTO passes over in silence is found so, to about 1e-8.
LOOSE = {"NTST": 100, "NCOL": 4, "IAD": 0, "EPSS": 1e-7}


def ours(case: Case) -> list[dict]:
    """Return where cycles end and all bifurcations that jaxvib meets, branch by branch."""
    system = jv.autonomous_system(
        case.field, parameters=case.parameters, dimension=len(case.guess)
    )
    rest = jv.equilibrium(system, case.guess)
    branch = jv.continue_equilibrium(system, rest, case.path, case.bounds)
    rows = [_row("equilibria", found.kind, found) for found in branch.bifurcations]
    for name, kind in zip(_names(case), ["hopf", *case.switches], strict=True):
        point = next(found for found in branch.bifurcations if found.kind == kind)
        branch = jv.switch_branch(system, point, case.bounds)
        rows += [_row(name, found.kind, found) for found in branch.bifurcations]
        for end in (0, -1):
            if branch.ends[end] == jv.Reason.PARAMETER_BOUND:
                last = jax.tree.map(lambda leaf, end=end: leaf[end], branch.cycles)
                rows.append(_row(name, "cycle", last, branch.parameter[end]))
    return rows


def _names(case: Case) -> list[str]:
    return ["cycles", *(f"cycles, switched {i + 1}" for i in range(len(case.switches)))]


def _row(branch: str, kind: str, found, parameter=None) -> dict:
    parameter = float(found.parameter if parameter is None else parameter)
    row = {"branch": branch, "kind": kind, "parameter": parameter}
    return row if branch == "equilibria" else row | {"period": float(found.period)}


def of_auto(case: Case, built: str) -> list[dict]:
    """Return what AUTO meets on the same branches."""
    settings = COMMON | case.constants | {"UZSTOP": {1: list(case.bounds)}}
    with tempfile.TemporaryDirectory() as folder:
        program = auto.Auto(built, folder, case.equations)
        program.run(settings | AT_REST)
        points, start = program.points(), program.keep("at rest")
        rows = [_told("equilibria", point) for point in points if point.kind == "hopf"]
        settings |= CYCLES | {"DSMAX": case.largest_step}
        kinds = ["hopf", *case.switches]
        for name, kind, then in zip(_names(case), kinds, [*case.switches, ""], strict=True):
            label = next(point.label for point in points if point.kind == kind)
            way = 1 if kind == "hopf" else -1
            run = settings | {"IRS": label, "ISW": way}
            program.run(run, start)
            points, kept = program.points(), program.keep(name)
            rows += [_told(name, point) for point in points if point.kind]
            if then and all(point.kind != then for point in points):
                program.run(run | LOOSE, start)
                points, kept = program.points(), program.keep(f"{name}, loose")
                rows += [_told(name, point) for point in points if point.kind == then]
            start = kept
    return rows


def _told(branch: str, point: auto.Point) -> dict:
    row = {"branch": branch, "kind": point.kind, "parameter": point.parameter}
    return row if branch == "equilibria" else row | {"period": point.last}


def beside(told: list[dict], found: list[dict]):
    """Yield each of AUTO's rows with ours of its branch and kind, in their order."""
    left = list(found)
    for theirs in told:
        alike = [mine for mine in left if _what(mine) == _what(theirs)]
        mine = min(alike, key=lambda mine: abs(difference(theirs, mine)), default=None)
        if mine is None:
            raise RuntimeError(f"AUTO has {theirs}; jaxvib met none on its own")
        left.remove(mine)
        yield theirs, mine
    if left:
        raise RuntimeError(f"jaxvib has {left}; AUTO met none on its own")


def _what(row: dict) -> tuple[str, str]:
    return row["branch"], row["kind"]


def difference(theirs: dict, mine: dict, number: str = "parameter") -> float:
    """Return ours minus theirs of one number."""
    return mine[number] - theirs[number]


def _line(theirs: dict, mine: dict) -> str:
    told = f"{theirs['branch']:20} {theirs['kind']:16} {theirs['parameter']:<16.11g}"
    told += f" {difference(theirs, mine):+9.1e}"
    if "period" in theirs:
        told += f"   {theirs['period']:<14.11g} {difference(theirs, mine, 'period'):+9.1e}"
    return told


def main() -> None:
    """Follow all fields by both programs, print and store what they find."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--auto", default=os.environ.get("AUTO_DIR"))
    built = parser.parse_args().auto
    stored = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    result = {"machine": machine(), "AUTO-07p": stored.get("AUTO-07p"), "fields": {}}
    if built:
        result["AUTO-07p"] = auto.versions(built)
    else:
        print("AUTO-07p: not run (--auto DIR names where it has been built); its numbers "
              "are those of the last run")  # fmt: skip
    for name, case in CASES.items():
        before = stored.get("fields", {}).get(name, {})
        told = of_auto(case, built) if built else before["AUTO-07p"]
        began = time.process_time()
        found = ours(case)
        seconds = round(time.process_time() - began, 1)
        rows = {"AUTO-07p": told, "jaxvib": found, "core-seconds of jaxvib": seconds}
        result["fields"][name] = rows
        for theirs, mine in beside(told, found):
            print(f"{name:22} {_line(theirs, mine)}")
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
