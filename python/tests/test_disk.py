"""A drive in this process, against an array of bytes."""

import random

import pytest

import flashkeep as fk

PAGE = 4096


def drive(scheme="ds-raid", **settings):
    return fk.Disk(fk.Experiment(schemes=[scheme], capacity=fk.Capacity(size="8MiB"), settings=settings))


def test_it_reads_what_was_written_through_cuts_and_a_lost_die():
    disk = drive()
    model, draws = bytearray(disk.size), random.Random(1)
    for step in range(400):
        offset = draws.randrange(disk.size // 512) * 512
        size = min(draws.choice([512, 4096, 20480]), disk.size - offset)
        model[offset : offset + size] = data = draws.randbytes(size)
        disk.write(offset, data, fua=step % 7 == 0)
        if step == 200:
            disk.kill("die", 2)
        if step % 90 == 89:
            disk.cut_power()
    assert disk.read(0, disk.size) == model
    status = disk.status
    assert status["power_cuts"] == 4 and status["mismatches"] == 0 and status["write_amplification"] > 1
    assert [die["alive"] for die in status["dies"]].count(False) == 1


def test_the_same_calls_give_the_same_drive():
    def run():
        disk, draws = drive(), random.Random(2)
        for _ in range(100):
            disk.submit_write(draws.randrange(512) * PAGE, draws.randbytes(PAGE))
        answers = disk.run()
        disk.cut_power()
        return answers, disk.status

    assert run() == run()


def test_what_is_not_flushed_may_be_lost_and_what_is_stays():
    disk = drive(**{"buffer.kind": "volatile"})
    disk.write(0, b"a" * PAGE)
    disk.flush()
    disk.write(0, b"b" * PAGE)
    disk.submit_write(PAGE, b"c" * PAGE)
    cut = disk.cut_power()
    assert [answer.failed is not None for answer in cut] == [True]
    assert disk.read(0, PAGE) in (b"a" * PAGE, b"b" * PAGE)


def test_files_outlive_the_drive(tmp_path):
    experiment = fk.Experiment(schemes=["raid5"], capacity=fk.Capacity(size="8MiB"))
    disk = fk.Disk(experiment, path=tmp_path / "drive")
    disk.write(PAGE, b"x" * PAGE)
    del disk
    assert fk.Disk(experiment, path=tmp_path / "drive").read(PAGE, PAGE) == b"x" * PAGE


def test_snapshots_and_errors():
    disk = drive("none")
    disk.write(0, b"a" * 512)
    snapshot = disk.snapshot()
    disk.write(0, b"b" * 512)
    disk.restore(snapshot)
    assert disk.read(0, 512) == b"a" * 512
    with pytest.raises(ValueError, match="whole sectors"):
        disk.read(1, 512)
    with pytest.raises(fk.DiskFailed, match="no such sectors"):
        disk.read(disk.size, 512)
    with pytest.raises(fk.DiskFailed, match="valid are 0 to 7"):
        disk.kill("die", 8)
    with pytest.raises(fk.BadInput, match="a drive has one scheme"):
        fk.Disk(fk.Experiment(schemes=["none", "raid5"]))
