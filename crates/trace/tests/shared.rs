//! The shared trace files against the tables of their READMEs, which were counted by another
//! program. Where the folder is absent these tests say so and check nothing.

use flashkeep_trace::{Footprint, ReadCounts, ReadOptions, TraceError, TraceSource};
use std::path::PathBuf;
use vocab::{Bytes, Nanos};

/// The folder of shared traces, if it is there.
fn folder() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces");
    let folder = std::env::var_os("FLASHKEEP_TRACES").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no traces at {} (set FLASHKEEP_TRACES)", folder.display());
    None
}

/// A row of the README: file, format; requests, read %, MiB read, MiB written, footprint and
/// written pages, seconds, devices, unaligned %, steps back.
type Row = (&'static str, &'static str, u64, f64, u64, u64, u64, u64, f64, u32, u64, u64);

const MS: &str = "disksim-ms-sectors";
const PAGES: &str = "disksim-ms-pages4k";
const NS: &str = "disksim-ns-sectors";

const TABLE: [Row; 20] = [
    ("umass-Financial1-first10k.spc.xz", "auto", 10_000, 40.8, 24, 28, 7_322, 3_734, 259.6, 22, 100, 0),
    ("umass-Financial1-first50k-pagesized.trace.xz", PAGES, 50_000, 58.4, 212, 129, 31_150, 8_890, 853.4, 1, 87, 0),
    ("umass-WebSearch1-first24783.trace.xz", NS, 24_783, 100.0, 364, 0, 93_029, 4, 60.1, 6, 0, 0),
    ("umass-WebSearch1-first50k-pagesized.trace.xz", PAGES, 50_000, 100.0, 739, 0, 185_456, 4, 128.7, 1, 0, 0),
    ("ms-tpcc-6999.trace.xz", NS, 6_999, 62.6, 35, 22, 20_470, 7_879, 0.1, 16, 87, 0),
    ("msr-ssd-postmark-aligned2.trace.xz", MS, 62_257, 83.2, 4_994, 8_523, 1_533_388, 1_532_457, 490.4, 1, 0, 0),
    ("msr-ssd-iozone-aligned2-100K.trace.xz", MS, 100_000, 0.0, 0, 35_148, 271_320, 271_320, 936.4, 1, 0, 0),
    ("linux-webserver-2.load.xz", "auto", 269_007, 55.4, 3_411, 1_064, 488_036, 79_386, 3_600.9, 1, 7, 0),
    ("windows-mssql.load.xz", "auto", 42_976, 5.9, 51, 958, 154_742, 151_627, 3_062.3, 1, 38, 0),
    ("diskmon-windows-desktop-mayun2.txt.xz", "auto", 87_160, 42.1, 777, 900, 210_304, 133_688, 11_719.8, 1, 91, 0),
    ("msr-cambridge-rsrch_1.csv.xz", "auto", 13_780, 0.3, 1, 163, 28_775, 28_769, 576_557.6, 1, 7, 0),
    ("msr-cambridge-cut10k-rw_40_60.1370.trace.xz", "disksim-ms-bytes", 10_000, 40.5, 19, 28, 8_968, 4_294, 85.9, 1, 45, 0),
    ("ms-production-DTRS-5min-us.trace.xz", "disksim-us-sectors", 127_043, 89.0, 6_139, 726, 1_272_267, 184_051, 300.0, 1, 3, 0),
    ("cloudphysics-vscsi-2h.csv.xz", "auto", 113_872, 41.3, 1_714, 2_297, 269_210, 208_696, 7_200.1, 1, 100, 0),
    ("pixel6a-telegram_exec.csv.xz", "auto", 251_879, 9.6, 1_444, 4_567, 1_021_153, 976_231, 7_474.1, 1, 0, 0),
    ("pixel6a-telegram_precond.csv.xz", "auto", 5_320, 0.0, 0, 140, 31_820, 31_820, 1_034.9, 1, 0, 0),
    ("nexus5-biotracer-Installing_log181.txt.xz", "auto", 17_952, 1.7, 7, 1_610, 266_758, 265_188, 977.8, 1, 17, 352),
    ("hadoop-eternity10-D.blkparse.txt.xz", "auto", 137_358, 99.4, 38_686, 23, 9_908_918, 5_525, 169.3, 1, 0, 0),
    ("ycsb-rocksdb-ssdtrace-first10k.blkparse.txt.xz", "auto", 1_694, 100.0, 189, 0, 48_347, 0, 0.7, 1, 0, 0),
    ("fiu-cheetah-nfs-10k.txt.xz", "auto", 9_998, 89.0, 35, 4, 9_202, 894, 23.6, 1, 0, 0),
];

