"""A study kind: its options, and what is computed, told and drawn of them."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...ensemble import Reason
from ...foundation.suggestions import unknown_key
from ..config.tables import Table
from ..resources import library
from ..store.fields import Variable, stacked, variables
from ..systems.base import Role

ensemble = library("ensemble")
of_samples = library("studies.analyses.sample_systems")


class Known(NamedTuple):
    """What is known when options are checked.

    **Fields:** `values`: of the system's parameters, by path, as far as known;
    `declared`: declarations by path; `system`: once it has been built.
    """

    values: Mapping[str, Any]
    declared: Mapping[str, Any]
    system: Any = None


Check = Callable[[Any, Known], None]


@dataclasses.dataclass(frozen=True)
class StudyKind:
    """A kind of study, read from the `KIND` of each module in `kinds/`.

    The module is imported when any config is read and must not import JAX: packages of
    jaxvib, `library` and `lazily` import it on first use. A kind of several modules is a
    folder, with `KIND` in `kind.py`.

    **Fields**, and what reads them:

    | field | meaning | read by |
    |---|---|---|
    | `name` | its name in a config | `kinds` |
    | `options` | the model of its table | validation of a config |
    | `compute` | from `(system, samples, options, run, progress)` to the results, \
including `result` (reason codes); `mapped`, `one_by_one` and `once` make it from a \
function of one system | `run/computing.py` |
    | `summary` | a few lines about the results, from `(read, study)`: a label, two blanks \
or more, words | `run/summary.py`; `reports/header.py` |
    | `pictures` | the pictures of a finished run, or of several compared runs | reports |
    | `sample_bytes` | stored bytes per sample, from the options | estimates |
    | `checks` | raise `ValueError` for options that do not fit the system | validation |
    | `needs` | the roles that a system must have | validation; `jaxvib new` |
    | `sampled` | a sweep is required (`True`), refused (`False`) or optional (`None`) | \
validation; `in_one_piece` |
    | `axes` | names along the axes of its results, besides the system's | `run/study.py` |
    | `groups` | groups stored besides the results, with the axis `sample`: from \
`(system, samples, study, read)`, whose arrays of all samples are read on indexing \
(`Rows`): index only a few | `run/execute.py` |
    | `counted` | the noun for its results | `reports/header.py` |
    | `resumable` | it is a search: `compute` takes `remember`, the store of its \
evaluations, and without a sweep its results have no axis `sample` | `run/execute.py`; \
`in_one_piece` |
    | `needs_sample_count` | `compute` takes `number`, the number of all samples | \
`run/computing.py` |
    | `smooth` | fields that vary smoothly where no integer field changes, which a \
