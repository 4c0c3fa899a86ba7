"""Files written by `jaxvib export --c` and `--fmu`."""

from pathlib import Path
from typing import Any

from .c_program import export_c
from .fmu import export_fmu
from .motion_functions import unique_names


def write(
    found: Any, stem: str, form: str, out: Path | None, target: str | None, cpu: str | None
) -> list[str]:
    """Write the system of a config as a program, and return the files' names.

    `found`: a `SystemFile`; `stem`: of the config's name; `form`: "c" or "fmu"; `out`:
    the folder or file, by default named after the config.
    """
    (name,) = unique_names([stem if stem[:1].isalpha() else f"x{stem}"])
    if form == "fmu":
        file = out or Path(f"{stem}.fmu")
        return [str(export_fmu(found.system, file, name=name, title=found.title))]
    folder = export_c(
        found.system, out or Path(f"{stem}-c"), name=name, target=target or "host",
        processor=cpu or "",
    )  # fmt: skip
    named = (f"{name}.h", f"{name}.o", "example.c", "README.txt")
    return [str(folder / file) for file in named]
