"""A study: three schemes under five loads, three shares of over-provisioning and five seeds. It draws write amplification and mean read
over the load, for each share, and prints the differences of the schemes as a table.

    python examples/study.py                     # small: 32 MiB, two loads, two shares, two seeds
    python examples/study.py --full --out docs   # docs/study.svg, and the table of docs/study.md on the screen

Runs that were done are kept in report/study, and not done again.
"""

import argparse
from pathlib import Path

from matplotlib import pyplot

import flashkeep as fk
from flashkeep import plots

LOAD, OVER = "load, requests/s", "capacity.over_provisioning"
#: What is compared, with its name in figure and table.
COLUMNS = {"waf": "write amplification", "read_latency_us_mean": "mean read, us"}


def grid(size: str, loads: list[int], shares: list[str], requests: int) -> fk.Grid:
    """The study as data; its `to_toml()` is the grid that `flashkeep sweep` takes."""
    return fk.Grid(
        experiment=fk.Experiment(
            schemes=["raid5", "ds-raid", "mds-groups"],
            drive=fk.Drive(preset="mlc-2014"),
            capacity=fk.Capacity(size=size),
            # Requests come when they are drawn: no clock is slowed down for a drive that cannot keep up.
            trace=fk.Workload(generator="zipf", requests=requests, range="100%", read_fraction=0.7, arrival="recorded"),
        ),
        axes=[
            fk.Axis(key=OVER, values=shares),
            fk.Axis(
                name=LOAD,
                points={load: {"generate.arrivals": {"poisson": f"{1_000_000_000 // load}ns"}} for load in loads},
            ),
        ],
    )


def draw(rows: fk.Frame, file: Path) -> None:
    """A panel for each spare and column; bars are 95 % confidence intervals over the seeds."""
    shares = list(dict.fromkeys(rows[OVER]))
    figure, axes = pyplot.subplots(
        len(COLUMNS), len(shares), sharex=True, sharey="row", squeeze=False, layout="constrained",
        figsize=(1.5 + 3 * len(shares), 5.5),
    )  # fmt: skip
    for panels, (column, name) in zip(axes, COLUMNS.items()):
        for ax, share in zip(panels, shares):
            plots.lines(rows.filter(**{OVER: share}), x=LOAD, y=column, by="scheme", ax=ax)
            ax.set(
                title=f"over-provisioning {share}" if column == "waf" else "", xlabel="", ylabel="" if ax is not panels[0] else name
            )
            if ax is not axes[0][0]:
                ax.get_legend().remove()
    figure.supxlabel(LOAD)
    # Without date and drawn identifiers: the same figures give the same file.
    pyplot.rcParams["svg.hashsalt"] = "study"
    figure.savefig(file, metadata={"Date": None})
    file.write_text("".join(f"{line.rstrip()}\n" for line in file.read_text().splitlines()))


def table(rows: fk.Frame) -> str:
    """A line for each point and scheme: means with half-widths, and ratios to `raid5`, as intervals. A write
    amplification that still changed under some seed has a `!`."""
    names = list(COLUMNS.values())
    heads = [
        "over-provisioning",
        LOAD,
        "scheme",
        *names,
        *(f"{name.split(',')[0]}, to `raid5`" for name in names),
        "not comparable",
    ]
    lines = [heads, ["---"] * len(heads)]
    for at, scheme in enumerate(rows["scheme"]):
        cells = [str(rows[OVER][at]), str(rows[LOAD][at]), f"`{scheme}`"]
        for column in COLUMNS:
            mean, low = rows[column][at], rows[f"{column}_low"][at]
            unsteady = column == "waf" and "wrote too little to judge" in (rows["warnings"][at] or "")
            cells.append(f"{mean:.4g} +- {mean - low:.2g}{' !' if unsteady else ''}")
        for column in COLUMNS:
            low, high = rows[f"{column}_ratio_low"][at], rows[f"{column}_ratio_high"][at]
            cells.append("" if low is None else f"{low:.3f} to {high:.3f}")
        lines.append([*cells, rows["not_comparable"][at] or ""])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--full", action="store_true")
    options.add_argument("--out", type=Path, default=Path("report/study"))
    given = options.parse_args()
    if given.full:
        study, seeds = grid("128MiB", [500, 1000, 2000, 3000, 4000], ["28% of raw", "40% of raw", "50% of raw"], 400_000), 5
    else:
        study, seeds = grid("32MiB", [500, 1000], ["50% of raw", "60% of raw"], 1000), 2
    rows = fk.sweep(study, seeds=seeds, directory="report/study", progress=given.full)
    draw(rows, given.out / "study.svg")
    print(table(rows), end="")


if __name__ == "__main__":
    main()
