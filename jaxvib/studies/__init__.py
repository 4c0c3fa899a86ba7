"""Studies: config, samples, execution and the result store."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .run.sample import results_of as results_of
    from .run.sweeping import sweep as sweep
    from .store.dataset import open_study as open_study
else:
    export_lazily(__name__)
