"""Fixtures that tests share."""

import os
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

import flashkeep as fk

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def small() -> fk.Experiment:
    """An experiment that runs in a tenth of a second."""
    return fk.Experiment(
        schemes=["none", "raid5"],
        drive=fk.Drive(preset="mlc-2014"),
        trace=fk.Workload(
            generator="zipf", requests=2000, range="16MiB", read_fraction=0.5, arrivals={"poisson": "2ms"}
        ),
    )


@pytest.fixture(scope="session")
def grid(small: fk.Experiment) -> fk.Grid:
    """Sixty runs."""
    from dataclasses import replace

    small = replace(small, trace=fk.Workload(generator="uniform", requests=300, range="4MiB"))
    axes = [
        fk.Axis(key="generate.read_fraction", values=[0, 0.5]),
        fk.Axis(name="age", points={"fresh": {}, "worn": {"age.pe_cycles": 3000, "errors.model": "flares"}}),
        fk.Axis(key="seed", values=list(range(1, 16))),
    ]
    return fk.Grid(experiment=small, axes=axes)


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The command line program, built from the same sources."""
    cargo = os.environ.get("CARGO") or shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not there to build the program with")
    # All of the workspace: what `make test` built has other features than the program alone would have.
    subprocess.run([cargo, "build", "-q", "--workspace", "--bin", "flashkeep"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return [str(target / "debug" / "flashkeep")]


@pytest.fixture
def cluster_that_loses_a_worker():
    """A dask cluster of two workers: its client, a progress callback that kills one of them once so much is done, and
    whom it killed."""
    distributed = pytest.importorskip("distributed")

    @contextmanager
    def losing(after: int):
        killed = []
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1", protocol="tcp"
        ) as cluster:
            with distributed.Client(cluster) as client:
                pids = list(client.run(os.getpid).values())

                def strike(done, total):
                    if done >= after and not killed:
                        killed.append(pids[0])
                        os.kill(pids[0], signal.SIGKILL)

                yield client, strike, killed

    return losing
