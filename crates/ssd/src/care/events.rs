//! Reads, programs and erases, whoever they are for, as far as they tell of pages and blocks; and timers, which count only beside other
//! events.

use crate::care::{Care, limits};
use crate::core::flash::FlashPayload;
use crate::core::timer::{Resource, Timer};
use crate::core::{Command, Core};
use crate::rules::SafetyRule;
use device::sense::{Compares, Sensed, Verdict};
use nand::ReadOutcome;
use vocab::{BlockAddr, Nanos, Ppn, SimTime};

impl<P: FlashPayload> Care<P> {
    /// Reads the page of a command and decodes it: what came of it, and the time in the decoder.
    #[inline(always)]
    pub fn sense(&mut self, core: &mut Core<P>, command: &Command) -> (ReadOutcome, Nanos) {
        let compares = if core.breaks(SafetyRule::Compare) { Compares::No } else { Compares::Yes };
        let Sensed { verdict, time } = core.device.sense(command, compares);
        match verdict {
            Verdict::Clean => return (ReadOutcome::Clean, time),
            Verdict::Failed => {}
            Verdict::Unanswered => {
                let block = core.device.block_of(command.ppn);
                core.safe.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.strike_out(block));
            }
            Verdict::Astray => {
                self.damage.astray.insert(core.device.block_of(command.ppn));
                core.retry = true;
            }
            Verdict::Decoded { rewrite, .. } => {
                self.note_read(core, command.ppn);
                if rewrite {
                    self.refresh_at(core, core.device.block_of(command.ppn), core.device.now);
                }
            }
        }
        let outcome = verdict.outcome();
        core.failed_reads += u64::from(!outcome.is_clean());
        (outcome, time)
    }

    /// A page was programmed: deadlines, summaries and limits begin.
    #[inline]
    pub fn page_programmed(&mut self, core: &mut Core<P>, ppn: Ppn) {
        if core.device.ecc.is_some() {
            self.note_programmed(core, ppn);
        }
        if let Some(checkpoint) = &mut core.safe.checkpoint {
            let (block, page) = core.device.grid.split(ppn);
            if page + 1 == core.device.grid.pages_per_block() {
                checkpoint.sum_up::<P>(block, &core.device.array);
            }
        }
        if core.limits.is_on() {
            let (block, page) = core.device.grid.split(ppn);
            if page == 0 {
                limits::note_first_program(core, block);
            }
        }
    }

    /// A block holds nothing any more: deadlines, summaries and limits end.
    pub fn block_emptied(&mut self, core: &mut Core<P>, block: BlockAddr) {
        if core.limits.is_on() {
            core.limits.note_erase(block);
        }
        if core.device.ecc.is_some() {
            self.note_refreshed(core, block);
        }
        core.safe.checkpoint.iter_mut().for_each(|checkpoint| checkpoint.erased(block));
    }

    /// The next event. Timers count only beside something else: alone, or one beside the other, they would keep
    /// a drive from coming to rest, or from noticing that it is stuck.
    #[inline]
    pub fn next_event(&mut self, core: &mut Core<P>) -> Option<(SimTime, Resource)> {
        let (time, resource) = core.device.calendar.next()?;
        let resource = Resource::of(resource, &core.device.grid);
        match resource {
            Resource::Timer(Timer::Refresh) => self.refresh_timer(core),
            Resource::Timer(Timer::Age) => limits::retention_due(core),
            other => return Some((time, other)),
        }
        core.has_events_beside([Timer::Refresh, Timer::Age]).then_some((time, resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::care::testing::Bench;
    use crate::core::checkpoint::{Checkpoint, Summary};
    use vocab::DieId;

    /// Blocks of two dies are full, and one of the dies does not answer any more. Catches a summary that goes on vouching for a block of which a
    /// page could not be read: a mount would not look at it. Catches one that is struck out though its page was read.
    #[test]
    fn a_block_that_does_not_answer_loses_its_summary() {
        let mut bench = Bench::new("none", |_| {});
        bench.core.safe.checkpoint = Some(Checkpoint::fresh(bench.core.device.grid.geometry().blocks()));
        bench.write(0, 0..4);
        bench.write(1, 4..8);
        let blocks = [0, 4].map(|lpn| BlockAddr(bench.unit_of(lpn)));
        let last = blocks.map(|block| bench.core.device.grid.ppn(block, 3));
        last.into_iter().for_each(|ppn| bench.care.page_programmed(&mut bench.core, ppn));
        let summary = |bench: &Bench| {
            let checkpoint = bench.core.safe.checkpoint.as_ref().expect("the drive keeps one");
            blocks.map(|block| checkpoint.of(block))
        };
        assert_eq!(summary(&bench), [Summary::Whole(0); 2]);
        bench.core.device.array.kill(DieId(1));
        let read = blocks.map(|block| {
            let command = Command { ppn: bench.core.device.grid.ppn(block, 0), ..Command::default() };
            bench.care.sense(&mut bench.core, &command).0.is_clean()
        });
        assert_eq!((read, summary(&bench)), ([true, false], [Summary::Whole(0), Summary::Struck]));
    }
}
