//! Random operations on the map and on the naive one, compared after each.

use crate::drive::Drive;
use crate::naive::{COLLECTOR, Naive};
use flashkeep_ftl::{Ftl, Isolation, LogKind, Place, Published, Segments, Stream, StreamConfig, UnitId, UnitState, WearConfig};
use std::collections::BTreeSet;
use vocab::{DieId, Lpn, Slot, StreamId, Streams, StripeId};

/// Says which run it was, if the test fails inside it.
struct Run {
    drive: &'static str,
    seed: u64,
    step: u32,
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see it again: run({:?}, {}), step {}", self.drive, self.seed, self.step);
        }
    }
}

fn drive(name: &str) -> Drive {
    let regions = |dies, blocks| Drive { stripes: 6, ..Drive::new(LogKind::Regions, dies, blocks, 4) };
    match name {
        "regions" => Drive { bad: vec![3, 12], lpns: 30, ..regions(2, 10) },
        "wide pages" => Drive { slots_per_page: 3, lpns: 40, reserve: 1, recovery: 1, ..regions(1, 12) },
        "one write pointer" => {
            let mut drive = Drive { lpns: 30, ..regions(2, 9) };
            drive.gc.separate_write_pointer = false;
            drive
        }
        "segments" => Drive { segments: Some(Segments { per_die: 2, blocks: 4 }), lpns: 30, ..regions(2, 9) },
        "wear" => {
            let mut drive = Drive { lpns: 16, ..regions(1, 10) };
            drive.wear = WearConfig { dynamic: false, static_threshold: 2 };
            drive
        }
        "initial" | "persistent" => {
            let mut drive = Drive { lpns: 30, ..regions(1, 16) };
            let isolation = if name == "initial" { Isolation::Initial } else { Isolation::Persistent };
            drive.gc.streams = StreamConfig { count: 3, isolation };
            drive
        }
        "group" => Drive { lpns: 60, bad: vec![2, 12, 22], ..Drive::new(LogKind::Group, 3, 10, 4) },
        _ => unreachable!("no drive is called {name}"),
    }
}

/// Both maps and what the run still has in its hands.
struct Pair {
    map: Ftl,
    naive: Naive,
    condemned: BTreeSet<UnitId>,
    draws: vocab::Stream,
}

