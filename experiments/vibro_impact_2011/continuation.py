"""The paper's continuation in the load, with and without Newton's correction.

The paper gets the monodromy matrix and the column by the load from five Cauchy problems,
and takes each step as the linear system gives it. Here the five problems are solved by
the independent integration of the tests, and the step is judged by following the same
branch with every point corrected.
"""

import jax
import numpy as np

import jaxvib as jv
from tests.independent import TwoBody, motion

PATH = "load.amplitude"


def five_cauchy_problems(stiffness: float, state) -> dict:
    """Return how far jaxvib's columns are from the paper's five Cauchy problems."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    rival = TwoBody(contact_stiffness=stiffness)

    def image(state, amplitude):
        loaded = jv.replace(system, {PATH: amplitude})
        return jv.flow(loaded, state, 0.0, loaded.period(), rtol=1e-10)

    matrix, column = jax.jit(jax.jacfwd(image, (0, 1)))(np.asarray(state), 500.0)
    run = motion(rival, state, 0.0, rival.period, ("load_amplitude",))
    return {
        "monodromy": float(
            np.abs(matrix - run.monodromy).max() / np.abs(run.monodromy).max()
        ),
        "column by the load": float(
            np.abs(column - run.columns[:, 0]).max() / np.abs(run.columns).max()
        ),
    }


def steps(stiffness: float, sizes=(20.0, 5.0, 1.0)) -> dict:
    """Return how far the paper's own step drifts from the branch, for steps in N."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    orbit = jv.periodic_orbit(system)
    corrected = jv.continue_orbit(system, orbit, PATH, (100.0, 1000.0))
    report = {
        "five Cauchy problems": five_cauchy_problems(stiffness, orbit.state),
        "with correction": {
            "points": len(corrected.parameter),
            "from, N": float(corrected.parameter[0]),
            "because": jv.reason(corrected.ends[0]),
            "to, N": float(corrected.parameter[-1]),
            "because there": jv.reason(corrected.ends[1]),
            "largest |multiplier| at the low end": float(corrected.largest_multiplier[0]),
            "largest error bar of a state": float(corrected.state_error.max()),
        },
    }
    for size in sizes:
        own = jv.continue_orbit(
            system, orbit, PATH, (100.0, 1000.0), correct=False, first_step=size,
            most_points=2000,
        )  # fmt: skip
        deviation = {}
        for amplitude in (1000.0, 700.0, 300.0, 200.0, 140.0):
            point = int(np.abs(own.parameter - amplitude).argmin())
            there = jv.replace(system, {PATH: float(own.parameter[point])})
            near = int(np.abs(corrected.parameter - own.parameter[point]).argmin())
            true = jv.periodic_orbit(there, corrected.states[near])
            deviation[f"{own.parameter[point]:g} N"] = float(
                np.abs(own.states[point] - true.state).max() / np.abs(true.state).max()
            )
        beyond = own.parameter < corrected.parameter[0]
        report[f"without, steps of {size:g} N"] = {
            "points": len(own.parameter),
            "relative deviation from the branch": deviation,
            "points below the fold, where there is no such motion": int(beyond.sum()),
            "their smallest |s(T) - s(0)|": float(own.residual[beyond].min(initial=np.inf)),
        }
    return report
