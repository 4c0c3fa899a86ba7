"""Checked against: a branch and a design that are written down by hand."""

import dataclasses

import numpy as np
import pytest
import xarray

from jaxvib.studies.analyses.kinds.continuation.charts import loading_curve
from jaxvib.studies.analyses.kinds.continuation.stability_chart import stability_charts
from jaxvib.studies.analyses.kinds.design.charts import design_history
from jaxvib.studies.pictures.picture import Followers, Line, Notes

AXES = ("curve", "curve_point")


def lines(chart):
    return {
        layer.name: layer
        for layer in chart.layers
        if isinstance(layer, Line) and (layer.marks or layer.legend) and len(layer.x) > 1
    }


def test_lines_are_solid_where_stable_and_dashed_where_not(branch):
    found = lines(loading_curve([branch]).charts[1])
    assert [found[word].style for word in ("stable", "unstable", "undecided")] == [
        "solid", "dash", "dot"
    ]  # fmt: skip
    # On the way the number of contacts changes at 115 N, and the period doubles at 129 N.
    nan, grazing = np.nan, found["stable"].y[2]
    assert 0.8 < grazing < 0.9
    stable = [nan, 0.9, grazing, grazing, 0.8, 1.0, nan, nan, nan]
    np.testing.assert_array_equal(found["stable"].y, stable)
    np.testing.assert_array_equal(found["stable"].x[[2, 3, 5, 6]], [115, 115, 129, 129])
    unstable = [nan] * 6 + [1.0, 1.1, 1.2]
    np.testing.assert_array_equal(found["unstable"].y, unstable)
    # Nothing was located between the undecided point and the first stable one.
    np.testing.assert_array_equal(found["undecided"].y, [1.0, 0.9] + [nan] * 7)


def test_changes_of_the_contacts_and_ends_are_noted(branch):
    picture = loading_curve([branch])
    *_, changes, ends = (
        layer for layer in picture.charts[0].layers if isinstance(layer, Notes)
    )
    assert changes.texts == ("1 → 2 contacts",)
    assert (changes.x.tolist(), changes.y.tolist()) == ([120.0], [0.12])
    assert ends.texts[0] == "M - I is singular: a fold, a branch point or one of a family"
    assert "ends at 100 N (M - I is singular" in picture.text


def test_each_kind_of_bifurcation_has_its_mark(branch):
    grazing, doubling, *_ = (
        layer
        for layer in loading_curve([branch]).charts[0].layers
        if isinstance(layer, Notes)
    )
    assert (doubling.name, grazing.name) == ("period doubling", "grazing")
    assert doubling.symbol != grazing.symbol
    assert grazing.texts == ("grazing at 115 N",) * 2  # on the lines of both bodies
    # On the line, at the place that is most like it.
    places = [*doubling.y, *grazing.y]
    np.testing.assert_allclose(places, [0.129, 0.258, 0.1145, 0.229], rtol=2e-3)


def test_each_freedom_has_its_amplitude(branch):
    found = next(
        layer
        for layer in loading_curve([branch]).charts[0].layers
        if (layer.name, layer.style) == ("attached", "solid")
    )
    np.testing.assert_array_equal(found.y[[1, 4]], [0.22, 0.24])


def test_the_multipliers_of_the_point_that_is_looked_at_stand_in_the_plane(branch):
    charts = loading_curve([branch]).charts
    plane = charts[3]
    [marks] = (layer for layer in plane.layers if isinstance(layer, Followers))
    assert plane.equal
    assert marks.first == 4
    # Bifurcations have those of the points beside them.
    moduli = [1.0, 0.9, 0.9, 0.8, 0.8, 0.8, 1.1, 1.1, 1.2]
    np.testing.assert_allclose(marks.x, np.outer(moduli, [0.6, 0.6]))
    np.testing.assert_allclose(marks.y[8], [0.96, -0.96])
    # The pointer at point i of any line moves them to their places i.
    followed = [layer for chart in charts for layer in lines(chart).values() if layer.marks]
    assert {len(line.x) for line in followed} == {len(marks.x)}
    assert lines(charts[4])


