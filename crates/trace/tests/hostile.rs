//! Hostile input: whatever the bytes, reading ends, does not panic, and says where it failed.

use flashkeep_trace::{FORMATS, ReadOptions, Record, TraceError, TraceSource};
use proptest::prelude::*;
use std::io::Write;
use vocab::HostOp;

/// A few good lines of each format, to be damaged.
const SEEDS: [&str; 15] = [
    "8,16 1 1 5.000000001 7 D FWFS 8 + 16 [a b]\n8,0 1 2 5.000000003 7 Q R 9 + 1 [x]\n8,0 1 2 5.1 7 D FF 0 + 0 [x]\n",
    "3,100,3584,w,0.5\n1,7,1,R,0.500001\n",
    "1.5 0 100 8 1\n2\t0\t108\t8\t0\n",
    "128166481075232275,web,1,Write,1024,512,5\n128166481075232276,web,0,Read,0,4096,5\n",
    "Copyright\n\nstart ; sector; length ; op ; d ; r\n 1.5 ; 8 ; 16 ; R ; 0.0 ; 0.0\n 1.6 ; 8 ; 16 ; W ; 0.0 ; 0.0\n",
    "version,time,op,size,lbn\n1,10,2a,512,7\n1,12,00,0,0\n1,13,88,1024,9\n1,14,42,4096,16\n1,15,91,0,0\n",
    "0\t0.5\t0.1\t0\tWrite\t100\t8\r\n1\t0.5\t0.1\t1\tRead\t7\t16\r\n",
    "proces,device,rw_flag,sector,size,timestamp\r\na,b<>-5,8388608,W,100,8,1.5\r\n",
    "8\t\t8\t\t4096\t\t5\t\t2.0\t\t2.1\t\t2.2\t\t2.3\n16 8 4096 4 1.5 2.1 2.2 2.4\n",
    "100 1 my proc 8 8 W 6 0 d6c75ba46e82326fefa545b57a12e221\n150 1 x 8 8 R 6 1 d6c75ba46e82326fefa545b57a12e221\n",
    "fio version 2 iolog\n/a add\n/a write 0 4096\n/a wait 150 0\n/b read 512 1024\n/a sync 0 0\n",
    "fio version 3 iolog\n3 /a add\n5 /a read 0 512\n9 /a write 512 512\n9 /a sync 0 0\n",
    "CPU0 (8,0):\n Reads Queued: 0\n",
    "419,W,8792731648,16384,1577808144360767\n725,R,512,512,1577808144360769\n",
    "1538323200,12910952,128,0,1063\n1538323201,8,8,1,1063\n",
];

/// Reads `bytes` to the end as every format and by detection, and checks what comes out.
fn check(bytes: &[u8]) {
    for format in FORMATS.iter().map(|format| format.name).chain(["auto"]) {
        let mut source = TraceSource::bytes("hostile", bytes).with_format(format).unwrap();
        if format == "csv" {
            let columns = "device,lba=sectors,size=bytes,op,time=s".parse().ok();
            source = source.with_options(ReadOptions { columns, ..ReadOptions::default() });
        }
        match source.open() {
            Ok(reader) => check_stream(format, reader, bytes.len()),
            Err(error) => check_error(format, &error),
        }
    }
}

fn check_stream(format: &str, records: impl Iterator<Item = Result<Record, TraceError>>, length: usize) {
    let (mut previous, mut ended, mut count) = (None, false, 0usize);
    for item in records {
        assert!(!ended, "{format}: more after an error");
        count += 1;
        match item {
            Ok(record) => {
                assert!(previous <= Some(record.at), "{format}: time steps back");
                assert!(record.lba.0 + u64::from(record.sectors) <= 1 << 54, "{format}: {record:?}");
                assert_eq!(record.sectors == 0, record.op == HostOp::Flush, "{format}: {record:?}");
                previous = Some(record.at);
            }
            Err(error) => {
                check_error(format, &error);
                ended = true;
            }
        }
    }
    assert!(count > 0, "{format}: neither a request nor an error");
    // Compressed inputs of these tests expand by less than 2000.
    assert!(count <= length * 2000 + 1, "{format}: {count} items");
}

