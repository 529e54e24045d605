"""Figures with matplotlib (``pip install flashkeep[plot]``): one function for each kind. Each
draws on ``ax``, or on a figure of its own, and returns the axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from flashkeep import _native
from flashkeep._native import Frame
from flashkeep.results import Result

try:
    from matplotlib import pyplot
    from matplotlib.axes import Axes
except ImportError as error:
    raise ImportError("flashkeep.plots needs matplotlib: pip install flashkeep[plot]") from error

#: A frame of this package, polars, pandas or pyarrow, columns by their names, or rows such as those of a study.
Rows = Union[Frame, Result, Sequence[Mapping[str, Any]], Mapping[str, Sequence[Any]], Any]

#: The colours of causes in reports.
_CAUSE_COLOURS = {
    "host": "#8a94a3",
    "host-rmw": "#c9b458",
    "parity": "#cc6677",
    "gc": "#44aa99",
    "refresh": "#aa4499",
    "wear-level": "#88ccee",
    "rebuild": "#6f7fd1",
    "encode": "#882255",
    "meta": "#999933",
    "padding": "#d8d2c4",
    "fold": "#117733",
}
_CAUSES = tuple(_CAUSE_COLOURS)
_OPERATIONS = ("read", "program", "erase", "codec", "recharge")


def _axes(ax: Axes | None) -> Axes:
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _names(result: Result) -> list[str]:
    """The schemes, marked where their runs cannot be compared."""
    apart = result.not_comparable
    return [f"{name} !\n({apart[name]})" if name in apart else name for name in result.schemes]


def _table(rows: Rows) -> Rows:
    """The rows as a frame of this package, or one by one; what is missing in a frame of pandas is None."""
    if isinstance(rows, (Frame, Result)) or isinstance(rows, Sequence):
        return rows
    if isinstance(rows, Mapping):
        return [dict(zip(rows, values)) for values in zip(*rows.values())]
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):
        if hasattr(rows, method):
            found = getattr(rows, method)(*arguments)
            return [{name: None if value != value else value for name, value in row.items()} for row in found]
    known = "frames of flashkeep, polars, pandas and pyarrow, columns by their names, and lists of rows"
    raise TypeError(f"found {type(rows).__name__}, valid are {known}")


def _has(rows: Rows, name: str) -> bool:
    return name in (rows.columns if isinstance(rows, (Frame, Result)) else rows[0] if len(rows) else ())


def _column(rows: Rows, name: str) -> list[Any]:
    if isinstance(rows, (Frame, Result)):
        return rows[name]
    return [row[name] for row in rows]


def _means(result: Result, column: str) -> tuple[list[Any], list[float] | None]:
    """A value for each scheme; over several seeds, means with half-widths of their intervals."""
    rows = result.intervals
    if rows is None:
        return result[column], None
    found = zip(rows["scheme"], rows["column"], rows["mean"], rows["half_width"])
    of = {scheme: (mean, half) for scheme, name, mean, half in found if name == column}
    pairs = [of.get(scheme, (float("nan"), 0.0)) for scheme in result.schemes]
    return [mean for mean, _ in pairs], [half for _, half in pairs]


def latency(result: Result, *, kind: str = "all", ax: Axes | None = None) -> Axes:
    """Latencies of each scheme: mean and percentiles. ``kind``: all, read or write. Over several
    seeds, their means with 95 % confidence intervals."""
    prefix = {"all": "latency_us", "read": "read_latency_us", "write": "write_latency_us"}[kind]
    ax = _axes(ax)
    shown = [("mean", "mean"), ("p50", "median"), ("p99", "99 %"), ("p999", "99.9 %"), ("p9999", "99.99 %")]
    width = 0.8 / len(shown)
    for number, (key, label) in enumerate(shown):
        colour = _native.curve_colour(number)
        places = [x + (number - (len(shown) - 1) / 2) * width for x in range(len(result))]
        values, halves = _means(result, f"{prefix}_{key}")
        ax.bar(places, values, width, label=label, color=colour, yerr=halves, capsize=3)
    ax.set_xticks(range(len(result)), _names(result))
    ax.set_yscale("log")
    ax.set_ylabel("latency, us" if kind == "all" else f"latency of {kind}s, us")
    ax.legend()
    return ax


def cdf(result: Result, *, kind: str = "read", ax: Axes | None = None) -> Axes:
    """Share of reads, or of writes, answered within a time, for each scheme."""
    ax = _axes(ax)
    for scheme, name, colour in zip(result.schemes, _names(result), _native.colours(result.schemes)):
        points = result.of(scheme)[f"{kind}_cdf_us"]
        if points:
            ax.plot(*zip(*points), label=name, color=colour, drawstyle="steps-post")
    ax.set_xscale("log")
    ax.set_xlabel(f"latency of {kind}s, us")
    ax.set_ylabel("share answered within")
    ax.legend()
    return ax


def _stacked(
    ax: Axes, names: Sequence[str], parts: Sequence[tuple[str, Sequence[float]]], halves: list[float] | None, unit: str
) -> Axes:
    below = [0.0] * len(names)
    for number, (label, values) in enumerate(parts):
        if any(values):
            colour = _CAUSE_COLOURS.get(label) or _native.curve_colour(number)
            ax.bar(names, values, bottom=below, label=label, color=colour)
            below = [low + value for low, value in zip(below, values)]
    if halves is not None:
        ax.errorbar(range(len(names)), below, yerr=halves, fmt="none", ecolor="black", capsize=5)
    ax.set_ylabel(unit)
    ax.legend()
    return ax


def traffic(result: Result, *, what: str = "programs", ax: Axes | None = None) -> Axes:
    """Flash operations of each scheme by cause. ``what``: reads, programs or erases. Over several seeds, means, with
    the 95 % confidence interval of the whole."""
    unit = {"reads": "page reads", "programs": "page programs", "erases": "block erases"}[what]
    parts = [(cause, _means(result, f"flash_{what}_{cause.replace('-', '_')}")[0]) for cause in _CAUSES]
    return _stacked(_axes(ax), _names(result), parts, _means(result, f"flash_{what}")[1], unit)


def energy(result: Result, *, ax: Axes | None = None) -> Axes:
    """Energy of each scheme by operation; over several seeds, means, with the 95 % confidence interval of the whole."""
    parts = [(operation, _means(result, f"energy_j_{operation}")[0]) for operation in _OPERATIONS]
    return _stacked(_axes(ax), _names(result), parts, _means(result, "energy_j")[1], "energy, J")


def wear(result: Result, *, ax: Axes | None = None) -> Axes:
    """P/E cycles that the workload added to a block of each scheme: mean, least and greatest."""
    ax = _axes(ax)
    mean, least, most = (result[f"pe_added_{key}"] for key in ("mean", "min", "max"))
    spread = [[m - low for m, low in zip(mean, least)], [high - m for m, high in zip(mean, most)]]
    ax.bar(_names(result), mean, yerr=spread, capsize=6, color=_native.colours(result.schemes))
    ax.set_ylabel("P/E cycles added")
    return ax


def _over_seeds(points: Sequence[tuple[Any, Any, Any]]) -> list[tuple[Any, Any, float]] | None:
    """Places with the mean over the seeds and the half-width of its 95 % confidence interval; nothing where a place
    has one value, or several of one seed."""
    places: dict[Any, dict[Any, Any]] = {}
    for at, seed, value in points:
        if seed is None or seed in places.setdefault(at, {}):
            return None
        places[at][seed] = value
    means: list[tuple[Any, Any, float]] = []
    for at, values in places.items():
        interval = _native.interval(list(values.values()))
        if interval is None:
            return None
        means.append((at, *interval))
    return means


def _line_colours(labels: Iterable[Any], by: str | None) -> list[str]:
    """Those of reports: a scheme has its own."""
    names = list(labels)
    if by == "scheme":
        return _native.colours([str(name) for name in names])
    return [_native.curve_colour(number) for number in range(len(names))]


def lines(rows: Rows, *, x: str, y: str, by: str | None = None, ax: Axes | None = None) -> Axes:
    """One column over another, a line for each value of a third: sweeps and studies. Each point has its 95 % confidence
    interval where a sweep was repeated with seeds, or has an axis ``seed`` that is neither ``x`` nor ``by``: then it is
    the mean over the seeds. Points of runs that cannot be compared are crossed, with the reasons in the legend.

    Raises ValueError where a line would have several values in one place, since another column varies, too:
    :func:`facets` draws that."""
    rows = _table(rows)
    ax = _axes(ax)
    groups: dict[Any, list[tuple[Any, Any, Any]]] = {}
    halves: dict[Any, dict[Any, float]] = {}
    apart: dict[Any, set[Any]] = {}
    nothing = [None] * len(rows)
    labels = _column(rows, by) if by else nothing
    seeds = _column(rows, "seed") if _has(rows, "seed") and "seed" not in (x, by) else nothing
    lows = _column(rows, f"{y}_low") if _has(rows, f"{y}_low") else nothing
    reasons = _column(rows, "not_comparable") if _has(rows, "not_comparable") else nothing
    for label, at, seed, low, value, reason in zip(labels, _column(rows, x), seeds, lows, _column(rows, y), reasons):
        if value is not None:
            groups.setdefault(label, []).append((at, seed, value))
            if low is not None:
                halves.setdefault(label, {})[at] = value - low
            if reason is not None:
                apart.setdefault(label, set()).add(at)
    marked: list[tuple[Any, Any]] = []
    for (label, points), colour in zip(groups.items(), _line_colours(groups, by)):
        name = None if label is None else str(label)
        means = _over_seeds(points)
        bars: Sequence[float] | None
        if means is None:
            drawn = [(at, value) for at, _, value in points]
            ats, values = zip(*drawn)
            if len(set(ats)) < len(ats):
                raise ValueError(_several(rows, x, y, by, label, ats))
            half = halves.get(label)
            bars = None if half is None else [half.get(at, 0.0) for at in ats]
        else:
            ats, values, bars = zip(*means)
            drawn = list(zip(ats, values))
        if bars is None:
            ax.plot(ats, values, marker="o", label=name, color=colour)
        else:
            ax.errorbar(ats, values, yerr=bars, marker="o", capsize=4, label=name, color=colour)
        marked += [point for point in drawn if point[0] in apart.get(label, ())]
    if marked:
        why = ", ".join(sorted({reason for reason in reasons if reason is not None}))
        ats, values = zip(*marked)
        ax.plot(ats, values, "x", color="black", markersize=11, zorder=5, label=f"not comparable: {why}")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if by or marked:
        ax.legend(title=by)
    return ax


def facets(rows: Rows, *, facet: str, x: str, y: str, by: str | None = None) -> list[Axes]:
    """:func:`lines` for each value of a further column, side by side on one scale."""
    rows = _table(rows)
    parts = {value: _rows_of(rows, facet, value) for value in dict.fromkeys(_column(rows, facet))}
    _, axes = pyplot.subplots(
        1, len(parts), sharey=True, squeeze=False, layout="constrained", figsize=(1.6 + 3.2 * len(parts), 3.8)
    )
    drawn = [lines(part, x=x, y=y, by=by, ax=ax) for part, ax in zip(parts.values(), axes[0])]
    for place, (value, ax) in enumerate(zip(parts, drawn)):
        ax.set_title(f"{facet} {value}")
        if place > 0:
            ax.set_ylabel("")
            legend = ax.get_legend()
            if legend is not None:
                legend.remove()
    return drawn


def _rows_of(rows: Rows, column: str, value: Any) -> Rows:
    """The rows in which a column has a value."""
    if isinstance(rows, (Frame, Result)):
        return rows.filter(**{column: value})
    return [row for row in rows if row[column] == value]


def _several(rows: Rows, x: str, y: str, by: str | None, label: Any, ats: Sequence[Any]) -> str:
    """Why a line cannot be drawn: what varies besides in a place where it has several values."""
    place = next(at for at in ats if list(ats).count(at) > 1)
    here = _rows_of(rows if by is None else _rows_of(rows, by, label), x, place)
    names = list(rows.columns) if isinstance(rows, (Frame, Result)) else list(rows[0])
    # In a sweep the axes are before the scheme, and what follows are figures.
    settings = names[: names.index("scheme") + 1] if "scheme" in names else names
    varied = [n for n in settings if n not in ("run", x, y, by) and len(set(map(repr, _column(here, n)))) > 1]
    what = f"{y} has {list(ats).count(place)} values where {x} is {place}" + (f" and {by} is {label}" if by else "")
    if not varied:
        return f"{what}; filter the rows"
    return f"{what}, as {', '.join(varied)} varies, too: filter the rows, or draw plots.facets(.., facet={varied[0]!r})"
