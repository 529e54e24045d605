"""Sweeps: the same rows whoever ran what, and whatever died in the meantime."""

import os
import pickle
import signal
import subprocess
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest

import flashkeep as fk
from flashkeep import _executors, sweeps


def columns(frame):
    return {name: frame[name] for name in frame.columns}


@pytest.fixture(scope="module")
def serial(grid):
    """The rows, one run after the other."""
    return columns(fk.sweep(grid, workers=1))


def parts(directory):
    return {path.name for path in (directory / "runs").iterdir() if path.suffix == ".json"}


def test_a_sweep_gives_what_the_program_gives(grid, serial, program, tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(grid.to_toml())
    subprocess.run([*program, "sweep", file, "--out", tmp_path / "theirs", "--threads", "2"], check=True)
    ours = fk.sweep(file, directory=tmp_path / "ours")
    assert columns(ours) == serial and len(ours) == 120
    results = [(tmp_path / who / "results.parquet").read_bytes() for who in ("ours", "theirs")]
    assert results[0] == results[1] == ours.to_parquet()
    assert parts(tmp_path / "ours") == parts(tmp_path / "theirs")
    assert columns(fk.sweep(grid, directory=tmp_path / "theirs")) == serial


def test_rows_are_runs_of_their_experiments(grid, serial):
    for row in (0, 77, 119):
        run = serial["run"][row]
        worn = serial["age"][row] == "worn"
        experiment = replace(
            grid.experiment,
            trace=replace(grid.experiment.trace, read_fraction=serial["generate.read_fraction"][row]),
            age=fk.Age(pe_cycles=3000) if worn else None,
            errors=fk.Errors(model="flares") if worn else None,
            seed=serial["seed"][row],
        )
        result = fk.run(experiment)
        for name in result.columns:
            assert result[name][row % 2] == serial[name][row], (run, name)


def test_seeds_give_means_with_intervals_and_differences_from_the_first_scheme(grid, tmp_path, program):
    from statistics import geometric_mean, mean, stdev

    small = replace(grid, axes=grid.axes[:1])
    rows = fk.sweep(small, seeds=3, directory=tmp_path / "ours")
    assert (len(rows), rows["seeds"], len(rows.repetitions)) == (4, [3] * 4, 12)
    assert fk.sweep(small).repetitions is None
    for run in (0, 1):
        none, raid5 = (rows.repetitions.filter(run=run, scheme=scheme)["energy_j"] for scheme in ("none", "raid5"))
        row = rows.filter(run=run, scheme="raid5")
        half = 4.302653 * stdev(raid5) / 3**0.5  # t of 2 degrees of freedom
        assert row["energy_j"] == [pytest.approx(mean(raid5))]
        assert row["energy_j_low"] == [pytest.approx(mean(raid5) - half)]
        assert row["energy_j_difference"] == [pytest.approx(mean(one - other for one, other in zip(raid5, none)))]
        assert row["energy_j_ratio"] == [pytest.approx(geometric_mean(raid5) / geometric_mean(none))]
        # Each seed is that of a comparison under the same seeds.
        fraction = grid.axes[0].values[run]
        alone = replace(small.experiment, trace=replace(small.experiment.trace, read_fraction=fraction), seeds=3)
        digests = fk.run(alone).repetitions["event_digest"]
        assert rows.repetitions.filter(run=run)["event_digest"] == digests
    # Processes and the program give the same.
    assert columns(fk.sweep(small, seeds=3, executor="processes", workers=2)) == columns(rows)
    file = tmp_path / "grid.toml"
    file.write_text(small.to_toml())
    subprocess.run([*program, "sweep", file, "--seeds", "3", "--out", tmp_path / "theirs"], check=True)
    for name in ("results.parquet", "repetitions.parquet", "results.csv"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()


def test_series_and_logs_of_runs_are_files_of_the_directory(grid, serial, tmp_path):
    polars = pytest.importorskip("polars")
    small = replace(grid, axes=grid.axes[:1])
    with pytest.raises(fk.BadInput, match="give a directory"):
        fk.sweep(small, series=True)
    plain = fk.sweep(small)
    for executor in ("threads", "processes"):
        directory = tmp_path / executor
        rows = fk.sweep(small, directory=directory, series=True, logs=True, executor=executor, workers=2)
        assert columns(rows) == columns(plain)
        index = polars.read_csv(directory / "runs.csv")
        assert index["run"].to_list() == [0, 1] and index["generate.read_fraction"].to_list() == grid.axes[0].values
        for fraction, series, log in index.select("generate.read_fraction", "series", "logs").rows():
            alone = replace(small.experiment, trace=replace(small.experiment.trace, read_fraction=fraction))
            result = fk.run(alone, log=tmp_path / "alone.parquet")
            assert (directory / log).read_bytes() == (tmp_path / "alone.parquet").read_bytes()
            assert (directory / series).read_bytes() == result.series.to_parquet()


def test_parquet_files_are_read_by_others(grid, serial, tmp_path):
    polars, parquet = pytest.importorskip("polars"), pytest.importorskip("pyarrow.parquet")
    fk.sweep(grid, directory=tmp_path)
    assert polars.read_parquet(tmp_path / "results.parquet").to_dict(as_series=False) == serial
    assert parquet.read_table(tmp_path / "results.parquet").to_pydict() == serial


def test_any_executor_will_do(grid, serial):
    with ThreadPoolExecutor(2) as pool:
        assert columns(fk.sweep(grid, executor=pool)) == serial
    with pytest.raises(TypeError, match="Executor of concurrent.futures"):
        fk.sweep(grid, executor="dask")


class Pieces(ThreadPoolExecutor):
    """Remembers the runs of each piece of work, which are done by threads that share nothing."""

    def __init__(self, workers):
        super().__init__(workers)
        self.pieces = []

    def submit(self, function, task, runs):
        self.pieces.append(runs)
        return super().submit(function, task, runs)


def test_runs_that_begin_with_the_same_drives_are_one_piece_of_work(grid, serial):
    # Runs that differ in the first axis alone, the share of reads.
    with Pieces(2) as pool:
        assert columns(fk.sweep(grid, executor=pool)) == serial
    assert sorted(pool.pieces) == [[run, run + 30] for run in range(30)]


def test_no_worker_is_left_without_work_for_the_sake_of_a_drive(grid):
    fractions = fk.Axis(key="generate.read_fraction", values=[0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    alike = replace(grid, axes=[fractions])
    serial = columns(fk.sweep(alike, workers=1))
    for workers, pieces in [(1, [7]), (3, [3, 3, 1]), (20, [1] * 7)]:
        with Pieces(workers) as pool:
            assert columns(fk.sweep(alike, executor=pool)) == serial
        assert [len(runs) for runs in pool.pieces] == pieces
        assert sum(pool.pieces, []) == list(range(7))


def test_runs_before_one_that_cannot_be_run_are_kept(grid, monkeypatch, tmp_path):
    class Group:
        def __init__(self, group):
            self.runs, self._group = group.runs, group

        def part(self, run):
            if run == 2:
                raise fk.BadInput("run 2 cannot be run")
            return self._group.part(run)

    class Refusing:
        def __init__(self, *task):
            self._grid = sweeps._native.Grid(*task)

        def groups(self, runs):
            return [Group(group) for group in self._grid.groups(runs)]

    alike = replace(grid, axes=[fk.Axis(key="generate.read_fraction", values=[0, 0.1, 0.2, 0.3])])
    monkeypatch.setattr(sweeps, "_grid", lambda task: Refusing(*task))
    with ThreadPoolExecutor(1) as pool, pytest.raises(fk.BadInput, match="run 2 cannot be run"):
        fk.sweep(alike, executor=pool, directory=tmp_path)
    assert len(parts(tmp_path)) == 2


def test_a_worker_process_that_is_killed_loses_nothing(grid, serial, monkeypatch, tmp_path):
    done, killed = [], []

    class Pool(ProcessPoolExecutor):
        """Kills one of its own workers once ten runs are done."""

        def submit(self, *args, **kwargs):
            future = super().submit(*args, **kwargs)
            future.add_done_callback(self._strike)
            return future

        def _strike(self, future):
            done.append(future)
            if len(done) == 10:
                killed.extend(self._processes)
                os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(_executors, "ProcessPoolExecutor", Pool)
    swept = fk.sweep(grid, executor="processes", workers=2, directory=tmp_path)
    assert killed and columns(swept) == serial and len(parts(tmp_path)) == 60


def test_a_pool_whose_workers_always_die_is_given_up(grid, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    monkeypatch.setattr(_executors, "_submitted", lambda *_: (_ for _ in ()).throw(BrokenProcessPool("died")))
    with pytest.raises(BrokenProcessPool):
        fk.sweep(grid, executor="processes", workers=1)


def test_dask_replaces_a_worker_that_is_killed(cluster_that_loses_a_worker, grid, serial, tmp_path):
    with cluster_that_loses_a_worker(20) as (client, strike, killed):
        swept = fk.sweep(grid, executor=client, directory=tmp_path, progress=strike)
    assert killed and columns(swept) == serial and len(parts(tmp_path)) == 60


def test_a_sweep_goes_on_where_it_ended(grid, serial, tmp_path):
    class Enough(Exception):
        pass

    def until(done, total):
        assert total == 60
        if done >= 25:
            raise Enough

    with pytest.raises(Enough):
        fk.sweep(grid, directory=tmp_path, workers=2, progress=until)
    before = len(parts(tmp_path))
    assert 25 <= before < 60 and not (tmp_path / "results.parquet").exists()
    heard = []
    swept = fk.sweep(grid, directory=tmp_path, progress=lambda done, total: heard.append(done))
    assert heard == list(range(before, 61)) and columns(swept) == serial


def test_damaged_parts_are_named(grid, tmp_path):
    small = fk.Grid(experiment=grid.experiment, axes=grid.axes[:1])
    fk.sweep(small, directory=tmp_path)
    part = tmp_path / "runs" / min(parts(tmp_path))
    part.write_text(part.read_text()[:-20])
    with pytest.raises(fk.BadInput, match=f"{part.name} is damaged"):
        fk.sweep(small, directory=tmp_path)


def test_bad_grids_are_named_before_anything_runs(grid):
    bad = replace(grid, axes=[fk.Axis(key="gc.policy", values=["fifo", "gredy"])])
    with pytest.raises(fk.BadInput, match="unknown policy `gredy`") as caught:
        fk.sweep(bad)
    assert caught.value.field == "gc.policy" and caught.value.line
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and (again.field, again.line) == ("gc.policy", caught.value.line)
    for path, said in [("absent.toml", "cannot be read"), ("/dev/zero", "wanted a regular file"), ("/", "found a directory")]:
        with pytest.raises(fk.BadInput, match=said) as unread:
            fk.sweep(path)
        assert unread.value.file == path


def test_lost_data_is_an_error_with_all_rows(grid):
    losing = replace(
        grid.experiment, schemes=["canary"], faults=fk.Faults(dead_die=1), settings={"trace.arrival": "closed=8"}
    )
    losing = replace(losing, trace=replace(losing.trace, read_fraction=0.5))
    lost = fk.Grid(experiment=losing, axes=[fk.Axis(key="seed", values=[1, 2])])
    with pytest.raises(fk.CheckFailed, match="wrong data was returned") as caught:
        fk.sweep(lost)
    assert len(caught.value.result) == 2
    assert len(fk.sweep(lost, check=False)) == 2
