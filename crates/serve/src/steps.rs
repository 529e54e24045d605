//! Steps of a recording: requests of clients, and everything else that happened to the drive.

use ssd::disk::{DiskRequest, SECTOR};
use std::fmt;
use std::sync::Arc;
use vocab::{Fua, SharedBytes};

/// The requests of clients and everything else that happened to the drive, in order.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Each of these.
    pub steps: Vec<Step>,
    /// Bytes of the drive, if that was noted.
    pub size: Option<u64>,
    /// True if the drive held something when the recording began.
    pub held: bool,
    /// True if it ends in the middle: its process was killed.
    pub is_cut_short: bool,
}

/// All that a drive holds but zeros: sectors and their bytes.
pub type Held = Vec<(u64, SharedBytes)>;

/// A request of a client, or something else that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A request.
    Request(DiskRequest),
    /// A mark: whoever set it had been told until then what comes before.
    Mark(String),
    /// A command of the control socket or a schedule.
    Control {
        /// The command.
        words: String,
        /// The contents of the drive after it, where that may be other than what clients wrote.
        held: Option<Arc<Held>>,
    },
}

impl Step {
    /// Whether it may change what the drive holds.
    #[must_use]
    pub fn changes(&self) -> bool {
        match self {
            Self::Request(request) => !matches!(request, DiskRequest::Read { .. }),
            Self::Mark(_) => false,
            Self::Control { held, .. } => held.is_some(),
        }
    }

    /// Its name, if it is a mark.
    #[must_use]
    pub fn mark(&self) -> Option<&str> {
        if let Self::Mark(name) = self { Some(name) } else { None }
    }

    /// True for a write.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self, Self::Request(DiskRequest::Write { .. }))
    }

    /// True if it makes something durable: a flush, or a write with FUA.
    #[must_use]
    pub fn forces(&self) -> bool {
        matches!(self, Self::Request(DiskRequest::Flush | DiskRequest::Write { fua: Fua::Yes, .. }))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |sectors: u64| sectors * SECTOR as u64;
        let request = match self {
            Self::Mark(name) => return write!(f, "mark {name}"),
            Self::Control { words, .. } => return write!(f, "ctl {words}"),
            Self::Request(request) => request,
        };
        match request {
            DiskRequest::Read { sector, sectors } => write!(f, "read {} bytes at {}", bytes((*sectors).into()), bytes(*sector)),
            DiskRequest::Write { sector, data, fua: Fua::No } => write!(f, "write {} bytes at {}", data.len(), bytes(*sector)),
            DiskRequest::Write { sector, data, fua: Fua::Yes } => {
                write!(f, "write {} bytes at {}, forced", data.len(), bytes(*sector))
            }
            DiskRequest::Flush => write!(f, "flush"),
            DiskRequest::Discard { sector, sectors } => {
                write!(f, "discard {} bytes at {}", bytes((*sectors).into()), bytes(*sector))
            }
        }
    }
}

/// Longest name of a mark, in bytes: a dm-log-writes log has no room for a longer one.
pub const MARK_MAX: usize = 479;

impl Recording {
    /// Bytes behind the last one that a step concerns.
    #[must_use]
    pub fn end(&self) -> u64 {
        let end = |step: &Step| match step {
            Step::Request(DiskRequest::Write { sector, data, .. }) => sector * SECTOR as u64 + data.len() as u64,
            Step::Request(DiskRequest::Discard { sector, sectors } | DiskRequest::Read { sector, sectors }) => {
                (sector + u64::from(*sectors)) * SECTOR as u64
            }
            Step::Control { held: Some(held), .. } => {
                held.last().map_or(0, |(sector, data)| sector * SECTOR as u64 + data.len() as u64)
            }
            _ => 0,
        };
        self.steps.iter().map(end).max().unwrap_or(0)
    }
}
