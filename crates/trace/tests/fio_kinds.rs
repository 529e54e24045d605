//! Kinds of values that job files of others have, against what fio itself sends to an engine that does nothing.

use flashkeep_trace::flows::FlowClock;
use flashkeep_trace::flows::fio_job::{self, Around};
use flashkeep_trace::{Record, TraceSource};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use vocab::HostOp;

fn parsed(text: &str) -> Result<flashkeep_trace::flows::Flows, String> {
    fio_job::parse("job.fio", text, &Around::drive(8 << 30)).map_err(|error| error.to_string())
}

fn drawn(text: &str) -> Vec<Record> {
    let flows = parsed(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    flows.records(1).map(|record| record.expect("drawn requests have no errors")).collect()
}

/// The requests that fio sends for a job without rates; `None` where there is no fio.
fn sent(index: usize, job: &str) -> Option<Vec<Record>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio_kinds").join(index.to_string());
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    std::fs::write(folder.join("job.fio"), format!("[a]\nioengine=null\nthread\nwrite_iolog=log\n{job}\n")).expect("written");
    let Ok(output) = Command::new("fio").current_dir(&folder).arg("job.fio").output() else {
        eprintln!("fio is not installed: not compared");
        return None;
    };
    assert!(output.status.success(), "{job}: {}", String::from_utf8_lossy(&output.stderr));
    let source = TraceSource::path(folder.join("log")).with_format("fio-iolog").expect("a format");
    Some(source.open().expect("a log").map(|record| record.expect("a request")).collect())
}

/// Requests of each kind and size, and the first and the last sector.
fn counts(records: &[Record]) -> (BTreeMap<(u8, u32), usize>, u64, u64) {
    let mut sizes = BTreeMap::new();
    let kind = |op| match op {
        HostOp::Read => 0,
        HostOp::Write(_) => 1,
        HostOp::Discard => 2,
        HostOp::Flush => 3,
    };
    records.iter().for_each(|one| *sizes.entry((kind(one.op), one.sectors)).or_insert(0) += 1);
    let first = records.iter().map(|one| one.lba.0).min().unwrap_or(0);
    (sizes, first, records.iter().map(|one| one.lba.0 + u64::from(one.sectors)).max().unwrap_or(0))
}

/// Jobs in which nothing but the order is drawn.
#[test]
fn kinds_sizes_and_range_are_those_of_fio() {
    let jobs = [
        // A share above 100 is the whole.
        "filesize=1m\nsize=200%\nrw=write",
        // A kind that `bssplit` leaves out has the size of `bs`.
        "size=1m\nbs=8k\nbssplit=,64k\nrw=read",
        "size=1m\nbs=8k\nbssplit=,64k\nrw=write",
        "size=1m\nbs=8k\nbssplit=,,64k\nrw=write",
        "size=1m\nbs=8k\nbssplit=,,64k\nrw=trim",
        "size=1m\nbs=8k\nbssplit=16k,\nrw=write",
        "size=1m\nbs=8k\nbssplit=16k,\nrw=read",
        // The first size of a range counts.
        "size=36m\nbssplit=36k-60k/100\nrw=write",
        // Trims are larger than any read.
        "size=4g\nbs=2g\nrw=trim",
        // Units without `ib` are powers of 1024.
        "size=1mi\nrw=write",
        "size=1MiB\nrw=write",
        // A share of a file that is no device is one of what is asked for.
        "size=1m\noffset=50%\nrw=write",
    ];
    for (index, job) in jobs.iter().enumerate() {
        let Some(theirs) = sent(index, job) else { return };
        assert_eq!(counts(&drawn(&format!("[a]\n{job}\n"))), counts(&theirs), "{job}");
    }
}

fn place(one: &Record) -> (bool, u64, u32) {
    (one.op == HostOp::Read, one.lba.0, one.sectors)
}

