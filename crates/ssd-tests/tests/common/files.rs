//! Drives in files, and a witness of what their host was told.

use super::ssd::{self, Buffer, BufferKind, HostEvent, ImageSession, PageFound, Power, Setup, protect::SchemeChoice};
use super::{MIX, Mix, buffers, drive, schemes, setup_of, workload};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use vocab::{Bytes, Fua, HostCommand, HostOp, Lpn, Streams};

pub const SECTORS: u32 = 8;

/// A drive, and what its host does.
#[derive(Clone)]
pub struct Case {
    /// The scheme as it was chosen.
    pub choice: String,
    pub setup: Setup,
    pub mix: Mix,
    pub seed: u64,
    pub number: u64,
}

/// Every scheme that keeps its promise, with its defaults under each kind of buffer and with each variant
/// under one of them.
pub fn all_cases(seed: u64) -> Vec<Case> {
    let schemes = ssd::protect::registry::SCHEMES.iter().filter(|entry| !entry.canary);
    let mut all = Vec::new();
    for (index, choice) in schemes.flat_map(|entry| entry.choices()).enumerate() {
        let few = !choice.options.is_empty();
        for (which, (_, buffer)) in buffers().into_iter().enumerate() {
            if !few || (index as u64 + seed) % 3 == which as u64 {
                all.push(case(&choice, buffer, seed, (index * 3 + which) as u64));
            }
        }
    }
    all
}

/// As [`all_cases`]; `FLASHKEEP_SCHEME` leaves those of one scheme.
pub fn cases(seed: u64) -> Vec<Case> {
    let wanted: Vec<String> = schemes().map(|choice| choice.to_string()).collect();
    let mut all = all_cases(seed);
    all.retain(|case| wanted.contains(&case.choice));
    all
}

/// Numbers make the cases of a seed differ. Discards go with whole pages, so that any earlier version of
/// a page is one of whole pages.
pub fn case(choice: &SchemeChoice, buffer: Buffer, seed: u64, number: u64) -> Case {
    let mut draws = Streams::new(seed).stream_of("test/case", number);
    let mut scheme = choice.clone();
    if scheme.name == "code-zones" {
        scheme.options.insert("spare_blocks".into(), "3".into());
        scheme.options.insert("offline_cost".into(), "charged".into());
    }
    let wide = drive(5, 12, 4, 2);
    let slots = if draws.chance(0.3) && ssd::mountable_slots_max(&wide, &scheme, &Default::default()).is_ok() { 2 } else { 1 };
    let buffer = Buffer { size: Bytes(4096 * (4 + draws.below(12))), ..buffer };
    let mut setup = Setup { buffer, seed, ..setup_of(&scheme, drive(5, 12, 4, slots), 0.7) };
    setup.precondition.fill = 0.75;
    setup.precondition.converge_within = 1e-9;
    setup.precondition.overwrite_at_most = 0.5;
    setup.power = Power { mountable: true, ..Power::default() };
    setup.payload = ssd::PayloadKind::Page;
    let whole = draws.chance(0.6);
    let mix = Mix { reads: 0.15, max_pages: 5, every: 100_000, ..MIX };
    let mix = if whole { Mix { partial: 0.0, ..mix } } else { Mix { partial: 0.3, discards: 0.0, ..mix } };
    Case { choice: choice.to_string(), setup, mix, seed, number }
}

impl Case {
    pub fn path_of(&self, name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{}.image", self.seed, self.number))
    }

    /// An image of this name that is not there yet.
    pub fn path(&self, name: &str) -> PathBuf {
        remove(&self.path_of(name));
        self.path_of(name)
    }

    /// Commands of the host in one life of the process.
    pub fn commands(&self, life: u64) -> Vec<HostCommand> {
        let seed = Streams::new(self.seed).stream_of("test/life", self.number << 16 | life).bits();
        workload(seed, self.setup.user_slots, 4_000, self.mix)
    }

