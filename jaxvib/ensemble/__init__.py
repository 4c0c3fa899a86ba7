"""Batched maps over samples, and their reason codes; independent of physics."""

from .elsewhere import computed_by as computed_by
from .map_samples import SPARE as SPARE
from .map_samples import InParts as InParts
from .map_samples import compile_ahead as compile_ahead
from .map_samples import map_samples as map_samples
from .reasons import Reason as Reason
from .reasons import raise_if_empty as raise_if_empty
from .reasons import reason as reason
from .reasons import undecided as undecided
from .recall import recalled as recalled
from .recall import recalling as recalling