/// Zones one after the other, request by request.
#[test]
fn zones_follow_each_other_as_in_fio() {
    let jobs = [
        "rw=read\nsize=1m\nbs=16k\nzonesize=64k\nzoneskip=128k",
        "rw=write\nsize=1m\nbs=16k\nzonesize=64k",
        "rw=read\nsize=1m\nbs=16k\nzonerange=128k\nzonesize=32k\nzoneskip=64k",
        "rw=read\nsize=1m\nbs=16k\nzonerange=64k\nzonesize=160k\nzoneskip=64k",
        "rw=write\nfilesize=1m\nsize=256k\nbs=16k\nzonesize=64k\nzoneskip=256k",
        "rw=read\nsize=1m\noffset=512k\nbs=16k\nzonesize=64k\nzoneskip=320k",
        "rw=read\nsize=700k\nbs=16k\nzonesize=256k\nzoneskip=300k",
        "rw=read\nsize=1m\nbs=24k\nzonesize=64k\nzoneskip=64k",
        "rw=read\nsize=1m\nio_size=3m\nbs=16k\nzonesize=64k\nzoneskip=128k",
        "rw=read\nsize=1m\nloops=2\nbs=16k\nzonesize=80k\nzoneskip=128k",
        "rw=read:16k\nsize=1m\nbs=16k\nzonerange=128k\nzonesize=64k\nzoneskip=64k",
        "rw=read\nsize=256k\nbs=16k\nzonesize=4m\nzoneskip=4m",
        "rw=read\nsize=1m\nbs=16k\nnrfiles=2\nzonesize=64k\nzoneskip=128k",
        "rw=read\nsize=1m\nbs=16k\nnrfiles=2\nopenfiles=2\nzonesize=64k\nzoneskip=128k",
    ];
    for (index, job) in jobs.iter().enumerate() {
        let job = &format!("{job}\nzonemode=strided");
        let Some(theirs) = sent(200 + index, job) else { return };
        let ours = drawn(&format!("[a]\n{job}\n"));
        assert_eq!(ours.iter().map(place).collect::<Vec<_>>(), theirs.iter().map(place).collect::<Vec<_>>(), "{job}");
    }
}

/// Places at random within a zone: each run of requests stays in its zone and takes each of its blocks once.
#[test]
fn places_at_random_stay_in_their_zone() {
    for (index, (job, run)) in [
        ("rw=randread\nsize=1m\nbs=4k\nzonesize=64k\nzoneskip=192k", 16),
        ("rw=randwrite\nsize=1m\nbs=4k\nzonerange=32k\nzonesize=96k\nzoneskip=32k", 8),
    ]
    .into_iter()
    .enumerate()
    {
        let runs = |records: &[Record]| {
            let sorted = |run: &[Record]| {
                let mut places: Vec<_> = run.iter().map(place).collect();
                places.sort_unstable();
                places
            };
            records.chunks(run).map(sorted).collect::<Vec<_>>()
        };
        let job = &format!("{job}\nzonemode=strided");
        let Some(theirs) = sent(300 + index, job) else { return };
        assert_eq!(runs(&drawn(&format!("[a]\n{job}\n"))), runs(&theirs), "{job}");
    }
}

/// Blocks in the order in which fio sends them; measured with its commit f5344384, since releases up to 3.42 have no sequences.
#[test]
fn blocks_come_in_the_order_that_is_listed() {
    for (job, blocks) in [
        ("io_size=24k\nrandom_distribution=sequence:2,0,1", vec![2, 0, 1, 2, 0, 1]),
        ("io_size=24k\nrandom_distribution=sequence:2,0,1\nrandom_sequence_stride=1", vec![2, 0, 1, 5, 3, 4]),
        ("io_size=96k\nrandom_distribution=sequence:2,0,1\nrandom_sequence_stride=1", vec![2, 0, 1, 5, 3, 4, 8, 6, 7, 11, 9, 10]),
        ("size=40k\nio_size=96k\nrandom_distribution=sequence:2,0,1\nrandom_sequence_stride=1", vec![2, 0, 1, 5, 3, 4, 8, 6, 7]),
        ("offset=8k\nrandom_distribution=sequence:3,1", [5, 3].repeat(6)),
    ] {
        let records = drawn(&format!("[a]\nrw=randread\nsize=48k\n{job}\n"));
        assert_eq!(records.iter().map(|one| one.lba.0 / 8).collect::<Vec<_>>(), blocks, "{job}");
    }
    for (numbers, said) in [("5,20,1", "found `sequence:5,20,1`, wanted blocks below 12"), ("1,-2", "wanted sequence:BLOCK,..")] {
        let error = parsed(&format!("[a]\nrw=randread\nsize=48k\nrandom_distribution=sequence:{numbers}\n")).expect_err(numbers);
        assert!(error.contains(said), "{error}");
    }
}

/// fio reads `5.5` as 5. A tenth of the requests are of 4 KiB: 4.5 deviations of the difference of two draws of 1820.
#[test]
fn percentages_of_sizes_are_whole_ones() {
    let job = "size=14000k\nbssplit=4k/10.9:8k/90.5\nrw=write";
    let Some(theirs) = sent(100, job) else { return };
    let share = |records: &[Record]| records.iter().filter(|one| one.sectors == 8).count() as f64;
    let (ours, theirs) = (share(&drawn(&format!("[a]\n{job}\n"))), share(&theirs));
    assert!((ours - theirs).abs() < 4.5 * (2.0f64 * 1820.0 * 0.1 * 0.9).sqrt(), "{ours} {theirs}");
}

