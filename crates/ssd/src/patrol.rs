//! Patrol: rows of closed superblocks are read in turn, obsolete pages too. An obsolete page is
//! still a member of its row's parity, so one that became unreadable has taken the protection of
//! the live ones without anybody noticing (theory.md, I9). A row in which a page does not read
//! has its superblock collected.

use crate::commands::{Command, Owner};
use crate::machine::Machine;
use crate::payload::HostPayload;
use ftl::UnitState;
use nand::FlashArray;
use protect::Protection;
use vocab::{Cause, DieId, Nanos};

/// Ticks that a row waits for an idle drive before it is read all the same.
const MOST_TICKS_TO_WAIT: u32 = 8;

/// Where the patrol is.
#[derive(Clone, Debug)]
pub(crate) struct Patrol {
    /// Time between two rows; `None`: no patrol.
    every: Option<Nanos>,
    next_row: u32,
    waited: u32,
}

impl Patrol {
    pub fn new(protection: &Protection) -> Self {
        let pace = if let Protection::Rows(scheme) = protection { scheme.patrol_rows_per_s() } else { 0 };
        let every = (pace > 0).then(|| Nanos(1_000_000_000 / u64::from(pace)));
        Self { every, next_row: 0, waited: 0 }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Machine<P, A> {
    pub(crate) fn patrols(&self) -> usize {
        self.grid.dies() as usize + 2
    }

    /// Sets out for the next row, unless the patrol is on its way.
    pub(crate) fn start_patrol(&mut self) {
        if let Some(every) = self.patrol.every
            && !self.calendar.is_pending(self.patrols())
        {
            self.calendar.schedule(self.patrols(), self.now + every);
        }
    }

    /// The patrol's time has come. It goes on while the host does: a drive that nobody uses
    /// comes to rest.
    pub(crate) fn patrol_due(&mut self) {
        self.calendar.clear(self.patrols());
        if self.is_idle() || self.patrol.waited == MOST_TICKS_TO_WAIT {
            self.patrol.waited = 0;
            self.read_next_row();
        } else {
            self.patrol.waited += 1;
        }
        if self.host.outstanding > 0 || self.more_arrives() {
            self.start_patrol();
        }
    }

    /// Reads every page of the next row that live pages depend on.
    fn read_next_row(&mut self) {
        let (pages, rows) = (self.grid.pages_per_block(), self.grid.blocks_per_die() * self.grid.pages_per_block());
        for _ in 0..rows {
            let row = self.patrol.next_row;
            self.patrol.next_row = (row + 1) % rows;
            let unit = self.ftl.unit(row / pages);
            let Some((covered, parity)) = self.ftl.rows().coverage(row) else { continue };
            if unit.state != UnitState::Closed || unit.valid == 0 {
                continue;
            }
            for die in covered.iter().chain([u32::from(parity.0)]) {
                let ppn = self.ftl.rows().page(row, DieId(die as u16));
                if self.array.answers(ppn) && !self.failed_programs.contains_key(&ppn.0) {
                    let owner = Owner::Patrol { superblock: row / pages };
                    self.submit(Command { owner, ppn, cause: Cause::Refresh, ..Command::default() });
                }
            }
            return;
        }
    }

    /// The patrol read a page.
    pub(crate) fn patrol_read_done(&mut self, superblock: u32, clean: bool) {
        if !clean {
            self.want(superblock, Cause::Refresh);
        }
    }
}
