"""Names and units of state components."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Declared unit of a shift along a drift, see `Labels.own_unit`.
LENGTH_OR_ANGLE = "m, rad"


class Labels(NamedTuple):
    """Names and units of a state's components and of its degrees of freedom.

    If empty, components are numbered and have no unit. `freedoms` names the
    displacements; in a state twice as long the remaining components are their rates.
    `progress_unit`: that of a shift along a drift.
    """

    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    freedoms: tuple[str, ...] = ()
    freedom_units: tuple[str, ...] = ()
    progress_unit: str = ""

    def name(self, component: int) -> str:
        """Return the name of a state component."""
        return self.names[component] if self.names else f"component {component}"

    def named(self, component: int) -> str:
        """Return a component's name with its unit, for axis labels."""
        return with_unit(self.name(component), self.unit(component))

    def unit(self, component: int) -> str:
        """Return a component's unit, empty if it is not known."""
        return self.units[component] if self.units else ""

    def own_unit(self, declared: str) -> str:
        """Return the declared unit of a field, for shifts along a drift that of theirs."""
        return self.progress_unit if declared == LENGTH_OR_ANGLE else declared

    def amplitudes(self, values: Iterable[float]) -> str:
        """Format one number per degree of freedom, with units."""
        values = list(values)
        units = self.freedom_units or ("",) * len(values)
        if len(set(units)) == 1:
            return f"{', '.join(f'{value:.4g}' for value in values)} {units[0]}".rstrip()
        pairs = zip(values, units, strict=True)
        return ", ".join(f"{value:.4g} {unit}".rstrip() for value, unit in pairs)

    def shown(self, values: Iterable[float]) -> str:
        """Format a state; each unit follows the last of its consecutive components."""
        values = list(values)
        units = self.units or ("",) * len(values)
        words = []
        for i, value in enumerate(values):
            last = i + 1 == len(units) or units[i + 1] != units[i]
            words.append(f"{value:.6g}" + f" {units[i]}" * bool(last and units[i]))
        return ", ".join(words)


def with_unit(name: str, unit: str) -> str:
    """Return `gap (m)`, or `gap` if the unit is empty."""
    return f"{name} ({unit})" if unit else name


def shared(name: str, units: Sequence[str]) -> str:
    """Return the label of an axis shared by quantities of several units."""
    return with_unit(name, ", ".join(dict.fromkeys(filter(None, units))))
