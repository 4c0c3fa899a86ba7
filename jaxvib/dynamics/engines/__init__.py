"""Engines: methods of time integration, as modules passed to `flow` and others."""

from ..motion import Motion as Motion
from ..motion import Want as Want
from .choice import MANY as MANY
from .choice import Plan as Plan
from .choice import check_engine as check_engine
from .choice import engine_for as engine_for
from .choice import engine_of as engine_of
from .choice import plan_for as plan_for
from .engine import Engine as Engine
from .event import EventEngine as EventEngine
from .stepped import DiffraxEngine as DiffraxEngine
