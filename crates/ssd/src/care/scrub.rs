//! Scrub: rows of closed superblocks are read in turn, obsolete pages too. An obsolete page is
//! still a member of its row's parity, so one that became unreadable has taken the protection of
//! the live ones without anyone noticing (theory.md, I9). A row in which a page does not read
//! has its superblock collected.

use crate::care::{Care, HostUse};
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::timer::Timer;
use crate::core::{Command, Core};
use ftl::{UnitId, UnitState};
use nand::FlashArray;
use vocab::{Cause, DieId, Nanos};

/// Ticks that a row waits for an idle drive before it is read all the same.
const MOST_TICKS_TO_WAIT: u32 = 8;

/// Where the scrub is.
#[derive(Clone, Debug)]
pub(crate) struct Scrub {
    /// Time between two rows; `None`: no scrub.
    pub every: Option<Nanos>,
    next_row: u32,
    waited: u32,
}

impl Scrub {
    pub fn new(every: Option<Nanos>) -> Self {
        Self { every, next_row: 0, waited: 0 }
    }
}

impl<P: FlashPayload> Care<P> {
    /// Sets out for the next row, unless the scrub is on its way.
    pub fn start_scrub(&self, core: &mut Core<P>) {
        if let Some(every) = self.scrub.every
            && !core.is_pending(Timer::Scrub)
        {
            core.schedule(Timer::Scrub, core.device.now + every);
        }
    }

    /// The scrub's time has come. It goes on while the host does: a drive that no one uses
    /// comes to rest.
    pub fn scrub_due(&mut self, core: &mut Core<P>, host: HostUse) {
        core.clear(Timer::Scrub);
        if core.device.is_idle() || self.scrub.waited == MOST_TICKS_TO_WAIT {
            self.scrub.waited = 0;
            self.read_next_row(core);
        } else {
            self.scrub.waited += 1;
        }
        if host == HostUse::Busy {
            self.start_scrub(core);
        }
    }

