"""HTML pages: the report of a finished study with its pictures, and live motions."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .live.page import live_page as live_page
    from .report import write_report as write_report
else:
    export_lazily(__name__)
