"""Checked against: definitions of the units (SI brochure, NIST SP 811), by hand."""

import math
import re

import pytest

from jaxvib.studies.config.document import Document, parse
from jaxvib.studies.config.records import heading_unit, with_records
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run.study import SECTIONS, _checked, load, load_text

G = 9.80665  # m/s^2, standard gravity
TURN = 2 * math.pi
SYSTEM = """
[system]
kind = "impact_assembly"
variables.f = { value = 5.0, unit = "Hz" }
variables.c = "2 mm"
variables.n = { value = 1500, unit = "rpm" }
variables.a = "0.3 g"
variables.v = { value = "250 km/h", unit = "m/s" }
variables.k = { value = 2.0, unit = "N/mm" }
variables.number = 3.0
variables.m = "500 g"
{VARIABLE}
[system.linear.modules.ground-body]
module = "translation_translation"
mass = {MASS}
stiffness = {STIFFNESS}
damping = 4.0
[system.linear.modules.body-rod]
module = "translation_rotation"
mass = "m"
length = 0.5
stiffness = 2.0
[system.contacts.stop]
contact = "hunt_crossley"
at = "body"
gap = {GAP}
law = { stiffness = {CONTACT}, damping = 0.1{EXPONENT} }
[system.loads.push]
load = "harmonic"
at = "body"
law = { amplitude = {FORCE}, frequency = {FREQUENCY} }
[system.loads.moment]
load = "harmonic"
at = "rod"
law = { amplitude = {MOMENT}, frequency = 5.0 }
[system.loads.quake]
base = "harmonic_acceleration"
at = "body"
motion = { amplitude = {ACCELERATION}, frequency = 5.0 }
[system.loads.use]
base = "harmonic_acceleration"
at = "body"
motion = { amplitude = "a", frequency = 5.0 }
"""
USUAL = {
    "VARIABLE": "", "MASS": "1.0", "STIFFNESS": "1e3", "GAP": "1e-3", "CONTACT": "1e5",
    "EXPONENT": "", "FORCE": "1.0", "MOMENT": "0.0", "FREQUENCY": "5.0",
    "ACCELERATION": "1.0",
}  # fmt: skip
ORBITS = '[analysis]\nkind = "periodic_orbit"\n[sweep]\n'
DESIGN = """[analysis]
kind = "design"
method = "slsqp"
variables.contacts.stop.gap = {BOUNDS}
[analysis.objective]
measure = "periodic_orbit"
field = "max_contact_force"
{OVER}
[analysis.constraints.limit]
measure = "periodic_orbit"
field = "amplitude"
at_most = {LIMIT}
"""
DESIGNED = {"BOUNDS": "[1e-4, 1e-2]", "OVER": "", "LIMIT": "1.0"}


def filled(text, **words):
    for word, value in {**USUAL, **DESIGNED, **words}.items():
        text = text.replace("{" + word + "}", value)
    return text


def of_system(word, get, **more):
    """Return the reader of one place of the system."""

    def read(text):
        swept = "loads.push.law.phase = [0.0]\n"
        study = load_text(filled(SYSTEM + ORBITS + swept, **{word: text, **more}))
        return get(study.system)

    return read


def of_design(word, get):
    def read(text):
        return get(load_text(filled(SYSTEM + DESIGN, **{word: text})).analysis)

    return read


def swept(path):
    def read(text):
        study = load_text(filled(f"{SYSTEM}{ORBITS}{path} = [{text}]\n"))
        return study.paths[path].listed()[0]

    return read


def assigned(path):
    def read(text):
        document = parse(
            filled(f"{SYSTEM}{ORBITS}loads.push.law.phase = [0.0]\n"), "config"
        )
        changed = document.override([f"{path}={text}"], SECTIONS)
        name = path.partition(".")[2]
        return _checked(changed, "config").system.variables[name].value

    return read


def continued(text):
    end = '[analysis]\nkind = "continuation"\npath = "variables.f"\nbounds = [1.0, {}]\n'
    return load_text(filled(SYSTEM + end.format(text))).analysis.bounds[1]


def level(text):
    end = f'[analysis]\nkind = "response"\nduration = 1.0\nlimits.far = {{ at = "rod", level = {text} }}\n'  # noqa: E501
    return load_text(filled(SYSTEM + end)).analysis.limits["far"].level