    /// Reads every page of the next row that live pages depend on.
    fn read_next_row(&mut self, core: &mut Core<P>) {
        let rows = core.map.rows().count();
        for _ in 0..rows {
            let row = self.scrub.next_row;
            self.scrub.next_row = (row + 1) % rows;
            let superblock: UnitId = core.map.rows().superblock_of(row).0;
            let unit = core.map.unit(superblock);
            let Some((covered, parity)) = core.map.rows().coverage(row) else { continue };
            if unit.state != UnitState::Closed || unit.valid == 0 {
                continue;
            }
            for die in covered.iter().chain([u32::from(parity.0)]) {
                let ppn = core.map.rows().page(row, DieId(die as u16));
                if core.device.array.answers(ppn) && !core.device.losses.failed_programs.contains_key(&ppn.0) {
                    let owner = Owner::Scrub { superblock };
                    core.submit(Command { owner, ppn, cause: Cause::Refresh, ..Command::default() });
                }
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;
    use device::failed::FailedProgram;
    use ftl::{Ftl, FtlSetup, LogKind, Stream};
    use vocab::{Lpn, Streams};

    /// Superblock 0 of a group log is full. Of its first row dies 0 and 2 hold data, and die 3 the parity of both.
    fn bench() -> Bench {
        let mut bench = Bench::new("ds-raid", |_| {});
        let (gc, wear) = (ftl::GcConfig::default(), ftl::WearConfig::default());
        let setup = FtlSetup {
            kind: LogKind::Group,
            user_slots: 64,
            slots: 64,
            segments: None,
            stripes: 0,
            reserve: 0,
            recovery: 0,
            side_by_side: 1,
            groups: None,
            slc: None,
            gc: &gc,
            wear: &wear,
        };
        let grid = bench.core.device.grid.clone();
        bench.core.map = Ftl::new(&grid, &setup, &Streams::new(1), |_| false).expect("settings in range");
        let (superblock, _) = bench.core.map.open_row(Stream::Host).expect("an empty log has room");
        let slot = grid.slot(bench.core.map.rows().page(superblock.0 * 4, DieId(0)), 0);
        bench.core.map.publish(Lpn(0), slot);
        (0..4).for_each(|_| bench.core.map.next_row(Stream::Host));
        cover(&mut bench, superblock.0 * 4, &[0, 2], 3);
        bench.care.scrub = Scrub::new(Some(Nanos(1000)));
        bench
    }

    fn cover(bench: &mut Bench, row: u32, dies: &[u32], parity: u16) {
        bench.core.map.rows_mut().cover(row, dies.iter().copied().collect(), DieId(parity));
    }

    /// The next superblock, of which this many rows are written; with a valid page of this logical page, if any.
    fn write_superblock(bench: &mut Bench, rows: u32, valid: Option<u32>) -> u32 {
        let (superblock, _) = bench.core.map.open_row(Stream::Host).expect("the log has room");
        if let Some(lpn) = valid {
            let page = bench.core.map.rows().page(superblock.0 * 4, DieId(0));
            let slot = bench.core.device.grid.slot(page, 0);
            bench.core.map.publish(Lpn(lpn), slot);
        }
        (0..rows).for_each(|_| bench.core.map.next_row(Stream::Host));
        superblock.0
    }

    fn dies_read(bench: &mut Bench) -> Vec<u16> {
        let commands = bench.carry_out();
        commands.iter().map(|command| bench.core.device.grid.die_of(command.ppn).0).collect()
    }

    /// Obsolete pages of a row are read too: page 2 is. Catches a scrub that looks at valid pages alone, and one
    /// that reads pages which no parity covers.
    #[test]
    fn a_row_is_read_as_its_parity_covers_it() {
        let mut bench = bench();
        bench.care.scrub_due(&mut bench.core, HostUse::Away);
        assert_eq!(dies_read(&mut bench), [0, 2, 3]);
    }

    /// Catches a scrub that keeps a drive awake which no one uses, or stops while the host goes on.
    #[test]
    fn the_scrub_goes_on_while_the_host_does() {
        let mut bench = bench();
        bench.care.scrub_due(&mut bench.core, HostUse::Away);
        assert!(!bench.core.is_pending(Timer::Scrub));
        bench.care.scrub_due(&mut bench.core, HostUse::Busy);
        assert!(bench.core.is_pending(Timer::Scrub));
    }

    /// Catches a scrub that reads a page which never got to flash, or of a die that is gone.
    #[test]
    fn pages_that_are_not_there_are_not_read() {
        let mut bench = bench();
        let superblock = bench.core.map.unit_of_block(bench.core.device.grid.block(DieId(0), 0));
        let page = bench.core.map.rows().page(superblock * 4, DieId(2));
        bench.core.device.losses.failed_programs.insert(page.0, FailedProgram::nothing(1));
        bench.care.scrub_due(&mut bench.core, HostUse::Away);
        assert_eq!(dies_read(&mut bench), [0, 3]);
    }

    /// The oracle: every row with a parity of a closed superblock that holds anything, one after the other, and then from
    /// the beginning. Catches a scrub that skips a row, reads one twice in a round, reads one without parity, or reads
    /// the wrong pages.
    #[test]
    fn rows_are_read_in_turn_and_no_others() {
        let mut bench = bench();
        let empty = write_superblock(&mut bench, 4, None);
        let full = write_superblock(&mut bench, 4, Some(1));
        let open = write_superblock(&mut bench, 2, Some(2));
        cover(&mut bench, 2, &[1], 0);
        cover(&mut bench, 3, &[0, 1, 2, 3], 4);
        cover(&mut bench, empty * 4, &[0, 1], 2);
        cover(&mut bench, full * 4 + 3, &[2, 3], 1);
        cover(&mut bench, open * 4, &[0, 1], 4);
        // By hand: a die has 8 blocks of 4 pages; block 0 of each die is superblock 0.
        let pages = |superblock: u32, page: u32, dies: &[u32]| -> Vec<u32> {
            dies.iter().map(|die| (die * 8 + superblock) * 4 + page).collect()
        };
        let round = [pages(0, 0, &[0, 2, 3]), pages(0, 2, &[1, 0]), pages(0, 3, &[0, 1, 2, 3, 4]), pages(full, 3, &[2, 3, 1])];
        for expected in round.iter().chain(&round) {
            bench.care.scrub_due(&mut bench.core, HostUse::Away);
            let read = bench.carry_out();
            assert_eq!(read.iter().map(|command| command.ppn.0).collect::<Vec<_>>(), *expected);
            assert!(read.iter().all(|command| command.cause == Cause::Refresh));
        }
    }

    /// Catches a scrub that disturbs a busy drive at once, one that never reads while a drive is busy, and one whose
    /// patience is not restored.
    #[test]
    fn a_row_waits_eight_ticks_for_an_idle_drive() {
        let mut bench = bench();
        bench.core.device.timed = true;
        bench.core.submit(Command::default());
        let reads_after = |bench: &mut Bench| {
            let before = bench.core.device.commands.in_use();
            bench.care.scrub_due(&mut bench.core, HostUse::Away);
            bench.core.device.commands.in_use() - before
        };
        let ticks: Vec<usize> = (0..18).map(|_| reads_after(&mut bench)).collect();
        assert_eq!(ticks, [0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    }
}
