//! Where the drive's flash is.

use super::DiskError;
use crate::boot;
use crate::config::{BufferKind, Setup};
use crate::core::apart::Apart;
use crate::engine::Engine;
use crate::engine::online::Turn;
use crate::files::{DriveFiles, ImageSession};
use crate::host::client::Client;
use crate::host::oracle::Oracle;
use crate::host::shadow::{FirstContents, Shadow};
use crate::session::{Inner, Prepared, Session, kill_dead_dies};
use device::contents::PageBuf;
use std::path::Path;
use vocab::SimTime;

/// In memory or in files.
pub(super) enum Medium {
    Memory(Apart<Prepared<PageBuf>>),
    Files(Apart<ImageSession>),
}

impl Medium {
    pub fn in_memory(setup: &Setup) -> Result<Self, DiskError> {
        boot::faults::check_from_the_beginning(&setup.faults)?;
        let Inner::Page(mut prepared) = Session::new(setup)?.into_inner() else { unreachable!("its payload is that of pages") };
        kill_dead_dies(&mut prepared.engine, &setup.faults);
        take_client(&mut prepared.engine, setup, FirstContents::of_new_drive(setup));
        Ok(Self::Memory(Apart::new(*prepared)))
    }

    pub fn create(setup: &Setup, path: &Path, files: Option<DriveFiles>) -> Result<Self, DiskError> {
        let mut session = match files {
            None => ImageSession::create(setup, path)?,
            Some(files) => ImageSession::create_in(setup, path, files)?,
        };
        session.withstand_machine_failures(true);
        take_client(&mut session.drive, setup, FirstContents::of_new_drive(setup));
        Ok(Self::Files(Apart::new(session)))
    }

    /// The drive is mounted; it has not recovered yet.
    pub fn open(setup: &Setup, path: &Path, files: Option<DriveFiles>) -> Result<Self, DiskError> {
        let mut session = match files {
            None => ImageSession::mounted_from(setup, path)?,
            Some(files) => ImageSession::mounted_in(setup, path, files)?,
        };
        session.withstand_machine_failures(true);
        take_client(&mut session.drive, setup, FirstContents::Unknown);
        Ok(Self::Files(Apart::new(session)))
    }

    pub fn engine(&self) -> &Engine<PageBuf> {
        match self {
            Self::Memory(prepared) => &prepared.engine,
            Self::Files(session) => &session.drive,
        }
    }

    pub fn engine_mut(&mut self) -> &mut Engine<PageBuf> {
        match self {
            Self::Memory(prepared) => &mut prepared.engine,
            Self::Files(session) => &mut session.drive,
        }
    }

    pub fn is_in_files(&self) -> bool {
        matches!(self, Self::Files(_))
    }

    /// The next event, if it comes before `end`.
    pub fn turn(&mut self, end: SimTime) -> Result<Turn, DiskError> {
        if let Self::Files(session) = self {
            session.save_if_much()?;
        }
        Ok(self.engine_mut().turn(end))
    }

    /// Of a drive in files: saves what changed. What was answered before outlives the process.
    pub fn save(&mut self) -> Result<(), DiskError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Files(session) => Ok(session.save()?),
        }
    }

    /// Of a drive in files: makes them durable.
    pub fn sync(&mut self) -> Result<(), DiskError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Files(session) => Ok(session.sync()?),
        }
    }
}

/// From now on a client brings the data.
pub(super) fn take_client(engine: &mut Engine<PageBuf>, setup: &Setup, first: FirstContents) {
    let sectors = setup.drive.geometry.sectors_per_slot();
    let shadow = Shadow::new(setup.user_slots, sectors, setup.buffer.kind == BufferKind::Volatile, first);
    engine.host.client = Some(Box::new(Client::new(shadow, sectors, engine.host.requests.arrived)));
    // It knows made-up data only.
    engine.host.oracle = Oracle::default();
    engine.host.requests.journal = None;
}

pub(super) fn client_mut(engine: &mut Engine<PageBuf>) -> &mut Client {
    engine.host.client.as_mut().expect("a drive with a client")
}

/// Requests that the drive has taken and not answered.
pub(super) fn client_requests(engine: &Engine<PageBuf>) -> Vec<u64> {
    engine.host.client.as_ref().map(|client| client.under_way()).unwrap_or_default()
}

/// Answers that the client has not heard.
pub(super) fn client_answers(engine: &Engine<PageBuf>) -> usize {
    engine.host.client.as_ref().map_or(0, |client| client.answers.len())
}
