"""The examples in docs/python.md, README.md, docs/tour.md and examples run as they stand."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import flashkeep as fk


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_examples_run(page, tmp_path, monkeypatch):
    pytest.importorskip("polars")
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks, "there are none"
    scope = {}
    for block in blocks:
        exec(compile(block.replace('fk.run("experiment.toml")', "None"), page, "exec"), scope)


def test_the_grid_on_the_page_about_sweeps_runs(tmp_path):
    grid = re.search(r"```toml\n(.*?)```", (ROOT / "docs/sweeps.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    (tmp_path / "grid.toml").write_text(grid)
    rows = fk.sweep(tmp_path / "grid.toml")
    assert len(rows) == 12 and rows["age"][:4] == ["fresh", "fresh", "worn", "worn"]
    documented = (ROOT / "docs/spec/results.md").read_text(encoding="utf-8")
    figures = set(re.findall(r"^\| `(\w+)` \|", documented, re.MULTILINE))
    plain = {name for name in rows.columns[3:] if name in figures}
    parts = {"flash_reads", "flash_programs", "flash_erases", "energy_j", "requests"}
    parts |= {"ladder_reads", "ladder_flash_s", "ladder_decode_s"}
    parts |= {"stream_host_bytes", "stream_moved_bytes", "stream_waf"}
    others = set(rows.columns[3:]) - plain
    assert others == {"config_hash", "seed", "trace_hash"} | {
        n for n in others if any(n.startswith(f"{p}_") for p in parts)
    }


@pytest.fixture
def examples(tmp_path, monkeypatch):
    """A directory with nothing in it but the examples."""
    pytest.importorskip("matplotlib").use("Agg")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path / "examples"


def output_of(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True).stdout


def test_the_tour_in_python(examples):
    page = (ROOT / "docs/tour.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    run = 0
    for (language, block), (following, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        if language == "python":
            exec(compile(block, "docs/tour.md", "exec"), {})
            run += 1
        for line in block.splitlines() if language == "sh" else []:
            if line.startswith("python examples/"):
                printed = output_of(*line.split()[1:])
                assert following == "text" and printed == shown
                run += 1
    assert run == 2


def test_examples_in_python_run(examples):
    scripts = sorted(examples.glob("*.py"))
    assert len(scripts) == 3
    for script in scripts:
        assert output_of(script), f"{script.name} prints something"
    assert "<svg" in (examples.parent / "report/load.svg").read_text(encoding="utf-8")
