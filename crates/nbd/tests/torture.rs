//! Random clients and faults, through the sockets of a served drive, against a model that is an array of sectors.
//!
//! A scenario comes from its seed: the drive, its requests, and what happens to it. A *still* one has one request at a time and no
//! time but that of requests, so it happens again to the bit; a *deep* one has several connections with many requests under way and a
//! process that is killed, so of it the seed repeats what is asked and done, not in which order threads get there.
#![cfg(target_os = "linux")]

mod common;

use common::client::{Client, FLUSH, FUA, READ, Reply, TRIM, WRITE, ZEROES, stamped};
use common::{Served, have, kills};
use serve::{Kept, Pace};
use std::collections::{BTreeMap, VecDeque};
use vocab::{Stream, Streams};

const SECTOR: u64 = 512;
/// Sectors of a logical page of the drive, and of the drive.
const PER_PAGE: u64 = 8;
const SECTORS: u64 = (4 << 20) / SECTOR;
/// Requests under way on all connections of a deep scenario.
const DEPTH: usize = 12;

/// Contents of a sector: the number of the write that left it, or 0 for zeros.
#[derive(Clone, Debug, Default)]
struct Sector {
    /// The newest answered, and others that a power cut may leave.
    newest: u64,
    others: Vec<u64>,
    /// It was discarded, and nothing durable was written since: a cut may leave anything.
    discarded: bool,
    /// It is under the hands of a request that was not answered.
    busy: bool,
    /// It was written about when the power went, perhaps after that: a next cut may still lose it.
    late: bool,
    /// How often it was changed: zeros may be written twice.
    changes: u64,
}

#[derive(Clone, Debug)]
enum Asked {
    Read,
    /// A write of this number, or of zeros.
    Write(u64, bool),
    /// All that writes up to this number of answers left is to be durable.
    Flush,
    Discard,
}

#[derive(Clone, Debug)]
struct Request {
    asked: Asked,
    first: u64,
    count: u64,
    /// Of a flush: how often each sector had been changed when it was sent.
    settled: Vec<u64>,
}

struct Scenario {
    name: String,
    served: Served,
    is_deep: bool,
    is_volatile: bool,
    kept: Kept,
    /// Dies that may still be lost.
    spare: u32,
    draws: Stream,
    sectors: Vec<Sector>,
    /// The model as of a snapshot.
    snapshot: Option<Vec<Sector>>,
    clients: Vec<(Client, VecDeque<u64>)>,
    under_way: BTreeMap<u64, Request>,
    sent: u64,
    /// The findings, in a number.
    digest: u64,
}

fn bytes_of(write: u64, sector: u64) -> Vec<u8> {
    if write == 0 { vec![0; SECTOR as usize] } else { stamped(write, sector, SECTOR) }
}

/// The write that left these bytes.
fn number_of(bytes: &[u8], sector: u64) -> Option<u64> {
    let write = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    (bytes == bytes_of(write, sector)).then_some(write)
}

impl Scenario {
    fn new(seed: u64) -> Self {
        let mut draws = Streams::new(seed).stream("test/torture");
        let schemes = [("none", 0), ("raid5", 1), ("ds-raid", 1), ("mds-groups", 1), ("ppc", 0)];
        let (scheme, spare) = schemes[draws.below(schemes.len() as u64) as usize];
        let (is_deep, is_volatile) = (draws.chance(0.5), draws.chance(0.5));
        let kept = if draws.chance(0.4) { Kept::Files } else { Kept::Memory };
        let (kind, size) = if is_volatile { ("volatile", 256) } else { ("plp", 64) };
        let settings = format!(
            "drive.preset = \"mlc-2014\"\nschemes = [\"{scheme}\"]\ncapacity.size = \"4MiB\"\n\
             buffer.kind = \"{kind}\"\nbuffer.size = \"{size}KiB\"\nseed = {seed}\n"
        );
        let how = if is_deep { "deep" } else { "still" };
        let name = format!(
            "seed {seed} ({scheme}, {kind} buffer, {how}, {kept:?}); repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-nbd --test torture"
        );
        let pace = if is_deep { Pace::None } else { Pace::Still };
        let served = Served::with(&format!("torture{seed}"), kept, &settings, |launch| {
            launch.pace = pace;
            // Also where nbdkit has usually one: no client of a scenario hangs up with requests under way.
            launch.more.push("--threads=16".to_owned());
        });
        let sectors = vec![Sector::default(); SECTORS as usize];
        let (clients, under_way) = (Vec::new(), BTreeMap::new());
        let spare = if kept == Kept::Memory { spare } else { 0 };
        let mut scenario = Self {
            name,
            served,
            is_deep,
            is_volatile,
            kept,
            spare,
            draws,
            sectors,
            snapshot: None,
            clients,
            under_way,
            sent: 0,
            digest: 0,
        };
        scenario.connect();
        scenario
    }

