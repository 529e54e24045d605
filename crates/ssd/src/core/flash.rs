//! Which flash keeps which payload.

use device::contents::{HostPayload, PageBuf, Tag};
use nand::{InMemory, MemoryArray};

/// A payload that sessions have.
pub(crate) trait SessionPayload: HostPayload {
    /// The flash that keeps it.
    type Flash: InMemory<Self>;
}

impl SessionPayload for Tag {
    type Flash = MemoryArray<Self>;
}

/// Sessions have the flash of drives in files, without a file: one engine is compiled for both.
impl SessionPayload for PageBuf {
    #[cfg(unix)]
    type Flash = FlashFile;
    #[cfg(not(unix))]
    type Flash = MemoryArray<Self>;
}

/// Flash in a file, and a log of what changed in it.
#[cfg(unix)]
pub(crate) type FlashFile = nand::FileArray<PageBuf, nand::Logged<Box<dyn nand::Store>>>;
