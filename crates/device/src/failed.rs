//! Pages whose program failed.

use nand::OobTag;

/// A page whose program failed, as the map believes it to be: its codeword brings the contents back.
#[derive(Clone, Debug)]
pub struct FailedProgram {
    /// Tag that each slot was to hold.
    pub tags: Box<[OobTag]>,
    /// The rank of the contents of each slot.
    pub updates: Box<[u64]>,
}

impl FailedProgram {
    /// A page of which nothing is known.
    pub fn nothing(slots: usize) -> Self {
        Self { tags: vec![OobTag::FILLER; slots].into(), updates: vec![0; slots].into() }
    }

    /// A slot would hold this.
    pub fn set(&mut self, index: usize, tag: OobTag, update: u64) {
        (self.tags[index], self.updates[index]) = (tag, update);
    }
}