    fn connect(&mut self) {
        let connections = if self.is_deep { 3 } else { 1 };
        self.clients = (0..connections).map(|_| (Client::connect(&self.served), VecDeque::new())).collect();
    }

    fn digest(&mut self, what: u64) {
        self.digest = (self.digest ^ what).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
    }

    fn ctl(&self, command: &str) -> serde_json::Value {
        let answer =
            serve::ask(&self.served.control(), command).unwrap_or_else(|error| panic!("{}: {command}: {error}", self.name));
        assert_eq!(answer["ok"], true, "{}: {command}: {answer}", self.name);
        answer
    }

    /// Sectors that no request has under its hands.
    fn range(&mut self) -> Option<(u64, u64)> {
        let draws = &mut self.draws;
        let pages = draws.chance(0.6);
        let count = if pages { PER_PAGE * (1 + draws.below(6)) } else { 1 + draws.below(3 * PER_PAGE) };
        let first = if draws.chance(0.6) { draws.below(SECTORS / 8) } else { draws.below(SECTORS) };
        let first = if pages { first / PER_PAGE * PER_PAGE } else { first };
        let count = count.min(SECTORS - first);
        let is_free = self.sectors[first as usize..][..count as usize].iter().all(|sector| !sector.busy);
        is_free.then_some((first, count))
    }

    fn send(&mut self) {
        let Some((first, count)) = self.range() else { return };
        self.sent += 1;
        let (cookie, force) = (self.sent, self.draws.chance(0.1));
        let (asked, command) = match self.draws.below(100) {
            0..=29 => (Asked::Read, READ),
            30..=34 => (Asked::Flush, FLUSH),
            35..=39 => (Asked::Discard, TRIM),
            40..=44 => (Asked::Write(0, force), ZEROES),
            _ => (Asked::Write(cookie, force), WRITE),
        };
        let flags = if force && matches!(asked, Asked::Write(..)) { FUA } else { 0 };
        let data: Vec<u8> = match asked {
            Asked::Write(write @ 1.., _) => (first..first + count).flat_map(|sector| bytes_of(write, sector)).collect(),
            _ => Vec::new(),
        };
        let (offset, length, settled) = match asked {
            Asked::Flush => (0, 0, self.sectors.iter().map(|sector| sector.changes).collect()),
            _ => {
                self.sectors[first as usize..][..count as usize].iter_mut().for_each(|sector| sector.busy = true);
                (first * SECTOR, (count * SECTOR) as u32, Vec::new())
            }
        };
        let client = self.draws.below(self.clients.len() as u64) as usize;
        let (client, order) = &mut self.clients[client];
        let sent = client.send(flags, command, cookie, offset, length, &data);
        sent.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        order.push_back(cookie);
        self.under_way.insert(cookie, Request { asked, first, count, settled });
    }

    /// Hears an answer of the connection whose request is the oldest. False: it broke.
    fn hear(&mut self, was_cut: bool) -> bool {
        let oldest =
            self.clients.iter_mut().filter(|(_, order)| !order.is_empty()).min_by_key(|(_, order)| order.front().copied());
        let Some((client, order)) = oldest else { return false };
        let Ok((cookie, reply)) = client.hear() else {
            order.clear();
            return self.clients.iter().any(|(_, order)| !order.is_empty());
        };
        order.retain(|other| *other != cookie);
        let request = self.under_way.remove(&cookie).unwrap_or_else(|| panic!("{}: answer to nothing", self.name));
        self.answered(&request, reply, was_cut);
        true
    }

