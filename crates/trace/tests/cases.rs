//! Small recordings as people publish them, written by hand after public reports: what is right of each.

use flashkeep_trace::{BlkAction, Columns, ReadCounts, ReadOptions, Record, TraceError, TraceSource};
use std::path::{Path, PathBuf};
use std::process::Command;
use vocab::{Fua, HostOp};

const W: HostOp = HostOp::Write(Fua::No);
const R: HostOp = HostOp::Read;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(name)
}

/// Format, requests and counts of a case.
fn read(name: &str, columns: Option<&str>) -> Result<(&'static str, Vec<Record>, ReadCounts), TraceError> {
    let mut source = TraceSource::path(path(name));
    if let Some(columns) = columns {
        let columns: Columns = columns.parse()?;
        source = source.with_format("csv")?.with_options(ReadOptions { columns: Some(columns), ..ReadOptions::default() });
    }
    let mut reader = source.open()?;
    let records = reader.by_ref().collect::<Result<_, _>>()?;
    Ok((reader.format().name, records, reader.counts()))
}

fn good(name: &str, columns: Option<&str>) -> (&'static str, Vec<Record>, ReadCounts) {
    read(name, columns).unwrap_or_else(|error| panic!("{error}"))
}

/// (time in ns, device, operation, first sector, sectors)
type Row = (u64, u32, HostOp, u64, u32);

fn rows(records: &[Record]) -> Vec<Row> {
    records.iter().map(|r| (r.at.0, r.device, r.op, r.lba.0, r.sectors)).collect()
}

fn last_s(records: &[Record]) -> f64 {
    records.last().map_or(0.0, |one| one.at.0 as f64 * 1e-9)
}

#[test]
fn vscsi_times_in_seconds_are_read_with_named_columns() {
    let (format, records, _) = good("T01-vscsi-seconds.csv", None);
    assert_eq!((format, records.len()), ("vscsi", 400));
    let columns = "-,time=s,op=28:read,2a:write,size=bytes,lba=sectors";
    let (_, named, _) = good("T01-vscsi-seconds.csv", Some(columns));
    assert_eq!((named.len(), last_s(&named)), (400, 99.0));
    let same = |records: &[Record]| records.iter().map(|one| (one.op, one.lba, one.sectors)).collect::<Vec<_>>();
    assert_eq!(same(&records), same(&named));
}

#[test]
fn msr_has_single_letters_or_a_header() {
    for name in ["T02-msr-single-letters.csv", "T03-msr-header.csv"] {
        let (format, records, _) = good(name, None);
        assert_eq!((format, records.len(), last_s(&records)), ("msr", 20, 19.0), "{name}");
        assert!(records.iter().all(|one| one.sectors == 16), "{name}");
    }
}

/// Without its header a file of these columns could be anything: it is not taken for one of them.
#[test]
fn columns_are_not_guessed() {
    let open = |text: &str| TraceSource::bytes("t", text.as_bytes()).open().map(|reader| reader.format().name);
    assert!(matches!(open("x,y,8,W,100,8,1.5\nx,y,8,R,108,8,1.6\n"), Err(TraceError::Undetected { .. })));
    assert_eq!(open("proces,device,rw_flag,sector,size,timestamp\nx,8,W,100,8,1.5\n").expect("told"), "pixel");
    // One line that fits by chance is not enough.
    assert!(open("1,2,512,w,0.0\nname,value\nother,value\nmore,value\n").is_err());
}

#[test]
fn a_discard_may_be_large_and_nothing_else() {
    let (_, records, _) = good("T04-large-discard.blkparse", None);
    assert_eq!(records.len(), 3);
    assert_eq!((records[1].op, records[1].size().0), (HostOp::Discard, 4_294_966_784));
    let write = TraceSource::bytes("t", &b"8,0 0 1 0.0 1 D W 0 + 8388607 [x]\n"[..]);
    let error = write.open().expect("told").next().expect("one").expect_err("no host writes so much");
    assert!(error.to_string().contains("t, line 1, field `size`: found `4294966784 bytes`"), "{error}");
}

#[test]
fn the_parts_of_processes_are_no_requests() {
    assert_eq!(good("T05-per-process-summary.blkparse", None).1.len(), 2);
}

