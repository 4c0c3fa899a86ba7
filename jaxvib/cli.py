"""The `jaxvib` command. Heavy imports are deferred to the commands that need them."""

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from . import __version__
from .foundation.cache import MOST, UNUSED, cache_folder, clear, entries, why_private
from .foundation.command import signals
from .foundation.command.command_failures import (
    INTERRUPTED,
    PATH,
    TRACEBACK,
    BrokenOff,
    Commands,
    Refusal,
)
from .foundation.command.terminal import pick, print_line, print_result
from .foundation.environment import use_compilation_cache
from .foundation.text import printable, size_text
from .studies.run import builtin_studies


@click.group(
    cls=Commands,
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


def _completed(what: str) -> Callable:
    """Return the completion of an argument in a shell."""

    def complete(*given: Any) -> list:
        from .studies.run import system_file

        return getattr(system_file, what)(*given)

    return complete


@contextlib.contextmanager
def _refusing(*kinds: type[Exception], in_config: bool = True):
    try:
        yield
    except kinds as error:
        raise Refusal(str(error), in_config=in_config) from None


@contextlib.contextmanager
def _reading_stores():
    try:
        with _refusing(FileNotFoundError, FileExistsError, ValueError, in_config=False):
            yield
    except OSError as error:
        raise BrokenOff(error) from None


_config = click.argument("config", shell_complete=_completed("studies"))
_set = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    shell_complete=_completed("assignments"),
    help="Override a config value, e.g. attached.mass=120. Repeatable.",
)
_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object, for scripts."
)
_pictures = click.option(
    "--pictures", is_flag=True, help="Draw the report's pictures as SVG, PDF and PNG too."
)


