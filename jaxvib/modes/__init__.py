"""Eigenvalues, modes and frequency responses."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .beams.modes import BeamModes as BeamModes
    from .beams.modes import beam_eigenvalues as beam_eigenvalues
    from .beams.response import beam_response as beam_response
    from .beams.spectra import BeamSpectra as BeamSpectra
    from .beams.spectra import beam_spectra as beam_spectra
    from .cluster import frequency_derivatives as frequency_derivatives
    from .elastic import elastic_structure as elastic_structure
    from .energy_shares import EnergyShares as EnergyShares
    from .energy_shares import energy_shares as energy_shares
    from .frequency_response import frequency_response as frequency_response
    from .modal import damped_modes as damped_modes
    from .modal import natural_frequencies as natural_frequencies
    from .modal import natural_modes as natural_modes
    from .slicing import lowest_frequencies as lowest_frequencies
else:
    export_lazily(__name__)
