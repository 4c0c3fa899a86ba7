"""Checked against: closed forms of the Hopf normal form and of a cubic fold."""

import equinox as eqx
import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray

import jaxvib as jv
from jaxvib.branches.curves import CodimensionTwoPoint
from jaxvib.branches.equations.point import at
from jaxvib.foundation.arrays import to_jax
from jaxvib.orbits.periodic_orbit import unknown_orbits

mpl.use("Agg")
pytestmark = pytest.mark.slow  # compiles branches of its own, 12 s

# r' = p r - r^3: a point at rest, and from p = 0 on a circle of radius sqrt(p).
circle = jv.autonomous_system(
    lambda x, p: [
        p["p"] * x[0] - x[1] - x[0] * (x[0] ** 2 + x[1] ** 2),
        x[0] + p["p"] * x[1] - x[1] * (x[0] ** 2 + x[1] ** 2),
    ],
    parameters={"p": -0.5},
    dimension=2,
    states=("x", "y"),
)
# p = x^3 - x turns back at x = -+1 / sqrt(3).
cubic = jv.autonomous_system(
    lambda x, p: [p["p"] + x[0] - x[0] ** 3],
    parameters={"p": -1.0},
    dimension=1,
    states=("height",),
)


@pytest.fixture(autouse=True)
def closed_afterwards():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def at_rest():
    return jv.continue_equilibrium(circle, jv.equilibrium(circle), "p", (-1.0, 1.0))


@pytest.fixture(scope="module")
def around(at_rest):
    (hopf,) = at_rest.bifurcations
    return jv.branches.switch_branch(circle, hopf, (-1.0, 1.0))


@pytest.fixture(scope="module")
def folded():
    point = jv.equilibrium(cubic, [-1.3])
    return jv.continue_equilibrium(cubic, point, "p", (-1.0, 1.0))


def lines(axes):
    return [
        line.get_xydata() for line in axes.get_lines() if line.get_linestyle() != "None"
    ]


