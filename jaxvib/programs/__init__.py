"""Programs that run without Python: a system's motions in C and as an FMU."""

from typing import TYPE_CHECKING

from ..foundation.lazy_exports import export_lazily

if TYPE_CHECKING:
    from .c_program import export_c as export_c
    from .fmu import export_fmu as export_fmu
else:
    export_lazily(__name__)
