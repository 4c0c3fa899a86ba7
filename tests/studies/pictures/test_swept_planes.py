"""Checked against: numpy's own grids."""

import dataclasses

import numpy as np
import pytest

from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.pictures.picture import Scale
from jaxvib.studies.pictures.swept_planes import MOST_CELLS, planes
from jaxvib.studies.store.finished_study import Run

PAINT = Scale("value", "sea", 0.0, 1.0)


def run_over(**values):
    """Return a run whose samples are the crossed values, the first path slowest."""
    import xarray

    paths = {name.replace("_", "."): np.asarray(each) for name, each in values.items()}
    crossed = np.meshgrid(*paths.values(), indexing="ij")
    fields = {path: ("sample", c.ravel()) for path, c in zip(paths, crossed, strict=True)}
    size = crossed[0].size
    results = xarray.Dataset(fields | {"result": ("sample", np.zeros(size, int))})
    study = {
        "analysis": "periodic_orbit",
        "grid": {path: len(each) for path, each in paths.items()},
        "coordinates": list(paths),
    }
    return Run("by hand", results, None, study, {}, "")


FREQUENCIES, AMPLITUDES, GAPS = (
    np.arange(5.0, 8.0),
    np.arange(100.0, 500.0, 100),
    [0.1, 0.2],
)


@pytest.mark.parametrize("order", [["load_frequency", "load_amplitude"],
                                   ["load_amplitude", "load_frequency"]])  # fmt: skip
def test_a_cell_shows_its_own_sample_whatever_the_order_of_paths(order):
    values = {"load_frequency": FREQUENCIES, "load_amplitude": AMPLITUDES}
    run = run_over(**{name: values[name] for name in order})
    (plane,) = planes([run])
    assert (plane.x.path, plane.y.path) == ("load.frequency", "load.amplitude")
    (cells,) = plane.cells(run.field("load.frequency") + run.field("load.amplitude"), PAINT)
    np.testing.assert_array_equal(cells.x, FREQUENCIES)
    np.testing.assert_array_equal(cells.y, AMPLITUDES)
    np.testing.assert_array_equal(cells.values, FREQUENCIES + AMPLITUDES[:, None])


def test_a_third_path_is_stepped_through():
    run = run_over(gap=GAPS, load_amplitude=AMPLITUDES, load_frequency=FREQUENCIES)
    (plane,) = planes([run])
    assert plane.choice.options == ("gap 0.1", "gap 0.2")
    layers = plane.cells(run.field("gap"), PAINT)
    assert [layer.option for layer in layers] == [0, 1]
    assert [np.unique(layer.values).tolist() for layer in layers] == [[0.1], [0.2]]


def test_a_fine_grid_of_three_paths_is_thinned_to_a_grid():
    run = run_over(a=np.arange(90.0), b=np.arange(60.0), c=np.arange(40.0))
    (plane,) = planes([run])
    shown = plane.sheets.ravel()
    assert 0.5 * MOST_CELLS**2 < shown.size <= MOST_CELLS**2
    distinct = [np.unique(run.field(path)[shown]) for path in "abc"]
    assert np.prod([len(values) for values in distinct]) == shown.size
    for values, places in zip(distinct, plane.slices.places, strict=True):
        np.testing.assert_array_equal(values, places)
    assert plane.slices.options[0][1] == "a 2"


def test_two_paths_have_no_slices():
    (plane,) = planes([run_over(a=[1.0], b=[1.0, 2.0], c=[1.0, 2.0])])
    assert plane.slices is None


def test_a_fine_grid_is_thinned_and_says_so():
    run = run_over(a=np.arange(2 * MOST_CELLS), b=np.arange(3))
    (plane,) = planes([run])
    assert plane.sheets.shape == (1, MOST_CELLS, 3)
    assert (
        plane.thinned
        == f" Shown: {3 * MOST_CELLS} of {6 * MOST_CELLS} samples (even subsample)."
    )


@pytest.mark.parametrize(("values", "log"), [(np.logspace(0, 3, 7), True),
                                         (np.linspace(1, 1000, 7), False),
                                         (np.logspace(0, 0.5, 7), False)])  # fmt: skip
def test_values_spaced_by_their_logarithm_get_a_logarithmic_axis(values, log):
    (plane,) = planes([run_over(a=[1.0, 2.0], b=values)])
    assert plane.x.log is log
    assert plane.y.log is False


def test_a_path_of_one_value_is_no_axis():
    assert planes([run_over(a=[1.0], b=[1.0, 2.0])]) == []


def test_peaks_of_responses_over_two_paths_are_maps_of_each_body_and_contact():
    run = run_over(load_amplitude=AMPLITUDES, load_frequency=FREQUENCIES)
    size = run.size
    peaks = np.arange(2.0 * size).reshape(size, 2)
    fields = {
        "peak": (("sample", "freedom"), peaks),
        "max_contact_force": (("sample", "contact"), -peaks[:, :1]),
        "instants": (("sample", "time"), np.zeros((size, 2))),
        "displacements": (("sample", "time", "freedom"), np.zeros((size, 2, 2))),
    }
    run = dataclasses.replace(run, results=run.results.assign(fields))
    first, history = ANALYSES["response"].pictures([run])
    assert (first.name, history.name) == ("peaks", "history")
    for chart, values in zip(
        first.charts, (peaks[:, 0], peaks[:, 1], -peaks[:, 0]), strict=True
    ):
        (cells,) = chart.layers
        np.testing.assert_array_equal(cells.values, values.reshape(4, 3))
        assert (cells.paint.low, cells.paint.high) == (values.min(), values.max())
