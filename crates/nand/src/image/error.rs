//! Why a file of a drive could not be used.

use super::header::MEMBERS_AT_MOST;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file of a drive (its flash, its PLP memory) is none, or could not be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", .file.display())]
pub struct FileError {
    file: PathBuf,
    #[source]
    fault: Fault,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("cannot {0}: {1}")]
    Io(&'static str, #[source] io::Error),
    #[error("byte {offset}, {field}: {reason}")]
    Field { offset: u64, field: &'static str, reason: String },
    #[error(transparent)]
    Geometry(vocab::GeometryError),
    #[error("members of a page: found {0}, valid are 0 to {MEMBERS_AT_MOST}")]
    Members(u32),
    #[error("in use by another process")]
    InUse,
}

impl FileError {
    pub(super) fn new(file: &Path, fault: Fault) -> Self {
        Self { file: file.to_owned(), fault }
    }

    /// The system refused to do this with the file: open, read, write.
    #[must_use]
    pub fn io(file: &Path, doing: &'static str, error: io::Error) -> Self {
        Self::new(file, Fault::Io(doing, error))
    }

    /// A field at this offset has a value that it may not have.
    #[must_use]
    pub fn field(file: &Path, offset: u64, field: &'static str, reason: String) -> Self {
        Self::new(file, Fault::Field { offset, field, reason })
    }
}
