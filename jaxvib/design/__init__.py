"""Objectives on the results of the floors below, and their gradient-based design."""

from .objective import ResultObjective as ResultObjective
from .tuning import Tuning as Tuning
from .tuning import tune as tune
