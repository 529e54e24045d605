"""Sweeps: the grid of ``flashkeep sweep``, run by whoever takes work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Union

from flashkeep import _native
from flashkeep._executors import Done, Piece, handed_in
from flashkeep._progress import Progress, bar, say
from flashkeep.errors import BadInput, CheckFailed
from flashkeep.settings import Grid, PathText


def sweep(
    grid: Union[Grid, PathText],
    *,
    seeds: int | None = None,
    executor: Any = "threads",
    workers: int | None = None,
    directory: PathText | None = None,
    series: bool = False,
    logs: bool = False,
    progress: Progress = None,
    check: bool = True,
) -> _native.Frame:
    """Runs a grid, or a grid file; one row for each run and scheme, in order of the grid. The rows
    are those of ``flashkeep sweep``, whoever ran what.

    ``seeds`` repeats each run with this many seeds. A row is then of all of them: means, of costs and latencies the
    ends of their 95 % confidence intervals (``waf_low``, ``waf_high``) and what they are against the first scheme, paired
    by seed (``waf_difference``, ``waf_ratio``, each with ``_low`` and ``_high``). ``rows.repetitions`` has a row for each seed.

    ``executor``: ``"threads"`` or ``"processes"`` of this machine, ``workers`` of them (default:
    all cores), or any ``concurrent.futures.Executor`` or ``dask.distributed.Client``. A process of
    ``"processes"`` that dies is replaced, one of a dask cluster by the cluster. With ``directory``
    every run is kept there, a later sweep takes up from there, and the rows are also in its
    ``results.parquet``; with ``series`` and ``logs`` it gets a time series and every request of each run, and ``runs.csv``
    says which files are of which run (docs/sweeps.md). Threads hand in each run as soon as it is done, others those runs together
    that begin with the same drives, which are prepared once for them. ``progress`` is True for a bar (tqdm), or is called with
    runs done and runs in all.

    Raises BadInput, and CheckFailed where data came back wrong, unless ``check`` is False.
    """
    if (series or logs) and directory is None:
        raise BadInput("series and logs of runs are files: give a directory", field="directory")
    beside = (os.fspath(directory), series, logs) if directory is not None and (series or logs) else None
    task = _task(grid, seeds, beside)
    if directory is not None and (task[5] or task[6]):
        raise BadInput(
            "a policy written in Python may have changed since a run was kept: give no directory", field="directory"
        )
    native = _native.Grid(*task)
    kept = None if directory is None else _native.Directory(os.fspath(directory), native)
    todo = list(range(len(native))) if kept is None else kept.missing()
    parts: dict[int, str] = {}
    done = len(native) - len(todo)
    with bar(progress, "runs") as tell:
        say(tell, done, len(native))
        shared, apart = partial(_shared, task), partial(_batches, task)
        for _ in handed_in(todo, kept, parts, shared, apart, executor, workers):
            done += 1
            say(tell, done, len(native))
    frame = native.frame([parts[index] for index in range(len(native))]) if kept is None else kept.merge()
    failed = sorted({run for run, wrong in zip(frame["run"], frame["mismatches"]) if wrong})
    if check and failed:
        raise CheckFailed(f"wrong data was returned in {len(failed)} runs: {failed[:10]}", frame)
    return frame


#: Directory of files beside the rows, and which: series, logs.
_Beside = Union[tuple[str, bool, bool], None]

#: What a worker needs besides the number of a run: name, text and directory of a grid, its seeds, what is kept beside the
#: rows, and policies of Python by their names.
_Task = tuple[str, str, str, Union[int, None], _Beside, tuple[Any, ...], tuple[Any, ...]]


def _task(grid: Union[Grid, PathText], seeds: int | None, beside: _Beside) -> _Task:
    if isinstance(grid, Grid):
        own = grid.own_policies
        ecc = tuple(
            (name, (policy.program, policy.read, policy.strongest)) for name, policy in own["ecc.policy"].items()
        )
        return "grid", grid.to_toml(), os.getcwd(), seeds, beside, tuple(own["gc.policy"].items()), ecc
    path = Path(os.fspath(grid))
    try:
        text = _native.grid_text(str(path))
    except BadInput as error:
        raise BadInput(str(error), file=str(path), reason=error.reason) from error
    return str(path), text, str(path.absolute().parent), seeds, beside, (), ()


@lru_cache(maxsize=4)
def _grid(task: _Task) -> _native.Grid:
    return _native.Grid(*task)


def _parts(task: _Task, runs: list[int]) -> Done:
    """Work of a worker that shares no memory with us: runs that begin with the same drives."""
    done: list[tuple[int, str]] = []
    try:
        for group in _grid(task).groups(runs):
            for run in group.runs:
                done.append((run, group.part(run)))
    except BadInput as problem:
        # Earlier results are not lost.
        return done, problem
    return done, None


def _part(group: _native.Group, run: int) -> Done:
    """Work of a thread: threads share the drives of a group."""
    return [(run, group.part(run))], None


def _shared(task: _Task, todo: list[int], _workers: int) -> Iterator[Piece]:
    """Work for threads of this process. Drives go away with the last run that begins with them."""
    return ((_part, group, run) for group in _native.Grid(*task).groups(todo) for run in group.runs)


def _batches(task: _Task, todo: list[int], workers: int) -> Iterator[Piece]:
    """Work for others. Runs that begin with the same drives go to one worker, which prepares these once, unless
    other workers would stand idle in the meantime: no batch is larger than a worker's share of all runs."""
    share = -(-len(todo) // workers)
    for group in _grid(task).groups(todo):
        runs = group.runs
        size = -(-len(runs) // -(-len(runs) // share))
        for first in range(0, len(runs), size):
            yield _parts, task, runs[first : first + size]
