"""Advice through Python: the frames are those of the command line, options are its options."""

from pathlib import Path
from typing import Any

import pytest

import flashkeep as fk


def small() -> fk.Experiment:
    return fk.Experiment(
        trace=fk.Workload(generator="uniform", requests=1500, range="80%", read_fraction=0.5),
        capacity=fk.Capacity(size="16MiB"),
    )


def test_an_answer_has_its_designs_and_its_experiment(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    advice = fk.advise(
        small(),
        vary={"scheme": ["none", "ds-raid"], "over-provisioning": "150%", "code": "ldpc:rate=0.901", "refresh": "30d"},
        progress=lambda done, most: heard.append((done, most)),
        years=0.1,
        lives=8,
        seeds=1,
        epochs=1,
        timed=1,
    )
    assert advice.answer is not None and advice.answer["scheme"] == "ds-raid"
    assert advice.designs["scheme"] == ["ds-raid"] and advice.designs["seen_by"] == ["full"]
    # One die may die in the enterprise class.
    assert advice.out["designs"] == [1]
    assert len(advice.ages) > 0 and heard[-1][1] == 8
    assert advice.experiment is not None and "ds-raid" in advice.experiment
    assert "Take  ds-raid" in str(advice)
    assert advice.report(tmp_path / "advice").name == "index.html"


def test_workers_share_lives(tmp_path: Path) -> None:
    options: dict[str, Any] = {"years": 0.1, "lives": 8, "seeds": 1, "epochs": 1, "timed": 1}
    axes = {"scheme": "ds-raid", "over-provisioning": "150%", "code": "ldpc:rate=0.901", "refresh": "30d"}
    alone = fk.advise(small(), vary=axes, **options)
    shared = fk.advise(small(), vary=axes, into=tmp_path, executor="processes", workers=1, **options)
    assert shared.document == alone.document


def test_bad_options_are_named() -> None:
    with pytest.raises(fk.BadInput, match="option of advice"):
        fk.advise(small(), color="red")
    with pytest.raises(fk.BadInput, match="lives"):
        fk.advise(small(), lives=1)
    with pytest.raises(fk.BadInput, match="each once"):
        fk.advise(small(), vary={"scheme": "none,none"})
