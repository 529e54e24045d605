//! A drive in files: flash is an image (`docs/spec/image.md`), PLP memory a file beside it
//! (`docs/spec/memory.md`). Killing the process is a power cut, and opening the files mounts the drive.
//!
//! Changes between two answers are saved at once, flash and memory together, in a transaction of the memory's file; the image
//! follows later. The host hears of answers after that. So whenever the process dies, the files say how the drive was between two
//! events, with all that was answered. That is a state after a power cut (`cut`), which a mount knows how to come back from
//! (`mount`). A machine that fails leaves one as well, and of those that were synced the newest or a later one.

mod blocks;
mod fields;
mod kept;
mod memory;
mod saved;
pub(crate) mod snapshot;
#[cfg(test)]
mod testing;

use crate::boot;
use crate::boot::age::mark_bad_blocks;
use crate::config::{Pace, PayloadKind, Setup, SetupError};
use crate::core::audit::Audit;
use crate::core::bytes::{Malformed, Writer};
use crate::core::flash::FlashFile;
use crate::engine::Engine;
use crate::fit::check_setup;
use crate::host::oracle::Oracle;
use crate::host::requests::{HostEvent, Journal};
use crate::power::cut::Remains;
use crate::power::mount::Mounted;
use crate::proof::audit;
use crate::session::{check_counts, kill_dead_dies};
use crate::write::Way;
use crate::write::ways::members_at_most;
use crate::write::zones::over::code_over;
use device::contents::{HostPayload, PageBuf, Window};
use fields::Value;
use kept::{Beside, Kept};
use memory::{Memory, Opened};
use nand::{FaultsFound, Faulty, FileArray, FileError, FlashArray, Logged, PageScan, Scan, Store};
use protect::Protection;
use protect::code_zones::CodeZones;
use saved::Saved;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use vocab::{BlockAddr, Grid, HostCommand, HostOp, Lba, Lpn, SimTime, StreamId, Streams};

/// Flash with all bytes of its pages, which may lose some.
pub(crate) type Flash = Faulty<FlashFile>;

/// Where a drive's bytes are.
pub struct DriveFiles {
    /// Its flash.
    pub image: Box<dyn Store>,
    /// Its PLP memory, which is the log of its flash.
    pub memory: Box<dyn Store>,
}

/// Bytes of the log above which the image catches up: a quarter of the image, within these bounds.
const LOG_MAX: RangeInclusive<u64> = 256 << 10..=32 << 20;
/// Bytes that flash has taken and that are not saved, above which they are, though nothing was answered.
const UNSAVED_MAX: u64 = 1 << 20;

/// Flash that has lost nothing so far.
fn whole(flash: FileArray<PageBuf, Logged<Box<dyn Store>>>, setup: &Setup) -> Flash {
    let draws = Streams::new(setup.seed).stream("nand/uncorrectable");
    Faulty::new(flash, setup.drive.geometry.dies(), setup.faults.uncorrectable_reads, draws)
}

/// Why a drive in files could not be made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum ImageSessionError {
    /// The setup cannot be built, or not in files.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The image, or the file of PLP memory.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Contents of a logical page, as found.
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
    pub(crate) drive: Engine<PageBuf>,
    /// `None`: someone else has the files.
    memory: Option<Memory>,
    /// How often the files were opened.
    opened: u64,
    /// The state saved last.
    saved: Kept,
    mounted: Mounted,
    path: PathBuf,
    /// Memory could not be saved: files and drive are no longer the same.
    broken: bool,
    /// Bytes that were saved.
    bytes_saved: u64,
    /// Whether someone else opened the files.
    is_foreign: bool,
    /// Whether the image may have something that is not durable and that the log does not have.
    image_lags: bool,
}

impl ImageSession {
    /// A new drive with an image at `path` and its PLP memory beside it, in `path.memory`.
    ///
    /// # Errors
    /// Names the setting at fault, or the file that cannot be made.
    pub fn create(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        check_for_files(setup)?;
        let image = Box::new(nand::new_file(path)?);
        let memory = Box::new(Memory::new_file(&Memory::path_beside(path))?);
        Ok(Self { is_foreign: false, ..Self::create_in(setup, path, DriveFiles { image, memory })? })
    }

