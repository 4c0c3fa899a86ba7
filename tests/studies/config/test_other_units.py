"""Checked against: every ready study, each of its numbers written in another unit."""

import math

import numpy as np
import pytest

from jaxvib.studies.analyses.kinds import SYSTEMS
from jaxvib.studies.config.tables import Table, flattened
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.sample import results_of
from jaxvib.studies.run.study import load, load_text

TURN, G = 2 * math.pi, 9.80665
# By SI unit: another one of its dimension, and its SI value.
OTHERS = {
    "m": ("mm", 1e-3), "kg": ("g", 1e-3), "s": ("ms", 1e-3), "rad": ("deg", TURN / 360),
    "rad/s": ("rpm", TURN / 60), "m/s": ("km/h", 1 / 3.6), "m/s^2": ("g", G),
    "N": ("kN", 1e3), "N m": ("N mm", 1e-3), "N/m": ("kN/mm", 1e6), "": ("%", 1e-2),
    "N s/m": ("N s/mm", 1e3), "N m/rad": ("N m/deg", 360 / TURN), "1/s": ("1/min", 1 / 60),
    "N m s/rad": ("N m ms/rad", 1e-3), "kg m^2": ("g mm^2", 1e-9), "kg m": ("g mm", 1e-6),
    "kg/m": ("g/mm", 1.0), "N m^2": ("N mm^2", 1e-6), "1/m": ("1/mm", 1e3),
    "s/m": ("s/km", 1e-3), "Pa": ("N/mm^2", 1e6), "N/m^1.5": ("N/mm^1.5", 1e3**1.5),
    "N^2 s/rad": ("N^2/Hz", 1 / TURN), "N/m^3": ("kN/mm^3", 1e12), "F": ("nF", 1e-9),
    "(m/s^2)^2 s/rad": ("g^2/Hz", G**2 / TURN), "ohm": ("kohm", 1e3), "H": ("mH", 1e-3),
    "N/V": ("N/kV", 1e-3), "N/A": ("N/mA", 1e3), "m/N": ("mm/kN", 1e-6),
    "J": ("N mm", 1e-3), "m^2": ("mm^2", 1e-6), "1/kg^0.5": ("1/g^0.5", 1e3**0.5),
}  # fmt: skip
_NONE = ("bodies", "rad/body")  # no units, but words


