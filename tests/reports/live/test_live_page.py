"""Checked against: `independent`, the CPU's kernels, orbits of jaxvib, and NumPy."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxvib as jv
from jaxvib.foundation import cache
from jaxvib.reports.live.controls import controls
from jaxvib.reports.live.kernels import modules
from jaxvib.reports.live.panel import panel
from tests import independent
from tests.systems_table import hard_stop

SOFT = 35041219.07  # N/m^1.5
EVALUATE = Path(__file__).with_name("evaluate.mjs")
bodies = jv.two_body_impact(contact=jv.HertzContact(SOFT))
START = np.array([0.02, 0.06, 0.3, -0.1])
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs Node")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return jv.live_page(bodies, tmp_path_factory.mktemp("live") / "two.html", title="Two")


@pytest.fixture(scope="module")
def stop_page(tmp_path_factory):
    return jv.live_page(
        hard_stop(0.7), tmp_path_factory.mktemp("live") / "new" / "stop.html"
    )


def evaluated(page, expression):
    """Return the value of an expression of the page's worker, computed by Node."""
    command = ["node", str(EVALUATE), str(page), expression]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def text(values):
    return json.dumps(np.asarray(values).tolist())


@needs_node
def test_a_motion_is_that_of_the_kernel_and_of_another_integration(page):
    changed = {"load.frequency": 6.1, "gap": 0.04, "attached.mass": 110.0}
    found = evaluated(
        page,
        f"(motions.setValues({json.dumps(changed)}), "
        f"[1, 20].map((n) => motions.after({text(START)}, n)))",
    )
    lane, state = jv.replace(bodies, changed), START
    for periods in range(1, 21):
        state = jv.flow(lane, state, 0.0, lane.period(), throw=False)
        if periods in (1, 20):
            near = found[periods == 20]
            np.testing.assert_allclose(near, state, rtol=0, atol=1e-12 * periods)
    system = independent.TwoBody(load_frequency=6.1, gap=0.04, attached_mass=110.0)
    other = independent.motion(system, START, 0.0, system.period).state
    np.testing.assert_allclose(found[0], other, rtol=0, atol=1e-8)


@needs_node
def test_an_orbit_and_its_multipliers_are_those_of_another_program(page):
    found = evaluated(page, "shoot(motions, motions.after(motions.rest, 30), 2)")
    orbit = independent.periodic_orbit(independent.TwoBody(), found["state"])
    assert found["periods"] == 1  # not the 2 of the search
    assert found["residual"] < 1e-12
    assert found["stable"] == 1
    np.testing.assert_allclose(found["state"], orbit.state, rtol=0, atol=1e-8)
    ours = np.array(found["multipliers"]) @ [1, 1j]
    np.testing.assert_allclose(
        np.sort_complex(ours), np.sort_complex(orbit.multipliers), rtol=0, atol=1e-7
    )


@needs_node
def test_an_orbit_beside_another_one_is_found_with_fewer_derivatives(page):
    alone, beside = evaluated(
        page,
        "((orbit) => [null, orbit].map((near) => {"
        "const counted = Object.assign(Object.create(motions), { derivatives: 0, "
        "afterWithMatrix(...given) { this.derivatives++; "
        "return motions.afterWithMatrix(...given); } });"
        "motions.setValues({ 'load.frequency': 5.85 });"
        "const found = shoot(counted, orbit.state, 1, near);"
        "return { ...found, derivatives: counted.derivatives }; }))"
        "(shoot(motions, motions.after(motions.rest, 30), 1))",
    )
    orbit = jv.periodic_orbit(jv.replace(bodies, {"load.frequency": 5.85}))
    assert beside["derivatives"] == 1 < alone["derivatives"]
    for found in (alone, beside):
        np.testing.assert_allclose(found["state"], orbit.state, rtol=0, atol=1e-10)
        largest = np.abs(orbit.floquet_multipliers).max()
        assert np.hypot(*found["multipliers"][0]) == pytest.approx(largest, rel=1e-7)


def test_a_parameter_of_no_part_may_be_swept():
    found = panel(bodies, (), {"gap": (0.01, 0.1)}, pair=True)
    swept = {each["path"]: each["swept"] for each in found["controls"] if each["swept"]}
    assert swept == {"gap": [0.01, 0.1]}


