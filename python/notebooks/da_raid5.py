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
    # DA-RAID-5: protection that follows wear

    Guo et al., "DA-RAID-5: A Disturb Aware Data Protection Technique for NAND Flash Storage Systems", DATE 2013, Fig. 5 to
    7: latency, reads and writes beside RAID-5. A young drive needs limits on disturb and no parity; once blocks are
    worn, only stripes with pages on them have parity; when most are, parity is written late. In both of these stages short
    writes are answered from a PLP cache. The paper's traces are not public in full and it prints no absolute numbers:
    this is a generated workload, mostly short writes, over the life of one small drive.
    """)
    return


@app.cell
def _(fk):
    grid = fk.Grid(
        experiment=fk.Experiment(
            schemes=["raid5", "ppc", "da-raid5"],
            trace=fk.Workload(
                generator="zipf",
                requests=3000,
                range="128MiB",
                read_fraction=0.4,
                request_size="8KiB",
                arrivals={"poisson": "20ms"},
                arrival="recorded",
            ),
            drive=fk.Drive(preset="mlc-da"),
            buffer=fk.Buffer(kind="off"),  # as in the paper
            capacity=fk.Capacity(over_provisioning=1.0),  # as experiments/da-raid5: little is collected
        ),
        axes=[
            fk.Axis(
                name="life",
                points={
                    "1: young": {"age.pe_cycles": 1000},
                    "2: first worn blocks": {
                        "age.pe_cycles": 12000,
                        "age.worn_blocks": 0.02,
                        "age.worn_pe_cycles": 16000,
                        "scheme.da-raid5.stage": "2",
                    },
                    "3: worn": {"age.pe_cycles": 16000},
                },
            )
        ],
    )
    rows = fk.sweep(grid)
    return (rows,)


@app.cell
def _(plots, rows):
    ax = plots.lines(rows, x="life", y="latency_us_mean", by="scheme")
    ax.set_ylim(bottom=0)
    ax
    return


@app.cell
def _(plots, rows):
    ax_programs = plots.lines(rows, x="life", y="flash_programs", by="scheme")
    ax_programs.set_ylim(bottom=0)
    ax_programs
    return


@app.cell
def _(plots, rows):
    ax_reads = plots.lines(rows, x="life", y="flash_reads", by="scheme")
    ax_reads.set_ylim(bottom=0)
    ax_reads
    return


if __name__ == "__main__":
    app.run()
