//! Footprint, address map, loops and time scales against naive oracles.

use flashkeep_trace::{AddressMap, Footprint, Record, SPAN_LIMIT, TimeScale, TraceError, TraceSource, looped};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use vocab::{Bytes, Fua, HostCommand, HostOp, Lba, Nanos, SECTOR_BYTES, SimTime};

fn records() -> impl Strategy<Value = Vec<Record>> {
    let op = prop_oneof![
        Just(HostOp::Read),
        Just(HostOp::Write(Fua::No)),
        Just(HostOp::Write(Fua::Yes)),
        Just(HostOp::Discard),
        Just(HostOp::Flush)
    ];
    let record = (0u32..3, op, 0u64..2000, 1u32..100).prop_map(|(device, op, lba, sectors)| {
        let is_flush = op == HostOp::Flush;
        let (lba, sectors) = if is_flush { (Lba(0), 0) } else { (Lba(lba), sectors) };
        Record { at: SimTime(0), device, op, lba, sectors, stream: vocab::StreamId::default() }
    });
    prop::collection::vec(record, 1..60).prop_map(|mut records| {
        (0u64..).zip(&mut records).for_each(|(index, record)| record.at = SimTime(index * 10));
        records
    })
}

fn scan(records: &[Record], slot: u64) -> Footprint {
    Footprint::scan(records.iter().copied().map(Ok), Bytes(slot)).unwrap()
}

fn slots_of(record: &Record, per_slot: u64) -> impl Iterator<Item = (u32, u64)> + use<> {
    let (device, first) = (record.device, record.lba.0 / per_slot);
    let end = (record.lba.0 + u64::from(record.sectors)).div_ceil(per_slot);
    (first..end.max(first)).map(move |slot| (device, slot))
}

fn touches(record: &Record) -> bool {
    matches!(record.op, HostOp::Read | HostOp::Write(_))
}

/// Every touched slot, in order of device and address, with its number.
fn oracle(records: &[Record], per_slot: u64) -> BTreeMap<(u32, u64), u64> {
    let slots: BTreeSet<_> = records.iter().filter(|r| touches(r)).flat_map(|r| slots_of(r, per_slot)).collect();
    slots.into_iter().zip(0..).collect()
}

fn sectors_of(command: &HostCommand) -> impl Iterator<Item = u64> + use<> {
    let first = command.lba.0;
    first..first + u64::from(command.sectors)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_footprint_is_the_set_of_touched_slots_in_order(records in records(), shift in 0u32..5) {
        let slot = SECTOR_BYTES << shift;
        let footprint = scan(&records, slot);
        let oracle = oracle(&records, 1 << shift);
        prop_assert_eq!(footprint.slots(), oracle.len() as u64);
        for device in 0..4 {
            for probe in 0..2200u64 >> shift {
                let below = oracle.range(..(device, probe)).count() as u64;
                prop_assert_eq!(footprint.rank(device, probe), (below, oracle.contains_key(&(device, probe))));
            }
        }
        // Runs are maximal: no two touch.
        for pair in footprint.runs().windows(2) {
            prop_assert!(pair[0].device < pair[1].device || pair[0].first + pair[0].slots < pair[1].first);
        }
        let written: BTreeSet<_> = records
            .iter()
            .filter(|r| matches!(r.op, HostOp::Write(_)))
            .flat_map(|r| slots_of(r, 1 << shift))
            .collect();
        prop_assert_eq!(footprint.written_slots(), written.len() as u64);
    }

    #[test]
    fn compacting_renumbers_every_sector_as_the_oracle_does(records in records(), shift in 0u32..5) {
        let per_slot = 1u64 << shift;
        let footprint = scan(&records, SECTOR_BYTES << shift);
        let oracle = oracle(&records, per_slot);
        let capacity = footprint.size();
        let map = AddressMap::compact(footprint, capacity).unwrap();
        for record in &records {
            let commands: Vec<_> = map.map(record).unwrap().collect();
            let sectors: Vec<u64> = commands.iter().flat_map(sectors_of).collect();
            let first = record.lba.0;
            let expected: Vec<u64> = (first..first + u64::from(record.sectors))
                .filter_map(|s| oracle.get(&(record.device, s / per_slot)).map(|n| n * per_slot + s % per_slot))
                .collect();
            prop_assert_eq!(&sectors, &expected);
            prop_assert!(commands.len() <= 1);
            prop_assert!(commands.iter().all(|c| c.op == record.op && c.at == record.at));
            prop_assert_eq!(commands.len() == 1, record.op == HostOp::Flush || !expected.is_empty());
        }
    }

    #[test]
    fn folding_wraps_every_sector_as_the_oracle_does(records in records(), capacity in 1u64..5000) {
        let footprint = scan(&records, 4096);
        let mut bases = vec![0u64];
        footprint.extents().iter().for_each(|extent| bases.push(bases[bases.len() - 1] + extent * 8));
        let map = AddressMap::fold(&footprint, Bytes(capacity * SECTOR_BYTES)).unwrap();
        let all: Vec<_> = map.clone().commands(records.iter().copied().map(Ok)).collect();
        let mut each = Vec::new();
        for record in &records {
            let commands: Vec<_> = map.map(record).unwrap().collect();
            let sectors: Vec<u64> = commands.iter().flat_map(sectors_of).collect();
            let start = bases[record.device as usize] + record.lba.0;
            let expected: Vec<u64> = (start..start + u64::from(record.sectors)).map(|s| s % capacity).collect();
            prop_assert_eq!(sectors, expected);
            prop_assert!(commands.iter().all(|c| c.lba.0 + u64::from(c.sectors) <= capacity));
            prop_assert!(u64::from(record.sectors) > capacity || commands.len() <= 2);
            each.extend(commands);
        }
        prop_assert_eq!(all, each);
    }
}

