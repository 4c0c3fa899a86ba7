"""Checked against: basins and a diagram that are written down by hand."""

import numpy as np
import pytest

from jaxvib.ensemble import Reason
from jaxvib.reports.files import picture_files
from jaxvib.studies.analyses.kinds import basins, integrity_curves
from jaxvib.studies.analyses.kinds import bifurcation_diagram as diagram
from jaxvib.studies.pictures.picture import Line, Notes
from jaxvib.studies.store.finished_study import Run

STATE = ["body", "rate of body"]


@pytest.fixture
def plane():
    import xarray

    label = np.array([0, 1, 1, -1, 1, 1])
    nan = np.nan
    fields = {
        "starts": (("start", "state"), np.zeros((36, 2)), {"component_units": "m, m/s"}),
        "label": ("start", np.tile(label, 6)),
        "periods_run": ("start", np.full(36, 16)),
        "result": ("start", np.where(np.tile(label, 6) < 0, Reason.NOT_CONVERGED, 0)),
        "share": ("attractor", [1 / 6, 4 / 6]),
        "share_error": ("attractor", [0.062, 0.079]),
        "undecided": ((), 1 / 6),
        "attractors.result": ("attractor", [0, int(Reason.CHAOTIC)]),
        "attractors.period": ("attractor", [4.0, np.nan]),
        "attractors.periods": ("attractor", [2, 0]),
        "attractors.contacts": ("attractor", [1, -1]),
        "attractors.max_contact_force": ("attractor", [0.0, 1.0]),
        "attractors.points": (
            ("attractor", "point", "state"),
            [[[1.0, 10.0], [2.0, 20.0], [nan, nan]], [[3.0, 30.0]] * 3],
        ),
    }
    grid = {"rate of body": [-20.0, 20.0], "body": [-2.0, 2.0]}
    study = {
        "analysis": "basins", "system": "impact_assembly", "title": "By hand",
        "coordinates": [], "axes": {"state": STATE},
        "config": {"analysis": {"grid": grid, "points": 6}},
    }  # fmt: skip
    return Run("plane", xarray.Dataset(fields), None, study, {}, "")


@pytest.fixture
def swept():
    import xarray

    values = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    states = np.full((6, 4, 2), np.nan)
    states[:, 0], states[1, 1], states[4] = 1.0, 2.0, 3.0
    units = {"component_units": "m, m/s"}
    fields = {
        "states": (("value", "point", "state"), states, units),
        "periods": ("value", [1, 2, 1, 1, 0, 1]),
        "contacts": ("value", [0, 1, 0, 0, -1, 0]),
        "lyapunov_exponent": ("value", [-1.0, -2.0, -3.0, -3.0, 0.5, -1.0]),
        "lyapunov_error": ("value", [0.0, 0.0, 0.0, 0.0, 0.1, np.nan]),
        "result": ("value", [0, 0, 0, 0, int(Reason.CHAOTIC), 0]),
        "sweep": ("value", [1, 1, 1, 2, 2, 2]),
    }
    path = xarray.Variable("value", values, {"units": "N"})
    study = {"analysis": "bifurcation_diagram", "coordinates": ["load.amplitude"],
             "axes": {"state": STATE}, "config": {}}  # fmt: skip
    results = xarray.Dataset(fields, {"load.amplitude": path})
    return Run("swept", results, None, study, {}, "")


@pytest.fixture
def curves():
    import xarray

    nan = np.nan
    names = {"attractors": "A1: period 1, 0 contacts; A2: chaotic"}
    of_each = ("value", "attractor")
    fields = {
        "share": (of_each, [[0.75, 0.25], [1.0, nan]], names),
        "integrity_factor": (of_each, [[0.5, 0.125], [1.0, nan]]),
        "local_integrity": (of_each, [[0.25, 0.0625], [nan, nan]]),
        "factor_at_edge": (of_each, [[0.0, 0.0], [1.0, nan]]),
        "local_at_edge": (of_each, [[0.0, 0.0], [nan, nan]]),
        "entropy": ("value", [0.25, 0.0]),
        "boundary_entropy": ("value", [0.5, nan]),
        "undecided": ("value", [0.0, 0.0]),
        "shock.size": (of_each, [[0.75, 0.5], [nan, nan]]),
        "result": ("value", [0, 0]),
    }
    path = xarray.Variable("value", [100.0, 200.0], {"units": "N"})
    study = {"analysis": "integrity_curves", "coordinates": ["load.amplitude"],
             "axes": {"state": STATE},
             "config": {"analysis": {"shock": {"body": 0.5}}}}  # fmt: skip
    results = xarray.Dataset(fields, {"load.amplitude": path})
    return Run("curves", results, None, study, {}, "")


