"""A measure of any rates, for tests of integrals along a motion."""

from collections.abc import Callable

import equinox as eqx

from jaxvib.dynamics.measure import Measure


class Along(Measure):
    """Rates by a function of a time and a state."""

    function: Callable = eqx.field(static=True)

    def rates(self, equation, time, state, borne=tuple):
        return self.function(time, state)
