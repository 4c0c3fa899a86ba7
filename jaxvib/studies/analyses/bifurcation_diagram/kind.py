"""The study of where motions settle along one parameter, by brute force."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from pydantic import Field

from ...._nearest import unknown_key
from ...config.tables import Table
from ...store.fields import Variable, variables
from ..continuation.kind import Bounds
from ..cost import Cost

SWEEPS = ("rest", "up", "down")


class BifurcationDiagramOptions(Table):
    """Along which parameter, how finely, and from where each motion starts."""

    kind: Literal["bifurcation_diagram"] = Field(description="the kind of analysis")
    path: str = Field(
        description="the parameter", json_schema_extra={"allowed": "a parameter's path"}
    )
    bounds: Bounds = Field(description="lowest and highest value of the parameter")
    values: int = Field(default=201, ge=2, le=100_000, description="values, evenly spaced")
    sweep: Literal["rest", "up", "down", "both"] = Field(
        default="rest",
        description="from rest at each value, or from the motion at the value before",
    )
    transient: int = Field(
        default=256, ge=1, le=1_000_000, description="load periods that are left out"
    )
    points: int = Field(
        default=64, ge=16, le=4096, multiple_of=8,
        description="load periods that are looked at, a multiple of 8",
        json_schema_extra={"allowed": "multiples of 8 in [16, 4096]"},
    )  # fmt: skip


class BifurcationDiagramKind:
    """States once a period over a parameter, with the largest Lyapunov exponent."""

    name = "bifurcation_diagram"
    sampled = False
    groups: Mapping[str, tuple[str, ...]] = {}

    def options(self) -> type[Table]:
        """Return the table that a config gives."""
        return BifurcationDiagramOptions

    def check(self, options, values: Mapping, declared: Mapping, system=None) -> None:
        """Raise `ValueError` for an unknown path or bounds that it cannot have."""
        path, (low, high) = options.path, options.bounds
        if path not in declared:
            raise ValueError(unknown_key("parameter", path, declared))
        for bound in (low, high):
            if not declared[path].allowed.contains(bound):
                raise ValueError(
                    f"bounds of {path} = {bound:g} are out of range; allowed: "
                    f"{declared[path]}"
                )
        if not low < high:
            raise ValueError(f"bounds = [{low:g}, {high:g}] do not ascend")

    def coordinates(self, options) -> list[str]:
        """Return the parameter."""
        return [options.path]

    def compute(self, system, samples, options, run, progress) -> dict[str, Variable]:
        """Return the motions, each field along the axis `value`, sweep after sweep."""
        from ....orbits import bifurcation_diagram
        from ....systems import parameters

        up = np.linspace(*options.bounds, options.values)
        sweeps = ("up", "down") if options.sweep == "both" else (options.sweep,)
        found = [
            variables(
                bifurcation_diagram(
                    system,
                    options.path,
                    up[::-1] if sweep == "down" else up,
                    follow=sweep != "rest",
                    transient=options.transient,
                    points=options.points,
                    rtol=run.rtol,
                )
            )
            for sweep in sweeps
        ]
        progress(1)
        fields = {
            name: Variable(
                one.axes,
                np.concatenate([each[name].values for each in found]),
                one.unit,
                one.description,
            )
            for name, one in found[0].items()
        }
        numbers = np.repeat([SWEEPS.index(sweep) for sweep in sweeps], options.values)
        swept = parameters(system)[options.path]
        values = fields.pop("parameter").values
        return {
            options.path: Variable(("value",), values, swept.unit, swept.description),
            **fields,
            "sweep": Variable(
                ("value",), numbers.astype(np.int8), "", "0 from rest, 1 up, 2 down"
            ),
        }

    def cost(self, options, run) -> Cost:
        """Return what it takes, measured on `configs/bifurcation_diagram.toml`."""
        lanes = options.values * (2 if options.sweep == "both" else 1)
        work = lanes * (options.transient + 3 * options.points)
        each = 1.2e-4 if options.sweep == "rest" else 1.5e-3
        return Cost(6.0, 12.0, each * work, 3.0, 64.0 * lanes * options.points, ("stage",))

    def group(self, name, system, samples, study, read) -> dict[str, Variable]:
        """Return nothing: there are no groups."""
        return {}

    def summary(self, read: Callable, study) -> list[str]:
        """Return the classes with their shares, and where the motion is wildest."""
        path = study.analysis.path
        values, exponent, force = map(
            read, (path, "lyapunov_exponent", "max_contact_force")
        )
        names = class_names(read("result"), read("periods"))
        shares = Counter(names).most_common(5)
        listed = ", ".join(f"{count / len(names):.1%} {name}" for name, count in shares)
        lines = [f"motions    {listed}"]
        if np.isfinite(exponent).any():
            wild = int(np.nanargmax(exponent))
            error = read("lyapunov_error")[wild]
            lines.append(
                f"exponent   largest {exponent[wild]:.4g} +- {error:.1g} 1/s at {path} = "
                f"{values[wild]:.5g}"
            )
            worst = int(np.nanargmax(force))
            lines.append(
                f"worst      contact force {force[worst]:.4g} N at {path} = "
                f"{values[worst]:.5g}"
            )
        return lines


def class_names(codes: np.ndarray, periods: np.ndarray) -> list[str]:
    """Return what each motion is: of period n, chaotic, ..., or why it failed."""
    from ....ensemble import Reason

    names = []
    for code, number in zip(codes.tolist(), periods.tolist(), strict=True):
        if code == 0:
            names.append(f"period {number}")
        else:
            names.append(Reason(code).motion or "failed")
    return names
