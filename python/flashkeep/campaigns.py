"""Campaigns: the torture of ``flashkeep torture``, run by whoever takes work."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

from flashkeep import _native
from flashkeep._executors import Done, Piece, handed_in
from flashkeep._framed import Framed
from flashkeep._progress import Progress, bar, say
from flashkeep.errors import BadInput, CheckFailed
from flashkeep.settings import PathText


class Campaign(Framed):
    """Results of a campaign: one row for each scheme. polars, pandas, pyarrow and DuckDB take it as a frame:
    ``polars.DataFrame(campaign)``, and ``polars.DataFrame(campaign.violations)``."""

    def __init__(self, native: _native.Tortured) -> None:
        self._native = native

    @cached_property
    def frame(self) -> _native.Frame:
        """The rows as columns: ``scheme``, ``scenarios``, ``cuts`` (of power), ``looks`` (pages that mounts looked
        at), ``mounting_ns`` (time that took, ns), ``losses``, ``pages_checked``, ``violations``, ``seed``."""
        return self._native.frame()

    @cached_property
    def violations(self) -> _native.Frame:
        """A row for each violation by number, the first hundred of each kind of each scheme: ``scenario``, ``scheme``,
        ``rule``, ``what``, ``alike`` (scenarios of that scheme that ended alike)."""
        return self._native.violations()

    @property
    def passed(self) -> bool:
        """Whether no rule was broken."""
        return not any(self["violations"])

    def command(self, scenario: int) -> str:
        """The command that runs a scenario again, and makes it smaller where it breaks a rule."""
        return self._native.command(scenario)

    def __str__(self) -> str:
        return self._native.text()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def torture(
    scenarios: int,
    *,
    seed: int = 1,
    schemes: Sequence[str] | None = None,
    faults: Sequence[str] | None = None,
    draws: str = "together",
    beyond_promise: bool = False,
    without: str | None = None,
    piece: int = 20_000,
    executor: Any = "threads",
    workers: int | None = None,
    directory: PathText | None = None,
    progress: Progress = None,
    check: bool = True,
) -> Campaign:
    """Runs scenarios 0 to ``scenarios`` - 1 of a seed, in pieces of ``piece`` scenarios; violations are counted, none
    ends it. The rows are those of ``flashkeep torture --into``, whoever ran what.

    ``schemes``, ``faults`` (default: all of either), ``draws``, ``beyond_promise`` and ``without`` are the options of
    the program (docs/torture.md). ``executor`` and ``workers`` are those of :func:`sweep`; each piece is handed in when
    it is done. With ``directory`` it is kept there, a later campaign takes up from there, and the rows are also in its
    ``results.parquet`` and ``violations.parquet``. ``progress`` is True for a bar (tqdm), or is called with scenarios
    done and scenarios in all.

    Raises BadInput, and CheckFailed where a rule was broken, unless ``check`` is False.
    """
    counts = (_count("scenarios", scenarios), _count("seed", seed), _count("piece", piece))
    task = (*counts, _names("schemes", schemes), _names("faults", faults), draws, beyond_promise, without)
    campaign = _campaign(task)
    kept = None if directory is None else _native.CampaignDirectory(os.fspath(directory), campaign)
    todo = list(range(len(campaign))) if kept is None else kept.missing()
    parts: dict[int, str] = {}
    done = campaign.scenarios - sum(map(campaign.scenarios_of, todo))
    with bar(progress, "scenarios") as tell:
        say(tell, done, campaign.scenarios)
        shared, apart = partial(_shared, campaign), partial(_apart, task)
        for number in handed_in(todo, kept, parts, shared, apart, executor, workers):
            done += campaign.scenarios_of(number)
            say(tell, done, campaign.scenarios)
    native = campaign.merged([parts[number] for number in range(len(campaign))]) if kept is None else kept.merge()
    result = Campaign(native)
    if check and not result.passed:
        raise CheckFailed(_failed(result), result)
    return result


def _failed(campaign: Campaign) -> str:
    broken, violations = sum(campaign["violations"]), campaign.violations
    scenario, scheme, rule, what = (violations[name][0] for name in ("scenario", "scheme", "rule", "what"))
    first = f"scenario {scenario} of {scheme}: {rule}: {what}; repeat with: {campaign.command(scenario)}"
    return f"a rule was broken in {broken} of {sum(campaign['scenarios'])} scenarios, first in {first}"


def _names(field: str, names: Sequence[str] | None) -> tuple[str, ...]:
    # A text is a sequence of texts, too.
    if isinstance(names, str):
        raise BadInput(f"{field}: found the text {names!r}, wanted a list of names", field=field)
    return tuple(names or ())


def _count(field: str, number: int) -> int:
    if not 0 <= number < 1 << 64:
        raise BadInput(f"{field}: found {number}, valid are 0 and more, below 2**64", field=field)
    return number


#: What a worker needs besides the number of a piece.
_Task = tuple[Any, ...]


@lru_cache(maxsize=4)
def _campaign(task: _Task) -> _native.Campaign:
    scenarios, seed, piece, schemes, faults, *drawn = task
    return _native.Campaign(scenarios, seed, piece, list(schemes), list(faults), *drawn)


def _part(campaign: _native.Campaign, number: int) -> Done:
    """Work of a thread."""
    return [(number, campaign.part(number))], None


def _part_of(task: _Task, number: int) -> Done:
    """Work of a worker that shares no memory with us."""
    return _part(_campaign(task), number)


def _shared(campaign: _native.Campaign, todo: list[int], _workers: int) -> Iterator[Piece]:
    return ((_part, campaign, number) for number in todo)


def _apart(task: _Task, todo: list[int], _workers: int) -> Iterator[Piece]:
    return ((_part_of, task, number) for number in todo)