    fn answered(&mut self, request: &Request, reply: Reply, was_cut: bool) {
        let again = &self.name;
        if was_cut && reply.is_err() {
            return self.given_up(request);
        }
        let data = reply.unwrap_or_else(|error| panic!("{again}: {request:?}: error {error}"));
        let range = request.first..request.first + request.count;
        match request.asked {
            Asked::Read => {
                for (sector, bytes) in range.clone().zip(data.chunks_exact(SECTOR as usize)) {
                    let (found, wanted) = (number_of(bytes, sector), self.sectors[sector as usize].newest);
                    // A cut may have come before it.
                    assert!(found == Some(wanted) || was_cut, "{}: sector {sector} has {found:?}, wanted {wanted}", self.name);
                    self.digest(found.unwrap_or(u64::MAX));
                }
            }
            // It may have come after the cut.
            Asked::Flush if was_cut => {}
            Asked::Flush => {
                for (sector, &changes) in self.sectors.iter_mut().zip(&request.settled) {
                    if sector.changes == changes && !(sector.newest == 0 && sector.discarded) && !sector.busy {
                        (sector.others, sector.discarded) = (Vec::new(), false);
                    }
                }
            }
            Asked::Write(write, force) => {
                for sector in &mut self.sectors[range.start as usize..range.end as usize] {
                    let old = std::mem::replace(&mut sector.newest, write);
                    sector.others.push(old);
                    sector.changes += 1;
                    sector.late |= was_cut;
                    if !self.is_volatile || force && !sector.discarded {
                        sector.others.clear();
                    }
                    sector.discarded &= self.is_volatile;
                }
            }
            Asked::Discard => {
                let (from, to) = (range.start.div_ceil(PER_PAGE) * PER_PAGE, range.end / PER_PAGE * PER_PAGE);
                for sector in &mut self.sectors[from as usize..to.max(from) as usize] {
                    (sector.newest, sector.discarded) = (0, true);
                    sector.changes += 1;
                }
            }
        }
        self.free(request);
    }

    fn free(&mut self, request: &Request) {
        if !matches!(request.asked, Asked::Flush) {
            self.sectors[request.first as usize..][..request.count as usize].iter_mut().for_each(|sector| sector.busy = false);
        }
    }

    /// A cut met a request: it may have been carried out, or in part.
    fn given_up(&mut self, request: &Request) {
        for sector in &mut self.sectors[request.first as usize..][..request.count as usize] {
            sector.changes += 1;
            match request.asked {
                Asked::Write(write, _) => sector.others.push(write),
                Asked::Discard => (sector.others.push(0), sector.discarded = true).1,
                Asked::Read | Asked::Flush => {}
            }
        }
        self.free(request);
    }

    /// Hears all answers.
    fn drain(&mut self, was_cut: bool) {
        while self.hear(was_cut) {}
        for request in std::mem::take(&mut self.under_way).into_values() {
            assert!(was_cut, "{}: {request:?} was not answered", self.name);
            self.given_up(&request);
        }
    }

    /// Reads all; what is found is what is there from now on.
    fn look(&mut self, was_cut: bool) {
        const AT_ONCE: u64 = 256;
        for part in 0..SECTORS / AT_ONCE {
            let first = part * AT_ONCE;
            let read = self.clients[0].0.ask(0, READ, first * SECTOR, (AT_ONCE * SECTOR) as u32, &[]);
            let data = read.unwrap_or_else(|error| panic!("{}: sector {first}: error {error}", self.name));
            for (sector, bytes) in (first..).zip(data.chunks_exact(SECTOR as usize)) {
                let found = number_of(bytes, sector).unwrap_or_else(|| panic!("{}: sector {sector} is torn", self.name));
                let model = &mut self.sectors[sector as usize];
                let is_valid = model.newest == found || was_cut && (model.discarded || model.others.contains(&found));
                assert!(is_valid, "{}: sector {sector} has {found}, wanted {model:?}, cut: {was_cut}", self.name);
                if was_cut {
                    (model.newest, model.discarded) = (found, model.discarded && found == 0);
                    if !std::mem::take(&mut model.late) {
                        model.others.clear();
                    }
                }
                self.digest(found);
            }
        }
        self.served.check();
    }

