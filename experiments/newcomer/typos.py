"""More than a hundred mistakes, and the required text of the one-line error messages.

In configs of all kinds of systems, on the command line and in Python. Each ends with
exit code 2 or the right exception, the words below, no traceback and within a second of
CPU time, including the start of Python; four seconds if the check needs JAX. For
mistakes in Python the time after the imports counts.

    python -m experiments.newcomer.typos
"""

import dataclasses
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from jaxvib.studies.run import builtin_studies

LIMIT, LIMIT_OF_BUILT = 1.0, 4.0  # s of processor time
RESULTS = Path(__file__).with_suffix(".json")


@dataclasses.dataclass(frozen=True)
class Typo:
    """In a config: what is written in place of what, and words of the message."""

    correct: str
    wrong: str
    expected: tuple[str, ...]
    config: str = "regime_map"
    built: bool = False  # what is told once the system is built, and so JAX imported

    def put_into(self, config: str) -> tuple[str, int]:
        """Return the config with the mistake in it and the mistake's line."""
        if config.count(self.correct) != 1:
            raise ValueError(f"{self.correct!r} stands not once in the config")
        place = config.index(self.correct)
        line = config.count("\n", 0, place) + 1
        return config.replace(self.correct, self.wrong), line


@dataclasses.dataclass(frozen=True)
class Command:
    """On the command line: the words after `jaxvib`, and words of the message."""

    words: str
    expected: tuple[str, ...]
    built: bool = False


@dataclasses.dataclass(frozen=True)
class Call:
    """In Python: an expression, its exception and words of the message."""

    code: str
    exception: str
    expected: tuple[str, ...]


TYPOS = (
    Typo("load.amplitude = {", "load.amplitud = {", ("load.amplitude",)),
    Typo("main.mass = 1000.0", "main.mas = 1000.0", ("main.mass",)),
    Typo("main.mass = 1000.0", "main.mass = -1.0", ("-1", "(0, inf)", "kg")),
    Typo("main.mass = 1000.0", "main.mass = true", ("true", "(0, inf)", "kg")),
    Typo("gap = 0.05", "gap = nan", ("nan", "[0, inf)", "m")),
    Typo("gap = 0.05", 'gap = "0.05"', ("0.05", "[0, inf)", "m")),
    Typo("attached.frequency = 5.646", "atached.frequency = 5.646", ("attached",)),
    Typo("load.phase = 0.0", "load.phase = inf", ("inf", "rad")),
    Typo("poissons_ratios = [0.3, 0.3]", "poissons_ratios = [0.3, 0.6]", ("0.6", "0.5")),
    Typo("youngs_moduli = [2.1e11, 2.1e11]", "youngs_moduli = [2.1e11]", ("2",)),
    Typo('kind = "periodic_orbit"', 'kind = "periodic_orbt"', ("periodic_orbit",)),
    Typo("max_periods = 8", "max_periods = 9", ("9", "8")),
    Typo("[analysis]", "[analisys]", ("analysis",)),
    Typo('method = "grid"', 'method = "gird"', ("grid",)),
    Typo("linspace = [5.0, 8.0, 64]", "linspace = [-5.0, 8.0, 64]", ("-5", "(0, inf)")),
    Typo("linspace = [5.0, 8.0, 64]", "linspce = [5.0, 8.0, 64]", ("linspace",)),
    Typo("rtol = 1e-8", "rtol = 0.0", ("rtol", "0")),
    Typo("chunk = 1024", "chunk = 0.5", ("chunk", "0.5")),
    Typo('evidence = "checked"', 'evidence = "check"', ("checked",)),
    Typo('device = "auto"', 'device = "auto', ()),
)

