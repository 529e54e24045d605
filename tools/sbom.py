#!/usr/bin/env python3
"""The bill of materials of what is shipped (program, plugin, wheel), as CycloneDX 1.6 JSON on standard output.

Crates are those that cargo builds them of on any platform, from `cargo metadata`; check sums are those of Cargo.lock. What
is only for tests is not among them. The same sources give the same text.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: What is shipped.
SHIPPED = ("flashkeep-cli", "flashkeep-nbd", "flashkeep-py")


def metadata() -> dict[str, Any]:
    """Metadata of all crates from cargo."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--format-version", "1", "--locked"]
    found: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return found


def checksums() -> dict[tuple[str, str], str]:
    """SHA-256 of each crate from a registry, by name and version."""
    text = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    rows = re.findall(r'name = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "(.+)"', text)
    return {(name, version): checksum for name, version, checksum in rows}


def needed(nodes: dict[str, Any], roots: list[str]) -> dict[str, list[str]]:
    """Crates that the roots are built of, each with those that it needs itself."""
    found: dict[str, list[str]] = {}
    left = list(roots)
    while left:
        crate = left.pop()
        if crate not in found:
            deps = nodes[crate]["deps"]
            found[crate] = sorted(
                {dep["pkg"] for dep in deps if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])}
            )
            left += found[crate]
    return found


def component(package: dict[str, Any], sums: dict[tuple[str, str], str]) -> dict[str, Any]:
    """A crate."""
    name, version = package["name"], package["version"]
    purl = f"pkg:cargo/{name}@{version}"
    told: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if package["license"]:
        told["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if (name, version) in sums:
        told["hashes"] = [{"alg": "SHA-256", "content": sums[name, version]}]
    if package["repository"]:
        told["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return told


def charts() -> dict[str, Any]:
    """The library in the reports, which cargo does not know."""
    script = (ROOT / "crates/report/assets/echarts/echarts.min.js").read_text(encoding="utf-8")
    found = re.search(r'[.]version="(\d+\.\d+\.\d+)"', script)
    if found is None:
        raise SystemExit("crates/report/assets/echarts/echarts.min.js: no version is found")
    purl = f"pkg:npm/echarts@{found[1]}"
    licence = [{"license": {"id": "Apache-2.0"}}]
    told = {"type": "library", "bom-ref": purl, "name": "echarts", "version": found[1], "purl": purl}
    return {**told, "licenses": licence}


def bill() -> dict[str, Any]:
    """The document."""
    found, sums = metadata(), checksums()
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    roots = [package for package in found["workspace_members"] if packages[package]["name"] in SHIPPED]
    crates = needed(nodes, roots)
    parts = {crate: component(packages[crate], sums) for crate in crates}
    refs = {crate: part["bom-ref"] for crate, part in parts.items()}
    of_reports = charts()
    dependencies = [
        {"ref": refs[crate], "dependsOn": sorted(refs[dep] for dep in deps)} for crate, deps in crates.items()
    ]
    for row in dependencies:
        if row["ref"].startswith("pkg:cargo/flashkeep-report@"):
            row["dependsOn"].append(of_reports["bom-ref"])
    version = next(packages[root]["version"] for root in roots)
    subject = {"type": "application", "bom-ref": "flashkeep", "name": "flashkeep", "version": version}
    dependencies.append({"ref": "flashkeep", "dependsOn": sorted(refs[root] for root in roots)})
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**subject, "licenses": [{"expression": "MIT OR Apache-2.0"}]}},
        "components": sorted([*parts.values(), of_reports], key=lambda part: part["bom-ref"]),
        "dependencies": sorted(dependencies, key=lambda row: row["ref"]),
    }


if __name__ == "__main__":
    print(json.dumps(bill(), indent=2))
