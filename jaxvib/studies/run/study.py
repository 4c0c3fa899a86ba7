"""A study as defined by its config: system, analysis, sweep, run and output."""

import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from ...drawing.chosen_units import quantity_text
from ...foundation.suggestions import nearest
from ...foundation.text import check_name
from ...foundation.units import readings, unit_text
from ..analyses.kinds import ANALYSES, SYSTEMS, analyses_of
from ..config import samples
from ..config.document import Document, parse, read
from ..config.quantities import Places, in_si
from ..config.samples import Sampling
from ..config.tables import Table, flattened, kind_named, option, shown, validated
from ..config.values import Values
from ..store.share import Share
from ..systems.base import Role
from ..systems.read_loads import refuse_late_records
from .memory import MOST_SAMPLES, fitting_chunk

SECTIONS = ("title", "system", "analysis", "sweep", "run", "output")


_HOW = frozenset({"workers", "cluster"})  # the executor does not change the results
_Address = Annotated[
    str, Field(max_length=300, pattern=r"^(tcp|tls|ucx|ws|wss|inproc)://[!-~]+$")
]


class Run(Table):
    """How a study is computed."""

    device: Literal["auto", "cpu", "gpu"] = option("auto uses a GPU if available", "auto")
    evidence: Literal["quick", "checked", "strict"] = option(
        "verification of each result", "checked"
    )
    rtol: float = option("relative tolerance of the solver", 1e-8, ge=1e-13, le=1e-2)
    chunk: int = option(
        "samples stored at a time; reduced by default if they need much memory",
        MOST_SAMPLES,
        ge=2,
        le=1_000_000,
    )
    seed: int = option("seed of the samples that are drawn", 0, ge=0, lt=1 << 32)
    workers: int = option("number of worker processes on this machine", 1, ge=1, le=1024)
    cluster: _Address | None = option(
        "address of a Dask scheduler to compute on", None,
        allowed="an address such as tcp://10.0.0.1:8786",
    )  # fmt: skip

    @model_validator(mode="after")
    def _one_kind_of_workers(self):
        if self.cluster is not None and self.workers > 1:
            raise ValueError(
                f"cluster = {self.cluster} conflicts with workers = {self.workers}; "
                "allowed: one of the two"
            )
        return self


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError(f"{name!a} has a control character; allowed: a folder's name")
    return name


_FolderName = Annotated[
    str, Field(min_length=1, max_length=1000), AfterValidator(_printable)
]


def _known(unit: str) -> str:
    readings(unit)
    return unit


_Units = Annotated[
    list[Annotated[str, Field(max_length=50), AfterValidator(_known)]],
    Field(max_length=50),
]


class Output(Table):
    """Output of a study."""

    directory: _FolderName | None = option(
        "folder of the results; default results/<name of the config>", None,
        allowed="a folder's name",
    )  # fmt: skip
    report: bool = option("whether to draw report.html", True)
    units: _Units = option(
        "units of the report's pictures; the first that fits is used", [],
        allowed='units such as ["Hz", "mm", "kN"]',
    )  # fmt: skip


def read_output(document: Document, system: Any) -> Output:
    """Return the output of a config; units of variables are shown after the given ones.

    One in g is preceded by kg or m/s^2, so that it shows no other dimension.
    """
    output = validated(Output, document.tables.get("output", {}), "output", document)
    units = list(output.units)
    for name, own in getattr(system, "own_units", {}).items():
        possible = [unit_text(each.powers) for each in readings(own)]
        other = [unit for unit in possible if unit != system.variables[name].unit]
        units += [*other * (len(possible) > 1), own]
    return output.model_copy(update={"units": list(dict.fromkeys(units))})


class Title(Table):
    """The key outside of all tables."""

    title: Annotated[str, Field(max_length=200)] = option("title of the report", "")