    pub fn depth(&self) -> u32 {
        1 << ((self.seed + self.number) % 4)
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (choice, Setup { buffer, user_slots, .. }) = (&self.choice, &self.setup);
        write!(f, "seed {} case {} ({choice}, buffer {:?}, {user_slots} pages)", self.seed, self.number, buffer.kind)
    }
}

/// The file of PLP memory beside an image.
pub fn memory_of(image: &Path) -> PathBuf {
    PathBuf::from(format!("{}.memory", image.display()))
}

pub fn remove(image: &Path) {
    for path in [image.to_owned(), memory_of(image)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{}: {error}", path.display()),
            _ => {}
        }
    }
}

/// Versions that may be found of a logical page.
#[derive(Clone, Debug, Default)]
struct Page {
    /// Writes in order: their versions and sectors.
    writes: Vec<(u32, Range<u32>)>,
    /// Newest version that was answered, and that is durable. 0: the page may be unmapped.
    answered: u32,
    durable: u32,
    /// The last discard of it, one more than its number.
    discarded: u64,
}

impl Page {
    /// Later writes are forgotten: they did not get to where they last.
    fn writes_up_to(&mut self, newest: u32, versions: &[u32]) -> &[(u32, Range<u32>)] {
        // The process may have died before it could say that it had sent this.
        if self.writes.iter().all(|(version, _)| *version < newest) {
            let of = |&sector: &u32| versions[sector as usize] == newest;
            let sectors: Vec<u32> = (0..versions.len() as u32).filter(of).collect();
            self.writes.push((newest, sectors[0]..sectors[sectors.len() - 1] + 1));
        }
        self.writes.retain(|(version, _)| *version <= newest);
        &self.writes
    }
}

/// Remembers what the host was told, and holds what is found against it.
#[derive(Clone)]
pub struct Witness {
    volatile: bool,
    /// Whether the host discards pages: then it writes whole ones.
    discards: bool,
    commands: Vec<HostCommand>,
    pages: Vec<Page>,
    /// Requests that have arrived.
    arrived: u64,
    /// Pages and versions of writes that are under way.
    sent: HashMap<u64, Vec<(u32, u32)>>,
    /// Pages that flushes under way will make durable.
    flushes: HashMap<u64, Vec<u32>>,
    pub answers: u64,
}

impl Witness {
    /// Believes what a new drive holds.
    pub fn of(case: &Case, session: &mut ImageSession) -> Self {
        let volatile = case.setup.buffer.kind == BufferKind::Volatile;
        let pages = vec![Page::default(); case.setup.user_slots as usize];
        let (sent, flushes) = (HashMap::new(), HashMap::new());
        let discards = case.mix.discards > 0.0;
        let mut witness = Self { volatile, discards, commands: Vec::new(), pages, arrived: 0, sent, flushes, answers: 0 };
        witness.check(session).expect("a new drive");
        witness
    }

    /// A process begins to send these.
    pub fn new_life(&mut self, commands: Vec<HostCommand>) {
        self.commands = commands;
        self.arrived = 0;
        self.sent.clear();
        self.flushes.clear();
        self.pages.iter_mut().for_each(|page| page.discarded = 0);
    }

