//! Drives with a client's own data, against a model that is an array of sectors: overlapping requests at the same time, power
//! cuts, lost dies, files that are opened again.
#![cfg(unix)]

mod common;

use common::files::{all_cases, case, remove};
use common::{buffers, seeds};
use flashkeep_ssd as ssd;
use ssd::disk::{Disk, DiskError, DiskRequest, Failed, Part, SECTOR};
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, Setup};
use std::path::PathBuf;
use vocab::{Fua, Nanos, Stream, Streams};

/// What a sector may hold: the number of the write that left it, or 0 for zeros.
#[derive(Clone, Debug, Default)]
struct Sector {
    /// The newest answered, and older ones that a power cut may bring back.
    newest: u32,
    older: Vec<u32>,
    /// It was discarded, and nothing durable was written since: after a power cut it may read as any of its old contents.
    discarded: bool,
}

/// The model, and the drive.
struct Pair {
    disk: Disk,
    sectors: Vec<Sector>,
    volatile: bool,
    writes: u32,
    draws: Stream,
    name: String,
}

/// Bytes of a sector that the write of this number left.
fn bytes_of(write: u32, sector: u64) -> Vec<u8> {
    if write == 0 {
        return vec![0; SECTOR];
    }
    let mut bytes = vec![(write % 251) as u8; SECTOR];
    bytes[..4].copy_from_slice(&write.to_le_bytes());
    bytes[8..16].copy_from_slice(&sector.to_le_bytes());
    bytes
}

fn number_of(bytes: &[u8], sector: u64) -> Option<u32> {
    let write = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
    (bytes == bytes_of(write, sector)).then_some(write)
}

#[derive(Debug)]
enum Asked {
    Read(u64, u32),
    Write(u64, u32, u32, Fua),
    Flush,
    Discard(u64, u32),
}

impl Pair {
    fn new(disk: Disk, setup: &Setup, seed: u64, name: String) -> Self {
        let sectors = vec![Sector::default(); disk.sectors() as usize];
        let draws = Streams::new(seed).stream("test/disk");
        Self { disk, sectors, volatile: setup.buffer.kind == BufferKind::Volatile, writes: 0, draws, name }
    }

    fn draw(&mut self, discards: bool) -> Asked {
        let draws = &mut self.draws;
        let all = self.sectors.len() as u64;
        let per = u64::from(self.disk.sectors_per_page());
        let count = if draws.chance(0.5) { per * (1 + draws.below(4)) } else { 1 + draws.below(3 * per) };
        let mut sector = if draws.chance(0.6) { draws.below(all / 8) } else { draws.below(all) };
        if draws.chance(0.5) {
            sector = sector / per * per;
        }
        let count = count.min(all - sector) as u32;
        match draws.below(100) {
            0..=39 => Asked::Read(sector, count),
            40..=44 => Asked::Flush,
            45..=49 if discards => Asked::Discard(sector, count),
            _ => {
                self.writes += 1;
                let fua = if draws.chance(0.1) { Fua::Yes } else { Fua::No };
                Asked::Write(sector, count, self.writes, fua)
            }
        }
    }

    fn request(asked: &Asked) -> DiskRequest {
        match *asked {
            Asked::Read(sector, sectors) => DiskRequest::Read { sector, sectors },
            Asked::Flush => DiskRequest::Flush,
            Asked::Discard(sector, sectors) => DiskRequest::Discard { sector, sectors },
            Asked::Write(sector, count, write, fua) => {
                let data = (sector..sector + u64::from(count)).flat_map(|sector| bytes_of(write, sector)).collect();
                DiskRequest::Write { sector, data, fua }
            }
        }
    }