VARIABLE = "VARIABLE"
variable = of_system(
    VARIABLE, lambda s: s.variables["x"].value, MASS='"x"', ACCELERATION="1.0"
)
PLACES = {
    "frequency": of_system("FREQUENCY", lambda s: s.loads["push"].law.frequency),
    "gap": of_system("GAP", lambda s: s.contacts["stop"].gap),
    "mass": of_system("MASS", lambda s: s.linear.modules["ground-body"].mass),
    "force": of_system("FORCE", lambda s: s.loads["push"].law.amplitude),
    "moment": of_system("MOMENT", lambda s: s.loads["moment"].law.amplitude),
    "stiffness": of_system(
        "STIFFNESS", lambda s: s.linear.modules["ground-body"].stiffness
    ),
    "acceleration": of_system("ACCELERATION", lambda s: s.loads["quake"].motion.amplitude),
    "Hertz": of_system("CONTACT", lambda s: s.contacts["stop"].law.stiffness),
    "square": of_system(
        "CONTACT", lambda s: s.contacts["stop"].law.stiffness, EXPONENT=", exponent = 2.0"
    ),
    "swept f": swept("variables.f"),
    "swept gap": swept("contacts.stop.gap"),
    "swept v": swept("variables.v"),
    "set f": assigned("variables.f"),
    "bound": of_design("BOUNDS", lambda a: a.variables["contacts.stop.gap"][1]),
    "limit": of_design("LIMIT", lambda a: a.constraints["limit"].at_most),
    "over v": of_design(
        "OVER", lambda a: a.objective.over["variables.v"].listed()[0]
    ),
    "bound of f": continued,
    "level of an angle": level,
    "a mass": lambda text: variable(f"variables.x = {text}"),
}  # fmt: skip
OVER = "over.variables.v = {{ linspace = [{}, 100.0, 3] }}".format
TABLE = [
    # numbers without a unit, as ever in SI; of a variable with a unit, in that
    ("frequency", "5.0", 5.0), ("gap", "2e-3", 2e-3), ("swept f", "4.0", 4 * TURN),
    ("swept v", "55.56", 55.56), ("set f", "4", 4 * TURN), ("bound of f", "9", 9 * TURN),
    # quantities
    ("frequency", '"5 Hz"', 5 * TURN), ("frequency", '"0.005 kHz"', 5 * TURN),
    ("frequency", '"300 rpm"', 5 * TURN), ("frequency", '"300 rev/min"', 5 * TURN),
    ("frequency", '"5 rev/s"', 5 * TURN), ("frequency", '"90 deg/s"', TURN / 4),
    ("frequency", '"90 °/s"', TURN / 4), ("frequency", '"5 rad s^-1"', 5.0),
    ("frequency", '"300 1/min"', "1/min is given where an angular frequency"),
    ("frequency", '"5 1/s"', "1/s is given where an angular frequency"),
    ("frequency", '"5 mm"', "mm is given where an angular frequency in rad/s"),
    ("frequency", '"5 Hertz"', "unknown unit 'Hertz'; did you mean 'Hz'"),
    ("gap", '"2 mm"', 2e-3), ("gap", '"20 µm"', 2e-5), ("gap", '"20 μm"', 2e-5),
    ("gap", '"20 um"', 2e-5), ("gap", '"1 in"', 0.0254), ("gap", '"2mm"', 2e-3),
    ("gap", '"2 deg"', "deg is given where a length in m"),
    ("mass", '"300 g"', 0.3), ("mass", '"300 mg"', 3e-4), ("mass", '"2 t"', 2e3),
    ("mass", '"2 lb"', 0.90718474), ("mass", '"3 N"', "N is given where a mass in kg"),
    ("acceleration", '"0.3 g"', 0.3 * G), ("acceleration", '"300 mg"', 0.3 * G),
    ("acceleration", '"20 µg"', 2e-5 * G), ("acceleration", '"20 gal"', 0.2),
    ("acceleration", '"0.3 G"', 0.3 * G), ("acceleration", '"2 mm/s²"', 2e-3),
    ("acceleration", '"2 m/s2"', 2.0), ("acceleration", '"2 m s-2"', 2.0),
    ("acceleration", '"2 m/s/s"', 2.0),
    ("acceleration", '"3 kg"', "kg is given where an acceleration in m/s"),
    ("force", '"2 kN"', 2e3), ("force", '"0.3 g m/s^2"', 3e-4),
    ("force", '"1 lbf"', 4.4482216152605),
    ("force", '"2 N m"', "N m is given where a force"),
    ("moment", '"2 N mm"', 2e-3), ("moment", '"2 Nm"', 2.0), ("moment", '"2 kN.m"', 2e3),
    ("moment", '"2 N"', "N is given where a moment in N m"),
    ("stiffness", '"2 kN/mm"', 2e6), ("stiffness", '"2 N/(mm)"', 2e3),
    ("Hertz", '"2 N/mm^1.5"', 2 * 1e3**1.5),
    ("Hertz", '"2 N/mm"', "N/mm is given where N/m"),
    ("square", '"2 N/mm^2"', 2e6), ("square", '"2 MPa"', 2e6),
    ("square", '"2 N/mm^1.5"', "is given where a pressure in N/m"),
    # places outside of the system
    ("swept f", '"4 Hz"', 4 * TURN), ("swept f", '"300 rpm"', 5 * TURN),
    ("swept f", '"4 mm"', "mm is given where an angular frequency"),
    ("swept gap", '"4 mm"', 4e-3), ("swept v", '"200 km/h"', 200 / 3.6),
    ("set f", '"300 rpm"', 5 * TURN), ("bound", '["100 µm", "8 mm"]', 8e-3),
    ("bound", '[1e-4, "8 ms"]', "ms is given where a length"),
    ("limit", '"0.15 mm"', 1.5e-4), ("limit", '"2 deg"', TURN / 180),
    ("limit", '"2 s"', "s is given where a length in m or an angle in rad"),
    ("over v", OVER('"200 km/h"'), 200 / 3.6), ("over v", OVER("50.0"), 50.0),
    ("over v", OVER('"200 kN"'), "kN is given where a velocity"),
    ("bound of f", '"600 rpm"', 10 * TURN), ("level of an angle", '"2 deg"', TURN / 180),
    ("level of an angle", '"2 mm"', "mm is given where an angle"),
    # formulas: a variable has its value in SI
    ("frequency", '"f"', 5 * TURN), ("frequency", '"2*f"', 10 * TURN),
    ("frequency", '"f/2"', 2.5 * TURN), ("frequency", '"n"', 25 * TURN),
    ("frequency", '"44*n"', 44 * 25 * TURN), ("frequency", '"number"', 3.0),
    ("frequency", '"2*pi*number"', 3 * TURN),
    ("frequency", '"sqrt(k / m)"', math.sqrt(4e3)),
    ("frequency", '"2*pi*v/60"', TURN / 60 * 250 / 3.6),
    ("frequency", '"v / (30*c)"', 250 / 3.6 / 0.06),
    ("frequency", '"2*pi*f"', 'converts f, given in Hz, once more.* write "f"'),
    ("frequency", '"4*pi*f"', r'write "2 \* f"'), ("frequency", '"6.2832*f"', 'write "f"'),
    ("frequency", '"pi*n/30"', 'write "n"'), ("frequency", '"2*pi*n/60"', 'write "n"'),
    ("frequency", '"n/60"', 'write "n"'), ("frequency", '"0.016667*n"', 'write "n"'),
    ("frequency", '"3.14*f"', 'write "0.5'), ("frequency", '"12.566*f"', 'write "2 '),
    ("frequency", '"f/0.159155"', 'write "f"'), ("frequency", '"n/9.549"', 'write "n"'),
    ("frequency", '"f + 1"', "1 has no unit beside f"),
    ("frequency", '"c"', "a length in m is given where an angular frequency"),
    ("frequency", '"f*c"', "given where an angular frequency"),
    ("frequency", '"2*v"', "a velocity in m/s is given where"),
    ("gap", '"c"', 2e-3), ("gap", '"3*c/2"', 3e-3), ("gap", '"c + 0*c"', 2e-3),
    ("gap", '"c/1000"', 'converts c, given in mm, once more.* write "c"'),
    ("gap", '"1e-3*c"', 'write "c"'), ("gap", '"1000*c"', 'write "c"'),
    ("gap", '"c/0"', "has no value"), ("gap", '"0*c"', 0.0),
    ("gap", '"c**2"', "m.2 is given where a length"),
    ("gap", '"(c**3)**(1/3)"', 2e-3), ("gap", '"hypot(c, 2*c)"', 2e-3 * math.sqrt(5)),
    ("gap", '"c*sin(0.35*v)"', 2e-3 * math.sin(0.35 * 250 / 3.6)),
    ("gap", '"c*sin(f)"', "sin of an angular frequency"),
    ("gap", '"c*exp(c/c)"', 2e-3 * math.e),
    ("gap", '"c + f"', "adds a length in m and an angular"),
    ("gap", '"v/f"', 250 / 3.6 / (5 * TURN)),
    ("acceleration", '"a"', 0.3 * G), ("acceleration", '"a/3"', 0.1 * G),
    ("acceleration", '"9.81*a"', 'converts a, given in g, once more.* write "a"'),
    ("acceleration", '"9.8*a"', 'write "a"'),
    ("acceleration", '"a*9.80665*2"', r'write "a \* 2"'),
    ("force", '"k*c"', 4.0), ("force", '"k*c*1000"', "k, given in N/mm, once more"),
    ("force", '"k"', "a stiffness in N/m is given where a force in N"),
    # g by its use
    ("a mass", '"300 g"', 0.3), ("a mass", '{ value = 300, unit = "g" }', 0.3),
    ("a mass", '{ value = "0.3 kg", unit = "g" }', 0.3),
    ("a mass", '"300 mm"', "a length in m is given where a mass"),
    ("a mass", '{ value = "3 N", unit = "g" }', 'N is given where unit = "g"'),
    ("a mass", '{ value = 3.0, unit = "stones" }', "unknown unit 'stones'"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "text", "expected"), TABLE)