refined grid interpolates; without any, a grid is not refined | validation; \
`run/refining.py` |
    | `further_work` | in words, work besides the samples | `jaxvib check` |
    """

    name: str
    options: type[Table]
    compute: Callable[..., dict[str, Variable]]
    summary: Callable[[Callable, Any], list[str]]
    pictures: Callable[[Sequence], list] = lambda runs: []
    _: dataclasses.KW_ONLY
    sample_bytes: Callable[[Any], float]
    checks: tuple[Check, ...] = ()
    needs: frozenset[Role] = frozenset()
    sampled: bool | None = None
    axes: Callable[[Any], dict[str, list[str]]] = lambda options: {}
    groups: Mapping[str, Callable[..., dict[str, Variable]]] = dataclasses.field(
        default_factory=dict
    )
    counted: str = "samples"
    resumable: bool = False
    needs_sample_count: bool = False
    smooth: frozenset[str] = frozenset()
    further_work: Callable[[Any], str] = lambda options: ""

    def check(
        self, options: Table, values: Mapping, declared: Mapping, system: Any = None
    ) -> None:
        """Raise `ValueError` for options that do not fit the system, see `Known`."""
        for check in self.checks:
            check(options, Known(values, declared, system))

    def in_one_piece(self, swept: bool) -> bool:
        """Return whether all results are computed by one call, without samples."""
        return not swept and (self.sampled is False or self.resumable)

    def is_autonomous(self, table: Mapping) -> bool:
        """Return whether a config gives a period, i.e. no load has one."""
        return "period" in table and "period" in self.options.model_fields

    def coordinates(self, options: Any) -> list[str]:
        """Return the results that are coordinates if there is no sweep: the parameter."""
        return [options.path] if "path" in self.options.model_fields else []


def mapped(function: Callable[[Any, Any, Any], Any]) -> Callable[..., dict[str, Variable]]:
    """Return the computation by a pure function of one system under `jit` and `vmap`.

    `function`: from system, options and settings of the run to a module of arrays.
    """

    def compute(system, samples, options, run, progress):
        def one(each):
            return function(each, options, run)

        lanes = of_samples.each_system(system, samples)
        found = ensemble.map_samples(one, lanes, progress=progress)
        return variables(found, ("sample",))

    return compute


def one_by_one(
    function: Callable[[Any, Any, Any], Any],
) -> Callable[..., dict[str, Variable]]:
    """Return the computation by a function of one system, called for each sample.

    `function`: from system, options and settings of the run to a module of arrays, or to
    labelled arrays.
    """

    def compute(system, samples, options, run, progress):
        rows = []
        for each in of_samples.systems(system, samples):
            found = function(each, options, run)
            rows.append(found if isinstance(found, dict) else variables(found))
            progress(1)
        return stacked(rows, "sample")

    return compute


def once(
    function: Callable[[Any, Any, Any], dict[str, Variable]],
) -> Callable[..., dict[str, Variable]]:
    """Return the computation by a function of the only system, without samples."""

    def compute(system, samples, options, run, progress, **more):
        found = function(system, options, run, **more)
        progress(1)
        return found

    return compute


def result_code(known: Any, otherwise: Any, leading: tuple[str, ...] = ()) -> Variable:
    """Return the reason codes of samples: success where `known`, else `otherwise`."""
    codes = np.where(known, int(Reason.SUCCESS), int(otherwise))
    return Variable(leading, codes.astype(np.int32), "", "reason code")


def swept_values(system: Any, path: str, values: Variable) -> dict[str, Variable]:
    """Return the values of a parameter under its path, as the system declares it."""
    known = library("systems").parameters(system)[path]
    return {
        path: dataclasses.replace(values, unit=known.unit, description=known.description)
    }


def ascending(low: str, high: str) -> Check:
    """Return the check that an option is below another one of the same unit."""

    def check(options, known: Known):
        first, last = getattr(options, low), getattr(options, high)
        if not first < last:
            unit = type(options).model_fields[low].json_schema_extra["unit"]
            raise ValueError(
                f"{low} = {first:g} {unit} is not below {high} = {last:g} {unit}"
            )

    return check


def freedoms(names: Callable[[Any], Sequence[str]]) -> Check:
    """Return the check that options name degrees of freedom of the system."""

    def check(options, known: Known):
        for name in () if known.system is None else names(options):
            if name not in known.system.freedom_names:
                raise ValueError(
                    unknown_key("degree of freedom", name, known.system.freedom_names)
                )

    return check


def at(read: Callable, study: Any, sample: int | np.integer) -> str:
    """Return the swept values of a sample: `load.amplitude = 500 N`, "" if none."""
    return ", ".join(study.value_text(path, read(path)[sample]) for path in study.paths)


def where(read: Callable, study: Any, sample: int | np.integer) -> str:
    """Return the swept values of a sample after a comma, "" if none."""
    return f", {at(read, study, sample)}" if study.paths else ""


def strongest(read: Callable, study: Any, place: Callable[[int], str]) -> list[str]:
    """Return the line on the largest contact force and where it is, if there is one."""
    force = read("max_contact_force")
    if not np.nan_to_num(force).max() > 0:
        return []
    worst = int(np.nanargmax(force))
    shown = study.quantity_text("N", force[worst], digits=4)
    return [f"worst      contact force {shown} at {place(worst)}"]


def highest(values: np.ndarray, names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield up to five degrees of freedom with the indices of their largest value.

    `values` (samples, n, freedoms): the indices are a sample and a position along n.
    """
    for position, name in enumerate(names[:5]):
        here = values[:, :, position]
        sample, at = np.unravel_index(np.nanargmax(here), here.shape)
        yield name, int(sample), int(at)