    /// Some requests at the same time, to the end.
    fn batch(&mut self, discards: bool) {
        let count = 1 + self.draws.below(12);
        let asked: Vec<Asked> = (0..count).map(|_| self.draw(discards)).collect();
        let first = self.disk.submit(Self::request(&asked[0]));
        for asked in &asked[1..] {
            self.disk.submit(Self::request(asked));
        }
        let before = self.sectors.clone();
        let answers = self.disk.run_all().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        assert_eq!(answers.len(), asked.len(), "{}", self.name);
        for answer in answers {
            let index = (answer.request - first) as usize;
            let data = answer.result.unwrap_or_else(|failed| panic!("{}: {:?} {failed:?}", self.name, asked[index]));
            if let Asked::Read(sector, count) = asked[index] {
                self.check(&before, &asked, sector, count, &data);
            }
        }
        asked.iter().for_each(|asked| self.apply(asked));
    }

    /// A read beside others may find what was there before or what any of these writes.
    fn check(&self, before: &[Sector], asked: &[Asked], first: u64, count: u32, data: &[u8]) {
        assert_eq!(data.len(), count as usize * SECTOR);
        for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR)) {
            let found = number_of(bytes, sector).unwrap_or_else(|| panic!("{}: sector {sector} is torn", self.name));
            let beside = asked.iter().filter_map(|asked| match *asked {
                Asked::Write(at, count, write, _) if (at..at + u64::from(count)).contains(&sector) => Some(write),
                Asked::Discard(at, count) if (at..at + u64::from(count)).contains(&sector) => Some(0),
                _ => None,
            });
            let mut valid: Vec<u32> = beside.collect();
            valid.push(before[sector as usize].newest);
            assert!(valid.contains(&found), "{}: sector {sector} has {found}, valid {valid:?}", self.name);
        }
    }

    fn apply(&mut self, asked: &Asked) {
        let per = u64::from(self.disk.sectors_per_page());
        match *asked {
            Asked::Read(..) => {}
            // It came beside the others of its batch: it says nothing of them.
            Asked::Flush => {}
            Asked::Discard(sector, count) => {
                let (from, to) = (sector.div_ceil(per) * per, (sector + u64::from(count)) / per * per);
                for sector in from..to.max(from) {
                    let sector = &mut self.sectors[sector as usize];
                    *sector = Sector { newest: 0, older: Vec::new(), discarded: true };
                }
            }
            Asked::Write(sector, count, write, fua) => {
                for sector in &mut self.sectors[sector as usize..][..count as usize] {
                    let old = std::mem::replace(&mut sector.newest, write);
                    sector.older.push(old);
                    if !self.volatile || fua == Fua::Yes && !sector.discarded {
                        sector.older.clear();
                    }
                    sector.discarded &= self.volatile;
                }
            }
        }
    }

    fn flush(&mut self) {
        self.disk.flush().unwrap_or_else(|error| panic!("{}: {error}", self.name));
        for sector in &mut self.sectors {
            if sector.newest > 0 {
                (sector.older, sector.discarded) = (Vec::new(), false);
            }
        }
    }

    /// Reads all; what is found is what is there from now on.
    fn after_cut(&mut self) {
        let per = self.disk.sectors_per_page();
        for page in 0..self.sectors.len() as u64 / u64::from(per) {
            let first = page * u64::from(per);
            let data = self.disk.read(first, per).unwrap_or_else(|error| panic!("{}: sector {first}: {error}", self.name));
            for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR)) {
                let found = number_of(bytes, sector).unwrap_or_else(|| panic!("{}: sector {sector} is torn", self.name));
                let model = &mut self.sectors[sector as usize];
                let is_valid = model.discarded || model.newest == found || model.older.contains(&found);
                assert!(is_valid, "{}: sector {sector} has {found} after a cut, wanted {model:?}", self.name);
                *model = Sector { newest: found, older: Vec::new(), discarded: model.discarded && found == 0 };
            }
        }
        assert_eq!(self.disk.first_mismatch(), None, "{}", self.name);
    }
}

fn repeat(seed: u64, name: &str) -> String {
    format!("seed {seed} {name}; repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test disk")
}

fn setup_of(case: &common::files::Case) -> Setup {
    let mut setup = case.setup.clone();
    setup.precondition.fill = 0.0;
    setup
}