def test_a_number_is_that_of_its_unit_or_is_refused(place, text, expected):
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            PLACES[place](text)
    else:
        assert PLACES[place](text) == pytest.approx(expected, rel=4e-16)


REFUSED = [
    (place, text) for place, text, expected in TABLE
    if isinstance(expected, str) and place in ("frequency", "gap", "acceleration", "force")
    and re.search("[a-z] \\*|given where .* in|write|once more", expected)
    and not re.match('"[0-9.]+ ', text)
]  # fmt: skip


@pytest.mark.parametrize(("place", "text"), REFUSED)
def test_the_line_to_write_instead_is_accepted(place, text):
    swept, words = "loads.push.law.phase = [0.0]\n", {place.upper(): text}
    for _ in range(3):
        try:
            load_text(filled(SYSTEM + ORBITS + swept, **words))
            break
        except ValueError as error:
            found = re.search(
                'write ("[^"]+")(?: with (variables.factor = .*))?', str(error)
            )
            words = {place.upper(): found[1], "VARIABLE": found[2] or ""}
    else:
        pytest.fail(f"three lines were proposed for {text}")


def read(folder, content, expected="m/s^2", **keys):
    folder.joinpath("record.csv").write_text(content)
    document = Document({}, str(folder / "study.toml"), {})
    law = {"data": "record.csv", **keys}
    return with_records(law, "law", document, expected, True)