#[test]
fn a_rate_for_reads_does_not_hold_a_job_of_writes() {
    let text = "[global]\nsize=1m\nrate_iops=100,\n[a]\nrw=write\niodepth=4\n[b]\nrw=read\n";
    let flows = parsed(text).expect("each job has the rate of its own kind, or none");
    let is_timed: Vec<bool> = flows.flows.iter().map(|flow| flow.clock() == FlowClock::Times).collect();
    assert_eq!(is_timed, [false, true]);
    assert!(parsed("[a]\nsize=1m\nrw=rw\nrate_iops=100,\n").is_err_and(|error| error.contains("a rate for each kind")));
}

/// In a mix of which one kind has a rate, the other kind does not wait for it.
#[test]
fn a_rate_for_one_kind_leaves_the_other_its_queue() {
    for (index, (rates, rated)) in [("1000,", HostOp::Read), (",1000", HostOp::Write(vocab::Fua::No))].into_iter().enumerate() {
        let job = format!("rw=randrw\nsize=1m\nbs=4k\nrate_iops={rates}\nruntime=100ms\ntime_based\niodepth=4");
        let flows = parsed(&format!("[a]\nioengine=libaio\n{job}\n")).expect("a job that ends in time");
        let clocks: Vec<bool> = flows.flows.iter().map(|flow| flow.clock() == FlowClock::Times).collect();
        assert_eq!((clocks, flows.extents.len()), (vec![true, false], 1), "both go to one file");
        let ours: Vec<Record> = flows.records_of(0, 1).map(|one| one.expect("drawn")).collect();
        assert!(ours.len() == 100 && ours.iter().all(|one| one.op == rated), "{} of the rated kind in 100 ms", ours.len());
        let Some(theirs) = sent(400 + index, &job) else { return };
        let (slow, fast): (Vec<&Record>, Vec<&Record>) = theirs.iter().partition(|one| one.op == rated);
        assert!(2 * slow.len() < fast.len(), "without a rate they are as many: {} and {}", slow.len(), fast.len());
    }
}

#[test]
fn reads_and_writes_have_a_limit_that_trims_have_not() {
    for (job, said) in [
        ("bs=2g\nrw=read", "line 3, option `bs`: found `2g`, wanted reads and writes of at most 1g"),
        ("bs=2g\nrw=trimwrite", "wanted reads and writes of at most 1g"),
        ("bssplit=4k/50:2g/50\nrw=randwrite", "option `bssplit`: found `4k/50:2g/50`"),
        ("bs=4t\nrw=trim", "option `bs`: found `4t`, wanted multiples of 512 bytes"),
    ] {
        let error = parsed(&format!("[a]\nsize=8g\n{job}\n")).expect_err(job);
        assert!(error.contains(said), "{error}");
    }
    assert_eq!(drawn("[a]\nsize=8g\nbs=4k,4k,2g\nrw=trim\n").len(), 4);
}

/// An engine that fio loads has options that fio does not list; slips of options that count are errors all the same.
#[test]
fn options_of_an_engine_that_is_loaded_are_listed() {
    for engine in ["spdk_bdev", "./libmine.so", "external:/usr/lib/engine.o"] {
        let flows = parsed(&format!("[global]\nmine_conf=./a.json\n[a]\nsize=1m\nioengine={engine}\n")).expect("its options");
        let said = "not known to fio, taken for options of an engine that it loads: mine_conf";
        assert!(flows.notes.iter().any(|note| note == said), "{:?}", flows.notes);
    }
    for (text, option) in [
        ("[a]\nsize=1m\nioengine=spdk_bdev\niodpth=4\n", "iodpth"),
        ("[a]\nsize=1m\nioengine=libaio\nmine_conf=a\n", "mine_conf"),
        ("[a]\nsize=1m\nmine_conf=a\n", "mine_conf"),
        ("mine_conf=a\n[a]\nsize=1m\nioengine=spdk\n", "mine_conf"),
    ] {
        let error = parsed(text).expect_err(text);
        assert!(error.contains(&format!("option `{option}`: fio has no such option")), "{error}");
    }
    for engine in ["libaio", "libpmem", "libzbc", "io_uring", "libiscsi", "posixaio", "null", "windowsaio", "xnvme"] {
        assert!(parsed(&format!("[a]\nsize=1m\nioengine={engine}\nmine=1\n")).is_err(), "{engine} is one of fio's own");
    }
}
