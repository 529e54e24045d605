//! A drive in files: flash is an image (`docs/spec/image.md`), power-safe memory a file beside it
//! (`docs/spec/memory.md`). Killing the process is a power cut, and opening the files mounts the drive.
//!
//! Flash changes inside events, by one command at a time. What is power-safe is saved between events,
//! and the host hears of answers after that. So whenever the process dies, the files hold memory as it
//! was between two events, and flash as it was then, but for commands that dies were working on: those
//! ended, were cut short or had not begun. That is a state after a power cut (`cut`), which a mount
//! knows how to come back from (`mount`).

mod memory;
mod saved;

use crate::boot;
use crate::boot::age::mark_bad_blocks;
use crate::config::SetupError;
use crate::config::{Age, Faults, Pace, PayloadKind, Setup};
use crate::core::bytes::Malformed;
use crate::core::scrub::Scrub;
use crate::engine::Engine;
use crate::fit::check_setup;
use crate::host::oracle::Oracle;
use crate::host::requests::HostEvent;
use crate::host::requests::Journal;
use crate::power::cut::Remains;
use crate::power::mount::Mounted;
use crate::write::zones::over::code_over;
use device::contents::{HostPayload, PageBuf, Window};
use memory::Memory;
pub use memory::MemoryError;
use nand::{Faulty, FileArray, FlashArray, ImageError, PageScan, Scan};
use protect::Protection;
use protect::code_zones::CodeZones;
use saved::{CLOCK, Saved};
use std::fmt;
use std::path::{Path, PathBuf};
use vocab::{Grid, HostCommand, HostOp, Lba, Lpn, Nanos, Ppn, SimTime, StreamId, Streams};

/// Flash with all bytes of its pages, which may lose some.
pub(crate) type Flash = Faulty<FileArray<PageBuf>>;

/// Flash that has lost nothing so far.
fn whole(flash: FileArray<PageBuf>, setup: &Setup) -> Flash {
    let dies = setup.drive.geometry.dies();
    Faulty::new(flash, dies, 0.0, Streams::new(setup.seed).stream("nand/uncorrectable"))
}

/// Why a drive in files could not be made, opened or used.
#[derive(Debug)]
pub enum ImageSessionError {
    /// The setup cannot be built, or not in files.
    Setup(SetupError),
    /// The image.
    Image(ImageError),
    /// The file of power-safe memory.
    Memory(MemoryError),
}

impl fmt::Display for ImageSessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(f),
            Self::Image(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImageSessionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setup(error) => Some(error),
            Self::Image(error) => error.source(),
            Self::Memory(error) => error.source(),
        }
    }
}

impl From<SetupError> for ImageSessionError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl From<ImageError> for ImageSessionError {
    fn from(error: ImageError) -> Self {
        Self::Image(error)
    }
}

impl From<MemoryError> for ImageSessionError {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
    }
}

/// What a logical page was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageFound {
    /// Nothing: it was never written, or discarded.
    Unmapped,
    /// Its flash is lost, and so is too much of what would bring it back.
    Lost,
    /// These bytes; `None`: zeros.
    Bytes(Option<Box<[u8]>>),
}

/// Versions of a page that one life of the process may send before they meet those of the next.
const VERSIONS_A_LIFE: u32 = 1 << 14;
/// Lives until versions begin again.
const LIVES: u64 = 1000;

/// A drive in files, for as long as a process has them open.
pub struct ImageSession {
    pub(crate) drive: Engine<PageBuf, Flash>,
    memory: Memory,
    /// How often the files were opened.
    opened: u64,
    /// What was saved last.
    saved: Vec<u8>,
    mounted: Mounted,
    path: PathBuf,
    /// Memory could not be saved: files and drive are no longer the same.
    broken: bool,
}