@needs_node
def test_an_unstable_orbit_is_found_and_said_to_be_unstable(page):
    stable = jv.periodic_orbit(bodies)
    branch = jv.continue_orbit(bodies, stable, "load.frequency", (5.8, 7.5))
    [place, *_] = np.flatnonzero(np.asarray(branch.stable) == 0)
    values = {"load.frequency": float(branch.parameter[place])}
    found = evaluated(
        page,
        f"(motions.setValues({json.dumps(values)}), "
        f"shoot(motions, {text(branch.states[place])}, 1))",
    )
    assert found["stable"] == 0
    largest = np.abs(branch.floquet_multipliers[place]).max()
    assert np.hypot(*found["multipliers"][0]) == pytest.approx(largest, rel=1e-6)


@needs_node
def test_what_is_drawn_has_the_forces_and_contacts_of_the_orbit(page):
    found = evaluated(
        page,
        "((orbit) => ({ ...motions.trace(orbit.state, 1), state: orbit.state }))"
        "(shoot(motions, motions.after(motions.rest, 30), 1))",
    )
    orbit = independent.periodic_orbit(independent.TwoBody(), found["state"])
    force = np.array(list(found["forces"].values()))
    assert found["onsets"] == orbit.contacts == 1
    assert found["peaks"][0] == pytest.approx(orbit.peak_force, rel=1e-7)
    # The strongest moment is one of those drawn.
    assert force.max() == pytest.approx(orbit.peak_force, rel=1e-7)
    assert (force > 0).sum() > 15
    times = np.array(list(found["times"].values()))
    assert times[-1] == pytest.approx(orbit.period, rel=1e-12)
    assert (np.diff(times) > 0).all()


@needs_node
def test_impacts_at_hard_stops_are_drawn_as_impulses(stop_page):
    found = evaluated(stop_page, "motions.trace([0, 1], 1)")

    def rate(t, state):
        return state[1], np.cos(2.8 * t) - 0.1 * state[1] - state[0]

    def reaches(t, state):
        return state[0] - 0.2  # m, the gap

    reaches.terminal = True
    until = solve_ivp(rate, (0, 1), [0, 1], events=reaches, rtol=1e-11, atol=1e-12)
    time, contact, impulse = found["impulses"][0]
    assert contact == 0
    # The step of the drawing in which the impact is, and 1 + e times the momentum of 1 kg.
    assert time == pytest.approx(until.t[-1], abs=2 * np.pi / 2.8 / 160)
    assert impulse == pytest.approx((1 + 0.7) * until.y[1, -1], rel=1e-8)
    assert found["onsets"] == len(found["impulses"])


@needs_node
def test_the_spectrum_of_an_orbit_is_that_of_numpy(page):
    samples, fine, found = evaluated(
        page,
        "((state) => [motions.trace(state, 2).samples, "
        "motions.record(state, 2, 4096).samples, "
        "[...spectrumOf(motions.trace(state, 2).samples, 2, STEPS, true).amplitudes]])"
        "(shoot(motions, motions.after(motions.rest, 30), 1).state)",
    )
    amplitudes = np.reshape(found, (20, 2))
    exact = 2 * np.abs(np.fft.rfft(np.reshape(samples, (320, 2)), axis=0)) / 320
    np.testing.assert_allclose(amplitudes, exact[1:21], rtol=0, atol=1e-14)
    assert amplitudes[::2].max() < 1e-10 * amplitudes.max()  # between the harmonics
    # Of 160 samples a period, a harmonic k of an impact has the share (k / (160 - k))**2
    # of others.
    dense = 2 * np.abs(np.fft.rfft(np.reshape(fine, (8192, 2)), axis=0)) / 8192
    np.testing.assert_allclose(amplitudes[1::2], dense[2:21:2], rtol=1e-2)


@needs_node
def test_the_spectrum_without_impacts_is_the_closed_form(stop_page):
    found = evaluated(
        stop_page,
        "(motions.setValues({ 'contacts.0.gap': 50 }), ((state) => ["
        "spectrumOf(motions.trace(state, 1).samples, 1, STEPS, true),"
        "spectrumOf(motions.record(state, RECORDED, RATE).samples, 1, RATE, false)])"
        "(motions.after(motions.rest, 300)))",
    )
    amplitude = 1 / np.hypot(1 - 2.8**2, 0.1 * 2.8)
    for spectrum, per_load in zip(found, (1, 64), strict=True):
        values = np.array(list(spectrum["amplitudes"].values()))
        assert len(values) == 10 * per_load
        assert values[per_load - 1] == pytest.approx(amplitude, rel=1e-7)
        own = [per_load - 1]
        if per_load > 1:  # Hann's window has half of the amplitude in both lines beside
            own += [per_load - 2, per_load]
            np.testing.assert_allclose(values[own[1:]], amplitude / 2, rtol=1e-7)
        assert np.delete(values, own).max() < 1e-8


