"""Event-driven integration: exact flights, and contacts in a smooth variable."""

from .engine import Asked as Asked
from .engine import Integrand as Integrand
from .engine import travel as travel
from .motion import ORDER as ORDER
from .motion import why_not as why_not
from .motion import why_only as why_only
from .travelling import end_kernel as end_kernel
from .travelling import observe_kernel as observe_kernel
from .travelling import samples_kernel as samples_kernel
from .travelling import travel_problem as travel_problem
from .travelling import watch_along_kernel as watch_along_kernel
from .travelling import watch_kernel as watch_kernel