@main.command(
    epilog="Exit codes: 0 success, 1 some samples failed, 2 bad input, 3 stopped by a "
    "failure, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP."
)
@_config
@_set
@click.option(
    "--out", type=PATH, metavar="FOLDER",
    help="Folder of the results (of a share: FOLDER-I-of-N).",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Resume an interrupted run.")
@click.option("--workers", metavar="N", help="Compute on N processes of this machine.")
@click.option("--cluster", metavar="ADDRESS", help="Address of a Dask scheduler.")
@click.option(
    "--share",
    metavar="I/N",
    help="Compute share I of N (one task of a job array); see `jaxvib merge`.",
)
@_pictures
@_json
def run(
    config: str,
    assignments: tuple[str, ...],
    out: Path | None,
    resume: bool,
    share: str | None,
    pictures: bool,
    as_json: bool,
    **executor: str | None,
) -> None:
    """Run a study and write its results and report to one folder.

    CONFIG is a TOML file or the name of a built-in study (`jaxvib new` lists them).
    """
    started = time.monotonic()
    for key, value in executor.items():  # --workers and --cluster are keys of [run]
        assignments += () if value is None else (f"run.{key}={value}",)
    study = _loaded(config, assignments)
    use_compilation_cache()
    if share is not None:
        from .studies.run.distributed import sharing

        with _refusing(ValueError, in_config=False):
            study = sharing.shared(study, share)
    if pictures and not (share is None and study.output.report):
        why = "output.report = false" if share is None else "a share has no report"
        raise Refusal(f"--pictures draws the pictures of a report: {why}", in_config=False)
    given = config, assignments, out or study.directory, started
    sys.exit(_run_to_completion(study, given, resume, pictures=pictures, as_json=as_json))


# Of a folder for results: errors before anything is written.
_UNUSABLE = FileExistsError, NotADirectoryError, PermissionError, BlockingIOError


def _run_to_completion(
    study, given: tuple, resume: bool, *, pictures: bool = False, as_json: bool = False
) -> int:
    """Run a study to completion and return the exit code."""
    from .session import Session

    with Session(study, *given, pictures=pictures, as_json=as_json) as session:
        again = f"; finished samples are kept; resume with: {session.command('--resume')}"
        try:
            with _refusing(ValueError, *_UNUSABLE):
                system, store = session.prepare(resume=resume)
        except OSError as error:
            # Do not advise the command that has just failed.
            raise BrokenOff(error, "" if resume else again) from None
        try:
            session.compute(system, store)
            code = session.report()
        except (OSError, MemoryError, RuntimeError) as error:
            raise BrokenOff(error, again) from None
        except KeyboardInterrupt:
            signals.exit_interrupted(INTERRUPTED)
    return code


@main.command()
@_config
@_set
@click.option(
    "--measure",
    is_flag=True,
    help="Compute a few samples to predict the run time.",
)
@_json
def check(config: str, assignments: tuple[str, ...], measure: bool, as_json: bool) -> None:
    """Tell samples and memory of a study; with --measure its run time too.

    CONFIG is a TOML file or the name of a built-in study. Nothing is stored.
    """
    started = time.monotonic()
    study = _loaded(config, assignments)
    use_compilation_cache()
    from .studies.run import estimate  # imports JAX: only after the config is validated

    measured_from = started if measure else None
    with _refusing(ValueError):
        found = estimate.estimate(study, study.directory, measured_from, _draw_report)
    print_result(found, estimate.lines, as_json=as_json)


@main.command()
@click.argument("directory", type=PATH)
@_json
@_reading_stores()
def status(directory: Path, as_json: bool) -> None:
    """Show the progress of a study.

    DIRECTORY is the folder of its results. Nothing is written.
    """
    from .studies.run import status

    found = status.status(directory)
    print_result(found, status.lines, as_json=as_json)


@main.command()
@click.argument("directory", type=PATH)
@click.argument("others", type=PATH, nargs=-1)
@_pictures
@_reading_stores()
def report(directory: Path, others: tuple[Path, ...], pictures: bool) -> None:
    """Draw a study's report again, or compare up to eight studies.

    DIRECTORY is the folder of a study, where the report is written. OTHERS are studies
    to compare it with, or a two-parameter continuation to draw over its maps.
    """
    _refuse_without_study(directory, *others)
    words = ["jaxvib", "report", *map(str, (directory, *others))]
    again = shlex.join(words + ["--pictures"] * pictures)
    signals.set_exit_message(lambda: f"to draw it again: {again}")
    try:
        click.echo(printable(str(_draw_report(directory, *others, pictures=pictures))))
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        if TRACEBACK in os.environ:
            raise
        words = f"{directory} cannot be drawn: {type(error).__name__}: {error}"
        raise BrokenOff(
            words, "; its record is damaged, or this is a bug in jaxvib"
        ) from None


@main.command()
@_config
@_set
@click.option(
    "--out", type=PATH, metavar="FILE",
    help="The page; default <name of the config>-live.html.",
)  # fmt: skip
@click.option(
    "--duration", type=float, metavar="SECONDS",
    help="Show motions from rest over this time, under loads of any time history.",
)  # fmt: skip
@_reading_stores()
def live(
    config: str, assignments: tuple[str, ...], out: Path | None, duration: float | None
) -> None:
    """Write a page that computes a system's motions while sliders move.

    CONFIG is a TOML file with a [system] table, or the name of a built-in study. The page
    is one file that a browser opens from disk, without Python or a network.
    """
    path, found = _system_of(config, assignments, transient=duration is not None)
    from .reports import live_page  # imports JAX

    place = out or Path(f"{path.stem}-live.html")
    known = {"title": found.title, "units": found.units, "duration": duration}
    written = live_page(found.system, place, **known)
    click.echo(printable(str(written)))


@main.command()
@click.argument("directory", type=PATH)
@click.argument("number", type=int)
@click.option("--config", type=PATH, help="File for the config of this sample.")
@_reading_stores()
def sample(directory: Path, number: int, config: Path | None) -> None:
    """Recompute one sample and compare it with the stored result."""
    _refuse_without_study(directory)
    use_compilation_cache()
    from .studies.run.sample import sample_again

    for line in sample_again(directory, number, config):
        print_line(line)


@main.command()
@click.argument("source", metavar="DIRECTORY|CONFIG", shell_complete=_completed("studies"))
@click.argument("file", type=PATH, required=False)
@click.option("--c", "in_c", is_flag=True, help="Export CONFIG's system to C.")
@click.option("--fmu", is_flag=True, help="Export CONFIG's system as an FMU of FMI 3.0.")
@click.option("--target", metavar="NAME",
    help="Of --c: x86-64, aarch64, cortex-m7 or another; default this machine.",
)  # fmt: skip
@click.option("--cpu", metavar="NAME", help="Of --c: the processor, as LLVM names it.")
@_set
@click.option("--out", type=PATH, metavar="PATH",
    help="The folder of --c, the file of --fmu.",
)  # fmt: skip
@_reading_stores()
def export(source: str, file: Path | None, in_c: bool, fmu: bool, **options: Any) -> None:
    """Export results as a table, or a system as a program that needs no Python.

    DIRECTORY is the folder of a study; FILE ends in .nc (netCDF), .csv, .parquet or .mat.
    CONFIG, for --c and --fmu, is a TOML file with a [system] table, or the name of a
    built-in study.
    """
    given = [name for name, value in options.items() if value]
    if in_c or fmu:
        wrong = [f"--{name}" for name in given if fmu and name in ("target", "cpu")]
        wrong += [str(file)] if file else []
        wrong += ["--c with --fmu"] if in_c and fmu else []
        if wrong:
            raise Refusal(f"{wrong[0]} has no meaning here; see --help", in_config=False)
        _export_program(source, "fmu" if fmu else "c", **options)
        return
    if given:
        flag = given[0].replace("assignments", "set")
        raise Refusal(f"--{flag} needs --c or --fmu", in_config=False)
    directory = Path(source)
    _refuse_without_study(directory)
    from .studies.store.export import export as exported

    for line in exported(directory, file or directory / "results.nc"):
        print_line(line)


def _export_program(
    config: str, form: str, assignments: tuple[str, ...], out: Path | None, **machine: Any
) -> None:
    """Write a config's system as a program in C, or as an FMU."""
    path, found = _system_of(config, assignments, transient=True)
    from .programs import command  # imports JAX

    try:
        written = command.write(found, path.stem, form, out, **machine)
    except RuntimeError as error:  # the C compiler's
        raise BrokenOff(error) from None
    for line in written:
        print_line(line)


@_refusing(ValueError)
def _system_of(config: str, assignments: tuple[str, ...], *, transient: bool = False):
    """Return the path of a config and its system, if `transient` with any loads."""
    from .studies.run import system_file

    path = builtin_studies.find(config)
    return path, system_file.read_system(path, assignments, transient=transient)


@main.command()
@click.argument("directories", nargs=-1, type=PATH, required=True)
@click.option(
    "--out", type=PATH, metavar="FOLDER", required=True,
    help="Folder of the merged study.",
)  # fmt: skip
def merge(directories: tuple[Path, ...], out: Path) -> None:
    """Merge shares of a study, or studies with different seeds.

    DIRECTORIES are all shares of `jaxvib run CONFIG --share I/N` (the result is byte
    for byte that of one run), or complete studies with different random samples.
    """
    started = time.monotonic()
    _refuse_without_study(*directories)
    use_compilation_cache()
    from .studies.run.distributed import merging, sharing

    with _reading_stores():
        shares = sharing.is_share(directories[0])
        for line in (sharing.join if shares else merging.merge)(directories, out):
            print_line(line)
    if shares:
        config = str(out / "config.toml")
        given = config, (), out, started
        sys.exit(_run_to_completion(_loaded(config, ()), given, resume=True))


@main.command()
@click.argument("study", required=False, shell_complete=_completed("studies"))
@click.argument("file", type=PATH, required=False)
@_json
def new(study: str | None, file: Path | None, as_json: bool) -> None:
    """List the built-in studies, or copy one as a starting point.

    Without STUDY, a terminal prompts for one.
    """
    if study is None and sys.stdin.isatty() and not as_json:
        study = _prompted_study(builtin_studies.by_system())
        file = file or Path(click.prompt("Write it to", default=f"{study}.toml"))
    if study is None:
        print_result(builtin_studies.titles(), builtin_studies.listed, as_json=as_json)
        return
    with _refusing(ValueError, OSError):
        copy = builtin_studies.copy(study, file or Path(f"{study}.toml"))
    print_result({"written": str(copy)}, _copied, as_json=as_json)


def _copied(found: dict[str, str]) -> list[str]:
    copy = found["written"]
    return [f"{copy} written. Try: jaxvib check {shlex.quote(copy)}"]


def _prompted_study(studies: dict[str, dict[str, str]]) -> str:
    """Prompt for a built-in study: first the system, then the study."""
    system = pick("Which system?", list(studies))
    titles = {title: name for name, title in studies[system].items()}
    return titles[pick("Which study?", list(titles))]


@main.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def _completion(shell: str) -> None:
    """Print the shell completion script. In bash: eval "$(jaxvib completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "one of the three"
    click.echo(kind(main, {}, "jaxvib", "_JAXVIB_COMPLETE").source())


@main.command()
def schema() -> None:
    """Print the JSON schema of the config, with every key."""
    from .studies.run.schema import schema

    click.echo(json.dumps(schema(), indent=2))


@main.command()
@_json
def info(as_json: bool) -> None:
    """Print versions, devices, precision and the cache folder."""
    use_compilation_cache()
    from .studies.run import information

    print_result(information.information(), information.lines, as_json=as_json)


@main.command()
@click.argument("action", type=click.Choice(["clear"]), required=False)
@_reading_stores()
def cache(action: str | None) -> None:
    """Show the cache of compiled programs, or clear it."""
    if action == "clear":
        files, size = clear()
        click.echo(f"{files} files removed, {size_text(size)}")
        return
    folder, found = cache_folder(), entries()
    print_line(f"folder      {folder or 'none'}")
    if why := why_private():
        print_line(f"            for this process only: {why}")
    for kind in sorted({path.parent for path, _ in found} - {folder}):
        sizes = [size for path, size in found if path.parent == kind]
        print_line(f"{kind.name:11} {len(sizes)} files, {size_text(sum(sizes))}")
    print_line(f"bounds      {size_text(MOST)}; {UNUSED // 86400} days without use")


@main.command()
def cite() -> None:
    """Print how to cite jaxvib."""
    from .citation import citation

    click.echo(citation())


def _draw_report(directory: Path, *others: Path, pictures: bool = False) -> Path:
    from .reports import write_report  # imports JAX

    return write_report(directory, *others, pictures=pictures)


def _refuse_without_study(*directories: Path) -> None:
    from .studies.store.recovery import has_study  # a light import, unlike the reader

    for directory in directories:
        if not has_study(directory):
            raise Refusal(f"{directory} contains no study", in_config=False)


@_refusing(ValueError)
def _loaded(config: str, assignments: tuple[str, ...]):
    from .studies.run import study

    return study.load(builtin_studies.find(config), assignments)