@needs_node
def test_differences_take_the_place_of_a_module_that_is_missing(page):
    both = evaluated(
        page,
        "[motions.slope, null].map((slope) => shoot(Object.assign(Object.create(motions), "
        "{ slope }), motions.after(motions.rest, 30), 1).multipliers)",
    )
    one, other = np.array(both)
    np.testing.assert_allclose(np.hypot(*one.T), np.hypot(*other.T), rtol=0, atol=1e-4)


@needs_node
def test_the_derivative_over_two_periods_is_that_of_differences(page):
    one, other = evaluated(
        page,
        "((state) => [periodMap(motions, state, 2).matrix, "
        "Object.assign(Object.create(motions), { after: (s) => motions.after(s, 2) })"
        ".byDifferences(state).matrix])(motions.after(motions.rest, 3))",
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(other).max())


@needs_node
def test_eigenvalues_are_those_of_numpy(page):
    rng = np.random.default_rng(0)
    defective = np.array([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]])
    graded = np.diag([1.0, 1e-6, 1e-12]) + np.triu(np.ones((3, 3)), 1)
    cyclic = np.roll(np.eye(4), 1, axis=0)
    some = [rng.normal(size=(n, n)) for n in (1, 2, 3, 4, 6, 12, 20)]
    matrices = [*some, defective, graded, cyclic, np.zeros((3, 3))]
    listed = ", ".join(map(text, matrices))
    found = evaluated(page, f"[{listed}].map(eigenvalues)")
    for matrix, pairs in zip(matrices, found, strict=True):
        ours, theirs = np.array(pairs) @ [1, 1j], np.linalg.eigvals(matrix)
        # Equal coefficients of the characteristic polynomial: a defective matrix has
        # eigenvalues with errors of the cube root of rounding.
        np.testing.assert_allclose(np.poly(ours), np.poly(theirs), atol=1e-10, rtol=1e-10)
        if matrix is not defective:
            gaps = np.abs(ours[:, None] - theirs).min(1)
            assert gaps.max() < 1e-10


def test_the_programs_of_a_page_are_kept_for_all_values_of_the_parameters(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # other tests write to theirs
    system, values = hard_stop(0.8), {"contacts.0.gap": 0.5}
    first = modules(system, values)
    kept = {path for path, _ in cache.entries()}
    assert len([path for path in kept if path.suffix == ".fact"]) > 0
    other = jv.replace(system, {"contacts.0.gap": 0.25})
    assert modules(other, {"contacts.0.gap": 0.25}) == first
    assert {path for path, _ in cache.entries()} == kept
    softer = modules(hard_stop(0.6), values)  # the restitution is a constant there
    assert softer["segment"].code != first["segment"].code


def test_the_page_is_one_file_that_asks_nothing_of_a_network(page):
    html = page.read_text("utf-8")
    assert len(html) < 200_000
    assert "<title>Two</title>" in html
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=.(?!https://github.com|data:|#)", html)


def test_each_number_of_a_system_has_a_slider_within_its_range():
    found = {each["path"]: each for each in controls(bodies, ["Hz", "mm"], {})}
    assert set(found) == set(jv.parameters(bodies))
    mass, frequency, gap = (found[p] for p in ("main.mass", "load.frequency", "gap"))
    assert (mass["group"], mass["name"], mass["unit"]) == ("main", "mass", "kg")
    assert mass["allowed"] == {"low": 0.0, "high": None, "open": [True, True]}
    assert frequency["unit"] == "Hz"
    assert frequency["value"] * frequency["factor"] == pytest.approx(5.8 / (2 * np.pi))
    assert (gap["unit"], gap["factor"], gap["group"]) == ("mm", 1000.0, "")
    assert gap["allowed"]["open"] == [False, True]
    assert mass["description"] == ""  # its name
    assert frequency["description"] == "frequency of the load"  # in Hz, not angular


def test_groups_of_sliders_say_what_their_parts_are():
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 2.0), name="push")
    shake = jv.BaseMotion([1.0], jv.HarmonicLoad(1.0, 2.0))
    rub = jv.CoulombFriction([1.0], 3.0)
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[4.0]])
    stop = jv.Contact([1.0], 0.1, jv.LinearContact(100.0))
    system = jv.ImpactSystem(linear, (stop,), (push, shake), (rub,))
    groups = {each["path"]: each["group"] for each in controls(system, [], {})}
    assert groups["contacts.0.law.stiffness"] == groups["contacts.0.gap"] == "contact 1"
    assert groups["loads.push.law.amplitude"] == "load push"
    assert groups["loads.1.motion.frequency"] == "load 2"
    assert groups["frictions.0.force"] == "friction 1"


