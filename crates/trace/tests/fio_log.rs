//! Jobs of fio that replay a log, and formulas in their values.

use flashkeep_trace::flows::fio_job::Around;
use flashkeep_trace::flows::{Flows, fio_job};
use flashkeep_trace::{Record, TraceSource};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use vocab::HostOp;

const LOG: &str = "fio version 3 iolog
0 a add
0 b add
0 a open
0 b open
0 a write 0 4096
200 b write 8192 8192
300 a read 0 4096
600 a sync 0 0
700 a read 12288 512
900 a close
900 b close
";

const LOG_WITHOUT_TIMES: &str = "fio version 2 iolog\na add\na open\na write 0 4096\na read 4096 8192\na close\n";

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio_log").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    std::fs::write(folder.join("log3"), LOG).expect("written");
    std::fs::write(folder.join("log2"), LOG_WITHOUT_TIMES).expect("written");
    folder
}

fn parsed(folder: &Path, text: &str) -> Result<Flows, String> {
    let log = |path: &str| TraceSource::path(folder.join(path));
    fio_job::parse("job.fio", text, &Around { log: &log, ..Around::drive(4 << 20) }).map_err(|error| error.to_string())
}

fn drawn(flows: &Flows) -> Vec<Record> {
    flows.records(1).map(|record| record.expect("the log can be read")).collect()
}

/// Requests and bytes of reads and writes.
fn counts(records: &[Record]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut counts = BTreeMap::from([("read", (0, 0)), ("write", (0, 0))]);
    for record in records {
        let kind = match record.op {
            HostOp::Read => "read",
            HostOp::Write(_) => "write",
            _ => continue,
        };
        let count = counts.get_mut(kind).expect("both are there");
        *count = (count.0 + 1, count.1 + record.size().0);
    }
    counts
}

/// Requests and bytes that fio reports; `None` where there is no fio.
fn reported(folder: &Path, text: &str) -> Option<BTreeMap<&'static str, (u64, u64)>> {
    std::fs::write(folder.join("job.fio"), text).expect("written");
    let output = Command::new("fio").current_dir(folder).args(["--output-format=json", "job.fio"]).output();
    let Ok(output) = output else {
        eprintln!("fio is not installed: not compared");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    let number = |kind: &str, name: &str| -> u64 {
        let (_, rest) = said.split_once(&format!("\"{kind}\" : {{")).expect("every kind is reported");
        let (_, rest) = rest.split_once(&format!("\"{name}\" : ")).expect("every number is reported");
        rest.split(',').next().expect("a number").trim().parse().expect("a number")
    };
    Some(["read", "write"].map(|kind| (kind, (number(kind, "total_ios"), number(kind, "io_bytes")))).into())
}

#[test]
fn a_log_is_replayed_by_its_job_as_fio_replays_it() {
    let here = folder("replayed");
    for text in [
        "[j]\nioengine=null\nread_iolog=log3\n",
        "[j]\nioengine=null\nread_iolog=log2\nrw=randwrite\nbs=1m\nsize=1g\n",
        "[j]\nioengine=null\nread_iolog=log3:log2\nnumjobs=2\ngroup_reporting\n",
    ] {
        let flows = parsed(&here, text).unwrap_or_else(|error| panic!("{error}"));
        let Some(theirs) = reported(&here, text) else { return };
        assert_eq!(counts(&drawn(&flows)), theirs, "{text}");
    }
}

#[test]
fn a_log_keeps_its_files_its_times_and_its_order() {
    let here = folder("kept");
    let source = TraceSource::path(here.join("log3")).with_format("fio-iolog").expect("a format");
    let log: Vec<Record> = source.open().expect("opens").map(|record| record.expect("a request")).collect();
    let flows = parsed(&here, "[j]\nread_iolog=log3\n").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(drawn(&flows), log);
    assert_eq!((flows.is_timed(), flows.extents.clone()), (true, vec![12_800, 16_384]));
    let flat = parsed(&here, "[j]\nread_iolog=log3\nreplay_no_stall=1\nreplay_redirect=/dev/x\niodepth=8\n");
    let flat = flat.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((flat.depth(), flat.extents.clone()), (Some(8), vec![16_384]));
    let moved: Vec<Record> = log.iter().map(|one| Record { at: vocab::SimTime(0), device: 0, ..*one }).collect();
    assert_eq!(drawn(&flat), moved);
    assert_eq!(parsed(&here, "[j]\nread_iolog=log2\niodepth=4\n").expect("a log").depth(), Some(4));
}

#[test]
fn what_is_no_log_is_refused() {
    let here = folder("refused");
    std::fs::write(here.join("table.csv"), "0,R,0,4096,1\n0,W,0,4096,2\n").expect("written");
    for (text, said) in [
        ("[j]\nread_iolog=nowhere\n", "nowhere: cannot be opened"),
        ("[j]\nread_iolog=log3\nreplay_time_scale=50\n", "option `replay_time_scale`: found `50`, wanted nothing"),
        ("[j]\nread_iolog=log3\nreplay_skip=sync\n", "option `replay_skip`: found `sync`, wanted nothing"),
        (
            "[j]\nread_iolog=table.csv\n",
            "job.fio, line 2, option `read_iolog`: found `table.csv`, wanted a log of fio or of blktrace",
        ),
        ("[j]\nread_iolog\n", "option `read_iolog`: found nothing"),
    ] {
        let error = parsed(&here, text).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
    }
}

/// A formula and the number that it stands for are the same job.
#[test]
fn a_formula_is_what_it_stands_for() {
    let here = folder("formulas");
    for (formula, number) in [
        ("size=(4*64k)\nbs=(2^12)", "size=256k\nbs=4096"),
        ("size=256k\nbs=(1k*4),(8192)\nrw=rw", "size=256k\nbs=4k,8k\nrw=rw"),
        ("size=256k\niodepth=(4*8)", "size=256k\niodepth=32"),
        ("size=256k\nrate_iops=100\nruntime=(1+1)\ntime_based", "size=256k\nrate_iops=100\nruntime=2\ntime_based"),
        ("size=256k\nthinktime=(2ms)", "size=256k\nthinktime=2ms"),
    ] {
        let of = |options: &str| {
            parsed(&here, &format!("[j]\nioengine=libaio\n{options}\n")).unwrap_or_else(|error| panic!("{error}"))
        };
        let (ours, plain) = (of(formula), of(number));
        assert_eq!((drawn(&ours), ours.depth()), (drawn(&plain), plain.depth()), "{formula}");
    }
    for (value, said) in
        [("(4*", "option `size`: found `(4*`"), ("4k*10", "found `4k*10`"), ("(8*$ncpus)", "depend on the machine")]
    {
        let error = parsed(&here, &format!("[j]\nsize={value}\n")).expect_err(value);
        assert!(error.contains(said), "{value}: {error}");
    }
}
