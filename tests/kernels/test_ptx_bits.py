"""Checked against: the bits of the CPU's kernels, with emulated programs of a GPU."""

import contextlib
import importlib

import jax
import numpy as np
import pytest
from jax import lax

import jaxvib as jv
from jaxvib.kernels.lower.lowering import trace
from jaxvib.linalg.eigen import eigenvalues
from jaxvib.linalg.small import of_many
from tests.kernels import test_elementary, test_primitives
from tests.kernels.ptx_bits import LAUNCHES, check_bits
from tests.kernels.test_control import rows_of_arguments
from tests.random_programs import lanes_of, operations
from tests.systems_table import MOTIONS

FEW = (1, 2, 129)  # launches of small programs


def check(function, arguments, launches=FEW, short=None):
    """Check a function of one lane on lanes, the first axis of its arguments."""
    shapes = [jax.ShapeDtypeStruct(a.shape[1:], a.dtype) for a in arguments]
    closed = trace(lambda *x: function(*x), shapes)[0]
    check_bits(closed, arguments, launches, short=short)


@pytest.mark.parametrize("name", test_primitives.CASES)
def test_a_primitive_has_the_bits_of_the_cpu(name):
    function, *arguments = test_primitives.CASES[name]
    check(function, arguments)


@pytest.mark.parametrize("name", test_primitives.CASES)
def test_a_primitive_in_memory_has_the_bits_of_the_cpu(name):
    function, *arguments = test_primitives.CASES[name]
    check(function, arguments, short=1)


ENDS = np.concatenate([test_elementary.ENDS, -np.geomspace(1e-310, 1e308, 50)])


@pytest.mark.parametrize("name", test_elementary.CASES)
def test_an_elementary_function_has_the_bits_of_the_cpu(name):
    function, *_, sets = test_elementary.CASES[name]
    ends = np.broadcast_arrays(*np.ix_(*[ENDS] * len(sets[0])))
    together = [
        np.concatenate([*each, end.ravel()]) for *each, end in zip(*sets, ends, strict=True)
    ]
    check(function, together, (len(together[0]),))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_remainders_are_exact_for_all_quotients(kind):
    random, limits = np.random.default_rng(3), np.finfo(kind)
    exponents = random.integers(limits.minexp - limits.nmant, limits.maxexp, (2, 4000))
    x, y = np.ldexp(random.uniform(-1, 1, exponents.shape), exponents).astype(kind)
    x[:5] = limits.max
    y[:5] = limits.smallest_subnormal * np.array([1, 3, 2**20 + 1, 0, np.inf], kind)
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(jv.kernel(lambda x, y: lax.rem(x, y)).map(x, y), expected)
    check(lax.rem, [x, y], (len(x),))


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 40))]
)
def test_random_operations_have_the_bits_of_the_cpu(seed):
    function, taken = operations(seed)
    check(function, lanes_of(taken, 129, seed))


def test_loops_over_rows_of_arguments_have_the_bits_of_the_cpu():
    random = np.random.default_rng(3)
    windows = [random.normal(size=(5, 40, 3)) for _ in range(3)]
    arguments = [*windows, random.normal(size=(5, 200)), random.uniform(1, 2, (5, 3))]
    check(lambda *a: rows_of_arguments(a[:3], *a[3:]), arguments)


@contextlib.contextmanager
def recorded():
    """Record the programs that are called within, with their first lanes."""
    found = {}

    def record(form, arrays):
        found.setdefault(id(form), (form, arrays))

    def mapped(form, leaves, *others):
        record(form, [np.asarray(leaf) for leaf in leaves])
        return run_map(form, leaves, *others)

    def called(form, mapped):
        def run(*arrays):
            lanes = [np.asarray(array) for array in arrays]
            pairs = zip(lanes, mapped, strict=True)
            record(form, [array if one else array[None] for array, one in pairs])
            return run_call(form, mapped)(*arrays)

        return run

    kernels, calls = (
        importlib.import_module(f"jaxvib.kernels.{n}")
        for n in ("calls.kernel", "calls.call")
    )
    run_map, run_call = kernels._Form.map, calls._jitted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels._Form, "map", mapped)
        patch.setattr(calls, "_jitted", called)
        yield found.values()


def check_all(programs, launches=LAUNCHES):
    """Check recorded programs on their lanes, and on others near them."""
    random = np.random.default_rng(5)
    assert programs
    for form, arrays in programs:
        closed = trace(form.flat, form._shapes)[0]
        whole = [np.resize(array, (max(launches), *array.shape[1:])) for array in arrays]
        near = [
            array * (1 + 1e-4 * random.normal(size=array.shape))
            if array.dtype.kind == "f" else array for array in whole
        ]  # fmt: skip
        for one, array in zip(near, arrays, strict=True):
            one[: len(array)] = array[: len(one)]
        check_bits(closed, near, launches)


def motion(name, lanes=5):
    """Return a system's lane, from a parameter and a state to the end, and such lanes."""
    case = MOTIONS[name]
    system = case.system()

    def end(value, state):
        lane = jv.replace(system, {case.path: value})
        return jv.flow(lane, state, case.begin, case.end)

    low, high = case.allowed
    return end, (np.linspace(low, high, lanes), case.states(1, lanes))


# One of each kind of program, the quick one first: the others' operations are among those
# of their sensitivities.
KINDS = ["hard stop", "two bodies, soft", "brake", "rub", "loads", "Duffing"]
# One of each kind of contact, friction, load and equation: their programs have all the
# primitives, with the types of their arguments, that those of all `MOTIONS` have.
DIFFERENTIATED = [
    "two bodies, rigid", "hard stop", "damped stop", "brake", "rub", "loads",
    "self-excited", "three bodies", "mesh", "cart and rod", "Duffing",
]  # fmt: skip


@pytest.mark.parametrize(
    "name", [KINDS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in KINDS[1:])]
)
def test_motions_have_the_bits_of_the_cpu(name):
    end, lanes = motion(name)
    with recorded() as programs:
        jax.vmap(end)(*lanes)
    check_all(programs)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_sensitivities_have_the_bits_of_the_cpu(name):
    end, lanes = motion(name)
    with recorded() as programs:
        jax.vmap(jax.jacfwd(end, (0, 1)))(*lanes)
    check_all(programs, FEW)


def branch():
    system = MOTIONS["Duffing"].system()
    orbit = jv.periodic_orbit(system, np.array([0.5, 0.0]))
    return jv.continue_orbit(system, orbit, "cubic", (0.8, 1.2), method="arclength")


def multipliers():
    random = np.random.default_rng(2)
    return of_many(eigenvalues, (2,), random.normal(size=(1000, 4, 4)))


# What calls kernels of all stages; those of orbits are the longest there are. Regimes
# call those of orbits of two bodies, a branch those of orbits of a field.
ANALYSES = {
    "multipliers": multipliers,
    "orbit between stops": lambda: jv.periodic_orbit(
        MOTIONS["hard stop"].system(), np.zeros(2), throw=False
    ),
    "regimes": lambda: jv.orbits.regimes(
        jv.two_body_impact(), {"load.frequency": [5.6, 5.8]}
    ),
    "branch": branch,
    "diffrax": lambda: jax.vmap(
        lambda state: jv.flow(jv.two_body_impact(), state, 0.0, 1.0, engine="diffrax")
    )(MOTIONS["two bodies, soft"].states(0, 5)),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=() if n == "multipliers" else pytest.mark.slow)
        for n in ANALYSES
    ],
)
def test_analyses_have_the_bits_of_the_cpu(name):
    with recorded() as programs:
        ANALYSES[name]()
    check_all(programs, FEW)