def marks(axes):
    return {
        line.get_label(): line.get_xydata()
        for line in axes.get_lines()
        if line.get_linestyle() == "None"
    }


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_equilibria_and_cycles_have_one_true_axis_and_one_legend(at_rest, around):
    axes = jv.branches.plot_branches([at_rest, around], components=["x"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("p", "lowest and highest x")
    names = [name for name in legend(axes) if name != "undecided"]
    assert names == ["equilibria", "cycles", "stable", "unstable", "hopf"]
    low, high = (
        each for each in lines(axes) if len(each) > 1 and np.isfinite(each).all()
    )  # fmt: skip
    radius = np.sqrt(np.asarray(around.parameter))
    # Extremes are those of the steps' polynomials.
    np.testing.assert_allclose(high[:, 1], radius, rtol=1e-7)
    np.testing.assert_allclose(low[:, 1], -radius, rtol=1e-7)
    np.testing.assert_allclose(marks(axes)["hopf"], [[0.0, 0.0]], atol=1e-10)


def test_the_norm_of_a_cycle_is_its_root_mean_square(at_rest, around):
    both = {"measure": "norm", "system": circle}
    axes = around.plot(**both)
    radius = np.sqrt(np.asarray(around.parameter))
    np.testing.assert_allclose(lines(axes)[0][:, 1], radius, rtol=1e-7)
    axes = around.plot(**both, components=["y"])
    np.testing.assert_allclose(lines(axes)[0][:, 1], radius / np.sqrt(2), rtol=1e-7)
    assert axes.get_ylabel() == "root mean square of y"
    axes = jv.branches.plot_branches([at_rest, around], **both)
    both_labels = "norm of the state / norm of the state, root mean square"
    assert axes.get_ylabel() == both_labels
    rest = lines(axes)[0][:, 1]
    np.testing.assert_allclose(rest[np.isfinite(rest)], 0.0, atol=1e-12)


def test_a_branch_is_drawn_by_period_field_or_function(around):
    axes = around.plot(measure="period")
    np.testing.assert_allclose(lines(axes)[0][:, 1], 2 * np.pi, rtol=1e-9)
    assert axes.get_ylabel() == "period of the cycle (s)"
    # The multiplier of r = sqrt(p) is exp(-2 p 2 pi).
    p = np.asarray(around.parameter)
    found = lines(around.plot(measure="largest_multiplier"))[0]
    np.testing.assert_allclose(found[:, 1], np.exp(-4 * np.pi * p), rtol=1e-6, atol=1e-10)

    def squared(cycle):
        return cycle.amplitude[0] ** 2

    axes = around.plot(measure=squared)
    assert axes.get_ylabel() == "squared"
    np.testing.assert_allclose(lines(axes)[0][:, 1], p, rtol=1e-7)


def test_marks_are_points_of_the_line_and_the_style_changes_there(folded):
    axes = folded.plot()
    assert axes.get_ylabel() == "height"
    places = marks(axes)["fold"]
    there = places[np.argsort(places[:, 1])]
    turn = np.array([-1.0, 1.0]) / np.sqrt(3)
    np.testing.assert_allclose(there, np.column_stack([turn**3 - turn, turn]), atol=1e-10)
    stable, unstable = lines(axes)[:2]
    for place in places:
        for line in (stable, unstable):
            assert (line == place).all(axis=1).sum() == 1
    inside = np.isfinite(unstable[:, 1])
    assert np.abs(unstable[inside, 1]).max() == places[:, 1].max()
    x, y = stable[np.isfinite(stable[:, 1])].T
    assert np.abs(y**3 - y - x).max() < 1e-9


def test_quantities_that_are_not_there_are_named(at_rest, around):
    with pytest.raises(ValueError, match="measure = 'period' of equilibria"):
        at_rest.plot(measure="period")
    with pytest.raises(ValueError, match=r"system = None for measure = 'norm' of cycles"):
        around.plot(measure="norm")
    with pytest.raises(ValueError, match="unknown component 'z'"):
        at_rest.plot(components=["z"])
    with pytest.raises(ValueError, match=r"component = 2 is not in \[0, 1\]"):
        at_rest.plot(components=[2])
    with pytest.raises(ValueError, match="unknown measure 'amplitud'"):
        around.plot(measure="amplitud")
    with pytest.raises(ValueError, match="do not start periodic motions"):
        around.plot(measure="norm", system=at(growing, "p", 0.0))
    with pytest.raises(ValueError, match="labels: 1 of 2 branches"):
        jv.branches.plot_branches([at_rest, around], labels=["one"])


# x grows, so that no motion closes.
growing = jv.autonomous_system(
    lambda x, p: [1.0 + 0 * p["p"] + 0 * x[0], -x[1]], parameters={"p": 0.0}, dimension=2
)


def test_branches_are_labelled_arrays(at_rest, around, folded):
    found = around.to_xarray()
    np.testing.assert_array_equal(found["p"], around.parameter)
    np.testing.assert_array_equal(
        found["amplitude"].sel(freedom="y"), around.cycles.amplitude[:, 1]
    )
    assert found["period"].attrs == {"long_name": "period of the cycle", "units": "s"}
    np.testing.assert_array_equal(found["states"], around.states)
    rest = at_rest.to_xarray()
    assert rest["bifurcation.kind"].item() == "hopf"
    assert rest["bifurcation.state"].sel(state="x").item() == pytest.approx(0, abs=1e-10)
    assert folded.to_xarray().sizes["bifurcation"] == 2


@pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
@pytest.mark.parametrize("kind", ["at_rest", "around", "folded"])
def test_branches_are_written_to_netcdf_and_read_back(request, tmp_path, kind, engine):
    pytest.importorskip(engine)
    branch = request.getfixturevalue(kind)
    written = branch.to_xarray()
    written.to_netcdf(tmp_path / "branch.nc", engine=engine)
    with xarray.open_dataset(tmp_path / "branch.nc", engine=engine) as found:
        xarray.testing.assert_equal(found.load(), written)
        assert found.attrs == written.attrs
    factors = "eigenvalues" if kind != "around" else "floquet_multipliers"
    parts = (written[f"{factors}.{part}"].values for part in ("real", "imag"))
    np.testing.assert_array_equal(
        getattr(branch.orbits, factors), next(parts) + 1j * next(parts)
    )


def test_every_branch_has_orbits(at_rest, around):
    assert at_rest.orbits is at_rest.equilibria
    assert around.orbits is around.cycles


def test_curves_in_two_parameters_have_a_colour_and_a_label_each():
    forced = jv.forced_system(
        lambda t, x, p: [-x[0] + p["a"] + 0 * p["b"]],
        parameters={"a": 1.0, "b": 1.0},
        period=1.0,
        dimension=1,
    )
    x = np.linspace(0.0, 1.0, 5)
    places = np.column_stack([x, x**2])
    orbits = to_jax(unknown_orbits(forced, 5))
    cusp = CodimensionTwoPoint("cusp", np.array([0.3, 0.09]), np.ones(1, complex))
    curve = jv.branches.BifurcationCurve(
        "fold", ("a", "b"), jnp.asarray(places), orbits, jnp.zeros(5),
        jnp.zeros(2, jnp.int32), (cusp,), ("m", "N"),
    )  # fmt: skip
    turned = eqx.tree_at(
        lambda one: one.parameters, curve, jnp.asarray(places[:, ::-1] + 1)
    )
    turned = jv.branches.BifurcationCurve(
        "fold", ("b", "a"), turned.parameters, orbits, turned.test, turned.ends
    )
    axes = jv.branches.plot_curves([curve, turned])
    assert legend(axes) == ["fold 1", "fold 2", "cusp"]
    first, second = axes.get_lines()[:2]
    assert first.get_color() != second.get_color()
    assert [0.3, 0.09] in first.get_xydata().tolist()
    np.testing.assert_array_equal(np.delete(first.get_xydata(), 2, axis=0), places)
    np.testing.assert_array_equal(second.get_xydata(), places + 1)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a (m)", "b (N)")
    with pytest.raises(ValueError, match="allowed: one each"):
        jv.branches.plot_curves([curve], labels=["a", "b"])


def test_names_of_states_must_be_as_many_as_states():
    with pytest.raises(ValueError, match="allowed: 2 different names"):
        jv.autonomous_system(
            lambda x, p: [x[1], -x[0]],
            parameters={"p": 1.0},
            dimension=2,
            states=("x", "x"),
        )
