//! Patrol: rows of closed superblocks are read in turn, obsolete pages too. An obsolete page is
//! still a member of its row's parity, so one that became unreadable has taken the protection of
//! the live ones without anybody noticing (theory.md, I9). A row in which a page does not read
//! has its superblock collected.

use crate::core::Command;
use crate::core::owner::Owner;
use crate::engine::Engine;
use device::contents::HostPayload;
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

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn patrols(&self) -> usize {
        self.core.device.grid.dies() as usize + 2
    }

    /// Sets out for the next row, unless the patrol is on its way.
    pub(crate) fn start_patrol(&mut self) {
        if let Some(every) = self.care.patrol.every
            && !self.core.device.calendar.is_pending(self.patrols())
        {
            self.core.device.calendar.schedule(self.patrols(), self.core.device.now + every);
        }
    }

    /// The patrol's time has come. It goes on while the host does: a drive that nobody uses
    /// comes to rest.
    pub(crate) fn patrol_due(&mut self) {
        self.core.device.calendar.clear(self.patrols());
        if self.core.device.is_idle() || self.care.patrol.waited == MOST_TICKS_TO_WAIT {
            self.care.patrol.waited = 0;
            self.read_next_row();
        } else {
            self.care.patrol.waited += 1;
        }
        if self.host.requests.outstanding > 0 || self.more_arrives() {
            self.start_patrol();
        }
    }

    /// Reads every page of the next row that live pages depend on.
    fn read_next_row(&mut self) {
        let (pages, rows) = (
            self.core.device.grid.pages_per_block(),
            self.core.device.grid.blocks_per_die() * self.core.device.grid.pages_per_block(),
        );
        for _ in 0..rows {
            let row = self.care.patrol.next_row;
            self.care.patrol.next_row = (row + 1) % rows;
            let unit = self.core.map.unit(row / pages);
            let Some((covered, parity)) = self.core.map.rows().coverage(row) else { continue };
            if unit.state != UnitState::Closed || unit.valid == 0 {
                continue;
            }
            for die in covered.iter().chain([u32::from(parity.0)]) {
                let ppn = self.core.map.rows().page(row, DieId(die as u16));
                if self.core.device.array.answers(ppn) && !self.core.device.failed_programs.contains_key(&ppn.0) {
                    let owner = Owner::Patrol { superblock: row / pages };
                    self.core.submit(Command { owner, ppn, cause: Cause::Refresh, ..Command::default() });
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