@dataclasses.dataclass(frozen=True)
class Study:
    """A validated config.

    **Fields:** `name`: of the config's file; `system`, `analysis`: their options, with
    `kind`; `sampling`, `paths`: the sweep; `samples`: their number; `share`: the part
    computed by this run, `None` for all.
    """

    name: str
    title: str
    system: Any
    analysis: Any
    sampling: Sampling
    paths: dict[str, Values]
    samples: int
    run: Run
    output: Output
    document: Document = dataclasses.field(repr=False, compare=False)
    share: Share | None = None

    @property
    def directory(self) -> Path:
        """The default folder of the results."""
        return Path(self.output.directory or Path("results", self.name))

    @property
    def axes(self) -> Mapping[str, list[str]]:
        """Names along the axes of the results, by axis."""
        named = SYSTEMS[self.system.kind].axes(self.system)
        return {**named, **ANALYSES[self.analysis.kind].axes(self.analysis)}

    @functools.cached_property
    def grid(self) -> dict[str, int] | None:
        """The number of values along each path, `None` if the samples form no grid."""
        return samples.grid_of(self.sampling, self.paths) if self.paths else None

    @functools.cached_property
    def freedom_units(self) -> list[str]:
        """The unit of each degree of freedom's displacement."""
        return SYSTEMS[self.system.kind].freedom_units(self.system)

    def sampling_text(self) -> str:
        """Return a short description of the samples and what is swept."""
        if not self.paths:
            return f"{self.analysis.kind} of {self.system.kind}"
        crossed = " x ".join(map(str, self.grid.values())) if self.grid else ""
        shape = f" = {crossed}" if len(self.paths) > 1 and crossed else ""
        over = " x ".join(self.paths)
        most = "at most " if self.sampling.how.refined else ""
        return f"{most}{self.samples}{shape} samples of {over}"

    @functools.cached_property
    def _units(self) -> Mapping[str, str]:
        declared = SYSTEMS[self.system.kind].declared(self.system)
        return {path: each.unit for path, each in declared.items()}

    def value_text(self, path: str, value: float, digits: int = 5) -> str:
        """Return a parameter's value, SI, in the unit shown: `load.frequency = 14 Hz`."""
        return f"{path} = {self.quantity_text(self.unit(path), value, digits=digits)}"

    def unit(self, path: str) -> str:
        """Return a parameter's unit, "" for a number without one."""
        return self._units.get(path, "")

    def quantity_text(self, unit: str, *values: complex, **form: Any) -> str:
        """Return values in SI, of a unit, in the unit shown, as `chosen_units` does."""
        return quantity_text(self.output.units, unit, *values, **form)

    def resolved(self, directory: Path | None = None) -> dict:
        """Return the config with all defaults, as nested tables.

        `directory`: of the results, by default the study's.
        """
        given = copy.deepcopy(self._tables)
        given["output"]["directory"] = str(directory or self.directory)
        return given

    @functools.cached_property
    def _tables(self) -> dict:
        sweep = {path: _given(values) for path, values in self.paths.items()}
        return {
            "title": self.title,
            "system": _given(self.system),
            "analysis": _given(self.analysis),
            "sweep": {**_given(self.sampling), **sweep} if sweep else {},
            "run": self.run.model_dump(exclude_none=True, exclude=set(_HOW)),
            "output": {"directory": "", **_given(self.output)},
        }


def load(path: Path, assignments: Sequence[str] = ()) -> Study:
    """Read and validate a config, with `path=value` assignments.

    **Raises:** `ValueError` for the first fault, naming file, line, path and value,
    what is allowed and the nearest valid key.
    """
    return _checked(read(path).override(assignments, SECTIONS), path.stem)


def load_text(text: str, name: str = "config") -> Study:
    """Validate the text of a config, such as a resolved one."""
    return _checked(parse(text, name), name)


def _checked(document: Document, name: str) -> Study:
    tables = document.tables
    for section in tables:
        if section not in SECTIONS:
            near = nearest(section, SECTIONS)
            hint = f"did you mean {near}? " if near else ""
            raise ValueError(
                f"{document.where(section)}: {section} = {shown(tables[section])} is not a "
                f"known key; {hint}allowed: {', '.join(SECTIONS)}"
            )
    title = validated(
        Title, {k: tables[k] for k in ("title",) if k in tables}, "", document
    )
    kind = kind_of(document, "system", SYSTEMS)
    system = kind.read(document)
    places = kind.places(system)
    declared = places.declared
    sampling, paths = _sweep(document, places)
    analysis_kind = kind_of(document, "analysis", ANALYSES)
    _refuse_unsupported_system(document, kind, analysis_kind)
    if analysis_kind.is_autonomous(tables["analysis"]):
        kind.refuse_loads(system, document)
    elif not analysis_kind.needs & {Role.DRIVEN, Role.MODULES}:
        kind.refuse_transients(system, document)
    options = analysis_kind.options
    analysis = validated(options, tables["analysis"], "analysis", document, places)
    if (duration := getattr(analysis, "duration", None)) is not None:
        refuse_late_records(getattr(system, "loads", {}), duration, document)
    number = _number_of_samples(document, sampling, paths, analysis_kind)
    _refuse_overridden_assignments(document, paths)
    try:
        check_name(name)
    except ValueError as error:
        raise ValueError(f"{document.name}: {error}") from None
    run = validated(Run, tables.get("run", {}), "run", document)
    if "chunk" not in run.model_fields_set:
        chunk = fitting_chunk(analysis, number)
        if sampling.how.refined:
            chunk = samples.strip(sampling, paths)
        run = run.model_copy(update={"chunk": chunk})
    elif sampling.how.refined and run.chunk % samples.strip(sampling, paths):
        raise ValueError(
            f"{document.where('run.chunk')}: run.chunk = {run.chunk} cuts a refined grid "
            f"between its lines; allowed: no value, or a multiple of "
            f"{samples.strip(sampling, paths)}, {samples.coarsest(sampling)} lines"
        )
    output = read_output(document, system)
    study = Study(
        name,
        title.title or name,
        system,
        analysis,
        sampling,
        paths,
        number,
        run,
        output,
        document,
    )
    try:
        given = flattened(_given(system))
        known = {path: given[path] for path in declared if path in given}
        analysis_kind.check(analysis, known, declared)
    except ValueError as error:
        where = document.where_named(str(error), "analysis")
        raise ValueError(f"{where}: analysis: {error}") from None
    return study


