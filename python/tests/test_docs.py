"""The examples in docs/python.md, docs/rust.md, README.md, docs/tutorials/compare.md and examples run as they are."""

import re
import shutil
import subprocess
import sys
from math import prod

import pytest
from conftest import ROOT

import flashkeep as fk


@pytest.mark.parametrize("page", ["docs/python.md", "docs/rust.md", "README.md"])
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
    parts |= {"retry_reads", "retry_flash_s", "retry_decode_s"}
    parts |= {"stream_host_bytes", "stream_moved_bytes", "stream_waf"}
    others = set(rows.columns[3:]) - plain
    assert others == {"config_hash", "seed", "trace_hash"} | {
        n for n in others if any(n.startswith(f"{p}_") for p in parts)
    }


def cells(table):
    """The cells of a table in Markdown, line by line, without that of dashes."""
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()]
    return [lines[0], *lines[2:]]


def test_the_study_tells_what_its_runs_gave(examples):
    polars = pytest.importorskip("polars")
    printed = output_of("examples/study.py")
    heads, *lines = cells(printed)
    assert "<svg" in (examples.parent / "report/study/study.svg").read_text(encoding="utf-8")
    rows = polars.read_parquet("report/study/repetitions.parquet")
    assert len(lines) == 12 and len(rows) == 24, "two shares, two loads, three schemes, two seeds"
    for share, load, scheme, waf, read, _, ratio, _ in lines:

        def of(name, column):
            is_point = (polars.col("capacity.over_provisioning") == share) & (polars.col("load, requests/s") == int(load))
            return rows.filter(is_point & (polars.col("scheme") == name))[column].to_list()

        for told, column in [(waf, "waf"), (read, "read_latency_us_mean")]:
            one, other = of(scheme.strip("`"), column)
            # Of two values: t of one degree of freedom is 12.706, their standard error half their distance.
            mean, half = (float(number) for number in told.removesuffix(" !").split(" +- "))
            assert mean == pytest.approx((one + other) / 2, rel=1e-3, abs=1e-9)
            assert half == pytest.approx(12.7062 * abs(one - other) / 2, rel=0.06, abs=1e-3 * mean)
        pairs = zip(of(scheme.strip("`"), "read_latency_us_mean"), of("raid5", "read_latency_us_mean"))
        middle = prod(one / other for one, other in pairs) ** 0.5
        if scheme != "`raid5`":
            low, high = (float(number) for number in ratio.split(" to "))
            assert (low * high) ** 0.5 == pytest.approx(middle, rel=0.02)
    # The page has the same table of the full study, and its figure.
    page = (ROOT / "docs/study.md").read_text(encoding="utf-8")
    full = cells(re.search(r"^\| over-provisioning .*?(?=\n\n)", page, re.DOTALL | re.MULTILINE)[0])
    assert full[0] == heads and "](study.svg)" in page and (ROOT / "docs/study.svg").is_file()
    points = {tuple(line[:3]) for line in full[1:]}
    assert len(full) - 1 == len(points) == 5 * 3 * 3, "five loads, three shares, three schemes"


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


def test_the_tutorial_of_compare_in_python(examples):
    page = (ROOT / "docs/tutorials/compare.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    run = 0
    for (language, block), (following, shown) in zip(blocks, [*blocks[1:], ("", "")]):
        if language == "python":
            exec(compile(block, "docs/tutorials/compare.md", "exec"), {})
            run += 1
        for line in block.splitlines() if language == "sh" else []:
            if line.startswith("python examples/"):
                printed = output_of(*line.split()[1:])
                assert following == "text" and printed == shown
                run += 1
    assert run == 2


def test_examples_in_python_run(examples):
    # The study has a test of its own.
    scripts = sorted(set(examples.glob("*.py")) - {examples / "study.py"})
    assert len(scripts) == 3
    for script in scripts:
        assert output_of(script), f"{script.name} prints something"
    assert "<svg" in (examples.parent / "report/load.svg").read_text(encoding="utf-8")