def other(value, unit):
    """Return numbers in another unit, as texts."""
    if isinstance(value, list):
        return [other(each, unit) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if unit in _NONE:
        return value
    name, factor = OTHERS[unit]
    return f"{value / factor!r} {name}"


def rewritten(model, table, units):
    """Return a table of an analysis with its numbers in other units.

    `units`: of the system's parameters, by path.
    """
    found = {}
    for name, value in table.items():
        field = getattr(model, name)
        extra = type(model).model_fields[name].json_schema_extra or {}
        if name in ("bounds", "second_bounds") and isinstance(value, list):
            path = table["path" if name == "bounds" else "second_path"]
            found[name] = other(value, units[path])
        elif name in ("variables", "over"):
            found[name] = {path: spread(each, units[path]) for path, each in value.items()}
        elif name in ("at_most", "at_least", "level", "density"):
            found[name] = other(value, compared_with(table, name, units))
        elif isinstance(field, Table):
            found[name] = rewritten(field, value, units) if "unit" not in extra else spread(
                value, extra["unit"]
            )  # fmt: skip
        elif isinstance(field, dict) and any(isinstance(e, Table) for e in field.values()):
            found[name] = {key: rewritten(field[key], value[key], units) for key in value}
        else:
            found[name] = other(value, extra["unit"]) if "unit" in extra else value
    return found


def compared_with(table, name, units):
    """Return the unit of a limit: of its measure, a displacement or a force."""
    if name in ("level", "density"):
        return {"level": "m", "density": "N^2 s/rad"}[name]
    if table.get("measure") in ("bifurcation", "stable_range"):
        return units[table["path"]]
    fields = {"amplitude": "m", "max_contact_force": "N"}
    measures = {"response": "m/N", "response_peaks": "m/N", "natural_frequency": "rad/s"}
    return fields.get(table.get("field"), measures.get(table.get("measure"), ""))


def spread(values, unit):
    """Return lists of values with all but their count in another unit."""
    if not isinstance(values, dict):
        return other(values, unit)
    return {
        key: [*other(list(each)[:2], unit), *list(each)[2:]]
        if key in ("linspace", "logspace", "uniform", "normal")
        else other(list(each), unit)
        for key, each in values.items()
        if each is not None
    }


def put(table, path, change):
    """Change the value at a path of nested tables, whose keys may hold dots."""
    steps = path.split(".")
    for count in range(len(steps), 0, -1):
        key, rest = ".".join(steps[:count]), ".".join(steps[count:])
        if key in table and isinstance(table[key], dict) and rest:
            return put(table[key], rest, change)
        if key in table and not rest:
            inner = isinstance(table[key], dict)  # a variable
            (table[key] if inner else table)["value" if inner else key] = change(
                table[key]["value"] if inner else table[key]
            )
            return None
    return None


def in_other_units(study):
    """Return the text of a study's resolved config with its numbers in other units."""
    tables = study.resolved()
    declared = SYSTEMS[study.system.kind].declared(study.system)
    for path, entry in declared.items():
        unit = entry.unit.replace("^n", "^1.5")
        if path not in getattr(study.system, "formulas", {}):
            put(tables["system"], path, lambda value, unit=unit: other(value, unit))
    units = {path: entry.unit.replace("^n", "^1.5") for path, entry in declared.items()}
    tables["analysis"] = rewritten(study.analysis, tables["analysis"], units)
    for path in study.paths:
        tables["sweep"][path] = spread(tables["sweep"][path], units[path])
    return to_toml(tables)


def numbers(tables):
    """Return all numbers of nested tables by path."""
    return {
        path: np.asarray(value, float)
        for path, value in flattened(tables).items()
        if not isinstance(value, str | bool | type(None))
        and np.asarray(value).dtype.kind in "if"
    }


@pytest.mark.parametrize("name", sorted(builtin_studies.titles()))
def test_a_ready_study_in_other_units_has_the_same_inputs(name):
    study = load(builtin_studies.folder() / f"{name}.toml")
    mine = study.resolved()
    theirs = load_text(in_other_units(study), study.name).resolved()
    for section in ("system", "analysis", "sweep"):
        found, expected = numbers(theirs[section]), numbers(mine[section])
        assert list(found) == list(expected)
        for path, value in expected.items():
            np.testing.assert_array_max_ulp(found[path], value, maxulp=2)


def test_nearly_all_numbers_of_the_ready_studies_are_rewritten():
    texts = [
        in_other_units(load(builtin_studies.folder() / f"{name}.toml"))
        for name in ("regime_map", "harvester", "shaken_tower", "damper_over_a_band")
    ]
    counted = [
        sum(text.count(f' {unit}"') for unit, _ in OTHERS.values()) for text in texts
    ]
    assert all(count > 15 for count in counted), counted


@pytest.mark.slow  # each study runs twice, with the compilation of its programs
@pytest.mark.parametrize("name", ["quick", "tower_modes", "shaken_tower"])
def test_a_ready_study_in_other_units_has_the_same_results(name):
    study = load(builtin_studies.folder() / f"{name}.toml")
    mine = results_of(to_toml(study.resolved()))
    theirs = results_of(in_other_units(study))
    if name == "tower_modes":
        np.testing.assert_allclose(theirs.frequencies, mine.frequencies, rtol=1e-12)
        return
    same = mine.result.values == theirs.result.values
    assert same.mean() > 0.95  # a bit decides where a motion is chaotic
    settled = same & (mine.result.values == 0) & (mine.residual.values < 1e-6)
    assert settled.mean() > 0.5
    apart = np.abs(theirs.state - mine.state).values.max(axis=1)[settled]
    bars = (mine.state_error + theirs.state_error).values[settled]
    assert (apart <= bars).all()
