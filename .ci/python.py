"""End with 1, and say how to go on, if this Python is too old for jaxvib.

Runs on any Python 3: it comes before anything is installed.
"""

import subprocess
import sys

OLDEST = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")


def advice(version, found):
    """Return what to say on a Python of a version, where others were found."""
    words = f"jaxvib needs Python 3.11 or newer; python3 is {version[0]}.{version[1]}."
    if found:
        return f"{words} Write {found[0]} in place of python3."
    return (
        f"{words} Install a newer one: by your package manager, from python.org, or without"
        " further rights by `pip install --user uv && python3 -m uv python install 3.13`;"
        " then write python3.13 in place of python3."
    )


def works(name):
    """Return whether a Python can make environments with pip."""
    try:
        return not subprocess.call(
            [name, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL
        )
    except OSError:
        return False


if __name__ == "__main__" and sys.version_info < OLDEST:
    sys.exit(advice(sys.version_info, [name for name in NEWER if works(name)]))
