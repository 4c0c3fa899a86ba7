"""Small studies and one browser for all tests of the reports."""

import numpy as np
import pytest

from jaxvib.ensemble import Reason
from jaxvib.reports import write_report
from jaxvib.studies.store.finished import Run

from . import small_studies
from .browser import CHROMIUM, DRIVER, MISSING, Browser, driver

FREQUENCIES = np.linspace(5, 8, 8)  # rad/s
AMPLITUDES = np.linspace(100, 500, 6)  # N
FAILED = 5  # the sample that is marked so
LOADS = np.array([100.0, 110.0, 120.0, 130.0, 140.0])
AXES = {"state": ["x_main", "v_main"], "freedom": ["main", "attached"]}


@pytest.fixture(scope="session")
def map_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "first"
    return small_studies.write_map_study(
        directory, FREQUENCIES, AMPLITUDES, failed=(FAILED,)
    )


@pytest.fixture(scope="session")
def other_map_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "second"
    return small_studies.write_map_study(directory, FREQUENCIES, AMPLITUDES, failed=(9,))


@pytest.fixture(scope="session")
def random_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "random"
    return small_studies.write_random_study(directory)


@pytest.fixture(scope="session")
def sweep_study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("studies") / "sweep"
    return small_studies.write_map_study(directory, FREQUENCIES, AMPLITUDES[-1:])


@pytest.fixture(scope="session")
def map_report(map_study):
    return write_report(map_study)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if CHROMIUM is None or DRIVER is None:
        pytest.skip(MISSING)
    with driver() as address:
        window = Browser(address, tmp_path_factory.mktemp("profile"))
        yield window
        window.close()


@pytest.fixture
def branch():
    import xarray

    fields = {
        "amplitude": (("point", "freedom"), np.outer(LOADS, [1e-3, 2e-3])),
        "largest_multiplier": ("point", [1.0, 0.9, 0.8, 1.1, 1.2]),
        "stable": ("point", [-1, 1, 1, 0, 0]),
        "contacts": ("point", [1, 1, 2, 2, 2]),
        "max_contact_force": ("point", 10 * LOADS),
        "predictor_error": ("point", [np.nan, 0.0, 1e-3, 1e-4, 1e-5]),
        "result": ("point", [0] * 5),
        "periods": ((), 1),
        "states": (("point", "state"), np.outer(LOADS, [1e-3, 1e-2])),
        "floquet_multipliers": (
            ("point", "multiplier"),
            np.outer([1.0, 0.9, 0.8, 1.1, 1.2], [0.6 + 0.8j, 0.6 - 0.8j]),
        ),
        "bifurcation.kind": ("bifurcation", [4, 1]),
        "bifurcation.parameter": ("bifurcation", [115.0, 129.0]),
        "bifurcation.state": (
            ("bifurcation", "state"),
            np.outer([114.0, 129.0], [1e-3, 1e-2]),
        ),
        "ends": ("end", [int(Reason.SINGULAR), int(Reason.PARAMETER_BOUND)]),
    }
    loads = xarray.Variable("point", LOADS, {"units": "N"})
    results = xarray.Dataset(fields, {"load.amplitude": loads})
    study = {"analysis": "continuation", "system": "two_body_impact", "title": "A branch",
             "coordinates": ["load.amplitude"], "axes": AXES, "config": {}}  # fmt: skip
    return Run("branch", results, None, study, {}, "")


@pytest.fixture
def design():
    import xarray

    fields = {
        "objective": xarray.Variable("step", [3.0, 1.0, 2.0], {"units": "m"}),
        "gap": xarray.Variable("step", [0.1, 0.2, 0.3], {"units": "m"}),
        "gradient.gap": ("step", [-20.0, 0.0, 10.0]),
        "result": ((), 0),
    }
    options = {"objective": "amplitude", "component": 1}
    study = {"analysis": "design", "system": "two_body_impact", "title": "A design",
             "coordinates": [], "axes": AXES, "config": {"analysis": options}}  # fmt: skip
    return Run("design", xarray.Dataset(fields), None, study, {}, "")
