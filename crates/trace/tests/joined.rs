//! Several recordings as one, recordings sorted as a whole, and our own binary ones.

use flashkeep_trace::{Joined, Ranges, ReadOptions, Record, SORTED_LIMIT, TapeWriter, TraceSource};
use vocab::{Fua, HostOp, Lba, SimTime, StreamId, Streams};

const COLUMNS: &str = "time=s,op,device,lba=sectors,size=sectors";

fn csv(text: &str) -> TraceSource {
    let options = ReadOptions { columns: Some(COLUMNS.parse().expect("known")), ..ReadOptions::default() };
    TraceSource::bytes("mine", text.as_bytes().to_vec()).with_format("csv").expect("a format").with_options(options)
}

fn all(source: &TraceSource) -> Vec<Record> {
    source.open().expect("opens").map(|record| record.expect("a request")).collect()
}

/// Second, device and first sector of each request.
fn shown(records: &[Record]) -> Vec<(u64, u32, u64)> {
    records.iter().map(|one| (one.at.0 / 1_000_000_000, one.device, one.lba.0)).collect()
}

fn joined(sequence: &[&str], beside: &[&str], ranges: Ranges) -> Vec<(u64, u32, u64)> {
    let sources = |texts: &[&str]| texts.iter().map(|text| csv(text)).collect();
    let joined = Joined { sequence: sources(sequence), beside: sources(beside), ranges };
    let records: Vec<Record> = joined.open().expect("opens").map(|record| record.expect("a request")).collect();
    shown(&records)
}

const A: &str = "100,R,x,0,8\n102,W,y,8,8\n104,R,x,16,8\n";
const B: &str = "7,W,z,100,8\n9,R,z,108,8\n";

#[test]
fn recordings_are_merged_by_time_or_follow_each_other() {
    // Times count from the first request of each; of two at the same time the one named first comes first.
    let merged = [(0, 0, 0), (0, 1, 100), (2, 2, 8), (2, 1, 108), (4, 0, 16)];
    assert_eq!(joined(&[A], &[B], Ranges::Auto), merged);
    let same = [(0, 0, 0), (0, 0, 100), (2, 1, 8), (2, 0, 108), (4, 0, 16)];
    assert_eq!(joined(&[A], &[B], Ranges::Same), same);
    // The next begins when the last request of the one before came, on its first device.
    let followed = [(0, 0, 0), (2, 1, 8), (4, 0, 16), (4, 0, 100), (6, 0, 108)];
    assert_eq!(joined(&[A, B], &[], Ranges::Auto), followed);
    let apart = followed.map(|(at, device, lba)| (at, if lba >= 100 { 2 } else { device }, lba));
    assert_eq!(joined(&[A, B], &[], Ranges::Separate), apart);
    let both = [(0, 0, 0), (0, 1, 100), (2, 2, 8), (2, 1, 108), (4, 0, 16), (4, 0, 100), (6, 0, 108)];
    assert_eq!(joined(&[A, B], &[B], Ranges::Auto), both);
}

#[test]
fn what_cannot_be_read_of_one_ends_all() {
    let joined = Joined { sequence: vec![csv(A), csv("1,X,x,0,8\n")], beside: vec![], ranges: Ranges::Auto };
    let items: Vec<_> = joined.open().expect("opens").collect();
    assert_eq!(items.len(), 4);
    let error = items[3].as_ref().expect_err("X is no operation").to_string();
    assert!(error.contains("line 1, field `op`: found `X`"), "{error}");
    let counted = Joined { sequence: vec![csv(A), csv(B)], beside: vec![csv(B)], ranges: Ranges::Auto };
    let mut reader = counted.open().expect("opens");
    assert_eq!((reader.by_ref().count(), reader.counts().requests, reader.format()), (7, 7, "csv"));
}

