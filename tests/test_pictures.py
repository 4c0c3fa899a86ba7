"""Checked against: the results' own numbers, read back from matplotlib's artists."""

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.branches.results.branch import Branch
from jaxvib.drawing import Axis, Chart, Classes, Line, Points, colours, draw
from jaxvib.foundation.arrays import to_jax
from jaxvib.orbits.periodic_orbit import unknown_orbits
from jaxvib.reports.files import _drawn
from jaxvib.studies.pictures.picture import Choice, Picture

mpl.use("Agg")

two_bodies = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
duffing = jv.forced_system(
    lambda t, x, p: [x[1], p["f"] * jnp.cos(t) - 0.3 * x[1] - x[0] - x[0] ** 3],
    parameters={"f": 0.3},
    period=2 * np.pi,
    dimension=2,
)
van_der_pol = jv.autonomous_system(
    lambda x, p: [x[1], p["m"] * (1 - x[0] ** 2) * x[1] - x[0]],
    parameters={"m": 0.5},
    dimension=2,
)
cart_and_rod = jv.ImpactSystem(
    jv.assemble(
        [
            jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0),
            jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, stiffness=3.0),
        ]
    ),
    (),
    (jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(1.0, 3.0)),),
)


@pytest.fixture(autouse=True)
def closed_afterwards():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def orbit():
    return jv.periodic_orbit(two_bodies, [0.08, 0.2072, 0.7223, 0.3776])


@pytest.fixture(scope="module")
def motion(orbit):
    return jv.simulate(two_bodies, orbit.state, np.linspace(0.0, 1.0, 50))


def orbits(number: int, **fields):
    """Return orbits of which only some fields are known."""
    unknown = unknown_orbits(duffing, number)
    names = list(fields)
    return eqx.tree_at(
        lambda one: [getattr(one, name) for name in names],
        unknown,
        [np.asarray(fields[name], getattr(unknown, name).dtype) for name in names],
    )


@pytest.fixture(scope="module")
def branch():
    known = orbits(
        5,
        state=np.arange(10.0).reshape(5, 2),
        amplitude=np.arange(10.0).reshape(5, 2) + 1,
        stable=[1, 1, 0, 0, 0],
        contacts=[0] * 5,
        largest_multiplier=np.ones(5),
        max_contact_force=np.zeros(5),
    )
    return Branch(
        path="load.frequency",
        unit="rad/s",
        parameter=jnp.linspace(1, 2, 5),
        orbits=to_jax(known),
        predictor_error=jnp.zeros(5),
        periods=jnp.asarray(1),
        ends=jnp.array([40, 40]),
        bifurcations=(),
        events=(),
    )


@pytest.fixture(scope="module")
def basins():
    starts = jv.orbits.state_grid(duffing, {0: [-1.0, 1.0], 1: [-1.0, 0.0, 1.0]})
    found = jv.orbits.Attractors(
        orbits(2, periods=[1, 2], contacts=[0, 0], result=[0, 0]), np.ones((2, 1, 2))
    )
    label = np.array([0, 1, -1, 0, 1, 1], np.int16)
    run = np.full(6, 16, np.int32)
    share = np.array([2.0, 3.0]) / 6
    parts = label, np.where(label < 0, 22, 0).astype(np.int32), run, share, share
    return jv.orbits.Basins(*parts, np.asarray(1 / 6), found, starts, duffing.labels)


@pytest.fixture(scope="module")
def modes():
    beam = jv.BeamWithBodies(jv.Beam(1.0, 0.675, 36.4))
    return jv.beam_eigenvalues(beam, 3)


def drawn(axes):
    return [line.get_xydata() for line in axes.get_lines()]


def labels(axes):
    return axes.get_xlabel(), axes.get_ylabel()


