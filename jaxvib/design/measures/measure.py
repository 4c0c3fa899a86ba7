"""Measures of a system: an analysis and numbers extracted from its result."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ...ensemble import Reason, reason
from ...foundation.suggestions import CheckedArguments
from ...systems.parameters import parameter_at, replace

_SAME = 1e-14  # changes below this part of the bounds are rounding
FAILURES = tuple(int(code) for code in Reason if code.failed)  # of motions


class EvaluationLostError(ValueError):
    """Raised if there is no initial motion, or no gradient where one is required.

    **Fields:** `code`: the reason code.

    >>> issubclass(jv.design.EvaluationLostError, Exception)
    True
    """

    def __init__(self, code: int, message: str = ""):
        super().__init__(message or reason(code))
        self.code = int(code)


class Outcome(NamedTuple):
    """The result of an analysis and the memory that warm-starts the next one.

    `memory`: any pytree; `code`: a reason code; `margin`: the distance to grazing,
    |penetration| at its nearest extremum relative to the amplitude (infinite without
    contacts); `contacts`: the number of contacts.
    """

    result: Any
    memory: Any
    code: Int[Array, "..."]
    margin: Float[Array, "..."]
    contacts: Int[Array, "..."]


@runtime_checkable
class Analysis(Protocol):
    """A function from a system to a result, with a memory for warm starts.

    **Fields:** `compiled`, `start_compiled`: whether the call and `start` work under
    `jit` and `vmap`.
    """

    @property
    def compiled(self) -> bool:
        """Whether the call works under `jit` and `vmap`."""

    @property
    def start_compiled(self) -> bool:
        """Whether `start` works under `jit` and `vmap`."""

    def start(self, system: eqx.Module) -> Any:
        """Return the initial memory. **Raises:** `EvaluationLostError` if there is none."""

    def __call__(self, system: eqx.Module, memory: Any) -> Outcome:
        """Return the outcome, differentiable with respect to the system."""


@dataclasses.dataclass(frozen=True)
class Measure(CheckedArguments):
    """Numbers extracted from the result of an analysis, with a unit.

    Measures with equal analyses share one result. **Fields:** `read`: maps the result
    to a number or an array.

    >>> jv.design.natural_frequency_measure((0,)).unit
    'rad/s'
    """

    analysis: Analysis
    read: Callable[[Any], Float[Array, "..."]]
    unit: str = ""
    description: str = "objective"

    def numbers(self, result: Any) -> Float[Array, " numbers"]:
        """Return the numbers of a result of the analysis, in a row."""
        return jnp.ravel(jnp.asarray(self.read(result), float))


@dataclasses.dataclass(frozen=True)
class Partial:
    """A function of one argument, whose others are given.

    Unlike those of `functools`, two of the same function and arguments are equal.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self, first: Any) -> Any:
        """Return what the function returns."""
        return self.function(first, *self.arguments)


@dataclasses.dataclass(frozen=True)
class Direct:
    """An analysis that is a plain function of the system, without memory."""

    function: Callable[[Any], Any]
    compiled: bool = True
    start_compiled = True

    def start(self, system: eqx.Module) -> tuple:
        """Return an empty memory."""
        return ()

    def __call__(self, system, memory) -> Outcome:
        """Return the value of the function."""
        return plain(self.function(system))


@dataclasses.dataclass(frozen=True)
class Scenarios:
    """An analysis of many variants of the system: uncertain or swept parameters.

    **Fields:** `samples`: pairs of a path and its values, all of equal length; variant
    i takes the i-th values. Results get a leading axis `scenario`.
    """

    analysis: Analysis
    samples: tuple[tuple[str, tuple[float, ...]], ...]

    def __post_init__(self) -> None:
        lengths = {path: len(values) for path, values in self.samples}
        if len(set(lengths.values())) != 1 or 0 in lengths.values():
            raise ValueError(f"scenarios have lengths {lengths}; allowed: one above 0")

    @property
    def compiled(self) -> bool:
        """Whether the call works under `jit` and `vmap`."""
        return self.analysis.compiled

    @property
    def start_compiled(self) -> bool:
        """Whether `start` works under `jit` and `vmap`."""
        return self.analysis.start_compiled

    def start(self, system: eqx.Module) -> Any:
        """Return the memories of all scenarios, stacked."""
        memories = [self.analysis.start(each) for each in self._systems(system)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *memories)

    def __call__(self, system, memory) -> Outcome:
        """Return the outcomes of all scenarios, stacked."""
        if not self.compiled:
            outcomes = [
                self.analysis(each, jax.tree.map(lambda leaf, i=i: leaf[i], memory))
                for i, each in enumerate(self._systems(system))
            ]
            return jax.tree.map(lambda *leaves: jnp.stack(leaves), *outcomes)

        def one(values, memory):
            return self.analysis(replace(system, values), memory)

        columns = {path: jnp.asarray(values) for path, values in self.samples}
        return jax.vmap(one)(columns, memory)

    def _systems(self, system):
        for values in zip(*(column for _, column in self.samples), strict=True):
            paths = (path for path, _ in self.samples)
            yield replace(system, dict(zip(paths, values, strict=True)))


