"""The paper on modules of planar systems: its example in symbols, and systems in numbers.

    python -m experiments.modular_assembly.run

Writes `experiments/modular_assembly/results.json`. The rest is stated in README.md.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import sympy
from scipy.linalg import eigh

import jaxvib as jv
from jaxvib.systems.module import entries

HERE = Path(__file__).parent


def example() -> list:
    """Return the paper's three bodies and five springs."""
    return [
        jv.TranslationTranslation("ground", "one", mass=1.0, stiffness=2.0),
        jv.TranslationTranslation("one", "two", mass=2.0, stiffness=3.0),
        jv.TranslationTranslation("two", "three", mass=3.0, stiffness=5.0),
        jv.TranslationTranslation("one", "three", stiffness=7.0),
        jv.TranslationTranslation("ground", "three", stiffness=11.0),
    ]


def in_symbols() -> sympy.Matrix:
    """Return the stiffness matrix of the example overlaid in symbols.

    The same energies as in numbers (`Module.potential`), each spring a symbol.
    """
    springs = sympy.symbols("k01 k12 k23 k13 k03")
    place = {"ground": 0, "one": 1, "two": 2, "three": 3}
    total = sympy.zeros(4)
    for module, spring in zip(example(), springs, strict=True):
        ((_, row),) = module.potential()
        exact = [sympy.nsimplify(coefficient) for coefficient in row]
        for (i, j), value in entries([(spring, exact)]).items():
            total[place[module.freedoms[i]], place[module.freedoms[j]]] += value
    return total[1:, 1:]


def named_systems() -> dict:
    """Return systems of the paper's modules with what is known of them, rad/s."""
    rod = {"mass": 1.0, "length": 0.8, "stiffness": 3.0, "gravity": 9.81}
    cart = jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0)
    names = ["ground", *(str(i) for i in range(1, 9)), "ground"]
    row = [
        jv.TranslationTranslation(a, b, mass=10.0 if b != "ground" else 0.0, stiffness=1e5)
        for a, b in itertools.pairwise(names)
    ]
    closed = 200 * np.sin(np.arange(1, 9) * np.pi / 18)
    return {
        "cart and hanging rod (design note)": (
            [cart, jv.TranslationRotation("cart", "rod", **rod)],
            [4.68230877, 8.11143816],
        ),
        "cart and standing rod (stiffer spring)": (
            [
                cart,
                jv.TranslationRotation("cart", "rod", **rod | {"stiffness": 30.0},
                                       standing=True),
            ],
            None,
        ),
        "8 masses and 9 springs (VPCS SDLD02, closed form)": (row, closed.tolist()),
    }  # fmt: skip


def main() -> None:
    """Compute, compare and write."""
    symbols = in_symbols()
    k01, k12, k23, k13, k03 = sympy.symbols("k01 k12 k23 k13 k03")
    paper = sympy.Matrix(
        [
            [k01 + k12 + k13, -k12, -k13],
            [-k12, k12 + k23, -k23],
            [-k13, -k23, k03 + k13 + k23],
        ]
    )
    system = jv.assemble(example())
    place = [system.names.index(name) for name in ("one", "two", "three")]
    numbers = np.asarray(system.stiffness)[np.ix_(place, place)]
    given = dict(zip((k01, k12, k23, k13, k03), (2, 3, 5, 7, 11), strict=True))
    expected = np.array(paper.subs(given).tolist(), float)
    results = {
        "stiffness in symbols": str(symbols.tolist()),
        "equals the paper's": bool(sympy.simplify(symbols - paper) == sympy.zeros(3)),
        "numbers, largest difference": float(np.abs(numbers - expected).max()),
        "systems": {},
    }
    for name, (modules, known) in named_systems().items():
        assembled = jv.assemble(modules)
        found = np.asarray(jv.natural_frequencies(assembled))
        peer = eigh(assembled.stiffness, assembled.mass, eigvals_only=True)
        shares = jv.energy_shares(assembled)
        results["systems"][name] = {
            "rad/s": found.tolist(),
            "difference to what is known": None
            if known is None
            else float(np.abs(found - known).max()),
            "difference to scipy": float(np.abs(found - np.sqrt(peer)).max()),
            "where the energy sits": [shares.describe(i) for i in range(len(found))],
        }
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