def test_a_motion_is_drawn_over_time_with_units(motion):
    axes = motion.plot()
    assert labels(axes) == ("time (s)", "displacement (m)")
    for freedom, line in enumerate(drawn(axes)):
        np.testing.assert_array_equal(line[:, 0], motion.times)
        np.testing.assert_array_equal(line[:, 1], motion.states[:, freedom])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["main", "attached"]
    assert labels(motion.plot("velocity")) == ("time (s)", "velocity (m/s)")
    phase = motion.plot("phase")
    assert labels(phase) == ("displacement (m)", "velocity (m/s)")
    np.testing.assert_array_equal(drawn(phase)[1], motion.states[:, 1::2])
    force = motion.plot("force")
    assert labels(force) == ("time (s)", "contact force (N)")
    np.testing.assert_array_equal(drawn(force)[0][:, 1], motion.contact_force[:, 0])


def test_rotations_are_in_rad_and_unknown_units_are_left_out():
    motion = jv.simulate(cart_and_rod, jnp.zeros(4), [0.0, 0.1, 0.2])
    assert labels(motion.plot())[1] == "displacement (m, rad)"
    assert labels(motion.plot("velocity"))[1] == "velocity (m/s, rad/s)"
    motion = jv.simulate(duffing, jnp.zeros(2), [0.0, 0.1, 0.2])
    assert labels(motion.plot())[1] == "state"
    with pytest.raises(ValueError, match="needs velocities"):
        motion.plot("phase")


def test_an_orbit_is_drawn_by_its_multipliers_or_by_its_motion(orbit):
    axes = orbit.plot()
    found = drawn(axes)[1]
    values = np.asarray(orbit.floquet_multipliers)
    np.testing.assert_array_equal(found, np.column_stack([values.real, values.imag]))
    np.testing.assert_allclose(np.hypot(*drawn(axes)[0].T), 1.0, rtol=1e-15)
    phase = drawn(orbit.plot(two_bodies))[0]
    np.testing.assert_allclose(phase[0], phase[-1], atol=1e-8)  # closes after a period


def test_axes_that_are_given_are_drawn_on(orbit):
    _, axes = plt.subplots(1, 2)
    assert orbit.plot(ax=axes[1]) is axes[1]
    assert not axes[0].lines


