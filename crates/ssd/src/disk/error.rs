//! Errors of a drive and of its requests.

use crate::config::SetupError;
use crate::files::ImageSessionError;
use nand::ImageError;
use std::fmt;

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
#[derive(Debug)]
pub enum DiskError {
    /// The setup cannot be built.
    Setup(SetupError),
    /// The files of the drive.
    Files(ImageSessionError),
    /// A request failed.
    Request(Failed),
    /// The operation on the drive is invalid, or is not supported.
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

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(f),
            Self::Files(error) => error.fmt(f),
            Self::Request(failed) => f.write_str(failed.in_words()),
            Self::Control(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for DiskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Setup(error) => Some(error),
            Self::Files(error) => Some(error),
            Self::Request(_) | Self::Control(_) => None,
        }
    }
}

impl From<SetupError> for DiskError {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl From<ImageSessionError> for DiskError {
    fn from(error: ImageSessionError) -> Self {
        Self::Files(error)
    }
}

impl From<ImageError> for DiskError {
    fn from(error: ImageError) -> Self {
        Self::Files(error.into())
    }
}

impl From<Failed> for DiskError {
    fn from(failed: Failed) -> Self {
        Self::Request(failed)
    }
}
