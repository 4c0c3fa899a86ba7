"""Transient responses: peaks, mean squares, passages, shock spectra, fragility."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .ensemble import Statistics as Statistics
    from .ensemble import responses as responses
    from .ensemble import scaled as scaled
    from .ensemble import statistics as statistics
    from .fragility import Fragility as Fragility
    from .fragility import fragility_curve as fragility_curve
    from .fragility import fragility_of_capacities as fragility_of_capacities
    from .limits import Limit as Limit
    from .response import Response as Response
    from .response import response as response
    from .shock import ShockSpectrum as ShockSpectrum
    from .shock import shock_spectrum as shock_spectrum
    from .stationary import response_covariance as response_covariance
else:
    export_lazily(__name__)
