"""The `jaxvib` command. Everything heavy is imported only by the command that needs it."""

import shlex
import sys
import time
from pathlib import Path

import click

from . import __version__
from ._environment import use_compilation_cache

BAD_INPUT, BROKEN_OFF, INTERRUPTED = 2, 3, 130


class Refusal(click.ClickException):
    """Input that nothing can be done with: one message, nothing written."""

    exit_code = BAD_INPUT

    def show(self, file=None) -> None:
        """Print the message and where all keys are listed."""
        click.echo(f"jaxvib: {self.message}", err=True)
        click.echo("every key: jaxvib schema; ready studies: jaxvib new", err=True)


class BrokenOff(click.ClickException):
    """A store or a worker that failed; what is done stays."""

    exit_code = BROKEN_OFF

    def show(self, file=None) -> None:
        """Print the message."""
        click.echo(f"jaxvib: {self.message}", err=True)


class _Ordered(click.Group):
    """Commands in the order in which a newcomer needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in order of definition."""
        return list(self.commands)


@click.group(
    cls=_Ordered,
    invoke_without_command=True,
    epilog="Try: jaxvib run quick",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 92},
)
@click.version_option(__version__, message="jaxvib %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Parameter studies of vibrating and impacting mechanical systems."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_config = click.argument("config")
_set = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="Put another value on a path: attached.mass=120, run.chunk=256. Repeatable.",
)


@main.command(
    epilog="Ends with 0: done, 1: some samples failed, 2: bad input, 3: broken off by a "
    "failure, 130: by Ctrl-C."
)
@_config
@_set
@click.option("--out", type=click.Path(path_type=Path), help="The folder of the results.")
@click.option("--resume", is_flag=True, help="Go on with a run that was broken off.")
def run(config: str, assignments: tuple[str, ...], out: Path | None, resume: bool) -> None:
    """Run a study: results and report in one folder."""
    started = time.monotonic()
    study = _loaded(config, assignments)
    use_compilation_cache()
    from .session import Session

    session = Session(study, config, assignments, out or study.directory, started)
    try:
        system, store = _prepare(session, resume)
        session.compute(system, store)
        code = session.report()
    except (OSError, MemoryError, RuntimeError) as error:
        again = session.command("--resume")
        raise BrokenOff(f"{error}; what is done stays; go on with: {again}") from None
    except KeyboardInterrupt:
        session.leave(INTERRUPTED)
    sys.exit(code)


@main.command()
@_config
@_set
def check(config: str, assignments: tuple[str, ...]) -> None:
    """Say what a study would cost; runs and writes nothing."""
    use_compilation_cache()
    from .studies.estimate import estimate

    study = _loaded(config, assignments)
    try:
        for line in estimate(study, study.directory):
            click.echo(line)
    except ValueError as error:
        raise Refusal(str(error)) from None


@main.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("other", type=click.Path(path_type=Path), required=False)
def report(directory: Path, other: Path | None) -> None:
    """Draw a study's report anew, or compare two studies."""
    from .reports import write_report

    try:
        click.echo(write_report(directory, other))
    except (FileNotFoundError, ValueError) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise BrokenOff(str(error)) from None


@main.command()
@click.argument("study", required=False)
@click.argument("file", type=click.Path(path_type=Path), required=False)
def new(study: str | None, file: Path | None) -> None:
    """List the ready studies, or copy one to change."""
    from .studies import ready

    if study is None:
        for name, title in ready.titles().items():
            click.echo(f"{name:20} {title}")
        click.echo("Try: jaxvib new quick my_study.toml")
        return
    try:
        copy = ready.copy(study, file or Path(f"{study}.toml"))
    except (ValueError, OSError) as error:
        raise Refusal(str(error)) from None
    click.echo(f"{copy} written. Try: jaxvib check {shlex.quote(str(copy))}")


@main.command()
def schema() -> None:
    """Print every key of a config as a JSON schema."""
    import json

    from .studies.schema import schema

    click.echo(json.dumps(schema(), indent=2))


@main.command()
def info() -> None:
    """Print versions, devices, precision, cache folder."""
    use_compilation_cache()
    from .studies.information import information

    for line in information():
        click.echo(line)


@main.command()
def cite() -> None:
    """Print how to cite jaxvib."""
    from .citation import citation

    click.echo(citation())


def _prepare(session, resume: bool):
    try:
        return session.prepare(resume=resume)
    except (ValueError, FileExistsError, NotADirectoryError, PermissionError) as error:
        raise Refusal(str(error)) from None


def _loaded(config: str, assignments: tuple[str, ...]):
    from .studies import ready
    from .studies.config import load

    try:
        return load(ready.find(config), assignments)
    except ValueError as error:
        raise Refusal(str(error)) from None
