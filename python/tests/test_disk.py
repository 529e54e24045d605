"""A drive in this process, against an array of bytes."""

import random

import pytest

import flashkeep as fk

PAGE = 4096


def drive(scheme="ds-raid", **settings):
    return fk.Disk(fk.Experiment(schemes=[scheme], capacity=fk.Capacity(size="8MiB"), settings=settings))


def test_it_reads_what_was_written_through_cuts_and_a_lost_die():
    # A buffer that holds a small part of what is written, so that flash has most of it.
    disk = drive(**{"buffer.size": "256KiB"})
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
    disk = fk.Disk(experiment, path=tmp_path / "drive")
    assert disk.read(PAGE, PAGE) == b"x" * PAGE
    snapshot = disk.snapshot("before")
    disk.write(PAGE, b"y" * PAGE)
    disk.restore(snapshot)
    assert disk.read(PAGE, PAGE) == b"x" * PAGE
    with pytest.raises(fk.DiskFailed, match="letters, digits"):
        disk.snapshot("../elsewhere")


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


def test_dies_that_are_replaced_may_die_one_after_the_other():
    disk, data = drive("raid5"), random.Random(3).randbytes(8 << 20)
    disk.write(0, data)
    disk.flush()
    for die in (1, 5, 1):
        with pytest.raises(fk.DiskFailed, match=f"die {die} is not dead"):
            disk.replace(die)
        disk.kill("die", die)
        disk.replace(die)
        disk.idle("60s")
        assert all(one["alive"] for one in disk.status["dies"])
    assert disk.read(0, disk.size) == data + bytes(disk.size - len(data))
    assert disk.status["media_errors"] == 0
    for scheme in ("ds-raid", "mds-groups"):
        rows = drive(scheme)
        rows.write(0, data)
        rows.kill("die", 1)
        rows.replace(1)
        assert all(one["alive"] for one in rows.status["dies"])
        assert rows.read(0, len(data)) == data
    bare = drive("none")
    bare.kill("die", 1)
    with pytest.raises(fk.DiskFailed, match="scheme none: .*spare die"):
        bare.replace(1)


def test_a_slow_die_and_a_stall_cost_time_and_a_channel_takes_its_dies():
    disk = drive("none", **{"drive.preset": "mlc-2014", "buffer.kind": "off"})
    for page in range(64):
        disk.write(page * PAGE, bytes([page]) * PAGE)
    disk.flush()

    def seconds():
        for page in range(64):
            disk.submit_read(page * PAGE, PAGE)
        return sum(answer.latency for answer in disk.run())

    usual = seconds()
    disk.slow(2, 100)
    assert seconds() > 2 * usual
    disk.slow(2, 1)
    disk.submit_read(0, PAGE)
    disk.pause("300ms")
    assert disk.run()[0].latency >= 0.3
    disk.temperature(55)
    assert disk.status["temperature"] == 55
    disk.kill("channel", 0)
    assert {die["channel"] for die in disk.status["dies"] if not die["alive"]} == {0}
    with pytest.raises(fk.DiskFailed, match="valid are -40 to 125"):
        disk.temperature(1000)


def test_a_schedule_happens_and_is_the_same_each_time(tmp_path):
    path = tmp_path / "faults.toml"
    path.write_text(
        'seed = 3\n[[control]]\nat_request = [10, 60]\ntimes = 2\ndo = "kill block ?"\n'
        '[[control]]\nat_request = 80\ndo = "cut-power"\n'
    )

    def run():
        disk = drive()
        disk.schedule(path)
        failed = 0
        for page in range(100):
            disk.submit_write(page * PAGE, b"x" * PAGE)
            failed += sum(answer.failed is not None for answer in disk.run())
        return failed, disk.happened(), disk.status

    one = run()
    assert one == run()
    failed, happened, status = one
    assert failed == 1 and status["power_cuts"] == 1
    assert [what.requests for what in happened][-1] == 80 and len(happened) == 3
    with pytest.raises(fk.BadInput, match="unknown command") as bad:
        drive().schedule('[[control]]\nat = "1s"\ndo = "explode"\n', name="mine.toml")
    assert (bad.value.file, bad.value.line, bad.value.field) == ("mine.toml", 3, "control.0.do")
    with pytest.raises(ValueError, match="that is only for drives that are served"):
        drive().schedule('[[control]]\nat = "1s"\ndo = "hang on"\n')
