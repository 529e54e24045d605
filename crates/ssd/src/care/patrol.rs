//! Patrol: rows of closed superblocks are read in turn, obsolete pages too. An obsolete page is
//! still a member of its row's parity, so one that became unreadable has taken the protection of
//! the live ones without anybody noticing (theory.md, I9). A row in which a page does not read
//! has its superblock collected.

use crate::care::{Care, Host};
use crate::core::owner::Owner;
use crate::core::{Command, Core};
use device::contents::HostPayload;
use ftl::{UnitId, UnitState};
use nand::FlashArray;
use vocab::{Cause, DieId, Grid, Nanos};

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
    pub fn new(every: Option<Nanos>) -> Self {
        Self { every, next_row: 0, waited: 0 }
    }
}

/// The patrol's timer in the calendar.
pub(crate) fn timer(grid: &Grid) -> usize {
    grid.dies() as usize + 2
}

impl<P: HostPayload> Care<P> {
    /// Sets out for the next row, unless the patrol is on its way.
    pub fn start_patrol<A: FlashArray<P>>(&self, core: &mut Core<P, A>) {
        let timer = timer(&core.device.grid);
        if let Some(every) = self.patrol.every
            && !core.device.calendar.is_pending(timer)
        {
            core.device.calendar.schedule(timer, core.device.now + every);
        }
    }

    /// The patrol's time has come. It goes on while the host does: a drive that nobody uses
    /// comes to rest.
    pub fn patrol_due<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, host: Host) {
        core.device.calendar.clear(timer(&core.device.grid));
        if core.device.is_idle() || self.patrol.waited == MOST_TICKS_TO_WAIT {
            self.patrol.waited = 0;
            self.read_next_row(core);
        } else {
            self.patrol.waited += 1;
        }
        if host == Host::Busy {
            self.start_patrol(core);
        }
    }

    /// Reads every page of the next row that live pages depend on.
    fn read_next_row<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>) {
        let pages = core.device.grid.pages_per_block();
        let rows = core.device.grid.blocks_per_die() * pages;
        for _ in 0..rows {
            let row = self.patrol.next_row;
            self.patrol.next_row = (row + 1) % rows;
            let superblock: UnitId = row / pages;
            let unit = core.map.unit(superblock);
            let Some((covered, parity)) = core.map.rows().coverage(row) else { continue };
            if unit.state != UnitState::Closed || unit.valid == 0 {
                continue;
            }
            for die in covered.iter().chain([u32::from(parity.0)]) {
                let ppn = core.map.rows().page(row, DieId(die as u16));
                if core.device.array.answers(ppn) && !core.device.failed_programs.contains_key(&ppn.0) {
                    let owner = Owner::Patrol { superblock };
                    core.submit(Command { owner, ppn, cause: Cause::Refresh, ..Command::default() });
                }
            }
            return;
        }
    }
}