impl ImageSession {
    /// A new drive with an image at `path` and its power-safe memory beside it, in `path.memory`.
    ///
    /// # Errors
    /// Names the setting at fault, or the file that cannot be made.
    pub fn create(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        let (grid, protection) = check_for_files(setup)?;
        let mut flash = FileArray::create(path, setup.drive.geometry, members_at_most(&protection, &grid))?;
        mark_bad_blocks(&mut flash, setup, &protection, &Streams::new(setup.seed));
        let flash = whole(flash, setup);
        let mut drive = Engine::new(setup, protection, flash)?;
        boot::bring_up(&mut drive, setup, (None, Remains::default()), boot::new_drive())?;
        drive.host.requests.journal = Some(Journal::default());
        let saved = saved::encode(&drive, 0);
        let memory = Memory::create(&Memory::path_beside(path), &in_words(setup), &saved)?;
        Ok(Self { drive, memory, opened: 0, saved, mounted: Mounted::default(), path: path.to_owned(), broken: false })
    }

    /// Opens the files of a drive of this setup, mounts it, lets it recover and reads all of it, so that
    /// later reads can be held against what was found.
    ///
    /// # Errors
    /// Names file, byte and field of what is damaged, or the setting that is another.
    pub fn open(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        let mut session = Self::mounted_from(setup, path)?;
        session.advance(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_| {}, &mut |_| true)?;
        session.take_stock()?;
        Ok(session)
    }

    /// As [`Self::open`], before the drive recovers.
    pub(crate) fn mounted_from(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        let (_, protection) = check_for_files(setup)?;
        let flash = whole(FileArray::open(path)?, setup);
        if *flash.grid().geometry() != setup.drive.geometry {
            let found = flash.grid().geometry();
            return Err(SetupError::new(format!("geometry: {} has another: {found:?}", path.display())).into());
        }
        let (memory, state) = Memory::open(&Memory::path_beside(path), &in_words(setup))?;
        let mut drive = Engine::new(setup, protection, flash)?;
        let refuse = |Malformed { at, field, reason }| memory.refuse(at, field, reason);
        let saved = saved::decode(&state, &drive).map_err(refuse)?;
        is_as_new_as_flash(&saved, &drive).map_err(refuse)?;
        let Saved { opened, now, remains, .. } = saved;
        let mounted = mount(&mut drive, setup, now, remains);
        drive.host.requests.journal = Some(Journal::default());
        Ok(Self { drive, memory, opened: opened + 1, saved: Vec::new(), mounted, path: path.to_owned(), broken: false })
    }

    /// Where the image is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets go of the image, so that it can be opened again; nothing of the drive can be used any more.
    pub(crate) fn let_go(&mut self) {
        self.broken = true;
        self.drive.core.device.array.inner_mut().let_go();
    }

    /// Saves what is power-safe, if that changed.
    ///
    /// # Errors
    /// If that fails, now or earlier.
    pub(crate) fn save(&mut self) -> Result<(), ImageSessionError> {
        let Self { drive, memory, opened, saved, broken, .. } = self;
        if *broken {
            return Err(not_saved(memory));
        }
        let done = save(drive, memory, *opened, saved);
        *broken = done.is_err();
        Ok(done?)
    }

    /// What opening the files found.
    #[must_use]
    pub fn mounted(&self) -> Mounted {
        self.mounted
    }