HEADINGS = [
    ("t [ms]", "s", "ms"), ("Zeit / ms", "s", "ms"), ("t/ms", "s", "ms"),
    ("time (s)", "s", "s"), ("time, min", "s", "min"), ("t_ms", "s", "ms"),
    ("Time (milliseconds)", "s", "milliseconds"), ("TIME [SEC]", "s", "sec"),
    ("time ms", "s", "ms"), ("t in µs", "s", "µs"), ("acc (g)", "m/s^2", "g"),
    ("a in m/s^2", "m/s^2", "m/s^2"), ("a / (m/s²)", "m/s^2", "m/s²"),
    ("acc [mg] of the table", "m/s^2", "mg"), ("acc (cm/s/s) (left)", "m/s^2", "cm/s/s"),
    ("acc g", "m/s^2", "g"), ("accel_m/s2", "m/s^2", "m/s2"), ("F(kN)", "N", "kN"),
    ("Kraft: kN", "N", "kN"), ("force_kN", "N", "kN"), ("Weg {mm}", "m", "mm"),
    ("acc (in g)", "m/s^2", "g"), ("a [unit: m/s^2]", "m/s^2", "m/s^2"),
    ("a [ms^-2]", "m/s^2", "m s^-2"), ("a [m s-2]", "m/s^2", "m s-2"),
    ("gap (in)", "m", "in"), ("x [mm] (left)", "m", "mm"), ("F(t) [kN]", "N", "kN"),
    ("A [G]", "m/s^2", "G"), ("X [MM]", "m", "mm"), ("speed (km/h)", "m/s", "km/h"),
    # remarks and indices
    ("f(t)", "N", ""), ("acc (1)", "m/s^2", ""), ("push (left)", "N", ""),
    ("t_min", "s", ""), ("a_g", "m/s^2", ""), ("x_m", "m", ""), ("disp_in", "m", ""),
    ("force / mass", "N", ""), ("value", "N", ""),
]  # fmt: skip


