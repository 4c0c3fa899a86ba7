"""Generate the reference of the manual from the docstrings of all public names.

    python -m experiments.house.reference    # docs/reference/*.md

`GROUPS` assigns names to pages. The entry of a name says whether it is stable, by
`stable.py`, and contains its signature, its docstring, for classes a table of fields (from
`quantity` and `result_field`) and the public methods, and its source file.
`tests/test_manual.py` checks that every public name is in one group.
"""

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import json
import re
import textwrap
from pathlib import Path

import jaxvib as jv

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
# What later versions keep, see `stable.py`.
PROMISES = json.loads(Path(__file__).with_name("stable.json").read_text(encoding="utf-8"))
STABLE = {*PROMISES["called"], *PROMISES["read"]}
FLOORS = (
    "systems ensemble kernels dynamics modes orbits branches transients design studies "
    "programs reports"
)

GROUPS = {
    "systems": (
        "Systems of bodies",
        "Built-in families of bodies, assemblies of modules, and any smooth vector field; "
        "access to parameters by their paths.",
        """
        two_body_impact TwoBodyImpact Body ImpactSystem LinearSystem Contact
        AnnularContact AppliedLoad
        assemble Assembled TranslationTranslation TranslationRotation RodOnRod Spring
        AngularSpring PointMass PointInertia BeamModule FrameModule PlaneFrameModule
        SpinningDisc read_matrices elastic_structure ElasticStructure forced_system
        ForcedSystem autonomous_system AutonomousSystem BaseMotion StopMotion
        absolute_states parameters parameter_at replace derived Variables quantity drifting
        """,
    ),
    "laws": (
        "Contacts, springs, friction and loads",
        "Force laws as functions of penetration, elongation, velocity and time.",
        """
        HertzContact LinearContact PiecewiseLinearContact PowerContact HuntCrossleyContact
        KelvinVoigtContact RestitutionContact backlash CoulombFriction ContactFriction
        NonlinearSpring PolynomialLaw PiecewiseLinearLaw PolynomialDamperLaw FunctionLaw
        StateElement PiezoelectricCircuit CoilCircuit MaxwellElement
        HarmonicLoad FourierLoad ConstantLoad StepLoad RampLoad PulseLoad ChirpLoad
        RecordLoad FilteredNoise band_limited_noise noise_of_density
        """,
    ),
    "beams": (
        "Beams with bodies",
        "A uniform beam (partial differential equation) with attached bodies.",
        """
        Beam BeamWithBodies ElasticSupport oscillators_on_beam lumped_masses_on_beam
        rigid_body_on_beam beam_eigenvalues modes.BeamModes modes.beam_spectra
        modes.BeamSpectra modes.beam_response
        """,
    ),
    "chains": (
        "Chains of bodies joined by beams",
        "Waves, wave packets and energy.",
        """
        BeamChain dynamics.wave_packet dynamics.kick dynamics.random_velocities
        dynamics.chain_motion dynamics.chain_fields dynamics.energy_field
        dynamics.energy_statistics dynamics.beam_shapes dynamics.kinetic_split
        dynamics.equilibrium_split dynamics.ensemble_split dynamics.step_chain
        dynamics.Stop dynamics.CubicGround
        """,
    ),
    "motion": (
        "Time histories",
        "Time integration, energy balances and kernels.",
        """
        simulate dynamics.Trajectory flow propagate dynamics.energy_balance
        dynamics.EnergyBalance dynamics.module_energies dynamics.contact_histories
        dynamics.ContactHistories
        dynamics.mean_element_power dynamics.mean_friction_power kernel kernels.Kernel
        kernels.web_assembly kernels.WebAssembly
        """,
    ),
    "modes": (
        "Modes and responses",
        "Linear systems in the frequency domain.",
        """
        natural_frequencies natural_modes modes.damped_modes frequency_response
        modes.energy_shares modes.EnergyShares modes.frequency_derivatives
        modes.lowest_frequencies
        """,
    ),
    "orbits": (
        "Periodic motions, equilibria and attractors",
        "Steady states, their stability, other attractors and their basins.",
        """
        periodic_orbit orbits.PeriodicOrbit orbits.LimitCycle orbits.DriftingOrbit
        orbits.DriftingCycle equilibrium
        orbits.Equilibrium static_equilibrium orbits.StaticEquilibrium
        orbits.gaps_from_equilibrium orbits.regimes orbits.SettlingSettings
        orbits.orbit_trajectories orbits.contact_work_rates
        bifurcation_diagram orbits.BifurcationDiagram basins orbits.Basins
        orbits.attractors orbits.Attractors orbits.state_grid orbits.robustness
        orbits.Robustness orbits.basin_entropy orbits.BasinEntropy
        orbits.integrity_curves orbits.IntegrityCurves orbits.smallest_shock orbits.Shock
        lyapunov_exponents
        orbits.LyapunovExponents orbits.poincare_section orbits.Section
        orbits.FieldSection
        orbits.transient_engine orbits.basins_engine
        """,
    ),
    "branches": (
        "Continuation and bifurcations",
        "Branches of motions along parameters, and their bifurcations.",
        """
        continue_orbit branches.continue_orbits branches.ContinuationSettings
        branches.Branch branches.BranchCheck branches.BranchEvent branches.CycleBranch
        branches.extend_branch branches.find_branches switch_branch bifurcation_point
        branches.BifurcationPoint branches.FieldBifurcation branches.bifurcation_curves
        branches.continue_bifurcation branches.BifurcationCurve continue_equilibrium
        branches.EquilibriumBranch branches.plot_branches branches.plot_curves
        branches.normal_form branches.NormalForm nonlinear_modes branches.NonlinearMode
        branches.phase_resonance branches.PhaseResonance
        branches.FreeMotion
        """,
    ),
    "transients": (
        "Transient responses",
        "Records, shocks and noise: peaks, first passages and their probabilities.",
        """
        response transients.Response transients.Limit responses transients.statistics
        transients.Statistics transients.scaled response_covariance shock_spectrum
        transients.ShockSpectrum fragility_curve transients.Fragility
        transients.fragility_of_capacities
        """,
    ),
    "design": (
        "Designs, fits and sensitivities",
        "Objectives on all results above, with exact gradients.",
        """
        design.optimise design.SearchSettings
        design.evaluated design.Problem
        design.Variable design.Limit design.Goal design.Design design.pareto_front
        design.Front design.simplex_lattice design.fit design.Fit design.likelihood
        design.Likelihood design.Record design.local_sensitivity
        design.LocalSensitivity design.sobol_indices design.SobolIndices design.Measure
        design.over design.parameter_measure design.change_measure
        design.natural_frequency_measure design.response_measure design.peaks_measure
        design.white_noise_measure design.orbit_measure design.contact_impulse
        design.bifurcation_measure design.stable_range_measure
        design.branch_maximum_measure design.branch_maximum design.BranchMaximum
        design.worst_over_box design.WorstCase design.verify_stable_range
        design.RangeVerification
        design.beam_measure design.placement_measure
        design.energy_share_measure design.RandomSplit design.packet_measure design.Packet
        design.optimal_absorber design.Notice design.notice
        design.EvaluationLostError
        """,
    ),
    "studies": (
        "Studies, samples and reason codes",
        "Batches of samples, their store and report, and reason codes.",
        """
        sweep open_study studies.results_of reports.write_report live_page map_samples
        programs.export_c programs.export_fmu
        ensemble.TwoStageFunction ensemble.compile_ahead
        ensemble.SPARE_LANES Reason reason ensemble.undecided ensemble.raise_if_empty
        ensemble.checkpointed ensemble.checkpointing ensemble.use_executor
        """,
    ),
}


