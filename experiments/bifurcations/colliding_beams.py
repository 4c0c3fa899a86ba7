"""The backbone of two cantilevers that collide softly, as a picture.

    python -m experiments.bifurcations.colliding_beams [PICTURE]

The rig of Woiwode and Krack (2024), see `tests/branches/test_colliding_beams.py`: our
frequencies over the bending of the beam that touches, in gaps, of the model with its
published parameters. Of the measurements only what the paper prints is drawn: the linear
frequency, 28.2 Hz, and the range of those on the backbone, 0.99 to 1.03 times that. The
measured curves are in 13 GB of data, which are not used here. Writes
`docs/colliding_beams.svg`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from tests.branches.test_colliding_beams import LEFT, backbone, rig

LINEAR, RANGE = 28.2, np.array([0.99, 1.03])  # measured: Hz, and of it


def main(path: Path) -> None:
    """Draw the picture."""
    system, reach = rig()
    found = backbone(system, reach)
    bent = np.asarray(found.orbits.amplitude)[:, LEFT] / reach
    hertz = np.asarray(found.orbits.frequency) / (2 * np.pi)
    mpl.rcParams |= {"svg.hashsalt": path.name, "svg.fonttype": "none"}
    figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
    axes.plot(hertz, bent, label="jaxvib, published parameters")
    axes.axvline(LINEAR, color="0.4", linestyle="--", label="measured, linear")
    axes.axvspan(*LINEAR * RANGE, color="0.9", label="measured, 0.99 to 1.03 of it")
    axes.axhline(1.0, color="0.4", linewidth=0.8)
    axes.set(xlabel="frequency (Hz)", ylabel="bending, in gaps")
    axes.legend(loc="lower right", fontsize="small")
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    default = Path(__file__).parents[2] / "docs" / "colliding_beams.svg"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default)
