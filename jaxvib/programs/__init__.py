"""Programs that run without Python: a system's motions in C and as an FMU."""

from .c_program import export_c as export_c
from .fmu import export_fmu as export_fmu
