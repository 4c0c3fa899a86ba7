"""Batched maps over samples, and their reason codes; independent of physics."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .checkpoint import checkpointed as checkpointed
    from .checkpoint import checkpointing as checkpointing
    from .map_samples import SPARE_LANES as SPARE_LANES
    from .map_samples import TwoStageFunction as TwoStageFunction
    from .map_samples import compile_ahead as compile_ahead
    from .map_samples import map_samples as map_samples
    from .reasons import Reason as Reason
    from .reasons import reason as reason
    from .reasons import undecided as undecided
    from .remote import use_executor as use_executor
    from .result import raise_if_empty as raise_if_empty
else:
    export_lazily(__name__)