impl Pair {
    fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { Some(from[self.below(from.len())]) }
    }

    /// Pins an entry that lay at `old` and got another place.
    fn superseded(&mut self, old: Option<Place>, published: Published) {
        let expected = if let Some(Place::At(slot)) = old { Some(self.naive.unit_of(slot.0)) } else { None };
        assert_eq!(published.pinned, expected, "what publishing pinned");
        self.naive.pins.extend(expected);
    }

    fn publish(&mut self, slot: Slot) {
        let number = self.below((self.naive.drive.lpns + self.naive.drive.stripes) as usize) as u32;
        let (old, published) = match number.checked_sub(self.naive.drive.lpns) {
            None => (self.naive.data.insert(number, Place::At(slot)), self.map.publish(Lpn(number), slot)),
            Some(stripe) => (self.naive.parity.insert(stripe, Place::At(slot)), self.map.publish_parity(StripeId(stripe), slot)),
        };
        self.superseded(old, published);
    }

    /// An entry loses its place: forgotten, or missing.
    fn lose(&mut self) {
        let number = self.below((self.naive.drive.lpns + self.naive.drive.stripes) as usize) as u32;
        let is_forgotten = self.below(2) == 0;
        let stripe = number.checked_sub(self.naive.drive.lpns);
        let (table, key) = match stripe {
            None => (&mut self.naive.data, number),
            Some(stripe) => (&mut self.naive.parity, stripe),
        };
        let old = if is_forgotten { table.remove(&key) } else { table.insert(key, Place::Missing) };
        let published = match (stripe, is_forgotten) {
            (None, true) => self.map.forget(Lpn(key)),
            (None, false) => self.map.publish_missing(Lpn(key)),
            (Some(_), true) => self.map.forget_parity(StripeId(key)),
            (Some(_), false) => self.map.publish_missing_parity(StripeId(key)),
        };
        self.superseded(old, published);
    }

    /// Takes a position for the stream in both maps; the slots of data it has.
    fn take(&mut self, log: usize, stream: Stream) -> Option<Vec<Slot>> {
        let room = self.map.has_room(log, stream);
        assert_eq!(room, self.naive.has_room(log, stream), "room of {stream:?} in log {log}");
        let group = self.naive.drive.kind == LogKind::Group;
        // The engine asks for room before it opens a row.
        let taken = self.naive.take(log, stream);
        if group && taken.is_none() {
            return None;
        }
        let grid = self.naive.drive.grid();
        let (unit, page, pages) = if group {
            let (superblock, page) = self.map.open_row(stream).expect("room was checked");
            let (members, row) = (self.map.rows().members(superblock).len(), self.map.rows().row(superblock, page));
            let places = (0..members - 1).map(|used| self.map.rows().place(row, used, page).ppn).collect();
            self.map.next_row(stream);
            (superblock.0, page, places)
        } else {
            let ppn = self.map.take_page(log, stream);
            assert_eq!(ppn.is_some(), taken.is_some(), "a page for {stream:?} of log {log}");
            let (block, page) = grid.split(ppn?);
            (block.0, page, vec![ppn?])
        };
        assert_eq!(Some((unit, page)), taken, "the position of {stream:?} in log {log}");
        let slots = pages.iter().flat_map(|&ppn| (0..grid.slots_per_page()).map(move |index| (ppn, index)));
        Some(slots.map(|(ppn, index)| grid.slot(ppn, index)).collect())
    }

    /// On a drive of several streams, one of them.
    fn in_a_stream(&mut self, stream: Stream) -> Stream {
        let count = self.naive.drive.gc.streams.count as usize;
        match stream {
            Stream::Host if count > 1 => Stream::HostIn(StreamId(self.below(count) as u8)),
            Stream::Gc if count > 1 => Stream::GcOf(StreamId(self.below(count) as u8)),
            other => other,
        }
    }

    fn write(&mut self) {
        let log = self.below(self.naive.logs.len());
        let stream = [Stream::Host, Stream::Host, Stream::Host, Stream::Commit, Stream::Gc][self.below(5)];
        let stream = self.in_a_stream(stream);
        let Some(slots) = self.take(log, stream) else { return };
        // Now and then a page is only part full.
        let count = if self.below(4) == 0 { self.below(slots.len() + 1) } else { slots.len() };
        slots.into_iter().take(count).for_each(|slot| self.publish(slot));
    }

    /// Takes back some pins.
    fn release(&mut self) {
        for _ in 0..self.below(8).min(self.naive.pins.len()) {
            let at = self.below(self.naive.pins.len());
            let unit = self.naive.pins.swap_remove(at);
            let ready = self.map.release(unit);
            assert_eq!(ready, self.naive.may_erase(unit) && self.condemned.contains(&unit), "unit {unit} ready for erase");
        }
    }

    fn condemn(&mut self) {
        let log = self.below(self.naive.logs.len());
        let chosen = self.map.condemn(log);
        assert_eq!(chosen, self.naive.condemn(log), "the victim of log {log}");
        self.condemned.extend(chosen.map(|(unit, _)| unit));
    }

    /// Moves what one condemned unit holds to the collector's write pointer, as far as it has room.
    fn move_out(&mut self) {
        let condemned: Vec<UnitId> = self.condemned.iter().copied().collect();
        let Some(unit) = self.one_of(&condemned) else { return };
        let log = self.naive.log_of(unit).expect("a unit of a log");
        let lies = |place: &Place| matches!(place, Place::At(slot) if self.naive.unit_of(slot.0) == unit);
        let data: Vec<u32> = self.naive.data.iter().filter(|(_, place)| lies(place)).map(|(&lpn, _)| lpn).collect();
        let mut slots = Vec::new();
        for lpn in data {
            if slots.is_empty() {
                let stream = self.in_a_stream(Stream::Gc);
                let Some(taken) = self.take(log, stream) else { return };
                slots = taken;
            }
            let Some(slot) = slots.pop() else { return };
            let old = self.naive.data.insert(lpn, Place::At(slot));
            let published = self.map.publish(Lpn(lpn), slot);
            self.superseded(old, published);
        }
    }

    fn erase(&mut self) {
        let condemned = self.condemned.iter().copied();
        let ready: Vec<UnitId> = condemned.filter(|&unit| self.naive.may_erase(unit)).collect();
        let Some(unit) = self.one_of(&ready) else { return };
        self.condemned.remove(&unit);
        let log = self.naive.log_of(unit).expect("a unit of a log");
        if self.naive.logs[log].retired == 0 && self.below(16) == 0 {
            self.naive.retire(unit);
            self.map.retire_unit(unit);
        } else {
            self.naive.erased(unit);
            self.map.erased(unit);
        }
    }

    /// A rare event: a unit out of turn, closed early, or given back.
    fn rare(&mut self) {
        let log = self.below(self.naive.logs.len());
        let units: Vec<UnitId> = self.naive.logs[log].units.clone().collect();
        let unit = self.one_of(&units).expect("a log has units");
        match self.below(3) {
            0 => {
                let is_closed = self.naive.units[unit as usize].state == UnitState::Closed;
                assert_eq!(self.map.condemn_unit(unit), is_closed, "unit {unit} condemned out of turn");
                if is_closed {
                    self.naive.units[unit as usize].state = UnitState::Condemned;
                    self.condemned.insert(unit);
                }
            }
            1 => {
                let which = (0..2 * COLLECTOR).find(|&w| self.naive.logs[log].open[w].is_some_and(|(open, _)| open == unit));
                self.map.abandon(unit);
                which.into_iter().for_each(|which| self.naive.close(log, which));
            }
            _ => {
                if self.condemned.remove(&unit) {
                    self.map.reprieve(unit);
                    self.naive.units[unit as usize].state = UnitState::Closed;
                }
            }
        }
    }

    fn compare(&self) {
        self.map.check_counts();
        for lpn in 0..self.naive.drive.lpns {
            let expected = self.naive.data.get(&lpn).copied().unwrap_or(Place::Unmapped);
            assert_eq!(self.map.lookup(Lpn(lpn)), expected, "place of logical page {lpn}");
        }
        for stripe in 0..self.naive.drive.stripes {
            let expected = self.naive.parity.get(&stripe).copied().unwrap_or(Place::Unmapped);
            assert_eq!(self.map.lookup_parity(StripeId(stripe)), expected, "place of the parity of stripe {stripe}");
        }
        let valid: BTreeSet<u32> = self.naive.places().collect();
        for slot in 0..self.naive.drive.grid().geometry().slots() {
            assert_eq!(self.map.is_valid(Slot(slot)), valid.contains(&slot), "validity of slot {slot}");
        }
        for (first, length) in [(0, u32::MAX), (3, 70), (64, 64), (65, 1), (100, 200)] {
            let end = self.naive.drive.grid().geometry().slots().min(u32::saturating_add(first, length));
            let expected = valid.range(first.min(end)..end).next().map_or(end, |&slot| slot);
            assert_eq!(self.map.next_valid(Slot(first.min(end))..Slot(end)), Slot(expected), "from {first}, before {end}");
        }
        let expected: Vec<Place> = (0..self.naive.drive.lpns).map(|lpn| self.map.lookup(Lpn(lpn))).collect();
        assert_eq!(self.map.places(Lpn(0)..Lpn(self.naive.drive.lpns)).collect::<Vec<_>>(), expected);
        for (number, naive) in (0..).zip(&self.naive.units) {
            let unit = self.map.unit(number);
            let expected = (naive.state, naive.pe, self.naive.valid(number), self.naive.pins(number));
            assert_eq!((unit.state, unit.pe, unit.valid, unit.pins), expected, "unit {number}: state, P/E, valid, pins");
        }
        for log in 0..self.naive.logs.len() {
            assert_eq!(self.map.free_units(log), self.naive.logs[log].free.len() as u32, "free units of log {log}");
            assert_eq!(self.map.live_max(log), self.naive.live_max(log), "most valid slots of log {log}");
            assert_eq!(self.map.is_short(log), self.naive.is_short(log), "whether log {log} is short");
            let streams = (0..self.naive.drive.gc.streams.count as u8).map(StreamId);
            let of_streams = streams.flat_map(|of| [Stream::HostIn(of), Stream::GcOf(of)]);
            for stream in [Stream::Host, Stream::Commit, Stream::Gc].into_iter().chain(of_streams) {
                assert_eq!(self.map.has_room(log, stream), self.naive.has_room(log, stream), "room of {stream:?} in log {log}");
            }
        }
    }
}

