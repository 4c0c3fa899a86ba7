"""Numbers printed by Pogorelova and Postnikova (2011), compared with our results.

    jaxvib run configs/vibro_impact_2011.toml
    python -m experiments.vibro_impact_2011.run results/vibro_impact_2011

Prints everything and writes it to `results.json` in this folder. Takes some minutes.
"""

import json
import sys
from pathlib import Path

from experiments.vibro_impact_2011.continuation import steps, without_transients
from experiments.vibro_impact_2011.damper import damper
from experiments.vibro_impact_2011.printed_state import printed_state
from tests.systems_table import RIGID, SOFT


def main(store: str) -> None:
    """Run all parts."""
    found = {
        "impact and non-impact damper": damper(Path(store)),
        "continuation, soft": steps(SOFT),
        "continuation, rigid": steps(RIGID),
        "no transients, soft": without_transients(SOFT),
        "printed state": printed_state(),
    }
    text = json.dumps(found, indent=1)
    print(text)
    Path(__file__).with_name("results.json").write_text(text + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
