//! Each format against a few lines written by hand, whose meaning is checked by hand.

use flashkeep_trace::{BlkAction, FORMATS, ReadOptions, Record, TraceError, TraceSource};
use vocab::{Fua, HostOp, Nanos};

const W: HostOp = HostOp::Write(Fua::No);
const R: HostOp = HostOp::Read;

fn read(format: &str, text: &str) -> Result<Vec<Record>, TraceError> {
    TraceSource::bytes("t", text.as_bytes()).with_format(format)?.open()?.collect()
}

/// (time in ns, device, operation, first sector, sectors)
type Row = (u64, u32, HostOp, u64, u32);

fn rows(format: &str, text: &str) -> Vec<Row> {
    let records = read(format, text).unwrap_or_else(|error| panic!("{format}: {error}"));
    records.iter().map(|r| (r.at.0, r.device, r.op, r.lba.0, r.sectors)).collect()
}

/// Line and field of the error that `text` must give.
fn fault(format: &str, text: &str) -> (u64, &'static str) {
    match read(format, text) {
        Err(TraceError::Field { line, field, .. }) => (line, field),
        other => panic!("{format}: {other:?}"),
    }
}

const FIO2: &str = "fio version 2 iolog\n/dev/a add\n/dev/a open\n/dev/a write 0 4096\n/dev/a wait 150 0\n\
                    /dev/b read 512 1024\n/dev/a trim 4096 8192\n/dev/a wait 50\n/dev/a datasync 0 0\n/dev/a close\n";