def test_curves_of_bifurcations_make_a_stability_chart(branch):
    assert stability_charts([branch]) == []
    fields = {
        "curve.kind": ("curve", [0, 1]),
        "curve.ends": (("curve", "end"), [[40, 40], [40, 41]]),
        "curve.level": ((), 5.8),
        "curve.load.amplitude": (AXES, [[100, 110, 120], [90, 95, np.nan]]),
        "curve.load.frequency": (AXES, [[5, 6, 7], [5.5, 6, np.nan]]),
        "special.kind": ("special", [0], {"meaning": "0 cusp"}),
        "special.curve": ("special", [0]),
        "special.load.amplitude": ("special", [110.0]),
        "special.load.frequency": ("special", [6.0]),
    }  # fmt: skip
    options = {"path": "load.amplitude", "second_path": "load.frequency"}
    study = {**branch.study, "config": {"analysis": options}}
    run = dataclasses.replace(branch, results=branch.results.assign(fields), study=study)
    [picture] = stability_charts([run])
    [chart] = picture.charts
    found = lines(chart)
    assert found["fold"].x.tolist() == [100, 110, 110, 120]  # the cusp is on it
    assert found["period doubling"].y[:2].tolist() == [5.5, 6]
    assert set(found["the branch"].y) == {5.8}
    assert found["the branch"].x.max() == 123.0  # a tenth of the curves' range beyond them
    unknown = run.results["curve.load.amplitude"] * np.nan
    empty = run.results.assign({"curve.load.amplitude": unknown})
    [other] = stability_charts([dataclasses.replace(run, results=empty)])
    branch_alone = lines(other.charts[0])["the branch"].x
    np.testing.assert_array_equal(branch_alone, branch.field("load.amplitude"))
    [cusp] = (layer for layer in chart.layers if isinstance(layer, Notes))
    assert cusp.texts == ("cusp at 110, 6",)
    assert "reached the maximum number of points" in picture.text


def test_two_branches_are_distinguished_by_name(branch):
    names = {layer.name for layer in loading_curve([branch, branch]).charts[0].layers}
    assert {"branch, main", "branch, attached", "stable"} <= names


def test_a_design_shows_objective_and_what_was_tuned(design):
    picture = design_history([design])
    assert [chart.y.label for chart in picture.charts] == [
        "half peak-to-peak of attached (m)", "gap (m)"
    ]  # fmt: skip
    assert "3 to 1 m; least value at evaluation 1" in picture.text


def test_bifurcations_on_a_small_part_of_the_axis_have_a_chart_of_their_own(branch):
    loads = branch.results["load.amplitude"].copy(data=[100.0, 110.0, 120.0, 130.0, 900.0])
    wide = dataclasses.replace(
        branch, results=branch.results.assign_coords({"load.amplitude": loads})
    )
    assert len(loading_curve([wide]).charts) == len(loading_curve([branch]).charts) + 1
    whole, near = loading_curve([wide]).charts[:2]
    assert whole.x.low is None
    assert 90 < near.x.low < 115 < 129 < near.x.high < 200  # both bifurcations
    assert near.layers == whole.layers


@pytest.mark.parametrize("seed", range(10))
def test_no_stable_line_passes_the_limit_where_bifurcations_are_located(branch, seed):
    rng = np.random.default_rng(seed)
    loads, multipliers = np.arange(100.0, 112.0), rng.uniform(0.3, 1.7, 12)
    crossed = np.flatnonzero(np.diff(multipliers < 1))
    share = (1 - multipliers[crossed]) / np.diff(multipliers)[crossed]
    places = loads[crossed] + share
    point, other = ("point",), ("bifurcation",)
    fields = {
        "amplitude": ((*point, "freedom"), np.outer(loads, [1e-3, 2e-3])),
        "largest_multiplier": (point, multipliers),
        "stable": (point, (multipliers < 1).astype(int)),
        "contacts": (point, np.ones(12, int)),
        "max_contact_force": (point, loads),
        "predictor_error": (point, np.full(12, 1e-3)),
        "states": ((*point, "state"), np.outer(loads, [1e-3, 1e-2])),
        "floquet_multipliers": ((*point, "multiplier"), np.outer(multipliers, [1.0, 0.1])),
        "bifurcation.kind": (other, rng.integers(0, 4, len(places))),
        "bifurcation.parameter": (other, places),
        "bifurcation.state": ((*other, "state"), np.outer(places, [1e-3, 1e-2])),
        "ends": ("end", [0, 0]),
    }
    path = xarray.Variable("point", loads, {"units": "N"})
    results = xarray.Dataset(fields, {"load.amplitude": path})
    charts = loading_curve([dataclasses.replace(branch, results=results)]).charts
    (chart,) = (each for each in charts if "multiplier|" in each.y.label)
    for layer in chart.layers:
        assert getattr(layer, "name", "") != "undecided"
        if isinstance(layer, Line) and len(layer.x) > 1:
            known = layer.y[np.isfinite(layer.y)]
            assert layer.style != "solid" or known.max() <= 1
            assert layer.style != "dash" or known.min() >= 1
