"""Load laws: forces that depend on time alone, one in each file."""

from typing import TYPE_CHECKING

from ...foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .chirp import ChirpLoad as ChirpLoad
    from .constant import ConstantLoad as ConstantLoad
    from .filtered import FilteredNoise as FilteredNoise
    from .fourier import FourierLoad as FourierLoad
    from .harmonic import HarmonicLoad as HarmonicLoad
    from .load import Load as Load
    from .load import Wave as Wave
    from .load import as_load as as_load
    from .load import harmonic_of as harmonic_of
    from .load import never_repeats as never_repeats
    from .load import time_varying as time_varying
    from .noise import band_limited_noise as band_limited_noise
    from .noise import noise_of_density as noise_of_density
    from .pieces import PolynomialLoad as PolynomialLoad
    from .pulse import PulseLoad as PulseLoad
    from .record import RecordLoad as RecordLoad
    from .step import RampLoad as RampLoad
    from .step import StepLoad as StepLoad
else:
    export_lazily(__name__)