#[test]
fn every_scheme_keeps_what_was_answered_through_power_cuts() {
    for seed in seeds(1) {
        for case in all_cases(seed) {
            let setup = setup_of(&case);
            let disk = Disk::in_memory(&setup).unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut pair = Pair::new(disk, &setup, seed, repeat(seed, &case.to_string()));
            for cut in 0..4 {
                (0..40).for_each(|_| pair.batch(cut % 2 == 1));
                if cut == 2 {
                    pair.flush();
                    pair.disk.idle(Nanos(1_000_000_000)).expect("time passes");
                }
                pair.disk.cut_power().unwrap_or_else(|error| panic!("{case}: {error}"));
                pair.after_cut();
            }
        }
    }
}

#[test]
fn requests_that_a_cut_meets_may_have_happened_and_nothing_else() {
    for (number, (_, buffer)) in buffers().into_iter().enumerate() {
        let case = case(&SchemeChoice::named("ds-raid"), buffer, 3, number as u64);
        let setup = setup_of(&case);
        let mut pair = Pair::new(Disk::in_memory(&setup).expect("a drive"), &setup, 3, repeat(3, &case.to_string()));
        for _ in 0..20 {
            (0..10).for_each(|_| pair.batch(false));
            let asked: Vec<Asked> = (0..8).map(|_| pair.draw(false)).collect();
            let first = pair.disk.submit(Pair::request(&asked[0]));
            for asked in &asked[1..] {
                pair.disk.submit(Pair::request(asked));
            }
            let mut answers = pair.disk.run().expect("something is answered");
            answers.extend(pair.disk.cut_power().expect("it mounts").1);
            assert_eq!(answers.len(), asked.len(), "each is answered, or told that the power went");
            let cut: Vec<u64> = answers.iter().filter(|a| a.result == Err(Failed::PowerCut)).map(|a| a.request).collect();
            for (number, asked) in (first..).zip(&asked) {
                let Asked::Write(sector, count, write, _) = *asked else { continue };
                for sector in &mut pair.sectors[sector as usize..][..count as usize] {
                    if cut.contains(&number) {
                        sector.older.push(write);
                    } else {
                        let old = std::mem::replace(&mut sector.newest, write);
                        // Writes of one batch may be answered in any order, but those of a page take effect in order.
                        sector.older.push(old);
                    }
                }
            }
            pair.after_cut();
        }
    }
}

