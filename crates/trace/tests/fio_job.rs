//! Job files of fio: what is drawn, against what fio itself sends to an engine that does nothing; and what is refused.

use flashkeep_trace::flows::{Flows, fio_job};
use flashkeep_trace::{Record, TraceSource};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use vocab::HostOp;

const HEAD: &str = "[global]\nioengine=null\n";

fn flows(text: &str) -> Flows {
    fio_job::parse("job.fio", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn drawn(text: &str) -> Vec<Record> {
    flows(text).records(1).map(|record| record.expect("drawn requests have no errors")).collect()
}

/// What fio sends for a job; `None` where there is no fio.
fn sent(test: &str, text: &str) -> Option<Vec<Record>> {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio_job").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    std::fs::write(folder.join("job.fio"), text).expect("written");
    let output = Command::new("fio").current_dir(&folder).args(["--write_iolog=log", "job.fio"]).output();
    let Ok(output) = output else {
        eprintln!("fio is not installed: not compared");
        return None;
    };
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let source = TraceSource::path(folder.join("log")).with_format("fio-iolog").expect("a format");
    Some(source.open().expect("a log").map(|record| record.expect("a request")).collect())
}

/// What can be counted of requests.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    /// Of each kind and size.
    sizes: BTreeMap<(&'static str, u32), usize>,
    /// First sector, and the last.
    range: (u64, u64),
    distinct: usize,
}

fn name(op: HostOp) -> &'static str {
    match op {
        HostOp::Read => "read",
        HostOp::Write(_) => "write",
        HostOp::Discard => "trim",
        HostOp::Flush => "flush",
    }
}

fn counts(records: &[Record]) -> Counts {
    let mut sizes = BTreeMap::new();
    records.iter().for_each(|one| *sizes.entry((name(one.op), one.sectors)).or_insert(0) += 1);
    let moved = || records.iter().filter(|one| one.sectors > 0);
    let first = moved().map(|one| one.lba.0).min().unwrap_or(0);
    let last = moved().map(|one| one.lba.0 + u64::from(one.sectors)).max().unwrap_or(0);
    let mut places: Vec<u64> = moved().map(|one| one.lba.0).collect();
    places.sort_unstable();
    places.dedup();
    Counts { sizes, range: (first, last), distinct: places.len() }
}

/// Jobs in which nothing but the order is drawn.
#[test]
fn what_is_not_drawn_is_what_fio_sends() {
    let jobs = [
        "rw=read\nsize=10k\nbs=4k",
        "rw=randwrite\nsize=2m\nbs=4k",
        "rw=randread\nsize=1m\nio_size=3m\nbs=16k\nnorandommap=0",
        "rw=write\nsize=1m\nbs=64k\noffset=1m\nfsync=4",
        "rw=write\nsize=1m\nio_size=2500k\nbs=8k",
        "rw=randtrim\nsize=1m\nbs=32k",
        "rw=read\nsize=1m\nbs=4k\nnumber_ios=100",
        "rw=write\nsize=1m\nbs=4k\nloops=2",
        "rw=write\nfilesize=1m\nsize=512k\nbs=4k",
    ];
    for (index, job) in jobs.iter().enumerate() {
        let text = format!("{HEAD}[a]\n{job}\n");
        let Some(sent) = sent(&format!("exact{index}"), &text) else { return };
        assert_eq!(counts(&drawn(&text)), counts(&sent), "{job}");
    }
}

/// Three jobs at once, and one that waits for them and reads what the first wrote. They share one log, so each writes less than a
/// buffer of the C library: else their lines would cut each other.
#[test]
fn several_jobs_and_a_stonewall_are_what_fio_sends() {
    let text = format!(
        "{HEAD}size=256k\n[w]\nrw=write\nbs=8k\nfilename=one\n[v]\nrw=randwrite\nbs=4k\n[u]\nrw=read\nbs=2k\n[r]\nstonewall\nrw=read\nbs=32k\nfilename=one\n"
    );
    let ours = drawn(&text);
    let last = ours.iter().position(|one| one.sectors == 64).expect("there are reads of 32 KiB");
    assert!(ours[last..].iter().all(|one| one.sectors == 64), "they wait for all others");
    let of = |records: &[Record]| {
        let mut devices: BTreeMap<u32, Vec<Record>> = BTreeMap::new();
        records.iter().for_each(|one| devices.entry(one.device).or_default().push(*one));
        let mut found: Vec<String> = devices.values().map(|records| format!("{:?}", counts(records))).collect();
        found.sort();
        found
    };
    let Some(sent) = sent("several", &text) else { return };
    assert_eq!(of(&ours), of(&sent));
}

/// Counts that are drawn differ between two draws by less than 4.5 standard deviations of their difference.
fn is_near(ours: usize, theirs: usize, n: usize, share: f64) -> bool {
    (ours as f64 - theirs as f64).abs() <= 4.5 * (2.0 * n as f64 * share * (1.0 - share)).sqrt() + 1.0
}

#[test]
fn mixes_and_sizes_are_drawn_as_fio_draws_them() {
    let mix = format!("{HEAD}[a]\nrw=randrw\nrwmixread=70\nsize=32m\nbs=4k,8k\nnorandommap\n");
    let Some(theirs) = sent("mix", &mix) else { return };
    let [ours, theirs] = [counts(&drawn(&mix)), counts(&theirs)];
    let share = |counts: &Counts, key| counts.sizes.get(&key).copied().unwrap_or(0);
    for key in [("read", 8), ("write", 16)] {
        assert!(is_near(share(&ours, key), share(&theirs, key), 6300, 0.3), "{key:?}: {ours:?} {theirs:?}");
    }
    let split = format!("{HEAD}[a]\nrw=randwrite\nsize=64m\nbssplit=4k/50:16k/30:64k/\nnorandommap\n");
    let theirs = counts(&sent("split", &split).expect("it is installed"));
    let ours = counts(&drawn(&split));
    let requests: usize = theirs.sizes.values().sum();
    for (sectors, weight) in [(8, 0.5), (32, 0.3), (128, 0.2)] {
        let [one, other] = [share(&ours, ("write", sectors)), share(&theirs, ("write", sectors))];
        assert!(is_near(one, other, requests, weight), "{sectors} sectors: {one} and {other} of {requests}");
    }
    assert_eq!(ours.sizes.len(), 3);
    // Reads and writes at one rate each are as many, whatever `rwmixread` says.
    let rated = format!("{HEAD}[a]\nrw=randrw\nrwmixread=70\nsize=1m\nbs=4k\nrate_iops=1000\n");
    let theirs = counts(&sent("rated", &rated).expect("it is installed"));
    assert_eq!(counts(&drawn(&rated)).sizes, theirs.sizes);
}

#[test]
fn zones_get_their_shares() {
    let text = format!("{HEAD}[a]\nrw=randread\nsize=16m\nbs=4k\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\n");
    let ours = drawn(&text);
    let zones = |records: &[Record]| {
        let edges = [0, 10, 30, 60, 100].map(|percent| 32_768 * percent / 100);
        [0, 1, 2, 3].map(|zone| records.iter().filter(|one| (edges[zone]..edges[zone + 1]).contains(&one.lba.0)).count())
    };
    let Some(theirs) = sent("zones", &text) else { return };
    assert_eq!(ours.len(), theirs.len());
    for ((one, other), share) in zones(&ours).into_iter().zip(zones(&theirs)).zip([0.6, 0.3, 0.08, 0.02]) {
        assert!(is_near(one, other, ours.len(), share), "{share}: {one} and {other}");
    }
}

/// The share of the draws that the most popular tenth of the blocks touched gets, by fio's own program for it: 16384 draws over
/// as many blocks, where its hash moves no two blocks together. fio approximates the Zipf distribution; 2 % were allowed for
/// that and for chance before the first run.
#[test]
fn popularity_is_that_of_fio_genzipf() {
    for (option, name, value) in [("zipf", "zipf:0.8", "0.8"), ("zipf", "zipf:1.2", "1.2"), ("pareto", "pareto:0.2", "0.2")] {
        let arguments = ["-t", option, "-i", value, "-g", "1", "-b", "65536", "-o", "10"];
        let Ok(output) = Command::new("fio-genzipf").args(arguments).output() else {
            eprintln!("fio-genzipf is not installed: not compared");
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with("Top")).expect("a first row");
        let theirs: f64 = line.split('%').nth(1).expect("a share").trim().parse().expect("a number");
        let ours = drawn(&format!("{HEAD}[a]\nrw=randread\nsize=1g\nbs=64k\nrandom_distribution={name}\n"));
        assert_eq!(ours.len(), 16_384);
        let mut hits = BTreeMap::<u64, usize>::new();
        ours.iter().for_each(|one| *hits.entry(one.lba.0).or_default() += 1);
        let mut hits: Vec<usize> = hits.into_values().collect();
        hits.sort_unstable_by(|one, other| other.cmp(one));
        let tenth = (hits.len() - 1) / 10 + 1;
        let ours = hits[..tenth].iter().sum::<usize>() as f64 / 163.84;
        assert!((ours - theirs).abs() < 2.0, "{name}: {ours:.2} % here, {theirs} % there");
    }
}

#[test]
fn times_follow_rates_pauses_and_delays() {
    let at = |job: &str| drawn(&format!("[a]\nbs=4k\nsize=16k\n{job}\n")).iter().map(|one| one.at.0).collect::<Vec<_>>();
    assert_eq!(at("rate_iops=1000"), [0, 1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(at("rate=4096k"), [0, 1_000_000, 2_000_000, 3_000_000].map(|at| at / 1_000_000 * 976_563 - at / 2_000_000));
    assert_eq!(at("thinktime=50\nthinktime_blocks=2"), [0, 0, 50_000, 50_000]);
    assert_eq!(at("rate_iops=10\nruntime=250ms"), [0, 100_000_000, 200_000_000]);
    assert_eq!(at("rate_iops=10\nruntime=2\ntime_based\nstartdelay=1")[..2], [1_000_000_000, 1_100_000_000]);
    assert_eq!(at("rate_iops=10\nruntime=2\ntime_based").len(), 20);
    assert_eq!(at("iodepth=4\nioengine=libaio"), [0; 4]);
}

#[test]
fn queue_depths_are_those_of_all_jobs_at_work() {
    let depth = |text: &str| flows(text).depth();
    assert_eq!(depth("[global]\nsize=1m\nioengine=libaio\niodepth=8\n[a]\nnumjobs=3\n[b]\niodepth=2\n"), Some(26));
    assert_eq!(depth("[a]\nsize=1m\niodepth=8\n"), Some(1), "the engine waits");
    assert_eq!(depth("[global]\nsize=1m\nioengine=libaio\n[a]\niodepth=4\n[b]\nstonewall\niodepth=6\n"), Some(6));
    assert_eq!(depth("[a]\nsize=1m\nrate_iops=5\n"), None);
    // A job with a longer queue gets on faster, by as much.
    let shared = drawn("[global]\nsize=1m\nioengine=libaio\n[a]\niodepth=3\nrw=read\n[b]\niodepth=1\nrw=write\n");
    let reads = shared[..40].iter().filter(|one| one.op == HostOp::Read).count();
    assert_eq!(reads, 30);
}

#[test]
fn the_seed_decides_and_a_jobs_own_seed_overrides_it() {
    let [any, own] = ["", "randseed=7\n"].map(|seed| flows(&format!("[a]\nsize=1m\nrw=randread\n{seed}")));
    let with = |flows: &Flows, seed| flows.records(seed).map(|one| one.expect("drawn").lba.0).collect::<Vec<_>>();
    assert_eq!(with(&any, 1), with(&any, 1));
    assert_ne!(with(&any, 1), with(&any, 2));
    assert_eq!(with(&own, 1), with(&own, 2));
}

#[test]
fn what_has_no_counterpart_is_listed_once() {
    let notes =
        flows("[global]\ndirect=1\ngroup_reporting\n[a]\nsize=1m\ndirect=0\nramp_time=5\n[b]\nsize=1m\nruntime=60\n").notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("runtime: "), "{notes:?}");
    assert_eq!(notes[1], "has no counterpart here: direct, group_reporting, ramp_time");
}

/// A job file, and what is said about it.
const WRONG: &[(&str, &str)] = &[
    ("size=1m\n", "job.fio, line 1, option `size`: no section is open"),
    ("[a]\nsize=1m\nrwmxread=5\n", "line 3, option `rwmxread`: fio has no such option"),
    ("[a]\nrw=read\n", "line 1, option `a`: the job has no `size`"),
    ("[a]\nsize=1m\nrw=readd\n", "line 3, option `rw`: found `readd`, wanted read, write, rw"),
    ("[a]\nsize=1m\nrw=randread:8\n", "line 3, option `rw`: found `randread:8`"),
    ("[a]\nsize=1m\nbs=1000\n", "line 3, option `bs`: found `1000`, wanted multiples of 512"),
    ("[a]\nsize=1m\nbs=4k,8k,16k,32k\n", "line 3, option `bs`"),
    ("[a]\nsize=1q\n", "line 2, option `size`: found `1q`, wanted a size"),
    ("[a]\nsize=50%\n", "line 2, option `size`: found `50%`"),
    ("[a]\nsize=1m\nbssplit=4k/80:8k/40\n", "line 3, option `bssplit`"),
    ("[a]\nsize=1m\nrwmixread=101\n", "line 3, option `rwmixread`: found `101`, wanted a whole number from 0 to 100"),
    ("[a]\nsize=1m\nnumjobs=5000\n", "line 3, option `numjobs`"),
    ("[a]\nsize=1m\nread_iolog=x\n", "line 3, option `read_iolog`: the log has all requests"),
    ("[a]\nsize=${SIZE}\n", "line 2, option `size`: found `${SIZE}`, wanted a plain value"),
    ("[a]\nsize=1m\nrw=randrw\nrate_iops=5,\n", "line 4, option `rate_iops`: found `5,`, wanted a rate for each kind"),
    ("[a]\nsize=1m\nrate_iops=5\n[b]\nsize=1m\n", "line 4, option `b`: found a job without `rate`"),
    (
        "[a]\nsize=1m\nrw=randread\nrandom_distribution=zipf\n",
        "line 4, option `random_distribution`: found `zipf`, wanted random",
    ),
    ("[a]\nsize=2k\nbs=4k\n", "line 1, option `a`: found a range of 2048 bytes"),
    ("[a]\nsize=1m\nnrfiles=4\n", "line 3, option `nrfiles`: found `4`, wanted 1"),
    ("[a\nsize=1m\n", "line 1, option `[a`: wanted a name in brackets"),
    ("; nothing\n", "no request of format `fio-job` in 1 lines"),
    ("[global]\nsize=9223372036854775807\n[a]\n", "option `a`: found addresses beyond 2^62 bytes"),
    ("[a]\nsize=1m\ntime_based=yes\n", "line 3, option `time_based`: found `yes`, wanted 0, 1 or nothing"),
];

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    for (text, said) in WRONG {
        let error = fio_job::parse("job.fio", text).err().unwrap_or_else(|| panic!("accepted: {text}")).to_string();
        assert!(error.contains(said), "{text}\nlacks {said}: {error}");
    }
    let slip = fio_job::parse("job.fio", "[a]\niodpth=4\n").expect_err("no such option");
    assert!(matches!(slip, flashkeep_trace::TraceError::Option { meant: Some(meant), .. } if meant == "iodepth"));
}

#[test]
fn a_log_of_several_jobs_begins_several_times() {
    let log = "fio version 3 iolog\n1 a add\n2 a open\n5 a write 0 4096\nfio version 3 iolog\n3 b read 0 4096\n";
    let source = TraceSource::bytes("log", log.as_bytes());
    let records: Vec<Record> = source.open().expect("a log").map(|one| one.expect("a request")).collect();
    assert_eq!(
        records.iter().map(|one| (one.at.0, name(one.op), one.device)).collect::<Vec<_>>(),
        [(0, "read", 1), (2000, "write", 0)]
    );
}

#[test]
fn a_job_file_is_told_by_its_first_line() {
    for (text, is_one) in [
        ("; mine\n\n[global]\nsize=1\n", true),
        ("[a]\r\n", true),
        ("fio version 3 iolog\n", false),
        ("1 2 3\n", false),
        ("[[axes]]\n", false),
        ("", false),
    ] {
        assert_eq!(fio_job::looks_like(text.as_bytes()), is_one, "{text}");
    }
}
