"""A law of a spring that is written as a formula."""

import dataclasses

from ..following import ARRAY_FUNCTIONS, expression
from .laws import FunctionLaw

MOTION = ("elongation", "rate")


def formula_law(text: str) -> tuple[FunctionLaw, dict[str, str]]:
    """Return a law by its formula, and whose values its parameters are to take.

    In the formula `elongation`, m, and `rate`, m/s, say the motion; each other name is
    that of a variable or of the path of a parameter, as `derived` takes them. Of each the
    law has a parameter, 1 at first, which follows by a formula of `derived`: the path in
    the law, with `-` for each dot, and that formula are returned. **Raises:** `ValueError`
    for a text that is no formula.

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
