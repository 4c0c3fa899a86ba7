"""A branch and a design that are written down by hand."""

import numpy as np
import pytest
import xarray

from jaxvib.ensemble import Reason
from jaxvib.studies.store.finished_study import Run

LOADS = np.array([100.0, 110.0, 120.0, 130.0, 140.0])
AXES = {"state": ["x_main", "v_main"], "freedom": ["main", "attached"]}


@pytest.fixture
def branch():
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
