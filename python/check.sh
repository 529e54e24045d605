#!/usr/bin/env bash
# Builds the Python package and runs its tests, in a virtual environment below cargo's target directory.
# With --if-there it is no failure that Python is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${PYTHON:-python3}
if ! "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "SKIPPED: the tests of the Python package: Python 3.10 or newer with venv is not there ($python)"
    [ "${1:-}" = --if-there ] && exit 0 || exit 1
fi

venv=${CARGO_TARGET_DIR:-target}/python
pip() { "$venv/bin/python" -m pip install -q --disable-pip-version-check "$@"; }

# Packages for the tests are installed once, and again when their list changes.
wanted="$("$python" --version) $(cksum <pyproject.toml)"
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    pip "maturin>=1.9,<2"
fi
rm -rf "$venv/wheel"
"$venv/bin/maturin" build -q --profile dev --out "$venv/wheel" --interpreter "$venv/bin/python" 2>"$venv/build.log" ||
    { cat "$venv/build.log"; exit 1; }
wheel=$(echo "$venv"/wheel/*.whl)
"$venv/bin/python" tools/wheels.py "$wheel"
if [ -e "$venv/wanted" ]; then
    pip --no-deps --force-reinstall "$wheel"
else
    pip "$wheel[test]"
    echo "$wanted" >"$venv/wanted"
fi
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest
