"""Checked against: the gaps and directions that the configs were given."""

import numpy as np
import pytest
import xarray

from jaxvib.studies.pictures.motion import contact_labels, motion, stops
from jaxvib.studies.store.finished_study import Run

CARTS = ["cart", "wagon"]
WALL, BUFFER = {"at": {"wagon": -2.0}, "gap": 0.05}, {"at": "cart", "gap": 0.04}


def run_with(contacts, swept=()):
    """Return a study of two samples and two contacts, with a stored motion of each."""
    sampled = {
        "result": np.zeros(2, int), "contacts": np.ones(2, int), **dict(swept),
    }  # fmt: skip
    results = {name: xarray.Variable("sample", values) for name, values in sampled.items()}
    times = np.tile(np.linspace(0, 1, 5), (2, 1))
    states = np.random.default_rng(0).normal(size=(2, 5, 4))
    force = np.abs(states[..., : len(contacts)])
    traces = {
        "sample": xarray.Variable("trace", np.arange(2)),
        "times": xarray.Variable(("trace", "time"), times),
        "states": xarray.Variable(("trace", "time", "state"), states),
        "contact_force": xarray.Variable(("trace", "time", "contact"), force),
    }
    study = {
        "config": {"system": {"contacts": contacts}},
        "axes": {"freedom": CARTS, "contact": list(contacts)},
        "coordinates": list(dict(swept)),
    }
    return Run("carts", results, traces, study, {}, "")


def test_a_stop_is_where_its_body_closes_the_gap():
    wall, buffer = stops(run_with({"wall": WALL, "buffer": BUFFER}), CARTS)
    assert (wall.contact, wall.body, wall.side) == (0, 1, -1)
    assert (buffer.contact, buffer.body, buffer.side) == (1, 0, 1)
    # The contact closes when the gap 0.05 m is -2 times the displacement.
    assert wall.places.tolist() == [-0.025, -0.025]
    assert buffer.places.tolist() == [0.04, 0.04]


def test_a_swept_gap_moves_its_stop():
    gaps = np.array([0.05, 0.08])
    run = run_with({"buffer": BUFFER}, {"contacts.buffer.gap": gaps})
    [stop] = stops(run, CARTS)
    np.testing.assert_array_equal(stop.places, gaps)


@pytest.mark.parametrize(
    "contact",
    [
        {"at": {"cart": 1.0, "wagon": -1.0}, "gap": 0.05},  # between two bodies
        {"at": {"tip": 1.0}, "gap": 0.05},  # a point of a structure
        {"at": "cart", "gap": "0.5 * width"},  # a formula
        {"at": "cart"},
    ],
)
def test_no_stop_is_drawn_where_none_is_known(contact):
    assert stops(run_with({"contact": contact}), CARTS) == []


def test_the_phase_plane_has_the_stops_in_the_colours_of_their_forces():
    run = run_with({"wall": WALL, "buffer": BUFFER})
    plane, over_time, strongest = motion([run]).charts
    forces = {line.name: line.colour for line in over_time.layers}
    assert list(forces) == ["contact wall", "contact buffer"]
    assert len(set(forces.values()) | {line.colour for line in plane.layers[:2]}) == 4
    walls = {line.name: line for line in plane.layers if line.style == "dot"}
    assert {name: wall.colour for name, wall in walls.items()} == forces
    assert walls["contact wall"].x.tolist() == [-0.025, -0.025]
    largest = int(np.argmax(run.traces["contact_force"].values[0].max(0)))
    assert strongest.layers[0].colour == list(forces.values())[largest]


def test_contacts_without_a_name_have_numbers():
    run = run_with({})
    assert contact_labels(run, 2) == ["contact 1", "contact 2"]
