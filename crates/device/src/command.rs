//! Flash commands.

use crate::slab::{CommandId, ImageId};
use vocab::{Cause, Ppn};

/// Operation of a flash command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    /// Sense a page and transfer it.
    #[default]
    Read,
    /// Transfer a page and program it.
    Program,
    /// The cells of a page are recharged in place.
    Recharge,
    /// Erase a block.
    Erase,
}

/// One command on its way to a die.
#[derive(Clone, Copy, Debug)]
pub struct Command<O> {
    /// Who waits for it: the device carries this and never looks at it.
    pub owner: O,
    /// The page; of an erase, the first page of the block.
    pub ppn: Ppn,
    /// Image to program, of a program.
    pub image: ImageId,
    /// First logical page of a host read.
    pub lpn: u32,
    /// The command behind it in its die's queue.
    pub next: Option<CommandId>,
    /// First slot moved.
    pub first: u8,
    /// How many slots are moved.
    pub count: u8,
    /// The operation.
    pub verb: Verb,
    /// Why: for the record.
    pub cause: Cause,
    /// How far it is.
    pub stage: Stage,
}

/// Where a command is between its queue and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// It waits in the queue of its die.
    #[default]
    Queued,
    /// Withdrawn: its queue drops it when it is at its head.
    Withdrawn,
    /// Its die has taken it up.
    Served,
}

impl<O: Default> Default for Command<O> {
    fn default() -> Self {
        Self {
            owner: O::default(),
            ppn: Ppn(0),
            image: ImageId::new(0),
            lpn: 0,
            next: None,
            first: 0,
            count: 1,
            verb: Verb::Read,
            cause: Cause::Host,
            stage: Stage::Queued,
        }
    }
}