def test_a_branch_is_drawn_over_its_parameter(branch):
    axes = branch.plot()
    assert labels(axes) == ("load.frequency (rad/s)", "amplitude, (max - min)/2")
    stable, unstable = axes.get_lines()[:2]
    assert stable.get_linestyle(), unstable.get_linestyle() == ("-", "--")
    np.testing.assert_array_equal(stable.get_xdata(), branch.parameter)
    # Between two verdicts without a bifurcation the chord is undecided.
    np.testing.assert_array_equal(stable.get_ydata(), [1, 3, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(unstable.get_ydata(), [np.nan, np.nan, 5, 7, 9])
    assert "from 1 rad/s" in repr(branch)


def test_a_point_between_gaps_is_marked_and_panels_share_a_legend():
    x, y = np.arange(5.0), np.array([1.0, np.nan, 2.0, np.nan, 3.0])
    line = Line(x, y, "a"), Line(x, np.arange(5.0), "b", 1)
    axes = draw(Chart(Axis("x"), Axis("y"), line))
    alone, whole = axes.get_lines()
    assert alone.get_markevery() == [0, 2, 4]
    assert (alone.get_marker(), whole.get_marker()) == (".", "None")
    sampled = dataclasses.replace(line[1], samples=np.arange(5))
    [dotted] = draw(Chart(Axis("x"), Axis("y"), (sampled,))).get_lines()
    assert (dotted.get_marker(), dotted.get_markevery()) == (".", None)
    charts = (Chart(Axis("x"), Axis("long label " * 4), line),) * 2
    figure = _drawn(Picture("p", "p", "p", "p", charts))
    assert [each.get_legend() for each in figure.axes] == [None, None]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    assert "\n" in figure.axes[0].get_ylabel()


def test_the_charts_of_an_option_of_a_slider_are_a_row_with_one_legend():
    x = np.arange(5.0)
    several = tuple(Line(x, x, name, k) for k, name in enumerate("ab"))
    charts = (
        Chart(Axis("x"), Axis("y"), several, "amplitude"),
        Chart(Axis("x"), Axis("y"), (Line(x, x, "c", 2),), "phase"),
    )
    choice = Choice("stiffness", ("stiffness 1 N/m", "stiffness 2 N/m", "stiffness 3 N/m"))
    figure = _drawn(Picture("p", "p", "p", "p", charts, choice=choice))
    assert figure.axes[0].get_gridspec().get_geometry() == (3, 2)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    words = [
        title.replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ") for title in titles
    ]
    assert words[:3] == [
        "amplitude, stiffness 1 N/m", "phase, stiffness 1 N/m", "amplitude, stiffness 2 N/m"
    ]  # fmt: skip
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "c"]


def test_numbers_along_x_do_not_touch():
    x = np.linspace(-0.004, 0.004, 5)
    charts = (Chart(Axis("x"), Axis("y"), (Line(x, x, "a"),)),) * 3
    figure = _drawn(Picture("p", "p", "p", "p", charts))
    boxes = [each.get_window_extent() for each in figure.axes[0].get_xticklabels()]
    gaps = [after.x0 - before.x1 for before, after in itertools.pairwise(boxes)]
    assert min(gaps) > 3  # pixels


def test_marks_that_share_an_x_are_smaller():
    x = np.array([1.0, *[2.0] * 60])
    points = Points(x, np.arange(61.0), np.zeros(61), Classes(("a",), ("#f4e838",)))
    axes = draw(Chart(Axis("x"), Axis("y"), (points,)))
    alone, *crowd = axes.collections[0].get_sizes()
    assert alone == 16
    assert set(crowd) == {2.0}


def test_basins_fill_their_grid_with_colour(basins):
    axes = basins.plot()
    assert labels(axes) == ("0 at t = 0", "1 at t = 0")
    (mesh,) = axes.collections
    found = np.asarray(mesh.get_array()).reshape(3, 2)
    expected = np.where(basins.label < 0, 2, basins.label)
    np.testing.assert_array_equal(found.T.ravel(), expected)
    with pytest.raises(ValueError, match=r"components = 7 is not in \[0, 1\]"):
        basins.plot((0, 7))


def test_a_diagram_has_a_point_for_each_poincare_sample():
    states = np.arange(24.0).reshape(3, 4, 2)
    states[0, 1:] = np.nan
    known = orbits(3, periods=[1, 0, 0], result=[0, 21, 23])
    diagram = jv.orbits.BifurcationDiagram(np.arange(3.0), states, known, "gap", "m")
    axes = diagram.plot(1)
    assert labels(axes) == ("gap (m)", "1 at t = 0")
    places = axes.collections[0].get_offsets()
    expected = [
        (0, 1),
        *((1, y) for y in (9, 11, 13, 15)),
        *((2, y) for y in range(17, 24, 2)),
    ]
    np.testing.assert_array_equal(places, expected)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["period 1", "chaotic", "exponent inconclusive (undecided)"]
    assert repr(diagram).startswith("BifurcationDiagram of 3 values, gap 0 to 2 m: 1 ")


def test_a_spectrum_is_drawn_in_the_plane(modes):
    axes = modes.plot()
    assert labels(axes) == ("real part (rad/s)", "imaginary part (rad/s)")
    np.testing.assert_array_equal(drawn(axes)[1][:, 1], np.asarray(modes.values).imag)
    shapes = jv.natural_modes(cart_and_rod.linear).plot()
    for line in drawn(shapes):
        assert np.abs(line[:, 1]).max() == pytest.approx(1.0, abs=1e-15)


def test_a_motion_plays(motion):
    playing = motion.animate(0.2)
    playing._draw_frame(4)
    row = playing._fig.axes[0].lines[1]
    assert row.get_xdata()[0] == pytest.approx(float(motion.states[-1, 0]))
    assert "displacement (m)" in playing._fig.axes[0].get_xlabel()
    with pytest.raises(ValueError, match="duration = 0 s"):
        motion.animate(0.0)
    playing._draw_was_started = True  # or matplotlib warns that nobody saw it


def test_the_first_chart_of_a_result_is_what_plot_draws(
    orbit, motion, branch, basins, modes
):
    for result in (orbit, motion, branch, basins, modes):
        again, axes = draw(result.charts()[0]), result.plot()
        assert labels(again) == labels(axes)
        for here, there in zip(drawn(again), drawn(axes), strict=True):
            np.testing.assert_array_equal(here, there)


def test_a_batch_says_that_it_is_not_one_result(orbit):
    many = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), orbit)
    with pytest.raises(ValueError, match=r"a batch of shape \(2,\)"):
        many.plot()
    assert "img" not in many._repr_html_()


