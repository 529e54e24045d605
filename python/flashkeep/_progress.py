"""Progress: a callable that hears of done and total, or a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

Tell = Callable[[int, int], object]
Progress = Union[bool, Tell, None]


@contextmanager
def bar(progress: Progress, unit: str) -> Iterator[Tell | None]:
    """Receiver of progress: none, the caller's callable, or a bar while the context lasts."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        with _tqdm(unit) as shown:

            def tell(done: int, total: int) -> None:
                shown.total = total
                shown.update(done - shown.n)

            yield tell


def say(tell: Tell | None, done: int, total: int) -> None:
    """Tells, if someone wants to hear."""
    if tell is not None:
        tell(done, total)


def _tqdm(unit: str) -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install flashkeep[progress], or pass a callable") from error
    return tqdm(unit=unit, unit_scale=True)