#[test]
fn numbers_may_have_exponents_or_be_hexadecimal() {
    let columns = "time=s,op,lba=bytes,size=bytes";
    let (_, records, _) = good("T07-exponent-times.csv", Some(columns));
    assert_eq!(records.iter().map(|one| one.at.0).collect::<Vec<_>>(), [0, 50_000, 120_000, 150_000]);
    let source = TraceSource::path(path("T08-hex.trace")).with_format("disksim-ns-sectors").expect("a format");
    let records: Vec<Record> = source.open().expect("told").collect::<Result<_, _>>().expect("read");
    assert_eq!((records.len(), records[1].lba.0, records[2].lba.0), (50, 0x308, 0x610));
    let (_, named, _) = good("T08-hex.trace", Some("time=ns,device,lba=sectors,size=sectors,op=0:write,1:read"));
    assert_eq!(rows(&named), rows(&records));
}

#[test]
fn words_for_operations_are_named() {
    let plain = read("T09-op-numbers.csv", Some("time=us,op,lba=sectors,size=sectors")).expect_err("0 is no word").to_string();
    assert!(plain.contains("field `op`: found `0`") && plain.contains("op=0:read,1:write"), "{plain}");
    let (_, records, _) = good("T09-op-numbers.csv", Some("time=us,op=0:read,1:write,lba=sectors,size=sectors"));
    assert_eq!(rows(&records), [(0, 0, R, 0, 8), (100_000, 0, W, 64, 8), (250_000, 0, W, 128, 16)]);
    let (_, records, counts) = good("T09-op-numbers.csv", Some("time=us,op=0:read,*:-,lba=blocks:4096,size=blocks:4096"));
    assert_eq!((rows(&records), counts.ignored), (vec![(0, 0, R, 0, 64)], 2));
    for bad in ["op=0:readd", "op=0", "lba=blocks:0", "lba=blocks:x"] {
        let columns = format!("time=us,{bad},lba=sectors,size=sectors");
        assert!(columns.parse::<Columns>().is_err(), "{bad}");
    }
}

#[test]
fn usual_words_for_operations_are_known() {
    let (_, records, _) = good("T10-trim-words.csv", Some("time=s,op,lba=bytes,size=bytes"));
    let ops: Vec<HostOp> = records.iter().map(|one| one.op).collect();
    let discard = HostOp::Discard;
    assert_eq!(ops, [discard, discard, discard, HostOp::Flush, R, HostOp::Write(Fua::Yes)]);
}

#[test]
fn virtual_desktops_of_systor() {
    let (format, records, _) = good("T11-lun.csv", None);
    let expected: [Row; 3] =
        [(0, 0, R, 17_559_690, 256), (100_000_000, 1, W, 13_972_752, 8), (1_236_882_000, 0, W, 13_972_760, 8)];
    assert_eq!((format, rows(&records)), ("systor17", expected.to_vec()));
    let blank = "Timestamp,Latency,IOType,LUN,Offset,Size\n1.0,0.1,R,0,512,512\n2.0,,W,0,0,512\n3.0,0.1,,0,0,512\n";
    let mut reader = TraceSource::bytes("t", blank.as_bytes()).open().expect("told");
    assert_eq!((reader.by_ref().count(), reader.counts().ignored), (1, 2));
}

#[test]
fn events_of_ftrace_and_perf() {
    let (format, records, _) = good("T12-ftrace.txt", None);
    let expected = [(0, 0, R, 4096, 16), (400_000, 0, HostOp::Flush, 0, 0), (900_000, 0, W, 8192, 8)];
    assert_eq!((format, rows(&records)), ("ftrace", expected.to_vec()));
    let perf = "fio   901 [001]   120.000100: block:block_rq_issue: 259,0 WFS 4096 (28 00 00) 8 + 8 none,0,0 [my prog]\n\
                x 1 [000] 120.5: block:block_bio_queue: 259,0 R 8 + 8 [x]\n";
    let with = |action| {
        let options = ReadOptions { blk_action: action, ..ReadOptions::default() };
        let source = TraceSource::bytes("t", perf.as_bytes()).with_format("ftrace").expect("a format").with_options(options);
        rows(&source.open().expect("opens").collect::<Result<Vec<_>, _>>().expect("read"))
    };
    assert_eq!(with(BlkAction::Issued), [(0, 0, HostOp::Write(Fua::Yes), 8, 8)]);
    assert_eq!(with(BlkAction::Queued), [(0, 0, R, 8, 8)]);
}

#[test]
fn columns_may_be_skipped_and_headers_stand_behind_comments() {
    let (_, records, _) = good("T13-skip-first-column.csv", Some("-,time=s,op,lba=bytes,size=bytes"));
    assert_eq!(records.len(), 2);
    let (_, records, _) = good("T19-comment-before-header.csv", Some("time=s,op,lba=bytes,size=bytes"));
    assert_eq!(rows(&records), [(0, 0, R, 0, 8), (1_000_000_000, 0, W, 8, 8)]);
}

