"""Sweeps: the grid of ``flashkeep sweep``, run by whoever takes work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
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
    every run is kept there as soon as it is done, a later sweep takes up from there, and the rows
    are also in its ``results.parquet``. ``progress`` is True for a bar (tqdm), or is called with
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
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"grid file {path} cannot be read: {error}", file=str(path)) from error
    return str(path), text, str(path.absolute().parent)


@lru_cache(maxsize=4)
def _grid(task: _Task) -> _native.Grid:
    return _native.Grid(*task)


def _part(task: _Task, index: int) -> str:
    """What a worker does."""
    return _grid(task).part(index)


def _finished(task: _Task, todo: list[int], executor: Any, workers: int | None) -> Iterator[tuple[int, str]]:
    """Numbers of runs with their parts, as they are done."""
    if executor == "processes":
        yield from _in_processes(task, todo, workers)
        return
    with _executor(executor, workers) as given:
        yield from _submitted(given, task, todo)


def _in_processes(task: _Task, todo: Iterable[int], workers: int | None) -> Iterator[tuple[int, str]]:
    """A pool breaks as a whole when one of its processes dies: what is left goes to another."""
    left, deaths = dict.fromkeys(todo), 0
    while left:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            try:
                for index, part in _submitted(pool, task, left):
                    del left[index]
                    deaths = 0
                    yield index, part
            except BrokenExecutor:
                deaths += 1
                if deaths >= _DEATHS:
                    raise


def _submitted(executor: Executor, task: _Task, todo: Iterable[int]) -> Iterator[tuple[int, str]]:
    futures: dict[Future[str], int] = {}
    broken: BrokenExecutor | None = None
    try:
        for index in list(todo):
            futures[executor.submit(_part, task, index)] = index
    except BrokenExecutor as error:
        broken = error
    try:
        for future in as_completed(futures):
            try:
                part = future.result()
            except BrokenExecutor as error:
                # What other workers had finished before is not lost.
                broken = error
            else:
                yield futures[future], part
        if broken is not None:
            raise broken
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def _executor(given: Any, workers: int | None) -> Iterator[Executor]:
    if given == "threads":
        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            yield pool
    elif hasattr(given, "get_executor"):
        # A client of dask.distributed; it sends the work of a dead worker to another one.
        yield given.get_executor(pure=False, retries=_DEATHS)
    elif hasattr(given, "submit"):
        yield given
    else:
        wanted = '"threads", "processes", an Executor of concurrent.futures or a Client of dask.distributed'
        raise TypeError(f"executor: found {given!r}, wanted {wanted}")
