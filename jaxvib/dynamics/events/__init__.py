"""Event-driven integration: exact flights, and contacts in a smooth variable."""

from .engine import Request as Request
from .engine import integrate_events as integrate_events
from .event_flow import event_problem as event_problem
from .event_flow import motion_kernel as motion_kernel
from .event_flow import periods_problem as periods_problem
from .scalar_system import ORDER as ORDER
from .scalar_system import requires_events_reason as requires_events_reason
from .scalar_system import unsupported_reason as unsupported_reason
