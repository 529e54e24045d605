"""One experiment: the same as the program's, in columns that other libraries take."""

import ast
import json
import os
import signal
import subprocess
import threading
from dataclasses import FrozenInstanceError, fields, replace
from math import exp, log
from pathlib import Path
from statistics import mean, stdev

import pytest

import flashkeep as fk
from flashkeep import _native

#: Keys that depend on the machine.
MACHINE = {"prepare_wall_s", "wall_s", "flash_ops_per_s", "peak_rss_mib"}


def comparable(document):
    schemes = [{key: value for key, value in scheme.items() if key not in MACHINE} for scheme in document["schemes"]]
    return {**document, "schemes": schemes}


def test_a_run_gives_what_the_program_gives(small, program, tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(small.to_toml())
    done = subprocess.run(
        [*program, "run", file, "--json", "--report", tmp_path / "report"], capture_output=True, check=True
    )
    theirs = comparable(json.loads(done.stdout))
    assert comparable(fk.run(small).document) == theirs
    assert comparable(fk.run(file, threads=1).document) == theirs
    assert comparable(fk.run(tmp_path / "report" / "experiment.toml").document) == theirs


def test_columns_are_those_of_the_document(small):
    result = fk.run(small)
    assert len(result) == 2 and result["scheme"] == result.schemes == ["none", "raid5"]
    for scheme in result.document["schemes"]:
        row = result.schemes.index(scheme["scheme"])
        for key, value in scheme.items():
            if key in result.columns:
                assert result[key][row] == value and type(result[key][row]) is type(value), key
        for cause, count in scheme["flash_programs_by_cause"].items():
            assert result[f"flash_programs_{cause.replace('-', '_')}"][row] == count
    assert result["seed"] == [1, 1] and result["trace_hash"][0] == result.document["trace"]["digest"]
    with pytest.raises(KeyError, match="known are scheme, raw_capacity_mib"):
        result["wav"]


def test_frames_of_other_libraries_hold_the_same_values(small):
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    result = fk.run(small)
    for of in (
        lambda frame: pyarrow.table(frame).to_pydict(),
        lambda frame: polars.DataFrame(frame).to_dict(as_series=False),
    ):
        for source in (result, result.frame):
            assert of(source) == {name: result[name] for name in result.columns}
    polars_types = dict(polars.DataFrame(result).schema)
    assert polars_types["scheme"] == polars.String and polars_types["flash_reads"] == polars.Int64
    assert polars_types["waf"] == polars.Float64 and polars_types["saturated"] == polars.Boolean


def test_a_series_has_a_row_for_each_scheme_and_bin_and_adds_up(small):
    result = fk.run(small)
    series = result.series
    assert set(series["scheme"]) == {"none", "raid5"}
    for row, scheme in enumerate(result.schemes):
        mine = [i for i, name in enumerate(series["scheme"]) if name == scheme]
        for kind in ("read", "write"):
            answered = sum(series[f"{kind}_answers_per_s"][i] * series["bin_s"][i] for i in mine)
            assert round(answered) == result[f"requests_{kind}"][row]
        assert max(series["latency_max_us"][i] or 0 for i in mine) == result["latency_us_max"][row]
        assert [series["time_s"][i] for i in mine] == sorted(series["time_s"][i] for i in mine)


def test_columns_are_handed_over_without_copying(small):
    pyarrow = pytest.importorskip("pyarrow")
    frame = fk.run(small).frame
    places = [pyarrow.table(frame)["waf"].chunk(0).buffers()[1].address for _ in range(2)]
    assert places[0] == places[1]


def test_a_frame_outlives_what_it_came_from(small):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(fk.run(small))
    assert frame["scheme"].to_list() == ["none", "raid5"]


def test_frames_are_filtered_by_values_and_handed_to_libraries(small):
    result = fk.run(small)
    scheme = result.schemes[0]
    one = result.filter(scheme=scheme)
    assert (len(one), one["scheme"], one["waf"]) == (1, [scheme], [result["waf"][0]])
    assert result.filter(scheme=[scheme, "nothing"]).columns == result.columns
    assert len(result.filter(scheme={"nothing"})) == 0 and len(result.filter(scheme=scheme, seed=-1)) == 0
    with pytest.raises(KeyError, match="no column is called sceme"):
        result.filter(sceme=scheme)
    assert pytest.importorskip("polars").DataFrame(one).equals(one.to_polars())
    assert one.to_pandas()["scheme"].tolist() == [scheme]


def test_what_is_not_given_is_not_in_the_short_form():
    experiment = fk.Experiment(trace=fk.Workload(generator="zipf", theta=0.5), seed=3)
    assert repr(experiment) == "Experiment(trace=Workload(generator='zipf', theta=0.5), seed=3)"


def test_pandas_takes_it(small):
    pandas = pytest.importorskip("pandas")
    if not hasattr(pandas.DataFrame, "from_arrow"):
        pytest.skip("this pandas has no from_arrow")
    pytest.importorskip("pyarrow")
    result = fk.run(small)
    assert pandas.DataFrame.from_arrow(result)["waf"].tolist() == result["waf"]


def test_dataclasses_have_exactly_the_settings_of_the_engine():
    experiment = fk.Experiment(
        schemes=["none"],
        seeds=2,  # left out where it is 1
        warmup="none",  # left out where it is "auto"
        alone=True,  # left out where it is false
        # Left out where they are not given.
        trace=fk.Workload(
            generator="uniform", requests=10, range="4MiB", max_gap="1h", keep_writes=0.5, mobile={"zones": 3},
            streams=2,
        ),
        gc=fk.Gc(occupies_die=True, moves_during_erase=True, streams={"count": 2}),  # left out where they are not set
        faults=fk.Faults(dead_die=0, dead_die_every=8, wear_out=1e-9, silent=1e-9),  # left out where they are 0
        # Left out where they are as usual.
        drive=fk.Drive(controller={"read": "1us"}, slc={"blocks": 4}),
        # With a setting of its own the drive keeps the options of its policy.
        ecc=fk.Ecc(read_retry="table", retries=5, soft_bits=2, prediction_sigma=0.1),
        errors=fk.Errors(
            persistent=True, unaccelerated=0.5, read_celsius=40, program_celsius=30, cross_shift=0.1, stage_1_hours=1, stage_6_hours=9
        ),
        # A part of the workload, left out where all of it is taken.
        settings={"trace.device": 0, "trace.since": "0s", "trace.until": "1h", "trace.skip": 1, "trace.first": 8},
    )
    effective = fk.run(experiment).document["experiment"]
    sections = {
        "capacity": fk.Capacity, "gc": fk.Gc, "wear": fk.Wear, "buffer": fk.Buffer, "age": fk.Age,
        "precondition": fk.Precondition, "faults": fk.Faults, "errors": fk.Errors, "refresh": fk.Refresh,
        "ecc": fk.Ecc, "drive": fk.Drive, "trace": fk.Trace,
    }  # fmt: skip
    for section, dataclass in sections.items():
        # No CSV is read here, nor several recordings, there is one flow, and `none` has no use for a spare die.
        recordings = {"columns", "then", "beside", "ranges", "order", "flows"}
        optional = {"trace": recordings, "faults": {"replace_after"}}.get(section, set())
        assert {f.name for f in fields(dataclass)} - optional == set(effective[section]), section
    for section, dataclass in {"geometry": fk.Geometry, "energy": fk.Energy}.items():
        assert {f.name for f in fields(dataclass)} == set(effective["drive"][section]), section
    generate = {f.name for f in fields(fk.Workload)} - {"generator", "loops", "arrival", "addresses", "max_gap", "keep_writes"}
    assert generate == set(effective["generate"])
    known = {f.name for f in fields(fk.Experiment)} - {"settings"}
    assert known == (set(effective) | {"scheme"}) - {"generate", "scheme"}


def test_flows_have_clocks_and_figures_of_their_own():
    options = {"requests": 400, "range": "8MiB", "read_fraction": 1.0}
    paced = {"requests": 100, "range": "8MiB", "arrivals": {"every": "2ms"}}
    experiment = fk.Experiment(
        schemes=["none", "raid5"],
        drive=fk.Drive(preset="mlc-2014"),
        buffer=fk.Buffer(kind="off"),
        trace=fk.Flows(
            fk.Flow(name="reader", generator="uniform", depth=2, generate=options),
            fk.Flow(name="log", generator="sequential", generate=paced),
        ),
        alone=True,
    )
    result = fk.run(experiment)
    reader, writer = result.flows("raid5")
    assert (reader.name, reader.clock, reader.requests) == ("reader", "queue 2", 400)
    assert (writer.name, writer.clock, writer.requests) == ("log", "times", 100)
    assert reader.write_latency_us_mean is None and writer.read_latency_us_mean is None
    assert reader.slowdown == reader.latency_us_mean / reader.alone.latency_us_mean > 1
    slowdowns = [flow.slowdown for flow in (reader, writer)]
    assert result.flow_fairness("raid5") == min(slowdowns) / max(slowdowns)
    assert result["flow_reader_requests"] == [400, 400]
    assert reader.keys["read_waits_us"]["sensing"] > 0 and reader.slowdown_doubt is None
    shown = result._repr_html_()
    assert f"<td>{reader.slowdown:.4g}</td>" in shown and shown.count(">log</th>") == 2
    assert f"<b>raid5</b> {result.flow_fairness('raid5'):.3g}" in shown
    assert "flow_0_alone_latency_p50_us" in result.series.columns


def test_settings_of_every_kind_reach_the_engine(tmp_path):
    trace = tmp_path / 'a "trace"\\ of d\u00e4ta.spc'
    trace.write_text("0,0,4096,w,0.0\n0,8,4096,r,0.5\n")
    experiment = fk.Experiment(
        schemes=[
            fk.Scheme(name="ds-raid", options={"sub_stripe": "defer"}),
            fk.Scheme(name="raid5", ecc="fixed"),
            "none",
        ],
        trace=fk.Trace(source=trace, format="spc", loops=2),
        drive=fk.Drive(preset="mlc-2014", geometry=fk.Geometry(channels=2), timing={"transfer": {"per-page": "9us"}}),
        ecc=fk.Ecc(options={"fixed": {"t": 40}}),
        age=fk.Age(retention="30d"),
        seed=7,
        settings={"gc.policy": "fifo", "buffer.kind": "volatile", "wear.dynamic": False},
    )
    effective = fk.run(experiment).document["experiment"]
    assert effective["schemes"] == ["ds-raid", "raid5+fixed", "none"]
    assert effective["scheme"]["ds-raid"]["sub_stripe"] == "defer"
    assert effective["ecc"]["options"]["fixed"]["t"] == "40"
    assert effective["trace"]["source"] == str(trace) and effective["trace"]["loops"] == 2
    assert effective["drive"]["geometry"]["channels"] == 2
    assert effective["drive"]["timing"]["transfer"] == {"per-page": "9us"}
    assert (effective["seed"], effective["gc"]["policy"], effective["buffer"]["kind"]) == (7, "fifo", "volatile")
    assert effective["wear"]["dynamic"] is False


def test_a_scheme_is_compared_with_itself_under_other_options(small):
    narrow, wide = (fk.Scheme(name="raid5", options={"data_strips": strips}) for strips in (4, 6))
    both = replace(small, schemes=[fk.Scheme(name="raid5"), narrow, wide], seeds=2)
    assert both.to_settings()["schemes"] == ["raid5", "raid5:data_strips=4", "raid5:data_strips=6"]
    assert "scheme" not in both.to_settings()
    result = fk.run(both)
    assert result.schemes == ["raid5", narrow.full_label, wide.full_label]
    assert result.of("raid5:data_strips=4")["options"]["data_strips"] == "4"
    rows = result.differences.filter(scheme=narrow.full_label, against=wide.full_label, column="waf")
    waf = {scheme: result.repetitions.filter(scheme=scheme)["waf"] for scheme in (narrow.full_label, wide.full_label)}
    expected = mean(one - other for one, other in zip(*waf.values()))
    assert rows["difference"] == [pytest.approx(expected)] and expected != 0
    # Where one set of options is meant, it is that of all schemes of the name, as ever.
    usual = replace(small, schemes=["none", narrow, fk.Scheme(name="raid5", ecc="fixed")]).to_settings()
    assert usual["schemes"] == ["none", "raid5", "raid5+fixed"] and usual["scheme"] == {"raid5": {"data_strips": 4}}


def test_experiments_are_frozen_and_keyword_only(small):
    with pytest.raises(FrozenInstanceError):
        small.seed = 2
    with pytest.raises(TypeError):
        fk.Workload("zipf")
    with pytest.raises(TypeError):
        fk.Age(cycles=3)


def test_bad_input_names_its_place():
    with pytest.raises(fk.BadInput) as caught:
        fk.run(fk.Experiment(schemes=["raid55"]))
    bad = caught.value
    assert (bad.file, bad.line, bad.field, bad.meant) == ("experiment", 1, "schemes.0", "raid5")
    assert "ds-raid" in bad.known and "did you mean `raid5`" in str(bad) and isinstance(bad, ValueError)
    with pytest.raises(fk.BadInput, match="named twice"):
        fk.run(fk.Experiment(schemes=[fk.Scheme(name="raid5", options={"data_strips": 3}) for _ in (1, 2)]))
    with pytest.raises(fk.BadInput, match="wanted a list"):
        fk.Experiment(schemes="raid5").to_toml()
    with pytest.raises(fk.BadInput, match="finite"):
        fk.Experiment(settings={"capacity.over_provisioning": float("nan")}).to_toml()
    with pytest.raises(fk.BadInput, match="absent.toml cannot be read"):
        fk.run("absent.toml")


def test_a_bad_line_of_a_trace_is_file_line_and_field(tmp_path):
    trace = tmp_path / "t.spc"
    trace.write_text("0,0,4096,r,0.0\n0,8,4096,w,0.5\n0,16,x,w,0.6\n")
    with pytest.raises(fk.BadInput) as caught:
        fk.run(fk.Experiment(trace=fk.Trace(source=trace, format="spc")))
    bad = caught.value
    assert (bad.file, bad.line, bad.column) == (str(trace), 3, None)
    assert bad.field and f"field `{bad.field}`" in str(bad)


def test_the_verdict_is_that_of_the_program(small):
    result = fk.run(small)
    said = {one["scheme"]: one["sentence"] for one in result.verdict["schemes"]}
    assert list(said) == result.schemes and result.not_comparable == {}
    assert all(sentence in " ".join(str(result).split()) for sentence in said.values())
    assert all(sentence in " ".join(str(result).split()) for sentence in result.verdict["answer"])
    # Of the two, parity alone brings lost pages back.
    assert dict(zip(result["scheme"], result["survives_dies"])) == {"none": 0, "raid5": 1}


def test_what_cannot_be_compared_is_named_with_the_reason(small):
    result = fk.run(replace(small, faults=fk.Faults(dead_die=3)))
    assert result.not_comparable == {"none": "pages that could not be read", "raid5": "not rebuilt"}
    assert result["not_comparable"] == list(result.not_comparable.values())
    assert result.verdict["baseline"] is None


def test_lost_data_is_an_error_with_the_result(small):
    losing = replace(small, schemes=["canary"], faults=fk.Faults(dead_die=1), settings={"trace.arrival": "closed=8"})
    with pytest.raises(fk.CheckFailed, match="returned wrong data") as caught:
        fk.run(losing)
    assert caught.value.result["mismatches"][0] > 0
    assert not fk.run(losing, check=False).passed


def test_progress_is_heard_and_may_refuse(small):
    heard = []
    fk.run(small, progress=lambda done, total: heard.append((done, total)))
    assert heard == sorted(heard) and heard[-1] == (4000, 4000)

    def refuse(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        fk.run(small, progress=refuse)


def test_a_bar_shows_the_requests(small, capsys):
    pytest.importorskip("tqdm")
    fk.run(small, progress=True)
    assert "4.00k/4.00k" in capsys.readouterr().err


def test_other_threads_of_python_go_on_during_a_run(small):
    """The main thread would wait for the run if it held the lock of the interpreter."""
    longer = replace(small, trace=fk.Workload(generator="zipf", requests=30_000, range="64MiB", read_fraction=0.5))
    worker = threading.Thread(target=fk.run, args=[longer])
    worker.start()
    turns = 0
    while worker.is_alive():
        turns += 1
        worker.join(0.001)
    assert turns > 3


def test_a_report_is_written(small, tmp_path):
    index = fk.run(small).report(tmp_path / "report")
    assert index.read_text().startswith("<!") and (index.parent / "results.json").exists()
    assert "p99.9" in str(fk.run(small)) and "<table>" in fk.run(small)._repr_html_()


def test_the_log_has_every_request_with_its_waits(small, program, tmp_path):
    fk.run(small, log=tmp_path / "python.parquet")
    file = tmp_path / "small.toml"
    file.write_text(small.to_toml())
    theirs = tmp_path / "program.parquet"
    subprocess.run(
        [*program, "run", file, "--log", theirs, "--report", tmp_path / "report"], capture_output=True, check=True
    )
    assert (tmp_path / "python.parquet").read_bytes() == theirs.read_bytes()
    with pytest.raises(fk.BadInput, match="--log"):
        fk.run(small, log=tmp_path / "nowhere" / "requests.parquet")
    polars = pytest.importorskip("polars")
    rows = polars.read_parquet(theirs)
    times = {"arrival_ns", "start_ns", "answer_ns", "latency_ns"}
    waits = [name for name in rows.columns if name.endswith("_ns") and name not in times]
    assert len(waits) == 20 and len(rows) == 2 * fk.run(small)["requests"][0]
    assert rows.select(polars.sum_horizontal(waits)).to_series().to_list() == rows["latency_ns"].to_list()


def test_names_and_studies_are_those_of_the_registries():
    assert {"none", "raid5", "ds-raid", "da-raid5", "mds-groups", "code-zones"} <= set(fk.names("schemes"))
    study = fk.study("uper", t=[1, 4], rber=[1e-6, 1e-5], schemes=["7+1"], code="4KiB-data")
    assert study.document["settings"]["t"] == "1,4"
    assert all(len(rows) > 0 for rows in study.tables.values())
    with pytest.raises(fk.BadInput, match="did you mean `uper`"):
        fk.study("upper")


def test_stubs_name_exactly_what_the_extension_has():
    stub = ast.parse((Path(fk.__file__).parent / "_native.pyi").read_text(encoding="utf-8"))
    names = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert names == {name for name in dir(_native) if not name.startswith("_")}
    for node in (node for node in stub.body if isinstance(node, ast.ClassDef)):
        members = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)} - {"__init__"}
        public = {name for name in vars(getattr(_native, node.name)) if not name.startswith("_")}
        assert public <= members and all(hasattr(getattr(_native, node.name), name) for name in members), node.name
    assert (Path(fk.__file__).parent / "py.typed").exists()


