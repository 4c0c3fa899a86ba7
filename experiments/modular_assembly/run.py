"""The paper on modules of planar systems: its symbolic example, and systems.

    python -m experiments.modular_assembly.run

The systems are the configs of this folder (`jaxvib run` runs a single one). Writes
`experiments/modular_assembly/results.json`; see README.md.
"""

import json
from pathlib import Path

import numpy as np
import sympy
from scipy.linalg import eigh

import jaxvib as jv
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load
from jaxvib.systems.modules.module import entries

HERE = Path(__file__).parent
SPRINGS = sympy.symbols("k01 k12 k23 k13 k03")
KNOWN = {
    "cart_and_rod": [4.68230877, 8.11143816],
    "masses_and_springs": (200 * np.sin(np.arange(1, 9) * np.pi / 18)).tolist(),
}


def built(name: str) -> jv.Assembled:
    """Return the system of one of the configs of this folder."""
    return build(load(HERE / f"{name}.toml"))


def in_symbols(system: jv.Assembled) -> sympy.Matrix:
    """Return the stiffness matrix of the example overlaid in symbols.

    The same energies as in numbers (`Module.potential`), each spring a symbol.
    """
    place = {"ground": 0} | {name: i + 1 for i, name in enumerate(("one", "two", "three"))}
    total = sympy.zeros(4)
    for module, spring in zip(system.modules, SPRINGS, strict=True):
        ((_, row),) = module.potential()
        exact = [sympy.nsimplify(coefficient) for coefficient in row]
        for (i, j), value in entries([(spring, exact)]).items():
            total[place[module.freedoms[i]], place[module.freedoms[j]]] += value
    return total[1:, 1:]


def example() -> dict:
    """Return how the overlay of the paper's example differs from its printed matrix."""
    system = built("three_bodies")
    k01, k12, k23, k13, k03 = SPRINGS
    paper = sympy.Matrix(
        [
            [k01 + k12 + k13, -k12, -k13],
            [-k12, k12 + k23, -k23],
            [-k13, -k23, k03 + k13 + k23],
        ]
    )
    symbols = in_symbols(system)
    place = [system.names.index(name) for name in ("one", "two", "three")]
    numbers = np.asarray(system.stiffness)[np.ix_(place, place)]
    expected = np.array(paper.subs(dict(zip(SPRINGS, (2, 3, 5, 7, 11), strict=True))))
    return {
        "stiffness in symbols": str(symbols.tolist()),
        "equals the paper's": bool(sympy.simplify(symbols - paper) == sympy.zeros(3)),
        "numbers, largest difference": float(
            np.abs(numbers - expected.astype(float)).max()
        ),
    }


def numbers(name: str) -> dict:
    """Return the frequencies of a config's system beside what is known, and energies."""
    system = built(name)
    found = np.asarray(jv.natural_frequencies(system))
    peer = eigh(system.stiffness, system.mass, eigvals_only=True)
    shares = jv.modes.energy_shares(system)
    known = KNOWN.get(name)
    return {
        "rad/s": found.tolist(),
        "difference to what is known": float(np.abs(found - known).max())
        if known
        else None,
        "difference to scipy": float(np.abs(found - np.sqrt(peer)).max()),
        "where the energy sits": [shares.describe(i) for i in range(len(found))],
    }


def main() -> None:
    """Compute, compare and write."""
    names = ("three_bodies", "cart_and_rod", "cart_and_standing_rod", "masses_and_springs")
    results = {**example(), "systems": {name: numbers(name) for name in names}}
    text = json.dumps(results, indent=1)
    (HERE / "results.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
