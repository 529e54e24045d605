"""One experiment: run it, look at what it gave."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Union

from flashkeep import _native
from flashkeep._framed import Framed
from flashkeep._progress import Progress, bar
from flashkeep.errors import CheckFailed
from flashkeep.settings import Experiment, PathText


@dataclass(frozen=True)
class FlowResult:
    """Latencies and rates of one of several flows of requests (docs/flows.md); times in microseconds, ``None`` where
    there were no such requests."""

    name: str
    #: By what its requests came: ``"queue 4"``, ``"times"``.
    clock: str
    #: Requests answered.
    requests: int
    requests_per_s: float | None
    mb_per_s: float | None
    latency_us_mean: float | None
    read_latency_us_mean: float | None
    read_latency_us_p99: float | None
    write_latency_us_mean: float | None
    write_latency_us_p99: float | None
    #: Its mean latency over that of the flow alone; ``None`` without ``Experiment(alone=True)``.
    slowdown: float | None
    #: Why the slowdown is not the cost of the others; ``None``: it is.
    slowdown_doubt: str | None
    #: The flow alone on the same drive.
    alone: FlowResult | None
    #: All keys of the flow (docs/spec/results.md, "Flows").
    keys: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, keys: Mapping[str, Any], name: str, clock: str) -> FlowResult:
        """From the keys of results."""
        taken = [f.name for f in fields(cls) if f.name not in ("name", "clock", "slowdown", "slowdown_doubt", "alone", "keys")]
        alone = keys.get("alone")
        return cls(
            name=name,
            clock=clock,
            slowdown=keys.get("slowdown"),
            slowdown_doubt=keys.get("slowdown_doubt"),
            alone=None if alone is None else cls.of(alone, name, clock),
            keys=keys,
            **{key: keys[key] for key in taken},
        )


class Result(Framed):
    """Results of an experiment: one row for each scheme. polars, pandas, pyarrow and DuckDB take it
    as a frame: ``polars.DataFrame(result)``.

    Where the experiment was repeated (``Experiment(seeds=5)``), the rows are those of the first seed;
    :attr:`intervals`, :attr:`differences` and :attr:`repetitions` have what all seeds say, and
    :attr:`verdict` is made of that."""

    def __init__(self, native: _native.Run) -> None:
        self._native = native

    @cached_property
    def frame(self) -> _native.Frame:
        """The rows as columns."""
        return self._native.frame()

    @cached_property
    def series(self) -> _native.Frame:
        """Events over time: one row for each scheme and bin of time, with requests, latencies, what
        waited, flash commands by cause and how busy each die was (docs/spec/results.md, "Time series").
        ``pandas.DataFrame.from_arrow(result.series)``."""
        return self._native.series()

    @cached_property
    def document(self) -> dict[str, Any]:
        """JSON that ``flashkeep run --json`` prints (docs/spec/results.md)."""
        document: dict[str, Any] = json.loads(self._native.json())
        return document

    @property
    def seeds(self) -> list[int]:
        """The seeds it was run with."""
        repeated = self.document["seeds"]
        return [self.document["experiment"]["seed"]] if repeated is None else list(repeated["seeds"])

    @cached_property
    def repetitions(self) -> _native.Frame:
        """One row for each seed and scheme, with the columns of the result."""
        repeated = self._native.repetitions()
        return self.frame if repeated is None else repeated

    @cached_property
    def intervals(self) -> _native.Frame | None:
        """Over several seeds, a row for each ``scheme`` and ``column`` of numbers: ``mean``, ``half_width`` of
        its 95 % confidence interval, and its ends, ``low`` and ``high``."""
        return self._native.intervals()

    @cached_property
    def differences(self) -> _native.Frame | None:
        """Over several seeds, a row for each ``scheme``, each one ``against`` it, and each ``column`` of costs,
        paired by seed: the mean ``difference`` and the ``ratio`` of geometric means, with the ends of their
        95 % confidence intervals (``difference_low``, ``difference_high``, ``ratio_low``, ``ratio_high``)."""
        return self._native.differences()

    def interval(self, scheme: str, column: str) -> tuple[float, float]:
        """Mean of a column of a scheme over the seeds, and half-width of its 95 % confidence interval."""
        rows = self.intervals
        if rows is None:
            raise ValueError("the experiment was run with one seed; give it seeds=2 or more")
        for found in zip(rows["scheme"], rows["column"], rows["mean"], rows["half_width"]):
            if found[:2] == (scheme, column):
                return found[2], found[3]
        raise KeyError(f"no interval of {column} of {scheme}: no number under every seed, or no such name")

    @property
    def schemes(self) -> list[str]:
        """The schemes, in the order asked for."""
        return [scheme["scheme"] for scheme in self.document["schemes"]]

    def of(self, scheme: str) -> dict[str, Any]:
        """All keys of one scheme, lists and tables included."""
        for found in self.document["schemes"]:
            if found["scheme"] == scheme:
                return dict(found)
        raise KeyError(f"no scheme is called {scheme}; there are {', '.join(self.schemes)}")

    def flows(self, scheme: str) -> list[FlowResult]:
        """Figures of each flow under a scheme, where the workload has several; over several seeds, under the first."""
        return [FlowResult.of(flow, flow["flow"], flow["clock"]) for flow in self.of(scheme).get("flows", [])]

    def flow_fairness(self, scheme: str) -> float | None:
        """The least slowdown of its flows over the greatest; ``None`` without ``Experiment(alone=True)``."""
        return self.of(scheme).get("flow_fairness")

    @property
    def verdict(self) -> dict[str, Any]:
        """Losses that each scheme survives, its costs, and the scheme to take: ``answer`` and ``schemes`` with a
        sentence each (docs/spec/results.md)."""
        return dict(self.document["verdict"])

    @property
    def not_comparable(self) -> dict[str, str]:
        """Schemes whose runs cannot be compared with others, with the reason."""
        schemes = self.document["schemes"]
        return {s["scheme"]: s["not_comparable"] for s in schemes if s["not_comparable"] is not None}

    @property
    def warnings(self) -> list[str]:
        """Reasons to trust some of the numbers less, gravest first."""
        return list(self.document["warnings"])

    @property
    def experiment_toml(self) -> str:
        """The effective experiment: ``flashkeep run`` on it repeats the run exactly."""
        return str(self.document["experiment_toml"])

    @property
    def passed(self) -> bool:
        """Whether every page read was what had been written."""
        return self._native.passed

    def report(self, directory: PathText) -> Path:
        """Writes ``index.html``, ``results.json`` and ``experiment.toml``; returns the first."""
        return Path(self._native.report(os.fspath(directory)))

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        seeds = f", seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else ""
        return f"<Result of {', '.join(self.schemes)}{seeds}; print it for its tables>"

    def _repr_html_(self) -> str:
        """The answer, then what each scheme costs, for notebooks."""
        answer = "".join(f"<p>{_bold(sentence)}</p>" for sentence in self.verdict["answer"])
        wrong = "".join(f"<li>{_bold(warning)}</li>" for warning in self.warnings)
        head = "".join(f"<th>{html.escape(title)}</th>" for title, _ in _SHOWN)
        rows = ""
        for scheme, colour in zip(self.schemes, _native.colours(self.schemes)):
            reason = self.not_comparable.get(scheme)
            mark = "" if reason is None else f" <small>! {html.escape(reason)}</small>"
            dot = f'<span style="color: {colour}">&#9679;</span>'
            cells = "".join(f"<td>{self._cell(scheme, key)}</td>" for _, key in _SHOWN)
            rows += f'<tr><th style="text-align: left">{dot} {html.escape(scheme)}{mark}</th>{cells}</tr>'
        warnings = f"<p>To read before any figure is believed:</p><ul>{wrong}</ul>" if wrong else ""
        return f"{answer}{warnings}<table><tr><th></th>{head}</tr>{rows}</table>{self._flows_html()}"

    def _flows_html(self) -> str:
        """The flows of the workload, where there are several."""
        flows = [(scheme, flow) for scheme in self.schemes for flow in self.flows(scheme)]
        titles = [(title, key) for title, key in _OF_FLOWS if any(getattr(flow, key) is not None for _, flow in flows)]
        if not flows:
            return ""
        rows = ""
        for scheme, flow in flows:
            mark = " !" if flow.slowdown_doubt else ""
            values = [(key, getattr(flow, key)) for _, key in titles]
            cells = "".join(
                f"<td>{'-' if value is None else f'{value:.4g}'}{mark if key == 'slowdown' else ''}</td>"
                for key, value in values
            )
            heads = "".join(
                f'<th style="text-align: left">{html.escape(text)}</th>' for text in (scheme, flow.name, flow.clock)
            )
            rows += f"<tr>{heads}{cells}</tr>"
        head = "".join(f"<th>{html.escape(title)}</th>" for title in ("scheme", "flow", "clock", *(t for t, _ in titles)))
        fair = [(scheme, self.flow_fairness(scheme)) for scheme in self.schemes]
        told = ", ".join(f"<b>{html.escape(scheme)}</b> {value:.3g}" for scheme, value in fair if value is not None)
        fairness = f"<p>Fairness, the least slowdown over the greatest: {told}</p>" if told else ""
        of_first = "<p>Flows under the first seed:</p>" if len(self.seeds) > 1 else ""
        return f"{of_first}<table><tr>{head}</tr>{rows}</table>{fairness}"

    def _cell(self, scheme: str, key: str) -> str:
        """A value; over several seeds, the mean with the half-width of its interval."""
        value = self.of(scheme)[key]
        if self.intervals is not None:
            try:
                mean, half = self.interval(scheme, key)
            except KeyError:
                return "-"
            return f"{mean:.4g} &plusmn; {half:.2g}"
        return "-" if value is None else f"{value:.4g}"


#: Columns of a scheme in a notebook: those of the first screen of the command.
_SHOWN = (
    ("read mean, us", "read_latency_us_mean"),
    ("read p99, us", "read_latency_us_p99"),
    ("write mean, us", "write_latency_us_mean"),
    ("write p99, us", "write_latency_us_p99"),
    ("write amplification", "waf"),
    ("DWPD over 5 years", "dwpd"),
)


#: Columns of a flow in a notebook.
_OF_FLOWS = (
    ("requests", "requests"),
    ("requests/s", "requests_per_s"),
    ("MB/s", "mb_per_s"),
    ("read mean, us", "read_latency_us_mean"),
    ("read p99, us", "read_latency_us_p99"),
    ("write mean, us", "write_latency_us_mean"),
    ("write p99, us", "write_latency_us_p99"),
    ("slowdown", "slowdown"),
)


def _bold(sentence: str) -> str:
    """A sentence as HTML, with names between backquotes in bold."""
    parts = enumerate(html.escape(sentence).split("`"))
    return "".join(f"<b>{part}</b>" if index % 2 else part for index, part in parts)


def run(
    experiment: Union[Experiment, PathText, None] = None,
    *,
    threads: int | None = None,
    progress: Progress = None,
    check: bool = True,
    log: PathText | None = None,
) -> Result:
    """Runs an experiment, or an experiment file; the GIL is released in the meantime.

    ``threads`` schemes run at the same time (default: all cores). ``progress`` is True for a bar
    (tqdm), or is called with requests answered and requests in all. ``log`` names a Parquet file that
    gets every request with its waits in nanoseconds. Raises BadInput, and CheckFailed where data
    came back wrong, unless ``check`` is False.
    """
    if experiment is None:
        experiment = Experiment()
    kept = None if log is None else os.fspath(log)
    with bar(progress, "requests") as tell:
        if isinstance(experiment, Experiment):
            ecc = experiment.own_ecc
            page_ecc = None if ecc is None else (ecc.program, ecc.read, ecc.strongest)
            own = (experiment.own_gc, page_ecc)
            native = _native.run("experiment", experiment.to_toml(), threads, tell, kept, *own)
        else:
            native = _native.run(os.fspath(experiment), None, threads, tell, kept)
    result = Result(native)
    if check and not result.passed:
        raise CheckFailed("wrong data was returned: " + "; ".join(result.warnings), result)
    return result
