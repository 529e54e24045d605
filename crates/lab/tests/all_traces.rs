//! Every trace at hand over every scheme. The bundled trace is always there; the shared ones lie
//! beside the workspace or where `FLASHKEEP_TRACES` says, and where they are absent a test says
//! so and checks nothing.

use experiment::Experiment;
use flashkeep_lab::{Bench, Comparison, compare};
use ssd::protect::registry::SCHEMES;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use trace::{Record, TraceSource};
use vocab::{Fua, HostOp};

/// Data that a prefix moves at most: with all bytes in memory, three drives of this size fit
/// anywhere, and a trace of large requests takes no longer than one of small ones.
const PREFIX_BYTES: u64 = 32 << 20;
/// Requests of a prefix over which payloads are compared, and over which a format is tried.
const PAYLOAD_REQUESTS: usize = 4_000;
const FORMAT_REQUESTS: usize = 3_000;
/// One overwrite of the whole space: GC is under way, and the tests stay quick.
const SHORT_HISTORY: &str = "precondition.overwrite_at_most = 1.0";

/// Files whose units only their name tells; all others are detected.
const DISKSIM: [(&str, &str); 7] = [
    ("umass-Financial1-first50k-pagesized", "disksim-ms-pages4k"),
    ("umass-WebSearch1-first50k-pagesized", "disksim-ms-pages4k"),
    ("umass-WebSearch1-first24783", "disksim-ns-sectors"),
    ("ms-tpcc", "disksim-ns-sectors"),
    ("msr-ssd", "disksim-ms-sectors"),
    ("msr-cambridge-cut10k", "disksim-ms-bytes"),
    ("ms-production-DTRS", "disksim-us-sectors"),
];

/// Traces of a folder below that of the shared ones, in order of name; none where it is absent.
fn shared(folder: &str) -> Vec<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let root = std::env::var_os("FLASHKEEP_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        eprintln!("SKIPPED: no traces at {} (set FLASHKEEP_TRACES)", root.join(folder).display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a directory entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "xz"));
    files.sort();
    assert!(!files.is_empty(), "{} has no traces", root.join(folder).display());
    files
}

fn name_of(file: &Path) -> String {
    file.file_name().expect("a file has a name").to_string_lossy().into_owned()
}

fn source(file: &Path) -> TraceSource {
    let name = name_of(file);
    let format = DISKSIM.iter().find(|(start, _)| name.starts_with(start)).map_or("auto", |(_, format)| format);
    TraceSource::path(file).with_format(format).unwrap_or_else(|e| panic!("{e}"))
}

/// The bundled trace and the recorded ones.
fn recordings() -> Vec<(String, TraceSource)> {
    let bundled = trace::BUNDLED.iter().map(|b| (format!("bundled-{}", b.name), TraceSource::bundled(b.name).expect("bundled")));
    let recorded = shared("recorded").into_iter().map(|file| (format!("recorded-{}", name_of(&file)), source(&file)));
    bundled.chain(recorded).collect()
}

fn first_requests(source: &TraceSource, requests: usize) -> Vec<Record> {
    let mut bytes = 0;
    let records = source.open().unwrap_or_else(|e| panic!("{e}")).map(|record| record.unwrap_or_else(|e| panic!("{e}")));
    let within = records.take_while(|record| {
        bytes += record.size().0;
        bytes <= PREFIX_BYTES.saturating_mul((requests / FORMAT_REQUESTS).max(1) as u64)
    });
    within.take(requests).collect()
}

fn blkparse_line(record: &Record) -> String {
    let rwbs = match record.op {
        HostOp::Read => "R",
        HostOp::Write(Fua::No) => "W",
        HostOp::Write(Fua::Yes) => "WF",
        HostOp::Flush => "FF",
        HostOp::Discard => "D",
    };
    let (seconds, nanos) = (record.at.0 / 1_000_000_000, record.at.0 % 1_000_000_000);
    format!("8,{} 0 1 {seconds}.{nanos:09} 1 D {rwbs} {} + {} [x]\n", record.device, record.lba.0, record.sectors)
}

