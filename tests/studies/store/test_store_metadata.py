"""Checked against: xarray and zarr alone, in a process that never imports jaxvib."""

import json
import subprocess
import sys

import numpy as np
import pytest

from jaxvib.ensemble import Reason
from jaxvib.studies.store.arrays import Layout, read_layout
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store

RECORD = {
    "title": "four samples",
    "analysis": "periodic_orbit",
    "system": "two_body_impact",
    "config": {"sweep": {"method": "random"}, "run": {"seed": 7}},
    "samples": 4,
    "chunk": 4,
    "grid": {"gap": 2, "load.frequency": 2},
    "coordinates": ["gap", "load.frequency"],
    "axes": {"state": ["x_main", "v_main"]},
    "evidence": "checked",
    "versions": {"jaxvib": "0.1.0"},
    "fingerprint": {"device": "cpu"},
    "git": None,
}
READ = """
import json, sys, warnings
import xarray, zarr
data = xarray.open_zarr(sys.argv[1], mask_and_scale=False)
assert not any(name.startswith("jaxvib") for name in sys.modules)
flags = dict(zip(data.result.flag_values, data.result.flag_meanings.split(), strict=True))
grid = json.loads(data.attrs["grid"])
unfolded = data.set_index(sample=list(grid)).unstack("sample")
print(json.dumps({
    "words": [flags[code] for code in data.result.values.tolist()],
    "verdicts": data.stable.flag_meanings,
    "state": data.attrs["names_of_state"].split(", "),
    "config": data.attrs["config"],
    "seed": data.attrs["seed"],
    "versions": json.loads(data.attrs["versions"]),
    "unit": data["load.frequency"].units,
    "at": float(unfolded.peak.sel({"gap": 0.1, "load.frequency": 5.0})),
    "zarr": zarr.open_group(sys.argv[1]).attrs["title"],
}))
"""


def test_a_store_is_understood_without_jaxvib(tmp_path):
    config = 'title = "four samples"\n\n[run]\nseed = 7\n'
    output = '\n[output]\ndirectory = "here [of mine]"\nreport = true\n'
    store = Store.create(tmp_path, RECORD, config + output)
    codes = np.array([0, 20, 21, Reason.STEP_LIMIT], np.int32)
    store.append(
        0,
        {
            "gap": Variable(("sample",), np.array([0.1, 0.1, 0.2, 0.2]), "m"),
            "load.frequency": Variable(("sample",), np.array([5.0, 6, 5, 6]), "rad/s"),
            "peak": Variable(("sample",), np.arange(4.0), "N"),
            "stable": Variable(("sample",), np.array([1, 0, -1, -1], np.int8)),
            "result": Variable(("sample",), codes),
        },
    )
    store.finish()
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "results.zarr")],
        cwd=tmp_path, env={"PATH": ""}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {
        "words": ["success", "quasi_periodic", "chaotic", "step_limit"],
        "verdicts": "undecided unstable stable",
        "state": ["x_main", "v_main"],
        "config": config,
        "seed": "7",
        "versions": {"jaxvib": "0.1.0"},
        "unit": "rad/s",
        "at": 0.0,
        "zarr": "four samples",
    }


@pytest.mark.parametrize("bad", [[True], [1.5], ["a"], [[1]], {"a": 1}])
def test_flags_are_read_back_and_anything_else_is_not(bad):
    layout = Layout((2,), (2,), np.dtype("i1"), ("sample",), {"flag_values": [-1, 0, 1]})
    assert read_layout(layout.metadata(), "it") == layout
    wrong = json.loads(layout.metadata()) | {"attributes": {"flag_values": bad}}
    with pytest.raises(OSError, match="does not describe an array"):
        read_layout(json.dumps(wrong).encode(), "it")
