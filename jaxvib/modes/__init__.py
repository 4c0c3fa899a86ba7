"""Frequency: eigenvalues, modes and responses."""

from .beam_modes import BeamModes as BeamModes
from .beam_modes import beam_eigenvalues as beam_eigenvalues
from .frequency_response import frequency_response as frequency_response
from .modal import damped_modes as damped_modes
from .modal import natural_frequencies as natural_frequencies
from .modal import natural_modes as natural_modes