#[test]
fn a_drive_in_files_has_its_data_when_it_is_opened_again() {
    for (number, scheme) in ["none", "raid5", "ds-raid", "mds-groups", "ppc"].into_iter().enumerate() {
        for (which, (_, buffer)) in buffers().into_iter().enumerate() {
            let case = case(&SchemeChoice::named(scheme), buffer, 5, (number * 3 + which) as u64);
            let setup = setup_of(&case);
            let path: PathBuf = case.path("disk");
            let disk = Disk::create(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut pair = Pair::new(disk, &setup, 5, repeat(5, &case.to_string()));
            for life in 0..3 {
                (0..30).for_each(|_| pair.batch(false));
                if life == 1 {
                    pair.disk.cut_power().unwrap_or_else(|error| panic!("{case}: {error}"));
                } else {
                    let draws = pair.draws.clone();
                    let Pair { disk, sectors, volatile, writes, name, .. } = pair;
                    drop(disk);
                    let disk = Disk::open(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
                    pair = Pair { disk, sectors, volatile, writes, draws, name };
                }
                pair.after_cut();
            }
            drop(pair);
            remove(&path);
        }
    }
}

#[test]
fn dies_that_die_cost_nothing_that_the_scheme_promises_to_keep() {
    for (scheme, die) in [("ds-raid", 2), ("mds-groups", 1), ("raid5", 4)] {
        let scheme = SchemeChoice::named(scheme);
        let case = case(&scheme, ssd::Buffer::OFF, 9, 0);
        let setup = setup_of(&case);
        let mut pair = Pair::new(Disk::in_memory(&setup).expect("a drive"), &setup, 9, repeat(9, &case.to_string()));
        (0..60).for_each(|_| pair.batch(false));
        pair.disk.fail(Part::Die(die)).expect("a die that is there");
        (0..30).for_each(|_| pair.batch(false));
        pair.after_cut();
        let status = pair.disk.status();
        assert!(status.dies.iter().filter(|die| !die.alive).count() == 1 && status.mismatches == 0 && status.media_errors == 0);
        assert!(matches!(pair.disk.fail(Part::Die(999)), Err(DiskError::Control(_))));
    }
}

#[test]
fn without_redundancy_a_lost_die_is_a_media_error_and_never_wrong_data() {
    let case = case(&SchemeChoice::named("none"), ssd::Buffer::OFF, 11, 0);
    let setup = setup_of(&case);
    let mut disk = Disk::in_memory(&setup).expect("a drive");
    let per = disk.sectors_per_page();
    let pages = disk.sectors() / u64::from(per);
    for page in 0..pages {
        disk.write(page * u64::from(per), vec![page as u8; per as usize * SECTOR], Fua::No).expect("room");
    }
    disk.fail(Part::Die(0)).expect("a die that is there");
    let mut lost = 0;
    for page in 0..pages {
        match disk.read(page * u64::from(per), per) {
            Ok(data) => assert!(data.iter().all(|&byte| byte == page as u8)),
            Err(DiskError::Request(Failed::Media)) => lost += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(lost > pages / 10 && lost < pages, "{lost} of {pages} pages were on the die");
}

#[test]
fn equal_calls_give_equal_drives_and_a_snapshot_brings_one_back() {
    let case = case(&SchemeChoice::named("ds-raid"), ssd::Buffer::default(), 13, 0);
    let setup = setup_of(&case);
    let run = || {
        let mut pair = Pair::new(Disk::in_memory(&setup).expect("a drive"), &setup, 13, "a drive".into());
        (0..50).for_each(|_| pair.batch(true));
        pair.disk.cut_power().expect("it mounts");
        pair.disk.idle(Nanos(5_000_000)).expect("time passes");
        (pair.disk.status(), pair)
    };
    let ((one, _), (other, mut pair)) = (run(), run());
    assert_eq!(one, other);
    let before = pair.disk.read(0, 64).expect("sectors");
    let snapshot = pair.disk.snapshot().expect("a drive in memory");
    pair.disk.write(0, vec![1; 64 * SECTOR], Fua::No).expect("room");
    pair.disk.restore(&snapshot).expect("a drive in memory");
    assert_eq!(pair.disk.read(0, 64).expect("sectors"), before);
}

#[test]
fn requests_that_make_no_sense_are_refused_and_the_drive_goes_on() {
    let case = case(&SchemeChoice::named("raid5"), ssd::Buffer::OFF, 15, 0);
    let mut disk = Disk::in_memory(&setup_of(&case)).expect("a drive");
    let all = disk.sectors();
    let ranges = [(u64::MAX, 1), (all, 1), (all - 1, 2), (0, 0), (1 << 63, u32::MAX), (0, u32::MAX)];
    for (sector, sectors) in ranges {
        assert!(matches!(disk.read(sector, sectors), Err(DiskError::Request(Failed::Range))), "read {sector} {sectors}");
        assert!(matches!(disk.discard(sector, sectors), Err(DiskError::Request(Failed::Range))), "discard {sector} {sectors}");
    }
    for (sector, size) in [(0, 100), (0, 0), (all, SECTOR), (u64::MAX, SECTOR)] {
        assert!(matches!(disk.write(sector, vec![0; size], Fua::No), Err(DiskError::Request(Failed::Range))));
    }
    disk.write(all - 1, vec![3; SECTOR], Fua::Yes).expect("the last sector");
    assert_eq!(disk.read(all - 1, 1).expect("the last sector"), vec![3; SECTOR]);
}
