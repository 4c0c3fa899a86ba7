"""From event to event: exact flights, and contacts in a variable that is smooth."""

from .engine import travel as travel
from .motion import why_not as why_not
from .motion import why_only as why_only
from .travelling import travel_columns as travel_columns
from .travelling import travel_problem as travel_problem
