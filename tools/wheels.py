#!/usr/bin/env python3
"""Puts the plugin of nbdkit into a wheel that maturin has built: `python3 tools/wheels.py WHEEL...`.

The extension module is built on the crate of the plugin, so cargo has made both, in one folder. It is known by the module: the one
there and that of the wheel are equal byte for byte. Where the module is built without the plugin (macOS, musl) the wheel stays as
it is. As a backend of PEP 517 (`pip install .`) this is maturin with that step behind it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

PLUGIN = "libflashkeep_nbd.so"
MODULE = "_native.abi3.so"
ROOT = Path(__file__).resolve().parents[1]


def target_directory() -> Path:
    """Where cargo builds."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version", "1", "--no-deps"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return Path(found["target_directory"])


def built_with(module: bytes, target: Path) -> Path | None:
    """The plugin that cargo built together with the module; None if it built none there."""
    for place in sorted(target.glob("*/deps")) + sorted(target.glob("*/*/deps")):
        built = place / "lib_native.so"
        if built.is_file() and built.stat().st_size == len(module) and built.read_bytes() == module:
            plugin = place / PLUGIN
            return plugin if plugin.is_file() else None
    raise SystemExit(f"{target}: no module there equals that of the wheel, so the plugin that belongs to it is not known")


def add(wheel: Path, plugin: Path) -> None:
    """Adds the plugin beside the module, with its line in RECORD."""
    content = plugin.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    line = f"flashkeep/{PLUGIN},sha256={digest},{len(content)}\n"
    changed = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        module = next(entry for entry in old.infolist() if entry.filename.endswith(MODULE))
        for entry in old.infolist():
            if entry.filename.endswith(".dist-info/RECORD"):
                # As the module it has the permissions and the time that maturin gives.
                beside = zipfile.ZipInfo(f"flashkeep/{PLUGIN}", module.date_time)
                beside.external_attr, beside.compress_type = module.external_attr, zipfile.ZIP_DEFLATED
                new.writestr(beside, content)
                new.writestr(entry, old.read(entry).decode() + line)
            else:
                new.writestr(entry, old.read(entry))
    changed.replace(wheel)


def complete(wheel: Path) -> None:
    """Adds the plugin, if one was built and the wheel has none."""
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        module = next((opened.read(name) for name in names if name.endswith(MODULE)), b"")
    if f"flashkeep/{PLUGIN}" in names:
        return
    plugin = built_with(module, target_directory()) if module and sys.platform == "linux" else None
    if plugin is not None:
        add(wheel, plugin)


def build_wheel(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """Entry point of pip."""
    import maturin

    name: str = maturin.build_wheel(directory, settings, metadata)
    complete(Path(directory) / name)
    return name


def __getattr__(name: str) -> Any:
    """Every other hook is that of maturin."""
    import maturin

    return getattr(maturin, name)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        complete(Path(path))
