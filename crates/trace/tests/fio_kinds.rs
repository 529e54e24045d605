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

/// The requests that fio sends for each of some jobs without rates, one after the other; `None` where there is no fio.
fn sent_each(name: &str, jobs: &[impl AsRef<str>]) -> Option<Vec<Vec<Record>>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fio_kinds").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    let section = |(index, job): (usize, &_)| {
        let job = AsRef::<str>::as_ref(job);
        format!("[a{index}]\nioengine=null\nthread\nstonewall\nwrite_iolog=log{index}\n{job}\n")
    };
    let text: String = jobs.iter().enumerate().map(section).collect();
    std::fs::write(folder.join("job.fio"), &text).expect("written");
    let Ok(output) = Command::new("fio").current_dir(&folder).arg("job.fio").output() else {
        eprintln!("fio is not installed: not compared");
        return None;
    };
    assert!(output.status.success(), "{text}: {}", String::from_utf8_lossy(&output.stderr));
    let read = |index| {
        let source = TraceSource::path(folder.join(format!("log{index}"))).with_format("fio-iolog").expect("a format");
        source.open().expect("a log").map(|record| record.expect("a request")).collect()
    };
    Some((0..jobs.len()).map(read).collect())
}

/// The requests that fio sends for one job.
fn sent(name: &str, job: &str) -> Option<Vec<Record>> {
    sent_each(name, &[job])?.pop()
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
        // It is aligned upwards.
        "size=1m\noffset=33%\nrw=write",
        "size=64k\nbs=4k\nnumber_ios=9\nloops=2\nrw=randwrite",
    ];
    let Some(theirs) = sent_each("range", &jobs) else { return };
    for (job, theirs) in jobs.iter().zip(&theirs) {
        assert_eq!(counts(&drawn(&format!("[a]\n{job}\n"))), counts(theirs), "{job}");
    }
}

/// Loops, flushes and checks, request by request: which file a flush goes to counts, too.
#[test]
fn loops_flushes_and_checks_are_those_of_fio() {
    let jobs = [
        "rw=write\nnumber_ios=7\nloops=3",
        "rw=write\nsize=16k\nnumber_ios=7\nloops=3",
        "rw=write\nverify=crc32c\nnumber_ios=5\nloops=2",
        "rw=write\nio_size=24k\nloops=2",
        "rw=write\nio_size=100k\nloops=3",
        "rw=write\nio_size=160k\nloops=2",
        "rw=write\nloops=0",
        "rw=write\nfsync=3\nfdatasync=2",
        "rw=write\nnrfiles=3\nfsync=2",
        "rw=write\nnrfiles=3\nfsync=2\nfile_service_type=sequential",
        "rw=write\nnrfiles=2\nverify=crc32c\nfsync=3",
        "rw=write\nverify_pattern=0xff",
        "rw=write\nverify=0\nverify_pattern=0xff",
        "rw=read\nverify=crc32c\nloops=2",
        "rw=rw\nrwmixread=100\nverify=crc32c\nloops=2",
        "rw=trimwrite\nbs=4k,8k,16k",
        "rw=trimwrite\nbs=4k,1k,16k\nloops=2",
    ];
    let request = |one: &Record| (one.op, one.device, one.lba.0, one.sectors);
    let jobs = jobs.map(|job| format!("size=64k\nbs=4k\n{job}"));
    let Some(theirs) = sent_each("loops", &jobs) else { return };
    for (job, theirs) in jobs.iter().zip(&theirs) {
        let ours = drawn(&format!("[a]\n{job}\n"));
        assert_eq!(ours.iter().map(request).collect::<Vec<_>>(), theirs.iter().map(request).collect::<Vec<_>>(), "{job}");
    }
    // A popularity without its number has fio's own.
    for (bare, full) in [("zipf", "zipf:1.1"), ("pareto", "pareto:0.2"), ("normal", "normal:0")] {
        let of = |name: &str| drawn(&format!("[a]\nrw=randread\nsize=1m\nrandom_distribution={name}\n"));
        assert!(of(bare) == of(full), "{bare}");
    }
}

/// Options with which fio would send requests that are not made here, and values that fio takes for others.
#[test]
fn other_requests_than_those_of_fio_are_refused() {
    for (job, said) in [
        ("offset=1000", "option `offset`: found `1000`, wanted offsets that are multiples of 512 bytes"),
        ("size=1z", "option `size`: found `1z`, wanted a size such as 4k or 1g, or a percentage; `z` counts the zones"),
        ("size=1e6", "option `size`: found `1e6`, wanted a size such as 4k or 1g, or a percentage (fio reads 1)"),
        ("size=1.5m", "or a percentage (fio reads 1)"),
        ("size=0x10k", "or a percentage (fio reads 16)"),
        ("bs=4k-16k", "a range is `bsrange=4k-16k`"),
        ("rw=trimwrite\nbs=4k,12k,16k", "found `4k,12k,16k`, wanted one size for writes and trims"),
        ("rw=trimwrite\nbs=4k,8k,16k\nverify=md5", "found `4k,8k,16k`, wanted one size for writes and trims"),
        ("verify=true", "option `verify`: found `true`, wanted a check that fio has"),
        ("create_only=1", "option `create_only`: files are made and nothing is asked for"),
        ("trim_percentage=10", "option `trim_percentage`: trims among what is verified are not drawn"),
    ] {
        let error = parsed(&format!("[a]\nsize=1m\n{job}\n")).expect_err(job);
        assert!(error.contains(said), "{error}");
    }
    for job in ["create_only=0", "rw=trim\nnum_range=4", "replay_scale=7", "offset=33%\noffset_align=64k"] {
        parsed(&format!("[a]\nsize=1m\n{job}\n")).expect(job);
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
    let jobs = jobs.map(|job| format!("{job}\nzonemode=strided"));
    let Some(theirs) = sent_each("zones", &jobs) else { return };
    for (job, theirs) in jobs.iter().zip(&theirs) {
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
        let Some(theirs) = sent(&format!("in-zone-{index}"), job) else { return };
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
    let Some(theirs) = sent("splits", job) else { return };
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
        let Some(theirs) = sent(&format!("rate-{index}"), &job) else { return };
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