def plain(result: Any, code: ArrayLike = 0) -> Outcome:
    """Return the outcome of an analysis without memory and contacts."""
    nothing = jnp.asarray(0, jnp.int32)
    code = jnp.asarray(code, jnp.int32)
    return Outcome(result, (), code, jnp.asarray(jnp.inf), nothing)


def joined(result: Any, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome of several analyses together: a code for each of them."""
    return Outcome(
        result,
        tuple(outcome.memory for outcome in outcomes),
        jnp.stack([jnp.max(outcome.code) for outcome in outcomes]),
        jnp.min(jnp.stack([jnp.min(outcome.margin) for outcome in outcomes])),
        jnp.concatenate([jnp.ravel(outcome.contacts) for outcome in outcomes]),
    )


def over(measure: Measure, samples: dict[str, Any]) -> Measure:
    """Return a measure over scenarios given by path; its numbers get a leading axis.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> spread = jv.design.over(first, {"modules.first-roof.mass": np.array([0.9, 1.1])})
    >>> spread.unit
    'rad/s'
    """
    listed = tuple(
        (path, tuple(map(float, np.ravel(np.asarray(values)))))
        for path, values in samples.items()
    )
    analysis = Scenarios(measure.analysis, listed)
    read = Partial(_mapped, (measure.read,))
    return dataclasses.replace(measure, analysis=analysis, read=read)


def _mapped(results, read):
    return jax.vmap(read)(results)


def parameter_measure(*paths: str) -> Measure:
    """Return a measure of a parameter, or of the sum of several.

    >>> jv.design.parameter_measure("attached.mass", "main.mass").description
    'attached.mass + main.mass'
    """
    return Measure(Direct(Partial(_values, (paths,))), jnp.sum, "", " + ".join(paths))


def change_measure(system: eqx.Module, bounds: Mapping[str, Sequence[float]]) -> Measure:
    r"""Return a measure of the distance of parameters from those of a system.

    $\sum_i ((p_i - p_{0,i}) / (h_i - l_i))^2$ with the bounds $(l_i, h_i)$ by path, for
    the smallest change that satisfies the constraints.

    >>> jv.design.change_measure(tower, {"modules.first-roof.mass": (0.5, 2.0)}).unit
    ''
    """
    paths = tuple(bounds)
    own = tuple(float(parameter_at(system, path).value) for path in paths)
    sizes = tuple(bounds[path][1] - bounds[path][0] for path in paths)
    analysis, read = Direct(Partial(_values, (paths,))), Partial(_change, (own, sizes))
    return Measure(analysis, read, "", "change of the design")


def _values(system, paths):
    return jnp.stack([jnp.asarray(parameter_at(system, path).value) for path in paths])


def _change(values, own, sizes):
    moved = (values - jnp.array(own)) / jnp.array(sizes)
    # A design reaches the system's own values up to rounding only. Its square would be
    # the size to which searches scale the objective.
    return jnp.sum(jnp.where(jnp.abs(moved) < _SAME, 0.0, moved) ** 2)


def failed(codes: Any) -> Any:
    """Return whether motions were lost, by the codes (..., analyses) of outcomes."""
    return np.isin(codes, FAILURES).any(axis=-1)


def as_measure(given: Measure | Callable) -> Measure:
    """Return `given` as a measure, wrapping a function from a system to numbers."""
    if isinstance(given, Measure):
        return given
    return Measure(Direct(given), itself, description=getattr(given, "__name__", ""))


def itself(result: Any) -> Any:
    """Return a result as it is."""
    return result