fn run(name: &'static str, seed: u64) -> Pair {
    let mut now = Run { drive: name, seed, step: 0 };
    let drive = drive(name);
    let draws = Streams::new(seed).stream(name);
    let mut pair = Pair { map: drive.map(), naive: Naive::new(&drive), condemned: BTreeSet::new(), draws };
    for step in 0..1000 {
        now.step = step;
        match pair.below(100) {
            0..40 => pair.write(),
            40..45 => pair.lose(),
            45..70 => pair.release(),
            70..80 if pair.condemned.len() < 2 => pair.condemn(),
            80..88 => pair.move_out(),
            88..97 => pair.erase(),
            97..99 => pair.rare(),
            _ => {}
        }
        pair.compare();
    }
    pair
}

/// The map agrees with the naive one over all seeds, and the runs went far enough to mean something.
fn agrees(name: &'static str) {
    let (mut erases, mut retired) = (0, 0);
    for seed in 0..12 {
        let pair = run(name, seed);
        erases += pair.naive.units.iter().map(|unit| unit.pe).sum::<u32>();
        retired += pair.naive.logs.iter().map(|log| log.retired).sum::<u32>();
    }
    assert!(erases > 150 && retired > 2, "{erases} erases and {retired} retired units of {name}");
}

#[test]
fn random_operations_on_regions_agree_with_lists() {
    agrees("regions");
}