@pytest.mark.parametrize(("heading", "asked", "unit"), HEADINGS)
def test_headings_name_units_as_people_write_them(heading, asked, unit):
    assert heading_unit(heading, asked) == unit


@pytest.mark.parametrize(
    ("heading", "keys", "expected"),
    [
        ("t,a (g)", {}, G), ("t,a (g)", {"unit": "g"}, G), ("t,a [mg]", {}, 1e-3 * G),
        ("t,a in cm/s^2", {}, 1e-2), ("t,a", {"unit": "mm/s^2"}, 1e-3),
        ("t,a (g)", {"unit": "m/s^2"}, "names another unit than unit"),
        ("t,a (kg)", {}, "kg is given where an acceleration"),
        ("t,a (kg)", {"unit": "g"}, "names another unit than unit"),
        ("t,a", {}, "unit is missing"), ("t,a", {"unit": "mm"}, "mm is given where"),
    ],
)  # fmt: skip
def test_values_of_a_record_are_in_the_unit_of_key_or_heading(
    tmp_path, heading, keys, expected
):
    name = heading.partition(",")[2]
    content = f"{heading}\n0,1\n1,-1\n"
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read(tmp_path, content, value=name, **keys)
    else:
        found = read(tmp_path, content, value=name, **keys)
        assert found["values"] == pytest.approx([expected, -expected], rel=1e-15)


@pytest.mark.parametrize(
    ("heading", "keys", "expected"),
    [
        ("t", {}, 1.0), ("t (ms)", {}, 1e-3), ("Zeit / ms", {}, 1e-3), ("t_ms", {}, 1e-3),
        ("t in min", {}, 60.0), ("t", {"time_unit": "ms"}, 1e-3),
        ("t [ms]", {"time_unit": "ms"}, 1e-3), ("time ms", {}, 1e-3),
        ("t (ms)", {"time_unit": "s"}, "names another unit than time_unit"),
        ("t_ms", {"time_unit": "s"}, "names another unit than time_unit"),
    ],
)  # fmt: skip
def test_times_of_a_record_are_in_the_unit_of_key_or_heading(
    tmp_path, heading, keys, expected
):
    content = f"{heading};a\n0;1\n1;-1\n2;0\n"
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read(tmp_path, content, value="a", unit="g", **keys)
    else:
        times = read(tmp_path, content, value="a", unit="g", **keys)["times"]
        assert times == pytest.approx([0.0, expected, 2 * expected], rel=1e-15)


CLOCKS = [
    ("36000,36000.5,36001", {}, 36000.0), ("2,2.5,3", {}, 2.0), ("-1,0,1", {}, -1.0),
    ("1.7e9,1700000001,1700000003", {}, 1.7e9), ("-5,-4,-3", {}, -5.0),
    ("0,1,2", {}, [0, 1, 2]), ("0.02,0.04,0.06", {}, [0.02, 0.04, 0.06]),
    ("36000,36000.5,36001", {"start": 0.0}, [0, 0.5, 1]),
    ("36000,36000.5,36001", {"start": "500 ms"}, [0.5, 1, 1.5]),
    ("36000,36000.5,36001", {"periodic": True}, [36000, 36000.5, 36001]),
    ("-1,0,1", {"start": 0}, [0, 1, 2]),
    ("36000,36000.5,36001", {"start": 36e3}, [36e3, 36000.5, 36001]),
]  # fmt: skip


@pytest.mark.parametrize(("times", "keys", "expected"), CLOCKS)
def test_a_record_begins_where_its_clock_or_its_start_says(tmp_path, times, keys, expected):
    rows = "".join(f"{time},{i}\n" for i, time in enumerate(times.split(",")))
    if isinstance(expected, float):
        with pytest.raises(
            ValueError, match=f"clock begins at {expected:g} s".replace("+", ".")
        ):
            read(tmp_path, f"t,a\n{rows}", value="a", unit="g", **keys)
    else:
        found = read(tmp_path, f"t,a\n{rows}", value="a", unit="g", **keys)
        assert found["times"] == expected


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("1,0,5", "line 3 has 3 cells under 2 headings"),
        ("1,0,5,0", "line 3 has 4 cells under 2 headings"),
        ("1,2,x", "line 3 has 3 cells under 2 headings"),
        ("1,1_5", 'a = "1_5" is not a number'), ("1_0,1", 't = "1_0" is not a number'),
        ("1,0x10", "is not a number"), ("1,１", "is not a number"),
        ("1,nan", "is not a number"), ("1,infinity", "is not a number"),
        ("1,1e", "is not a number"), ("1,--1", "is not a number"), ("1,", 'a = "" is not'),
    ],
)  # fmt: skip
def test_rows_with_other_cells_or_other_numbers_are_refused(tmp_path, rows, words):
    with pytest.raises(ValueError, match=words):
        read(tmp_path, f"t,a\n0,0\n{rows}\n2,0\n", value="a", unit="g")


