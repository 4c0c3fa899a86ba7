"""The attached body as an impact damper and as a damper that never impacts.

Reads the result store of `jaxvib run configs/vibro_impact_2011.toml`. Without impacts,
and without an attached body, the amplitude has a closed form.
"""

from pathlib import Path

import numpy as np

import jaxvib as jv


def linear_amplitude(frequency, attached: bool):
    """Return the main body's amplitude, m, without impacts: the closed form."""
    mass, ratio, own, load = 1000.0, 0.036, 6.283, 500.0
    stiffness = mass * (own**2 + 2j * ratio * own * frequency - frequency**2)
    if attached:
        mass, own = 100.0, 5.646
        link = mass * (own**2 + 2j * ratio * own * frequency)
        stiffness = stiffness + link - link**2 / (link - mass * frequency**2)
    return np.abs(load / stiffness)


def damper(store: Path) -> dict:
    """Return the main body's largest amplitudes, one line a damper."""
    data = jv.open_study(store)
    frequency = data["load.frequency"].values
    alone = linear_amplitude(frequency, attached=False)
    still = linear_amplitude(frequency, attached=True)

    def line(amplitude, **more) -> dict:
        worst = int(np.nanargmax(amplitude))
        return {
            "largest amplitude of the main body, m": float(amplitude[worst]),
            "at, rad/s": float(frequency[worst]),
            "at 6.283 rad/s, m": float(np.interp(6.283, frequency, amplitude)),
        } | more

    rows = {
        "no attached body (closed form)": line(alone),
        "non-impact damper (closed form)": line(still),
    }
    for kind, stiffness in (("soft", 3.504e7), ("rigid", 1.53696e11)):
        chosen = data.sel({"contact.stiffness": stiffness})
        apart = chosen.sel(gap=1.0)["amplitude"].sel(freedom="main").values
        hits = chosen.sel(gap=0.05)
        result = hits["result"].values
        rows[f"non-impact damper ({kind})"] = line(
            apart,
            **{"deviation from the closed form": float(np.abs(apart / still - 1).max())},
        )
        rows[f"impact damper ({kind})"] = line(
            hits["amplitude"].sel(freedom="main").values,
            **{
                "largest contact force, N": float(hits["max_contact_force"].max()),
                "motions": {
                    jv.reason(code): int(np.sum(result == code))
                    for code in np.unique(result)
                },
            },
        )
    return rows