    /// Something happens to the drive.
    fn strike(&mut self) {
        let in_memory = self.kept == Kept::Memory;
        match self.draws.below(100) {
            0..=19 if self.kept == Kept::Files => {
                self.served.kill();
                self.drain(true);
                self.served.start();
                self.connect();
                self.look(true);
            }
            0..=39 => {
                if !self.is_deep {
                    self.drain(false);
                }
                self.ctl("cut-power");
                self.drain(true);
                self.look(true);
            }
            40..=49 => drop(self.ctl("idle 2s")),
            50..=54 => drop(self.ctl("age 10d")),
            55..=64 if in_memory => {
                self.drain(false);
                self.ctl("snapshot then");
                self.snapshot = Some(self.sectors.clone());
            }
            65..=74 if let Some(sectors) = self.snapshot.clone() => {
                self.drain(false);
                self.ctl("restore then");
                self.sectors = sectors;
                self.look(false);
            }
            75..=84 if self.spare > 0 => {
                self.spare -= 1;
                // A die that was lost before the snapshot was taken would be there again.
                self.snapshot = None;
                let die = self.draws.below(8);
                self.ctl(&format!("kill die {die}"));
            }
            _ => {
                self.drain(false);
                self.look(false);
            }
        }
    }

    /// The whole of it; what was found, in a number.
    fn run(mut self, requests: u64) -> u64 {
        let depth = if self.is_deep { DEPTH } else { 1 };
        for _ in 0..requests {
            self.send();
            while self.under_way.len() >= depth {
                assert!(self.hear(false), "{}: the connection broke", self.name);
            }
            if self.draws.chance(0.02) {
                self.strike();
            }
        }
        self.drain(false);
        self.ctl("cut-power");
        self.look(true);
        if !self.is_deep {
            let status = self.ctl("status");
            for key in ["time_s", "pages_written", "flash_programs", "flash_erases", "reads"] {
                status[key].to_string().bytes().for_each(|byte| self.digest(byte.into()));
            }
        }
        self.digest
    }
}

/// The seed that is asked for, or this many.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let one = std::env::var("FLASHKEEP_SEED").ok().and_then(|text| text.parse().ok());
    one.map_or(0..kills(usual), |seed| seed..seed + 1)
}

#[test]
fn random_clients_find_what_they_were_told_through_all_that_happens() {
    if have("random_clients_find_what_they_were_told", &["nbdkit"]) {
        for seed in seeds(8) {
            Scenario::new(seed).run(300);
        }
    }
}

#[test]
fn a_still_scenario_happens_again() {
    if !have("a_still_scenario_happens_again", &["nbdkit"]) {
        return;
    }
    let mut found = Vec::new();
    for seed in (1000..).filter(|seed| !Scenario::new(*seed).is_deep).take(2) {
        let [one, other] = [(); 2].map(|()| Scenario::new(seed).run(150));
        assert_eq!(one, other, "seed {seed}");
        found.push(one);
    }
    assert_ne!(found[0], found[1]);
}

/// A model that knows of no volatile buffer is contradicted by a drive that has one: cuts lose something, and that is noticed.
#[test]
fn a_drive_that_forgets_what_it_should_keep_is_found() {
    if !have("a_drive_that_forgets_is_found", &["nbdkit"]) {
        return;
    }
    let volatile = (0..).map(Scenario::new).find(|scenario| scenario.is_volatile && !scenario.is_deep).expect("half of all are");
    let careless = Scenario { is_volatile: false, ..volatile };
    let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| careless.run(300))).expect_err("data were lost");
    assert!(said.downcast_ref::<String>().is_some_and(|said| said.contains("wanted Sector")), "{said:?}");
}
