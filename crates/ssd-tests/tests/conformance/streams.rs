//! Streams of the host: what lies where, also after power cuts.

use crate::common::{MIX, Mix, again, check_all, drive, run, seeds, setup, workload};
use flashkeep_ssd as ssd;
use ssd::ftl::{Isolation, StreamConfig};
use ssd::nand::PageRole;
use ssd::{Buffer, BufferKind, Fate, Pace, Power, Session, Setup};
use std::collections::BTreeMap;
use vocab::{Bytes, HostCommand, Lpn, StreamId, Streams, StripSet};

const BLOCKS: u32 = 24;
const PAGES: u32 = 4;
const COUNT: u32 = 3;
const WRITES: Mix = Mix { reads: 0.2, discards: 0.05, max_pages: 5, every: 100_000, partial: 0.1, ..MIX };

fn streamed(isolation: Isolation, kind: BufferKind, slots: u64, seed: u64) -> Setup {
    let mut setup = setup("none", drive(3, BLOCKS, PAGES, slots), 1.0);
    setup.gc.streams = StreamConfig { count: COUNT, isolation };
    let most = ssd::mountable_slots_max(&setup.drive, &setup.scheme, &setup.gc).expect("a valid drive");
    setup.user_slots = most * 4 / 5;
    setup.buffer = Buffer { kind, size: Bytes(8 * 4096), ..Buffer::default() };
    setup.power = Power { mountable: true, ..Power::default() };
    setup.seed = seed;
    setup
}

/// Each third of the drive is of one stream, so that it is known of each page, whatever a power cut leaves.
fn stream_of(lpn: Lpn, user_slots: u32) -> StreamId {
    StreamId((u64::from(lpn.0) * u64::from(COUNT) / u64::from(user_slots)) as u8)
}

/// Requests that stay within the pages of one stream.
fn in_streams(seed: u64, user_slots: u32, count: u64) -> Vec<HostCommand> {
    let all = workload(seed, user_slots, count, WRITES);
    let of = |sector: u64| stream_of(Lpn((sector / 8) as u32), user_slots);
    let within = all.into_iter().filter(|c| c.sectors == 0 || of(c.lba.0) == of(c.lba.0 + u64::from(c.sectors) - 1));
    within.map(|command| HostCommand { stream: of(command.lba.0), ..command }).collect()
}

/// Every current page lies beside its stream; and where isolation is persistent, among pages of it alone.
fn check_places(session: &Session, setup: &Setup, name: &str) {
    let mut blocks: BTreeMap<u32, StripSet> = BTreeMap::new();
    for page in session.inventory().pages {
        let of = blocks.entry(page.ppn.0 / PAGES).or_insert(StripSet::EMPTY);
        *of = of.or(page.coverage);
        for (role, _) in page.slots.iter().filter(|(_, is_current)| *is_current) {
            let PageRole::Data(lpn) = role else { panic!("{name}: {role:?} on a drive without redundancy") };
            let stream = stream_of(*lpn, setup.user_slots);
            assert!(page.coverage.contains(u32::from(stream.0)), "{name}: {lpn} of {stream:?} beside {:?}", page.coverage);
        }
    }
    let most = blocks.values().map(|streams| streams.len()).max().expect("a page");
    match setup.gc.streams.isolation {
        Isolation::Persistent => assert_eq!(most, 1, "{name}: a block with pages of several streams"),
        _ => assert_eq!(most, COUNT, "{name}: the workload is to mix all streams somewhere"),
    }
}

/// Catches a page that goes to another stream's write pointer, from the host or from GC.
#[test]
fn pages_lie_with_their_stream() {
    const TEST: &str = "pages_lie_with_their_stream";
    for seed in seeds(1) {
        for isolation in [Isolation::Off, Isolation::Initial, Isolation::Persistent] {
            for (kind, slots) in [(BufferKind::Off, 1), (BufferKind::Plp, 1), (BufferKind::Volatile, 2)] {
                let setup = streamed(isolation, kind, slots, seed);
                let name = format!("{isolation:?}, {kind:?}, {slots} slots; {}", again(TEST, seed));
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
                let result = run(&mut session, &in_streams(seed, setup.user_slots, 3_000), Pace::Closed { depth: 8 });
                assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
                check_places(&session, &setup, &name);
                check_all(&mut session, &name);
            }
        }
    }
}

/// Cuts the power, mounts, goes on, and so on: write pointers are opened again, and what is found is collected into those of its
/// stream. Catches a mount that forgets streams, and loses what was acknowledged.
#[test]
fn a_mount_finds_the_stream_of_each_page() {
    const TEST: &str = "a_mount_finds_the_stream_of_each_page";
    for seed in seeds(3) {
        for (isolation, checkpoint) in
            [(Isolation::Initial, false), (Isolation::Persistent, false), (Isolation::Persistent, true)]
        {
            for (kind, slots) in [(BufferKind::Off, 1), (BufferKind::Plp, 1), (BufferKind::Plp, 2)] {
                let mut setup = streamed(isolation, kind, slots, seed);
                setup.power.checkpoint = checkpoint;
                let name = format!("{isolation:?}, {kind:?}, {slots} slots, checkpoint {checkpoint}; {}", again(TEST, seed));
                let mut draws = Streams::new(seed).stream("test/cuts");
                let mut session = Session::new(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
                run(&mut session, &in_streams(seed, setup.user_slots, 1_000), Pace::Closed { depth: 8 });
                for number in 0..10 {
                    let commands = in_streams(seed * 1000 + number, setup.user_slots, 80);
                    let stop = draws.below(300);
                    session.run_until(&mut commands.iter().copied(), Pace::Closed { depth: 4 }, &mut |event| event < stop);
                    let fates: Vec<Fate> = session.begun().into_iter().map(|begun| begun.draw(&mut draws)).collect();
                    session.cut_power(&fates);
                    check_all(&mut session, &name);
                }
                // Everything that was in flash is moved once more, by what the mount knows.
                let result = run(&mut session, &in_streams(seed + 7, setup.user_slots, 1_500), Pace::Closed { depth: 8 });
                assert!(result.flash.erases["gc"] > 0, "{name}: the workload must cause GC");
                check_places(&session, &setup, &name);
                check_all(&mut session, &name);
            }
        }
    }
}

/// Catches a scheme that mixes streams in what it protects and says nothing.
#[test]
fn redundancy_refuses_streams() {
    let mut setup = setup("raid5", drive(5, BLOCKS, PAGES, 1), 0.5);
    setup.gc.streams.count = 2;
    let refused = Session::new(&setup).err().expect("refused").to_string();
    assert!(refused.starts_with("scheme raid5, gc.streams.count: found 2, valid is 1: redundancy joins"), "{refused}");
}