def public_names() -> set[str]:
    """Return every public name: those at the top, then those of the floors."""
    top = {name for name in dir(jv) if not inspect.ismodule(getattr(jv, name))}
    found = top - {"__version__", "Quantity"}  # JAX's `Array`: see `quantity`
    for floor in FLOORS.split():
        module = importlib.import_module(f"jaxvib.{floor}")
        exported = re.findall(r" as (\w+)$", inspect.getsource(module), re.MULTILINE)
        found |= {f"{floor}.{name}" for name in exported if name not in top}
    return found


def named(name: str):
    """Return what a public name stands for."""
    return functools.reduce(getattr, name.split("."), jv)


def part(name: str) -> str:
    """Return the Markdown of one name."""
    thing = named(name)
    promise = "stable" if name in STABLE else "provisional"
    lines = [f"## `jv.{name}` {{ #{anchor(name)} }}", ""]
    lines += [f"*[{promise.capitalize()}](../versions.md#{promise})*", ""]
    if isinstance(thing, int | float):
        return "\n".join([*lines, f"`{thing!r}`. {_comment(name)}", ""])
    lines += _signature(name.rpartition(".")[2], thing)
    lines += [docstring(thing), ""]
    result = thing if inspect.isclass(thing) else _result(thing)
    if result is not thing and result is not None:
        lines += [
            f"Fields of the `{result.__name__}` that is returned:",
            "",
            *_fields(result),
        ]
    if inspect.isclass(thing):
        lines += _members(thing) if issubclass(thing, enum.IntEnum) else _fields(thing)
        lines += _methods(thing)
    lines += [f"Defined in `{where(thing)}`.", ""]
    return "\n".join(lines)


@functools.cache
def _public_things() -> set[int]:
    return {id(named(name)) for name in public_names()}


def _result(thing):
    """Return the class of a function's result that has no place of its own here."""
    note = getattr(inspect.unwrap(thing), "__annotations__", {}).get("return")
    if inspect.isclass(note) and id(note) not in _public_things() and _fields(note):
        return note
    return None


def anchor(name: str) -> str:
    """Return the place of a name on its page."""
    return name.rpartition(".")[2]


