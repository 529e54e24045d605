"""Lives of drives: what ``flashkeep life`` simulates, as columns."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Union

from flashkeep import _native
from flashkeep._executors import side_by_side
from flashkeep._framed import Framed
from flashkeep._progress import Progress, bar
from flashkeep.errors import CheckFailed
from flashkeep.settings import Experiment, PathText


class Life(Framed):
    """Lives of a drive under each scheme. Its own rows are those of :attr:`ages`."""

    def __init__(self, native: _native.Life) -> None:
        self._native = native

    @property
    def frame(self) -> _native.Frame:
        """As :attr:`ages`."""
        return self.ages

    @property
    def ages(self) -> _native.Frame:
        """One row for each scheme and age (docs/life.md); of several seeds, those of the first."""
        return self._table("ages")

    @property
    def ends(self) -> _native.Frame:
        """One row for each scheme: when it ended, by what, and what the host had written."""
        return self._table("ends")

    @property
    def smart(self) -> _native.Frame:
        """One row for each scheme and age: what logs of the drive read then."""
        return self._table("smart")

    @property
    def seeds(self) -> _native.Frame | None:
        """One row for each scheme and seed; None of a single seed."""
        return self._native.table("seeds")

    @property
    def tornado(self) -> _native.Frame | None:
        """One row for each scheme and parameter that was varied; None without ``tornado=True``."""
        return self._native.table("tornado")

    @property
    def strata(self) -> _native.Frame | None:
        """One row for each scheme and number of die failures: how likely it is, and the loss given it; None where no die fails."""
        return self._native.table("strata")

    @property
    def deaths(self) -> _native.Frame | None:
        """One row for each scheme and die that died at an age of ``die_dies``: the drive before and after; None where none did."""
        return self._native.table("deaths")

    @property
    def passed(self) -> bool:
        """Whether every read of every timed run gave what was written."""
        return self._native.passed

    @property
    def document(self) -> dict[str, Any]:
        """JSON that ``flashkeep life --json`` prints."""
        return dict(json.loads(self._native.json()))

    def report(self, directory: PathText) -> Path:
        """Writes the report of ``flashkeep life``; gives the path of its page."""
        return Path(self._native.report(os.fspath(directory)))

    def _table(self, name: str) -> _native.Frame:
        frame = self._native.table(name)
        assert frame is not None, name
        return frame

    def __str__(self) -> str:
        return self._native.text()


def life(
    experiment: Union[Experiment, PathText, None] = None,
    *,
    into: PathText | None = None,
    executor: Any = "threads",
    workers: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
    check: bool = True,
    **options: Union[str, float, bool],
) -> Life:
    """Simulates the life of a drive from its first write to its end, under each scheme of an experiment, or of an
    experiment file.

    Options are those of ``flashkeep life``, with ``_`` for ``-``: ``dwpd=1``, ``years=5``, ``refresh="30d"``,
    ``scrub="30d"``, ``timed=0``, ``tornado=True``, ``die_dies=2`` or ``die_dies="2,4"``. Seeds are those of the experiment (``seed``, ``seeds``). With ``into``,
    whole lives are kept in that directory, and those that are there are not simulated again.

    ``executor``: ``"threads"`` of this process, ``"processes"`` of this machine, or any ``concurrent.futures.Executor`` or
    ``dask.distributed.Client``, ``workers`` of them (default: all cores). Other workers than threads share their lives in the
    directory ``into``, which must have the same path for all of them; each has one thread. ``progress`` is told from when they are
    done on. ``progress`` is True for a bar (tqdm), or is called with percents of all rated P/E cycles and 100. Raises BadInput, and CheckFailed
    where data came back wrong, unless ``check`` is False.
    """
    if experiment is None:
        experiment = Experiment()
    given = [(name.replace("_", "-"), str(value)) for name, value in options.items()]
    kept = None if into is None else os.path.abspath(into)
    name, text = named(experiment)
    side_by_side(executor, workers, kept, _live, name, text, given, kept)
    with bar(progress, "%") as tell:
        native = _native.life(name, text, given, kept, threads, tell)
    found = Life(native)
    if check and not found.passed:
        raise CheckFailed("wrong data was returned in a timed run", found)
    return found


def named(experiment: Union[Experiment, PathText]) -> tuple[str, str | None]:
    """Name and text of an experiment; of a file its path, and no text."""
    if isinstance(experiment, Experiment):
        return "experiment", experiment.to_toml()
    return os.path.abspath(experiment), None


def _live(name: str, text: str | None, given: list[tuple[str, str]], kept: str) -> None:
    """Work of a worker: all lives that no other has kept."""
    _native.life(name, text, given, kept, 1, None)
