"""The website and the bill of materials, made of this repository."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT


def test_the_bill_of_materials_names_what_cargo_builds_and_its_check_sums():
    cargo = os.environ.get("CARGO") or shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not there")
    made = subprocess.run([sys.executable, ROOT / "tools/sbom.py"], capture_output=True, text=True, check=True).stdout
    bill = json.loads(made)
    ours = {
        (part["name"], part["version"]): part for part in bill["components"] if part["purl"].startswith("pkg:cargo/")
    }
    shipped = [word for name in ("flashkeep-cli", "flashkeep-nbd", "flashkeep-py") for word in ("-p", name)]
    tree = [cargo, "tree", "--locked", "-e", "normal,build", "--target", "all", "--prefix", "none", *shipped]
    printed = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(ours) == set(re.findall(r"^(\S+) v(\S+)", printed, re.MULTILINE)) and len(ours) > 100
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    for (name, version), part in ours.items():
        assert part["licenses"], name
        for digest in part.get("hashes", []):
            assert f'name = "{name}"\nversion = "{version}"\n' in lock and f'checksum = "{digest["content"]}"' in lock
        assert name.startswith("flashkeep") != ("hashes" in part), name
    refs = {part["bom-ref"] for part in bill["components"]}
    assert {ref for row in bill["dependencies"] for ref in row["dependsOn"]} == refs
    assert any(part["name"] == "echarts" for part in bill["components"])


def test_every_page_of_the_documents_is_a_chapter_of_the_website(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools/site.py", tmp_path / "site", "--stage-only"], check=True)
    source = tmp_path / "site/src"
    summary = (source / "SUMMARY.md").read_text(encoding="utf-8")
    chapters = re.findall(r"\]\(([^)]+)\)", summary)
    assert len(chapters) == len(set(chapters)) and all((source / chapter).is_file() for chapter in chapters)
    for folder in ("docs", "experiments", "examples"):
        pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / folder).rglob("*.md")}
        assert pages and pages <= set(chapters)
    # Files that pages show or link to go with them.
    assert (source / "docs/headline.svg").is_file() and (source / "examples/orders.csv").is_file()


def test_without_its_tool_the_website_says_what_is_missing(tmp_path):
    without = {**os.environ, "PATH": str(tmp_path), "MDBOOK": ""}
    words = [sys.executable, ROOT / "tools/site.py", tmp_path / "site"]
    done = subprocess.run(words, env=without, capture_output=True, text=True)
    assert done.returncode == 1 and "mdbook is missing: cargo install mdbook" in done.stderr
