"""Checked against: what a reader needs of each public name, and what its examples print."""

import dataclasses
import enum
import inspect
import subprocess
import sys

import pytest

from experiments.house import examples, reference

NAMES = sorted(name for name in reference.public_names() if callable(reference.named(name)))
# What raises nothing of its own: results, measures that a `Problem` checks, and a few more.
RAISES_NOTHING = """
    Variables quantity Assembled AutonomousSystem ForcedSystem FunctionLaw TwoBodyImpact
    parameters reason ensemble.TwoStageFunction
    band_limited_noise branches.BranchCheck modes.beam_spectra dynamics.chain_motion
    dynamics.chain_fields dynamics.energy_field dynamics.energy_statistics
    dynamics.beam_shapes dynamics.kinetic_split dynamics.equilibrium_split kernels.Kernel
    kernels.WebAssembly
    orbits.orbit_trajectories orbits.attractors orbits.transient_engine design.evaluated
    design.simplex_lattice design.Measure design.over design.parameter_measure
    design.change_measure
    design.natural_frequency_measure design.response_measure design.peaks_measure
    design.white_noise_measure design.contact_impulse design.bifurcation_measure
    design.stable_range_measure
    design.placement_measure design.energy_share_measure design.RandomSplit
    design.packet_measure design.Packet design.notice ensemble.compile_ahead
    ensemble.undecided ensemble.checkpointed ensemble.checkpointing
"""
# To be written: branches and long motions, whose examples cost the most.
WITHOUT_EXAMPLE = """
    programs.export_fmu
    PlaneFrameModule SpinningDisc Variables bifurcation_diagram bifurcation_point
    branches.BifurcationCurve branches.BifurcationPoint branches.CycleBranch
    branches.EquilibriumBranch branches.FieldBifurcation branches.FreeMotion
    branches.NonlinearMode branches.PhaseResonance branches.bifurcation_curves
    branches.continue_bifurcation branches.find_branches branches.plot_curves
    continue_equilibrium derived
    design.Problem ensemble.TwoStageFunction orbits.BifurcationDiagram orbits.PeriodicOrbit
    periodic_orbit quantity read_matrices switch_branch transients.Fragility
    transients.Limit transients.Response transients.ShockSpectrum transients.Statistics
    transients.fragility_of_capacities transients.scaled transients.statistics
"""
LAWS = """
    HertzContact LinearContact PiecewiseLinearContact PowerContact HuntCrossleyContact
    KelvinVoigtContact RestitutionContact CoulombFriction ContactFriction
    NonlinearSpring PolynomialLaw PiecewiseLinearLaw PolynomialDamperLaw FunctionLaw
    HarmonicLoad FourierLoad ConstantLoad RampLoad PulseLoad ChirpLoad BaseMotion Beam
    BeamWithBodies BeamChain BeamModule Spring AngularSpring PointMass PointInertia
    TranslationTranslation TranslationRotation RodOnRod TwoBodyImpact Body AppliedLoad
    Contact ElasticSupport dynamics.Stop dynamics.CubicGround
"""


def doc(name):
    return inspect.getdoc(reference.named(name)) or ""


def is_result(thing):
    """Whether a class's fields are all declared by `result_field`: axes beside the unit."""
    told = [f.metadata for f in dataclasses.fields(thing) if "unit" in f.metadata]
    return bool(told) and all("axes" in each for each in told)


def needs_parts(name):
    thing = reference.named(name)
    plain = inspect.isclass(thing) and issubclass(thing, enum.Enum | Exception)
    result = dataclasses.is_dataclass(thing) and is_result(thing)
    return not plain and not result and name not in RAISES_NOTHING.split()


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_says_in_a_sentence_what_it_is(name):
    first = doc(name).partition("\n\n")[0]
    assert first.endswith((".", ":", "$")), first
    assert first[0].isupper() or first[0] in "`$", first


@pytest.mark.parametrize("name", [name for name in NAMES if needs_parts(name)])
def test_it_says_what_it_raises(name):
    assert "**Raises:**" in doc(name) or "**Fields:** `code`" in doc(name)


@pytest.mark.parametrize("name", LAWS.split())
def test_a_law_has_its_equation_and_its_fields_with_units(name):
    text = doc(name)
    assert "$" in text
    assert "**Fields:**" in text or "**Parameter:**" in text


def test_fields_of_results_say_what_they_are():
    for name in NAMES:
        thing = reference.named(name)
        if dataclasses.is_dataclass(thing):
            told = [f for f in dataclasses.fields(thing) if "description" in f.metadata]
            assert all(field.metadata["description"] for field in told), name


def test_every_public_name_has_an_example_but_those_listed():
    without = {name for name in NAMES if not examples.examples(reference.named(name))}
    assert without == set(WITHOUT_EXAMPLE.split())


# Several groups in a process, which starts in 3 s, and share what it traces.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(3))
def test_examples_print_what_they_say(first):
    groups = list(reference.GROUPS.values())[first::3]
    listed = [n for *_, names in groups for n in names.split() if n in NAMES]
    done = subprocess.run(
        [sys.executable, "-m", "experiments.house.examples", *listed],
        cwd=reference.ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
