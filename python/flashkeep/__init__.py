"""Flashkeep: compare schemes that keep data safe on flash.

An :class:`Experiment` says everything a run depends on, :func:`run` runs it, and the
:class:`Result` is columns that polars, pandas, pyarrow and DuckDB take without copying::

    import flashkeep as fk

    result = fk.run(fk.Experiment(
        schemes=["none", fk.Scheme(name="ds-raid", options={"sub_stripe": "defer"})],
        trace=fk.Workload(generator="zipf", requests=2000, range="16MiB", read_fraction=0.5),
    ))
    result["waf"]

:func:`sweep` runs a :class:`Grid` of them on threads, processes or a dask cluster, :func:`torture` random drives
under power cuts and faults, :func:`life` simulates a drive from its first write to its end, and :func:`advise` finds the design that
meets given needs. Sizes are texts such as ``"16KiB"``, times such as ``"25us"``. What is not given is left
to the engine.
"""

from flashkeep._documented import explain
from flashkeep._native import Candidates, Frame, PageRead, __version__, names
from flashkeep.advice import Advice, advise
from flashkeep.campaigns import Campaign, torture
from flashkeep.disks import Answer, Control, Disk, Happened
from flashkeep.errors import BadInput, CheckFailed, DiskFailed, FlashkeepError
from flashkeep.lives import Life, life
from flashkeep.policies import PageEcc
from flashkeep.results import FlowResult, Result, run
from flashkeep.settings import (
    Age,
    Axis,
    Buffer,
    Capacity,
    Gc,
    Drive,
    Ecc,
    Energy,
    Errors,
    Experiment,
    Faults,
    Flow,
    Flows,
    Geometry,
    Grid,
    Precondition,
    Refresh,
    Scheme,
    Trace,
    Wear,
    Workload,
)
from flashkeep.studies import Study, study
from flashkeep.sweeps import sweep

__all__ = [
    "Advice",
    "Age",
    "Answer",
    "Axis",
    "BadInput",
    "Buffer",
    "Candidates",
    "Campaign",
    "Capacity",
    "CheckFailed",
    "Gc",
    "Control",
    "Disk",
    "DiskFailed",
    "Drive",
    "Ecc",
    "Energy",
    "Errors",
    "Experiment",
    "Faults",
    "FlashkeepError",
    "Flow",
    "FlowResult",
    "Flows",
    "Frame",
    "Geometry",
    "Grid",
    "Happened",
    "Life",
    "PageEcc",
    "PageRead",
    "Precondition",
    "Refresh",
    "Result",
    "Scheme",
    "Study",
    "Trace",
    "Wear",
    "Workload",
    "__version__",
    "advise",
    "explain",
    "life",
    "names",
    "run",
    "study",
    "sweep",
    "torture",
]
