//! A toy service, for tests alone: every this often it reads the first page of the next full block, so that one that
//! cannot be read is noticed. It shows what a service consists of (ARCHITECTURE.md, "Adding a service"): a timer, what is
//! due, and what a read means.

use crate::care::testing::Bench;
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::timer::Timer;
use crate::core::{Command, Core};
use ftl::{UnitId, UnitState};
use nand::ReadOutcome;
use vocab::{BlockAddr, Cause, Nanos, Ppn};

/// Where the inspection is, and what it found.
struct Inspection {
    every: Nanos,
    next: UnitId,
    unreadable: Vec<BlockAddr>,
}

impl Inspection {
    fn start<P: FlashPayload>(&self, core: &mut Core<P>) {
        core.schedule(Timer::Scrub, core.device.now + self.every);
    }

    /// The timer's arm: reads the next full block, if there is one, and sets out again.
    fn due<P: FlashPayload>(&mut self, core: &mut Core<P>) {
        core.clear(Timer::Scrub);
        let units = core.map.units() as u32;
        let in_turn = (self.next..units).chain(0..self.next);
        if let Some(unit) = in_turn.into_iter().find(|&unit| core.map.unit(unit).state == UnitState::Closed) {
            self.next = (unit + 1) % units;
            let (owner, ppn) = (Owner::Scrub { superblock: unit }, core.device.grid.ppn(BlockAddr(unit), 0));
            core.submit(Command { owner, ppn, cause: Cause::Refresh, ..Command::default() });
        }
        self.start(core);
    }

    /// The owner's arm: a page was read.
    fn read_done<P: FlashPayload>(&mut self, core: &Core<P>, ppn: Ppn, outcome: ReadOutcome) {
        self.unreadable.extend((!outcome.is_clean()).then(|| core.device.block_of(ppn)));
    }
}

#[test]
fn full_blocks_are_read_in_turn_and_one_that_cannot_be_read_is_noticed() {
    let mut bench = Bench::new("none", |_| {});
    // Blocks 0 and 1 of die 0 are full, and block 8, the first of die 1.
    bench.write(0, 0..8);
    bench.write(1, 8..12);
    bench.write(2, 12..14);
    let mut inspection = Inspection { every: Nanos(1_000), next: 0, unreadable: Vec::new() };
    inspection.start(&mut bench.core);
    let mut read = Vec::new();
    for tick in 1..=4 {
        let (time, resource) = bench.core.device.calendar.next().expect("the inspection goes on");
        assert_eq!((time.0, resource), (tick * 1_000, Timer::Scrub.index(&bench.core.device.grid)));
        bench.core.device.now = time;
        inspection.due(&mut bench.core);
        for command in bench.carry_out() {
            let block = bench.core.device.block_of(command.ppn);
            let outcome = if block == BlockAddr(8) { ReadOutcome::Uncorrectable } else { ReadOutcome::Clean };
            inspection.read_done(&bench.core, command.ppn, outcome);
            read.push(block.0);
        }
    }
    assert_eq!(read, [0, 1, 8, 0]);
    assert_eq!(inspection.unreadable, [BlockAddr(8)]);
}