#[test]
fn random_operations_on_pages_of_several_slots_with_reserves_agree_with_lists() {
    agrees("wide pages");
}

#[test]
fn random_operations_on_a_shared_write_pointer_agree_with_lists() {
    agrees("one write pointer");
}

#[test]
fn random_operations_on_segments_agree_with_lists() {
    agrees("segments");
}

#[test]
fn random_operations_under_wear_levelling_agree_with_lists() {
    agrees("wear");
}

#[test]
fn random_operations_on_streams_that_are_isolated_initially_agree_with_lists() {
    agrees("initial");
}

#[test]
fn random_operations_on_streams_that_are_isolated_persistently_agree_with_lists() {
    agrees("persistent");
}

#[test]
fn random_operations_on_a_group_log_agree_with_lists() {
    agrees("group");
}

#[test]
fn a_copy_of_the_map_does_not_change_with_the_original() {
    let mut pair = run("regions", 1);
    let (copy, before) = (pair.map.clone(), pair.naive.clone());
    (0..50).for_each(|_| pair.write());
    assert!(pair.naive.data != before.data, "the writes changed nothing");
    pair.compare();
    pair.map = copy;
    pair.naive = before;
    pair.compare();
}

#[test]
fn a_slot_lies_in_the_unit_and_log_of_its_block() {
    let regions = drive("regions").map();
    let group = drive("group").map();
    let grid = drive("group").grid();
    for die in 0..2 {
        for block in 0..10 {
            let slot = grid.slot(grid.ppn(grid.block(DieId(die), block), 3), 0);
            assert_eq!(regions.unit_of(slot), u32::from(die) * 10 + block);
            assert_eq!(regions.log_of(regions.unit_of(slot)), usize::from(die));
            assert_eq!((group.unit_of(slot), group.log_of(group.unit_of(slot))), (block, 0));
        }
    }
}