TYPOS_OF_ALL_KINDS = (
    *TYPOS,
    Typo('spring = "polynomial"', 'spring = "polynomal"', ("polynomial",), "duffing"),
    Typo("law.coefficients = [", "law.coefficient = [", ("coefficients",), "duffing"),
    Typo('load = "harmonic"', 'load = "harmonics"', ("harmonic",), "duffing"),
    Typo("count = 200", "count = 0", ("count", "0"), "duffing"),
    Typo("log_bounds = [0.5, 30.0]", "log_bounds = [-0.5, 30.0]", ("-0.5",), "duffing"),
    Typo('["0.08 Hz", "0.4 Hz"]', '["0.08 Hzz", "0.4 Hz"]', ("Hzz", "Hz"), "duffing"),
    Typo('["0.08 Hz", "0.4 Hz"]', '["0.08 mm", "0.4 mm"]', ("mm", "rad/s"), "duffing"),
    Typo('units = ["Hz"]', 'units = ["Hz", "mmm"]', ("mmm",), "duffing"),
    Typo('method = "random"', 'method = "radom"', ("radom", "random"), "duffing"),
    Typo('contact = "linear"', 'contact = "liner"', ("linear",), "basins"),
    Typo("grid.body = [", "grid.bdy = [", ("bdy", "body"), "basins", built=True),
    Typo("law.stiffness = 4e4", "law.stifness = 4e4", ("stiffness",), "basins"),
    Typo("gap = 0.02", 'gap = "2 kg"', ("2 kg", "m"), "basins"),
    Typo('at = "body"                            # the stopped', 'at = "bdy" # the freedom',
         ("bdy", "body"), "basins", built=True),
    Typo('"translation_rotation"', '"translation_rotaton"', ("translation_rotation",),
         "tower_modes"),
    Typo("length = 0.75", "lenght = 0.75", ("length",), "tower_modes"),
    Typo("modules.roof-pendulum.length = {", "modules.roof-pendulm.length = {",
         ("modules.roof-pendulum.length",), "tower_modes"),
    Typo('kind = "natural_modes"', 'kind = "natural_mode"', ("natural_modes",),
         "tower_modes"),
    Typo("mass = 1500.0", 'mass = "1500 quintals"', ("quintals",), "tower_modes"),
    Typo("mass = 1500.0", "mass = -1500.0", ("-1500", "(0, inf)"), "tower_modes"),
    Typo('ends = ["clamped", "free"]', 'ends = ["clampd", "free"]', ("clampd", "clamped"),
         "beam_with_bodies"),
    Typo("positions = [0.1, 0.5, 0.9]", "positions = [0.1, 0.5, 1.9]", ("1.9",),
         "beam_with_bodies", built=True),
    Typo("link_stiffness = [0.1, 0.1, 0.1]", "link_stiffness = [0.1, 0.1]",
         ("link_stiffness", "3"), "beam_with_bodies"),
    Typo("beam.mass_per_length", "beam.mass_per_lenght", ("mass_per_length",),
         "beam_with_bodies"),
    Typo("link_stiffness.0 = {", "link_stiffness.7 = {", ("link_stiffness.7",),
         "beam_with_bodies"),
    Typo("logspace = [0.1, 1e4, 251]", "logspace = [0.0, 1e4, 251]", ("0",),
         "beam_with_bodies"),
    Typo('ends = "periodic"', 'ends = "perodic"', ("periodic",), "beam_chain"),
    Typo("bodies = 256", "bodies = 1.5", ("1.5",), "beam_chain"),
    Typo("rotational = 0.0", "rotational = 2.0", ("2", "1"), "beam_chain"),
    Typo("gamma = [0.1, 1.0, 10.0]", "gama = [0.1, 1.0, 10.0]", ("gamma",), "beam_chain"),
    Typo('start = "packet"', 'start = "paket"', ("packet",), "wave_packet"),
    Typo("{ body = 150, mass = 6.0 }", "{ bdy = 150, mass = 6.0 }", ("body",),
         "wave_packet"),
    Typo("body = 60 ", "body = 600 ", ("600",), "wave_packet", built=True),
    Typo('objective = "amplitude"', 'objective = "amplitud"', ("amplitude",),
         "first_design"),
    Typo("variables.attached.frequency", "variables.attached.freqency",
         ("attached.frequency",), "first_design"),
    Typo("frequency = [4.0, 8.0]", "frequency = [8.0, 4.0]", ("8", "4"), "first_design"),
    Typo('method = "slsqp"', 'method = "slqsp"', ("slsqp",), "tuned_mass_damper"),
    Typo('noise.filter = "kanai_tajimi"', 'noise.filter = "kanai_tajmi"',
         ("kanai_tajimi",), "fragility"),
    Typo('limit.at = "main"', 'limit.at = "mian"', ("mian", "main"), "fragility",
         built=True),
    Typo('path = "load.frequency"', 'path = "load.freqency"', ("load.frequency",),
         "bifurcation_diagram"),
    Typo('law.data = "road.csv"', 'law.data = "raod.csv"', ("raod.csv",), "quarter_car"),
    Typo('law.value = "height"', 'law.value = "hight"', ("hight", "height"),
         "quarter_car"),
    Typo('law.scale = "roughness *', 'law.scale = "roughnes *', ("roughnes",),
         "quarter_car"),
)  # fmt: skip

