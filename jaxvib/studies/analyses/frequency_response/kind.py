"""The study of an assembled system under a harmonic force."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ...store.fields import Variable
from ..cost import Cost
from ..stacking import each_system

_FREQUENCY: dict[str, Any] = {"unit": "rad/s"}


class FrequencyResponseOptions(Table):
    """Where the force acts, and the frequencies that are looked at."""

    kind: Literal["frequency_response"] = Field(description="the kind of analysis")
    force: str = Field(
        description="the freedom on which a unit force or moment acts",
        json_schema_extra={"allowed": "a freedom's name"},
    )
    low: float = Field(ge=0.0, description="lowest frequency", json_schema_extra=_FREQUENCY)
    high: float = Field(
        gt=0.0, description="highest frequency", json_schema_extra=_FREQUENCY
    )
    points: int = Field(default=501, ge=2, le=100_000, description="frequencies")


class FrequencyResponseKind:
    """Amplitude and phase of every freedom over frequency, per unit force."""

    name = "frequency_response"
    sampled = None
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return FrequencyResponseOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for frequencies that do not ascend or an unknown force."""
        if not options.low < options.high:
            raise ValueError(
                f"low = {options.low:g} rad/s is not below high = {options.high:g} rad/s"
            )
        if system is not None and options.force not in system.names:
            raise ValueError(unknown_key("freedom", options.force, system.names))

    def coordinates(self, options) -> list[str]:
        """Return no coordinates beside the swept paths."""
        return []

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the responses of samples, each field along the axis `sample`."""
        from ....ensemble import Reason, map_samples
        from ....modes import frequency_response

        frequencies = np.linspace(options.low, options.high, options.points)

        def respond(each):
            return frequency_response(each, frequencies, force=options.force)

        response = map_samples(respond, each_system(system, samples), progress=progress)
        # an undamped system answers without bound on its own frequencies
        known = np.isfinite(response).all((1, 2))
        codes = np.where(known, int(Reason.SUCCESS), int(Reason.SINGULAR))
        axes = ("sample", "frequency", "freedom")
        instants = np.broadcast_to(frequencies, (len(response), options.points))
        return {
            "frequencies": Variable(axes[:2], instants.copy(), "rad/s", "frequency"),
            "amplitude": Variable(
                axes, np.abs(response), "", "displacement or rotation per unit force"
            ),
            "phase": Variable(axes, np.angle(response), "rad", "phase behind the force"),
            "result": Variable(("sample",), codes.astype(np.int32), "", "reason code"),
        }

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/tower_response.toml`."""
        return Cost(
            4.0, 2.0, 1e-5 * options.points, 3.0, 48.0 * options.points, ("respond",)
        )

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return the highest peak of each freedom over all samples, at most five."""
        names = study.axes["freedom"]
        amplitude, frequencies = read("amplitude"), read("frequencies")[0]
        lines = []
        for position, name in enumerate(names[:5]):
            sample, at = np.unravel_index(
                np.nanargmax(amplitude[:, :, position]), amplitude.shape[:2]
            )
            where = "".join(f", {p} = {read(p)[sample]:.5g}" for p in study.paths)
            lines.append(
                f"peak       {name} {amplitude[sample, at, position]:.4g} per unit force "
                f"at {frequencies[at]:.5g} rad/s{where}"
            )
        return lines
