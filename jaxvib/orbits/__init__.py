"""Periodic motion: shooting, monodromy, Floquet multipliers, continuation."""

from .periodic_orbit import PeriodicOrbit as PeriodicOrbit
from .periodic_orbit import periodic_orbit as periodic_orbit