#[test]
fn every_format_reads_its_own_words() {
    let flush = HostOp::Flush;
    let cases: [(&str, &str, &[Row]); 16] = [
        (
            "blkparse",
            "8,16 1 1 5.000000001 7 D WS 8 + 16 [a b]\n8,0 1 2 5.000000003 7 D R 9 + 1 [x]\nCPU0 (8,0):\n",
            &[(0, 0, W, 8, 16), (2, 1, R, 9, 1)],
        ),
        ("spc", "3,100,3584,w,0.5\n1,7,1,R,0.500001\n", &[(0, 0, W, 100, 7), (1000, 1, R, 7, 1)]),
        ("disksim-ms-sectors", "1.5 0 100 8 1\n2\t0\t108\t8\t0\n", &[(0, 0, R, 100, 8), (500_000, 0, W, 108, 8)]),
        ("disksim-ms-pages4k", "1.5 0 100 2 1\n", &[(0, 0, R, 100, 16)]),
        ("disksim-ms-bytes", "1.5 0 1000 4096 1\n", &[(0, 0, R, 1, 9)]),
        ("disksim-us-sectors", "0 0 1 1 1\n7 0 2 2 0\n", &[(0, 0, R, 1, 1), (7000, 0, W, 2, 2)]),
        ("disksim-ns-sectors", "5 9 1 1 1\n7 4 2 2 0", &[(0, 0, R, 1, 1), (2, 1, W, 2, 2)]),
        (
            "msr",
            "128166481075232275,web,1,Write,1024,512,5\n128166481075232276,web,0,Read,0,4096,5\n",
            &[(0, 0, W, 2, 1), (100, 1, R, 0, 8)],
        ),
        (
            "blkreplay",
            "Copyright\n\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n 1.5 ; 8 ; 16 ; R ; 0.0 ; 0.0\n",
            &[(0, 0, R, 8, 16)],
        ),
        (
            "vscsi",
            "version,time,op,size,lbn\n1,10,2a,512,7\n1,12,00,0,0\n1,13,88,1024,9\n1,14,42,4096,16\n1,15,91,0,0\n",
            &[(0, 0, W, 7, 1), (3000, 0, R, 9, 2), (4000, 0, HostOp::Discard, 16, 8), (5000, 0, flush, 0, 0)],
        ),
        ("diskmon", "0\t0.5\t0.1\t0\tWrite\t100\t8\r\n1\t0.5\t0.1\t1\tRead\t7\t16\r\n", &[(0, 0, W, 100, 8), (0, 1, R, 7, 16)]),
        ("pixel", "proces,device,rw_flag,sector,size,timestamp\r\na,b<>-5,8388608,W,100,8,1.5\r\n", &[(0, 0, W, 100, 8)]),
        (
            "biotracer",
            "8\t\t8\t\t4096\t\t5\t\t2.0\t\t2.1\t\t2.2\t\t2.3\n16 8 4096 4 1.5 2.1 2.2 2.4\n",
            &[(0, 0, R, 16, 8), (500_000_000, 0, W, 8, 8)],
        ),
        (
            "fiu",
            "100 1 my proc 8 8 W 6 0 d6c75ba46e82326fefa545b57a12e221\n150 1 x 8 8 R 6 1 d6c75ba46e82326fefa545b57a12e221\n",
            &[(0, 0, W, 8, 8), (50, 1, R, 8, 8)],
        ),
        (
            "alibaba",
            "419,W,8792731648,16384,1577808144360767\n725,R,512,512,1577808144360769\n",
            &[(0, 0, W, 17_173_304, 32), (2000, 1, R, 1, 1)],
        ),
        (
            "tencent",
            "1538323200,12910952,128,0,1063\n1538323201,8,8,1,1063\n",
            &[(0, 0, R, 12_910_952, 128), (1_000_000_000, 0, W, 8, 8)],
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(rows(format, text), expected, "{format}");
    }
    let waits: [Row; 4] =
        [(0, 0, W, 0, 8), (150_000, 1, R, 1, 2), (150_000, 0, HostOp::Discard, 8, 16), (200_000, 0, flush, 0, 0)];
    assert_eq!(rows("fio-iolog", FIO2), waits);
    let three = "fio version 3 iolog\n3 /a add\n5 /a read 0 512\n9 /a write 512 512\n9 /a sync 0 0\n";
    assert_eq!(rows("fio-iolog", three), [(0, 0, R, 0, 1), (4000, 0, W, 1, 1), (4000, 0, flush, 0, 0)]);
}

#[test]
fn a_damaged_line_is_named_with_its_field_after_the_good_lines_before_it() {
    assert_eq!(fault("spc", "1,2,512,w,0.0\n1,2,512,x,0.0\n"), (2, "opcode"));
    assert_eq!(fault("disksim-ms-sectors", "0 0 1 1 1\n\n0 0 1 1 7\n"), (3, "flag"));
    assert_eq!(fault("msr", "1,web,1,Write,1024,512"), (1, "ResponseTime"));
    assert_eq!(fault("vscsi", "version,time,op,size,lbn\n1,10,2g,512,7\n"), (2, "op"));
    assert_eq!(fault("pixel", "x,1,W,1,1,1.0\n1,W,1,1,1.0\n"), (2, "proces"));
    assert_eq!(fault("blkreplay", "a\nstart ; s\n0 ; 1 ; x ; R ; 0 ; 0\n"), (3, "length"));
    assert_eq!(fault("fio-iolog", "fio version 3 iolog\n1 /a wait 5 0\n"), (2, "action"));
    assert_eq!(fault("fio-iolog", "0 /a read 0 512\n"), (1, "header"));
    assert_eq!(fault("disksim-ns-sectors", "0 0 1 1 1\n9999999999999999999 0 1 1 1\n"), (2, "time"));
    let reader = TraceSource::bytes("t", &b"0,1,512,r,0\n0,1,512,r,1\n0,1"[..]).with_format("spc").unwrap().open().unwrap();
    let outcomes: Vec<bool> = reader.map(|record| record.is_ok()).collect();
    assert_eq!(outcomes, [true, true, false]);
}

#[test]
fn text_of_the_input_is_escaped_and_cut_in_errors() {
    let text = format!("1,\u{1b}[31m{},512,w,0\n", "9".repeat(500));
    let shown = read("spc", &text).unwrap_err().to_string();
    assert!(shown.contains("t, line 1, field `LBA`: found `\\x1b[31m9"), "{shown}");
    assert!(shown.len() < 200 && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn the_choice_of_action_decides_what_counts_as_a_request() {
    let text = "8,0 1 1 1.0 7 Q R 8 + 8 [x]\n8,0 1 2 1.1 7 Q R 16 + 8 [x]\n8,0 1 3 1.2 7 D R 8 + 16 [x]\n";
    let with = |blk_action| {
        let options = ReadOptions { blk_action, ..ReadOptions::default() };
        let source = TraceSource::bytes("t", text.as_bytes()).with_options(options);
        source.open().and_then(|reader| reader.collect::<Result<Vec<_>, _>>()).map(|records| records.len())
    };
    assert_eq!(with(BlkAction::Queued), Ok(2));
    assert_eq!(with(BlkAction::Issued), Ok(1));
    // None at all is an error that says what was looked for.
    let error = with(BlkAction::Completed).unwrap_err();
    assert!(matches!(error, TraceError::Empty { lines: 3, .. }) && error.to_string().contains("action C"), "{error}");
}

#[test]
fn requests_out_of_order_are_sorted_within_the_window_and_clamped_beyond() {
    let text = "0 0 1 1 1\n5000 0 2 1 1\n4500 0 3 1 1\n1000 0 4 1 1\n8000 0 5 1 1\n";
    let mut reader = TraceSource::bytes("t", text.as_bytes()).with_format("disksim-ms-sectors").unwrap().open().unwrap();
    let seen: Vec<(u64, u64)> = reader.by_ref().map(|r| r.map(|r| (r.at.0 / 1_000_000, r.lba.0)).unwrap()).collect();
    assert_eq!(seen, [(0, 1), (1000, 4), (4500, 3), (5000, 2), (8000, 5)]);
    let window = ReadOptions { reorder_window: Nanos(600_000_000), ..ReadOptions::default() };
    let late = "0 0 1 1 1\n5000 0 2 1 1\n6000 0 9 1 1\n4500 0 3 1 1\n";
    let source = TraceSource::bytes("t", late.as_bytes()).with_format("disksim-ms-sectors").unwrap().with_options(window);
    let mut reader = source.open().unwrap();
    let seen: Vec<(u64, u64)> = reader.by_ref().map(|r| r.map(|r| (r.at.0 / 1_000_000, r.lba.0)).unwrap()).collect();
    assert_eq!(seen, [(0, 1), (5000, 2), (5000, 3), (6000, 9)]);
    assert_eq!(reader.counts().clamped, 1);
    assert_eq!((reader.counts().requests, reader.counts().lines), (4, 4));
}

#[test]
fn requests_that_ask_for_nothing_are_counted_not_delivered() {
    let mut reader = TraceSource::bytes("t", &b"0,1,0,r,0\n0,1,512,r,1\n"[..]).open().unwrap();
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.counts().ignored, 1);
}

#[test]
fn columns_that_do_not_tell_their_units_are_never_guessed() {
    let error = TraceSource::bytes("t", &b"0 0 1 8 1\n"[..]).open().map(|_| ()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, TraceError::Ambiguous { .. }));
    // Picoseconds are never guessed at all.
    for format in FORMATS.iter().filter(|format| format.name.starts_with("disksim") && format.name != "disksim-ps-sectors") {
        assert!(text.contains(format.name), "{text}");
    }
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let error = TraceSource::bytes("t", &b""[..]).with_format("nope").map(|_| ()).unwrap_err().to_string();
    assert!(FORMATS.iter().all(|format| error.contains(format.name)), "{error}");
    assert!(TraceSource::bundled("nope").map(|_| ()).unwrap_err().to_string().contains("pgbench"));
    let missing = TraceSource::path("/nonexistent/x").open().map(|_| ()).unwrap_err();
    assert!(matches!(missing, TraceError::Open { .. }));
    let folder = TraceSource::path("/").open().map(|_| ()).unwrap_err();
    assert!(matches!(folder, TraceError::Open { .. }), "{folder}");
}

#[test]
fn a_reader_can_be_boxed_and_sent_to_another_thread() {
    let source = TraceSource::bytes("t", &b"0,1,512,r,0\n"[..]);
    let reader: Box<dyn Iterator<Item = Result<Record, TraceError>> + Send> = Box::new(source.open().unwrap());
    assert_eq!(std::thread::spawn(move || reader.count()).join().unwrap(), 1);
}

#[test]
fn blkparse_actions_are_chosen_by_their_letters() {
    assert_eq!(
        ["Q", "D", "C"].map(|text| text.parse()),
        [Ok(BlkAction::Queued), Ok(BlkAction::Issued), Ok(BlkAction::Completed)]
    );
    assert!("X".parse::<BlkAction>().is_err());
}

/// Reads CSV whose columns are `columns`.
fn csv(columns: &str, text: &str) -> Result<Vec<Row>, TraceError> {
    let options = ReadOptions { columns: Some(columns.parse()?), ..ReadOptions::default() };
    let records = TraceSource::bytes("t", text.as_bytes()).with_format("csv")?.with_options(options).open()?;
    records.map(|item| item.map(|r| (r.at.0, r.device, r.op, r.lba.0, r.sectors))).collect()
}

#[test]
fn columns_of_csv_are_what_the_user_says() {
    let text = "stamp;what;disk;address;length\n1.5;\"Read\";sda;4096;512\n1.75;trim;sdb;8192;4096\n2;F;sda;0;0\n";
    assert_eq!(
        csv("time=ms,op,device,lba=bytes,size=bytes", text),
        Ok(vec![(0, 0, R, 8, 1), (250_000, 1, HostOp::Discard, 16, 8), (500_000, 0, HostOp::Flush, 0, 0)])
    );
    let mixed = "0,x,w,3,2\n1,x,r,4,1\n";
    assert_eq!(csv("time=us,-,op,lba=sectors,size=pages", mixed), Ok(vec![(0, 0, W, 3, 16), (1000, 0, R, 4, 8)]));
    assert_eq!(csv("time=us,-,op,lba=pages,size=sectors", mixed), Ok(vec![(0, 0, W, 24, 2), (1000, 0, R, 32, 1)]));
    let cut = csv("time=us,op,lba=bytes,size=bytes", "1,r,0,512\n2,r,0\n");
    assert!(matches!(cut, Err(TraceError::Field { line: 2, field: "size", .. })), "{cut:?}");
    for (columns, part) in [
        ("time,op,lba=bytes,size=bytes", "needs a unit"),
        ("time=min,op,lba=bytes,size=bytes", "no unit of `time`"),
        ("time=us,op,lba=bytes", "`size` is missing"),
        ("time=us,op,op,lba=bytes,size=bytes", "`op` is there twice"),
        ("time=us,operation,lba=bytes,size=bytes", "`operation` is unknown"),
        ("time=us,op=x,lba=bytes,size=bytes", "`op` has no unit"),
    ] {
        let error = csv(columns, "1,r,0,512\n").expect_err(columns).to_string();
        assert!(error.contains(part), "{columns}: {error}");
    }
    let with_streams = "time=us,op,lba=bytes,size=bytes,stream";
    let options = ReadOptions { columns: Some(with_streams.parse().expect("known columns")), ..ReadOptions::default() };
    let open = |text: &str| {
        let source = TraceSource::bytes("t", text.as_bytes()).with_format("csv")?.with_options(options.clone());
        source.open()?.map(|item| item.map(|record| record.stream.0)).collect::<Result<Vec<_>, TraceError>>()
    };
    assert_eq!(open("1,w,0,512,7\n2,w,0,512,\n3,w,0,512,0\n"), Ok(vec![7, 0, 0]));
    let beyond = open("1,w,0,512,8\n").expect_err("a stream too many").to_string();
    assert!(beyond.contains("stream") && beyond.contains("0 to 7"), "{beyond}");
    let nameless = read("csv", "1,r,0,512\n").expect_err("no columns").to_string();
    assert!(nameless.starts_with("columns: format `csv` needs the names"), "{nameless}");
}

#[test]
fn what_is_no_text_says_what_it_is() {
    for (bytes, part) in
        [(&b"BZh91AY"[..], "bunzip2"), (b"", "an empty file"), (b"a\0b", "--format oracle-general"), (b"PK\x03\x04", "zip")]
    {
        for format in ["auto", "spc"] {
            let source = TraceSource::bytes("t", bytes).with_format(format).expect("known");
            let error = source.open().err().expect("refused").to_string();
            assert!(error.starts_with("t: found ") && error.contains(part), "{format}: {error}");
        }
    }
}