def test_notebooks_show_a_table_and_a_picture(orbit, motion, branch, basins, modes):
    for result in (orbit, motion, branch, basins, modes):
        page = result._repr_html_()
        assert page.count("<table>") == 1
        assert 'src="data:image/png;base64,' in page
        assert len(page) < 60_000
    assert "<td" in orbit._repr_html_().split("amplitude")[0]


def test_results_print_their_numbers_with_units(orbit, motion, branch, basins, modes):
    beam = jv.Beam(1.0, 0.675, 36.4)
    for result in (orbit, motion, branch, basins, modes, beam, jv.BeamWithBodies(beam),
                   jv.natural_modes(cart_and_rod.linear)):  # fmt: skip
        text = repr(result)
        assert "f64[" not in text
        assert "<function" not in text
        assert len(text.splitlines()) <= 9 - (result is not orbit)
    assert "0.722341, 0.377569 m/s" in repr(orbit)
    assert "x_main" in repr(motion)
    assert "m/s" in repr(motion)
    assert repr(beam) == (
        "Beam: length 1 m, mass_per_length 0.675 kg/m, bending_stiffness 36.4 N m^2"
    )


def test_no_unit_is_claimed_where_none_is_known(branch):
    one = jv.periodic_orbit(duffing, [0.1, 0.1])
    line = next(each for each in repr(one).splitlines() if "amplitude" in each)
    assert not line.rstrip().endswith("m")


@pytest.mark.slow
def test_computed_results_are_drawn():
    orbit = jv.periodic_orbit(duffing, [0.1, 0.1])
    branch = jv.continue_orbit(duffing, orbit, "f", (0.25, 0.35))
    line = drawn(branch.plot())[0]
    np.testing.assert_array_equal(line[:, 1], branch.orbits.amplitude[:, 0])
    low, high = drawn(branch.plot(measure="range", components=[0], system=duffing))
    middle = (high[:, 1] - low[:, 1]) / 2
    np.testing.assert_allclose(middle, branch.orbits.amplitude[:, 0], rtol=1e-5)
    grid = jv.orbits.state_grid(duffing, {0: [-1.0, 1.0], 1: [-1.0, 0.0, 1.0]})
    basins = jv.basins(duffing, grid)
    mesh = basins.plot().collections[0]
    found = np.asarray(mesh.get_array()).reshape(3, 2)
    expected = np.where(basins.label < 0, 2, basins.label)
    np.testing.assert_array_equal(found.T.ravel(), expected)
    diagram = jv.bifurcation_diagram(duffing, "f", [0.2, 0.3], points=16)
    assert labels(diagram.plot(1)) == ("f", "1 at t = 0")
    cycle = jv.periodic_orbit(van_der_pol, [2.0, 0.0], period=6.3)
    assert labels(cycle.plot(van_der_pol)) == ("time (s)", "state")
    circuit = jv.branches.continue_equilibrium(
        van_der_pol, jv.equilibrium(van_der_pol), "m", (-1.0, 1.0)
    )
    assert labels(circuit.plot()) == ("m", "state")


def test_matplotlib_is_imported_where_something_is_drawn():
    code = "import sys, jaxvib as jv; jv.orbits, jv.branches, jv.modes, jv.dynamics; "
    code += "print({'matplotlib', 'matplotlib.pyplot'} & set(sys.modules))"
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True
    )
    assert done.stdout == "set()\n"


def test_periods_have_colours_of_their_own():
    found = [colours.period_colour(n) for n in (1, 2, 3, 4)]
    assert len(set(found)) == 4
