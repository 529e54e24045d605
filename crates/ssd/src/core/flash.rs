//! Which flash keeps which payload.

use device::contents::{HostPayload, PageBuf, Tag};
use nand::{Faulty, InMemory, MemoryArray};

/// A payload of the host, which decides the flash that keeps it.
pub(crate) trait FlashPayload: HostPayload {
    /// The flash that keeps it.
    type Flash: InMemory<Self> + Clone;
}

/// The flash of a drive, which may fail.
pub(crate) type Array<P> = Faulty<<P as FlashPayload>::Flash>;

impl FlashPayload for Tag {
    type Flash = MemoryArray<Self>;
}

/// A drive in memory has the flash of drives in files, without a file: one engine is compiled for both.
impl FlashPayload for PageBuf {
    #[cfg(unix)]
    type Flash = FlashFile;
    #[cfg(not(unix))]
    type Flash = MemoryArray<Self>;
}

/// Flash in a file, and a log of what changed in it.
#[cfg(unix)]
pub(crate) type FlashFile = nand::FileArray<PageBuf, nand::Logged<Box<dyn nand::Store>>>;
