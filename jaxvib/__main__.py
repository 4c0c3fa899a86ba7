"""The `jaxvib` command, as `python -m jaxvib` too."""

import gc

from ._ending import heed

# Objects made until Python looks for garbage, a hundred times as many as usual: nearly all
# that a command makes are imports and compiled programs, which stay. That was a tenth of
# the processor time of `jaxvib run quick`.
_OBJECTS = 70_000


def main() -> None:
    """Run the command, ready to be stopped before anything else is imported."""
    heed()
    gc.set_threshold(_OBJECTS)
    from .cli import main as command

    command(prog_name="jaxvib")


if __name__ == "__main__":
    main()
