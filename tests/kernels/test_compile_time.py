"""Checked against: 10 core-seconds of tracing, printing and LLVM; differences of motions.

On a processor that takes more than 0.9 core-seconds to `import jax` it may be as much more.
"""

import itertools
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.events import motion_kernel
from jaxvib.dynamics.flow import solve_system
from jaxvib.dynamics.motion import Want
from jaxvib.dynamics.observables import init_observables
from jaxvib.kernels import kernel

MODULE = "tests.kernels.test_compile_time"
LIMIT, IMPORT = 10.0, 0.9  # core-seconds
LAWS = {
    "Hertz": jv.HertzContact(2e4),
    "Hunt-Crossley": jv.HuntCrossleyContact(2e4, 0.1),
    "Kelvin-Voigt": jv.KelvinVoigtContact(4e3, 3.0),
    "linear": jv.LinearContact(4e3),
    "hard": jv.RestitutionContact(0.6),
}
# Of all thirty-five, the longest to compile: of one kind, and of several kinds.
TRIPLES = [
    ("Hunt-Crossley", "Hunt-Crossley", "Hunt-Crossley"),
    ("Hunt-Crossley", "hard", "Kelvin-Voigt"),
]


def line_of(bodies: int, laws):
    """Return bodies in a line under a load, each in contact with the next."""
    names = "abcdef"[:bodies]
    linear = jv.assemble(
        [
            jv.TranslationTranslation(a, b, mass=1.0, stiffness=40.0, damping=0.2)
            for a, b in itertools.pairwise(["ground", *names])
        ]
    )
    contacts = tuple(
        jv.Contact(linear.direction({names[k]: 1.0, names[k + 1]: -1.0}), 0.01, LAWS[law])
        for k, law in enumerate(laws)
    )
    load = jv.AppliedLoad(linear.direction({"a": 1.0}), jv.HarmonicLoad(1.0, 4.0))
    return jv.ImpactSystem(linear, contacts, (load,))


def observed(system):
    """Return the function of a motion with its monodromy matrix and observables."""
    parameters, static = eqx.partition(system, eqx.is_inexact_array)
    state, number = np.zeros(system.rest().shape), np.float64(1.0)
    observables = init_observables(0.0, jnp.asarray(state), system.equation())
    settings = {"grazing": number * 1e-9, "observables": observables, "monodromy": True}
    want = Want(number * 1e-9, **settings)
    return motion_kernel(static), (state, parameters, number * 0, number, want)


def first_columns(laws) -> float:
    """Return the processor seconds of the first columns of six bodies in this process."""
    function, arguments = observed(line_of(6, laws))
    begin = time.process_time()
    found = function(*arguments)
    seconds = time.process_time() - begin
    assert int(found.result) == 0
    assert np.all(np.isfinite(found.monodromy))
    return seconds


def spent(script: str, folder) -> float:
    """Return the processor seconds of a process of its own, and what it has printed."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, env=environment,
        cwd=Path(__file__).parents[2], capture_output=True, text=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stdout:
        return float(done.stdout)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.slow
@pytest.mark.parametrize("laws", TRIPLES, ids=", ".join)
def test_six_freedoms_and_three_contacts_compile_in_ten_seconds(laws, tmp_path):
    compile_once = f"from {MODULE} import first_columns; print(first_columns({laws}))"
    unit, seconds, other = (
        spent(script, tmp_path) for script in ("import jax", compile_once, "import jax")
    )
    assert seconds < LIMIT * max(1.0, (unit + other) / 2 / IMPORT)


@pytest.mark.slow
def test_columns_of_six_freedoms_are_those_of_differences():
    system = line_of(6, ("Hertz", "hard", "Hunt-Crossley"))
    start = np.zeros(12)
    start[[0, 6, 8]] = 0.02, 0.7, -0.4

    def end(states):
        run = kernel(lambda y: solve_system(system, y, 0.0, 2.0, rtol=1e-12,
                                            engine="event").state)  # fmt: skip
        return run.map(states)

    step = 1e-8  # their error falls with its square, to 5e-8 here
    moved = end(np.concatenate([start + step * np.eye(12), start - step * np.eye(12)]))
    wanted = (moved[:12] - moved[12:]) / (2 * step)
    function, (_, parameters, *_, want) = observed(system)
    want = eqx.tree_at(lambda w: w.rtol, want, np.float64(1e-12))
    columns = function(start, parameters, np.float64(0.0), np.float64(2.0), want).monodromy
    np.testing.assert_allclose(columns.T, wanted, atol=1e-6 * np.max(np.abs(wanted)))
