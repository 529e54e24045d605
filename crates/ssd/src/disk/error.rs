//! Errors of a drive and of its requests.

use crate::config::SetupError;
use crate::files::ImageSessionError;
use nand::FileError;

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// A page is lost, and so is too much of what would bring it back.
    Media,
    /// A read found other bytes than were written: a defect.
    Wrong,
    /// The drive is read-only.
    ReadOnly,
    /// There is no room, or the rest of a page that was to be written in part is lost.
    NotWritten,
    /// The drive has no such sectors, or the request has none.
    Range,
    /// The power went before it was answered.
    PowerCut,
    /// Requests were to fail at this time.
    Asked,
}

impl Failed {
    /// In words.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Media => "media error: a page is lost, and so is too much of what would bring it back",
            Self::Wrong => "wrong data: a read found other bytes than were written",
            Self::ReadOnly => "the drive is read-only",
            Self::NotWritten => "not written: the drive has no room, or the rest of a page written in part is lost",
            Self::Range => "the drive has no such sectors, or the request has none",
            Self::Asked => "an error that was asked for: a window of `errors`",
            Self::PowerCut => "the power went before the request was answered",
        }
    }
}

/// Why a drive could not be made, opened or used.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// The setup cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The files of the drive.
    #[error(transparent)]
    Files(#[from] ImageSessionError),
    /// A request failed.
    #[error("{}", .0.in_words())]
    Request(Failed),
    /// The operation on the drive is invalid, or is not supported.
    #[error("{0}")]
    Control(String),
}

impl DiskError {
    pub(super) fn control(what: impl Into<String>) -> Self {
        Self::Control(what.into())
    }

    pub(super) fn stuck(waiting: usize) -> Self {
        Self::control(format!("nothing moves, yet {waiting} requests wait: a defect"))
    }
}

impl From<FileError> for DiskError {
    fn from(error: FileError) -> Self {
        Self::Files(error.into())
    }
}

impl From<Failed> for DiskError {
    fn from(failed: Failed) -> Self {
        Self::Request(failed)
    }
}
