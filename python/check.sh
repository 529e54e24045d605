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

target=${CARGO_TARGET_DIR:-target}
venv=$target/python
# A list of what is installed stands beside it, so that pip is asked only when that changes.
wanted="$("$python" --version) $(cksum <pyproject.toml)"
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    needs=$("$venv/bin/python" - <<'EOF'
import re
text = open("pyproject.toml", encoding="utf-8").read()
extras = {name: re.findall(r'"([^"]+)"', value) for name, value in re.findall(r"^(\w+) = \[([^]]*)\]$", text, re.MULTILINE)}
def flat(name):
    for need in extras[name]:
        inner = re.fullmatch(r"flashkeep\[([\w,]+)\]", need)
        yield from (n for extra in inner[1].split(",") for n in flat(extra)) if inner else [need]
print("\n".join(sorted({*flat("test"), *extras["requires"]})))
EOF
    )
    readarray -t needs <<<"$needs"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check "${needs[@]}"
    echo "$wanted" >"$venv/wanted"
fi

rm -rf "$venv/wheel"
"$venv/bin/maturin" build -q --profile dev --out "$venv/wheel" --interpreter "$venv/bin/python" 2>"$venv/build.log" ||
    { cat "$venv/build.log"; exit 1; }
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --force-reinstall "$venv"/wheel/*.whl
PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" -m pytest