    /// As [`Self::create`], in empty files that are open already; errors name them by `path`.
    ///
    /// # Errors
    /// Names the setting at fault.
    pub fn create_in(setup: &Setup, path: &Path, files: DriveFiles) -> Result<Self, ImageSessionError> {
        let (grid, protection) = check_for_files(setup)?;
        let DriveFiles { image, memory } = files;
        let members = members_at_most(&protection, &grid);
        let mut flash = FileArray::create_on(path, Logged::new(image), setup.drive.geometry, members)?;
        mark_bad_blocks(&mut flash, setup, &protection, &Streams::new(setup.seed));
        let mut drive = Engine::new(setup, protection, whole(flash, setup))?;
        boot::bring_up(&mut drive, setup, None, Remains::default(), boot::new_drive(), &mut |_| {})?;
        boot::faults::begin(&mut drive.core.device.array, &setup.faults, &Streams::new(setup.seed));
        kill_dead_dies(&mut drive, &setup.faults);
        drive.core.safe.wear_was_added = setup.age.adds_cycles();
        drive.host.requests.journal = Some(Journal::default());
        let saved = Kept::all(&mut drive, 0);
        let state = fields::all(&saved.list(), saved::slot_of(&drive));
        let memory = Memory::create(&Memory::path_beside(path), memory, &in_words(setup), &state)?;
        image_of(&drive).start();
        Ok(Self::over(drive, memory, 0, saved, path))
    }

    fn over(drive: Engine<PageBuf>, memory: Memory, opened: u64, saved: Kept, path: &Path) -> Self {
        let memory = Some(memory);
        Self {
            drive,
            memory,
            opened,
            saved,
            mounted: Mounted::default(),
            path: path.to_owned(),
            broken: false,
            bytes_saved: 0,
            is_foreign: true,
            image_lags: true,
        }
    }

    /// Opens the files of a drive of this setup, mounts it, lets it recover and reads all of it, so that
    /// later reads can be checked against what was found.
    ///
    /// # Errors
    /// Names file, byte and field of what is damaged, or the setting that is another.
    pub fn open(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        Self::mounted_from(setup, path)?.with_stock_taken()
    }