#[test]
fn fields_may_have_quotes_with_commas_and_commas_for_points() {
    let read = |text: &str, columns: &str| {
        let columns: Columns = columns.parse().unwrap_or_else(|error| panic!("{error}"));
        let options = ReadOptions { columns: Some(columns), ..ReadOptions::default() };
        let source = TraceSource::bytes("t", text.as_bytes()).with_format("csv").expect("a format").with_options(options);
        rows(&source.open().expect("opens").collect::<Result<Vec<_>, _>>().unwrap_or_else(|error| panic!("{error}")))
    };
    let quoted = "name,time,op,lba,size\n\"a, b\",\"0\",\"R\",\"512\",\"512\"\n\"c\",1,W,1024,512\n";
    assert_eq!(read(quoted, "-,time=s,op,lba=bytes,size=bytes"), [(0, 0, R, 1, 1), (1_000_000_000, 0, W, 2, 1)]);
    let commas = "0,5;R;512;512\n1,25;W;1024;512.0\n";
    assert_eq!(read(commas, "time=s,op,lba=bytes,size=bytes"), [(0, 0, R, 1, 1), (750_000_000, 0, W, 2, 1)]);
}

#[test]
fn blanks_and_tabs_may_stand_side_by_side() {
    let columns: Columns = "time=s,op,lba=sectors,size=sectors".parse().expect("columns");
    let options = ReadOptions { columns: Some(columns), ..ReadOptions::default() };
    let source = TraceSource::bytes("t", &b"0 R 0 8\n1  W\t8 8\n2\tR\t16\t8\n"[..]).with_format("csv").expect("a format");
    let records: Vec<Record> = source.with_options(options).open().expect("opens").collect::<Result<_, _>>().expect("read");
    assert_eq!(rows(&records), [(0, 0, R, 0, 8), (1_000_000_000, 0, W, 8, 8), (2_000_000_000, 0, R, 16, 8)]);
}

