"""Sweeps: the grid of ``flashkeep sweep``, run by whoever takes work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Union

from flashkeep import _native
from flashkeep._progress import Progress, Tell, bar
from flashkeep.errors import BadInput, CheckFailed
from flashkeep.settings import Grid, PathText

#: Worker processes that may die one after the other without any run being finished.
_DEATHS = 3


def sweep(
    grid: Union[Grid, PathText],
    *,
    executor: Any = "threads",
    workers: int | None = None,
    directory: PathText | None = None,
    progress: Progress = None,
    check: bool = True,
) -> _native.Frame:
    """Runs a grid, or a grid file; one row for each run and scheme, in order of the grid. The rows
    are those of ``flashkeep sweep``, whoever ran what.

    ``executor``: ``"threads"`` or ``"processes"`` of this machine, ``workers`` of them (default:
    all cores), or any ``concurrent.futures.Executor`` or ``dask.distributed.Client``. A process of
    ``"processes"`` that dies is replaced, one of a dask cluster by the cluster. With ``directory``
    every run is kept there, a later sweep takes up from there, and the rows are also in its
    ``results.parquet``. Threads hand in each run as soon as it is done, others those runs together
    that begin with the same drives, which are prepared once for them. ``progress`` is True for a bar (tqdm), or is called with
    runs done and runs in all.

    Raises BadInput, and CheckFailed where data came back wrong, unless ``check`` is False.
    """
    task = _task(grid)
    native = _native.Grid(*task)
    kept = None if directory is None else _native.Directory(os.fspath(directory), native)
    todo = list(range(len(native))) if kept is None else kept.missing()
    parts: dict[int, str] = {}
    done = len(native) - len(todo)
    with bar(progress, "runs") as tell:
        _say(tell, done, len(native))
        for index, part in _finished(task, todo, executor, workers):
            if kept is None:
                parts[index] = part
            else:
                kept.keep(part)
            done += 1
            _say(tell, done, len(native))
    frame = native.frame([parts[index] for index in range(len(native))]) if kept is None else kept.merge()
    failed = sorted({run for run, wrong in zip(frame["run"], frame["mismatches"]) if wrong})
    if check and failed:
        raise CheckFailed(f"wrong data was returned in {len(failed)} runs: {failed[:10]}", frame)
    return frame


def _say(tell: Tell | None, done: int, total: int) -> None:
    if tell is not None:
        tell(done, total)


#: Name, text and directory of a grid: what a worker needs besides the number of a run.
_Task = tuple[str, str, str]


def _task(grid: Union[Grid, PathText]) -> _Task:
    if isinstance(grid, Grid):
        return "grid", grid.to_toml(), os.getcwd()
    path = Path(os.fspath(grid))
    try:
        text = _native.grid_text(str(path))
    except BadInput as error:
        raise BadInput(str(error), file=str(path), reason=error.reason) from error
    return str(path), text, str(path.absolute().parent)


@lru_cache(maxsize=4)
def _grid(task: _Task) -> _native.Grid:
    return _native.Grid(*task)


#: What a piece of work gave: numbers of runs with their parts, and what ended it early.
_Done = tuple[list[tuple[int, str]], Union[BadInput, None]]

#: A piece of work: a function, and what it is called with.
_Piece = tuple[Any, ...]


def _parts(task: _Task, runs: list[int]) -> _Done:
    """What a worker does that shares no memory with us: runs that begin with the same drives."""
    done: list[tuple[int, str]] = []
    try:
        for group in _grid(task).groups(runs):
            for run in group.runs:
                done.append((run, group.part(run)))
    except BadInput as problem:
        # What was done before is not lost.
        return done, problem
    return done, None


def _part(group: _native.Group, run: int) -> _Done:
    """What a thread does: threads share the drives of a group."""
    return [(run, group.part(run))], None


def _shared(grid: _native.Grid, todo: list[int]) -> Iterator[_Piece]:
    """Work for threads of this process. Drives go away with the last run that begins with them."""
    return ((_part, group, run) for group in grid.groups(todo) for run in group.runs)


def _batches(task: _Task, todo: list[int], workers: int) -> Iterator[_Piece]:
    """Work for others. Runs that begin with the same drives go to one worker, which prepares these once, unless
    other workers would stand idle meanwhile: no batch is larger than a worker's share of all runs."""
    share = -(-len(todo) // workers)
    for group in _grid(task).groups(todo):
        runs = group.runs
        size = -(-len(runs) // -(-len(runs) // share))
        for first in range(0, len(runs), size):
            yield _parts, task, runs[first : first + size]


def _finished(task: _Task, todo: list[int], executor: Any, workers: int | None) -> Iterator[tuple[int, str]]:
    """Numbers of runs with their parts, as they are done."""
    if not todo:
        return
    workers = workers or os.cpu_count() or 1
    if executor == "processes":
        yield from _in_processes(task, todo, workers)
    elif executor == "threads":
        with ThreadPoolExecutor(workers) as pool:
            yield from _submitted(pool, _shared(_native.Grid(*task), todo))
    else:
        given, workers = _given(executor)
        yield from _submitted(given, _batches(task, todo, workers))


def _in_processes(task: _Task, todo: Iterable[int], workers: int) -> Iterator[tuple[int, str]]:
    """A pool breaks as a whole when one of its processes dies: what is left goes to another."""
    left, deaths = dict.fromkeys(todo), 0
    while left:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            try:
                for index, part in _submitted(pool, _batches(task, list(left), workers)):
                    del left[index]
                    deaths = 0
                    yield index, part
            except BrokenExecutor:
                deaths += 1
                if deaths >= _DEATHS:
                    raise


def _submitted(executor: Executor, work: Iterable[_Piece]) -> Iterator[tuple[int, str]]:
    futures: list[Future[_Done]] = []
    broken: BrokenExecutor | None = None
    try:
        for piece in work:
            futures.append(executor.submit(*piece))
    except BrokenExecutor as error:
        broken = error
    try:
        for future in as_completed(futures):
            try:
                parts, problem = future.result()
            except BrokenExecutor as error:
                # What other workers had finished before is not lost.
                broken = error
                continue
            yield from parts
            if problem is not None:
                raise problem
        if broken is not None:
            raise broken
    finally:
        for future in futures:
            future.cancel()


def _given(executor: Any) -> tuple[Executor, int]:
    """An executor of somebody else, and how many workers it has, if it says so."""
    if hasattr(executor, "get_executor"):
        # A client of dask.distributed; it sends the work of a dead worker to another one.
        return executor.get_executor(pure=False, retries=_DEATHS), sum(executor.ncores().values()) or 1
    if hasattr(executor, "submit"):
        return executor, getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    wanted = '"threads", "processes", an Executor of concurrent.futures or a Client of dask.distributed'
    raise TypeError(f"executor: found {executor!r}, wanted {wanted}")
