"""A study kind with a closed form, so that stores and runs are tested without a solver.

At rest the only force is the load's, on the main body: its acceleration at t = 0 is
F_0 cos(phase) / m, and the attached body feels nothing.
"""

import dataclasses
from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from pydantic import Field

import jaxvib as jv
from jaxvib.foundation.quantity import result_field
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.analyses.study_kind import StudyKind, mapped
from jaxvib.studies.config.tables import Table
from jaxvib.studies.store.fields import Variable

CONFIG = """
title = "Pushed from rest"
[system]
kind = "two_body_impact"
main.mass = 500.0
[analysis]
kind = "pushed"
[sweep]
load.amplitude = { linspace = [100.0, 400.0, 4] }
load.phase = [0.0, 0.5, 1.0]
[run]
chunk = 5
[output]
report = false
"""


class Pushed(eqx.Module):
    acceleration: Float[Array, " freedoms"] = result_field(
        "acceleration at t = 0", "m/s^2", ("freedom",)
    )
    result: Int[Array, ""] = result_field("reason code")


class PushedOptions(Table):
    kind: Literal["pushed"]
    fail_above: float = Field(default=np.inf, description="loads that count as failed, N")

    model_config: ClassVar = {"allow_inf_nan": True}


def push(system, fail_above=jnp.inf):
    rate = system.equation().vector_field(0.0, system.rest())
    code = jnp.where(system.load.amplitude > fail_above, jv.Reason.DIVERGED, 0)
    return Pushed(rate[2:], code.astype(jnp.int32))


def accelerations(samples):
    force = samples["load.amplitude"] * np.cos(samples["load.phase"])
    return np.stack([force / 500.0, np.zeros_like(force)], axis=-1)


def compute(system, options, run):
    return push(system, options.fail_above)


def first(system, samples, study, read):
    return {
        "sample": Variable(("trace",), np.arange(2)),
        "acceleration": Variable(("trace", "freedom"), read("acceleration")[:2], "m/s^2"),
    }


def summary(read, study):
    return [f"pushed     {read('acceleration').max():.3g} m/s^2 at most"]


KIND = StudyKind(
    name="pushed",
    options=PushedOptions,
    sampled=True,
    compute=mapped(compute),
    groups={"first": first},
    summary=summary,
    sample_bytes=lambda options: 24.0,
)


def install(monkeypatch, **changed):
    """Let configs name the kind, with some changed fields, for the length of a test."""
    monkeypatch.setitem(ANALYSES, "pushed", dataclasses.replace(KIND, **changed))