def docstring(thing) -> str:
    """Return a docstring with its examples as blocks of code."""
    text = inspect.getdoc(thing) or ""
    return re.sub(
        r"(?:^>>> .*\n?)(?:^(?!\n).+\n?)*",
        lambda found: f"```pycon\n{found[0].rstrip()}\n```\n",
        text,
        flags=re.MULTILINE,
    )


def where(thing) -> str:
    """Return the file of a definition."""
    return str(Path(inspect.getsourcefile(inspect.unwrap(thing)) or "").relative_to(ROOT))


def _comment(name: str) -> str:
    floor, _, constant = name.partition(".")
    for path in sorted((ROOT / "jaxvib" / floor).glob("*.py")):
        found = re.search(rf"^{constant} = .+?  # (.+)$", path.read_text("utf-8"), re.M)
        if found:
            return f"{found[1]}.".capitalize()
    return ""


def _signature(name: str, thing) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, enum.Enum | Exception):
        return []
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:
        return []
    notes = _annotations(thing)
    shown, star = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star = star or one.kind is one.VAR_POSITIONAL
        default = "" if one.default is one.empty else f" = {default_text(one.default)}"
        note = f": {notes[one.name]}" if one.name in notes else ""
        prefix = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        shown.append(f"{prefix}{one.name}{note}{default}")
    returns = f" -> {notes['return']}" if "return" in notes else ""
    inner = "".join(f"    {one},\n" for one in shown)
    short = f"{name}({', '.join(shown)}){returns}"
    text = short if len(short) <= 78 else f"{name}(\n{inner}){returns}"
    return ["```python", text, "```", ""]


def _annotations(thing) -> dict[str, str]:
    """Return the annotations of a function as they are written."""
    function = inspect.unwrap(thing)
    if inspect.isclass(function):
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, IndentationError):
        return {}
    if not isinstance(tree, ast.FunctionDef):
        return {}
    arguments = [*tree.args.args, *tree.args.kwonlyargs]
    notes = {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation}
    if tree.returns:
        notes["return"] = ast.unparse(tree.returns)
    return {name: note.replace("'", '"') for name, note in notes.items()}


def default_text(value) -> str:
    if inspect.isfunction(value) or inspect.isclass(value):
        return value.__name__
    text = repr(value)
    return text if len(text) < 40 else f"{type(value).__name__}()"


def _fields(thing) -> list[str]:
    if not dataclasses.is_dataclass(thing):
        return []
    rows = []
    for field in dataclasses.fields(thing):
        told = field.metadata
        if "description" in told:
            axes = ", ".join(told.get("axes", ()))
            shape = f"({axes})" if axes else ""
            unit, words = told["unit"], told["description"]
            rows.append((f"`{field.name}`", shape, unit, words))
    return _table(("field", "axes", "unit", "meaning"), rows)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, without columns that are empty."""
    kept = [place for place in range(len(heads)) if any(row[place] for row in rows)]
    lines = [[cells[place] for place in kept] for cells in (heads, ("---",) * 9, *rows)]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""] if rows else []


def _members(thing) -> list[str]:
    text = {"Reason": jv.reason}.get(thing.__name__) or jv.design.notice
    rows = [(f"`{one.name}`", str(int(one)), text(one)) for one in thing]
    return _table(("name", "code", "meaning"), rows)


def _methods(thing) -> list[str]:
    lines = []
    for name, member in vars(thing).items():
        function = getattr(member, "__func__", member)
        public = not name.startswith("_") and getattr(function, "__doc__", None)
        if not public or not (
            inspect.isroutine(function) or isinstance(member, property | classmethod)
            or hasattr(function, "__wrapped__")
        ):  # fmt: skip
            continue
        if isinstance(member, property):
            call = ""
        else:
            call = "(" + ", ".join(_parameters(getattr(thing, name))) + ")"
        text = textwrap.indent(docstring(function), "    ").strip()
        lines += [f"- **`.{name}{call}`**", "", f"    {text}", ""]
    return lines


def _parameters(function) -> list[str]:
    try:
        return [one for one in inspect.signature(function).parameters if one != "self"]
    except ValueError:
        return []


def pages() -> dict[str, str]:
    """Return the text of every page by its file's name."""
    found = {}
    for file, (title, about, names) in GROUPS.items():
        parts = "\n".join(part(name) for name in names.split())
        found[f"{file}.md"] = f"# {title}\n\n{about}\n\n{parts}"
    return found


def index() -> str:
    """Return the page that lists all names."""
    lines = [(FOLDER / "index.md.in").read_text(encoding="utf-8")]
    for file, (title, about, names) in GROUPS.items():
        links = ", ".join(
            f"**{link}**" if name in STABLE else link
            for name in names.split()
            for link in [f"[`{name}`]({file}.md#{anchor(name)})"]
        )
        lines += [f"## [{title}]({file}.md)", "", about, "", links, ""]
    return "\n".join(lines)


def main() -> None:
    """Write all pages."""
    for file, text in {"index.md": index(), **pages()}.items():
        (FOLDER / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
