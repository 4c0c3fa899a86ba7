"""Time: the flow of a system, and what is watched along it."""

from .flow import Trajectory as Trajectory
from .flow import flow as flow
from .flow import simulate as simulate
from .propagation import propagate as propagate
