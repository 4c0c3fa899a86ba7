"""Checked against: the list of all operations in programs lowered for CPUs and GPUs."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches.equations.corrector import LaneData
from jaxvib.branches.equations.orbit_equations import orbit_corrector
from jaxvib.dynamics.flow import observe_with_monodromy
from jaxvib.foundation.arrays import partition_arrays
from jaxvib.orbits.shooting.motion_kernels import beginning_kernel, poincare_kernel
from tests.systems_table import MOTIONS, hard_stop, springs

bodies = jv.two_body_impact()
leaves, static = partition_arrays(bodies)
rest = np.asarray(bodies.rest())
settings = {"rtol": 1e-8, "grazing": 1e-9, "engine": "event"}
PTX = "__gpu$xla.gpu.ptx"
# What XLA computes of many lanes at once, without a library and without the host.
ELEMENTWISE = {
    "abs", "add", "and", "broadcast_in_dim", "compare", "complex", "concatenate",
    "constant", "convert", "divide", "dot_general", "imag", "iota", "maximum", "multiply",
    "or", "pad", "real", "reduce", "reshape", "select", "slice", "sqrt", "subtract",
    "transpose",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _launched(monkeypatch):
    monkeypatch.setenv("JAXVIB_GPU", "kernels")


def lanes(tree):
    return jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], 16, 0), tree)


def orbit(system, path):
    def run(value):
        lane = jv.replace(system, {path: value})
        return jv.periodic_orbit(lane, lane.rest(), throw=False)

    return run


def moved(frequency):
    lane = jv.replace(bodies, {"load.frequency": frequency})
    return jv.flow(lane, lane.rest(), 0.0, 1.0)


problem = LaneData(leaves, np.ones(5), 1e-8, 1e-9, 1e-10, np.int32(1))
FREQUENCIES = np.linspace(5.0, 8.0, 4096)
# Programs of many lanes, and how many launches they are.
PROGRAMS = {
    "orbits between stops": (
        orbit(hard_stop(0.7), "contacts.0.law.restitution"), np.linspace(0.5, 0.9, 4096), 4,
    ),
    "orbits of a field": (
        orbit(MOTIONS["Duffing"].system(), "cubic"), np.linspace(0.5, 1.5, 4096), 4,
    ),
    "flow": (moved, FREQUENCIES, 1),
    "sensitivities": (jax.jacfwd(moved), FREQUENCIES, 1),
    "diffrax": (
        lambda state: jv.flow(bodies, state, 0.0, 1.0, engine="diffrax"), lanes(rest), 1,
    ),
    "monodromy": (
        lambda x: observe_with_monodromy(bodies, x, 0.0, 1.0, **settings), lanes(rest), 1,
    ),
    "start of regimes": (beginning_kernel(static), lanes(leaves), 1),
    "transients": (poincare_kernel(static, 12, 8, "event"), lanes((leaves, rest)), 1),
    "branch corrector": (
        orbit_corrector(static, "load.amplitude", 5),
        lanes((problem, np.ones(5), np.ones(5))), 1,
    ),
}  # fmt: skip
QUICK = ("flow",)  # the others compile for 4 s and more


def calls_and_operations(function, arguments):
    """Return the custom calls and the names of all other operations."""
    lowered = jax.jit(jax.vmap(function)).trace(arguments)
    text = lowered.lower(lowering_platforms=("cpu", "cuda")).as_text()
    calls = re.findall(r"custom_call @([\w$.]+)", text)
    return calls, set(re.findall(r"stablehlo\.([a-z_]+)", text)) - {"custom_call"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in PROGRAMS],
)
def test_a_program_is_launches_and_elementwise_operations(name):
    function, arguments, launches = PROGRAMS[name]
    calls, operations = calls_and_operations(function, arguments)
    on_cpu = [call for call in calls if call.startswith("jaxvib_")]
    assert (len(on_cpu), calls.count(PTX)) == (launches, launches)
    assert len(calls) == 2 * launches
    # `case` selects the platform
    assert operations - ELEMENTWISE - {"case", "return"} == set()


def oscillator(scale):
    law = jv.RecordLoad([0.2, 0.5, 1.1, 1.4], [0.0, 2.0, -1.0, 0.0], scale=scale)
    one = jnp.ones(1)
    stop = jv.Contact(one, 0.2, jv.HertzContact(30.0))
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    return jv.ImpactSystem(linear, (stop,), (jv.AppliedLoad(one, law),))


def carrying_beam(stiffness):
    beam = jv.Beam(2.0, 1.5, 30.0, ends=("clamped", "free"))
    return jv.oscillators_on_beam(beam, [0.7], [0.4], [stiffness], [0.1])


chain = jv.BeamChain(bodies=6, gamma=1.0, ends="clamped")
BUILT = oscillator(1.0), carrying_beam(60.0), springs(15.0)
FACTORS = "cusolver_getrf_ffi", "cu_lu_pivots_to_permutation"
# Linear algebra outside kernels, of XLA's libraries for GPUs.
LIBRARIES = {
    "response": (
        lambda scale: jv.response(jv.replace(BUILT[0], {"loads.0.law.scale": scale}), 5.0),
        np.linspace(0.5, 1.5, 16), set(),
    ),
    "propagation in a chain": (
        lambda state: jv.propagate(chain, state, np.array([0.0, 0.7])),
        np.ones((16, 4, 6)), {"cusolver_gesvdj_ffi"},
    ),
    "spectra of beams": (
        lambda stiffness: jv.beam_eigenvalues(
            jv.replace(BUILT[1], {"link_stiffness.0": stiffness}), count=3
        ),
        np.linspace(50.0, 100.0, 16),
        {*FACTORS, "cusolver_potrf_ffi", "cusolver_syevd_ffi"},
    ),
    "frequencies of an assembly": (
        lambda k: jv.natural_frequencies(
            jv.replace(BUILT[2], {"modules.ground-a.stiffness": k})
        ),
        np.linspace(10.0, 20.0, 16), {"cusolver_potrf_ffi", "cusolver_gesvdj_ffi"},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_other_programs_wait_for_no_host(name):
    # cuhybrid_eig_real, the eigenvalues of general matrices, is computed on the host
    function, arguments, libraries = LIBRARIES[name]
    calls, _ = calls_and_operations(function, arguments)
    known = re.compile(r"jaxvib_|lapack_")
    assert {call for call in calls if not known.match(call)} - {PTX} == libraries
