"""Checked against: regimes that are written down by hand."""

import numpy as np
import pytest

from jaxvib.ensemble import Reason
from jaxvib.studies.pictures.curves import sweep_curves
from jaxvib.studies.pictures.regimes import (
    regimes_text,
    sort_by_regime,
    sort_by_verdict,
)
from jaxvib.studies.store.finished_study import Run


def run_of(**fields):
    import xarray

    results = xarray.Dataset({name: ("sample", values) for name, values in fields.items()})
    study = {"analysis": "periodic_orbit", "system": "", "coordinates": []}
    return Run("by hand", results, None, study, {}, "")


RUN = run_of(
    result=[0, 0, 0, Reason.CHAOTIC, Reason.QUASI_PERIODIC, Reason.NOT_CONVERGED,
            Reason.DIVERGED, Reason.STEP_LIMIT, 0],
    periods=[1, 2, 1, 1, 1, 1, 0, 0, 1],
    contacts=[1, 3, 0, 9, 9, 9, 0, 0, 1],
    stable=[1, 0, -1, -1, -1, -1, -1, -1, 1],
)  # fmt: skip


def test_regimes_are_named_by_period_and_contacts():
    sorting = sort_by_regime([RUN])
    assert sorting.classes.names == (
        "period 1 with 0 contacts", "period 1 with 1 contact", "period 2 with 3 contacts",
        "quasi-periodic", "chaotic", "not converged (undecided)", "failed",
    )  # fmt: skip
    assert [share.counts for share in sorting.shares] == [
        (1,),
        (2,),
        (1,),
        (1,),
        (1,),
        (1,),
        (2,),
    ]
    np.testing.assert_array_equal(sorting.members[0], [1, 2, 0, 4, 3, 5, 6, 6, 1])


def test_verdicts_are_sorted_apart_from_motions_without_one():
    sorting = sort_by_verdict([RUN])
    assert sorting.classes.names == (
        "unstable", "undecided", "stable", "quasi-periodic", "chaotic", "failed",
    )  # fmt: skip
    assert sum(share.counts[0] for share in sorting.shares) == 9


@pytest.mark.parametrize("field", ["contact_duration", "max_contact_force"])
def test_a_motion_that_never_leaves_its_contact_is_not_called_one_without(field):
    sorting = sort_by_regime(
        [run_of(result=[0, 0, 0, 0], periods=[1, 1, 6, 2], contacts=[0, 0, 0, 1],
                **{field: [0.0, 0.5, 0.5, 0.5]})]
    )  # fmt: skip
    assert sorting.classes.names == (
        "period 1, always in contact", "period 1 with 0 contacts",
        "period 2 with 1 contact", "period 6, always in contact",
    )  # fmt: skip
    assert [share.hatch for share in sorting.shares] == ["/", "", "-", "/"]


def test_periods_are_told_by_hatches_as_well_as_by_colours():
    periods = np.array([1, 1, 2, 3, 4, 7])
    run = run_of(result=0 * periods, periods=periods, contacts=periods, stable=0 * periods)
    sorting = sort_by_regime([run])
    hatches = np.array(sorting.classes.hatches)[sorting.members[0]]
    assert hatches.tolist() == ["", "", "-", "|", "+", "+"]


def test_a_system_at_rest_has_a_class_of_its_own():
    still = run_of(result=[Reason.EQUILIBRIUM, 0], periods=[-1, 1], contacts=[-1, 0],
                   stable=[-1, 1])  # fmt: skip
    sorting = sort_by_regime([still])
    assert sorting.classes.names == ("period 1 with 0 contacts", "at rest")
    assert not still.failed.any()


def test_two_runs_share_their_classes():
    other = run_of(result=[0], periods=[3], contacts=[4], stable=[1])
    sorting = sort_by_regime([RUN, other])
    assert sorting.classes.names[3] == "period 3 with 4 contacts"
    assert sorting.members[1].tolist() == [3]
    assert sorting.shares[3].counts == (0, 1)
    assert sum(share.counts[0] for share in sorting.shares) == RUN.size


def test_no_two_classes_look_alike_and_each_regime_keeps_its_name():
    pairs = [(periods, contacts) for periods in range(1, 9) for contacts in range(12)]
    periods, contacts = np.array(pairs).T
    none = np.zeros(len(pairs), int)
    many = run_of(result=none, periods=periods, contacts=contacts, stable=none)
    sorting = sort_by_regime([many])
    looks = list(zip(sorting.classes.colours, sorting.classes.hatches, strict=True))
    assert len(set(looks)) == len(looks) == len(sorting.classes.names) < 16
    assert len(sorting.regimes) == len(set(sorting.regimes)) == len(pairs)
    names = np.array(sorting.classes.names)[sorting.members[0]]
    assert names[pairs.index((1, 3))] == "period 1 with 3 contacts"
    assert names[pairs.index((1, 7))] == "period 1 with 4 or more contacts"
    assert names[pairs.index((3, 2))] == "period 3 with up to 3 contacts"
    assert names[pairs.index((6, 2))] == "period 5 or more"
    exact = np.array(sorting.regimes)[sorting.exact[0]]
    assert exact[pairs.index((6, 2))] == "period 6 with 2 contacts"


def test_failed_samples_are_those_with_a_failing_reason():
    np.testing.assert_array_equal(RUN.failed, [False] * 6 + [True, True, False])


@pytest.mark.parametrize(("period", "said"), [(None, True), (1.5, False)])
def test_pictures_of_limit_cycles_do_not_speak_of_loads(period, said):
    import xarray

    speed = xarray.Variable("sample", [0.1, 0.2], {"units": "m/s"})
    fields = {
        name: xarray.Variable("sample", [1.0, 2.0], {"units": "1"})
        for name in ("largest_multiplier", "max_contact_force", "contacts_per_period",
                     "progress", "result", "periods", "contacts")
    }  # fmt: skip
    for name in ("result", "periods", "contacts"):
        fields[name] = xarray.Variable("sample", [0, 0])
    fields["amplitude"] = xarray.Variable(("sample", "freedom"), [[1.0], [2.0]])
    study = {"analysis": "periodic_orbit", "system": "", "coordinates": ["speed"],
             "config": {"analysis": {"period": period}}}  # fmt: skip
    run = Run("by hand", xarray.Dataset(fields, {"speed": speed}), None, study, {}, "")
    pictures = sweep_curves([run])
    words = [regimes_text([run]), *(picture.text for picture in pictures)]
    words += [chart.y.label for picture in pictures for chart in picture.charts]
    assert any("load period" in text for text in words) is said
