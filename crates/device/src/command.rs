//! Flash commands.

use crate::slab::{Id, NONE};
use vocab::{Cause, Ppn};

/// What a flash command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verb {
    #[default]
    Read,
    Program,
    /// The cells of a page are recharged in place.
    Recharge,
    Erase,
}

/// One command on its way to a die.
#[derive(Clone, Copy, Debug)]
pub struct Command<O> {
    /// Who waits for it: the device carries this and never looks at it.
    pub owner: O,
    pub ppn: Ppn,
    /// Image to program.
    pub image: Id,
    /// First logical page of a host read.
    pub lpn: u32,
    /// The command behind it in its die's queue.
    pub next: Id,
    /// First slot and number of slots moved.
    pub first: u8,
    pub count: u8,
    pub verb: Verb,
    pub cause: Cause,
    pub stage: Stage,
}

/// Where a command is between its queue and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    #[default]
    Queued,
    /// Withdrawn: its queue drops it when it is at its head.
    Withdrawn,
    Served,
}

impl<O: Default> Default for Command<O> {
    fn default() -> Self {
        Self {
            owner: O::default(),
            ppn: Ppn(0),
            image: NONE,
            lpn: 0,
            next: NONE,
            first: 0,
            count: 1,
            verb: Verb::Read,
            cause: Cause::Host,
            stage: Stage::Queued,
        }
    }
}
