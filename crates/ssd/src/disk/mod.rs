//! A drive for someone outside who has data of his own: a block device in sectors of 512 bytes, in memory or in files.
//!
//! ```ignore
//! let mut disk = Disk::in_memory(&setup)?;
//! disk.write(8, vec![7; 512], Fua::No)?;
//! disk.flush()?;
//! disk.cut_power()?;
//! assert_eq!(disk.read(8, 1)?, vec![7; 512]);
//! ```
//!
//! Requests are queued with [`Disk::submit`] and answered by [`Disk::run`], as many at the same time as are waiting; each takes
//! the virtual time that the modelled drive needs. Between requests the host may be away ([`Disk::idle`]): GC, refresh,
//! scrub and encoding go on. Everything is determined by the setup, its seed and the calls; a drive in files also
//! by what the files hold.
//!
//! Data that reads return are checked against the written data, sector by sector ([`crate::host::shadow`]): a wrong read is
//! an error ([`Failed::Wrong`]) and stays visible in [`Disk::first_mismatch`].

mod climate;
mod control;
mod error;
mod medium;
mod schedule;
mod status;
mod words;

pub use control::{Part, Snapshot};
pub use error::{DiskError, Failed};
pub use schedule::{Happened, Planned, When};
pub use status::{DieStatus, DiskStatus};
pub use words::{CONTROLS, Control, Lie, Windows};

use crate::config::Setup;
use crate::disk::medium::{client_answers, client_mut};
use crate::engine::online::Turn;
use crate::files::DriveFiles;
use crate::host::client::{ClientAnswer, ClientResult};
use medium::Medium;
use schedule::Schedule;
use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use vocab::{Fua, HostCommand, HostOp, Lba, Lpn, Nanos, SharedBytes, SimTime, Stream, StreamId, Streams};

/// Bytes of a sector.
pub const SECTOR: usize = vocab::SECTOR_BYTES as usize;

/// The least idle time after which a drive in files saves what it did in the meantime; less is saved with the next answers.
const WORTH_SAVING: Nanos = Nanos(1_000_000);

/// Request of a client, in sectors of 512 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskRequest {
    /// Read sectors.
    Read {
        /// The first.
        sector: u64,
        /// How many, at least 1.
        sectors: u32,
    },
    /// Write sectors.
    Write {
        /// The first.
        sector: u64,
        /// The new data: a whole number of sectors, at least one. The drive keeps a page that is written alone without
        /// a copy.
        data: SharedBytes,
        /// Whether they must be durable when that is answered.
        fua: Fua,
    },
    /// Make durable all that was answered before.
    Flush,
    /// Forget pages that lie wholly in these sectors: they read as zeros from then on, until the power goes. What a power cut
    /// brings back is undefined, as on drives that do not record discards.
    Discard {
        /// The first.
        sector: u64,
        /// How many.
        sectors: u32,
    },
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskAnswer {
    /// Its number, as [`Disk::submit`] gave it.
    pub request: u64,
    /// The bytes of a read, none of others; or why it failed.
    pub result: Result<Vec<u8>, Failed>,
    /// When it was answered, in virtual time.
    pub at: SimTime,
    /// How long that took since it was submitted, in virtual time.
    pub latency: Nanos,
}

/// A request that waits for the drive to take it.
#[derive(Clone)]
struct Waiting {
    command: HostCommand,
    data: Option<SharedBytes>,
    since: SimTime,
}

/// A drive with a client.
pub struct Disk {
    medium: Medium,
    setup: Setup,
    /// Requests that the drive has not taken yet, in order.
    waiting: VecDeque<Waiting>,
    /// Number of the next request.
    next: u64,
    /// Requests for sectors that are not there.
    out_of_range: BTreeSet<u64>,
    /// Fates of commands that a power cut meets.
    draws: Stream,
    cuts: u64,
    /// Degrees Celsius.
    celsius: f64,
    schedule: Schedule,
    happened: Vec<Happened>,
    /// Answers that a planned control left, for the next run.
    kept: Vec<DiskAnswer>,
}

impl Disk {
    /// A new drive in memory. It is lost with the value.
    ///
    /// # Errors
    /// Names the setting at fault.
    pub fn in_memory(setup: &Setup) -> Result<Self, DiskError> {
        let setup = Self::settings(setup);
        let medium = Medium::in_memory(&setup)?;
        Ok(Self::over(medium, setup))
    }

