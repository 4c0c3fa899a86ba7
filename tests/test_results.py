"""Checked against: numbers made up for the declared fields, by name, axes and unit."""

import dataclasses
import importlib
import inspect
import pkgutil
import typing

import equinox as eqx
import numpy as np
import pytest
import xarray
from matplotlib import pyplot

import jaxvib as jv
from jaxvib.drawing import Plottable
from jaxvib.drawing.fields import from_fields
from jaxvib.foundation.arrays import to_jax
from tests import zoo


def subclasses(base):
    for kind in base.__subclasses__():
        yield kind
        yield from subclasses(kind)


def declared(kind):
    return [field for field in dataclasses.fields(kind) if "axes" in field.metadata]


def result_classes():
    for module in pkgutil.walk_packages(jv.__path__, "jaxvib."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = {kind for kind in subclasses(eqx.Module) if kind.__module__.startswith("jaxvib")}
    found = (kind for kind in ours if dataclasses.is_dataclass(kind) and declared(kind))
    return sorted(found, key=lambda kind: kind.__qualname__)


RESULTS = result_classes()
LEAVES = [kind for kind in RESULTS if not kind.__subclasses__()]


def numbers(field):
    """Return different numbers, ascending, two along each axis."""
    values = np.arange(1.0, 1.0 + 2 ** len(field.metadata["axes"]))
    words = str(field.type).partition("'")[0]
    values = values * (1 + 2j if "Complex" in words else 1)
    values = values.astype(np.int32) if "Int[" in words else values
    return values.reshape((2,) * len(field.metadata["axes"]))


def made(kind):
    """Return a result of a class with numbers made up for its declared fields."""
    result = object.__new__(kind)
    for field in dataclasses.fields(kind):
        if "axes" in field.metadata:
            value = numbers(field)
            if typing.get_origin(field.type) is dict:
                value = {"first": value, "second": 2 * value}
        elif inspect.isclass(field.type) and issubclass(field.type, Plottable):
            value = made(field.type)
        elif "system" in field.metadata:
            value = zoo.duffing()
        elif field.default is not dataclasses.MISSING:
            value = field.default
        else:
            value = "text" if field.type is str else ()
        object.__setattr__(result, field.name, value)
    return result


def test_every_result_class_is_drawn_and_exported():
    assert len(RESULTS) >= 60
    assert [kind for kind in RESULTS if not issubclass(kind, Plottable)] == []


# Branches have a dataset of their own, of real ones: `tests/branches`.
@pytest.mark.parametrize(
    "kind",
    [kind for kind in LEAVES if kind.to_xarray is Plottable.to_xarray],
    ids=lambda kind: kind.__name__,
)
def test_a_result_is_a_dataset_and_a_table_with_its_units(kind, tmp_path):
    result = made(kind)
    found = result.to_xarray()
    for field in declared(kind):
        value = getattr(result, field.name)
        each = {field.name: value}
        if isinstance(value, dict):
            each = {f"{field.name}.{key}": one for key, one in value.items()}
        for name, values in each.items():
            if values.dtype.kind != "c":
                assert found[name].shape == (2,) * len(field.metadata["axes"])
                np.testing.assert_array_equal(found[name].values, values)
                assert (
                    found[name].attrs["long_name"].startswith(field.metadata["description"])
                )
    table = result.to_dataframe()
    assert len(table) == 2 if any(one.dims for one in found.values()) else 1
    result.to_netcdf(tmp_path / "result.nc")
    with xarray.open_dataset(tmp_path / "result.nc") as read:
        xarray.testing.assert_equal(read.load(), found)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in LEAVES if kind.plot is Plottable.plot],
    ids=lambda kind: kind.__name__,
)
def test_a_result_is_drawn_with_units(kind):
    axes = made(kind).plot()
    assert axes.lines or axes.collections
    assert axes.get_xlabel() or axes.get_xticklabels()
    pyplot.close("all")


def test_a_stored_result_is_read_back():
    kind = jv.transients.ShockSpectrum
    given = made(kind)
    stored = given.to_xarray()
    found = from_fields(kind, lambda name: to_jax(stored[name].values))
    for field in declared(kind):
        here, there = (getattr(each, field.name) for each in (found, given))
        np.testing.assert_array_equal(here, there)