/// The beginning of a trace as a file of its own.
fn prefix(label: &str, source: &TraceSource, requests: usize) -> PathBuf {
    let records = first_requests(source, requests);
    let text = records.iter().fold(String::new(), |mut text, record| {
        text.write_str(&blkparse_line(record)).expect("texts grow");
        text
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{label}.{requests}.blkparse"));
    std::fs::write(&file, text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let read_back = first_requests(&TraceSource::path(&file), usize::MAX);
    assert_eq!(read_back, records, "{label}: the prefix is the trace's");
    file
}

fn schemes() -> Vec<&'static str> {
    SCHEMES.iter().filter(|entry| !entry.canary).map(|entry| entry.name).collect()
}

/// Every scheme that keeps its promise with each of its variants, in rounds: of each scheme one a
/// round, with the options as an experiment gives them.
fn variants() -> Vec<(Vec<&'static str>, String)> {
    let entries = || SCHEMES.iter().filter(|entry| !entry.canary);
    let rounds = entries().map(|entry| entry.variants.len()).max().expect("there are schemes");
    let round = |round: usize| {
        let with = || entries().filter_map(move |entry| Some((entry.name, entry.variants.get(round)?)));
        let table = |(name, options): (&str, &&[(&str, &str)])| {
            options.iter().fold(format!("[scheme.{name}]\n"), |text, (key, value)| format!("{text}{key} = {value:?}\n"))
        };
        (with().map(|(name, _)| name).collect(), with().map(table).collect())
    };
    (0..rounds).map(round).collect()
}

/// Replays over all schemes with their defaults, then over all variants; what is wrong.
fn wrong_in_any(label: &str, source: &str, settings: &str) -> String {
    let defaults = ["", "[buffer]\nkind = \"off\"\n"].map(|buffer| (schemes(), buffer.to_owned())).into_iter();
    let each = |(schemes, options): (Vec<&str>, String)| {
        wrong(&format!("{label} {options:?}"), &replay(source, &schemes, &format!("{settings}\n{options}")))
    };
    defaults.chain(variants()).map(each).collect()
}

fn replay(source: &str, schemes: &[&str], settings: &str) -> Comparison {
    // A small drive: what it holds before the workload is kept in full, too.
    let text = format!(
        "drive.preset = \"mlc-2014\"\nwarmup = \"none\"\nschemes = {schemes:?}\n{settings}\n[trace]\nsource = {source:?}\n"
    );
    let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    compare(&experiment, &bench).unwrap_or_else(|e| panic!("{source}: {e}"))
}

/// Problems of the outcomes, in words; none if every request was answered, every read checked and right, and no page
/// was lost.
fn wrong(label: &str, comparison: &Comparison) -> String {
    let mut said = String::new();
    let requests = comparison.trace.requests;
    for outcome in &comparison.outcomes {
        let r = &outcome.result;
        let answered: u64 = r.host.requests.values().sum();
        let found = [
            r.oracle.mismatches,
            r.host.media_errors,
            r.host.write_errors,
            requests - answered,
            r.host.read_pages - r.oracle.checked_reads,
        ];
        if !waits_add_up(&r.waits, &r.host) {
            writeln!(said, "{label}, {}: waits do not add up to the latency", outcome.choice.name).expect("texts grow");
        }
        if found != [0; 5] {
            let what = "[mismatches, media errors, write errors, requests unanswered, reads unchecked]";
            writeln!(said, "{label}, {}: {what} = {found:?}", outcome.choice.name).expect("texts grow");
        }
    }
    said
}

/// Whether the waits of reads and of writes add up to their mean latency. That those of each request do is asserted where
/// it is answered.
fn waits_add_up(waits: &Option<ssd::WaitsResult>, host: &ssd::HostResult) -> bool {
    let Some(waits) = waits else { return false };
    [(&waits.reads, &host.read_latency_us), (&waits.writes, &host.write_latency_us)].into_iter().all(|(explained, latency)| {
        let sum: f64 = explained.mean_us.values().sum();
        explained.requests == latency.count && (sum - latency.mean).abs() <= 1e-9 * latency.mean
    })
}

/// Requests of a recording that every variant replays. `FLASHKEEP_REQUESTS=1000000` takes them
/// all, in minutes: `FLASHKEEP_REQUESTS=1000000 cargo test --release -p flashkeep-lab --test
/// all_traces`.
fn requests() -> usize {
    std::env::var("FLASHKEEP_REQUESTS").ok().and_then(|text| text.parse().ok()).unwrap_or(FORMAT_REQUESTS)
}

#[test]
fn every_scheme_replays_the_whole_bundled_trace_without_an_error() {
    for bundled in trace::BUNDLED {
        let comparison = replay(bundled.name, &schemes(), "payload = \"tag\"");
        assert_eq!(comparison.trace.requests, bundled.requests, "{}", bundled.name);
        assert_eq!(wrong(bundled.name, &comparison), "");
    }
}

#[test]
fn every_scheme_and_variant_replays_the_beginning_of_every_recording_without_an_error() {
    let mut said = String::new();
    for (label, source) in recordings() {
        let file = prefix(&label, &source, requests()).display().to_string();
        said += &wrong_in_any(&label, &file, &format!("payload = \"tag\"\n{SHORT_HISTORY}"));
    }
    assert_eq!(said, "");
}

#[test]
fn what_pages_carry_changes_no_event_of_any_scheme_on_any_recording() {
    let mut said = String::new();
    for (label, source) in recordings() {
        let file = prefix(&label, &source, PAYLOAD_REQUESTS).display().to_string();
        let [none, tag, page] =
            ["none", "tag", "page"].map(|payload| replay(&file, &schemes(), &format!("payload = {payload:?}\n{SHORT_HISTORY}")));
        said += &wrong(&format!("{label} with tags"), &tag);
        said += &wrong(&format!("{label} with pages"), &page);
        for ((tag, none), page) in tag.outcomes.iter().zip(&none.outcomes).zip(&page.outcomes) {
            let [tags, nothing, pages] = [tag, none, page].map(|o| (o.result.replay.event_digest, o.result.flash.ops));
            if tags != nothing || tags != pages {
                let name = &tag.choice.name;
                writeln!(said, "{label}, {name}: tags {tags:x?}, nothing {nothing:x?}, pages {pages:x?}").expect("texts grow");
            }
        }
    }
    assert_eq!(said, "");
}

#[test]
fn the_beginning_of_every_shared_trace_replays_without_an_error() {
    let mut said = String::new();
    for file in shared(".") {
        let label = name_of(&file);
        let file = prefix(&label, &source(&file), FORMAT_REQUESTS).display().to_string();
        let comparison = replay(&file, &["none", "raid5", "ds-raid"], SHORT_HISTORY);
        said += &wrong(&label, &comparison);
    }
    assert_eq!(said, "");
}