COMMANDS = (
    Command("run", ("Missing argument",)),
    Command("runn quick", ("run",)),
    Command("run quik", ("'quick'",)),
    Command("run nothing.toml", ("nothing.toml", "no such file")),
    Command("run folder", ("folder",)),
    Command("run binary.toml", ("binary.toml",)),
    Command("run empty.toml", ("empty.toml", "system")),
    Command("run quick --worker 2", ("--workers",)),
    Command("run quick --set atached.mass=120", ("attached.mass",)),
    Command("run quick --set attached.mass", ("attached.mass", "=")),
    Command("run quick --set attached.mass=heavy", ("heavy", "kg")),
    Command("run quick --set attached.mass=120m", ("120m", "kg")),
    Command("run quick --workers two", ("two", "workers")),
    Command("run quick --cluster localhost", ("localhost", "tcp://")),
    Command("run quick --out mine.txt", ("mine.txt", "a folder"), built=True),
    Command("run quick --out taken", ("taken", "config.toml"), built=True),
    Command("run car.toml", ("rough.csv", "line 3", "bumpy")),
    Command("check quick --jsn", ("--json",)),
    Command("status nowhere", ("nowhere",)),
    Command("report nowhere", ("nowhere",)),
    Command("export nowhere", ("nowhere",)),
    Command("merge nowhere elsewhere --out both", ("nowhere",)),
    Command("new quik", ("'quick'",)),
    Command("new quick mine.txt", ("mine.txt", "exists")),
    Command("cache clean", ("clear",)),
)

