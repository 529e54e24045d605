//! Work of dies, and the commands that wait for them.

use crate::queue::Die;
use crate::slab::CommandId;
use std::collections::VecDeque;
use vocab::DieId;

/// The dies with their queues, and which of them are to be asked whether they go on.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub dies: Vec<Die>,
    /// Commands queued or in service at each die, without withdrawn ones: side by side, because a page that may go
    /// to any die looks at all of them.
    pub backlogs: Vec<u32>,
    /// Dies that serve a command.
    pub busy: u32,
    /// Idle dies for which something was queued.
    kicks: Vec<DieId>,
    /// How many of `kicks` were served already.
    kicked: usize,
    /// Commands to be completed, without time.
    pub ready: VecDeque<CommandId>,
    /// Withdrawn commands that are still linked in queues.
    pub withdrawn: u32,
}

impl Work {
    /// This many dies without anything to do.
    pub fn new(dies: usize) -> Self {
        Self {
            dies: vec![Die::default(); dies],
            backlogs: vec![0; dies],
            busy: 0,
            kicks: Vec::new(),
            kicked: 0,
            ready: VecDeque::new(),
            withdrawn: 0,
        }
    }

    /// More dies.
    pub fn grow(&mut self, dies: usize) {
        self.dies.resize_with(dies, Die::default);
        self.backlogs.resize(dies, 0);
    }

    /// Whether nothing is in service, and no die is to be asked.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.busy == 0 && self.kicks.is_empty()
    }

    /// The die goes on with what is queued for it, when dies are asked next.
    #[inline]
    pub fn kick(&mut self, die: DieId) {
        self.kicks.push(die);
    }

    /// Whether a die is to be asked.
    #[inline]
    pub fn has_kicks(&self) -> bool {
        !self.kicks.is_empty()
    }

    /// The next idle die for which something was queued.
    #[inline]
    pub fn next_kick(&mut self) -> Option<DieId> {
        while let Some(&die) = self.kicks.get(self.kicked) {
            self.kicked += 1;
            if self.dies[die.index()].service.is_none() {
                return Some(die);
            }
        }
        self.kicks.clear();
        self.kicked = 0;
        None
    }
}
