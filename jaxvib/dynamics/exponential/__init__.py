"""Large linear systems with a few contacts, by exact motion of their linear part."""

from .decoupled import Decoupled as Decoupled
from .decoupled import decoupled as decoupled
from .travel import travel as travel