fn write(lba: u64, sectors: u32) -> Record {
    Record { at: SimTime(0), device: 0, op: HostOp::Write(Fua::No), lba: Lba(lba), sectors, stream: vocab::StreamId::default() }
}

#[test]
fn a_drive_that_is_too_small_or_a_footprint_of_another_trace_is_an_error() {
    let footprint = scan(&[write(0, 16)], 4096);
    let error = AddressMap::compact(footprint.clone(), Bytes(8191)).map(|_| ()).unwrap_err();
    assert_eq!(error, TraceError::DoesNotFit { needed: Bytes(8192), capacity: Bytes(8191) });
    let map = AddressMap::compact(footprint, Bytes(8192)).unwrap();
    assert!(matches!(map.map(&write(16, 1)), Err(TraceError::OutsideFootprint { lba: 16, .. })));
    assert!(matches!(map.map(&write(15, 2)), Err(TraceError::OutsideFootprint { .. })));
    assert!(matches!(Footprint::scan([Ok(write(0, 1))], Bytes(1000)), Err(TraceError::SlotSize { .. })));
}

#[test]
fn requests_at_the_end_of_the_address_space_are_mapped_without_overflow() {
    let last = (1u64 << 54) - 2048;
    let records: Vec<Record> = (0..40).map(|device| Record { device, ..write(last, 2048) }).collect();
    let footprint = scan(&records, 512);
    assert_eq!(footprint.slots(), 40 * 2048);
    let map = AddressMap::fold(&footprint, Bytes(1 << 20)).unwrap();
    assert!(records.iter().all(|record| map.map(record).unwrap().map(|c| c.sectors).sum::<u32>() == 2048));
}

#[test]
fn a_footprint_grows_with_what_is_touched_not_with_the_length_of_the_trace() {
    let repeated = (0..2_000_000u64).map(|index| Ok(write(index % 512 * 8, 2_097_152)));
    let footprint = Footprint::scan(repeated, Bytes(4096)).unwrap();
    assert_eq!(footprint.runs().len(), 1);
    assert_eq!(footprint.slots(), 262_144 + 511);
}

#[test]
fn a_loop_starts_each_round_when_the_last_request_of_the_round_before_was_sent() {
    let source = TraceSource::bytes("t", &b"0,1,512,r,5\n0,2,512,w,7\n"[..]);
    let times =
        |rounds| -> Vec<u64> { looped(|| source.open(), rounds).map(|r| r.map(|r| r.at.0 / 1_000_000_000).unwrap()).collect() };
    assert_eq!(times(3), [0, 2, 2, 4, 4, 6]);
    assert_eq!(times(1), [0, 2]);
    assert_eq!(times(0), Vec::<u64>::new());
}

#[test]
fn an_error_ends_a_loop_and_an_empty_round_cannot_keep_it_going() {
    let damaged = TraceSource::bytes("t", &b"0,1,512,r,5\nx\n"[..]);
    let seen: Vec<bool> = looped(|| damaged.open(), 5).map(|r| r.is_ok()).collect();
    assert_eq!(seen, [true, false]);
    let nothing = looped(|| Ok(std::iter::empty()), u64::MAX);
    assert_eq!(nothing.count(), 0);
    for (far, rounds) in [(SPAN_LIMIT.0 / 2 + 1, 1), (SPAN_LIMIT.0, 1), (SPAN_LIMIT.0 + 1, 0), (u64::MAX, 0)] {
        let far = Record { at: SimTime(far), ..write(0, 1) };
        let seen: Vec<_> = looped(|| Ok([Ok(far)].into_iter()), 9).collect();
        assert_eq!(seen.iter().map(Result::is_ok).collect::<Vec<_>>(), [vec![true; rounds], vec![false]].concat());
        let error = seen[rounds].as_ref().unwrap_err().to_string();
        assert!(error.contains(&format!("request {}", rounds + 1)) && error.contains("73 years"), "{error}");
    }
}

#[test]
fn time_scales_are_exact_and_refuse_what_is_no_factor() {
    let at = SimTime(3_000_000_001);
    assert_eq!(TimeScale::ratio(1, 3).unwrap().apply(at), Some(SimTime(1_000_000_000)));
    assert_eq!(TimeScale::factor(0.5).unwrap().apply(at), Some(SimTime(1_500_000_000)));
    for (at, scaled) in [(SPAN_LIMIT.0 / 2, Some(SimTime(SPAN_LIMIT.0))), (SPAN_LIMIT.0 / 2 + 1, None), (u64::MAX, None)] {
        assert_eq!(TimeScale::factor(2.0).unwrap().apply(SimTime(at)), scaled);
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e10, 1e-30] {
        assert!(TimeScale::factor(bad).is_err(), "{bad}");
    }
    assert!(TimeScale::ratio(0, 1).is_err() && TimeScale::ratio(1, 0).is_err());
    let scaled = TimeScale::factor(10.0).unwrap().scale([Ok(write(0, 1)), Ok(Record { at, ..write(0, 1) })]);
    let times: Vec<_> = scaled.map(|r| Nanos(r.unwrap().at.0)).collect();
    assert_eq!(times, [Nanos(0), Nanos(30_000_000_010)]);
}