CALLS = (
    Call("getattr(jv, 'periodc_orbit')(damper)", "AttributeError", ("'periodic_orbit'",)),
    Call("jv.two_body_impact(main_mas=1.0)", "TypeError", ("'main_mass'",)),
    Call("jv.two_body_impact(main_mass=-1.0)", "ValueError", ("-1 kg", "(0, inf)")),
    Call("jv.two_body_impact(main_mass='1000 kg')", "ValueError",
         ("main_mass", "1000 kg", "SI")),
    Call("jv.two_body_impact(main_mass=[1.0, 2.0])", "ValueError", ("main_mass", "(2,)")),
    Call("jv.two_body_impact(contact='hertz')", "TypeError", ("contact", "'hertz'")),
    Call("jv.HertzContact(stiffness=[1e9, 2e9])", "ValueError", ("stiffness", "(2,)")),
    Call("jv.BeamChain(5, [1.0, 2.0])", "ValueError", ("gamma", "(2,)", "a number")),
    Call("jv.BeamChain.from_physical(5, mass=1.0, inertia=0, length=1.0, "
         "bending_stiffness=1.0)", "ValueError", ("inertia = 0 kg m^2", "(0, inf)")),
    Call("jv.assemble('first')", "TypeError", ("'first'", "a list of modules")),
    Call("jv.assemble(jv.PointMass('first', 1.0))", "TypeError", ("a list of modules",)),
    Call("jv.propagate(tower, [0.0, 0.0], 1.0)", "ValueError", ("times", "()")),
    Call("jv.periodic_orbit(damper, max_period=3)", "TypeError",
         ("max_period", "'period'")),
    Call("jv.periodic_orbit('quick')", "TypeError", ("system", "'quick'", "a system")),
    Call("jv.periodic_orbit(damper, periods=0)", "ValueError",
         ("periods = 0", "[1, 10000]")),
    Call("jv.periodic_orbit(damper, guess=[0.0])", "ValueError", ("(1,)", "(4,)")),
    Call("jv.periodic_orbit(damper, engine='evnt')", "ValueError", ("'event'",)),
    Call("jv.periodic_orbit(tower)", "TypeError", ("Assembled", "ImpactSystem")),
    Call("jv.simulate(damper, [0.0, 0.0], [0.0, 1.0])", "ValueError", ("(2,)", "(4,)")),
    Call("jv.simulate(damper, damper.rest(), ['now', 'later'])", "ValueError",
         ("times", "'now'")),
    Call("jv.flow(damper, damper.rest(), 0.0, '1 s')", "ValueError", ("t1", "'1 s'")),
    Call("jv.TranslationTranslation('ground', 'first', mas=2.0)", "TypeError", ("'mass'",)),
    Call("jv.HertzContact(stifness=1e9)", "TypeError", ("'stiffness'",)),
    Call("jv.frequency_response(tower, [1.0], force='frst')", "ValueError", ("'first'",)),
    Call("jv.frequency_response(tower, ['1 Hz'], force='first')", "ValueError",
         ("frequencies", "'1 Hz'")),
    Call("jv.sweep('natural_modes', tower, {'modules.ground-first.mass': [1.0]})",
         "TypeError", ("analysis", "a function")),
    Call("jv.sweep(jv.natural_modes, tower, {'modules.ground-frst.mass': [1.0]})",
         "ValueError", ("modules.ground-first.mass",)),
    Call("jv.replace(damper, {'atached.mass': 120.0})", "ValueError",
         ("'attached.mass'",)),
    Call("jv.bifurcation_diagram(damper, 'load.frequency', [])", "ValueError", ("(0,)",)),
    Call("jv.beam_eigenvalues(damper)", "TypeError", ("TwoBodyImpact", "BeamWithBodies")),
    Call("jv.branches.ContinuationSettings(most_point=5)", "TypeError", ("'most_points'",)),
    Call("jv.open_study('nowhere')", "FileNotFoundError", ("nowhere",)),
    Call("jv.read_matrices('nothing.mtx', 'k.mtx')", "FileNotFoundError",
         ("mass", "nothing.mtx")),
    Call("jv.read_matrices('mine.mtx', 'mine.mtx')", "ValueError", ("mass", "mine.mtx")),
    Call("getattr(jv.orbits, 'smallest_shok')", "AttributeError", ("'smallest_shock'",)),
    Call("jv.orbits.smallest_shock(damper, [0.0] * 4, {0: 1.0}, largst=1.0)", "TypeError",
         ("largst", "'largest'")),
    Call("jv.orbits.smallest_shock(damper, 3.0, {0: 1.0}, 1.0)", "ValueError",
         ("state", "()", "(components,)")),
    Call("jv.orbits.robustness('basins', bx=3)", "TypeError", ("bx", "'box'")),
    Call("jv.orbits.robustness('basins')", "TypeError", ("'basins'", "Basins")),
    Call("jv.orbits.basin_entropy([[0.5]])", "ValueError", ("labels", "float64")),
    Call("jv.orbits.integrity_curves(damper, 3, [1.0], [[0.0] * 4])", "TypeError",
         ("path = 3", "a text")),
    Call("jv.branches.normal_form(damper, 3)", "TypeError",
         ("point = 3", "BifurcationPoint")),
    Call("jv.branches.bifurcation_curves(damper, None, {})", "TypeError",
         ("branch = None", "Branch")),
    Call("jv.drifting(damper, 'main')", "ValueError", ("along", "'x_main'")),
    Call("jv.design.likelihood(damper, {'a': 1.0})", "TypeError",
         ("records['a'] = 1.0", "Record")),
    Call("jv.design.SearchSettings(start=2)", "TypeError", ("'starts'",)),
    Call("jv.elastic_structure(tower, 1, ['first'], damping_rato=0.1)", "TypeError",
         ("'damping_ratio'",)),
    Call("jv.elastic_structure(tower, 1, ['first'], damping_ratio=-1.0)", "ValueError",
         ("damping_ratio = -1", "[0, inf)")),
    Call("jv.live_page(damper, 'page.html', duraton=1.0)", "TypeError", ("'duration'",)),
    Call("jv.dynamics.chain_fields(jv.BeamChain(8), jnp.zeros((4, 8)), [1.0], 10**12)",
         "ValueError", ("frames = 1e+12", "[1, 8")),
    Call("jv.read_matrices('mine.mtx.gz', 'mine.mtx')", "ValueError", (".mtx", ".npy")),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Answer:
    """How a mistake was answered, and what is wrong with that, if anything."""

    mistake: str
    said: str
    seconds: float
    faults: tuple[str, ...]


def answers(folder: Path) -> list[Answer]:
    """Return the answers to all mistakes, made in a folder and processes of their own."""
    found = [_of_config(typo, folder) for typo in TYPOS_OF_ALL_KINDS]
    prepare(folder)
    found += [_of_command(command, folder) for command in COMMANDS]
    return found + of_calls(folder)


def prepare(folder: Path) -> None:
    """Put into a folder what is wrong with files of one's own."""
    (folder / "folder").mkdir()
    (folder / "taken").mkdir()
    (folder / "taken" / "config.toml").write_text("mine")
    (folder / "mine.txt").write_text("mine")
    (folder / "mine.mtx").write_text("mine")
    (folder / "binary.toml").write_bytes(bytes(range(256)))
    (folder / "empty.toml").write_text("")
    car = (builtin_studies.folder() / "quarter_car.toml").read_text()
    (folder / "car.toml").write_text(car.replace("road.csv", "rough.csv"))
    lines = (builtin_studies.folder() / "road.csv").read_text().splitlines()
    lines[2] = f"{lines[2].split(',')[0]},bumpy"
    (folder / "rough.csv").write_text("\n".join(lines))


def broken(typo: Typo, folder: Path) -> tuple[Path, int]:
    """Write a config with a mistake; return its file and the mistake's line."""
    text, line = typo.put_into(
        (builtin_studies.folder() / f"{typo.config}.toml").read_text()
    )
    if typo.config == "quarter_car":
        (folder / "road.csv").write_bytes(
            (builtin_studies.folder() / "road.csv").read_bytes()
        )
    file = folder / "typo.toml"
    file.write_text(text)
    return file, line


def _of_config(typo: Typo, folder: Path) -> Answer:
    _, line = broken(typo, folder)
    expected = (f"typo.toml, line {line}:", *typo.expected)
    return _told(typo.wrong, "run typo.toml", expected, folder, typo.built)


def _of_command(command: Command, folder: Path) -> Answer:
    words = command.words
    return _told(f"jaxvib {words}", words, command.expected, folder, command.built)


def _told(mistake: str, words: str, expected, folder: Path, built: bool) -> Answer:
    program = [sys.executable, "-m", "jaxvib", *words.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = sum(after[:2]) - sum(before[:2])
    said = done.stdout + done.stderr
    faults = [f"lacks {word!r}" for word in expected if word not in said]
    faults += [f"exit code {done.returncode}"] * (done.returncode != 2)
    faults = _with_common(faults, said, seconds, LIMIT_OF_BUILT if built else LIMIT)
    return Answer(mistake, said.strip(), seconds, faults)


def of_calls(folder: Path) -> list[Answer]:
    """Return the answers to Python's mistakes, all made in one process."""
    calls = json.dumps([dataclasses.astuple(call) for call in CALLS])
    program = [sys.executable, "-c", _PYTHON, calls]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    found = []
    for call, (name, said, seconds) in zip(CALLS, json.loads(done.stdout), strict=True):
        faults = [f"lacks {word!r}" for word in call.expected if word not in said]
        faults += [f"raises {name}"] * (name != call.exception)
        faults = _with_common(faults, said, seconds)
        found.append(Answer(call.code, f"{name}: {said}", seconds, faults))
    return found


_PYTHON = """
import json, sys, time
import jax.numpy as jnp
import jaxvib as jv
damper = jv.two_body_impact()
tower = jv.assemble([jv.TranslationTranslation("ground", "first", mass=2.0, stiffness=6.0)])
jv.periodic_orbit, jv.sweep, jv.bifurcation_diagram, jv.open_study, jv.branches  # imported
jv.frequency_response, jv.beam_eigenvalues, jv.flow
found = []
for code, *_ in json.loads(sys.argv[1]):
    before = time.process_time()
    try:
        exec(code)
        name, said = "nothing", ""
    except Exception as error:
        name, said = type(error).__name__, str(error)
    found.append((name, said, time.process_time() - before))
print(json.dumps(found))
"""


def _with_common(faults: list[str], said: str, seconds: float, limit=LIMIT):
    foreign = [word for word in _FOREIGN if word in said]
    slow = [f"{seconds:.2f} s"] * (seconds > limit)
    return (*faults, *(f"says {word!r}" for word in foreign), *slow)


_FOREIGN = ("Traceback", "pydantic", "beartype", "jaxtyping", "equinox", "zarr", "jax.")


def main() -> int:
    """Make all mistakes, print what is answered wrongly and store the figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = answers(Path(folder))
    for answer in found:
        if answer.faults:
            print(f"{answer.mistake}\n    {'; '.join(answer.faults)}\n    {answer.said}")
    good = sum(not answer.faults for answer in found)
    slowest = max(answer.seconds for answer in found)
    print(
        f"{good} of {len(found)} answered as they should be, the slowest in {slowest:.2f} s"
    )
    figures = {"mistakes": len(found), "answered": good, "slowest_seconds": slowest}
    text = json.dumps(figures | {"answers": {a.mistake: a.said for a in found}}, indent=1)
    RESULTS.write_text(text + "\n")
    return int(good < len(found))


if __name__ == "__main__":
    sys.exit(main())
