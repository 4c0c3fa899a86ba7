"""Chart descriptions and their rendering with matplotlib, for results and reports."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .animation import animation as animation
    from .axes import draw as draw
    from .axes import plain as plain
    from .chart import Axis as Axis
    from .chart import Cells as Cells
    from .chart import Chart as Chart
    from .chart import Classes as Classes
    from .chart import Followers as Followers
    from .chart import Line as Line
    from .chart import Notes as Notes
    from .chart import Points as Points
    from .chart import Scale as Scale
    from .labels import Labels as Labels
    from .plottable import Plottable as Plottable
    from .spectrum import spectrum_chart as spectrum_chart
else:
    export_lazily(__name__)
