"""All numbers on designs, printed and written to `results.json` in this folder.

    python -m experiments.design.run [PART]...

Parts: studies, same_problem, damper, beam, first_design; all by default. About twenty
minutes.
"""

import json
import sys
from pathlib import Path

import jax

from experiments.design.beam import beam
from experiments.design.damper import damper
from experiments.design.first_design import cold
from experiments.design.same_problem import same_problem
from experiments.design.studies import studies

PARTS = {
    "first_design": cold,
    "studies": studies,
    "same_problem": same_problem,
    "damper": damper,
    "beam": beam,
}
FILE = Path(__file__).with_name("results.json")


def main(*names: str) -> None:
    """Run the parts that are named, and keep what is known of the others."""
    found = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in names or PARTS:
        found[name] = PARTS[name]()
        print(json.dumps({name: found[name]}, indent=1))
        if name == "first_design":
            seconds = found.setdefault("first_design, seconds by JAX version", {})
            seconds[jax.__version__] = {
                key: value
                for key, value in found[name].items()
                if "processor" in key or "seconds" in key
            }
        FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
