"""The state printed in the paper, and conditions for reaching it.

The paper gives for t_0 = 16.92 s: 0.64 m, 0.53 m, 1.57 m/s, 0.78 m/s, attached body
first. Computed are upper bounds for periodic motions of the usual parameters, by two
inequalities that hold for all of them, and the nearest of many motions.
"""

import jax
import numpy as np

import jaxvib as jv
from jaxvib.orbits import orbit_trajectories, regimes

PRINTED = np.array([0.53, 0.64, 0.78, 1.57])  # x_main, x_attached, v_main, v_attached
TIME = 16.92  # s


def bound_on_main(system, periods: int = 1) -> float:
    r"""Return what |x_main| cannot exceed, m, in a motion of so many load periods.

    Over a period the load's work pays for the dampers, $c \overline{v_m^2} \le
    \overline{F v_m}$, so that the root mean square of $v_m$ is at most $F_0 / (\sqrt 2
    c)$ with $c = 2 \xi_m \omega_m m_m$. The sum of both equations of motion says that
    the mean of $x_m$ is 0, and then $|x_m| \le (nT/\sqrt{12}) \mathrm{rms}(v_m)$.
    Neither contact nor attached body enters.
    """
    main, load = system.main, system.load
    damper = 2 * main.damping_ratio * main.frequency * main.mass
    speed = load.amplitude / (np.sqrt(2) * damper)
    return float(periods * load.period() / np.sqrt(12) * speed)


def load_needed(system, displacement: float) -> float:
    """Return the load, N, below which no T-periodic motion has that displacement, m."""
    return float(displacement / bound_on_main(system) * system.load.amplitude)


def nearest_motion(stiffness: float, points: int = 24) -> dict:
    """Return the motion that comes nearest to the printed state, of many loads."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    amplitudes, frequencies = np.meshgrid(
        np.geomspace(300.0, 6000.0, points), np.linspace(4.0, 8.0, points)
    )
    samples = {
        "load.amplitude": amplitudes.ravel(),
        "load.frequency": frequencies.ravel(),
    }
    orbits = regimes(system, samples)
    found = orbits.result == 0
    samples = {path: values[found] for path, values in samples.items()}
    orbits = jax.tree.map(lambda leaf: leaf[found], orbits)
    traces = orbit_trajectories(system, samples, orbits, points=256)
    apart = np.abs(traces.states / PRINTED - 1).max(axis=2)
    lane, point = np.unravel_index(apart.argmin(), apart.shape)
    usual = samples["load.amplitude"] <= 500.0
    return {
        "motions": int(found.sum()),
        "largest |x_main| up to 500 N, m": float(np.abs(traces.states[usual, :, 0]).max()),
        "nearest, largest relative deviation": float(apart[lane, point]),
        "nearest, state": traces.states[lane, point].tolist(),
        "nearest, load.amplitude": float(samples["load.amplitude"][lane]),
        "nearest, load.frequency": float(samples["load.frequency"][lane]),
        "nearest, periods": int(orbits.periods[lane]),
    }


def from_rest(stiffness: float) -> float:
    """Return the largest |x_main|, m, within 17 s from rest at 500 N, 4 to 8 rad/s."""
    system = jv.two_body_impact(contact=jv.HertzContact(stiffness))
    times = np.linspace(0.0, 17.0, 1701)
    largest = 0.0
    for frequency in np.linspace(4.0, 8.0, 41):
        forced = jv.replace(system, {"load.frequency": frequency})
        run = jv.simulate(forced, forced.rest(), times, rtol=1e-7)
        largest = max(largest, float(np.abs(run.states[:, 0]).max()))
    return largest


def printed_state() -> dict:
    """Return all of it."""
    usual = jv.two_body_impact()
    bounds = {
        f"w = {w:g}": bound_on_main(jv.replace(usual, {"load.frequency": w}))
        for w in (5.0, 5.8, 6.283, 8.0)
    }
    swapped = usual.contact.force(PRINTED[1] - PRINTED[0])
    return {
        "|x_main| of any T-periodic motion at 500 N is at most, m": bounds,
        "0.53 m at 5.8 rad/s needs more than, N": load_needed(usual, PRINTED[0]),
        "contact force if the main body were first (steel), N": float(swapped),
        "periods of the load in 16.92 s at 5.8 rad/s": TIME * 5.8 / (2 * np.pi),
        "largest |x_main| from rest within 17 s at 500 N, m": {
            "soft": from_rest(3.504e7), "rigid": from_rest(1.53696e11)
        },
        "soft": nearest_motion(3.504e7),
        "rigid": nearest_motion(1.53696e11),
    }  # fmt: skip
