"""Checked against: the axes, units and descriptions written down in the tests."""

import equinox as eqx
import numpy as np
import pytest

from jaxvib.foundation.quantity import result_field
from jaxvib.studies.store.fields import (
    Variable,
    from_fields,
    joined,
    stacked,
    variables,
    with_coordinates,
)


class Inner(eqx.Module):
    work: object = result_field("work of the load", "J")


class Result(eqx.Module):
    state: object = result_field("state at t = 0", "m", ("state",))
    monodromy: object = result_field("monodromy", "", ("state", "column"))
    energy: Inner
    bare: object
    nothing: object = None
    name: str = eqx.field(static=True, default="x")


def result(samples=3):
    return Result(
        np.zeros((samples, 4)), np.zeros((samples, 4, 4)), Inner(np.ones(samples)),
        np.zeros((samples, 2)),
    )  # fmt: skip


def test_fields_have_leading_and_declared_axes_units_and_descriptions():
    found = variables(result(), ("sample",))
    axes = {name: field.axes for name, field in found.items()}
    assert axes == {
        "state": ("sample", "state_component"),
        "monodromy": ("sample", "state_component", "column"),
        "energy.work": ("sample",),
        "bare": ("sample", "bare_0"),
    }
    work = found["energy.work"]
    assert work.attributes == {"units": "J", "description": "work of the load"}
    np.testing.assert_array_equal(work.values, np.ones(3))


class Outer(eqx.Module):
    state: object = result_field("state at t = 0", "m", ("state",))
    energy: Inner
    name: str = eqx.field(static=True, default="x")


def test_a_result_is_read_back_from_its_fields():
    given = Outer(np.arange(4.0), Inner(np.float64(7.0)))
    fields = variables(given)
    again = from_fields(Outer, lambda name: fields[name].values)
    np.testing.assert_array_equal(again.state, given.state)
    assert again.energy.work == 7.0
    assert again.name == "x"


def test_fields_of_samples_are_stacked_along_a_new_axis_or_joined_along_the_first():
    rows = [variables(Inner(np.arange(2.0) + 10 * i)) for i in range(3)]
    along, behind = stacked(rows, "sample")["work"], joined(*rows)["work"]
    assert (along.axes, behind.axes) == (("sample", "work_0"), ("work_0",))
    np.testing.assert_array_equal(along.values, [[0, 1], [10, 11], [20, 21]])
    np.testing.assert_array_equal(behind.values, [0, 1, 10, 11, 20, 21])
    assert along.attributes == behind.attributes == rows[0]["work"].attributes


def test_a_result_that_is_no_module_is_refused():
    with pytest.raises(ValueError, match="returned a dict; allowed: a module of arrays"):
        variables({"a": 1})


def test_a_field_with_fewer_axes_than_declared_is_named():
    bad = Inner(np.zeros(3))
    with pytest.raises(ValueError, match="state has 1 axes; declared: sample, state_comp"):
        variables(Result(np.zeros(3), np.zeros((3, 4, 4)), bad, bad), ("sample",))


def test_a_name_stands_for_one_thing():
    one = {"gap": Variable(("sample",), np.zeros(1))}
    with pytest.raises(ValueError, match="gap is a field of the result and a parameter"):
        with_coordinates(one, one)
