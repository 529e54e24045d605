//! Tiny drives in files, for tests of what files keep.

use super::ImageSession;
use super::memory::Memory;
use crate::config::{BufferKind, Pace, PayloadKind, Setup};
use crate::core::testing::tiny_setup;
use std::path::PathBuf;
use vocab::{HostCommand, HostOp, Lba, SimTime, StreamId};

/// Files of a test, which are removed with it.
pub(super) struct Files(PathBuf);

impl Files {
    pub fn of(name: &str) -> Self {
        let files = Self(std::env::temp_dir().join(format!("flashkeep-files-{name}-{}", std::process::id())));
        files.remove();
        files
    }

    pub fn create(&self, setup: &Setup) -> ImageSession {
        ImageSession::create(setup, &self.0).expect("new files")
    }

    /// The process of this session dies, and another one mounts the drive; it has not recovered yet.
    pub fn reopened(&self, setup: &Setup, session: ImageSession) -> ImageSession {
        drop(session);
        ImageSession::mounted_from(setup, &self.0).expect("the files")
    }

    fn remove(&self) {
        [self.0.clone(), Memory::path_beside(&self.0)].iter().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A drive of 40 logical pages, all of them written.
pub(super) fn tiny(scheme: &str) -> Setup {
    let mut setup = tiny_setup(scheme, BufferKind::Off);
    (setup.user_slots, setup.power.mountable, setup.payload) = (40, true, PayloadKind::Page);
    setup.precondition.fill = 1.0;
    setup
}

/// Asks the same of each of these logical pages, one after the other.
pub(super) fn ask(session: &mut ImageSession, op: HostOp, lpns: impl Iterator<Item = u32>) {
    let sectors = session.drive.host.requests.sectors_per_slot;
    let command = |lpn: u32| {
        let lba = Lba(u64::from(lpn) * u64::from(sectors));
        HostCommand { at: SimTime(0), op, lba, sectors, stream: StreamId::default() }
    };
    let commands = &mut lpns.map(command);
    session.advance(commands, Pace::Closed { depth: 1 }, &mut |_| {}, &mut |_| true).expect("files that can be written");
}
