"""The study `design`: optimisation of parameters for an objective."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pydantic

from ..... import design, systems
from .....ensemble import Reason
from ....config.tables import Table, option
from ....resources import library
from ....store.fields import Variable, stacked
from ...measure_options import (
    COMBINED,
    MeasureOptions,
    SearchOptions,
    build_measure,
    check_measure,
    check_search,
    describe_measure,
    limits,
    scaled,
    settings_of,
    unit_of,
    without,
)
from ...study_kind import (
    Known,
    StudyKind,
    at,
)
from .charts import OBJECTIVE, pictures, verified_texts
from .verified import verified_fields

of_samples = library("studies.analyses.sample_systems")

_METHODS = Literal[
    "adam", "slsqp", "trust_constr", "quasi_newton", "least_squares", "nelder_mead",
    "evolution",
]  # fmt: skip


_POINTS = 200  # all stable: with 95 % confidence less than 1.5 % of the range is not


class OneDesign(Table):
    """Settings of one of several designs that differ from the analysis."""

    objective: MeasureOptions | None = option(
        "objective", None, allowed="a table with measure = ..."
    )
    goal: Literal["minimise", "maximise"] | None = option("goal", None)
    combine: COMBINED | None = option(
        "combination of several numbers into one", None, allowed="as analysis.combine"
    )
    method: _METHODS | None = option("the optimiser", None, allowed="as analysis.method")
    formula: Literal["h2", "h_infinity", "den_hartog"] | None = option(
        "closed-form tuning of the attached body, instead of a search", None
    )


class Options(SearchOptions):
    """Variables, objective, constraints and method of a design."""

    kind: Literal["design"] = option("the kind of analysis")
    objective: MeasureOptions | None = option(
        "objective; a text is a field of the periodic motion", None,
        allowed="a table with measure = ..., or a field's name",
    )  # fmt: skip
    component: int | None = option(
        "component, if the objective is a text", None, ge=0, le=1000
    )
    periods: int | None = option(
        "load periods in one of the motion, if the objective is a text", None, ge=1, le=8
    )
    goal: Literal["minimise", "maximise"] = option("goal", "minimise")
    combine: COMBINED = option("combination of several numbers into one", "value")
    weight: float = option("weight of the deviation in mean_and_deviation", 1.0, ge=0.0)
    method: _METHODS = option("the optimiser", "adam")
    steps: int = option("maximum steps of the optimiser", 20, ge=1, le=100_000)
    starts: int = option(
        "starts: the current values, then Sobol points", 1, ge=1, le=100_000
    )
    tolerance: float = option(
        "relative tolerance of objective and variables", 1e-10, gt=0.0, lt=1.0
    )
    verify: int | None = option(
        "random points at which a stable range, or the range that a constraint on a "
        "bifurcation promises, is verified by branches; default: 200 if a stable range is "
        "measured, else 0", None, ge=0, le=100_000,
    )  # fmt: skip
    designs: dict[str, OneDesign] = option(
        "several named designs", {}, max_length=100,
        allowed="tables of the keys that differ",
    )  # fmt: skip
    quantities: dict[str, list[str]] = option(
        "stored quantities of the best design: a parameter, or a ratio of two", {},
        max_length=100, allowed="name = [path] or [path, path]",
    )  # fmt: skip

    @pydantic.model_validator(mode="before")
    @classmethod
    def _text_is_a_field(cls, given):
        if not isinstance(given, dict) or not isinstance(given.get("objective"), str):
            return given
        rest = {key: value for key, value in given.items() if key != "objective"}
        own = {key: rest.pop(key) for key in ("component", "periods") if key in rest}
        table = {"measure": "periodic_orbit", "field": given["objective"], **own}
        return {**rest, "objective": table}

    @pydantic.model_validator(mode="after")
    def _complete(self):
        for name in ("component", "periods"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is allowed only if the objective is a text")
        for name, one in self.designs.items():
            if one.objective is None and self.objective is None:
                raise ValueError(f"designs.{name} has no objective")
        if not self.designs and self.objective is None:
            raise ValueError("objective is missing; allowed: here or in each of designs")
        if OBJECTIVE in self.constraints:
            raise ValueError(f"constraints.{OBJECTIVE}; allowed: another name")
        for name, paths in self.quantities.items():
            if len(paths) not in (1, 2):
                raise ValueError(f"quantities.{name} has {len(paths)} paths; allowed: 1, 2")
        for name, one in self.each().items():
            method = one.method or self.method
            if self.constraints and method not in ("slsqp", "trust_constr"):
                raise ValueError(
                    f'{name or "analysis"}: method = "{method}" supports no constraints; '
                    'allowed: "slsqp", "trust_constr"'
                )
        return self

    @property
    def points_to_verify(self) -> int:
        """The number of random points at which each range is verified."""
        if self.verify is not None:
            return self.verify
        measures = [*self.objectives(), *self.constraints.values()]
        return _POINTS * any(each.measure == "stable_range" for each in measures)

    def objectives(self) -> list[MeasureOptions]:
        """Return the objective of each design."""
        every = [one.objective or self.objective for one in self.each().values()]
        return [each for each in every if each is not None]

    def each(self) -> dict[str, OneDesign]:
        """Return the differing settings of each design by name; "" for a single one."""
        return self.designs or {"": OneDesign()}


_MOST_TOLD = 8  # variables and limits in the summary
_ACTIVE = 1e-5  # distance to a bound, relative to the range, below which it is reached
_LONGEST = 1000  # stored steps of a search; longer ones are subsampled


def compute(
    system, samples, options: Options, run, progress, remember=None
) -> dict[str, Variable]:
    """Return search histories and designs; along `sample` and `design` if any."""
    problems = {
        name: _problem(system, options, one, run) for name, one in options.each().items()
    }
    rows = []
    for number, here in enumerate(of_samples.systems(system, samples)):
        row = []
        for name, one in options.each().items():
            problem, key = problems[name].at(here), f"{number}/{name}"
            alone = not samples and not options.designs
            try:
                row.append(_designed(problem, options, one, remember, key, run, alone))
            except design.EvaluationLostError as lost:  # of all starts
                raise RuntimeError(str(lost)) from None
        rows.append(row)
        progress(1)
    length = _length(options, rows, bool(samples))
    fields = _fields(system, options, rows, length)
    if options.points_to_verify:
        more, passed = verified_fields(rows, options, run)
        fields |= more
        codes = fields["design_result"].values
        codes[(codes == 0) & ~passed] = Reason.NOT_VERIFIED
        fields["result"].values[:] = codes.max(1)
    fields = fields if options.designs else without(fields, "design")
    return fields if samples else without(fields, "sample")


def summary(read: Callable, study: Any) -> list[str]:
    """Return objective and variables before and after, or of the first designs."""
    options = study.analysis
    if study.paths or options.designs:
        return _several(read, study)
    objective, best = read("objective"), int(read("best"))
    unit = unit_of(options.objective, study.unit)
    lines = [
        f"search     {len(objective)} evaluations, the best design at evaluation {best}; "
        f"{int(read('evaluations'))} of all starts",
        f"objective  {describe_measure(options.objective, study.axes.get('freedom', ()))} "
        f"{study.quantity_text(unit, objective[0], objective[best], joined=' -> ')}",
    ]
    for path, (low, high) in list(options.variables.items())[:_MOST_TOLD]:
        values = read(path)
        shown = functools.partial(study.quantity_text, study.unit(path))
        ends, reached = shown(values[0], values[best], joined=" -> "), values[best]
        sides = {"lower": low, "upper": high}
        sides = [side for side, end in sides.items() if _is_at(reached, end, high - low)]
        bound = f", at its {sides[0]} bound" if sides else ""
        lines.append(f"           {path} {ends} in {shown(low, high)}{bound}")
    for name, limit in list(options.constraints.items())[:_MOST_TOLD]:
        left = read(f"limit.{name}")[best]
        bounds = [each for each in (limit.at_least, limit.at_most) if each is not None]
        size = max(map(abs, bounds)) or 1.0
        words = "active" if _is_at(left, 0.0, size) else "violated" if left < 0 else "kept"
        far = study.quantity_text(unit_of(limit, study.unit), left)
        lines.append(f"limit      {name} {words}, distance {far}")
    told = verified_texts(read, options.constraints) if options.points_to_verify else ()
    return [*lines, *(f"verified   {words}" for words in told[:2])]


def _is_at(value: float, bound: float, size: float) -> bool:
    return bool(abs(value - bound) <= _ACTIVE * size)


def _problem(system, options, one: OneDesign, run):
    objective = one.objective or options.objective
    return design.Problem(
        system,
        scaled(options),
        build_measure(objective, run, system, options.variables),
        constraints=limits(options, run, system),
        combine=one.combine or options.combine,
        goal=one.goal or options.goal,
        weight=options.weight,
    )


def _designed(problem, options, one: OneDesign, remember, name: str, run, throw: bool):
    """Return the design of the search or of a formula."""
    if one.formula is None:
        return design.optimise(
            problem,
            one.method or options.method,
            settings=settings_of(options, run),
            remember=remember,
            name=name,
            throw=throw,
        )
    known = systems.parameters(problem.system)
    values = {path: known[path].value for path in (
        "attached.mass", "main.mass", "main.frequency")}  # fmt: skip
    absorber = design.optimal_absorber(
        one.formula, values["attached.mass"] / values["main.mass"]
    )
    chosen = {
        "attached.frequency": absorber.frequency_ratio * values["main.frequency"],
        "attached.damping_ratio": absorber.damping_ratio,
    }
    return design.evaluated(
        problem.at(systems.replace(problem.system, chosen)), remember=remember, name=name
    )


def _length(options, rows, swept: bool) -> int:
    longest = max(len(design.objective) for row in rows for design in row)
    return min(2 * options.steps + 2 if swept else longest, _LONGEST)


def _fields(system, options: Options, rows, length: int) -> dict[str, Variable]:
    """Return the fields of all designs along (sample, design, ...)."""
    known = {path: systems.parameter_at(system, path) for path in options.variables}

    def unit_at(path):
        return systems.parameter_at(system, path).unit

    every = {unit_of(each, unit_at) for each in options.objectives()}
    unit = every.pop() if len(every) == 1 else ""  # of several kinds of objective

    def of_one(found) -> dict[str, Variable]:
        kept, best = _chosen(found, length), int(found.best)

        def along(values, unit, words, fill=np.nan):
            padded = _padded(np.asarray(values)[kept], length, fill)
            return Variable(("step",), padded, unit, words)

        def once(value, unit, words):
            return Variable((), np.asarray(value), unit, words)

        fields = {"objective": along(found.objective, unit, "objective")}
        for path, entry in known.items():
            per, words = f"{unit or '1'}/({entry.unit or '1'})", entry.description
            values = found.variables[path]
            fields |= {
                path: along(values, entry.unit, words),
                f"gradient.{path}": along(
                    found.gradients[path], per, f"d objective / d {path}"
                ),
                f"optimum.{path}": once(values[best], entry.unit, f"best: {words}"),
            }
        for name, limit in options.constraints.items():
            words = f"{name}: distance to its limit, negative if violated"
            fields[f"limit.{name}"] = along(
                found.limits[name], unit_of(limit, unit_at), words
            )
        for name, paths in options.quantities.items():
            words = f"best: {' over '.join(paths)}"
            numbers = [float(systems.parameter_at(found.system, p).value) for p in paths]
            ratio = numbers[0] / numbers[1] if len(numbers) == 2 else numbers[0]
            fields[name] = once(ratio, _ratio_unit(unit_at, paths), words)
        words = "0: derivatives are valid; 1: grazing crossed before it; 2: at grazing"
        ends = _padded(np.asarray(found.starts.objective), options.starts, np.nan)
        position = np.int32(np.flatnonzero(kept == best)[0])
        return fields | {
            "notice": along(found.notices, "", words, -1),
            "optimum.objective": once(
                found.objective[best], unit, "objective of the best design"
            ),
            "best": once(position, "", "evaluation of the design"),
            "evaluations": once(found.evaluations, "", "evaluations of all starts"),
            "optimality": once(found.optimality, "", "relative projected gradient"),
            "starts.objective": Variable(
                ("start",), ends, unit, "objective at the end of each start"
            ),
            "design_result": once(np.int32(found.result), "", "reason code of a design"),
        }

    fields = stacked([stacked(map(of_one, row), "design") for row in rows], "sample")
    worst = fields["design_result"].values.max(1)
    return fields | {"result": Variable(("sample",), worst, "", "reason code")}


def _chosen(design, length: int) -> np.ndarray:
    """Return the stored steps of a search, including the best one."""
    number = len(design.objective)
    if number <= length:
        return np.arange(number)
    even = np.linspace(0, number - 1, length).round().astype(int)
    even[np.argmin(np.abs(even - int(design.best)))] = int(design.best)
    return np.sort(even)


def _padded(values: np.ndarray, length: int, fill) -> np.ndarray:
    return np.pad(values, (0, length - len(values)), constant_values=fill)


def _ratio_unit(unit_at: Callable[[str], str], paths: Sequence[str]) -> str:
    units = [unit_at(path) for path in paths]
    if len(units) == 1:
        return units[0]
    return "" if units[0] == units[1] else f"({units[0] or '1'})/({units[1] or '1'})"


def _several(read: Callable, study) -> list[str]:
    """Return a line for each of the first samples and designs."""
    options: Any = study.analysis
    names = list(options.each())
    shape = (-1, len(names))
    objective = np.reshape(read("optimum.objective"), shape)
    units = {
        name: _ratio_unit(study.unit, paths) for name, paths in options.quantities.items()
    } or {f"optimum.{path}": study.unit(path) for path in options.variables}
    values = {name: np.reshape(read(name), shape) for name in list(units)[:3]}
    goals = [
        unit_of(one.objective or options.objective, study.unit)
        for one in options.each().values()
    ]
    lines = []
    for sample, place in np.ndindex(objective.shape):
        numbers = ", ".join(
            f"{name.removeprefix('optimum.')} "
            f"{study.quantity_text(units[name], each[sample, place])}"
            for name, each in values.items()
        )
        words = " ".join(part for part in (at(read, study, sample), names[place]) if part)
        reached = study.quantity_text(goals[place], objective[sample, place])
        lines.append(f"{words}: {reached} with {numbers}")
    if len(lines) > 6:
        lines = [*lines[:5], f"and {len(lines) - 5} more designs"]
    return lines


def _fits(options: Options, known: Known) -> None:
    check_search(options, options.objectives(), known.values, known.declared)
    for path in itertools.chain.from_iterable(options.quantities.values()):
        measure = MeasureOptions(measure="parameter", paths=[path])
        check_measure(measure, known.declared)
    formulas = any(one.formula for one in options.each().values())
    if formulas and not {"attached.frequency", "main.frequency"} <= set(known.declared):
        raise ValueError("formula is for the system two_body_impact only")


def _verifying(options: Options) -> str:
    points = options.points_to_verify
    return f"then a branch and {points} motions verify each stable range" * (points > 0)


KIND = StudyKind(
    "design", Options, compute, summary, pictures,
    resumable=True,
    counted="evaluations",
    checks=(_fits,),
    further_work=_verifying,
    axes=lambda options: {"design": list(options.designs)} if options.designs else {},
    sample_bytes=lambda options: 5e3,
)  # fmt: skip
