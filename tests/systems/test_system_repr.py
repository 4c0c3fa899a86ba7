"""Checked against: the values and units that the systems were built with."""

import jax
import numpy as np
import pytest

import jaxvib as jv

two_bodies = jv.two_body_impact(contact=jv.HertzContact(3.504e7))


def test_a_system_prints_its_values_and_units():
    assert repr(two_bodies).splitlines() == [
        "TwoBodyImpact: gap 0.05 m",
        "  main      mass 1000 kg, frequency 6.283 rad/s, damping_ratio 0.036",
        "  attached  mass 100 kg, frequency 5.646 rad/s, damping_ratio 0.036",
        "  contact   stiffness 3.504e+07 N/m^1.5",
        "  load      amplitude 500 N, frequency 5.8 rad/s, phase 0 rad",
    ]


def test_a_part_prints_in_one_line():
    assert repr(two_bodies.contact) == "HertzContact: stiffness 3.504e+07 N/m^1.5"


def test_vectors_are_printed_whole_and_matrices_by_their_shape():
    contact = jv.Contact([1.0, -1.0], 0.1, jv.LinearContact(2.0))
    assert repr(contact).splitlines() == [
        "Contact: direction [1, -1], gap 0.1 m",
        "  law  stiffness 2 N/m",
    ]
    matrices = jv.LinearSystem(np.eye(4), np.eye(4), np.eye(4))
    assert "mass of shape (4, 4)" in repr(matrices)


def test_many_parts_are_cut_short():
    loads = [jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 1.0 + i)) for i in range(20)]
    system = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]), (), tuple(loads))
    lines = repr(system).splitlines()
    assert len(lines) <= 8
    assert "more parts" in lines[-1]


@pytest.mark.parametrize("item", [two_bodies, two_bodies.load, two_bodies.main])
def test_html_is_the_same_text(item):
    assert item._repr_html_() == f"<pre>{item!r}</pre>"


def test_traced_and_batched_systems_print_their_shapes():
    seen = []

    def look(gap):
        seen.append(repr(jv.replace(two_bodies, {"gap": gap})))
        return gap

    jax.jit(look)(0.1)
    assert seen[0].startswith("TwoBodyImpact: gap of shape () m")
    many = jax.vmap(lambda gap: jv.replace(two_bodies, {"gap": gap}))(np.linspace(0, 1, 20))
    assert repr(many).startswith("TwoBodyImpact: gap of shape (20,) m")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda two: jv.BeamChain(5, two), "gamma has shape"),
        (lambda two: jv.HertzContact(two), "stiffness has shape"),
        (lambda two: jv.HuntCrossleyContact(1.0, 2.0, two), "exponent has shape"),
    ],
)
def test_an_array_in_place_of_a_number_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build(np.ones(2))
