"""The example of the paper on beams with bodies, compared with our results.

    python -m experiments.beam_with_bodies.run

Runs `configs/beam_with_bodies.toml` over the mass of the three bodies and over the
stiffness of the first link (stores and reports in `results/beam_with_bodies_*`), and
writes `experiments/beam_with_bodies/results.json`. See README.md.
"""

import json
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np

import jaxvib as jv
from jaxvib.modes.beams.eigenvalue_curves import meetings, rows_of_curves
from tests.modes.beams.paper_determinant import (
    BENDING,
    LENGTH,
    LINK,
    MASS_PER_LENGTH,
    POSITIONS,
    paper_determinant,
)

HERE = Path(__file__).parent
ENDS = ("clamped", "free")
PRINTED = (-0.255 + 25.839j, -0.235 + 161.938j)
COMPARED_WITH = (-0.255 + 25.829j, -0.235 + 161.941j)


def study(name: str, *settings: str) -> Path:
    """Run the ready study with some settings; return its folder."""
    directory = Path("results", f"beam_with_bodies_{name}")
    words = [word for each in settings for word in ("--set", each)]
    command = [sys.executable, "-m", "jaxvib", "run", "beam_with_bodies", *words]
    subprocess.run([*command, "--out", str(directory)], check=True)
    return directory


def example(masses):
    beam = jv.Beam(LENGTH, MASS_PER_LENGTH, BENDING, ENDS)
    links = np.full(3, LINK)
    return jv.oscillators_on_beam(beam, POSITIONS, np.broadcast_to(masses, 3), links, links)


def rounds_to_print(mass: float) -> bool:
    values = np.asarray(jv.beam_eigenvalues(example(mass), count=5).values[3:])
    return bool(np.all(np.round(values, 3) == np.array(PRINTED)))


def masses_of_the_print() -> dict:
    """Return the range of three equal masses whose values round to the printed digits."""

    def edge(inside, outside):
        while abs(outside - inside) > 1e-5 * inside:
            middle = np.sqrt(inside * outside)
            if rounds_to_print(middle):
                inside = middle
            else:
                outside = middle
        return float(inside)

    return {"least_kg": edge(0.1, 0.01), "largest_kg": edge(0.1, 1.0)}


def along_the_mass(directory: Path) -> dict:
    """Return which masses of the study round to the print."""
    stored = jv.open_study(directory)
    masses, values = stored["mass.0.0"].values, stored["values"].values
    fits = np.all(np.round(values[:, 3:5], 3) == np.array(PRINTED), axis=1)
    return {
        "samples": len(masses),
        "certified": int(stored["certified"].values.sum()),
        "masses that round to the print, kg": [float(mass) for mass in masses[fits]],
    }


def over_the_stiffness(directory: Path) -> dict:
    """Return what meets along the study's curves, and its certificates."""
    stored = jv.open_study(directory)
    path = "link_stiffness.0"
    columns = {path: stored[path].values}
    slopes = {path: stored[f"slopes.{path}"].values}
    grid = {path: len(columns[path])}
    rows = rows_of_curves(columns, grid, stored["values"].values, slopes)
    found = [met for _, curves in rows for met in meetings(curves)]
    return {
        "samples": int(stored.sizes[path]),
        "certified": int(stored["certified"].values.sum()),
        "meetings": [
            {
                "kind": met.kind,
                "link_stiffness.0, N/m": float(
                    np.interp(met.place, np.arange(len(columns[path])), columns[path])
                ),
                "modulus, rad/s": float(met.modulus),
                "apart, rad/s": float(met.apart),
            }
            for met in found
        ],
    }


def against_the_paper_s_form(values) -> list[dict]:
    """Return the roots of the paper's determinant in 40 digits beside ours."""
    rows = []
    with mpmath.workdps(40):
        for value in values:
            ours = mpmath.mpc(complex(value))
            near = (ours * (1 + mpmath.mpf("1e-15")), ours)
            root = mpmath.findroot(paper_determinant, near, solver="secant", verify=False)
            apart = float(abs(root - ours) / abs(ours))
            theirs = _text(complex(root))
            rows.append(
                {"jaxvib": _text(value), "its determinant": theirs, "difference": apart}
            )
    return rows


def _text(value) -> str:
    return f"{complex(value):.10f}"


def main() -> None:
    """Run all parts."""
    modes = jv.beam_eigenvalues(example(0.1), radius=5000.0)
    values = np.asarray(modes.values)
    equal = ", ".join(f'"mass.{i}.{i}" = {{linspace = [0.09, 0.11, 21]}}' for i in range(3))
    masses = study("masses", f'sweep={{method = "paired", {equal}}}')
    found = {
        "printed": [_text(value) for value in PRINTED],
        "printed, what the paper compares with": [_text(v) for v in COMPARED_WITH],
        "three bodies of 0.1 kg, |lambda| < 5000 1/s": {
            "certified": bool(modes.certified),
            "largest backward error": float(np.max(modes.residuals)),
            "values": against_the_paper_s_form(values),
        },
        "three equal masses that round to every printed digit": masses_of_the_print(),
        "study over the masses": along_the_mass(masses),
        "study over the first link's stiffness": over_the_stiffness(study("stiffness")),
    }
    text = json.dumps(found, indent=1)
    print(text)
    (HERE / "results.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
