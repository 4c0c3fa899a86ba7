"""Spring laws given as formulas."""

import dataclasses

from ..parameter_formulas import ARRAY_FUNCTIONS, expression
from .laws import FunctionLaw

MOTION = ("elongation", "rate")


def formula_law(text: str) -> tuple[FunctionLaw, dict[str, str]]:
    """Return a spring law for a formula, and the formulas of its parameters.

    In the formula, `elongation`, m, and `rate`, m/s, are the motion; other names are
    those of variables or paths of parameters, as in `derived`. For each of them the law
    has a parameter, initially 1, named by the path with `-` for each dot, and returned
    with its formula for `derived`. **Raises:** `ValueError` for an invalid formula.

    >>> law, follows = jaxvib.systems.springs.formula_law("moment * sin(elongation)")
    >>> follows
    {'moment': "'moment'"}
    >>> round(float(law.force(0.1, 0.0)), 4)
    0.0998
    """
    names = [name for name in expression(text).names if name not in MOTION]
    own = {name: name.replace(".", "-") for name in names}
    law = FunctionLaw(_Formula(text, tuple(own.items())), dict.fromkeys(own.values(), 1.0))
    return law, {short: f"'{name}'" for name, short in own.items()}


@dataclasses.dataclass(frozen=True)
class _Formula:
    """A formula as a function; equal ones are compiled once."""

    text: str
    parameters: tuple[tuple[str, str], ...]

    def __call__(self, elongation, rate, given):
        values = {name: given[short] for name, short in self.parameters}
        motion = dict(zip(MOTION, (elongation, rate), strict=True))
        return expression(self.text).value(values | motion, ARRAY_FUNCTIONS)