def test_integrity_curves_have_a_line_for_each_attractor_in_each_chart(curves):
    (picture,) = integrity_curves.pictures([curves])
    shares, measures, entropies, shocks = picture.charts
    assert shares.x.label == "load amplitude, 0-peak (N)"
    assert [line.name for line in shares.layers] == [
        "A1: period 1, 0 contacts", "A2: chaotic"
    ]  # fmt: skip
    np.testing.assert_array_equal(shares.layers[1].y, [0.25, np.nan])
    np.testing.assert_array_equal(measures.layers[2].y, [0.25, np.nan])
    assert [line.style for line in measures.layers] == ["solid", "solid", "dot", "dot"]
    np.testing.assert_array_equal(entropies.layers[1].y, [0.5, np.nan])
    np.testing.assert_array_equal(shocks.layers[0].y, [0.75, np.nan])
    assert "lower bounds (1 of 5)" in picture.text
    assert "smallest shock that leaves a basin (body in units of 0.5)" in picture.text
    assert "A2: chaotic: from 100 to 100." in picture.alt


def test_basins_lie_on_the_plane_as_the_grid_was_made(plane):
    (picture,) = basins.pictures([plane])
    chart = picture.charts[0]
    assert chart.x.label == "rate of body at t = 0 (m/s)"
    assert chart.y.label == "body at t = 0 (m)"
    cells = chart.layers[0]
    # The first component varies slowest: along x every label is the same.
    np.testing.assert_array_equal(cells.values[:, 0], [0, 1, 1, 2, 1, 1])
    np.testing.assert_array_equal(cells.x, np.linspace(-20, 20, 6))


def test_attractors_are_marked_by_their_own_states(plane):
    first, second = (
        layer
        for layer in basins.pictures([plane])[0].charts[0].layers
        if isinstance(layer, Notes)
    )
    assert (first.name, second.name) == ("A1", "A2")
    np.testing.assert_array_equal(first.x, [10.0, 20.0])
    np.testing.assert_array_equal(first.y, [1.0, 2.0])


def test_the_legend_has_shares_with_errors_and_the_undecided(plane):
    names = [share.name for share in basins.pictures([plane])[0].shares]
    assert names == [
        "A1: period 2, 1 contact, 16.7% ± 6.2%",
        "A2: chaotic, 66.7% ± 7.9%",
        "undecided, 16.7%",
    ]


def test_the_caption_has_entropy_integrity_and_shocks_if_they_are_stored(plane):
    assert "ntropy" not in basins.pictures([plane])[0].text
    plane.study["config"]["analysis"] |= {"box": 3, "shock": {"body": 0.5}}
    numbers = {
        "robustness.entropy": 0.25, "robustness.entropy_error": 0.03,
        "robustness.boundary_entropy": 0.5, "robustness.boundary_entropy_error": 0.04,
    }  # fmt: skip
    plane.results.update(numbers)
    plane.results["robustness.integrity_factor"] = "attractor", [0.125, 0.5]
    plane.results["robustness.factor_at_edge"] = "attractor", [False, True]
    plane.results["shock.size"] = "attractor", [0.75, np.nan]
    caption = basins.pictures([plane])[0].text
    assert "Basin entropy 0.25 +- 0.03, boundary 0.5 +- 0.04." in caption
    assert "A1 0.125, A2 >= 0.5." in caption
    assert "(body in 0.5): A1: smallest shock 0.75; A2: no shock to 1." in caption


def test_a_diagram_has_a_point_for_each_state_and_the_exponent_underneath(swept):
    (picture,) = diagram.pictures([swept])
    above, below = picture.charts
    assert picture.stacked
    assert len(above.layers[0].x) == 10
    assert (above.y.label, above.x) == ("body (m)", below.x)  # one range for both
    assert below.y.label == "largest Lyapunov exponent (1/s)"
    lines = [layer for layer in below.layers if isinstance(layer, Line)]
    up, *_, down, lower, upper, zero = lines
    assert (up.name, down.name) == ("followed up", "followed down")
    np.testing.assert_array_equal(down.y, [-1.0, 0.5, -3.0])
    np.testing.assert_array_equal(lower.y, [np.nan, 0.5 - 0.196, -3.0])
    np.testing.assert_array_equal(upper.y, [np.nan, 0.5 + 0.196, -3.0])
    np.testing.assert_array_equal(zero.y, 0.0)


def test_a_diagram_counts_its_motions_by_regime(swept):
    counts = {share.name: share.counts for share in diagram.pictures([swept])[0].shares}
    assert counts == {
        "period 1 with 0 contacts": (4,), "period 2 with 1 contact": (1,), "chaotic": (1,)
    }  # fmt: skip


def test_all_are_drawn_as_files(plane, swept, curves):
    drawn = (
        basins.pictures([plane]),
        diagram.pictures([swept]),
        integrity_curves.pictures([curves]),
    )
    files = dict(picture_files([picture for each in drawn for picture in each]))
    assert [name for name in files if name.endswith(".png")] == [
        "basins.png", "bifurcation_diagram.png", "integrity_curves.png"
    ]  # fmt: skip
