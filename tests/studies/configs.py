"""Configs written, run by the command, and the arrays that a run leaves."""

from pathlib import Path

from click.testing import CliRunner

from jaxvib.cli import main


def written(tmp_path, text, name="study.toml"):
    file = tmp_path / name
    file.write_text(text)
    return file


def run(config, directory, *sets):
    words = [word for each in sets for word in ("--set", each)]
    return CliRunner().invoke(main, ["run", str(config), *words, "--out", str(directory)])


def array_files(directory):
    """Return the bytes of the files of a study's arrays by their names."""
    found = sorted(Path(directory, "results.zarr").rglob("*"))
    return {str(f.relative_to(directory)): f.read_bytes() for f in found if f.is_file()}
