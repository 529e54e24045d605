"""Lives through Python: the frames are those of the command line, options are its options."""

from pathlib import Path

import pytest

import flashkeep as fk


def small() -> fk.Experiment:
    return fk.Experiment(
        schemes=["none", "raid5"],
        seeds=2,
        trace=fk.Workload(generator="uniform", requests=2000, range="64MiB", read_fraction=0.2),
        capacity=fk.Capacity(size="64MiB"),
    )


def test_frames_have_a_row_for_each_scheme_age_and_seed(tmp_path: Path) -> None:
    life = fk.life(small(), years=0.5, timed=0, refresh="none")
    assert life.passed
    assert life.ends["scheme"] == ["none", "raid5"]
    assert life.ends["end"] == ["alive", "alive"]
    assert all(years >= 0.5 for years in life.ends["years"])
    ages = life.ages
    assert len(ages) == len(life) == len(life.smart)
    assert max(ages["drive_writes"]) == pytest.approx(max(life.ends["drive_writes"]))
    assert life.seeds is not None and life.seeds["seed"] == [1, 2, 1, 2]
    assert life.tornado is None
    assert {row["scheme"] for row in life.document["tables"]["ages"]} == {"none", "raid5"}
    assert life.report(tmp_path / "life").name == "index.html"
    assert (tmp_path / "life" / "ages.parquet").read_bytes()[:4] == b"PAR1"


def test_bad_options_are_named() -> None:
    with pytest.raises(fk.BadInput, match="option of a life"):
        fk.life(small(), color="red")
    with pytest.raises(fk.BadInput, match="dwpd"):
        fk.life(small(), dwpd=0)