    /// A new drive with an image at `path` and its PLP memory beside it.
    ///
    /// # Errors
    /// Names the setting at fault, or the file that cannot be made.
    pub fn create(setup: &Setup, path: &Path) -> Result<Self, DiskError> {
        Self::created(setup, path, None)
    }

    /// As [`Self::create`], in empty files that are open already; errors name them by `path`.
    ///
    /// # Errors
    /// As of [`Self::create`].
    pub fn create_in(setup: &Setup, path: &Path, files: DriveFiles) -> Result<Self, DiskError> {
        Self::created(setup, path, Some(files))
    }

    fn created(setup: &Setup, path: &Path, files: Option<DriveFiles>) -> Result<Self, DiskError> {
        let setup = Self::settings(setup);
        let medium = Medium::create(&setup, path, files)?;
        Ok(Self::over(medium, setup))
    }

    /// Opens the files of a drive of this setup and mounts it, as after a power cut.
    ///
    /// # Errors
    /// Names file, byte and field of what is damaged, or the setting that is another.
    pub fn open(setup: &Setup, path: &Path) -> Result<Self, DiskError> {
        Self::opened(setup, path, None)
    }

    /// As [`Self::open`], of files that are open already; errors name them by `path`.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_in(setup: &Setup, path: &Path, files: DriveFiles) -> Result<Self, DiskError> {
        Self::opened(setup, path, Some(files))
    }

    fn opened(setup: &Setup, path: &Path, files: Option<DriveFiles>) -> Result<Self, DiskError> {
        let setup = Self::settings(setup);
        let medium = Medium::open(&setup, path, files)?;
        let mut disk = Self::over(medium, setup);
        disk.recover()?;
        Ok(disk)
    }

    /// A client's drive keeps bytes and can be mounted.
    fn settings(setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        setup.payload = crate::config::PayloadKind::Page;
        setup.power.mountable = true;
        setup
    }

    fn over(medium: Medium, setup: Setup) -> Self {
        let draws = Streams::new(setup.seed).stream("disk/cuts");
        let mut disk = Self {
            celsius: medium.celsius().unwrap_or(setup.errors.celsius),
            medium,
            setup,
            waiting: VecDeque::new(),
            next: 0,
            out_of_range: BTreeSet::new(),
            draws,
            cuts: 0,
            schedule: Schedule::default(),
            happened: Vec::new(),
            kept: Vec::new(),
        };
        let engine = disk.medium.engine_mut();
        disk.next = engine.host.requests.arrived;
        engine.go_online();
        disk
    }

    /// Sectors that the client may use.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        u64::from(self.setup.user_slots) * u64::from(self.setup.drive.geometry.sectors_per_slot())
    }

    /// Sectors of a logical page: writes of whole pages need no read.
    #[must_use]
    pub fn sectors_per_page(&self) -> u32 {
        self.setup.drive.geometry.sectors_per_slot()
    }

    /// Whether it takes no writes any more.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.medium.engine().host.requests.read_only_since.is_some()
    }

    /// Virtual time.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.medium.engine().core.device.now
    }

    /// The first wrong read so far, in words. Anything here is a defect of the engine, or of the files.
    #[must_use]
    pub fn first_mismatch(&self) -> Option<&str> {
        self.medium.engine().host.first_mismatch.as_deref()
    }

    /// Queues a request; its number. It is answered by a later [`Self::run`].
    pub fn submit(&mut self, request: DiskRequest) -> u64 {
        let (number, since) = (self.next, self.now());
        self.next += 1;
        let command =
            |op, sector, sectors| HostCommand { at: SimTime(0), op, lba: Lba(sector), sectors, stream: StreamId::default() };
        let (command, data) = match request {
            DiskRequest::Read { sector, sectors } => (command(HostOp::Read, sector, sectors), None),
            DiskRequest::Write { sector, data, fua } => {
                let sectors = u32::try_from(data.len() / SECTOR).ok().filter(|_| data.len().is_multiple_of(SECTOR));
                (command(HostOp::Write(fua), sector, sectors.unwrap_or(0)), Some(data))
            }
            DiskRequest::Flush => (command(HostOp::Flush, 0, 0), None),
            DiskRequest::Discard { sector, sectors } => (command(HostOp::Discard, sector, sectors), None),
        };
        let end = command.lba.0.checked_add(u64::from(command.sectors));
        let is_empty = command.op != HostOp::Flush && command.sectors == 0;
        if is_empty || end.is_none_or(|end| end > self.sectors()) {
            // The drive refuses it: no drive has that sector.
            self.out_of_range.insert(number);
            let beyond = HostCommand { lba: Lba(u64::MAX), sectors: 1, ..command };
            self.waiting.push_back(Waiting { command: beyond, data: None, since });
            return number;
        }
        self.waiting.push_back(Waiting { command, data, since });
        number
    }

    /// Requests that were submitted and not answered.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        let engine = self.medium.engine();
        let (taken, told) = (engine.host.requests.outstanding, client_answers(engine));
        taken as usize + told + self.waiting.len() + self.kept.len()
    }

    /// Lets the drive work until something is answered; what that is. Nothing, if nothing was asked.
    ///
    /// # Errors
    /// If the files cannot be written: then nothing is answered any more.
    pub fn run(&mut self) -> Result<Vec<DiskAnswer>, DiskError> {
        loop {
            self.hand_over()?;
            // Requests that complete at one instant are saved at once.
            while self.medium.is_in_files() && self.has_answers() && self.next_event() == Some(self.now()) {
                self.medium.turn(SimTime(u64::MAX))?;
            }
            let answers = self.take_answers()?;
            if !answers.is_empty() || self.outstanding() == 0 {
                return Ok(answers);
            }
            let due = self.due();
            if self.medium.turn(due)? == Turn::AtRest {
                if due == SimTime(u64::MAX) {
                    return Err(DiskError::stuck(self.outstanding()));
                }
                self.skip_to(due);
            }
        }
    }

    /// As [`Self::run`], until all is answered.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn run_all(&mut self) -> Result<Vec<DiskAnswer>, DiskError> {
        let mut all = Vec::new();
        while self.outstanding() > 0 {
            all.extend(self.run()?);
        }
        Ok(all)
    }

    /// The host is away for so long: the drive goes on with what it does beside requests. Requests that wait are answered
    /// in the meantime, and their answers kept for the next [`Self::run`]. What a drive in files does in less than a millisecond is
    /// saved with the next answers.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn idle(&mut self, time: Nanos) -> Result<(), DiskError> {
        self.check(&Control::Idle(time))?;
        self.hand_over()?;
        let end = self.now() + time;
        loop {
            let until = end.min(self.due()).max(self.now());
            let engine = self.medium.engine_mut();
            engine.core.expect_host(until);
            while self.now() < until && self.medium.turn(until)? == Turn::On {}
            self.medium.engine_mut().core.host_is_back(until);
            self.carry_out_due()?;
            if self.now() >= end {
                return if time >= WORTH_SAVING { self.medium.save() } else { Ok(()) };
            }
        }
    }

    /// Lets this many events happen, or as many as there are.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn step(&mut self, events: u32) -> Result<(), DiskError> {
        self.hand_over()?;
        for _ in 0..events {
            if self.medium.turn(SimTime(u64::MAX))? == Turn::AtRest {
                break;
            }
        }
        self.carry_out_due()
    }

    /// When something happens next, if nothing is asked.
    #[must_use]
    pub fn next_event(&self) -> Option<SimTime> {
        self.medium.engine().core.device.calendar.next().map(|(at, _)| at)
    }

    /// Answers that are there.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn answers(&mut self) -> Result<Vec<DiskAnswer>, DiskError> {
        self.take_answers()
    }

    /// Whether the page that has this sector is known to read as zeros, because it holds nothing.
    #[must_use]
    pub fn is_unmapped(&self, sector: u64) -> bool {
        let page = sector / u64::from(self.sectors_per_page());
        let engine = self.medium.engine();
        page >= u64::from(self.setup.user_slots) || !engine.host.is_stored_page(&engine.core, Lpn(page as u32))
    }

    /// Gives the drive what waits, as far as it takes requests, and lets happen what is planned between them.
    fn hand_over(&mut self) -> Result<(), DiskError> {
        loop {
            self.carry_out_due()?;
            self.hand_over_some();
            if self.schedule.requests_left() > 0 {
                return Ok(());
            }
        }
    }

    /// Gives the drive what waits, until something is planned to happen.
    fn hand_over_some(&mut self) {
        let engine = self.medium.engine_mut();
        while self.schedule.requests_left() > 0
            && !engine.is_off_line()
            && let Some(waiting) = self.waiting.pop_front()
        {
            self.schedule.take_request();
            let (request, command) = (engine.host.requests.arrived, &waiting.command);
            match (command.op, waiting.data) {
                (HostOp::Write(_), Some(data)) => client_mut(engine).brings(request, command.lba.0, data),
                (HostOp::Read, _) if command.lba.0 < u64::MAX => {
                    client_mut(engine).wants(request, command.lba.0, command.sectors)
                }
                _ => {}
            }
            engine.submit_since(command, waiting.since);
        }
    }

    fn has_answers(&self) -> bool {
        client_answers(self.medium.engine()) > 0
    }

    fn take_answers(&mut self) -> Result<Vec<DiskAnswer>, DiskError> {
        let mut told = self.kept_answers();
        if !self.has_answers() {
            return Ok(told);
        }
        // Completed requests must outlive the process before the client hears of them.
        self.medium.save()?;
        let (answers, is_read_only) = {
            let engine = self.medium.engine_mut();
            let is_read_only = engine.host.requests.read_only_since.is_some();
            (std::mem::take(&mut client_mut(engine).answers), is_read_only)
        };
        told.extend(answers.into_iter().map(|answer| told_of(answer, is_read_only)));
        for answer in told.iter_mut().filter(|answer| self.out_of_range.remove(&answer.request)) {
            answer.result = Err(Failed::Range);
        }
        Ok(told)
    }

    /// Submits a request and waits for its answer. Answers of others are dropped: do not mix this with [`Self::submit`].
    fn ask(&mut self, request: DiskRequest) -> Result<Vec<u8>, DiskError> {
        let number = self.submit(request);
        loop {
            if let Some(answer) = self.run()?.into_iter().find(|answer| answer.request == number) {
                return answer.result.map_err(DiskError::from);
            }
        }
    }

    /// Reads sectors, and waits.
    ///
    /// # Errors
    /// A media error, a range that is not there, or files that cannot be written.
    pub fn read(&mut self, sector: u64, sectors: u32) -> Result<Vec<u8>, DiskError> {
        self.ask(DiskRequest::Read { sector, sectors })
    }

    /// Writes sectors, and waits.
    ///
    /// # Errors
    /// A drive that has no room or is read-only, a range that is not there, or files that cannot be written.
    pub fn write(&mut self, sector: u64, data: impl Into<SharedBytes>, fua: Fua) -> Result<(), DiskError> {
        self.ask(DiskRequest::Write { sector, data: data.into(), fua }).map(drop)
    }

    /// Makes durable what was answered, and waits.
    ///
    /// # Errors
    /// As of [`Self::write`].
    pub fn flush(&mut self) -> Result<(), DiskError> {
        self.ask(DiskRequest::Flush).map(drop)
    }

    /// Forgets sectors, and waits: [`DiskRequest::Discard`].
    ///
    /// # Errors
    /// As of [`Self::write`].
    pub fn discard(&mut self, sector: u64, sectors: u32) -> Result<(), DiskError> {
        self.ask(DiskRequest::Discard { sector, sectors }).map(drop)
    }

    /// Of a drive in files: makes them durable, against a failure of the machine. What was answered outlives the process
    /// anyway.
    ///
    /// # Errors
    /// If that fails.
    pub fn sync(&mut self) -> Result<(), DiskError> {
        self.medium.sync()
    }

    /// Of a drive in files: whether what was synced stays if the machine fails, which it usually does. Without it nothing waits for
    /// the disk but [`Self::sync`].
    pub fn withstand_machine_failures(&mut self, does: bool) {
        if let Medium::Files(session) = &mut self.medium {
            session.withstand_machine_failures(does);
        }
    }

    /// Of a drive in files: bytes that were written to its log.
    #[must_use]
    pub fn bytes_saved(&self) -> u64 {
        if let Medium::Files(session) = &self.medium { session.bytes_saved() } else { 0 }
    }
}

fn told_of(answer: ClientAnswer, is_read_only: bool) -> DiskAnswer {
    let result = match answer.result {
        ClientResult::Done => Ok(Vec::new()),
        ClientResult::Data(data) => Ok(data),
        ClientResult::Wrong => Err(Failed::Wrong),
        ClientResult::Lost => Err(Failed::Media),
        ClientResult::Refused if is_read_only => Err(Failed::ReadOnly),
        ClientResult::Refused => Err(Failed::NotWritten),
    };
    DiskAnswer { request: answer.request, result, at: answer.at, latency: answer.latency }
}
