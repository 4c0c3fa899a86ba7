"""Checked against: values that annotations of this library's functions accept or not."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import jax
import numpy as np
import pytest
from jaxtyping import Array, ArrayLike, Real

import jaxvib as jv
from jaxvib.foundation.argument_checks import check_argument

tower = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])

NUMBERS = Real[ArrayLike, " n"] | Sequence
PAIR = tuple[float, float]
NUMBER = Real[Array, ""] | float


def shown(value: object) -> str:
    """Return a part of a test's name: without addresses, which differ between workers."""
    return re.sub(r" at 0x\w+", "", str(value))


ACCEPTED = [
    (NUMBERS, [1, 2.0]),
    (NUMBERS, ((1.0,), [2.0])),
    (NUMBERS, range(3)),
    (NUMBERS, [np.float64(1.0), np.zeros(())]),
    (NUMBERS, np.zeros((2, 3))),
    (NUMBERS | None, None),
    (NUMBER, np.float32(1.0)),
    (int | None, np.int64(3)),
    (bool, np.bool_(True)),
    (str | Path, Path("here")),
    (PAIR, [1, 2]),
    (PAIR, np.array([1.0, 2.0])),
    (Mapping[str, PAIR], {"a": (1.0, 2.0)}),
    (Mapping[str, object], {"a": None}),
    (Sequence[str], {"a": 1}.keys()),
    (Sequence[str], np.array(["a"])),
    (Sequence[str] | Mapping[str, float], {"a": 1.0}),
    (tuple[int, ...], np.arange(2)),
    (tuple[jv.Contact | jv.AnnularContact, ...], [object()]),  # of the same interface
    (tuple[jv.Contact, ...], (each for each in ())),
    (str | int | Mapping[str, float] | Sequence[float], {"a": 1.0}),
]


@pytest.mark.parametrize(("annotation", "value"), ACCEPTED, ids=shown)
def test_a_value_that_fits_is_accepted(annotation, value):
    check_argument("name", value, annotation)


REFUSED = [
    (NUMBERS, None, TypeError, "name = None; allowed: numbers"),
    (NUMBERS, {"a": 1.0}, TypeError, "name is of type dict; allowed: numbers"),
    (NUMBERS, b"x", TypeError, "name is of type bytes; allowed: numbers"),
    (NUMBERS, [[1.0], [2.0, 3.0]], ValueError, "[2.0, 3.0]] is not an array of numbers"),
    (NUMBERS, [1.0, object], ValueError, "is not an array of numbers"),
    (NUMBERS, np.array(["a"]), ValueError, "is not an array of numbers"),
    (NUMBERS, ["1 m"], ValueError, "name = ['1 m'] is not a number; allowed: one in SI"),
    (NUMBER, 1j, ValueError, "name = 1j is not real"),
    (NUMBER, [1.0], ValueError, "name has shape (1,); allowed: (), a number"),
    (int | None, 2.5, TypeError, "= 2.5 is of type float; allowed: a whole number or None"),
    (bool, "yes", TypeError, "= 'yes' is of type str; allowed: True or False"),
    (str, 3, TypeError, "name = 3 is of type int; allowed: a text"),
    (str | Path, None, TypeError, "name = None; allowed: a path or a text"),
    (PAIR, (1.0, 2.0, 3.0), TypeError, "has length 3; allowed: 2 numbers"),
    (PAIR, 5.0, TypeError, "name = 5.0 is of type float; allowed: 2 numbers"),
    (Mapping[str, PAIR], [1.0], TypeError, "name is of type list; allowed: a mapping"),
    (Mapping[str, PAIR], {"a": 1.0}, TypeError, "name['a'] = 1.0 is of type float"),
    (
        Sequence[str],
        "abc",
        TypeError,
        "name = 'abc' is of type str; allowed: a list of texts",
    ),
    (Sequence[str], [1.0], TypeError, "allowed: a list of texts"),
    (Sequence[str], np.ones(2), TypeError, "allowed: a list of texts"),
    (Sequence[str], np.str_("a"), TypeError, "allowed: a list of texts"),
    (tuple[int, ...], 3, TypeError, "name = 3 is of type int; allowed: numbers"),
    (tuple[jv.Contact, ...], [1.0], TypeError, "name[0] = 1.0 is of type float"),
    (tuple[jv.Contact, ...], np.array(1.0), TypeError, "allowed: a list of contacts"),
    (Mapping[str, float], {0: 1.0}, TypeError, "name has the key 0; allowed: texts"),
    (jv.Beam, 1.0, TypeError, "name = 1.0 is of type float; allowed: Beam"),
]


