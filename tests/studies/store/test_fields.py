"""Checked against: the axes, units and descriptions written down in the tests."""

import equinox as eqx
import numpy as np
import pytest

from jaxvib.foundation.quantity import result_field
from jaxvib.studies.store.fields import Variable, variables, with_coordinates


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
