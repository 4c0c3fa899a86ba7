"""Entry point of the `jaxvib` command and of `python -m jaxvib`."""

import atexit
import gc

from .foundation.command.signals import handle_signals

# Allocations between garbage collections, a hundred times the default: nearly all
# objects of a command are imports and compiled programs, which stay alive. Collecting
# took a tenth of the processor time of `jaxvib run quick`.
_OBJECTS = 70_000


def main() -> None:
    """Run the command; signal handlers are set before the heavy imports."""
    handle_signals()
    gc.set_threshold(_OBJECTS)
    # At exit Python scans all objects twice; files and stores are closed by then.
    atexit.register(gc.freeze)
    from .cli import main as command

    command(prog_name="jaxvib")


if __name__ == "__main__":
    main()