@pytest.mark.parametrize(("annotation", "value", "error", "message"), REFUSED, ids=shown)
def test_a_value_that_does_not_fit_is_named(annotation, value, error, message):
    with pytest.raises(error) as caught:
        check_argument("name", value, annotation)
    assert message in str(caught.value)


BUILT = [
    (lambda: jv.ImpactSystem(None), "linear = None; allowed: Linear"),
    (lambda: jv.ImpactSystem(tower, 1.0), "contacts = 1.0 is of type float"),
    (lambda: jv.ImpactSystem(tower, loads=[2.0]), "loads[0] = 2.0 is of type float"),
    (lambda: jv.FunctionLaw(pow, 3), "parameters = 3 is of type int; allowed: a mapping"),
    (lambda: jv.design.Problem(tower, [1], pow), "variables is of type list"),
    (lambda: jv.HertzContact.from_materials(1.0, (0.3, 0.3), 1.0), "youngs_moduli = 1.0"),
    (
        lambda: jv.HertzContact.from_materials((1.0,) * 2, (0.3,) * 2, curvature=1.0),
        "did you mean 'curvature_sum'?",
    ),
]


def test_a_list_in_place_of_a_number_is_named_before_other_checks():
    for build in (
        lambda: jv.CoulombFriction([1.0], force=[], static=0.5),
        lambda: jv.PulseLoad("triangle", 1.0, 0.0, duration=np.ones(2), every=3.0),
    ):
        with pytest.raises(ValueError, match=r"has shape \(.,\); allowed: \(\), a number"):
            build()


@pytest.mark.parametrize(("build", "message"), BUILT, ids=range(len(BUILT)))
def test_arguments_of_classes_and_their_methods_are_named(build, message):
    with pytest.raises(TypeError) as caught:
        build()
    assert message in str(caught.value)


def test_texts_of_a_class_may_be_the_keys_of_a_mapping():
    shapes = np.ones((2, 1))
    assert jv.ElasticStructure([1.0], shapes, {"a": 1, "b": 2}).names == ("a", "b")


def test_traced_numbers_are_accepted():
    def of_traced(x):
        for value in (x, [x, 1.0], [[x], [x]]):
            check_argument("name", value, NUMBERS)
        check_argument("name", (x, 2.0), PAIR)
        return x

    assert jax.jit(jax.vmap(of_traced))(np.arange(2.0)).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("verb", [
    jv.modes.damped_modes,
    lambda system: jv.modes.lowest_frequencies(system, 1),
    lambda system: jv.modes.frequency_derivatives(system, ["mass"]),
    lambda system: jv.bifurcation_diagram(jv.ImpactSystem(system), "gap", [1.0]),
])  # fmt: skip
def test_functions_on_the_host_refuse_traced_systems(verb):
    def of_traced(stiffness):
        verb(jv.LinearSystem([[1.0]], [[0.1]], [[stiffness]]))
        return stiffness

    for transformed in (jax.jit, jax.grad, jax.vmap):
        with pytest.raises(ValueError, match="of traced values, but it computes on the"):
            transformed(of_traced)(np.ones(1) if transformed is jax.vmap else 1.0)