    pub fn hear(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Arrived { request } => self.arrived(*request),
            HostEvent::Sent { request, lpn, version, sectors } => {
                self.pages[lpn.index()].writes.push((*version, sectors.clone()));
                self.sent.entry(*request).or_default().push((lpn.0, *version));
            }
            HostEvent::Answered { request, failed: false } => self.answered(*request),
            HostEvent::Answered { request, failed: true } => panic!("request {request} failed"),
        }
    }

    /// The process died, perhaps before it could say what had arrived: at most as many requests as it
    /// lets wait. Discards of these may have been carried out.
    pub fn died(&mut self, depth: u32) {
        (0..depth).for_each(|_| self.arrived(self.arrived));
    }

    fn arrived(&mut self, request: u64) {
        self.arrived = request + 1;
        let command = self.commands[request as usize];
        match command.op {
            HostOp::Flush => {
                self.flushes.insert(request, self.pages.iter().map(|page| page.answered).collect());
            }
            HostOp::Discard => {
                let (from, to) = (command.lba.0, command.lba.0 + u64::from(command.sectors));
                let per = u64::from(SECTORS);
                for lpn in from.div_ceil(per)..to / per {
                    let page = &mut self.pages[lpn as usize];
                    (page.answered, page.durable, page.discarded) = (0, 0, request + 1);
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, request: u64) {
        self.answers += 1;
        let command = self.commands[request as usize];
        let at_once = !self.volatile || command.op == HostOp::Write(Fua::Yes);
        for (lpn, version) in self.sent.remove(&request).unwrap_or_default() {
            let page = &mut self.pages[lpn as usize];
            if page.discarded <= request {
                page.answered = version.max(page.answered);
                page.durable = if at_once { version.max(page.durable) } else { page.durable };
            }
        }
        for (lpn, version) in self.flushes.remove(&request).unwrap_or_default().into_iter().enumerate() {
            let page = &mut self.pages[lpn];
            if page.discarded <= request {
                page.durable = version.max(page.durable);
            }
        }
    }

    /// Reads every page: it must be wholly of one version, none older than what was durable. What is
    /// found now is what it is from now on.
    pub fn check(&mut self, session: &mut ImageSession) -> Result<(), String> {
        for lpn in (0..self.pages.len() as u32).map(Lpn) {
            let found = session.read(lpn).map_err(|error| error.to_string())?;
            self.check_page(lpn, &found).map_err(|what| format!("{lpn} {what}"))?;
        }
        session.check_counts();
        session.audit().map_err(|what| format!("audit: {what}"))?;
        session.first_mismatch().map_or(Ok(()), |what| Err(format!("wrong read: {what}")))
    }

    fn check_page(&mut self, lpn: Lpn, found: &PageFound) -> Result<(), String> {
        let page = &mut self.pages[lpn.index()];
        let durable = page.durable;
        let versions = match found {
            PageFound::Lost => return Err(format!("is lost, wanted version {durable} or newer")),
            // Discarded data may come back, and data that never were durable may not.
            PageFound::Unmapped if durable == 0 => {
                page.writes.clear();
                page.answered = 0;
                return Ok(());
            }
            PageFound::Unmapped => return Err(format!("is unmapped, wanted version {durable} or newer")),
            PageFound::Bytes(bytes) => versions_in(lpn, bytes.as_deref().unwrap_or(&[0; 4096]))?,
        };
        let newest = versions.iter().copied().max().expect("a page has sectors");
        if newest < durable {
            return Err(format!("has version {newest}, wanted {durable} or newer"));
        }
        let mut expected = vec![if self.discards { newest } else { 0 }; versions.len()];
        // Of a discarded page any version may come back: all were of whole pages.
        if !self.discards {
            page.writes_up_to(newest, &versions).iter().for_each(|(version, sectors)| {
                expected[sectors.start as usize..sectors.end as usize].fill(*version);
            });
        }
        if versions != expected {
            return Err(format!("is a mixture: its sectors have versions {versions:?}, wanted {expected:?}"));
        }
        (page.answered, page.durable) = (newest, newest);
        Ok(())
    }
}

/// The version of each sector; each must be whole.
fn versions_in(lpn: Lpn, bytes: &[u8]) -> Result<Vec<u32>, String> {
    let sector = |(sector, found): (usize, &[u8])| {
        if found.iter().all(|&byte| byte == 0) {
            return Ok(0);
        }
        let version = u32::from_le_bytes(found[..4].try_into().expect("4 bytes"));
        let wanted = ssd::page_contents(lpn, version, SECTORS);
        let is_whole = found == &wanted[sector * 512..][..512];
        if is_whole { Ok(version) } else { Err(format!("sector {sector} holds bytes that no write left there")) }
    };
    bytes.chunks_exact(512).enumerate().map(sector).collect()
}
