"""`python -m jaxvib` is the `jaxvib` command."""

from .cli import main

main(prog_name="jaxvib")