/// Against a stable sort of the lines by their time.
#[test]
fn a_recording_is_sorted_as_a_whole_where_that_is_asked() {
    let mut draws = Streams::new(3).stream("lines");
    let mut lines: Vec<(u64, u64)> = (0..5000).map(|place| (draws.below(400) * 10, place * 8)).collect();
    let text: String = lines.iter().map(|(at, place)| format!("{at},R,x,{place},8\n")).collect();
    let options = ReadOptions { columns: Some(COLUMNS.parse().expect("known")), is_sorted: true, ..ReadOptions::default() };
    let source = csv(&text).with_options(options);
    lines.sort_by_key(|(at, _)| *at);
    let first = lines[0].0;
    let expected: Vec<(u64, u32, u64)> = lines.iter().map(|(at, place)| (at - first, 0, *place)).collect();
    assert_eq!(shown(&all(&source)), expected);
    let mut reader = source.open().expect("opens");
    assert_eq!((reader.by_ref().count(), reader.counts().clamped), (5000, 0));
    let mut as_it_is = csv(&text).open().expect("opens");
    assert!(as_it_is.by_ref().count() == 5000 && as_it_is.counts().clamped > 1000);
    assert_eq!(SORTED_LIMIT, 4 << 20);
}

fn drawn(count: u64) -> Vec<Record> {
    let mut draws = Streams::new(11).stream("records");
    let (mut at, mut end) = (0, 0);
    (0..count)
        .map(|index| {
            let scale = draws.below(40);
            at += if index == 0 { 0 } else { draws.below(1 << scale) };
            let op = [HostOp::Read, HostOp::Write(Fua::No), HostOp::Write(Fua::Yes), HostOp::Discard, HostOp::Flush];
            let op = op[draws.below(5) as usize];
            let is_flush = op == HostOp::Flush;
            let lba = if draws.below(3) == 0 { end } else { draws.below(1 << 50) };
            let sectors = if draws.below(2) == 0 { 8 } else { 1 + draws.below(1 << 20) as u32 };
            let (lba, sectors) = if is_flush { (0, 0) } else { (lba, sectors) };
            end = lba + u64::from(sectors);
            let stream = if let HostOp::Write(_) = op { draws.below(8) as u8 } else { 0 };
            // Devices are numbered in the order of appearance.
            let device = (index % 3).min(index) as u32;
            Record { at: SimTime(at), device, op, lba: Lba(lba), sectors, stream: StreamId(stream) }
        })
        .collect()
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TapeWriter::new(&mut bytes).expect("memory takes what it is given");
    records.iter().for_each(|record| writer.record(record).expect("in the order of time"));
    writer.finish().expect("memory takes what it is given");
    bytes
}

#[test]
fn our_own_recordings_are_read_back_and_small() {
    let records = drawn(5000);
    assert_eq!(all(&TraceSource::bytes("mine", written(&records))), records);
    let even = |index: u64| Record {
        at: SimTime(index * 1000),
        device: 0,
        op: HostOp::Write(Fua::No),
        lba: Lba(index * 8),
        sectors: 8,
        stream: StreamId(0),
    };
    let even: Vec<Record> = (0..1000).map(even).collect();
    // The magic; a byte, two of time for each, the first with one of time and its size; the end, a count of two bytes, the checksum.
    assert_eq!(written(&even).len(), 8 + 3 + 999 * 3 + 1 + 2 + 8);
    let mut writer = TapeWriter::new(Vec::new()).expect("memory");
    writer.record(&even[1]).expect("the first");
    assert!(writer.record(&even[0]).is_err(), "requests that go back in time are no recording");
}

#[test]
fn a_recording_of_ours_that_was_cut_or_changed_is_no_whole_one() {
    let bytes = written(&drawn(60));
    let read = |bytes: Vec<u8>| {
        TraceSource::bytes("mine", bytes).with_format("tape").expect("a format").open()?.collect::<Result<Vec<_>, _>>()
    };
    assert!(read(bytes.clone()).is_ok());
    for length in 1..bytes.len() {
        assert!(read(bytes[..length].to_vec()).is_err(), "cut to {length}");
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(read(changed).is_err(), "bit {bit} of byte {at}");
        }
    }
}
