r"""Log-likelihoods of measured records, for samplers such as numpyro and blackjax.

A record of n numbers d with independent normal noise of deviations $\sigma$ has

$$\ln L(p) = -\frac{1}{2} \sum_k \Bigl(\frac{f_k(p) - d_k}{\sigma_k}\Bigr)^2
  - \sum_k \ln(\sqrt{2 \pi}\, \sigma_k).$$

Without deviations an unknown $\sigma$ of the record is integrated over with the prior
$1 / \sigma$:

$$\ln L(p) = \ln \Gamma(n / 2) - \ln 2
  - \frac{n}{2} \ln\bigl(\pi \sum_k (f_k(p) - d_k)^2\bigr).$$

**Source:** Gelman et al., *Bayesian Data Analysis* (2013), section 3.2.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ..foundation.quantity import Range, check_range
from ..foundation.suggestions import CheckedArguments, unknown_key
from ..systems.parameters import replace
from .fitting import CLOSER, Fit, fit
from .joint_intervals import Piece, joint_intervals
from .measures.measure import Measure, Outcome, as_measure, itself, joined
from .settings import SearchSettings
from .variables import Bounds

_FINITE = Range(above=-np.inf, below=np.inf)
_POSITIVE = Range(above=0.0, below=np.inf)
# Fits with deviations from the one before, until these change by less than 1 %, far less
# than they are known.
_MOST_FITS, _CONVERGED = 16, 1e-2
_TINY = 1e-12  # relative deviation of a record that is fitted exactly
_LEAST_FREEDOM = 0.1  # per datum: a record with as many parameters as data leaves none


class Record(CheckedArguments, eqx.Module):
    """Measured numbers of one measure, with independent normal noise.

    **Fields:** `measure`: gives one number per datum, in the order and unit of `data`;
    `deviations`: standard deviations of the noise, one or as many as data; None if they
    are unknown. **Raises:** `ValueError` for data or deviations out of their range.

    >>> both = jv.design.natural_frequency_measure((0, 1))
    >>> jv.design.Record(both, [10.0, 24.5], 0.1).data.tolist()
    [10.0, 24.5]
    """

    measure: Measure = eqx.field(static=True, converter=as_measure)
    data: Float[Array, " data"]
    deviations: Float[Array, "..."] | None

    def __init__(
        self,
        measure: Measure | Callable,
        data: Real[ArrayLike, " data"] | list,
        deviations: Real[ArrayLike, "..."] | list | None = None,
    ):
        self.measure = as_measure(measure)
        check_range("data", data, "", _FINITE)
        self.data = jnp.asarray(data, float)
        if not self.data.size:
            raise ValueError("data = []; allowed: one number or more")
        if deviations is not None:
            check_range("deviations", deviations, "", _POSITIVE)
            deviations = jnp.asarray(deviations, float)
            if deviations.shape not in ((), self.data.shape):
                raise ValueError(
                    f"{deviations.shape} deviations for {self.data.shape} data; allowed: "
                    "one, or as many"
                )
        self.deviations = deviations

    def log_likelihood(
        self, numbers: Float[Array, " data"], deviations: Any
    ) -> Float[Array, ""]:
        """Return the log-likelihood of predicted numbers; `deviations` as in `Record`."""
        square = (numbers - self.data) ** 2
        if deviations is None:
            half = self.data.size / 2
            total = half * jnp.log(jnp.pi * jnp.sum(square))
            return jax.scipy.special.gammaln(half) - jnp.log(2.0) - total
        sizes = jnp.broadcast_to(deviations, square.shape)
        ends = jnp.sum(jnp.log(sizes)) + self.data.size / 2 * jnp.log(2 * jnp.pi)
        return -jnp.sum(square / sizes**2) / 2 - ends


class Likelihood(eqx.Module):
    """The log-likelihood of several records as a function of a system's parameters.

    See `likelihood`. **Fields:** `system`: with the other parameters; `records` by name.
    **Raises:** `ValueError` when called with an unknown path or record.

    >>> both = jv.design.natural_frequency_measure((0, 1))
    >>> records = {"shaker": jv.design.Record(both, [10.0, 24.5], 0.1)}
    >>> probable = jv.design.likelihood(tower, records)
    >>> slope = jax.grad(lambda k: probable({"modules.first-roof.stiffness": k}))
    >>> print(slope(278.3).round(3))
    -0.003
    """

    system: eqx.Module
    records: dict[str, Record]
    memories: dict[str, Any]

    def __call__(
        self,
        values: Mapping[str, Any],
        deviations: Mapping[str, Any] | None = None,
    ) -> Float[Array, ""]:
        """Return the log-likelihood at parameter values by path.

        Works under `jit`, `vmap`, `grad` and `jacfwd`; minus infinity where a motion is
        lost. **Arguments:** `deviations`: standard deviations of the noise by record,
        such as sampled ones, in place of those of the record. **Raises:** `ValueError`
        for an unknown path or record.
        """
        given = {} if deviations is None else deviations
        for name in given:
            if name not in self.records:
                raise ValueError(unknown_key("record", name, self.records))
        here = replace(self.system, values)
        total, lost = jnp.zeros(()), jnp.zeros((), bool)
        for name, record in self.records.items():
            outcome = record.measure.analysis(here, self.memories[name])
            numbers = record.measure.numbers(outcome.result)
            total += record.log_likelihood(numbers, given.get(name, record.deviations))
            lost |= jnp.any(outcome.code != 0) | jnp.any(jnp.isnan(numbers))
        return jnp.where(lost, -jnp.inf, total)

    def predicted(self, values: Mapping[str, Any]) -> dict[str, Float[Array, " data"]]:
        """Return the predicted numbers of each record at parameter values by path."""
        here = replace(self.system, values)
        return {
            name: _read(record, here, self.memories[name])
            for name, record in self.records.items()
        }

    def with_data(self, data: Mapping[str, Any]) -> "Likelihood":
        """Return the likelihood of other data of some records, such as simulated ones.

        **Raises:** `ValueError` for an unknown record or another number of data.
        """
        records = dict(self.records)
        for name, numbers in data.items():
            if name not in records:
                raise ValueError(unknown_key("record", name, records))
            numbers, own = jnp.asarray(numbers, float), records[name].data
            if numbers.shape != own.shape:
                raise ValueError(
                    f"data of {name} have shape {numbers.shape}; allowed: {own.shape}"
                )
            records[name] = eqx.tree_at(lambda record: record.data, records[name], numbers)
        return dataclasses.replace(self, records=records)

    def fit(self, bounds: Mapping[str, Bounds], settings: SearchSettings = CLOSER) -> Fit:
        r"""Return the parameters within bounds that fit all records best.

        The start of a sampler: `Fit.values` and `Fit.standard_errors`. Unknown deviations
        of several records are estimated from the fit,
        $\sigma_r^2 = S_r / (n_r - h_r)$ with the sum of squares $S_r$ and the share $h_r$
        of the parameters that the record determines, which is repeated with them until
        they converge; `Fit.intervals` then allow for how little is known of them, see
        `joint_intervals`, and are NaN where records with more data than parameters do not
        determine all. **Raises:** as `fit` does.
        """
        records = list(self.records.values())
        joint = Measure(_Joint(tuple(record.measure for record in records)), itself)
        data = np.concatenate([record.data for record in records])
        if [record.deviations for record in records] == [None]:
            return fit(joint, self.system, bounds, data, settings=settings)

        unknown = any(record.deviations is None for record in records)
        sizes = [_by_data(record) for record in records]
        system = self.system
        for _ in range(_MOST_FITS):
            every = [
                np.full(record.data.shape, size)
                if record.deviations is None
                else np.broadcast_to(record.deviations, record.data.shape)
                for size, record in zip(sizes, records, strict=True)
            ]
            deviations = np.concatenate(every)
            found = fit(joint, system, bounds, data, deviations, settings=settings)
            if not unknown:
                return found
            last, system, sizes = sizes, found.system, _spreads(found, records, every)
            if np.allclose(sizes, last, rtol=_CONVERGED, atol=0):
                break
        return _with_intervals(found, records)


def _parts(found: Fit, records: Sequence[Record]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the slopes and residuals of each record."""
    ends = np.cumsum([record.data.size for record in records])[:-1]
    residuals = np.asarray(found.predicted) - np.asarray(found.data)
    slopes = np.split(np.asarray(found.slopes), ends)
    return list(zip(slopes, np.split(residuals, ends), strict=True))