@pytest.mark.parametrize("row", ["1,1.5", " 1 , 1.5", "1,1.5,", "1,+1.5e0", "1.,15E-1,,"])
def test_rows_of_plain_numbers_are_read(tmp_path, row):
    found = read(tmp_path, f"t,a\n0,0\n{row}\n2,0\n", value="a", unit="m/s^2")
    assert found["values"] == [0.0, 1.5, 0.0]


MOVED = """
[system]
kind = "impact_assembly"
variables.peak = { value = 0.3, unit = "g" }
variables.share = 0.3
variables.k = "2 N/mm"
[system.linear.modules.ground-body]
module = "translation_translation"
mass = 1.0
stiffness = 1e3
[system.loads.record]
{LOAD} = "record{KIND}"
at = "body"
{LAW} = { data = "record.csv", value = "{HEADING}", {KEYS} }
[analysis]
kind = "response"
duration = {DURATION}
"""


def moved(folder, heading, keys, base=True, times="0,1,2", duration="3.0"):
    rows = "".join(f"{time},{i}\n" for i, time in enumerate(times.split(",")))
    folder.joinpath("record.csv").write_text(f"t,{heading}\n{rows}")
    words = {"LOAD": "base", "KIND": "_acceleration", "LAW": "motion"}
    words |= {} if base else {"LOAD": "load", "KIND": "", "LAW": "law"}
    words |= {"HEADING": heading, "KEYS": keys, "DURATION": duration}
    folder.joinpath("study.toml").write_text(filled(MOVED, **words))
    study = load(folder / "study.toml")
    assert load_text(to_toml(study.resolved()), "study").resolved() == study.resolved()
    inside = study.system.loads["record"].model_dump()[words["LAW"]]
    return inside["values"][1] * inside["scale"]


SCALES = [
    (True, "a (g)", "scale = 2.0", 2 * G),
    (True, "a", 'unit = "g", scale = "share"', 0.3 * G),
    (True, "a", 'unit = "1", scale = "peak"', 0.3 * G),
    (True, "a", 'unit = "%", scale = "0.5 g"', 0.005 * G),
    (True, "a (g)", 'scale = "peak"', "an acceleration in m/s.* is given where a number"),
    (True, "a (g)", 'scale = "9.81*peak"', "converts peak, given in g, once more"),
    (True, "x (mm)", "scale = 2.0", "mm is given where an acceleration"),
    (False, "x (mm)", 'scale = "20 kN/m"', 20.0), (False, "x (mm)", 'scale = "k"', 2.0),
    (False, "x / mm", 'scale = "k*share"', 0.6), (False, "F (kN)", 'scale = "50 %"', 500.0),
    (False, "x (mm)", 'scale = "20 kN"', "kN is given where a stiffness in N/m"),
    (False, "F (kN)", 'scale = "k"', "a stiffness in N/m is given where a number"),
    (False, "a (g)", 'scale = "2 kg"', 2 * G),
    (False, "x", 'unit = "mm", scale = 3e3', 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("base", "heading", "keys", "expected"), SCALES)
def test_a_scale_has_the_unit_that_the_values_lack(tmp_path, base, heading, keys, expected):
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            moved(tmp_path, heading, keys, base)
    else:
        found = moved(tmp_path, heading, keys, base)
        assert found == pytest.approx(expected, rel=1e-15)


def test_a_record_that_begins_after_the_motion_is_refused(tmp_path):
    with pytest.raises(ValueError, match="begins at 4 s, after the duration of 3 s"):
        moved(tmp_path, "a (g)", "periodic = false", times="4,6,9")
    moved(tmp_path, "a (g)", "periodic = false", times="4,6,9", duration="5.0")
    moved(tmp_path, "a (g)", "start = 0.0", times="4,6,9")
