"""Event-driven integration: exact flights, and contacts in a smooth variable."""

from .engine import integrate_events as integrate_events
from .event_flow import end_kernel as end_kernel
from .event_flow import event_problem as event_problem
from .event_flow import monodromy_kernel as monodromy_kernel
from .event_flow import observe_kernel as observe_kernel
from .event_flow import periods_along_kernel as periods_along_kernel
from .event_flow import periods_problem as periods_problem
from .event_flow import samples_kernel as samples_kernel
from .request import Request as Request
from .scalar_system import ORDER as ORDER
from .scalar_system import requires_events_reason as requires_events_reason
from .scalar_system import unsupported_reason as unsupported_reason
