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
    # DS-RAID: latency and extra writes against RAID-5

    Kim et al., "DS-RAID: Efficient Parity Update Scheme for SSDs", 2011, Fig. 3. RAID-5 reads before it can write parity;
    DS-RAID writes pages where they come, with parity of the row they fall on, and reads nothing. For random writes of 12 KiB
    the paper finds half of the latency and 60 % fewer extra writes (parity, garbage collection); it says neither
    how full its drive is nor how much over-provisioning it has. Both depend on that, so here over-provisioning is varied.
    """)
    return


@app.cell
def _(fk):
    grid = fk.Grid(
        experiment=fk.Experiment(
            schemes=["raid5", "ds-raid"],
            trace=fk.Workload(
                generator="uniform", requests=3000, range="64MiB", request_size="12KiB", arrival="closed=8"
            ),
            drive=fk.Drive(preset="ds-raid"),
            buffer=fk.Buffer(kind="off"),  # as in the paper
        ),
        axes=[fk.Axis(key="capacity.over_provisioning", name="over-provisioning", values=[0.43, 0.67, 1.0, 1.5, 2.33])],
    )
    rows = fk.sweep(grid)
    return (rows,)


@app.cell
def _(rows):
    def of(scheme, value):
        return [x for name, x in zip(rows["scheme"], value) if name == scheme]

    latency = rows["write_latency_us_mean"]
    extra = [programs - host for programs, host in zip(rows["flash_programs"], rows["flash_programs_host"])]
    ratios = [
        {"over-provisioning": share, "figure": figure, "ds-raid / raid5": ours / theirs}
        for figure, values in (("latency", latency), ("extra writes", extra))
        for share, ours, theirs in zip(of("raid5", rows["over-provisioning"]), of("ds-raid", values), of("raid5", values))
    ]
    return (ratios,)


@app.cell
def _(plots, ratios):
    ax = plots.lines(ratios, x="over-provisioning", y="ds-raid / raid5", by="figure")
    ax.axhline(0.5, linestyle=":", color="grey")
    ax.annotate("latency in the paper", (0.3, 0.5), va="bottom")
    ax.axhline(0.4, linestyle=":", color="grey")
    ax.annotate("extra writes in the paper", (0.3, 0.4), va="bottom")
    ax.set_ylim(0, 1.1)
    ax
    return


if __name__ == "__main__":
    app.run()
