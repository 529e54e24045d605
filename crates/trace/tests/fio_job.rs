//! Job files of fio: what is drawn, against what fio itself sends to an engine that does nothing; and what is refused.

use flashkeep_trace::flows::fio_job::Around;
use flashkeep_trace::flows::{FlowClock, Flows, Pauses, Requests, fio_job};
use flashkeep_trace::{Record, TraceSource};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use vocab::{HostOp, Nanos};

const HEAD: &str = "[global]\nioengine=null\n";

/// A drive for jobs without a size.
const DRIVE: u64 = 4 << 20;

fn flows(text: &str) -> Flows {
    fio_job::parse("job.fio", text, &Around::drive(DRIVE)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn drawn(text: &str) -> Vec<Record> {
    flows(text).records(1).map(|record| record.expect("drawn requests have no errors")).collect()
}

/// The requests that fio sends for a job; `None` where there is no fio.
fn sent(test: &str, text: &str) -> Option<Vec<Record>> {
    let text = text.replacen("[global]", "[global]\nwrite_iolog=log0", 1);
    run_fio(test, &text, 1)?.pop()
}

/// The requests that fio sends for each of several jobs with files and logs of their own, in one run.
fn sent_each(test: &str, jobs: &[&str]) -> Option<Vec<Vec<Record>>> {
    let job = |(index, job): (usize, &&str)| format!("[job{index}]\nwrite_iolog=log{index}\n{job}\n");
    let jobs_text: String = jobs.iter().enumerate().map(job).collect();
    run_fio(test, &format!("{HEAD}thread\n{jobs_text}"), jobs.len())
}

fn run_fio(test: &str, text: &str, logs: usize) -> Option<Vec<Vec<Record>>> {
    let folder: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio_job").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    std::fs::write(folder.join("job.fio"), text).expect("written");
    let Ok(output) = Command::new("fio").current_dir(&folder).arg("job.fio").output() else {
        eprintln!("fio is not installed: not compared");
        return None;
    };
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let log = |index: usize| {
        let source = TraceSource::path(folder.join(format!("log{index}"))).with_format("fio-iolog").expect("a format");
        source.open().expect("a log").map(|record| record.expect("a request")).collect()
    };
    Some((0..logs).map(log).collect())
}

/// Counts of requests.
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
    let Some(theirs) = sent_each("exact", &jobs) else { return };
    for (index, job) in jobs.iter().enumerate() {
        let text = format!("{HEAD}[a]\n{job}\n");
        assert_eq!(counts(&drawn(&text)), counts(&theirs[index]), "{job}");
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
    let reads = |counts: &Counts| share(counts, ("read", 8));
    assert_eq!((reads(&counts(&drawn(&rated))), theirs.sizes.values().sum()), (128, 256usize));
    // fio keeps time on a machine with other work: nearer to one half than to 70 %.
    assert!(reads(&theirs).abs_diff(128) < 26, "{theirs:?}");
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
fn times_follow_rates_and_delays() {
    let at = |job: &str| drawn(&format!("[a]\nbs=4k\nsize=16k\n{job}\n")).iter().map(|one| one.at.0).collect::<Vec<_>>();
    assert_eq!(at("rate_iops=1000"), [0, 1_000_000, 2_000_000, 3_000_000]);
    assert_eq!(at("rate=4096k"), [0, 1_000_000, 2_000_000, 3_000_000].map(|at| at / 1_000_000 * 976_563 - at / 2_000_000));
    assert_eq!(at("rate_iops=10\nruntime=250ms"), [0, 100_000_000, 200_000_000]);
    assert_eq!(at("rate_iops=10\nruntime=2\ntime_based\nstartdelay=1")[..2], [1_000_000_000, 1_100_000_000]);
    assert_eq!(at("rate_iops=10\nruntime=2\ntime_based").len(), 20);
    assert_eq!(at("iodepth=4\nioengine=libaio"), [0; 4]);
}

/// The clock of the only flow.
fn clock(job: &str) -> FlowClock {
    let flows = flows(&format!("[a]\nbs=4k\nsize=16k\nioengine=libaio\n{job}\n"));
    flows.flows[0].clock()
}

#[test]
fn each_job_has_a_clock_of_its_own() {
    let queue = |depth, delay, until, pauses| FlowClock::Queue { depth, delay: Nanos(delay), until, pauses };
    assert_eq!(clock("rate_iops=5\niodepth=3"), FlowClock::Times);
    assert_eq!(clock("iodepth=3\nstartdelay=2"), queue(3, 2_000_000_000, None, None));
    assert_eq!(clock("iodepth=3\nruntime=250ms"), queue(3, 0, Some(Nanos(250_000_000)), None));
    let pauses = |pause, every| Some(Pauses { pause: Nanos(pause), every });
    assert_eq!(clock("thinktime=50"), queue(1, 0, None, pauses(50_000, 1)));
    assert_eq!(clock("iodepth=2\nthinktime=50ms\nthinktime_blocks=7"), queue(2, 0, None, pauses(50_000_000, 7)));
    let mixed = flows("[global]\nsize=64k\nioengine=libaio\n[a]\niodepth=3\n[b]\nrate_iops=1000\nrw=write\n");
    assert_eq!(mixed.flows.iter().map(|flow| flow.clock()).collect::<Vec<_>>(), [queue(3, 0, None, None), FlowClock::Times]);
    assert_eq!((mixed.is_timed(), mixed.depth(), mixed.has_clocks()), (false, Some(3), true));
    let times: Vec<u64> = mixed.records(1).map(|one| one.expect("drawn").at.0).collect();
    assert!(times.is_sorted() && times.len() == 32, "one order has times that go up: {times:?}");
    for (index, flow) in mixed.flows.iter().enumerate() {
        let own: Vec<Record> = mixed.records_of(index, 1).map(|one| one.expect("drawn")).collect();
        let merged: Vec<Record> = mixed.records(1).flatten().filter(|one| flow.devices.contains(&one.device)).collect();
        assert_eq!(sequence(&own), sequence(&merged), "a flow asks the same by itself");
    }
}

/// A queue that ends in time asks on, and one order of it has a pass.
#[test]
fn a_job_that_is_time_based_has_no_end_of_its_own() {
    let endless = flows("[a]\nbs=4k\nsize=16k\nruntime=1\ntime_based\n");
    assert!(endless.ends_in_time());
    assert_eq!(endless.records(1).count(), 4);
    assert_eq!(endless.records_of(0, 1).take(1000).count(), 1000);
    assert_eq!(flows("[a]\nbs=4k\nsize=16k\nruntime=1\n").records_of(0, 1).take(1000).count(), 4, "it also ends with its size");
}

/// The null engine answers at once: fio pauses behind each `every` requests, whatever the queue depth.
#[test]
fn pauses_are_where_fio_makes_them() {
    for (job, every) in [
        ("iodepth=1\nthinktime=40ms", 1),
        ("iodepth=1\nthinktime=40ms\nthinktime_blocks=3", 3),
        ("iodepth=4\nthinktime=40ms\nthinktime_blocks=3", 3),
    ] {
        let FlowClock::Queue { pauses: Some(pauses), .. } = clock(job) else { panic!("{job} pauses") };
        assert_eq!(pauses, Pauses { pause: Nanos(40_000_000), every });
        let Some(mut theirs) = sent("pauses", &format!("{HEAD}[a]\nrw=read\nsize=28k\nbs=4k\n{job}\n")) else { return };
        // A request that finds the engine busy is in the log twice; the last is the one that was sent.
        theirs.reverse();
        theirs.dedup_by_key(|one| one.lba);
        theirs.reverse();
        assert_eq!(theirs.len(), 7);
        for (index, pair) in theirs.windows(2).enumerate() {
            if (index as u64 + 1).is_multiple_of(every) {
                assert!(pair[1].at.since(pair[0].at) >= pauses.pause, "{job}: no pause behind request {index}: {theirs:?}");
            }
        }
        let others = (0..6u64).filter(|index| !(index + 1).is_multiple_of(every));
        let least = others.map(|index| theirs[index as usize + 1].at.since(theirs[index as usize].at)).min();
        assert!(least.is_none_or(|gap| gap < pauses.pause), "{job}: a pause behind every request");
    }
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

/// Kind, device, first sector and sectors of each request.
fn sequence(records: &[Record]) -> Vec<(&'static str, u32, u64, u32)> {
    // A log has where the file was when it was flushed.
    let place = |one: &Record| if one.sectors == 0 { 0 } else { one.lba.0 };
    records.iter().map(|one| (name(one.op), one.device, place(one), one.sectors)).collect()
}

/// Jobs in which nothing is drawn: request by request.
#[test]
fn requests_in_order_are_those_of_fio_one_by_one() {
    let jobs = [
        "rw=write:4k\nsize=64k\nbs=4k",
        "rw=write:8k\nsize=64k\nbs=4k",
        "rw=read:-8k\nsize=64k\nbs=4k",
        "rw=read:-8k\nsize=64k\noffset=32k\nbs=4k",
        "rw=read:-12k\nsize=64k\nbs=4k",
        "rw=read:-4k\nsize=64k\nbs=4k",
        "rw=write:112k\nsize=1m\nbs=16k",
        "rw=write:4k\nsize=64k\nbs=4k\noffset=32k",
        "rw=write:4k\nsize=64k\nbs=4k\nio_size=192k",
        "rw=trimwrite\nsize=64k\nbs=4k",
        "rw=trimwrite\nsize=64k\nbs=4k\nio_size=32k",
        "rw=trimwrite\nsize=64k\nbs=4k\nnumber_ios=5",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nloops=2",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nio_size=160k",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nio_size=192k",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nio_size=32k",
        "rw=write:4k\nsize=64k\nbs=4k\nverify=crc32c",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\ndo_verify=0",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nverify_only",
        "rw=write\nsize=68k\nbs=4k\nverify=crc32c\nverify_backlog=4",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nverify_backlog=4\nverify_backlog_batch=2",
        "rw=write\nsize=64k\nbs=4k\nverify=crc32c\nfsync=4",
        "rw=read\nsize=64k\nbs=4k\nverify=crc32c",
        "rw=trimwrite\nsize=64k\nbs=4k\nverify=crc32c",
        "rw=write\nsize=64k\nbs=4k\nend_fsync=1\nloops=2\nverify=crc32c",
        "rw=write\nsize=64k\nbs=4k\nfsync_on_close=1\nend_fsync=1\nnrfiles=2",
        "rw=read\nsize=64k\nbs=4k\nend_fsync=1",
        "rw=write\nsize=64k\nbs=4k\nnrfiles=3",
        "rw=write\nsize=64k\nbs=4k\nnrfiles=3\nfile_service_type=sequential",
        "rw=write\nsize=64k\nbs=4k\nnrfiles=4\nopenfiles=2",
        "rw=write\nsize=64k\nbs=4k\nnrfiles=2\nfile_service_type=roundrobin:3",
        "rw=write\nfilesize=16k\nbs=4k\nnrfiles=4",
        "rw=write\nfilesize=16k\nsize=32k\nbs=4k\nnrfiles=4",
        "rw=write\nsize=64k\nbs=4k\nnrfiles=2\nverify=crc32c",
        "rw=write\nfilesize=64k\nsize=32k\nbs=4k\noffset=16k",
        "rw=write\nsize=64k\nbs=4k\noffset=16k\nio_size=128k",
        "rw=write\nfilesize=1m\nsize=30%\nbs=4k\nloops=2",
        "rw=write\nfilesize=1m\nsize=30%\nbs=4k\nio_size=50%",
        "rw=write\nsize=0x10000\nbs=0x1000",
        "rw=write\nsize=65536.0\nbs=4096.00\nfsync=4.0",
        "rw=write\nsize=65536\nbs=4k\nloops=2.0",
        "rw=write\nsize=8m\nbs=4k\nverify=crc32c\nverify_backlog=1k",
    ];
    let Some(theirs) = sent_each("order", &jobs) else { return };
    for (index, job) in jobs.iter().enumerate() {
        let text = format!("{HEAD}[a]\n{job}\n");
        assert_eq!(sequence(&drawn(&text)), sequence(&theirs[index]), "{job}");
    }
}

/// Jobs whose places are drawn: as many of each kind and size, in the same range, and as many places.
/// fio leaves out what stands behind the point, so that `4.0k` are 4 bytes to it: no one wants that.
#[test]
fn a_fraction_with_a_unit_or_one_that_is_not_zero_is_refused() {
    for job in ["bs=4.0k", "size=1.5m", "iodepth=2.5", "rwmixread=70.", "size=.0"] {
        let problem = fio_job::parse("job.fio", &format!("{HEAD}[a]\nrw=randrw\nsize=1m\n{job}\n"), &Around::drive(DRIVE));
        let said = problem.map(|_| ()).expect_err(job).to_string();
        assert!(said.contains(job.split_once('=').expect("an option").1), "{said}");
    }
}

#[test]
fn requests_at_random_are_as_many_as_those_of_fio() {
    let jobs = [
        "rw=randtrimwrite\nsize=1m\nbs=4k",
        "rw=randwrite\nsize=1m\nbs=4k\nverify=crc32c",
        "rw=randwrite\nsize=1m\nbs=4k\nverify=crc32c\nloops=2",
        "rw=randwrite\nsize=1m\nbs=4k\nverify=crc32c\nverify_backlog=16",
        "rw=randwrite\nsize=1m\nbs=4k\nverify=crc32c\nverify_only",
        "rw=randwrite\nsize=1m\nbs=4k\nfilename=x:y",
        "rw=randread\nsize=1m\nbs=4k\nnrfiles=4\nfile_service_type=random",
        "rw=randwrite\nfilesize=8m\nsize=50%\nbs=4k",
    ];
    let Some(theirs) = sent_each("random", &jobs) else { return };
    for (index, job) in jobs.iter().enumerate() {
        let text = format!("{HEAD}[a]\n{job}\n");
        assert_eq!(counts(&drawn(&text)), counts(&theirs[index]), "{job}");
    }
    // Bursts: eight requests for each place, in order or at the place itself; places may be taken again.
    for (job, step) in [("rw=randread:8", 8), ("rw=randread:8\nrw_sequencer=identical", 0)] {
        let text = format!("{HEAD}[a]\n{job}\nsize=4m\nbs=4k\n");
        let theirs = sent("bursts", &text).expect("it is installed");
        for records in [drawn(&text), theirs] {
            assert_eq!(records.len(), 1024, "{job}");
            let follows = |pair: &&[Record]| pair[1].lba.0 == pair[0].lba.0 + step;
            let count = records.windows(2).filter(follows).count();
            assert!((1024 * 7 / 8 - 16..=1024 * 7 / 8 + 8).contains(&count), "{job}: {count} follow the one before");
        }
    }
}

/// Where a place is written again, it is read back once, and reads are in the order of addresses: as fio does.
#[test]
fn places_that_are_written_again_are_read_back_once() {
    let text = format!("{HEAD}[a]\nrw=randwrite\nsize=1m\nbs=4k\nverify=crc32c\nnorandommap\n");
    let check = |records: Vec<Record>| {
        let reads: Vec<u64> = records.iter().filter(|one| one.op == HostOp::Read).map(|one| one.lba.0).collect();
        let mut written: Vec<u64> = records.iter().filter(|one| one.op != HostOp::Read).map(|one| one.lba.0).collect();
        assert_eq!(written.len(), 256);
        written.sort_unstable();
        written.dedup();
        assert_eq!(reads, written);
    };
    check(drawn(&text));
    if let Some(theirs) = sent("again", &text) {
        check(theirs);
    }
}

/// Our small cases: files, and what is right of each.
fn case(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Requests of a case on a drive of 256 MiB, and its notes.
fn of_case(name: &str) -> (Vec<Record>, Vec<String>) {
    let variable = |name: &str| (name == "JOB_SIZE").then(|| "1m".to_owned());
    let around = Around { variable: &variable, ..Around::drive(256 << 20) };
    let flows = fio_job::parse(name, &case(name), &around).unwrap_or_else(|error| panic!("{error}"));
    (flows.records(1).map(|record| record.expect("drawn")).collect(), flows.notes)
}

#[test]
fn percentages_limit_the_range_and_the_later_mix_counts() {
    let (records, _) = of_case("F01-size-percent.fio");
    let found = counts(&records);
    assert_eq!((found.distinct, found.range), (8192, (0, 65_536)));
    let (records, _) = of_case("F02-both-mixes.fio");
    let reads = records.iter().filter(|one| one.op == HostOp::Read).count();
    // 40 % of 2048: 22 is a standard deviation.
    assert_eq!(records.len(), 2048);
    assert!((819 - 100..=819 + 100).contains(&reads), "{reads}");
    let earlier = drawn("[global]\nrwmixread=30\n[a]\nrw=randrw\nsize=8m\nrwmixwrite=20\n");
    assert!(earlier.iter().filter(|one| one.op == HostOp::Read).count() > 1500);
}

#[test]
fn jobs_without_a_size_are_on_the_drive() {
    let whole = (256 << 20) / 512;
    for name in ["F03-device-no-size.fio", "F04-size-zero.fio"] {
        let (records, notes) = of_case(name);
        assert_eq!(counts(&records).range, (0, whole), "{name}");
        assert!(notes.iter().any(|note| note.contains("256MiB")), "{notes:?}");
    }
    // Jobs that share a device share its bytes, and two devices have a half each.
    let text =
        "[global]\nrw=write\nbs=64k\n[a]\nfilename=/dev/x\nsize=50%\n[b]\nfilename=/dev/x\noffset=50%\n[c]\nfilename=/dev/y\n";
    let found = flows(text);
    assert_eq!(found.extents, [2 << 20, 2 << 20]);
    let ranges: Vec<(u64, u64)> = found.flows.iter().map(|flow| range(&flow.requests)).collect();
    assert_eq!(ranges, [(0, 1 << 20), (1 << 20, 1 << 20), (0, 2 << 20)]);
    let filled = drawn("[a]\nrw=write\nbs=64k\nsize=1m\nfill_device=1\n");
    assert_eq!(filled.len(), 64);
}

fn range(requests: &Requests) -> (u64, u64) {
    match requests {
        Requests::Synthetic(one) => one.range,
        Requests::Recorded { .. } | Requests::Generated { .. } => panic!("a job is drawn"),
    }
}

#[test]
fn four_quarters_of_a_file_are_disjoint() {
    let (records, _) = of_case("F05-offset-increment-percent.fio");
    let found = counts(&records);
    assert_eq!((records.len(), found.distinct, found.range), (256, 256, (0, 2048)));
}

#[test]
fn zones_with_an_open_end_have_what_is_left() {
    let (records, _) = of_case("F06-zoned-open-end.fio");
    let edges = [0, 16_384 / 10, 16_384 * 3 / 10, 16_384];
    for (zone, share) in [0.5, 0.3, 0.2].into_iter().enumerate() {
        let here = records.iter().filter(|one| (edges[zone]..edges[zone + 1]).contains(&one.lba.0)).count();
        assert!(is_near(here, (2048.0 * share) as usize, 2048, share), "zone {zone}: {here}");
    }
}

#[test]
fn ranges_have_a_colon_or_a_dash() {
    let dash = drawn(&case("F07-bsrange-colon.fio").replace("4k:16k", "4k-16k"));
    assert_eq!(sequence(&of_case("F07-bsrange-colon.fio").0), sequence(&dash));
    assert_eq!(counts(&dash).sizes.len(), 4);
}

#[test]
fn options_of_engines_are_known() {
    let (records, notes) = of_case("F08-nbd-engine.fio");
    assert_eq!(records.len(), 1024);
    assert_eq!(notes, ["has no counterpart here: uri"]);
    let (records, notes) = of_case("F16-threads.fio");
    assert_eq!((records.len(), notes.last().map(String::as_str)), (256, Some("has no counterpart here: thread")));
    for option in ["port=1", "cmd_type=nvme", "clientname=a", "cmdprio_percentage=5", "http_host=x", "sg_write_mode=verify"] {
        let flows = flows(&format!("[a]\nsize=1m\nioengine=libaio\n{option}\n"));
        let name = option.split('=').next().expect("a name");
        assert_eq!(flows.notes, [format!("has no counterpart here: {name}")]);
    }
}

#[test]
fn what_was_written_is_read_back() {
    let (records, _) = of_case("F09-verify-reads-back.fio");
    let (writes, reads) = records.split_at(256);
    assert!(writes.iter().all(|one| matches!(one.op, HostOp::Write(_))) && reads.iter().all(|one| one.op == HostOp::Read));
    let places = |records: &[Record]| records.iter().map(|one| one.lba.0).collect::<Vec<_>>();
    assert_eq!(places(writes), places(reads));
}

#[test]
fn variables_come_from_the_environment_and_are_noted() {
    let (records, notes) = of_case("F10-variable.fio");
    assert_eq!(records.len(), 256);
    assert_eq!(notes, ["variables of the environment: JOB_SIZE=1m"]);
    let problem = fio_job::parse("job", &case("F10-variable.fio"), &Around::drive(DRIVE)).expect_err("it is not set").to_string();
    assert!(problem.contains("line 3, option `size`: the variable `JOB_SIZE` is not set"), "{problem}");
}

#[test]
fn files_are_included() {
    let file = |path: &str| match path {
        "common.inc" => Ok("bs=8k\nsize=64k\ninclude deeper\n".to_owned()),
        "deeper" => Ok("rw=write\n".to_owned()),
        "loop" => Ok("include loop\n".to_owned()),
        _ => Err("cannot be read: there is none".to_owned()),
    };
    let around = Around { file: &file, ..Around::drive(DRIVE) };
    let flows = fio_job::parse("job", "[global]\ninclude common.inc\n[a]\n", &around).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(flows.records(1).count(), 8);
    for (text, said) in [
        ("[a]\ninclude none\n", "job, line 2, option `include`: none cannot be read: there is none"),
        ("[a]\ninclude loop\n", "loop, line 1, option `include`: found more than 8 files that include each other"),
    ] {
        let problem = fio_job::parse("job", text, &around).expect_err(said).to_string();
        assert!(problem.contains(said), "{problem}");
    }
}

#[test]
fn a_rate_of_nothing_for_what_is_not_asked_is_none() {
    let (records, _) = of_case("F11-rate-zero-kind.fio");
    assert_eq!(records.len(), 100);
    assert!(records.iter().all(|one| one.op == HostOp::Read));
}

#[test]
fn holes_and_rewrites_are_as_measured() {
    let found = counts(&of_case("F12-offset-suffix.fio").0);
    assert_eq!((found.sizes.values().sum::<usize>(), found.distinct, found.range), (256, 128, (0, 2040)));
    let (records, _) = of_case("F13-trimwrite.fio");
    assert_eq!(records.len(), 512);
    for pair in records.chunks(2) {
        assert_eq!((name(pair[0].op), name(pair[1].op), pair[0].lba), ("trim", "write", pair[1].lba));
    }
}

#[test]
fn two_devices_have_a_half_each() {
    let (records, _) = of_case("F18-two-devices.fio");
    for device in [0, 1] {
        let here: Vec<Record> = records.iter().filter(|one| one.device == device).copied().collect();
        let found = counts(&here);
        assert_eq!((here.len(), found.distinct, found.range), (128, 128, (0, 1024)));
    }
}

#[test]
fn a_flush_at_the_end_is_noted_and_what_has_no_counterpart_is_listed() {
    let (records, notes) = of_case("F15-notes-in-inspect.fio");
    assert_eq!((records.len(), records.last().map(|one| one.op)), (257, Some(HostOp::Flush)));
    assert_eq!(
        notes,
        ["end_fsync, end_syncfs, fsync_on_close: a flush behind the last write", "has no counterpart here: flow, latency_target"]
    );
}

#[test]
fn a_job_waits_for_another() {
    let text = "[global]\nsize=64k\nbs=4k\n[a]\nrw=write\n[b]\nwait_for=a\nrw=read\n[c]\nrw=randread\n";
    let stages: Vec<u32> = flows(text).flows.iter().map(|flow| flow.stage).collect();
    assert_eq!(stages, [0, 1, 0]);
}

/// A job file, and what is said about it.
const WRONG: &[(&str, &str)] = &[
    ("size=1m\n", "job.fio, line 1, option `size`: no section is open"),
    ("[a]\nsize=1m\nrwmxread=5\n", "line 3, option `rwmxread`: fio has no such option"),
    ("[a]\nsize=1m\nbs=4KiB\n", "unless kb_base=1000: write 4k"),
    (
        "[a]\nsize=1m\nioengine=cpuio\n",
        "line 3, option `ioengine`: found `cpuio`, wanted an engine that reads or writes data of a drive",
    ),
    ("[a]\nsize=1m\nioengine=filecreate\n", "this one makes empty files"),
    ("[a]\nsize=1m\nwait_for=b\n", "line 3, option `wait_for`: found `b`, wanted the name of a job above"),
    ("[a]\nsize=1m\nzonemode=zbd\n", "line 3, option `zonemode`: found `zbd`, wanted none or strided: drives with zones"),
    ("[a]\nsize=1m\nzonemode=strided\n", "option `zonemode`: found `strided`, wanted strided with a `zonesize`"),
    ("[a]\nsize=1m\nzonesize=4k\n", "option `zonesize`: found `4k`, wanted `zonemode=strided` beside it"),
    ("[a]\nsize=1m\nzonemode=strided\nzonesize=4k\nzoneskip=1000\n", "option `zoneskip`: found `1000`, wanted a multiple of 512"),
    (
        "[a]\nsize=1m\nzonemode=strided\nzonesize=4k\nrw=randread\nrandom_distribution=zipf:1.1\n",
        "option `random_distribution`: found `zipf:1.1`, wanted random, which is all that is drawn in zones",
    ),
    ("[a]\nsize=1m\nfilesize=4k-1m\n", "line 3, option `filesize`: found `4k-1m`, wanted one size"),
    ("[a]\nsize=1m\nrw=write:100\n", "line 3, option `rw`: found `write:100`"),
    ("[a]\nsize=1m\nnrfiles=5000\n", "line 3, option `nrfiles`"),
    ("[a]\nsize=1m\noffset=5m\nfilesize=4m\n", "line 1, option `a`: found a range of 0 bytes from byte 5242880 on"),
    ("[a]\nsize=1m\nrw=readd\n", "line 3, option `rw`: found `readd`, wanted read, write, rw"),
    ("[a]\nsize=1m\nrw=randread:x\n", "line 3, option `rw`: found `randread:x`"),
    ("[a]\nsize=1m\nbs=1000\n", "line 3, option `bs`: found `1000`, wanted multiples of 512"),
    ("[a]\nsize=1m\nbs=4k,8k,16k,32k\n", "line 3, option `bs`"),
    ("[a]\nsize=1q\n", "line 2, option `size`: found `1q`, wanted a size"),
    ("[a]\nsize=1m\nio_size=101%\n", "line 3, option `io_size`: found `101%`"),
    ("[a]\nsize=1m\nbssplit=4k/80:8k/40\n", "line 3, option `bssplit`"),
    ("[a]\nsize=1m\nrwmixread=101\n", "line 3, option `rwmixread`: found `101`, wanted a whole number from 0 to 100"),
    ("[a]\nsize=1m\nnumjobs=5000\n", "line 3, option `numjobs`"),
    ("[a]\nsize=(1m\n", "line 2, option `size`: found `(1m`, wanted a size"),
    ("[a]\nsize=${SIZE}\n", "line 2, option `size`: the variable `SIZE` is not set"),
    (
        "[a]\nsize=4*$mb_memory\n",
        "line 2, option `size`: found `4*$mb_memory`, wanted a value that does not depend on the machine",
    ),
    (
        "[a]\nsize=1m\nrw=randrw\nrate_iops=5,\n",
        "line 4, option `rate_iops`: found `5,`, wanted a rate for each kind that the job asks for, or a `runtime`",
    ),
    (
        "[a]\nsize=1m\nrw=randread\nrandom_distribution=zipff\n",
        "line 4, option `random_distribution`: found `zipff`, wanted random",
    ),
    ("[a]\nsize=2k\nbs=4k\n", "line 1, option `a`: found a range of 2048 bytes"),
    ("[a\nsize=1m\n", "line 1, option `[a`: wanted a name in brackets"),
    ("; nothing\n", "no request of format `fio-job` in 1 lines"),
    ("[global]\nsize=9223372036854775807\n[a]\n", "option `a`: found addresses beyond 2^62 bytes"),
    ("[a]\nsize=1m\ntime_based=yes\n", "line 3, option `time_based`: found `yes`, wanted 0, 1 or nothing"),
];

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    for (text, said) in WRONG {
        let error = fio_job::parse("job.fio", text, &Around::drive(DRIVE))
            .err()
            .unwrap_or_else(|| panic!("accepted: {text}"))
            .to_string();
        assert!(error.contains(said), "{text}\nlacks {said}: {error}");
    }
    let slip = fio_job::parse("job.fio", "[a]\niodpth=4\n", &Around::drive(DRIVE)).expect_err("no such option");
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