fn mib(size: Bytes) -> u64 {
    (size.0 + (1 << 19)) >> 20
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

fn scan(source: &TraceSource) -> (Footprint, ReadCounts) {
    let mut reader = source.open().unwrap_or_else(|error| panic!("{error}"));
    let footprint = Footprint::scan(reader.by_ref(), Bytes(4096)).unwrap_or_else(|error| panic!("{error}"));
    (footprint, reader.counts())
}

#[test]
fn every_collected_trace_has_the_key_figures_of_its_readme() {
    let Some(folder) = folder() else { return };
    for (file, format, requests, reads, mib_read, mib_written, pages, written, seconds, devices, unaligned, back) in TABLE {
        let source = TraceSource::path(folder.join(file)).with_format(format).unwrap();
        let (footprint, read) = scan(&source);
        let counts = footprint.counts();
        assert_eq!((counts.requests, read.clamped, counts.flushes), (requests, 0, 0), "{file}");
        assert_eq!(format!("{:.1}", percent(counts.reads, requests)), format!("{reads:.1}"), "{file}");
        assert_eq!((mib(counts.read_bytes), mib(counts.written_bytes)), (mib_read, mib_written), "{file}");
        assert_eq!((footprint.slots(), footprint.written_slots()), (pages, written), "{file}");
        assert!((counts.duration.as_secs_f64() - seconds).abs() <= 0.051, "{file}: {:?}", counts.duration);
        assert_eq!(counts.devices, devices, "{file}");
        assert!((percent(counts.unaligned, requests) - unaligned as f64).abs() <= 0.5, "{file}");
        // Without a window, records that step back show up as clamped.
        if back > 0 {
            let window = ReadOptions { reorder_window: Nanos(0), reorder_records: 0, ..ReadOptions::default() };
            let (_, unsorted) = scan(&source.with_options(window));
            assert!(unsorted.clamped >= back, "{file}: {unsorted:?}");
        }
    }
}

/// File; reads, writes, flushes, MiB read, MiB written, footprint in MiB, seconds.
const RECORDED: [(&str, [u64; 6], f64); 5] = [
    ("postmark", [95_704, 85_304, 48, 1682, 2783, 1647], 113.6),
    ("varmail", [66_313, 98_718, 12_815, 749, 1490, 635], 47.4),
    ("webserver", [199_233, 3_665, 24, 3492, 752, 736], 49.0),
    ("videoserver", [4_287, 3_120, 19, 4433, 2930, 2066], 49.6),
    ("pgbench", [108_095, 98_294, 18_219, 1880, 4367, 1411], 85.9),
];

#[test]
fn every_recorded_trace_has_the_key_figures_of_its_readme() {
    let Some(folder) = folder() else { return };
    for (name, expected, seconds) in RECORDED {
        let (footprint, _) = scan(&TraceSource::path(folder.join(format!("recorded/{name}.blkparse.xz"))));
        let c = footprint.counts();
        let seen = [c.reads, c.writes, c.flushes, mib(c.read_bytes), mib(c.written_bytes), mib(footprint.size())];
        assert_eq!(seen, expected, "{name}");
        assert!((c.duration.as_secs_f64() - seconds).abs() <= 0.051, "{name}");
    }
}

#[test]
fn detection_knows_every_shared_file_but_the_disksim_family_which_it_refuses_to_guess() {
    let Some(folder) = folder() else { return };
    for row in TABLE {
        let opened = TraceSource::path(folder.join(row.0)).open();
        if row.1 == "auto" {
            assert!(opened.is_ok(), "{}: {:?}", row.0, opened.err());
        } else {
            let error = opened.map(|_| ()).unwrap_err();
            assert!(matches!(&error, TraceError::Ambiguous { variants, .. } if variants.contains(row.1)), "{error}");
        }
    }
}

#[test]
fn the_bundled_trace_has_the_key_figures_of_its_readme() {
    let (footprint, read) = scan(&TraceSource::bundled("pgbench").unwrap());
    let c = footprint.counts();
    assert_eq!((c.requests, c.reads, c.writes, c.fua_writes, c.flushes), (180_244, 77_119, 86_774, 0, 16_351));
    assert_eq!((mib(c.read_bytes), mib(c.written_bytes)), (697, 1291));
    assert_eq!((footprint.slots(), footprint.written_slots()), (178_767, 170_310));
    assert_eq!((c.duration, read.clamped, read.ignored), (Nanos(60_010_236_000), 0, 0));
    assert!(flashkeep_trace::BUNDLED.iter().all(|trace| trace.name != "pgbench" || trace.requests == c.requests));
}