def kind_of(document: Document, section: str, kinds: Mapping[str, Any]) -> Any:
    """Return the kind that a section of a config names. **Raises:** `ValueError`."""
    table = document.tables.get(section)
    known = ", ".join(f'"{name}"' for name in sorted(kinds))
    if not isinstance(table, dict):
        found = "is missing" if table is None else f"= {shown(table)} is not a table"
        raise ValueError(
            f"{document.where(section)}: {section} {found}; allowed: a table with kind = "
            f"{known}"
        )
    if "kind" not in table:
        where = document.where(section)
        raise ValueError(f"{where}: {section}.kind is missing; allowed: {known}")
    return kind_named(
        table["kind"], dict(sorted(kinds.items())), f"{section}.kind", document
    )


def _refuse_unsupported_system(document: Document, system, analysis) -> None:
    possible = analyses_of(system)
    if analysis.name not in possible:
        known = ", ".join(f'"{name}"' for name in possible)
        raise ValueError(
            f'{document.where("analysis.kind")}: analysis.kind = "{analysis.name}" does '
            f'not support system.kind = "{system.name}"; allowed: {known}'
        )


def _sweep(document: Document, places: Places):
    table = document.tables.get("sweep", {})
    if not isinstance(table, dict):
        raise ValueError(
            f"{document.where('sweep')}: sweep = {shown(table)} is not a table; allowed: a "
            "table of parameter paths"
        )
    own = {key: table[key] for key in Sampling.model_fields if key in table}
    sampling = validated(Sampling, own, "sweep", document)
    paths, declared = {}, places.declared
    swept = {key: value for key, value in table.items() if key not in own}
    for path, entry in _specified(swept, declared).items():
        full = f"sweep.{path}"
        if path not in declared:
            found = f"{document.where(full)}: {full} = {shown(entry)}"
            near = nearest(path, declared)
            known = f"known: {', '.join(sorted(declared))}"
            hint = f"did you mean {near}?" if near else known
            raise ValueError(f"{found} is not a parameter; {hint}")
        spec = {"values": entry} if isinstance(entry, list) else entry
        spec = in_si(spec, places.parameter(path), document.where, full)
        paths[path] = validated(Values, spec, full, document)
        try:
            samples.check_path(sampling, path, paths[path], declared[path])
        except ValueError as error:
            raise ValueError(f"{document.where(full)}: {full} {error}") from None
    return sampling, paths


def _specified(table: dict, declared, prefix: str = "") -> dict[str, object]:
    # Nested tables form paths; a table with a key of `Values`, or at the path of a
    # parameter, gives the values of one parameter.
    found: dict[str, object] = {}
    for key, value in table.items():
        path = prefix + key
        leads_on = isinstance(value, dict) and value and path not in declared
        if leads_on and not set(value) & set(Values.model_fields):
            found |= _specified(value, declared, f"{path}.")
        else:
            found[path] = value
    return found


def _number_of_samples(document, sampling, paths, analysis) -> int:
    if analysis.sampled not in (None, bool(paths)):
        found = "is missing" if analysis.sampled else "is given"
        wanted = "one path or more" if analysis.sampled else "none"
        raise ValueError(
            f"{document.where('sweep')}: sweep {found}; allowed where analysis.kind = "
            f'"{analysis.name}": {wanted}'
        )
    if sampling.how.refined and not analysis.smooth:
        kinds = ", ".join(f'"{name}"' for name in sorted(ANALYSES) if ANALYSES[name].smooth)
        raise ValueError(
            f'{document.where("sweep.method")}: sweep.method = "{sampling.method}" with '
            "analysis.kind = "
            f'"{analysis.name}"; allowed: with {kinds}'
        )
    if not paths:
        for key, value in document.tables.get("sweep", {}).items():
            raise ValueError(
                f"{document.where(f'sweep.{key}')}: sweep.{key} = {shown(value)} without a "
                "path; allowed: with paths only"
            )
        return 1
    try:
        return samples.number_of(sampling, paths)
    except ValueError as error:
        raise ValueError(f"{document.where('sweep')}: sweep: {error}") from None


def _refuse_overridden_assignments(document: Document, paths) -> None:
    for path in paths:
        place = document.origins.get(f"system.{path}", "")
        if place.startswith("--set"):
            raise ValueError(
                f"{place}: {path} is swept: its value has no effect; "
                f"allowed: --set sweep.{path}=..."
            )


def _given(table: Table) -> dict:
    return table.model_dump(exclude_none=True)
