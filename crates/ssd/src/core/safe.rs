//! PLP memory: what a power cut does not take, beside flash.

use crate::config::Power;
use crate::core::checkpoint::Checkpoint;
use crate::core::journal::Journal;
use std::collections::BTreeMap;
use vocab::{BlockAddr, Lpn};

/// Knowledge of the controller about flash that survives power cuts.
#[derive(Clone, Debug)]
pub(crate) struct SafeMemory {
    /// Possible effects of power cuts on the drive, and whether it is to be mounted after one.
    pub power: Power,
    /// Whether not all of what the last mount found is brought to safety yet.
    pub recovering: bool,
    /// Summaries of whole blocks, where the drive has them.
    pub checkpoint: Option<Checkpoint>,
    /// Blocks of units that hold nothing needed and whose erase was asked for, until all of the unit is erased,
    /// and whether they are. A cut may leave such a block unreadable, and others of its unit erased.
    pub erasing: BTreeMap<BlockAddr, bool>,
    /// Logical pages that are lost permanently, and the rank of what they held: flash may still have older contents.
    pub lost: BTreeMap<Lpn, u64>,
    /// Which logical pages have durable contents, and of which rank; empty where the drive is never mounted.
    pub journal: Journal,
    /// Whether a drive in files keeps the journal there: its flash may have lost parts.
    pub keeps_ranks: bool,
    /// Whether blocks have more P/E cycles than their pages say, because someone added some.
    pub wear_was_added: bool,
}

impl SafeMemory {
    /// The memory of a drive of this many blocks, all erased, and logical pages.
    pub fn new(power: Power, blocks: u32, pages: u32) -> Self {
        let checkpoint = power.checkpoint.then(|| Checkpoint::fresh(blocks));
        let journal = if power.mountable { Journal::new(pages) } else { Journal::default() };
        Self {
            power,
            recovering: false,
            checkpoint,
            erasing: BTreeMap::new(),
            lost: BTreeMap::new(),
            journal,
            keeps_ranks: false,
            wear_was_added: false,
        }
    }
}
