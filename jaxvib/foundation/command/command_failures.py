"""Failures of the `jaxvib` command: messages and exit codes."""

import os
import sys
from pathlib import Path
from typing import IO, Any

import click

from ..text import printable, safe_text
from .terminal import print_line

# Exit code 2 is click's for usage errors; 130 is the shell's for SIGINT.
BAD_INPUT, BROKEN_OFF, INTERRUPTED = 2, 3, 130
TRACEBACK = "JAXVIB_TRACEBACK"


class Refusal(click.ClickException):
    """Invalid input: print one message, write nothing.

    **Arguments:** `in_config`: whether the fault is in a config; the message then names
    the command that lists the keys.
    """

    exit_code = BAD_INPUT

    def __init__(self, fault: str, *, in_config: bool = True):
        super().__init__(fault)
        self._in_config = in_config

    def show(self, file: IO | None = None) -> None:
        """Print the message, and for a config where its keys are listed."""
        print_line(f"jaxvib: {safe_text(self.message)}", err=True)
        if self._in_config:
            print_line("every key: jaxvib schema; built-in studies: jaxvib new", err=True)


class BrokenOff(click.ClickException):
    """A failure of a store or a worker; completed samples are kept.

    **Arguments:** `advice`: how to continue, if possible.
    """

    exit_code = BROKEN_OFF

    def __init__(self, fault: object, advice: str = ""):
        super().__init__(safe_text(fault) + printable(advice))

    def show(self, file: IO | None = None) -> None:
        """Print the message."""
        print_line(f"jaxvib: {self.message}", err=True)


class _NamedPath(click.Path):
    """A path that is not empty, as an unset variable of a shell would make it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the path. **Raises:** `click.BadParameter` for an empty one."""
        if not str(value):
            self.fail("the name is empty; allowed: a file or a folder", param, ctx)
        return super().convert(value, param, ctx)


PATH = _NamedPath(path_type=Path)


class Commands(click.Group):
    """Commands listed in order of definition, with the exit codes above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order of definition."""
        return list(self.commands)

    def invoke(self, ctx: click.Context):
        """Run a command; report an unexpected exception in one line, code 3."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # `jaxvib schema | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(BROKEN_OFF) from None
        except Exception as error:
            if TRACEBACK in os.environ:
                raise
            words = f"{type(error).__name__}: {error}"
            advice = f"; this is a bug in jaxvib; set {TRACEBACK}=1 for a traceback"
            raise BrokenOff(words, advice) from None
