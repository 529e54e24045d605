import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import flashkeep as fk
    from flashkeep import plots

    return fk, mo, plots


@app.cell
def _(mo):
    mo.md(r"""
    # MDS block groups: what redundancy buys, and what it costs

    Greenan et al., "Building Flexible, Fault-Tolerant Flash-based Storage Systems", HotDep 2009. Fig. 4: the rate of
    uncorrectable pages over that of raw bit errors, with page ECC alone and with erasure codes across cards and blocks. Fig. 5:
    the time of writes of 1 to 6 pages.
    """)
    return


@app.cell
def _(fk):
    uper = fk.study("uper", rber=[1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4])
    rows = uper.tables["uper"]
    return (rows,)


@app.cell
def _(plots, rows):
    ax = plots.lines(rows, x="rber", y="uper", by="protection")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax
    return


@app.cell
def _(fk):
    codes = {
        "none": {"schemes": ["none"]},
        "(7,1)": {"scheme.mds-groups.k": 7},
        "(6,2)": {"scheme.mds-groups.k": 6, "scheme.mds-groups.m": 2},
        "(7,1) + (63,1)": {"scheme.mds-groups.k": 7, "scheme.mds-groups.block_parity": "yes"},
    }
    pages = {str(n): {"generate.request_size": f"{4 * n}KiB", "generate.requests": 1260 // n} for n in range(1, 7)}
    grid = fk.Grid(
        experiment=fk.Experiment(
            schemes=["mds-groups"],
            scheduler="fifo",
            payload="none",
            trace=fk.Workload(generator="sequential", range="64MiB", arrival="closed=2"),
            drive=fk.Drive(preset="greenan"),
            buffer=fk.Buffer(kind="off"),  # as in the paper
            capacity=fk.Capacity(over_provisioning=1.0),
            precondition=fk.Precondition(fill=0.0, converge_within=0),
        ),
        axes=[fk.Axis(name="code", points=codes), fk.Axis(name="pages", points=pages)],
    )
    runs = fk.sweep(grid)
    return (runs,)


@app.cell
def _(plots, runs):
    writes = [
        {"code": code, "pages of a write": int(pages), "time of a write, us": seconds * 1e6 / requests}
        for code, pages, seconds, requests in zip(runs["code"], runs["pages"], runs["simulated_s"], runs["requests"])
    ]
    ax_writes = plots.lines(writes, x="pages of a write", y="time of a write, us", by="code")
    ax_writes.set_ylim(bottom=0)
    ax_writes
    return (writes,)


if __name__ == "__main__":
    app.run()