    /// As [`Self::open`], of files that are open already.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_in(setup: &Setup, path: &Path, files: DriveFiles) -> Result<Self, ImageSessionError> {
        Self::mounted_in(setup, path, files)?.with_stock_taken()
    }

    fn with_stock_taken(mut self) -> Result<Self, ImageSessionError> {
        self.advance(&mut std::iter::empty(), Pace::Closed { depth: 1 }, &mut |_| {}, &mut |_| true)?;
        self.take_stock()?;
        Ok(self)
    }

    /// As [`Self::open`], before the drive recovers.
    pub(crate) fn mounted_from(setup: &Setup, path: &Path) -> Result<Self, ImageSessionError> {
        check_for_files(setup)?;
        let image = Box::new(nand::open_file(path)?);
        let memory = Box::new(Memory::open_file(&Memory::path_beside(path))?);
        let files = DriveFiles { image, memory };
        snapshot::finish_restore(path, &files)?;
        Ok(Self { is_foreign: false, ..Self::mounted_in(setup, path, files)? })
    }

    /// As [`Self::mounted_from`], of files that are open already.
    pub(crate) fn mounted_in(setup: &Setup, path: &Path, files: DriveFiles) -> Result<Self, ImageSessionError> {
        let (_, protection) = check_for_files(setup)?;
        let DriveFiles { image, memory } = files;
        let Opened { memory, fields: found, written } = Memory::open(&Memory::path_beside(path), memory, &in_words(setup))?;
        let image = Logged::new(image);
        image.start();
        let size = image.size().unwrap_or(0);
        for (offset, piece) in written {
            if offset.checked_add(piece.length()).is_none_or(|end| end > size) {
                let reason = format!("found {} bytes at {offset}, the image has {size}", piece.length());
                return Err(memory.refuse(Malformed { at: memory.state(), field: "what was written to flash", reason }).into());
            }
            image.replay(offset, piece);
        }
        let flash = whole(FileArray::mount(path, image)?, setup);
        if *flash.grid().geometry() != setup.drive.geometry {
            let found = flash.grid().geometry();
            return Err(SetupError::new(format!("geometry: {} has another: {found:?}", path.display())).into());
        }
        let mut drive = Engine::new(setup, protection, flash)?;
        let saved = saved::decode(&found, &drive).map_err(|malformed| memory.refuse(malformed))?;
        let place = found.place_of(saved::RANK);
        is_as_new_as_flash(&saved, &drive, place).map_err(|malformed| memory.refuse(malformed))?;
        let Saved { opened, now, remains, faults, cells, temperatures, slow, .. } = saved;
        have_faults(&mut drive.core.device.array, setup, faults, opened + 1);
        for (block, cells) in (0..).map(BlockAddr).zip(cells) {
            drive.core.device.array.set_age(block, |info| blocks::have_cells(info, cells));
        }
        let dies = drive.core.device.grid.dies();
        slow.into_iter().for_each(|(die, factor)| drive.core.device.slowness.set(die, factor, dies));
        let mounted = mount(&mut drive, setup, now, remains);
        drive.care.had_temperatures(&mut drive.core, &temperatures);
        drive.host.requests.journal = Some(Journal::default());
        let mut session = Self { mounted, ..Self::over(drive, memory, opened + 1, Kept::default(), path) };
        session.saved = Kept::all(&mut session.drive, session.opened);
        let slot = saved::slot_of(&session.drive);
        let mut changes = found.changes_to(&session.saved.list(), saved::RANKS, slot);
        if session.drive.core.safe.keeps_ranks {
            // The mount has found what the journal did not know.
            let known: Vec<Lpn> = session.drive.core.safe.journal.known().collect();
            changes.extend(ranks(
                &session.drive,
                known.into_iter().filter(|lpn| {
                    let rank = session.drive.core.safe.journal.saved(*lpn);
                    !found.has_number((saved::RANKS, lpn.0.into()), rank)
                }),
            ));
            session.drive.core.safe.journal.watch();
        }
        session.memory.as_mut().expect("just opened").add(&[], &changes)?;
        Ok(session)
    }

    /// Where the image is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The power goes and comes back: the files are mounted as they are. Nothing has recovered yet.
    ///
    /// # Errors
    /// If they cannot be read or written.
    pub(crate) fn mount_again(&mut self, setup: &Setup) -> Result<(), ImageSessionError> {
        let (path, is_foreign, withstands) = (self.path.clone(), self.is_foreign, self.withstands_machine_failures());
        let Some(files) = self.let_go() else { return Err(not_saved()) };
        *self = Self { is_foreign, ..Self::mounted_in(setup, &path, files)? };
        self.withstand_machine_failures(withstands);
        Ok(())
    }

    /// Lets go of the files, so that they can be opened again; nothing of the drive can be used any more.
    pub(crate) fn let_go(&mut self) -> Option<DriveFiles> {
        self.broken = true;
        let image = self.drive.core.device.array.inner_mut().let_go()?;
        Some(DriveFiles { image: image.into_under(), memory: self.memory.take()?.into_file() })
    }

    /// Whether from now on what [`Self::sync`] made durable stays so if the machine fails. That costs waiting for the disk whenever
    /// the image catches up with the log.
    pub fn withstand_machine_failures(&mut self, does: bool) {
        self.image_lags |= !does;
        self.memory.iter_mut().for_each(|memory| memory.wait(does));
    }

    pub(crate) fn withstands_machine_failures(&self) -> bool {
        self.memory.as_ref().is_some_and(Memory::waits)
    }

    /// Saves what changed.
    ///
    /// # Errors
    /// If that fails, now or earlier.
    pub(crate) fn save(&mut self) -> Result<(), ImageSessionError> {
        let Self { drive, memory, opened, saved, broken, bytes_saved, .. } = self;
        let Some(memory) = memory.as_mut().filter(|_| !*broken) else { return Err(not_saved()) };
        let done = save(drive, memory, *opened, saved);
        *broken = done.is_err();
        *bytes_saved += done?;
        Ok(())
    }

    /// As [`Self::save`], to the last read of each block: the process lets go of the files.
    pub(crate) fn save_to_the_last_read(&mut self) -> Result<(), ImageSessionError> {
        self.saved.blocks.look_again();
        self.save()
    }

    /// As [`Self::save`], if flash has taken much since the last time.
    pub(crate) fn save_if_much(&mut self) -> Result<(), ImageSessionError> {
        if image_of(&self.drive).untaken() > UNSAVED_MAX { self.save() } else { Ok(()) }
    }

    /// Bytes that were written to the log since the files were opened.
    #[must_use]
    pub fn bytes_saved(&self) -> u64 {
        self.bytes_saved
    }

    /// Outcome of the mount when the files were opened.
    #[must_use]
    pub fn mounted(&self) -> Mounted {
        self.mounted
    }

    /// Replays host commands. `told` hears what becomes of them once that outlives the process; requests
    /// are numbered from 0 since the files were opened. The run stops before the event for which `go_on`,
    /// which hears its number, says no.
    ///
    /// # Errors
    /// If PLP memory cannot be saved. Nothing more is told then, now or later.
    pub fn advance(
        &mut self,
        commands: &mut dyn Iterator<Item = HostCommand>,
        pace: Pace,
        told: &mut dyn FnMut(HostEvent),
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), ImageSessionError> {
        let Self { drive, memory, opened, saved, broken, .. } = self;
        let (mut number, mut failed) = (0, None);
        let Some(memory) = memory.as_mut().filter(|_| !*broken) else { return Err(not_saved()) };
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
        failed.map_or(Ok(()), Err)
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
        // A version that another process sent and that did not reach flash is not sent again.
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

    /// As [`crate::Session::audit`].
    ///
    /// # Errors
    /// Says what differs.
    pub fn audit(&self) -> Result<Audit, String> {
        audit(&self.drive)
    }

    /// As [`crate::Session::check_counts`].
    ///
    /// # Panics
    /// If one is off.
    pub fn check_counts(&self) {
        check_counts(&self.drive);
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

    /// Makes durable what there is, against a failure of the machine.
    ///
    /// # Errors
    /// If that fails.
    pub fn sync(&mut self) -> Result<(), ImageSessionError> {
        self.save()?;
        if self.image_lags {
            self.drive.core.device.array.inner_mut().sync()?;
            self.image_lags = self.memory.as_ref().is_some_and(|memory| !memory.waits());
        }
        // The log has what else the image lacks.
        self.memory.as_mut().map_or(Ok(()), Memory::sync)?;
        Ok(())
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
    boot::faults::check_from_the_beginning(&setup.faults)?;
    if grid.dies() > MOST_DIES && Way::of(&protection).facts().brings_pages_back {
        return refuse(&format!(
            "the drive has {} dies, valid are up to {MOST_DIES}: OOB bytes keep a set of this many",
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

/// Flash has of its earlier lives what has failed, and goes on to fail as the settings say.
fn have_faults(flash: &mut Flash, setup: &Setup, faults: Option<FaultsFound>, opened: u64) {
    // Draws of another life are not drawn again.
    let draws = |name| Streams::new(setup.seed).stream_of(name, opened);
    flash.draw_from(draws("nand/uncorrectable"));
    let chance = faults.as_ref().and_then(|faults| faults.fatigue).unwrap_or(0.0);
    if let Some(faults) = faults {
        flash.have(faults, draws("nand/silent"));
    }
    boot::faults::wear_out_at_random(flash, &setup.faults, chance, draws("nand/wear-out"));
}

/// Whether code is written without taking time.
fn is_free(protection: &Protection, code: Option<&CodeZones>) -> bool {
    protection.zones().or(code).is_some_and(|zones| !zones.offline().charged)
}

/// Dies that the coverage in the OOB bytes of `docs/spec/oob.md` tells apart.
const MOST_DIES: u32 = 32;

/// Settings that must be the same whenever the files are opened.
fn in_words(setup: &Setup) -> String {
    let Setup { scheme, user_slots, buffer, .. } = setup;
    format!("scheme {scheme}, {user_slots} logical pages, buffer {:?}", buffer.kind)
}

/// Flash has no page that memory does not know of: they are saved together.
fn is_as_new_as_flash(saved: &Saved, drive: &Engine<PageBuf>, at: usize) -> Result<(), Malformed> {
    let newest = drive.core.device.array.inner().newest_found();
    if newest <= saved.sequence {
        return Ok(());
    }
    let reason = format!("found {}, the image has {newest}: this is the memory of an earlier time", saved.sequence);
    Err(Malformed { at, field: "rank", reason })
}

/// Mounts a drive with an empty map.
fn mount(drive: &mut Engine<PageBuf>, setup: &Setup, saved: SimTime, remains: Remains<PageBuf>) -> Mounted {
    let (grid, array) = (&drive.core.device.grid, &drive.core.device.array);
    let written = (0..grid.geometry().blocks()).filter_map(|block| {
        let mut pages = (0..grid.pages_per_block()).map(|page| array.scan_page(grid.ppn(BlockAddr(block), page)));
        // All valid pages of a block say the same.
        pages.find_map(|found| if let PageScan::Valid(page) = found { Some(page.first_program) } else { None })
    });
    // The clock was saved before the last program ended.
    drive.core.device.now = written.max().unwrap_or_default().max(saved);
    let found = boot::bring_up(drive, setup, None, remains, boot::reopened(), &mut |_| {}).expect("it was built before");
    found.mounted
}

fn not_saved() -> ImageSessionError {
    SetupError::new("PLP memory could not be saved, and is not what the drive had".to_owned()).into()
}

/// Store below the flash of a drive in files.
fn image_of(drive: &Engine<PageBuf>) -> &Logged<Box<dyn Store>> {
    drive.core.device.array.inner().store().expect("no fork")
}

/// Saves what changed, if anything but the clock did; how many bytes that is. Once flash has lost a part, ranks are saved
/// as well, all of them now.
fn save(drive: &mut Engine<PageBuf>, memory: &mut Memory, opened: u64, saved: &mut Kept) -> Result<u64, ImageSessionError> {
    let lost_something = !drive.core.safe.keeps_ranks && drive.core.device.array.found().is_some();
    // Flash that lost a part no longer says what was durable.
    drive.core.safe.keeps_ranks |= lost_something;
    let written = image_of(drive).take_written();
    let changed = drive.core.safe.journal.take_changed();
    let beside = if written.is_empty() && changed.is_empty() { Beside::Nothing } else { Beside::Something };
    let Some(changes) = saved.catch_up(drive, opened, beside) else { return Ok(0) };
    let mut changes = changes.bytes;
    changes.extend(ranks(drive, changed.into_iter()));
    let before = memory.log();
    memory.add(&written, &changes)?;
    let bytes = memory.log() - before;
    if lost_something || memory.log() > log_max(drive) {
        begin_log(drive, memory, saved)?;
    }
    Ok(bytes)
}

fn log_max(drive: &Engine<PageBuf>) -> u64 {
    let geometry = drive.core.device.grid.geometry();
    (u64::from(geometry.pages()) * geometry.program_size().0 / 4).clamp(*LOG_MAX.start(), *LOG_MAX.end())
}

/// Fields of the journal of ranks.
fn ranks(drive: &Engine<PageBuf>, lpns: impl Iterator<Item = Lpn>) -> Vec<u8> {
    let mut to = Writer::new(saved::slot_of(drive));
    for lpn in lpns {
        let rank = drive.core.safe.journal.saved(lpn);
        fields::put(&mut to, (saved::RANKS, lpn.0.into()), Some(&Value::Number(rank)));
    }
    to.bytes
}

/// The image catches up with the log, and another log begins.
fn begin_log(drive: &mut Engine<PageBuf>, memory: &mut Memory, saved: &Kept) -> Result<(), ImageSessionError> {
    memory.wait_for_disk()?;
    drive.core.device.array.inner_mut().catch_up(memory.waits())?;
    let slot = saved::slot_of(drive);
    let mut state = fields::all(&saved.list(), slot);
    if drive.core.safe.keeps_ranks {
        drive.core.safe.journal.watch();
        state.extend(ranks(drive, drive.core.safe.journal.known()));
    }
    Ok(memory.begin(&state)?)
}
