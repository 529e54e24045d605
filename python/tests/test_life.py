"""Lives through Python: the frames are those of the command line, options are its options."""

from pathlib import Path
from typing import Any

import pytest

import flashkeep as fk


def small(size: str = "64MiB") -> fk.Experiment:
    return fk.Experiment(
        schemes=["none", "raid5"],
        seeds=2,
        trace=fk.Workload(generator="uniform", requests=2000, range=size, read_fraction=0.2),
        capacity=fk.Capacity(size=size),
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
    assert life.strata is not None and sum(life.strata["weight"]) == pytest.approx(2.0)
    assert {row["scheme"] for row in life.document["tables"]["ages"]} == {"none", "raid5"}
    assert life.report(tmp_path / "life").name == "index.html"
    assert (tmp_path / "life" / "ages.parquet").read_bytes()[:4] == b"PAR1"


def test_lives_that_are_kept_are_not_lived_again(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    options: dict[str, Any] = {"years": 0.5, "timed": 0, "phases": "months=5;months=7,off"}
    first = fk.life(small(), into=tmp_path / "kept", **options)
    again = fk.life(small(), into=tmp_path / "kept", progress=lambda *done: heard.append(done), **options)
    assert again.document == first.document and heard[-1] == (100, 100) and len(heard) == 4
    assert set(first.ages["phase"]) == {1, 2}


def test_bad_options_are_named() -> None:
    with pytest.raises(fk.BadInput, match="option of a life"):
        fk.life(small(), color="red")
    with pytest.raises(fk.BadInput, match="dwpd"):
        fk.life(small(), dwpd=0)


def test_workers_share_their_lives(tmp_path: Path) -> None:
    options: dict[str, Any] = {"years": 0.1, "timed": 0, "epochs": 1}
    alone = fk.life(small("16MiB"), **options)
    shared = fk.life(small("16MiB"), into=tmp_path / "kept", executor="processes", workers=2, **options)
    assert shared.document == alone.document
    assert len(list((tmp_path / "kept" / "lives").glob("*.json"))) == 4
    with pytest.raises(fk.BadInput, match="share lives in a directory"):
        fk.life(small(), executor="processes", **options)
    with pytest.raises(fk.BadInput, match="dwpd"):
        fk.life(small(), into=tmp_path / "bad", executor="processes", workers=1, dwpd=0)
    with pytest.raises(TypeError, match="wanted"):
        fk.life(small(), into=tmp_path / "bad", executor="cluster", **options)
