//! Jobs whose data are in flash without a parity, because the parity went to a bad block or found no page.
//! They are answered once a later parity of the row covers the data, or the data have moved to other rows.

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::write::moves::Moves;
use crate::write::rows::Rows;
use device::slab::JobId;
use ftl::UnitId;
use vocab::{Lpn, StripSet};

/// Jobs whose data are in flash without a parity.
#[derive(Clone, Debug)]
pub(crate) struct Uncovered {
    row: u32,
    /// The dies of the row that hold the data; none once the data have moved.
    covered: StripSet,
    jobs: Vec<JobId>,
    /// Pages of theirs that are not in flash at all: their programs failed, too.
    rescued: Vec<Lpn>,
}

impl<P: FlashPayload> Rows<P> {
    /// Lets one go that waits for rescued pages that are safe now. If there is none, jobs may go on whose data
    /// are covered by now. True if anyone may go on.
    pub fn settle_rescued(&mut self, core: &mut Core<P>, moves: &mut Moves<P>) -> bool {
        moves.let_one_go(core, is_safe) || self.answer_covered(core)
    }

    /// Answers the first jobs whose data have a parity by now, and are in flash; then the engine looks for the
    /// next. True if there were any.
    pub fn answer_covered(&mut self, core: &mut Core<P>) -> bool {
        let is_done = |waiting: &Uncovered| {
            is_covered(core, waiting.row, waiting.covered) && waiting.rescued.iter().all(|&lpn| is_safe(core, lpn))
        };
        let Some(at) = self.uncovered.iter().position(is_done) else { return false };
        let done = self.uncovered.remove(at);
        done.jobs.into_iter().for_each(|job| core.part_done(job));
        core.out.push(Effect::AnswerCovered);
        true
    }

    /// The parity of a row went to a bad block of a living die. Where the row is still open, its data are
    /// uncovered again, and the end of the row will bring them another parity.
    pub fn uncover_row(&mut self, row: u32) {
        let Some(write_pointer) = self.open.iter().position(|writer| writer.writes(row)) else { return };
        if self.open[write_pointer].has_room() {
            self.open[write_pointer].uncover();
            self.cover(write_pointer);
        }
    }

    /// Lets the jobs of a parity that failed wait, unless another parity covers their data. Programs of the
    /// `rescued` pages failed, too.
    pub fn wait_for_other_parity(
        &mut self,
        core: &mut Core<P>,
        row: u32,
        covered: StripSet,
        jobs: Vec<JobId>,
        rescued: Vec<Lpn>,
    ) {
        if !jobs.is_empty() {
            self.uncovered.push(Uncovered { row, covered, jobs, rescued });
            core.out.push(Effect::AnswerCovered);
        }
    }

    /// A superblock was emptied: what it held has a parity elsewhere.
    pub fn superblock_was_emptied(&mut self, core: &mut Core<P>, unit: UnitId) {
        let emptied = self.uncovered.iter_mut().filter(|waiting| core.map.rows().superblock_of(waiting.row).0 == unit);
        emptied.for_each(|waiting| waiting.covered = StripSet::EMPTY);
        self.answer_covered(core);
    }

    /// Everyone whose data are in flash without a parity.
    pub fn take_uncovered(&mut self) -> Vec<Uncovered> {
        std::mem::take(&mut self.uncovered)
    }

    /// The drive has no room to move data to another row. Their jobs are answered although one more loss would
    /// take what they wrote. If some of that is not in flash at all, they are told that there is no room.
    pub fn give_up_uncovered(&self, core: &mut Core<P>, given_up: &Uncovered) {
        let is_there = given_up.rescued.iter().all(|&lpn| self.is_solvable(core, lpn));
        for &job in &given_up.jobs {
            if !is_there {
                (core.jobs[job].failed, core.jobs[job].no_room) = (true, true);
            }
            core.part_done(job);
        }
    }

    /// Whether the rest of its row brings back a page that failed to be programmed. It may be in flash
    /// elsewhere by now, with no room for parity.
    pub fn is_solvable(&self, core: &Core<P>, lpn: Lpn) -> bool {
        let Some(ppn) = core.page_of(core.map.lookup(lpn)) else { return true };
        core.device.is_stored(ppn) || matches!(self.sources(core, ppn, &[]), Ok(Some(_)))
    }
}

/// Whether the page is in flash and a parity covers it: without, a mount would not count it.
fn is_safe<P: FlashPayload>(core: &Core<P>, lpn: Lpn) -> bool {
    let Some(ppn) = core.page_of(core.map.lookup(lpn)) else { return true };
    let (row, die) = core.map.rows().row_of(ppn);
    core.device.is_stored(ppn) && is_covered(core, row, StripSet::one(u32::from(die.0)))
}

/// Whether a parity of the row covers all these dies.
fn is_covered<P: FlashPayload>(core: &Core<P>, row: u32, dies: StripSet) -> bool {
    dies.is_empty() || core.map.rows().coverage(row).is_some_and(|(covered, _)| dies.and(covered) == dies)
}
