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
    # FLARES: codes as strong as a page's age demands

    Di Carlo et al., "FLARES: An Aging Aware Algorithm to Autonomously Adapt the Error Correction Capability in NAND Flash
    Memories", ACM TACO 11(3), 2014. Fig. 3b: how many errors must be corrected. Fig. 5: what the algorithm chooses. Fig. 7: what
    that saves, for a workload that reads, over a fixed code for the end of life.
    """)
    return


@app.cell
def _(fk):
    required = fk.study("required-t", pe=[10, 100, 1000, 3000, 5000, 10000], retention=["1d", "1mo", "1y"])
    rows = required.tables["required_t"]
    return (rows,)


@app.cell
def _(plots, rows):
    ax = plots.lines(rows, x="pe_cycles", y="t", by="retention_h")
    ax.set_xscale("log")
    ax.set_ylabel("errors to correct in 4 KiB")
    ax
    return


@app.cell
def _(fk):
    adaptation = fk.study("adaptation", pe=[10, 100, 1000, 10000], wsize=[100], mix=[0.5])
    chosen = adaptation.tables["adaptation"]
    return (chosen,)


@app.cell
def _(chosen, plots):
    ax_chosen = plots.lines(chosen, x="pe_cycles", y="p_required")
    plots.lines(chosen, x="pe_cycles", y="p_mean", ax=ax_chosen)
    ax_chosen.set_xscale("log")
    ax_chosen.set_ylabel("capability: required, and chosen on average")
    ax_chosen
    return


@app.cell
def _(fk):
    grid = fk.Grid(
        experiment=fk.Experiment(
            schemes=["none+fixed", "none+flares"],
            trace=fk.Workload(
                generator="uniform", requests=2000, range="64MiB", read_fraction=0.95, arrival="closed=1"
            ),
            drive=fk.Drive(preset="mlc-fl", geometry=fk.Geometry(blocks_per_plane=256)),
            buffer=fk.Buffer(kind="off"),  # as in the paper
            capacity=fk.Capacity(over_provisioning=1.0),
            errors=fk.Errors(model="flares"),
            ecc=fk.Ecc(codec="flares-worst", options={"fixed": {"t": 50}}),
        ),
        axes=[fk.Axis(key="age.pe_cycles", name="pe_cycles", values=[10, 100, 1000, 3000, 10000])],
    )
    runs = fk.sweep(grid)
    return (runs,)


@app.cell
def _(runs):
    seconds = runs["simulated_s"]
    gains = [
        {"P/E cycles": cycles, "throughput over a fixed code": fixed / flares}
        for cycles, fixed, flares in zip(runs["pe_cycles"][::2], seconds[::2], seconds[1::2])
    ]
    return (gains,)


@app.cell
def _(gains, plots):
    ax_gains = plots.lines(gains, x="P/E cycles", y="throughput over a fixed code")
    ax_gains.set_xscale("log")
    ax_gains
    return


if __name__ == "__main__":
    app.run()
