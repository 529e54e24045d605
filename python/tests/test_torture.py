"""Campaigns of torture: the same tables whoever ran what, and whatever died in the meantime."""

import os
import signal
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import flashkeep as fk
from flashkeep import _executors, campaigns

#: Forty pieces, of a scheme that loses data and two that do not.
CAMPAIGN = {"scenarios": 1915, "seed": 3, "schemes": ["none", "raid5", "canary"], "piece": 48, "check": False}


def tables(campaign):
    return [{name: frame[name] for name in frame.columns} for frame in (campaign.frame, campaign.violations)]


@pytest.fixture(scope="module")
def serial():
    """The tables, one piece after the other."""
    return tables(fk.torture(**CAMPAIGN, workers=1))


def parts(directory):
    return {path.name for path in (directory / "pieces").iterdir() if path.suffix == ".json"}


def test_a_campaign_gives_what_the_program_gives(serial, program, tmp_path):
    options = "--scenarios 1915 --seed 3 --scheme none,raid5,canary --piece 48".split()
    command = [*program, "torture", *options, "--into", tmp_path / "theirs"]
    theirs = subprocess.run(command, check=False, capture_output=True, text=True)
    ours = fk.torture(**CAMPAIGN, directory=tmp_path / "ours")
    assert theirs.returncode == 1 and str(ours) in theirs.stdout
    assert tables(ours) == serial and len(ours) == 3
    for name, frame in [("results", ours.frame), ("violations", ours.violations)]:
        files = [(tmp_path / who / f"{name}.parquet").read_bytes() for who in ("ours", "theirs")]
        assert files[0] == files[1] == frame.to_parquet()
    assert parts(tmp_path / "ours") == parts(tmp_path / "theirs") and len(parts(tmp_path / "ours")) == 40
    heard = []
    again = fk.torture(**CAMPAIGN, directory=tmp_path / "theirs", progress=lambda *done: heard.append(done))
    assert tables(again) == serial and heard == [(1915, 1915)]


def test_tables_are_counts_by_scheme_and_violations_by_number(serial):
    schemes, violations = serial
    assert schemes["scheme"] == ["none", "raid5", "canary"] and sum(schemes["scenarios"]) == 1915
    assert schemes["violations"][:2] == [0, 0]
    # Of one kind there are more than are remembered.
    assert max(violations["alike"]) > 100 < len(violations["scenario"]) < schemes["violations"][2]
    assert violations["scenario"] == sorted(violations["scenario"]) and set(violations["scheme"]) == {"canary"}
    assert schemes["seed"] == [3, 3, 3] and min(schemes["mounting_ns"]) > min(schemes["cuts"]) > 100


def test_any_executor_will_do(serial):
    with ThreadPoolExecutor(2) as pool:
        assert tables(fk.torture(**CAMPAIGN, executor=pool)) == serial
    with pytest.raises(TypeError, match="Executor of concurrent.futures"):
        fk.torture(**CAMPAIGN, executor="dask")


def test_a_worker_process_that_is_killed_loses_nothing(serial, monkeypatch, tmp_path):
    done, killed, pieces = [], [], []

    class Pool(ProcessPoolExecutor):
        """Kills one of its own workers once ten pieces are done."""

        def submit(self, function, task, piece):
            pieces.append(piece)
            future = super().submit(function, task, piece)
            future.add_done_callback(self._strike)
            return future

        def _strike(self, future):
            done.append(future)
            if len(done) == 10:
                killed.extend(self._processes)
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(_executors, "ProcessPoolExecutor", Pool)
    result = fk.torture(**CAMPAIGN, executor="processes", workers=2, directory=tmp_path)
    assert killed and tables(result) == serial and len(parts(tmp_path)) == 40
    assert 40 < len(pieces) < 80, "what had been done is not done again"


def test_dask_replaces_a_worker_that_is_killed(cluster_that_loses_a_worker, serial, tmp_path):
    with cluster_that_loses_a_worker(480) as (client, strike, killed):
        result = fk.torture(**CAMPAIGN, executor=client, directory=tmp_path, progress=strike)
    assert killed and tables(result) == serial and len(parts(tmp_path)) == 40


def test_a_campaign_goes_on_where_it_ended_and_grows(serial, tmp_path):
    class Enough(Exception):
        pass

    def until(done, total):
        assert total == 1915
        if done >= 480:
            raise Enough

    with pytest.raises(Enough):
        fk.torture(**CAMPAIGN, directory=tmp_path, workers=2, progress=until)
    before = len(parts(tmp_path))
    assert 10 <= before < 40 and not (tmp_path / "results.parquet").exists()
    heard = []
    result = fk.torture(**CAMPAIGN, directory=tmp_path, progress=lambda done, total: heard.append(done))
    assert len(heard) == 41 - before and heard[-1] == 1915 and tables(result) == serial
    heard.clear()
    fk.torture(**{**CAMPAIGN, "scenarios": 2000}, directory=tmp_path, progress=lambda done, total: heard.append(done))
    assert heard[0] == 39 * 48, "of the last piece, which was shorter, nothing can be taken"
    with pytest.raises(fk.BadInput, match="is of another campaign, seed is 3, wanted 4"):
        fk.torture(**{**CAMPAIGN, "seed": 4}, directory=tmp_path)


def test_broken_rules_are_an_error_with_both_tables():
    said = r"first in scenario \d+ of canary: .*repeat with: flashkeep torture --seed 3"
    with pytest.raises(fk.CheckFailed, match=said) as caught:
        fk.torture(480, seed=3, schemes=["canary"])
    found = caught.value.result
    assert not found.passed and found["violations"][0] >= len(found.violations) > 0
    passed = fk.torture(480, schemes=["none"], faults=["cut"], draws="apart")
    assert passed.passed and len(passed.violations) == 0 and passed["losses"] == [0]
    polars = pytest.importorskip("polars")
    assert polars.DataFrame(passed.violations).columns == ["scenario", "scheme", "rule", "what", "alike"]


def test_bad_input_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr(campaigns, "handed_in", None)
    cases = [
        ({"schemes": ["raid6"]}, "schemes", "unknown scheme `raid6`"),
        ({"faults": ["fire"]}, "faults", "unknown kind of fault `fire`"),
        ({"draws": "apar"}, "draws", "did you mean `apart`"),
        ({"without": "fins"}, "without", "unknown rule `fins`"),
        ({"piece": 100}, "piece", "valid are multiples of 16"),
        ({"scenarios": 0}, "scenarios", "found 0"),
        ({"scenarios": -1}, "scenarios", "found -1"),
        ({"seed": 1 << 64}, "seed", "below 2"),
        ({"schemes": "none"}, "schemes", "wanted a list of names"),
    ]
    for given, field, said in cases:
        with pytest.raises(fk.BadInput, match=said) as caught:
            fk.torture(**{"scenarios": 64, **given})
        assert caught.value.field == field and str(caught.value).startswith(field)


def test_a_campaign_that_ctrl_c_stopped_goes_on(tmp_path):
    """Fails if threads or parts are left in a state that the next campaign in the same process does not bear."""
    wanted = {"schemes": ["none"], "scenarios": 640, "piece": 64, "directory": tmp_path / "kept"}

    def interrupt(done, _total):
        if done > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fk.torture(**wanted, progress=interrupt)
    heard = []
    again = fk.torture(**wanted, progress=lambda done, total: heard.append(done))
    assert heard[0] > 0 and heard[-1] == 640, "what was kept is not run again"
    whole = fk.torture(**{**wanted, "directory": None})
    assert str(again) == str(whole)