fn check_error(format: &str, error: &TraceError) {
    let text = error.to_string();
    assert!(text.contains("hostile"), "{format}: no file in `{text}`");
    assert!(text.len() < 2000 && text.chars().all(|c| !c.is_control()), "{format}: {text:?}");
    match error {
        TraceError::Field { line, .. } | TraceError::LongLine { line, .. } | TraceError::Undetected { line, .. } => {
            assert!(*line > 0, "{format}: {text}");
        }
        _ => {}
    }
}

/// One change to a text: a byte, a cut, a huge number, a doubled or swapped part.
#[derive(Clone, Debug)]
enum Damage {
    Byte(usize, u8),
    Cut(usize),
    Number(usize, &'static str),
    Insert(usize, Vec<u8>),
    Delete(usize, usize),
    Double(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0usize..300;
    let number = prop::sample::select(vec![
        "18446744073709551615",
        "18446744073709551616",
        "340282366920938463463374607431768211456",
        "-1",
        "0",
        "",
        "1e999",
        "9223372036854775807",
        "4294967296",
        "2097153",
        "0.0000000000000000000000000000001",
        "nan",
        "1.",
        "+5",
    ]);
    prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        at.clone().prop_map(Damage::Cut),
        (at.clone(), number).prop_map(|(at, text)| Damage::Number(at, text)),
        (at.clone(), prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at.clone(), 1usize..20).prop_map(|(at, count)| Damage::Delete(at, count)),
        at.prop_map(Damage::Double),
    ]
}

fn apply(mut bytes: Vec<u8>, damage: &Damage) -> Vec<u8> {
    let length = bytes.len().max(1);
    match damage {
        Damage::Byte(at, byte) => {
            if let Some(place) = bytes.get_mut(at % length) {
                *place = *byte;
            }
        }
        Damage::Cut(at) => bytes.truncate(at % length),
        Damage::Number(at, text) => {
            // The number that starts at or after the place is replaced whole.
            let start = (at % length..bytes.len()).find(|&i| bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
            let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
            bytes.splice(start..end, text.bytes());
        }
        Damage::Insert(at, extra) => {
            let at = at % length;
            bytes.splice(at.min(bytes.len())..at.min(bytes.len()), extra.iter().copied());
        }
        Damage::Delete(at, count) => {
            let at = (at % length).min(bytes.len());
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Damage::Double(at) => {
            let tail = bytes.split_off((at % length).min(bytes.len()));
            bytes = [bytes.as_slice(), &tail, &tail].concat();
        }
    }
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// 64 copies of the SPC seed, made by `xz -9`.
const XZ: &[u8] = include_bytes!("spc.xz");

fn spc() -> Vec<u8> {
    SEEDS[1].as_bytes().repeat(64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn damaged_text_ends_in_requests_or_an_error_with_a_place(
        seed in 0..SEEDS.len(),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        check(&damages.iter().fold(SEEDS[seed].as_bytes().to_vec(), apply));
    }

    #[test]
    fn binary_garbage_ends_in_an_error_with_a_place(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&bytes);
    }

    #[test]
    fn lines_made_of_the_right_characters_end_in_requests_or_an_error_with_a_place(
        text in "([0-9]{1,22}[ ,;.\t]{1,3}|[RWDNFQSrw]{1,3}[ ,;]|\\+ |\\[x\\]\n|\n|Read|Write|start|read ){1,40}",
    ) {
        check(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_compressed_files_end_in_requests_or_an_error_with_a_place(
        which in 0usize..3,
        damages in prop::collection::vec(damage(), 1..5),
    ) {
        let whole = [gzip(&spc()), XZ.to_vec(), zstd(&spc())][which].clone();
        check(&damages.iter().fold(whole, apply));
    }

    #[test]
    fn garbage_after_a_magic_number_is_an_error_with_the_file(
        which in 0usize..4,
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let magics: [&[u8]; 4] =
            [&[0x1f, 0x8b, 8, 0], b"\xfd7zXZ\0", &[0x28, 0xb5, 0x2f, 0xfd], &[0x50, 0x2a, 0x4d, 0x18]];
        check(&[magics[which], &bytes].concat());
    }
}

#[test]
fn a_file_reads_the_same_however_it_is_compressed() {
    let read = |bytes: Vec<u8>| -> Vec<Record> { TraceSource::bytes("t", bytes).open().unwrap().map(Result::unwrap).collect() };
    let plain = read(spc());
    assert_eq!(plain.len(), 128);
    assert_eq!(read(gzip(&spc())), plain);
    assert_eq!(read(zstd(&spc())), plain);
    assert_eq!(read(XZ.to_vec()), plain);
    // Several members or frames one after the other are one file, skippable frames none of it.
    let half = SEEDS[1].as_bytes().repeat(32);
    assert_eq!(read([gzip(&half), gzip(&half)].concat()), plain);
    let skippable = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    assert_eq!(read([zstd(&half), skippable.to_vec(), zstd(&half)].concat()), plain);
}

#[test]
fn a_compressed_file_cut_anywhere_is_an_error_never_a_shorter_trace() {
    for whole in [gzip(&spc()), XZ.to_vec(), zstd(&spc())] {
        for cut in 8..whole.len() {
            let source = TraceSource::bytes("cut", &whole[..cut]).with_format("spc").unwrap();
            let last = source.open().map(|reader| reader.last());
            let error = match last {
                Ok(Some(Err(error))) | Err(error) => error,
                other => panic!("cut at {cut} of {}: {other:?}", whole.len()),
            };
            let is_placed = matches!(&error, TraceError::Read { file, .. } if file == "cut")
                || matches!(&error, TraceError::Field { .. } | TraceError::Empty { .. });
            assert!(is_placed, "{error}");
        }
    }
}

#[test]
fn windows_beyond_the_limit_are_refused_before_they_are_allocated() {
    // Window descriptor 0x98: exponent 19, that is 512 MiB; no content size, no checksum.
    let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x01, 0x00, 0x00];
    // `printf '0,1,512,r,0\n' | xz --check=none --lzma2=dict=512MiB`
    let xz: &[u8] = include_bytes!("dict512.xz");
    for bytes in [&zstd[..], xz] {
        let error = TraceSource::bytes("big", bytes).open().map(|_| ()).unwrap_err();
        assert!(matches!(&error, TraceError::Read { file, .. } if file == "big"), "{error}");
    }
}

#[test]
fn a_bomb_of_one_endless_line_is_an_error_after_64_kib() {
    let bomb = gzip(&vec![b'7'; 64 << 20]);
    let reader = TraceSource::bytes("bomb", bomb).with_format("spc").unwrap().open().unwrap();
    let items: Vec<_> = reader.collect();
    assert!(matches!(items[..], [Err(TraceError::LongLine { line: 1, .. })]));
}

#[test]
fn files_without_requests_are_errors() {
    for text in ["", "\n\n\r\n"] {
        let error = TraceSource::bytes("t", text.as_bytes()).with_format("blkparse").unwrap().open().err();
        assert!(matches!(error, Some(TraceError::Foreign { .. })), "{error:?}");
    }
    let summary = &b"CPU0 (8,0):\n Reads Queued: 0\n"[..];
    let items: Vec<_> = TraceSource::bytes("t", summary).with_format("blkparse").unwrap().open().unwrap().collect();
    assert!(matches!(items[..], [Err(TraceError::Empty { .. })]), "{items:?}");
    assert!(TraceSource::bytes("t", summary).open().is_err());
}

#[test]
fn a_trace_of_millions_of_devices_is_refused() {
    let numbered = |count: u32| -> String { (0..count).map(|n| format!("{n},1,512,r,0\n")).collect() };
    let named = |count: u32| -> String { (0..count).map(|n| format!("1,h{n},1,Read,0,512,0\n")).collect() };
    for (format, text) in [("spc", numbered(5000)), ("msr", named(5000))] {
        let source = TraceSource::bytes("many", text.into_bytes());
        let last = source.with_format(format).unwrap().open().unwrap().last().unwrap();
        assert!(matches!(last, Err(TraceError::Field { line: 4097, .. })), "{last:?}");
    }
}
