"""Contact laws beyond the elastic ones of Hertz and of a linear stop, a law a file."""

from .backlash import backlash as backlash
from .hunt_crossley import HuntCrossleyContact as HuntCrossleyContact
from .kelvin_voigt import KelvinVoigtContact as KelvinVoigtContact
from .piecewise import PiecewiseLinearContact as PiecewiseLinearContact
from .power import PowerContact as PowerContact