/// A first line that names the format is believed, so that the fault is that of the line at fault.
#[test]
fn a_log_of_fio_is_told_by_its_header() {
    for (text, said) in [
        ("fio version 4 iolog\n0 a add\n", "line 1, field `header`: found `fio version 4 iolog`, wanted `fio version 2 iolog`"),
        ("fio version 3 iolog\n0 my file add\n0 my file open\n", "line 2, field `action`: found `file`, wanted read, write"),
    ] {
        let reader = TraceSource::bytes("t", text.as_bytes()).open();
        let error = reader.map_or_else(Some, |mut reader| reader.find_map(Result::err)).expect(text).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn requests_of_no_bytes_are_counted() {
    let (_, records, counts) = good("T15-zero-length.csv", None);
    assert_eq!((records.len(), counts.ignored), (9, 3));
}

#[test]
fn blocks_of_a_store_have_room_of_their_own() {
    let (format, records, _) = good("T16-cachebench-block.csv", None);
    let block = (8 << 20) / 512;
    assert_eq!(
        (format, rows(&records)),
        ("tectonic", vec![(0, 0, R, 0, block), (3_000_000_000, 0, W, u64::from(block) + 8192, 4096)])
    );
}

#[test]
fn windows_events_and_biosnoop() {
    let (format, records, _) = good("T17-etw.csv", None);
    assert_eq!(
        (format, rows(&records)),
        ("etw", vec![(0, 0, R, 0x0001_b6ae_4000 / 512, 32), (1_000_000, 1, W, 0xae_4000 / 512, 8)])
    );
    let (format, records, _) = good("T18-biosnoop.txt", None);
    assert_eq!((format, rows(&records)), ("biosnoop", vec![(0, 0, W, 13_092_560, 8), (1_465_000, 0, R, 41_950_344, 128)]));
    let queued = "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES QUE(ms) LAT(ms)\n\
                  0.000004    my app         1950   nvme0n1   WFS 16 4096 0.01 0.74\n";
    let records: Vec<Record> = TraceSource::bytes("t", queued.as_bytes()).open().expect("told").flatten().collect();
    assert_eq!(rows(&records), [(0, 0, HostOp::Write(Fua::Yes), 16, 8)]);
}

/// A record of blktrace.
struct BlkRecord {
    cpu: u32,
    number: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    /// Categories of the event, as bits.
    category: u32,
    action: u32,
}

/// A record of blktrace with data behind it, in the byte order of this test.
fn blk_record(of: &BlkRecord, extra: &[u8]) -> Vec<u8> {
    let BlkRecord { cpu, number, time, sector, bytes, category, action } = *of;
    let mut record = Vec::new();
    record.extend(0x6561_7407u32.to_le_bytes());
    record.extend(number.to_le_bytes());
    record.extend(time.to_le_bytes());
    record.extend(sector.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend((category << 16 | action).to_le_bytes());
    record.extend(1234u32.to_le_bytes());
    record.extend((8u32 << 20).to_le_bytes());
    record.extend(cpu.to_le_bytes());
    record.extend(0u16.to_le_bytes());
    record.extend((extra.len() as u16).to_le_bytes());
    record.extend(extra);
    record
}

/// Two processors' files: requests of every kind, other events, and one with data behind it.
fn blk_files() -> [Vec<u8>; 2] {
    const ISSUE: u32 = 1 << 6;
    let one = [
        blk_record(
            &BlkRecord { cpu: 0, number: 1, time: 1_000_000_000, sector: 2048, bytes: 4096, category: 1 | 1 << 4, action: 1 },
            &[],
        ),
        blk_record(
            &BlkRecord { cpu: 0, number: 2, time: 1_000_100_000, sector: 2048, bytes: 4096, category: 1 | ISSUE, action: 7 },
            &[],
        ),
        blk_record(
            &BlkRecord {
                cpu: 0,
                number: 3,
                time: 1_000_300_000,
                sector: 4096,
                bytes: 8192,
                category: 2 | 1 << 3 | 1 << 15 | ISSUE,
                action: 7,
            },
            b"extra",
        ),
        blk_record(
            &BlkRecord { cpu: 0, number: 4, time: 1_000_500_000, sector: 0, bytes: 0, category: 1 << 2 | ISSUE, action: 7 },
            &[],
        ),
    ];
    let two = [
        blk_record(
            &BlkRecord {
                cpu: 1,
                number: 1,
                time: 1_000_200_000,
                sector: 8,
                bytes: 512,
                category: 2 | 1 << 12 | ISSUE,
                action: 7,
            },
            &[],
        ),
        blk_record(
            &BlkRecord {
                cpu: 1,
                number: 2,
                time: 1_000_400_000,
                sector: 64,
                bytes: 1 << 20,
                category: 2 | 1 << 13 | ISSUE,
                action: 7,
            },
            &[],
        ),
        blk_record(
            &BlkRecord {
                cpu: 1,
                number: 3,
                time: 1_000_450_000,
                sector: 64,
                bytes: 1 << 20,
                category: 2 | 1 << 13 | 1 << 7,
                action: 8,
            },
            &[],
        ),
    ];
    [one.concat(), two.concat()]
}

fn written(test: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cases").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the target directory can be written");
    files.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).expect("written"));
    folder
}

#[test]
fn binary_blktrace_of_all_processors_is_what_blkparse_prints() {
    let [one, two] = blk_files();
    let folder = written("blktrace", &[("sda.blktrace.0", &one), ("sda.blktrace.1", &two)]);
    let reader = TraceSource::path(folder.join("sda.blktrace.0")).open().expect("told by its first bytes");
    assert_eq!(reader.format().name, "blktrace");
    let ours: Vec<Record> = reader.collect::<Result<_, _>>().expect("read");
    let expected = [
        (0, 0, R, 2048, 8),
        (100_000, 0, W, 8, 1),
        (200_000, 0, HostOp::Write(Fua::Yes), 4096, 16),
        (300_000, 0, HostOp::Discard, 64, 2048),
        (400_000, 0, HostOp::Flush, 0, 0),
    ];
    assert_eq!(rows(&ours), expected);
    let Ok(output) = Command::new("blkparse").current_dir(&folder).args(["-i", "sda", "-q"]).output() else {
        eprintln!("blkparse is not installed: not compared");
        return;
    };
    let theirs = TraceSource::bytes("blkparse", output.stdout).with_format("blkparse").expect("a format");
    let theirs: Vec<Record> = theirs.open().expect("opens").collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rows(&ours), rows(&theirs));
}

