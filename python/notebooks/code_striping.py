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
    # Code zones: reads that take whatever answers first

    Chang and Chang, "An Erasure-Code-Based Striping Scheme for NAND-Flash Storage Systems", section 4.2.1, Fig. 9: mean
    latency of reads with code zones (dynamic) over that of the same system without (static), as code zones are added. This is a
    sixty-fourth of the paper's drive under a generated workload; `flashkeep figures code-zones` has recorded traces.
    """)
    return


@app.cell
def _(fk):
    scheme = fk.Scheme(
        name="code-zones",
        options={
            "access": "blocks",
            "stripe_block": "8KiB",
            "zone_blocks": 16,
            "offline_after": "5ms",
            "offline_cost": "free",
        },
    )

    def zones(number, blocks_per_plane, spare):
        return {
            "scheme.code-zones.code_zones": number,
            "drive.geometry.blocks_per_plane": blocks_per_plane,
            "capacity.over_provisioning": f"{100 * spare}% of raw",
        }

    grid = fk.Grid(
        experiment=fk.Experiment(
            schemes=[scheme],
            scheduler="fifo",
            drive=fk.Drive(preset="code-zones", geometry=fk.Geometry(channels=8, dies_per_channel=1)),
            buffer=fk.Buffer(kind="off"),  # as in the paper
            capacity=fk.Capacity(size="drive"),
            precondition=fk.Precondition(converge_within=0),
            trace=fk.Workload(
                generator="zipf",
                requests=1500,
                range="256MiB",
                request_size="32KiB",
                read_fraction=0.5,
                theta=0.9,
                placement="clustered",
                arrivals={"poisson": "20ms"},
                arrival="scaled=0.3",
            ),
        ),
        axes=[
            fk.Axis(
                name="code zones",
                points={"0": zones(0, 320, 0.175), "2": zones(2, 352, 0.25), "4": zones(4, 384, 0.3125)},
            ),
            fk.Axis(name="system", key="scheme.code-zones.offline", values=["never", "idle"]),
        ],
    )
    rows = fk.sweep(grid)
    return (rows,)


@app.cell
def _(rows):
    latency = rows["read_latency_us_mean"]
    ratios = [
        {"code zones beside 20 data zones": int(zones), "dynamic / static": dynamic / static}
        for zones, static, dynamic in zip(rows["code zones"][::2], latency[::2], latency[1::2])
    ]
    return (ratios,)


@app.cell
def _(plots, ratios):
    ax = plots.lines(ratios, x="code zones beside 20 data zones", y="dynamic / static")
    ax.set_ylim(0, 1.1)
    ax
    return


if __name__ == "__main__":
    app.run()
