"""Policies written in Python: told the same, they decide the same as those of the engine."""

from dataclasses import replace

import pytest

import flashkeep as fk


def fifo(candidates):
    return max(range(len(candidates)), key=candidates.age.__getitem__, default=None)


def greedy(candidates):
    valid, age = candidates.valid, candidates.age
    best = min(range(len(candidates)), key=lambda place: (valid[place], -age[place]), default=None)
    return best if best is not None and candidates.gains[best] else None


@pytest.fixture(scope="module")
def writes(small):
    """Enough writes that much is collected."""
    trace = fk.Workload(generator="zipf", requests=8000, range="8MiB", read_fraction=0.1)
    return replace(small, schemes=["none", "raid5", "ds-raid"], trace=trace)


@pytest.mark.parametrize("policy", [fifo, greedy])
def test_a_gc_policy_of_python_decides_as_the_same_one_of_the_engine(writes, policy):
    mine = fk.run(replace(writes, gc=fk.Gc(policy=policy)))
    theirs = fk.run(replace(writes, gc=fk.Gc(policy=policy.__name__)))
    assert mine["event_digest"] == theirs["event_digest"] and min(mine["flash_erases"]) > 0
    assert mine.document["experiment"]["gc"]["policy"] == f"python:{policy.__name__}"
    laid_upon = replace(writes, gc=fk.Gc(policy=policy), settings={"gc.policy": "random"})
    assert laid_upon.own_gc is None


def test_an_ecc_policy_of_python_decides_as_the_same_one_of_the_engine(writes):
    aged = replace(writes, age=fk.Age(pe_cycles=2000, retention="30d"), errors=fk.Errors(model="flares"))
    heard = []
    ecc = fk.PageEcc(program=lambda page, pe: 40, strongest=40, read=heard.append)
    mine = fk.run(replace(aged, ecc=fk.Ecc(policy=ecc)))
    theirs = fk.run(replace(aged, ecc=fk.Ecc(policy="fixed", options={"fixed": {"t": 40}})))
    assert mine["event_digest"] == theirs["event_digest"]
    assert len(heard) > 1000 and {read.t for read in heard} == {40} and sum(read.errors for read in heard) > 1000
    weaker = fk.PageEcc(program=lambda page, pe: 20 + page % 2, strongest=40)
    assert fk.run(replace(aged, ecc=fk.Ecc(policy=weaker)), check=False)["event_digest"] != mine["event_digest"]


@pytest.mark.parametrize(
    "policy, raised, says",
    [
        (lambda candidates: 1 / 0, ZeroDivisionError, "division"),
        (lambda candidates: len(candidates), ValueError, "gc.policy: policy `<lambda>`: gave .*, and there are"),
        (lambda candidates: "first", TypeError, "gc.policy: policy `<lambda>`: gave 'first', wanted the place"),
    ],
)
def test_what_a_policy_raises_ends_the_run(writes, policy, raised, says):
    with pytest.raises(raised, match=says) as caught:
        fk.run(replace(writes, gc=fk.Gc(policy=policy)))
    if raised is ZeroDivisionError and hasattr(caught.value, "add_note"):
        assert caught.value.__notes__ == ["gc.policy: policy `<lambda>` raised this"]


def idle(candidates):
    return None


def test_a_policy_that_collects_nothing_is_named_where_room_runs_out(writes):
    with pytest.raises(fk.BadInput, match="finds no room.*policy `idle` chose none of its candidates"):
        fk.run(replace(writes, schemes=["raid5"], gc=fk.Gc(policy=idle)))


def test_an_ecc_policy_beyond_its_strongest_code_is_refused(writes):
    with pytest.raises(ValueError, match="gave t = 41, valid are 0 to 40"):
        fk.run(replace(writes, ecc=fk.Ecc(policy=fk.PageEcc(program=lambda page, pe: 41, strongest=40))))


def eight(page, pe):
    return 8


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_sweep_compares_policies_of_python_with_those_of_the_engine(writes, executor):
    short = replace(writes, schemes=["raid5"], trace=replace(writes.trace, requests=4000))
    eights = fk.PageEcc(program=eight, strongest=8)
    axes = [
        fk.Axis(key="gc.policy", values=["fifo", fifo, greedy]),
        fk.Axis(
            name="code",
            points={"theirs": {"ecc.policy": "fixed", "ecc.options.fixed.t": 8}, "mine": {"ecc.policy": eights}},
        ),
    ]
    rows = fk.sweep(fk.Grid(experiment=short, axes=axes), executor=executor, workers=2)
    assert rows["gc.policy"] == ["fifo", "fifo", "python:fifo", "python:fifo", "python:greedy", "python:greedy"]
    assert rows["ecc_policy"] == ["fixed", "python:eight"] * 3
    digests = rows["event_digest"]
    assert len(set(digests[:4])) == 1 and len(set(digests[4:])) == 1 and digests[0] != digests[4]


def raising(candidates):
    raise RuntimeError("no idea")


def test_what_a_policy_of_python_raises_ends_the_sweep_and_two_of_one_name_are_refused(writes, tmp_path):
    grid = fk.Grid(
        experiment=replace(writes, schemes=["none"]), axes=[fk.Axis(key="gc.policy", values=["greedy", raising])]
    )
    with pytest.raises(RuntimeError, match="no idea"):
        fk.sweep(grid)
    with pytest.raises(fk.BadInput, match="give no directory"):
        fk.sweep(grid, directory=tmp_path)
    two = [fk.Axis(key="gc.policy", values=[lambda candidates: 0, lambda candidates: 1])]
    with pytest.raises(fk.BadInput, match="two policies are called python:<lambda>"):
        fk.sweep(replace(grid, axes=two))


def test_a_disk_has_no_policy_of_python(writes):
    mine = replace(writes, gc=fk.Gc(policy=fifo))
    with pytest.raises(fk.BadInput, match="python:fifo") as refused:
        fk.Disk(replace(mine, schemes=["none"]))
    assert refused.value.field == "gc.policy"