    /// Replays host commands. `told` hears what becomes of them once that outlives the process; requests
    /// are numbered from 0 since the files were opened. The run stops before the event for which `go_on`,
    /// which hears its number, says no.
    ///
    /// # Errors
    /// If power-safe memory cannot be saved. Nothing more is told then, now or later.
    pub fn advance(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        told: &mut dyn FnMut(HostEvent),
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), ImageSessionError> {
        let Self { drive, memory, opened, saved, broken, .. } = self;
        let (mut number, mut failed) = (0, None);
        if *broken {
            return Err(not_saved(memory));
        }
        drive.replay_stepwise(commands, pace, &mut |_, _| {}, |drive| {
            if let Err(error) = save(drive, memory, *opened, saved) {
                failed = Some(error);
                return false;
            }
            let journal = drive.host.requests.journal.as_ref().expect("kept since the drive was made");
            journal.take().into_iter().for_each(&mut *told);
            number += 1;
            go_on(number - 1)
        });
        *broken = failed.is_some();
        failed.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Reads a logical page.
    ///
    /// # Errors
    /// As of [`Self::advance`].
    ///
    /// # Panics
    /// If the drive has no such page.
    pub fn read(&mut self, lpn: Lpn) -> Result<PageFound, ImageSessionError> {
        assert!(lpn.0 < self.drive.core.map.user_slots(), "{lpn} is not there");
        let (numbered, sectors) = (self.drive.host.requests.arrived, self.drive.host.requests.sectors_per_slot);
        let lba = Lba(u64::from(lpn.0) * u64::from(sectors));
        let read = HostCommand { at: SimTime(0), op: HostOp::Read, lba, sectors, stream: StreamId::default() };
        self.drive.host.observation.pages = Some(Vec::new());
        let done = self.advance(&mut std::iter::once(read), Pace::Closed { depth: 1 }, &mut |_| {}, &mut |_| true);
        self.drive.host.requests.arrived = numbered;
        let seen = self.drive.host.observation.pages.take().unwrap_or_default();
        done?;
        let page = seen.into_iter().find(|(found, _)| *found == lpn);
        Ok(match page {
            None => PageFound::Lost,
            Some((_, None)) => PageFound::Unmapped,
            Some((_, Some(page))) => PageFound::Bytes(page.bytes().map(Into::into)),
        })
    }

    /// Reads all pages: what they hold is what later reads must find. Bytes that no write of a page left
    /// there are a wrong read.
    fn take_stock(&mut self) -> Result<(), ImageSessionError> {
        let (pages, sectors) = (self.drive.core.map.user_slots(), self.drive.host.requests.sectors_per_slot);
        // What another process sent and did not get to flash is not sent again.
        let base = (self.opened % LIVES) as u32 * VERSIONS_A_LIFE;
        let (floors, mut oracle) = (vec![0; sectors as usize], Oracle::new::<PageBuf>(pages, sectors));
        let mut wrong = None;
        for lpn in (0..pages).map(Lpn) {
            let PageFound::Bytes(bytes) = self.read(lpn)? else {
                oracle.adopt(lpn, 0, base);
                continue;
            };
            let page = PageBuf::from(bytes);
            let window = |whole| Window { floor: 0, newest: u32::MAX, sectors: &floors, whole };
            oracle.whole &= page.verify(lpn, &window(true)).is_ok();
            if let Err(what) = page.verify(lpn, &window(false)) {
                wrong.get_or_insert(what);
            }
            oracle.adopt(lpn, page.version(), base);
        }
        self.drive.host.oracle = oracle;
        self.drive.host.first_mismatch = wrong;
        Ok(())
    }

    /// As [`crate::Session::scrub`].
    ///
    /// # Errors
    /// Says what differs.
    pub fn scrub(&self) -> Result<Scrub, String> {
        self.drive.scrub()
    }

    /// As [`crate::Session::check_counts`].
    ///
    /// # Panics
    /// If one is off.
    pub fn check_counts(&self) {
        self.drive.check_counts();
    }

    /// Erases since the files were opened.
    #[must_use]
    pub fn erases(&self) -> u64 {
        self.drive.core.device.folds.erases.iter().sum()
    }

    /// The first wrong read since the files were opened, in words.
    #[must_use]
    pub fn first_mismatch(&self) -> Option<&str> {
        self.drive.host.first_mismatch.as_deref()
    }

    /// Makes both files durable, against a failure of the machine.
    ///
    /// # Errors
    /// If that fails, or an earlier write of a mark did.
    pub fn sync(&mut self) -> Result<(), ImageSessionError> {
        self.drive.core.device.array.inner_mut().sync()?;
        Ok(self.memory.sync()?)
    }
}

/// Checks a setup, builds its scheme, and refuses what files do not keep.
fn check_for_files(setup: &Setup) -> Result<(Grid, Protection), SetupError> {
    let (grid, protection) = check_setup(setup)?;
    let refuse = |what: &str| Err(SetupError::new(format!("a drive in files: {what}")));
    if setup.payload != PayloadKind::Page {
        return refuse("payload: valid is page, an image holds all bytes");
    }
    if !setup.power.mountable {
        return refuse("power.mountable: a drive that cannot be mounted cannot be opened");
    }
    if setup.power.checkpoint {
        return refuse("power.checkpoint: all pages are looked at when the image is opened");
    }
    if setup.ecc.flush != Nanos(0) {
        return refuse("ecc.flush: what reserved pages hold is not in the image");
    }
    if setup.faults
        != (Faults { rebuild: setup.faults.rebuild, rebuild_at_once: setup.faults.rebuild_at_once, ..Faults::default() })
    {
        return refuse("faults: no file keeps which parts have failed");
    }
    if setup.age != (Age { bad_blocks: setup.age.bad_blocks, ..Age::default() }) {
        return refuse("age: wear is what pages say, and they would say less");
    }
    if grid.dies() > MOST_DIES && !matches!(protection, Protection::None) {
        return refuse(&format!(
            "the drive has {} dies, valid are up to {MOST_DIES}: OOB bytes keep a set of so many",
            grid.dies()
        ));
    }
    let code = code_over(&setup.drive, &setup.scheme)?;
    // Between two events flash changes by one command of a die at most.
    if is_free(&protection, code.as_ref()) {
        return refuse("scheme code-zones, offline_cost: found free, valid is charged: what takes no time cannot be cut short");
    }
    Ok((grid, protection))
}

/// Whether code is written without taking time.
fn is_free(protection: &Protection, code: Option<&CodeZones>) -> bool {
    let own = if let Protection::Zones(zones) = protection { Some(&**zones) } else { None };
    own.or(code).is_some_and(|zones| !zones.offline().charged)
}

/// Dies that the coverage in the OOB bytes of `docs/spec/oob.md` tells apart.
const MOST_DIES: u32 = 32;

/// Members that a page names, at most: a codeword over dies, what a stripe is made of, or a block with its
/// own parity.
fn members_at_most(protection: &Protection, grid: &Grid) -> u32 {
    let slots = grid.slots_per_page();
    match protection {
        Protection::None | Protection::Zones(_) => 0,
        Protection::Stripes(scheme) => scheme.data_strips(),
        Protection::Rows(_) => grid.dies() * slots,
        Protection::Groups(scheme) => {
            let in_block = if scheme.codes().iter().any(|code| code.block > 0) { grid.pages_per_block() } else { 0 };
            grid.dies().max(in_block) * slots
        }
    }
}

/// What must be the same whenever the files are opened.
fn in_words(setup: &Setup) -> String {
    let Setup { scheme, user_slots, buffer, .. } = setup;
    format!("scheme {scheme}, {user_slots} logical pages, buffer {:?}", buffer.kind)
}

/// Memory is saved when a program is given its rank, before flash can have it.
fn is_as_new_as_flash(saved: &Saved, drive: &Engine<PageBuf, Flash>) -> Result<(), Malformed> {
    let pages = (0..drive.core.device.grid.geometry().pages()).map(Ppn);
    let rank = |ppn: Ppn| if let PageScan::Valid(page) = drive.core.device.array.scan_page(ppn) { page.oob.sequence } else { 0 };
    let newest = pages.map(rank).max().unwrap_or(0);
    if newest <= saved.sequence {
        return Ok(());
    }
    let reason = format!("found {}, the image has {newest}: this is the memory of an earlier time", saved.sequence);
    Err(Malformed { at: 16, field: "rank", reason })
}

/// Mounts a drive with an empty map.
fn mount(drive: &mut Engine<PageBuf, Flash>, setup: &Setup, saved: SimTime, remains: Remains<PageBuf>) -> Mounted {
    let pages = (0..drive.core.device.grid.geometry().pages()).map(Ppn);
    let written = pages.filter_map(|ppn| match drive.core.device.array.scan_page(ppn) {
        PageScan::Valid(page) => Some(page.first_program),
        _ => None,
    });
    // The clock was saved before the last program ended.
    drive.core.device.now = written.max().unwrap_or_default().max(saved);
    let found = boot::bring_up(drive, setup, (None, remains), boot::reopened()).expect("it was built before");
    found.mounted
}

fn not_saved(memory: &Memory) -> ImageSessionError {
    memory.refuse(0, "state", "it could not be saved, and is not what the drive had".into()).into()
}

/// Saves what is power-safe, if that changed.
fn save(drive: &Engine<PageBuf, Flash>, memory: &mut Memory, opened: u64, saved: &mut Vec<u8>) -> Result<(), MemoryError> {
    let state = saved::encode(drive, opened);
    if saved.len() != state.len() || saved[CLOCK..] != state[CLOCK..] {
        memory.save(&state)?;
        *saved = state;
    }
    Ok(())
}
