"""Examples that come with NLvib, as cases for `run`.

NLvib 1.3 (Krack and Gross, *Harmonic Balance for Nonlinear Vibration Problems*, 2019)
was run on them in Octave. The folds of example 1 were refined on its own harmonic
balance; 7 and 15 harmonics give the same 12 digits. Example 3 has a spring with a kink,
where its shooting with equal steps converges slowly: the reference to twelve digits is
the piecewise exact solution (`closed_forms.OneContact`).
"""

import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from experiments.bifurcations.closed_forms import OneContact

TAU = 2 * np.pi
HARMONICS = "NLvib, harmonic balance with 15 harmonics, refined"
EXACT = "matrix exponentials of flight and contact"


def duffing(t, x, p):
    """Return the rates of example 1, x'' + 0.05 x' + x + 0.1 x^3 = 0.18 cos w t."""
    return [x[1], 0.18 * jnp.cos(p["w"] * t) - 0.05 * x[1] - x[0] - 0.1 * x[0] ** 3]


def one_sided_spring(frequency: float):
    """Return example 3: two masses, the first of which meets a linear spring at 1."""
    links = jnp.array([[1.0, -1.0], [-1.0, 2.0]])
    linear = jv.LinearSystem(jnp.eye(2), 0.03 * links, links)
    spring = jv.Contact(jnp.array([1.0, 0.0]), 1.0, jv.LinearContact(100.0))
    load = jv.AppliedLoad(jnp.array([0.0, 1.0]), jv.HarmonicLoad(0.1, frequency))
    return jv.ImpactSystem(linear, (spring,), (load,))


# x_2, v_1 and v_2 at the onset, its time, how long the contact lasts, and the frequency.
TORUS = [0.652, 0.207, 0.0457, 0.119, 0.280, 0.6186]
FLIPS = [1.0545, 0.7157, 0.3427, 0.8188, 0.3153, 0.7388], [
    1.1114, 0.6885, 0.4851, 2.1366, 0.3178, 0.75559,
]  # fmt: skip
TURN = [1.1017, 0.6798, 0.4788, 2.2127, 0.3175, 0.75563]
FREQUENCY = "loads.0.law.frequency"
EXACTLY = OneContact()
CASES = {
    "NLvib 1, Duffing": (
        jv.forced_system(duffing, parameters={"w": 0.5},
                         period=lambda p: TAU / p["w"], dimension=2),
        [0.0, 0.0], "w", (0.5, 1.6),
        [("fold", 1.2696019555459, HARMONICS), ("fold", 1.1157002517709, HARMONICS)],
    ),
    "NLvib 3, resonance": (
        one_sided_spring(0.739), [0.44, 0.46, 0.65, 1.02], FREQUENCY, (0.66, 0.76),
        [("fold", EXACTLY.bifurcation("fold", TURN), EXACT)]
        + [("period_doubling", EXACTLY.bifurcation("period_doubling", flip), EXACT)
           for flip in FLIPS],
    ),
    "NLvib 3, below": (
        one_sided_spring(0.62), [0.973, 0.645, 0.248, 0.0705], FREQUENCY, (0.6, 0.66),
        [("neimark_sacker", EXACTLY.bifurcation("neimark_sacker", TORUS), EXACT)],
    ),
}  # fmt: skip