def _spreads(found: Fit, records: Sequence[Record], every: Sequence) -> list[float]:
    """Return the deviation of each record by its residuals and degrees of freedom."""
    parts = _parts(found, records)
    scaled = [
        slopes / size[:, None] for (slopes, _), size in zip(parts, every, strict=True)
    ]
    whole = np.linalg.pinv(np.concatenate(scaled))
    spreads, first = [], 0
    for (_, residuals), rows, record in zip(parts, scaled, records, strict=True):
        share = np.sum(whole[:, first : first + len(rows)].T * rows)
        first += len(rows)
        freedom = max(len(rows) - share, _LEAST_FREEDOM * len(rows))
        size = float(np.sqrt(np.sum(residuals**2) / freedom))
        spreads.append(size or _TINY * _by_data(record))
    return spreads


def _with_intervals(found: Fit, records: Sequence[Record]) -> Fit:
    """Return a fit with intervals that allow for unknown deviations."""
    if np.isnan([float(error) for error in found.standard_errors.values()]).any():
        return found
    pieces = [
        Piece(
            *part,
            None
            if record.deviations is None
            else np.broadcast_to(record.deviations, record.data.shape),
            _by_data(record),
        )
        for part, record in zip(_parts(found, records), records, strict=True)
    ]
    best = np.array([float(value) for value in found.values.values()])
    rows = joint_intervals(pieces, best)
    intervals = dict(zip(found.values, map(jnp.asarray, rows), strict=True))
    return dataclasses.replace(found, intervals=intervals)


