"""The two-body system in heyoka.py: Taylor steps, events, eight lanes in one register.

Contacts are integrated in the variable of `jaxvib.dynamics.events.hertz_contact`, with
u = sqrt(z) and dt = 2 u d tau, so that steps of high order pass through onset and
release. Terminal events switch between flight and contact and end each lane, by
parameters of one equation that is compiled once for each tolerance.
"""

import functools

import heyoka  # ty: ignore[import-not-found]
import numpy as np

import jaxvib as jv

WIDTH = heyoka.recommended_simd_size()
STIFFNESS, AMPLITUDE, FREQUENCY, END, TOUCHING, ALIVE = range(6)
FAR = 1e9  # no lane takes so long in its own variable


@functools.lru_cache
def integrator(rtol: float):
    """Return the integrator of `WIDTH` lanes of the two-body system."""
    equation = jv.two_body_impact().equation()
    freedoms = range(equation.offset.shape[0])
    position = [heyoka.make_vars(f"x{i}") for i in freedoms]
    velocity = [heyoka.make_vars(f"v{i}") for i in freedoms]
    root, part = heyoka.make_vars("u", "t")
    given = [heyoka.par[k] for k in range(6)]
    (contact,), (load,) = equation.contacts, equation.loads
    push, pull = contact.response, load.response
    pace = given[ALIVE] * (1.0 - given[TOUCHING] + 2.0 * given[TOUCHING] * root)
    force = given[TOUCHING] * given[STIFFNESS] * (root * root * root)
    # A part of the whole time: heyoka's tolerance is one for all variables.
    angle = given[FREQUENCY] * given[END] * part
    wave = heyoka.cos(angle + float(load.law.phase))
    rates = []
    for i in freedoms:
        total = float(pull[i]) * given[AMPLITUDE] * wave - float(push[i]) * force
        for j in freedoms:
            total -= float(equation.stiffness[i, j]) * position[j]
            total -= float(equation.damping[i, j]) * velocity[j]
        rates.append(total)
    ways = [float(d) for d in contact.direction]
    depth = heyoka.sum([d * x for d, x in zip(ways, position, strict=True)])
    depth -= float(contact.gap)
    speed = heyoka.sum([d * v for d, v in zip(ways, velocity, strict=True)])
    field = [
        *((x, pace * v) for x, v in zip(position, velocity, strict=True)),
        *((v, pace * rate) for v, rate in zip(velocity, rates, strict=True)),
        (root, given[ALIVE] * given[TOUCHING] * speed),
        (part, pace / given[END]),
    ]

    def event(signal, parameter, value, direction):
        def switch(lanes, _, lane):
            lanes.pars[parameter, lane] = value
            if parameter == TOUCHING:
                lanes.state[-2, lane] = 0.0
            return True

        return heyoka.t_event_batch(signal, callback=switch, direction=direction)

    up, down = heyoka.event_direction.positive, heyoka.event_direction.negative
    apart = 1.0 - given[TOUCHING]
    return heyoka.taylor_adaptive_batch(
        field,
        np.zeros((len(field), WIDTH)),
        pars=np.zeros((6, WIDTH)),
        tol=rtol,
        t_events=[
            event(apart * depth - given[TOUCHING], TOUCHING, 1.0, up),
            event(given[TOUCHING] * root + apart, TOUCHING, 0.0, down),
            event(part - given[ALIVE], ALIVE, 0.0, up),
        ],
    )


def lanes_in_heyoka(stiffness, amplitude, frequency, periods: int, rtol: float):
    """Return the state of each lane after its periods from rest, on one core.

    Events call Python, so that two threads would wait for each other.
    """
    number = len(stiffness)
    order = np.lexsort((amplitude, frequency))
    rest = np.asarray(jv.two_body_impact().rest())
    offset = np.asarray(jv.two_body_impact().equation().offset)
    found = np.empty((number, rest.size))
    lanes = integrator(rtol)
    for chunk in np.resize(order, -(-number // WIDTH) * WIDTH).reshape(-1, WIDTH):
        lanes.state[:] = 0.0
        lanes.state[: rest.size] = rest[:, None]
        lanes.state[: offset.size] -= offset[:, None]
        lanes.pars[STIFFNESS], lanes.pars[AMPLITUDE] = stiffness[chunk], amplitude[chunk]
        lanes.pars[FREQUENCY] = frequency[chunk]
        lanes.pars[END] = periods * 2 * np.pi / frequency[chunk]
        lanes.pars[TOUCHING], lanes.pars[ALIVE] = 0.0, 1.0
        lanes.set_time(0.0)
        lanes.reset_cooldowns()
        lanes.propagate_until(FAR)
        found[chunk] = lanes.state[: rest.size].T
    found[:, : offset.size] += offset
    return found
