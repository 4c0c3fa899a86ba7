#!/usr/bin/env bash
# Every test, the slow ones too, on both versions of JAX that are supported: the newest
# that Python 3.11 takes (0.10) and the newest that 3.12 takes (0.12). Each in a new
# environment outside the checkout. Pass interpreters to use others: all_checks.sh PYTHON...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK=1 MPLBACKEND=Agg

# The interpreter of a version: by its name, or where pyenv keeps it.
find_python() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$candidate" -c 'import venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "no Python $1 with its venv module was found" >&2
    return 1
}

if (($# == 0)); then
    set -- "$(find_python 3.11)" "$(find_python 3.12)"
fi
number=0
for python in "$@"; do
    number=$((number + 1))
    "$python" -m venv "$work/$number"
    "$work/$number/bin/pip" install --quiet --editable '.[test]'
    "$work/$number/bin/python" -c 'import sys, jax
print(f"=== Python {sys.version.split()[0]}, JAX {jax.__version__}")'
    "$work/$number/bin/python" -m pytest -q -m '' --durations=10
done
