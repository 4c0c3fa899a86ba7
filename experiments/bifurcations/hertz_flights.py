r"""Motions of linear bodies between elastic stops of force $k z^{3/2}$, by DOP853 of scipy.

As `flights`, whose `Motion` it returns: the steps end where a contact begins or ends, since
the third derivative of the motion jumps there, and the variational equations give the
monodromy matrix.
"""

import numpy as np
from scipy.integrate import solve_ivp

from experiments.bifurcations.flights import Bodies, FlightError, Flights, Motion, Touch

_RTOL, _ATOL = 1e-11, 1e-13
_MOST_EVENTS = 500


def flights_of(bodies: Bodies) -> Flights:
    """Return the motions of a system with stops of any kind."""
    return Flights(bodies) if bodies.exponent == 1 else HertzFlights(bodies)


class HertzFlights(Flights):
    """The motions of one system whose stops are all elastic."""

    accuracy = 10 * _RTOL

    def motion(self, state: np.ndarray, periods: int = 1) -> Motion:
        """Return the motion from a state at t = 0 over whole periods of the load."""
        bodies, n = self.bodies, len(self.bodies.mass)
        size = 2 * n
        y = np.concatenate([np.asarray(state, float), np.eye(size).ravel()])
        depths = bodies.normals @ y[:n] - bodies.gaps
        rates = bodies.normals @ y[n:size]
        closed = set(np.flatnonzero((depths > 0) | ((depths == 0) & (rates > 0))).tolist())
        reach = max(np.abs(y[:n]).max(), np.abs(bodies.gaps).max(), 1e-12)
        speed = max(np.abs(y[n:size]).max(), reach * bodies.frequency)
        time, end = 0.0, periods * bodies.period
        touches: list[Touch] = []
        misses: list[tuple[float, int, float]] = []
        for _ in range(_MOST_EVENTS):
            run = self._piece(y, time, end, closed)
            hidden = self._hidden(run, closed)
            if hidden is not None:
                nearer = self._piece(y, time, hidden, closed)
                run = nearer if nearer.status == 1 else run
            if run.status < 0 or not np.isfinite(run.y[:, -1]).all():
                raise FlightError(run.message)
            stops = len(bodies.gaps)
            for j in range(stops):
                for at, there in zip(
                    run.t_events[stops + j], run.y_events[stops + j], strict=True
                ):
                    depth = bodies.normals[j] @ there[:n] - bodies.gaps[j]
                    if at > time + 1e-9 * bodies.period:
                        misses.append((at, j, abs(depth)))
            time, y = run.t[-1], run.y[:, -1]
            if run.status == 0:
                break
            for j in (j for j in range(stops) if len(run.t_events[j])):
                if j not in closed:
                    touches.append(Touch(time, j, bodies.normals[j] @ y[n:size], 0.0))
                closed ^= {j}
        else:
            raise FlightError(f"{_MOST_EVENTS} events up to {time} s")
        return Motion(
            y[:size], y[size:].reshape(size, size), tuple(touches), tuple(misses), False,
            reach, speed,
        )  # fmt: skip

    def _hidden(self, run, closed: set[int]) -> float | None:
        """Return when a contact has changed and is to change back within one step."""
        n, gaps = len(self.bodies.mass), self.bodies.gaps
        turns = run.t_events[len(gaps) :], run.y_events[len(gaps) :]
        times = [
            at
            for j, (ats, states) in enumerate(zip(*turns, strict=True))
            for at, y in zip(ats, states, strict=True)
            if (self.bodies.normals[j] @ y[:n] > gaps[j]) != (j in closed)
            and at > run.t[0] + 1e-9 * self.bodies.period
        ]
        return min(times, default=None)

    def _piece(self, y: np.ndarray, begin: float, end: float, closed: set[int]):
        """Integrate up to the next change of contacts."""
        bodies, n = self.bodies, len(self.bodies.mass)
        inverse = np.linalg.inv(bodies.mass)
        mask = np.array([j in closed for j in range(len(bodies.gaps))])

        def rate(t, y):
            roots = np.sqrt(mask * np.maximum(bodies.normals @ y[:n] - bodies.gaps, 0.0))
            push = bodies.push * bodies.amplitude * np.cos(bodies.frequency * t)
            push = push - bodies.normals.T @ (bodies.springs * roots**3)
            push = push - bodies.stiffness @ y[:n] - bodies.damping @ y[n : 2 * n]
            stiff = bodies.stiffness + (bodies.normals.T * 1.5 * bodies.springs * roots) @ (
                bodies.normals
            )
            columns = y[2 * n :].reshape(2 * n, 2 * n)
            turned = -inverse @ (stiff @ columns[:n] + bodies.damping @ columns[n:])
            return np.concatenate(
                [y[n : 2 * n], inverse @ push, columns[n:].ravel(), turned.ravel()]
            )

        def change(j):
            sign = -1.0 if j in closed else 1.0

            def event(t, y):
                if t == begin:  # that of the event before is rounding
                    return -1.0
                return sign * (bodies.normals[j] @ y[:n] - bodies.gaps[j])

            event.terminal, event.direction = True, 1
            return event

        def turn(j):
            sign = -1.0 if j in closed else 1.0

            def event(t, y):
                return sign * (bodies.normals[j] @ y[n : 2 * n])

            event.direction = -1
            return event

        stops = range(len(bodies.gaps))
        events = [*map(change, stops), *map(turn, stops)]
        return solve_ivp(
            rate, (begin, end), y, method="DOP853", rtol=_RTOL, atol=_ATOL,
            events=events, max_step=0.05 * bodies.period,
        )  # fmt: skip
