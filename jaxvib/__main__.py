"""The `jaxvib` command, as `python -m jaxvib` too."""

from ._ending import heed


def main() -> None:
    """Run the command, ready to be stopped before anything else is imported."""
    heed()
    from .cli import main as command

    command(prog_name="jaxvib")


if __name__ == "__main__":
    main()
