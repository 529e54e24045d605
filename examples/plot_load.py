"""Plots the sweep of load.toml: python examples/plot_load.py [FILE.svg].

Runs that `flashkeep sweep examples/load.toml --out report/load` has done are not done again.
"""

import sys
from pathlib import Path

import flashkeep as fk
from flashkeep import plots

rows = fk.sweep(Path(__file__).with_name("load.toml"), directory="report/load")

# The mean of each point over the seeds, with its 95 % confidence interval.
ax = plots.lines(rows, x="load", y="latency_us_mean", by="scheme")
ax.set_xlabel("times the recorded load")
ax.set_ylabel("mean latency, us")

file = sys.argv[1] if len(sys.argv) > 1 else "report/load.svg"
ax.figure.savefig(file)
print(f"{len(rows)} rows, drawn in {file}")