def likelihood(system: eqx.Module, records: Mapping[str, Record]) -> Likelihood:
    """Return the log-likelihood of records, by name, of one system.

    Motions are found by Newton iteration from those of `system`, which should therefore
    be near the data, such as `Fit.system`.

    **Raises:** `ValueError` without records, for a measure that cannot be compiled, such
    as one whose branches are traced anew at each value, or one whose numbers are not as
    many as data; `EvaluationLostError` if the system has no such motion.

    >>> first = jv.design.natural_frequency_measure((0,))
    >>> probable = jv.design.likelihood(tower, {"a": jv.design.Record(first, [12.2], 0.1)})
    >>> print(f"{float(probable({})):.3f}")
    1.271
    """
    if not records:
        raise ValueError("records = {}; allowed: one record or more")
    memories = {}
    for name, record in records.items():
        analysis = record.measure.analysis
        if not analysis.compiled:
            raise ValueError(
                f"record {name}: {record.measure.description} cannot be compiled; allowed: "
                "measures that work under jit"
            )
        memories[name] = jax.lax.stop_gradient(analysis.start(system))
        shape = eqx.filter_eval_shape(_read, record, system, memories[name]).shape
        if shape != record.data.shape:
            raise ValueError(
                f"record {name}: the measure has numbers of shape {shape}; allowed: "
                f"{record.data.shape}, as many as data"
            )
    return Likelihood(system, dict(records), memories)


def _read(record: Record, system, memory) -> Array:
    measure = record.measure
    return measure.numbers(measure.analysis(system, memory).result)


def _by_data(record: Record) -> float:
    return float(np.max(np.abs(record.data))) or 1.0


@dataclasses.dataclass(frozen=True)
class _Joint:
    """The numbers of several measures, one after the other."""

    measures: tuple[Measure, ...]
    compiled = True
    start_compiled = False

    def start(self, system: Any) -> tuple:
        """Return the memories of all analyses."""
        return tuple(measure.analysis.start(system) for measure in self.measures)

    def __call__(self, system, memory) -> Outcome:
        """Return the numbers of all measures."""
        outcomes = [
            measure.analysis(system, own)
            for measure, own in zip(self.measures, memory, strict=True)
        ]
        pairs = zip(self.measures, outcomes, strict=True)
        numbers = [measure.numbers(outcome.result) for measure, outcome in pairs]
        return joined(jnp.concatenate(numbers), outcomes)
