"""A program's first launches on a GPU, in a process of their own.

    python -m jaxvib.kernels.gpu.device_trial FOLDER

`FOLDER/given` is a pickled `Trial`; `FOLDER/found` becomes a pickled `Outcome`, or
`FOLDER/error` the driver's name of an error, or XLA's, and its message.
"""

import pickle
import sys
from pathlib import Path

import jax
import numpy as np

from .device_check import XLA_FAILURE, Outcome, Trial
from .device_lanes import run_lanes
from .driver import DriverError, LoadedProgram, driver
from .ptx import DeviceProgram, launched

# Lanes are repeated until a GPU is full: until launches of so many seconds take longer
# with more lanes, of no more than this, in bytes of all their arguments too.
_LONG_ENOUGH, _MOST, _MOST_BYTES = 0.05, 1 << 16, 1 << 30
_TOO_LONG = 3.0  # s of a launch: four times the lanes might exceed the check's time
_TICK = 5e-7  # s, the resolution of a GPU's events
_MORE = 4  # times the lanes of the launch before


def _by_driver(trial: Trial) -> Outcome:
    arrays, lanes = trial.arrays, trial.arrays[0].shape[-1]
    device = driver().devices[trial.ordinal]
    program = LoadedProgram(trial.ptx, trial.signature, device)
    run_lanes([program], arrays)  # the first launch allocates
    results = run_lanes([program], arrays)
    seconds = max(program.seconds, _TICK)
    rate, times, repeated = lanes / seconds, _MORE, True
    size = max(1, sum(array.nbytes for array in arrays))  # arrays may be empty
    most = min(_MOST, _MOST_BYTES * lanes // size)
    full = False
    while not full and lanes * times <= most:
        before = program.seconds
        found = run_lanes([program], [np.repeat(array, times, -1) for array in arrays])
        repeated &= all(
            np.repeat(one, times, -1).tobytes() == many.tobytes()
            for one, many in zip(results, found, strict=True)
        )
        rate = max(rate, lanes * times / max(program.seconds, _TICK))
        times *= _MORE
        longer = program.seconds > _MORE / 2 * before
        full = program.seconds > (_LONG_ENOUGH if longer else _TOO_LONG)
    return Outcome(results, seconds, rate, repeated)


def _in_xla(trial: Trial) -> Outcome:
    program = DeviceProgram(trial.ptx, trial.signature)
    run = jax.jit(lambda *arrays: launched(program, arrays))
    there = jax.device_put(trial.arrays, jax.devices("cuda")[trial.ordinal])
    return Outcome([np.asarray(result) for result in run(*there)], 0.0, 0.0)


def main(folder: Path) -> None:
    """Make a trial."""
    trial = pickle.loads((folder / "given").read_bytes())
    try:
        outcome = (_in_xla if trial.in_xla else _by_driver)(trial)
    except (DriverError, RuntimeError) as error:
        by_xla = "" if "RESOURCE_EXHAUSTED" in str(error) else XLA_FAILURE
        name = error.name if isinstance(error, DriverError) else by_xla
        (folder / "error").write_text(f"{name}\n{error}", encoding="utf-8")
        return
    (folder / "found").write_bytes(pickle.dumps(outcome))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