#[test]
fn a_binary_recording_that_is_cut_or_damaged_is_an_error() {
    let [one, _] = blk_files();
    let read = |bytes: &[u8]| TraceSource::bytes("t", bytes).open().and_then(|reader| reader.collect::<Result<Vec<_>, _>>());
    let problem = |bytes: &[u8]| read(bytes).expect_err("damaged").to_string();
    assert!(problem(&one[..one.len() - 7]).contains("the last record is cut short"));
    let mut damaged = one.clone();
    damaged[48] = 0xff;
    damaged[49] = 0xff;
    assert!(problem(&damaged).contains("record 2 begins with no magic"), "{}", problem(&damaged));
    // A later version has other fields.
    let mut later = one.clone();
    later[0] = 8;
    assert!(problem(&later).contains("record 1 is of version 8 of blktrace's format; 7 is read"));
    // In a folder, the place is that of the damage.
    let folder = written("damaged", &[("sda.blktrace.0", &damaged)]);
    let reader = TraceSource::path(folder.join("sda.blktrace.0")).open().expect("its first record is whole");
    let error = reader.collect::<Result<Vec<_>, _>>().expect_err("damaged").to_string();
    assert!(error.ends_with("cannot be read beyond its line or record 1: record 2 begins with no magic of blktrace"), "{error}");
    // Of another byte order, field by field.
    let mut big = Vec::new();
    for (at, size) in [(0, 4), (4, 4), (8, 8), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4), (40, 4), (44, 2), (46, 2)] {
        big.extend(one[48 + at..48 + at + size].iter().rev());
    }
    assert_eq!(rows(&read(&big).expect("read")), [(0, 0, R, 2048, 8)]);
}

#[test]
fn objects_and_scsi_records() {
    let object =
        |time: u32, id: u64, size: u32| [&time.to_le_bytes()[..], &id.to_le_bytes(), &size.to_le_bytes(), &[0; 8]].concat();
    let bytes = [object(5, u64::MAX, 4096), object(6, 7, 10_000), object(8, u64::MAX, 4096)].concat();
    let source = TraceSource::bytes("t", bytes).with_format("oracle-general").expect("a format");
    let records: Vec<Record> = source.open().expect("opens").collect::<Result<_, _>>().expect("read");
    assert_eq!(rows(&records), [(0, 0, R, 0, 8), (1_000_000_000, 0, R, 8, 20), (3_000_000_000, 0, R, 0, 8)]);
    let one = |number: u32, op: u16, time: u64| {
        let fields: [&[u8]; 7] = [
            &number.to_le_bytes(),
            &4096u32.to_le_bytes(),
            &1u32.to_le_bytes(),
            &op.to_le_bytes(),
            &0x0100u16.to_le_bytes(),
            &80u64.to_le_bytes(),
            &time.to_le_bytes(),
        ];
        fields.concat()
    };
    let bytes = [one(1, 0x28, 10), one(2, 0x2a, 20), one(3, 0x2a, 30), one(4, 0x28, 40)].concat();
    let reader = TraceSource::bytes("t", bytes).open().expect("told by its records");
    assert_eq!(reader.format().name, "vscsi-1");
    let records: Vec<Record> = reader.collect::<Result<_, _>>().expect("read");
    assert_eq!(rows(&records)[..2], [(0, 0, R, 80, 8), (10_000, 0, W, 80, 8)]);
    let cut = [one(1, 0x28, 10), one(2, 0x2a, 20), one(3, 0x2a, 30), one(4, 0x28, 40)[..20].to_vec()].concat();
    let source = TraceSource::bytes("t", cut).with_format("vscsi-1").expect("a format");
    let error = source.open().map_or_else(Some, |mut reader| reader.find_map(Result::err));
    assert_eq!(
        error.expect("it is cut").to_string(),
        "t: cannot be read beyond its line or record 3: the last record is cut short"
    );
}

/// A recording of completions alone names the option that takes them.
#[test]
fn a_recording_without_the_events_that_count_says_how_to_take_others() {
    let text = "8,0 1 1 5.000000001 7 C WS 8 + 16 [0]\n8,0 1 2 5.000000003 7 C R 9 + 1 [0]\n";
    let source = TraceSource::bytes("t", text.as_bytes()).with_format("blkparse").expect("a format");
    let error = source.open().map(|reader| reader.last()).map_or_else(Some, |last| last.and_then(Result::err));
    let error = error.expect("nothing is issued").to_string();
    assert!(error.contains("action D; `--set trace.blk_action=C` takes C"), "{error}");
    let completed = source.with_options(ReadOptions { blk_action: BlkAction::Completed, ..ReadOptions::default() });
    assert_eq!(completed.open().expect("opens").count(), 2);
}
