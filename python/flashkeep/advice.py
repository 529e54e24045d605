"""Advice: which design meets given needs with the least flash, as ``flashkeep advise`` finds it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from flashkeep import _native
from flashkeep._executors import side_by_side
from flashkeep._framed import Framed
from flashkeep._progress import Progress, bar
from flashkeep.errors import CheckFailed
from flashkeep.lives import named
from flashkeep.settings import Experiment, PathText


class Advice(Framed):
    """An answer, with the designs that were looked at. Its own rows are those of :attr:`designs`."""

    def __init__(self, native: _native.Advice) -> None:
        self._native = native

    @property
    def frame(self) -> _native.Frame:
        """As :attr:`designs`."""
        return self.designs

    @property
    def designs(self) -> _native.Frame:
        """One row for each design that formulas let pass: its figures, how closely it was looked at, what it breaks."""
        return self._table("designs")

    @property
    def out(self) -> _native.Frame:
        """One row for each reason for which formulas put designs out: how many, and one of them."""
        return self._table("out")

    @property
    def ages(self) -> _native.Frame:
        """One row for each age of each design that lived in full."""
        return self._table("ages")

    @property
    def answer(self) -> dict[str, Any] | None:
        """The design to take, as ``flashkeep advise --json`` has it; None: no design meets every hard need."""
        found: dict[str, Any] | None = self.document["answer"]["take"]
        return found

    @property
    def experiment(self) -> str | None:
        """The experiment of the answer as TOML, which :func:`flashkeep.life` and ``flashkeep run`` take as a file."""
        return self._native.experiment()

    @property
    def document(self) -> dict[str, Any]:
        """JSON that ``flashkeep advise --json`` prints."""
        return dict(json.loads(self._native.json()))

    @property
    def passed(self) -> bool:
        """Whether every read of every timed run gave what was written."""
        return self._native.passed

    def report(self, directory: PathText) -> Path:
        """Writes the report of ``flashkeep advise``; gives the path of its page."""
        return Path(self._native.report(os.fspath(directory)))

    def _table(self, name: str) -> _native.Frame:
        frame = self._native.table(name)
        assert frame is not None, name
        return frame

    def __str__(self) -> str:
        return self._native.text()


def advise(
    experiment: Union[Experiment, PathText, None] = None,
    *,
    vary: Mapping[str, Union[str, Sequence[str]]] | None = None,
    into: PathText | None = None,
    executor: Any = "threads",
    workers: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
    check: bool = True,
    **options: Union[str, float],
) -> Advice:
    """Looks for the design that meets given needs over its whole life under the workload of an experiment, with the
    fewest raw flash bytes for each user byte.

    ``vary`` has axes with their values, such as ``{"scheme": ["raid5", "ds-raid"], "refresh": "30d"}``. Options are
    those of ``flashkeep advise``, with ``_`` for ``-``: ``years=5``, ``dwpd=1``, ``read_p99="500us"``, ``lives=60``.
    With ``into``, whole lives are kept in that directory, and those that are there are not simulated again.
    ``executor`` and ``workers`` are those of :func:`life`.
    ``progress`` is True for a bar (tqdm), or is called with lives that were simulated and the most that may be. Raises
    BadInput, and CheckFailed where data came back wrong, unless ``check`` is False.
    """
    if experiment is None:
        experiment = Experiment()
    axes = [(key, value if isinstance(value, str) else ",".join(value)) for key, value in (vary or {}).items()]
    given = [(name.replace("_", "-"), str(value)) for name, value in options.items()]
    kept = None if into is None else os.path.abspath(into)
    name, text = named(experiment)
    side_by_side(executor, workers, kept, _advise, name, text, axes, given, kept)
    with bar(progress, "lives") as tell:
        native = _native.advise(name, text, axes, given, kept, threads, tell)
    found = Advice(native)
    if check and not found.passed:
        raise CheckFailed("wrong data was returned in a timed run", found)
    return found


def _advise(
    name: str, text: str | None, axes: list[tuple[str, str]], given: list[tuple[str, str]], kept: str
) -> None:
    """Work of a worker: the same question, whose lives the workers share."""
    _native.advise(name, text, axes, given, kept, 1, None)
