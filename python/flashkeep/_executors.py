"""Who runs pieces of work: threads, processes, an executor or a cluster of someone else.

A piece gives parts, texts by number. Nothing that was handed in is lost when a worker dies, and a piece whose worker died
goes to another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, Union

from flashkeep.errors import BadInput

#: Worker processes that may die one after the other without any piece being finished.
_DEATHS = 3

#: What a piece of work gave: numbers with their parts, and what ended it early.
Done = tuple[list[tuple[int, str]], Union[BadInput, None]]

#: A piece of work: a function that gives Done, and what it is called with.
Piece = tuple[Any, ...]

#: Cuts what is left to do into pieces, for this many workers.
Cut = Callable[[list[int], int], Iterable[Piece]]


def finished(todo: list[int], shared: Cut, apart: Cut, executor: Any, workers: int | None) -> Iterator[tuple[int, str]]:
    """Numbers with their parts, as they are done. ``shared`` cuts work for threads of this process, ``apart`` for
    workers that share no memory with us."""
    if not todo:
        return
    workers = workers or os.cpu_count() or 1
    if executor == "processes":
        yield from _in_processes(todo, apart, workers)
    elif executor == "threads":
        pool, waits = ThreadPoolExecutor(workers), True
        try:
            yield from _submitted(pool, shared(todo, workers))
        except (KeyboardInterrupt, GeneratorExit):
            # Work that threads have begun ends by itself, and no one is made to wait for it.
            waits = False
            raise
        finally:
            pool.shutdown(waits)
    else:
        given, workers = _given(executor)
        yield from _submitted(given, apart(todo, workers))


def handed_in(
    todo: list[int],
    kept: Any,
    parts: dict[int, str],
    shared: Cut,
    apart: Cut,
    executor: Any,
    workers: int | None,
) -> Iterator[int]:
    """As :func:`finished`, with each part in the directory ``kept``, or in ``parts`` where there is none; their numbers."""
    for number, part in finished(todo, shared, apart, executor, workers):
        if kept is None:
            parts[number] = part
        else:
            kept.keep(part)
        yield number


def side_by_side(executor: Any, workers: int | None, into: str | None, work: Callable[..., None], *given: Any) -> None:
    """Has all workers do the same work, whose parts they share in the directory ``into``: what one has kept there another does
    not do again. What workers that die leave undone is left to the caller; threads of this process need no one beside them.
    """
    if executor == "threads":
        return
    if into is None:
        raise BadInput("workers that share no memory share lives in a directory: give one", field="into")
    if executor == "processes":
        workers = workers or os.cpu_count() or 1
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            _all_at_once(pool, workers, work, given)
    else:
        pool, most = _given(executor)
        _all_at_once(pool, workers or most, work, given)


def _all_at_once(pool: Executor, workers: int, work: Callable[..., None], given: tuple[Any, ...]) -> None:
    futures: list[Future[None]] = []
    try:
        futures.extend(pool.submit(work, *given) for _ in range(workers))
        for future in as_completed(futures):
            future.result()
    except BrokenExecutor:
        pass
    finally:
        for future in futures:
            future.cancel()


def _in_processes(todo: Iterable[int], apart: Cut, workers: int) -> Iterator[tuple[int, str]]:
    """A pool breaks as a whole when one of its processes dies: what is left goes to another."""
    left, deaths = dict.fromkeys(todo), 0
    while left:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            try:
                for index, part in _submitted(pool, apart(list(left), workers)):
                    del left[index]
                    deaths = 0
                    yield index, part
            except BrokenExecutor:
                deaths += 1
                if deaths >= _DEATHS:
                    raise


def _submitted(executor: Executor, work: Iterable[Piece]) -> Iterator[tuple[int, str]]:
    futures: list[Future[Done]] = []
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
                # Results that other workers had finished before are not lost.
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
    """An executor of someone else, and how many workers it has, if it says so."""
    if hasattr(executor, "get_executor"):
        # A client of dask.distributed; it sends the work of a dead worker to another one.
        return executor.get_executor(pure=False, retries=_DEATHS), sum(executor.ncores().values()) or 1
    if hasattr(executor, "submit"):
        return executor, getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    wanted = '"threads", "processes", an Executor of concurrent.futures or a Client of dask.distributed'
    raise TypeError(f"executor: found {executor!r}, wanted {wanted}")