def test_several_seeds_give_means_intervals_and_paired_differences(small, program, tmp_path):
    seeded = replace(small, seed=3, seeds=4)
    result = fk.run(seeded, threads=1)
    assert result.seeds == [3, 4, 5, 6] and len(result) == 2 and len(result.repetitions) == 8
    # Each is the run of its seed; the first is what there is without repetitions.
    alone = fk.run(replace(small, seed=3))
    assert [result[name] for name in result.columns] == [alone[name] for name in alone.columns]
    assert (alone.seeds, alone.intervals, alone.differences) == ([3], None, None)
    assert len(alone.repetitions) == 2
    fifth = fk.run(replace(small, seed=5))
    assert result.repetitions["event_digest"][4:6] == fifth["event_digest"]
    # By hand.
    quantile = 3.182446
    none, raid5 = result.repetitions["waf"][::2], result.repetitions["waf"][1::2]
    middle, half = result.interval("raid5", "waf")
    assert (middle, half) == pytest.approx((mean(raid5), quantile * stdev(raid5) / 2))
    rows = result.differences
    row = next(
        i for i, key in enumerate(zip(rows["scheme"], rows["against"], rows["column"])) if key == ("raid5", "none", "waf")
    )
    logs = [log(own / other) for own, other in zip(raid5, none)]
    ends = [exp(mean(logs) + sign * quantile * stdev(logs) / 2) for sign in (-1, 0, 1)]
    assert [rows[f"ratio{end}"][row] for end in ("_low", "", "_high")] == pytest.approx(ends)
    assert rows["difference"][row] == pytest.approx(mean(own - other for own, other in zip(raid5, none)))
    with pytest.raises(ValueError, match="one seed"):
        alone.interval("raid5", "waf")
    with pytest.raises(KeyError, match="no interval of waff"):
        result.interval("raid5", "waff")
    # The program says the same.
    file = tmp_path / "small.toml"
    file.write_text(replace(small, seed=3).to_toml())
    command = [*program, "run", file, "--seeds", "4", "--json", "--report", tmp_path / "report"]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert theirs["seeds"] == result.document["seeds"] and theirs["verdict"] == result.verdict


def test_progress_counts_the_runs_of_all_seeds(small):
    heard = []
    fk.run(replace(small, seeds=3), threads=2, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (3 * 2 * 2000, 3 * 2 * 2000) and heard == sorted(heard)


@pytest.fixture
def heeds_ctrl_c():
    """Python as it is in a terminal: jobs in the background of a script are started without this."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_ends_a_run_midway_and_leaves_no_log(small, tmp_path):
    long = replace(small, trace=replace(small.trace, requests=1_000_000))
    heard, log = [], tmp_path / "requests.parquet"

    def interrupt(done, total):
        heard.append((done, total))
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fk.run(long, progress=interrupt, log=log)
    assert heard and all(done < total for done, total in heard)
    assert list(tmp_path.iterdir()) == []
    assert fk.run(small).passed, "the next run is one as always"


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_ends_the_preparation_of_a_drive(small):
    # Write amplification seldom agrees so well, and the drive is large: it is overwritten for a minute and more.
    history = fk.Precondition(converge_within=1e-12, overwrite_at_most=1e6)
    long = replace(small, capacity=fk.Capacity(size="16GiB"), precondition=history)
    heard = []
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        fk.run(long, progress=lambda *requests: heard.append(requests))
    assert heard == []
