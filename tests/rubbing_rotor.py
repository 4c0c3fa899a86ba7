"""A Jeffcott rotor that rubs in its stator, and its motion by SciPy, piece by piece."""

import numpy as np
from scipy.integrate import solve_ivp

import jaxvib as jv

SPEED, RATIO, UNBALANCE = 0.9, 0.1, 0.5  # of the shaft; damping; eccentricity
STATOR = {"gap": 1.0, "stiffness": 20.0, "friction_coefficient": 0.1, "surface_speed": 1.8,
          "regularization": None, "offset": (0.0, 0.0), "damping": 0.0}  # fmt: skip


def rotor(speed=SPEED, ratio=RATIO, unbalance=UNBALANCE, weight=0.3, **stator):
    """Return a rotor of unit mass and stiffness in its stator."""
    given = STATOR | stator
    law = jv.LinearContact(given["stiffness"])
    if given["damping"]:
        law = jv.HuntCrossleyContact(given["stiffness"], given["damping"])
    names = "friction_coefficient", "surface_speed", "regularization", "offset"
    others = {name: given[name] for name in names}
    hole = jv.AnnularContact(np.eye(2), given["gap"], law, name="stator", **others)
    force = unbalance * speed**2
    loads = [
        jv.AppliedLoad([1.0, 0.0], jv.HarmonicLoad(force, speed), "x"),
        jv.AppliedLoad([0.0, 1.0], jv.HarmonicLoad(force, speed, -np.pi / 2), "y"),
        jv.AppliedLoad([0.0, -1.0], jv.ConstantLoad(weight), "weight"),
    ]
    linear = jv.LinearSystem(np.eye(2), 2 * ratio * np.eye(2), np.eye(2))
    return jv.ImpactSystem(linear, (hole,), loads)


def by_scipy(state, end, tolerance=1e-11, **stator):
    """Return the state of `rotor(**stator)` at a time, and impulse and losses until then.

    Both are integrated by DOP853 from one onset or release, |r| = gap, to the next. The
    losses are those to friction and to the damping of the contact.
    """
    given = STATOR | {"weight": 0.3} | stator
    centre, gap = np.array(given["offset"]), given["gap"]

    def depth(_, y):
        return np.hypot(*(y[:2] - centre)) - gap

    def field(closed):
        def rates(t, y):
            position, velocity = y[:2], y[2:4]
            turn = np.array([np.cos(SPEED * t), np.sin(SPEED * t)])
            pull = UNBALANCE * SPEED**2 * turn - np.array([0.0, given["weight"]])
            pull = pull - 2 * RATIO * velocity - position
            met = np.zeros(3)
            if closed:
                radial = (position - centre) / np.hypot(*(position - centre))
                along = np.array([-radial[1], radial[0]])
                slides = along @ velocity + given["surface_speed"]
                sense = np.sign(slides)
                if given["regularization"] is not None:
                    sense = slides / np.sqrt(slides**2 + given["regularization"] ** 2)
                z, rate = depth(t, y), radial @ velocity
                normal = given["stiffness"] * z
                lost = 0.0
                if given["damping"]:
                    elastic = given["stiffness"] * max(z, 0.0) ** 1.5
                    normal = elastic * max(1 + given["damping"] * rate, 0.0)
                    lost = (normal - elastic) * rate
                rub = given["friction_coefficient"] * normal * sense
                pull = pull - normal * radial - rub * along
                met = np.array([normal, rub * slides, lost])
            return np.concatenate([velocity, pull, met])

        return rates

    time, y = 0.0, np.concatenate([np.asarray(state, float), np.zeros(3)])
    closed = depth(0.0, y) > 0
    while time < end:
        event = lambda t, y: depth(t, y)  # noqa: E731  (its attributes are set)
        event.terminal, event.direction = True, -1 if closed else 1
        options = {"rtol": tolerance, "atol": 1e-2 * tolerance, "max_step": 0.2}
        part = solve_ivp(field(closed), (time, end), y, "DOP853", events=event, **options)
        time, y = part.t[-1], part.y[:, -1]
        closed = closed ^ (part.status == 1)
    return y[:4], y[4:]
