//! Flash whose contents are in memory alone, as those of a simulated drive are.

use crate::{MemoryArray, Payload, Scan};

/// Flash that can be in memory alone. [`crate::FileArray`] is one, too: a drive in files and a simulated one with the same
/// payload then have one engine, and it is compiled once.
pub trait InMemory<P: Payload>: Scan<P> {
    /// Flash over this memory and nothing else.
    fn over(memory: MemoryArray<P>) -> Self;

    /// The memory.
    ///
    /// # Panics
    /// If there is a file, too: it would not change with the memory.
    fn memory_mut(&mut self) -> &mut MemoryArray<P>;
}

impl<P: Payload> InMemory<P> for MemoryArray<P> {
    fn over(memory: MemoryArray<P>) -> Self {
        memory
    }

    fn memory_mut(&mut self) -> &mut MemoryArray<P> {
        self
    }
}
