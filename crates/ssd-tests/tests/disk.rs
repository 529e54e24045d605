//! Drives with a client's own data, against a model that is an array of sectors: overlapping requests at the same time, power
//! cuts, lost dies, files that are opened again.
#![cfg(unix)]

mod common;

use common::files::{all_cases, case, remove};
use common::world::World;
use common::{buffers, seeds};
use flashkeep_ssd as ssd;
use ssd::disk::{Disk, DiskError, DiskRequest, Failed, Part, SECTOR};
use ssd::protect::SchemeChoice;
use ssd::{BufferKind, Setup};
use std::path::{Path, PathBuf};
use vocab::{Fua, Nanos, Stream, Streams};

/// Contents of a sector: the number of the write that left it, or 0 for zeros.
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
    /// Whether what was answered must be synced to last.
    machine_fails: bool,
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
        let volatile = setup.buffer.kind == BufferKind::Volatile;
        Self { disk, sectors, volatile, machine_fails: false, writes: 0, draws, name }
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
                let data: Vec<u8> = (sector..sector + u64::from(count)).flat_map(|sector| bytes_of(write, sector)).collect();
                DiskRequest::Write { sector, data: data.into(), fua }
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
                    if !self.volatile || fua == Fua::Yes && !sector.discarded && !self.machine_fails {
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
                    let Pair { disk, sectors, volatile, machine_fails, writes, name, .. } = pair;
                    drop(disk);
                    let disk = Disk::open(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
                    pair = Pair { disk, sectors, volatile, machine_fails, writes, draws, name };
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
    let snapshot = pair.disk.snapshot("before").expect("a drive in memory");
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

/// Lives of a drive whose machine may fail at any time: what was wrong, else how many failures were tried, and how many of them
/// met anything that was not synced.
fn machine_failures(case: &common::files::Case, rounds: u32, withstands: bool) -> (u64, u64) {
    let (setup, name, world) = (setup_of(case), Path::new("machine"), World::default());
    let mut disk = Disk::create_in(&setup, name, world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
    disk.withstand_machine_failures(withstands);
    disk.sync().expect("files in memory");
    let mut pair = Pair::new(disk, &setup, case.seed, repeat(case.seed, &case.to_string()));
    // Requests that were answered and not flushed may be gone, whatever the buffer.
    (pair.volatile, pair.machine_fails) = (true, true);
    let mut draws = Streams::new(case.seed).stream_of("test/machine", case.number);
    world.watch_syncs();
    let (mut failures, mut unsynced) = (0, 0);
    for round in 0..rounds {
        (0..4).for_each(|_| pair.batch(false));
        let mut moments = world.take_moments();
        moments.push(world.moment());
        if round % 2 == 1 {
            pair.flush();
            pair.disk.sync().expect("files in memory");
            world.take_moments();
            moments = vec![world.moment()];
        }
        let moment = &moments[draws.below(moments.len() as u64) as usize];
        let left = moment.fail(&mut draws);
        let disk = Disk::open_in(&setup, name, left.files());
        let disk = disk.unwrap_or_else(|error| panic!("{}: round {round}: {error}", pair.name));
        let name = format!("{}, round {round}", pair.name);
        let mut found = Pair { sectors: pair.sectors.clone(), volatile: true, ..Pair::new(disk, &setup, 0, name) };
        found.after_cut();
        (failures, unsynced) = (failures + 1, unsynced + u64::from(moment.unsynced() > 0));
    }
    (failures, unsynced)
}

#[test]
fn a_machine_that_fails_has_all_that_was_flushed() {
    let (mut failures, mut unsynced) = (0, 0);
    for seed in seeds(1) {
        for case in all_cases(seed) {
            let (tried, met) = machine_failures(&case, 8, true);
            (failures, unsynced) = (failures + tried, unsynced + met);
        }
    }
    assert!(unsynced * 3 > failures, "{unsynced} of {failures} failures met anything");
}

/// The same test of drives whose files are written in any order finds that.
#[test]
fn files_that_are_written_in_any_order_lose_what_was_flushed() {
    let case = case(&SchemeChoice::named("ds-raid"), ssd::Buffer::OFF, 1, 0);
    let seeds: Vec<u64> = (0..20).collect();
    let lost = seeds.iter().filter(|&&seed| {
        let case = common::files::Case { seed, ..case.clone() };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| machine_failures(&case, 40, false))).is_err()
    });
    assert!(lost.count() > 0);
}

/// Closes the drive of a pair and opens it again, in the files of this world.
fn again(pair: Pair, setup: &Setup, world: &World) -> Pair {
    let Pair { disk, sectors, volatile, machine_fails, writes, draws, name } = pair;
    drop(disk);
    let disk = Disk::open_in(setup, Path::new("drive"), world.files()).unwrap_or_else(|error| panic!("{name}: {error}"));
    Pair { disk, sectors, volatile, machine_fails, writes, draws, name }
}

#[test]
fn what_failed_of_a_drive_in_files_is_failed_when_it_is_opened_again() {
    for (number, scheme) in ["ds-raid", "mds-groups", "raid5", "ppc"].into_iter().enumerate() {
        let case = case(&SchemeChoice::named(scheme), buffers()[2].1, 17, number as u64);
        let (setup, world) = (setup_of(&case), World::default());
        let disk = Disk::create_in(&setup, Path::new("drive"), world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let mut pair = Pair::new(disk, &setup, 17, repeat(17, &case.to_string()));
        (0..40).for_each(|_| pair.batch(false));
        pair.disk.fail(Part::Die(1)).expect("a die that is there");
        let worn = pair.disk.status().pe_max + 1000;
        pair.disk.wear(1000).expect("files in memory");
        for life in 0..4 {
            pair = again(pair, &setup, &world);
            let status = pair.disk.status();
            let dead: Vec<usize> = (0..status.dies.len()).filter(|&die| !status.dies[die].alive).collect();
            assert_eq!(dead, [1], "{case}, life {life}");
            assert!(status.pe_max >= worn && status.pe_mean >= 1000.0, "{case}, life {life}: {} of {worn}", status.pe_mean);
            pair.after_cut();
            (0..10).for_each(|_| pair.batch(false));
            if life == 1 {
                pair.disk.cut_power().expect("it mounts");
                pair.after_cut();
            }
        }
        assert!(matches!(pair.disk.fail(Part::Die(1)), Err(DiskError::Control(_))), "it is dead already");
    }
}

/// Without the journal of ranks older copies that flash still has would be taken for what was lost.
#[test]
fn without_redundancy_a_lost_block_stays_a_media_error_when_the_drive_is_opened_again() {
    let case = case(&SchemeChoice::named("none"), ssd::Buffer::OFF, 19, 0);
    let (setup, world) = (setup_of(&case), World::default());
    let disk = Disk::create_in(&setup, Path::new("drive"), world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut pair = Pair::new(disk, &setup, 19, repeat(19, &case.to_string()));
    (0..60).for_each(|_| pair.batch(false));
    let blocks = setup.drive.geometry.blocks();
    (0..blocks).step_by(4).for_each(|block| pair.disk.fail(Part::Block(block)).expect("a block that is there"));
    let per = pair.disk.sectors_per_page();
    let pages = pair.sectors.len() as u64 / u64::from(per);
    let found = |pair: &mut Pair| {
        let read = |page: u64| match pair.disk.read(page * u64::from(per), per) {
            Ok(data) => Some(data),
            Err(DiskError::Request(Failed::Media)) => None,
            Err(error) => panic!("{error}"),
        };
        (0..pages).map(read).collect::<Vec<_>>()
    };
    let before = found(&mut pair);
    let lost = before.iter().filter(|page| page.is_none()).count();
    assert!(lost > 3 && lost < before.len(), "{lost} of {} pages", before.len());
    for life in 0..3 {
        pair = again(pair, &setup, &world);
        assert!(found(&mut pair) == before, "life {life}");
    }
}

#[test]
fn silent_misreads_of_a_drive_in_files_go_on_when_it_is_opened_again() {
    let case = case(&SchemeChoice::named("ds-raid"), ssd::Buffer::OFF, 21, 0);
    let (setup, world) = (setup_of(&case), World::default());
    let disk = Disk::create_in(&setup, Path::new("drive"), world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
    let mut pair = Pair::new(disk, &setup, 21, repeat(21, &case.to_string()));
    (0..40).for_each(|_| pair.batch(false));
    pair.disk.silent(0.2).expect("a probability");
    pair = again(pair, &setup, &world);
    // Bytes that cannot be told from right ones until the drive has been asked once; then a misread is an error, never data.
    let per = pair.disk.sectors_per_page();
    let mut wrong = 0;
    for _ in 0..20 {
        for page in 0..pair.sectors.len() as u64 / u64::from(per) {
            wrong += u32::from(pair.disk.read(page * u64::from(per), per).is_err());
        }
    }
    assert!(wrong > 0 || pair.disk.status().rebuilt_reads > 0, "nothing went wrong");
}

#[test]
fn a_snapshot_of_a_drive_in_files_outlives_the_process() {
    let case = case(&SchemeChoice::named("ds-raid"), ssd::Buffer::default(), 23, 0);
    let (setup, path) = (setup_of(&case), case.path("snapshot"));
    let mut disk = Disk::create(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
    disk.withstand_machine_failures(false);
    disk.write(0, vec![1; 64 * SECTOR], Fua::No).expect("room");
    assert!(matches!(disk.snapshot("../x"), Err(DiskError::Files(_))));
    disk.snapshot("one").expect("files that can be written");
    disk.write(0, vec![2; 64 * SECTOR], Fua::No).expect("room");
    disk.fail(Part::Die(0)).expect("a die that is there");
    drop(disk);
    let mut disk = Disk::open(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(disk.read(0, 64).expect("sectors"), vec![2; 64 * SECTOR]);
    let snapshots = disk.snapshots();
    assert_eq!(snapshots.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["one"]);
    disk.restore(&snapshots[0].1).expect("files that can be written");
    assert!(disk.status().dies.iter().all(|die| die.alive), "it was alive then");
    assert_eq!(disk.read(0, 64).expect("sectors"), vec![1; 64 * SECTOR]);
    disk.write(64, vec![3; SECTOR], Fua::No).expect("room");
    drop(disk);
    // A process that dies while it puts the drive back leaves this.
    let beside = |what: &str| PathBuf::from(format!("{}{what}", path.display()));
    std::fs::write(beside(".restoring"), "one").expect("a file that can be written");
    std::fs::write(&path, "half of it").expect("a file that can be written");
    let mut disk = Disk::open(&setup, &path).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(disk.read(0, 64).expect("sectors"), vec![1; 64 * SECTOR]);
    assert_ne!(disk.read(64, 1).expect("a sector"), vec![3; SECTOR]);
    disk.cut_power().expect("files that can be written");
    disk.snapshot("two").expect("files that are this process's own after a cut, too");
    disk.delete_snapshot("one").expect("it was there");
    let left: Vec<String> = disk.snapshots().into_iter().map(|(name, _)| name).collect();
    let are_there =
        [".one.snapshot", ".one.snapshot.memory", ".two.snapshot", ".two.snapshot.memory"].map(|what| beside(what).exists());
    assert_eq!((left, are_there), (vec!["two".to_owned()], [false, false, true, true]));
    disk.delete_snapshot("two").expect("it was there");
    drop(disk);
    remove(&path);
}

/// A save writes the changes: a page when it comes into the buffer, and when it is programmed, whatever the buffer
/// holds beside it.
#[test]
fn a_write_to_a_drive_in_files_saves_what_it_changes() {
    for pages in [8, 64] {
        let buffer = ssd::Buffer { size: vocab::Bytes(4096 * pages), ..ssd::Buffer::default() };
        let mut case = case(&SchemeChoice::named("ds-raid"), buffer, 25, pages);
        case.setup.buffer.size = buffer.size;
        let (setup, world) = (setup_of(&case), World::default());
        let mut disk =
            Disk::create_in(&setup, Path::new("drive"), world.files()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let mut draws = Streams::new(25).stream("test/writes");
        let (per, writes) = (disk.sectors_per_page(), 1000);
        for _ in 0..writes {
            let page = draws.below(disk.sectors() / u64::from(per));
            let data: Vec<u8> = (0..per as usize * SECTOR).map(|_| draws.bits() as u8).collect();
            disk.write(page * u64::from(per), data, Fua::No).expect("room");
        }
        let status = disk.status();
        let programs: u64 = status.flash_programs.iter().map(|(_, programs)| programs).sum();
        let page = setup.drive.geometry.page_size.0;
        // Beside a page: OOB, members and where it goes; beside a transaction: its head, numbers and fields that are gone.
        let most = writes * (4096 + 512) + programs * (page + 1024);
        let saved = disk.bytes_saved();
        assert!(
            saved > writes * 4096 && saved < most,
            "{pages} pages buffered: {saved} bytes of {writes} writes, {programs} programs"
        );
    }
}
