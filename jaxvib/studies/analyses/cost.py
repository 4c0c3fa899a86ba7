"""What an analysis costs, as it was measured once."""

from typing import NamedTuple


class Cost(NamedTuple):
    """What an analysis takes on the machine on which it was measured, in seconds.

    **Fields:** `start`: imports and tracing; `compile`: once, until JAX has the
    programs in its cache; `sample`: on one core; `end`: the groups and the report;
    `sample_bytes`: stored for each sample; `programs`: names in JAX's cache.
    """

    start: float
    compile: float
    sample: float
    end: float
    sample_bytes: float
    programs: tuple[str, ...]