def test_numbers_given_by_a_formula_follow_and_have_no_slider(tmp_path):
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 2.0), name="push")
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[4.0]])
    system = jv.systems.derived(
        jv.ImpactSystem(linear, (), (push,)),
        {"loads.push.law.amplitude": "unbalance * 'loads.push.law.frequency'**2"},
        {"unbalance": 0.3},
        {"unbalance": "kg m"},
    )
    paths = {each["path"]: each for each in controls(system, [], {})}
    assert "loads.push.law.amplitude" not in paths
    assert "loads.push.law.frequency" in paths
    assert paths["variables.unbalance"].get("si") == " kg m"  # for its --set, in SI


def test_entries_of_arrays_have_a_slider_if_a_study_swept_them():
    system = hard_stop(0.7)
    paths = {each["path"] for each in controls(system, [], {"linear.mass.0.0": (1.0, 2.0)})}
    assert "linear.mass.0.0" in paths
    assert not any(path.startswith("linear.damping") for path in paths)


def test_systems_without_periodic_loads_are_refused(tmp_path):
    linear = jv.LinearSystem([[1.0]], [[0.1]], [[1.0]])
    step = jv.AppliedLoad([1.0], jv.StepLoad(1.0))
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 2.0))
    free = jv.ImpactSystem(jv.LinearSystem([[1.0]], [[0.1]], [[0.0]]), (), (push,))
    field = jv.forced_system(
        lambda t, x, p: -x, parameters={"w": 1.0}, period=lambda p: 1.0, dimension=1
    )
    for system, reason in (
        (jv.ImpactSystem(linear), "a period needs one or more"),
        (jv.ImpactSystem(linear, (), (step,)), "periodic loads, or a live page a duration"),
        (field, "has no live page; allowed: a system of bodies"),
        (jv.drifting(free, free.freedom_names[0]), "a system that drifts has no live page"),
    ):
        with pytest.raises(ValueError, match=reason):
            jv.live_page(system, tmp_path / "page.html")
    for duration, said in ((0.0, "duration = 0 s"), (np.nan, "duration = nan")):
        with pytest.raises(ValueError, match=said):
            jv.live_page(bodies, tmp_path / "page.html", duration=duration)
    assert not list(tmp_path.iterdir())


def beside(force=0.5, static=0.8, frequency=3.0):
    """Return a system whose values may be refused together, each allowed alone."""
    module = jv.TranslationTranslation("ground", "a", mass=1.0, stiffness=10.0, damping=0.1)
    pulse = jv.PulseLoad("half_sine", amplitude=1.0, start=0.0, duration=0.1, every=np.pi)
    loads = (jv.HarmonicLoad(4.0, 2.0), jv.HarmonicLoad(4.0, frequency), pulse)
    return jv.ImpactSystem(
        jv.assemble([module]),
        loads=tuple(jv.AppliedLoad([1.0], law) for law in loads),
        frictions=(jv.CoulombFriction([1.0], force=force, static=static, name="pad"),),
    )


TOGETHER = {
    "the same": {},
    "less": {"frictions.pad.force": 0.7},
    "as much": {"frictions.pad.force": 0.8},
    "too much": {"frictions.pad.force": 0.9},
    "both more": {"frictions.pad.force": 0.9, "frictions.pad.static": 1.0},
    "too little": {"frictions.pad.static": 0.49},
    "nearly": {"frictions.pad.static": 0.49999999999},
    "three halves": {"loads.1.law.frequency": 3.0},
    "no ratio": {"loads.1.law.frequency": 2.123},
    "another ratio": {"loads.1.law.frequency": 5.0},
    "long pulses": {"loads.2.law.duration": 3.2},
    "frequent pulses": {"loads.2.law.every": 0.09},
}


@needs_node
def test_values_that_python_refuses_together_are_refused_by_the_page(tmp_path):
    page = jv.live_page(beside(), tmp_path / "page.html")
    start = "Object.fromEntries(page.live.controls.map(({path, value}) => [path, value]))"
    found = evaluated(
        page,
        f"{json.dumps(list(TOGETHER.values()))}.map((change) => (motions.setValues("
        f"{{...{start}, ...change}}), page.live.faults[motions.fault - 1] ?? null))",
    )
    for change, told in zip(TOGETHER.values(), found, strict=True):
        try:
            jv.systems.periods.check_period(jv.replace(beside(), change))
        except ValueError:
            assert told is not None, change
        else:
            assert told is None, change
    assert found[3] == "the values of CoulombFriction pad contradict each other"
    assert found[8] == "the loads have no common period"
