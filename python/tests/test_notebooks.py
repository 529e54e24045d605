"""Notebooks run from top to bottom, and show what their papers say."""

import importlib.util
import itertools
from pathlib import Path

import pytest

pytest.importorskip("marimo")
pytest.importorskip("matplotlib").use("Agg")

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def ran(name):
    """Names that the cells of a notebook define."""
    spec = importlib.util.spec_from_file_location(name, NOTEBOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app.run()[1]


def test_all_notebooks_are_tested():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in NOTEBOOKS.glob("*.py")} <= tested


def test_ds_raid():
    ratios = ran("ds_raid")["ratios"]
    latency = [row["ds-raid / raid5"] for row in ratios if row["figure"] == "latency"]
    extra = [row["ds-raid / raid5"] for row in ratios if row["figure"] == "extra writes"]
    assert max(latency) < 0.95 and min(latency) < 0.6, "the paper: half"
    assert extra[-1] < 0.9, "with spare enough it writes less"


def test_da_raid5():
    rows = ran("da_raid5")["rows"]
    programs = dict(zip(zip(rows["life"], rows["scheme"]), rows["flash_programs"]))
    for life in set(rows["life"]):
        assert programs[life, "da-raid5"] < programs[life, "raid5"], life
    assert programs["1: young", "da-raid5"] < programs["3: worn", "da-raid5"]


def test_code_striping():
    ratios = [row["dynamic / static"] for row in ran("code_striping")["ratios"]]
    assert ratios[0] == 1.0, "without code zones there is no difference"
    assert all(ratio < 0.95 for ratio in ratios[1:])


def test_flares():
    found = ran("flares")
    gains = [row["throughput over a fixed code"] for row in found["gains"]]
    assert gains[0] > 1.3 and gains[-1] == 1.0, "the paper: about 50 % while young"
    assert all(a >= b for a, b in itertools.pairwise(gains))
    assert all(row["p_required"] <= row["p_mean"] <= row["p_required"] + 2 for row in found["chosen"])


def test_mds_block_groups():
    found = ran("mds_block_groups")
    writes = {(row["code"], row["pages of a write"]): row["time of a write, us"] for row in found["writes"]}
    assert writes["none", 1] == pytest.approx(writes["(6,2)", 1], rel=0.02), (
        "a page and its parities go to dies of their own"
    )
    assert writes["none", 6] < writes["(7,1)", 6] < writes["(6,2)", 6], "more parity for each page, more time"
    losses = {(row["protection"], row["rber"]): row["uper"] for row in found["rows"]}
    assert losses["8x64, t 1", 1e-7] < losses["6+2, t 1", 1e-7] < losses["7+1, t 1", 1e-7] < losses["t 1", 1e-7]
