//! Covers: who waits until data and the parity over them are in flash (I10).

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::ids::CoverId;
use crate::core::owner::Holds;
use crate::write::moves::Moves;
use crate::write::rescue::AwaitsRescue;
use crate::write::rows::Rows;
use device::slab::{ImageId, JobId};
use nand::{FlashArray, ProgramOutcome};
use vocab::{DieId, Lpn, StripSet};

/// Data pages that one parity covers first. The cover ends when all of them and the parity are in flash, and
/// the cover before has ended: the parity sums the data of that one as well.
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    /// Programs under way, one more until the parity is queued, and one for the cover before.
    remaining: u32,
    /// The cover of the same row that waits for this one.
    next: Option<CoverId>,
    /// Jobs that wrote the data.
    pub jobs: Vec<JobId>,
    /// Units with old versions of the data.
    pub pins: Vec<u32>,
    row: u32,
    covered: StripSet,
    /// The die of the parity; `None` before it is queued, and where its program failed.
    parity: Option<DieId>,
    /// Whether the data have no parity although no die was lost: the parity went to a bad block, or there was
    /// no page for it.
    lacks_parity: bool,
    /// Pages whose program failed and that go to another row.
    rescued: Vec<Lpn>,
}

impl Default for Cover {
    fn default() -> Self {
        let (jobs, pins, covered) = (Vec::new(), Vec::new(), StripSet::EMPTY);
        Self { remaining: 0, next: None, jobs, pins, row: 0, covered, parity: None, lacks_parity: false, rescued: Vec::new() }
    }
}

impl Cover {
    fn begin(&mut self, row: u32) {
        (self.remaining, self.covered, self.parity, self.lacks_parity) = (1, StripSet::EMPTY, None, false);
        (self.row, self.next) = (row, None);
        self.jobs.clear();
        self.pins.clear();
    }

    /// One more program is under way.
    pub fn wait_for_program(&mut self) {
        self.remaining += 1;
    }

    /// The parity is queued: its program takes the part of `remaining` that was held for it.
    pub fn parity_is_sent(&mut self, covered: StripSet, die: DieId) {
        (self.covered, self.parity) = (covered, Some(die));
    }

    /// There is no page for the parity. `lacks_parity` is false where the data can do without.
    pub fn leave_without_parity(&mut self, covered: StripSet, lacks_parity: bool) {
        (self.covered, self.lacks_parity) = (covered, lacks_parity);
    }
}

impl<P: FlashPayload> Rows<P> {
    /// The cover that ends with the next parity of the row; a new one if need be.
    pub fn cover(&mut self, write_pointer: usize) -> CoverId {
        let row = &mut self.open[write_pointer];
        if let Some(cover) = row.cover {
            return cover;
        }
        let id = self.covers.take();
        self.covers[id].begin(row.places[0].row);
        row.cover = Some(id);
        if let Some(before) = row.before {
            self.covers[before].next = Some(id);
            self.covers[id].remaining += 1;
        }
        id
    }

    /// The program of a page of a row has ended.
    pub fn program_ended(
        &mut self,
        core: &mut Core<P>,
        moves: &mut Moves<P>,
        image: ImageId,
        cover: CoverId,
        holds: Holds,
        outcome: ProgramOutcome,
    ) {
        if holds == Holds::MovedData {
            core.moving[0].under_way -= 1;
        }
        if outcome == ProgramOutcome::Failed {
            self.program_failed(core, moves, image, cover, holds);
        }
        self.part_of_cover_ended(core, moves, cover);
        if holds == Holds::MovedData {
            core.out.push(Effect::Collect { log: 0 });
        }
    }

    /// Data that failed are in the row's parity: the map keeps their place, and a read solves for them. A
    /// parity that failed covers nothing.
    fn program_failed(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, image: ImageId, id: CoverId, holds: Holds) {
        let ppn = core.device.images.slab[image].ppn;
        core.device.note_failed(image);
        let rescued = moves.rescue(core, image);
        let cover = &mut self.covers[id];
        cover.rescued.extend(rescued);
        if holds == Holds::Parity {
            cover.parity = None;
            // With a dead die, the one loss that the scheme covers has just happened.
            if core.device.array.answers(ppn) {
                cover.lacks_parity = true;
                let row = cover.row;
                self.uncover_row(row);
            }
        }
    }

    /// One of the things that the cover waits for has happened.
    pub fn part_of_cover_ended(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, id: CoverId) {
        let cover = &mut self.covers[id];
        cover.remaining -= 1;
        if cover.remaining > 0 {
            return;
        }
        // A job with pages still to be placed waits for the next cover, which may have the same identity.
        cover.jobs.iter().for_each(|&job| core.jobs[job].cover = None);
        let (row, covered) = (cover.row, cover.covered);
        if let Some(die) = cover.parity {
            core.map.rows_mut().cover(row, covered, die);
            if self.does_any_wait(moves) && self.settle_rescued(core, moves) {
                core.out.push(Effect::FinishCover { cover: id });
                return;
            }
        }
        self.finish_cover(core, moves, id);
    }

    /// Whether anyone waits for rescued pages, or for another parity.
    fn does_any_wait(&self, moves: &Moves<P>) -> bool {
        !moves.waiting.is_empty() || !self.uncovered.is_empty()
    }

    /// Lets go what waited for the cover, or says what it waits for now.
    pub fn finish_cover(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, id: CoverId) {
        let cover = &mut self.covers[id];
        let (row, covered, lacks_parity) = (cover.row, cover.covered, cover.lacks_parity);
        let rescued = std::mem::take(&mut cover.rescued);
        let any_rescued = !rescued.is_empty();
        if any_rescued {
            let jobs = if lacks_parity { Vec::new() } else { cover.jobs.clone() };
            moves.waiting.push(AwaitsRescue { lpns: rescued.clone(), pins: cover.pins.clone(), jobs });
        } else {
            // Also without parity: the collector that moves the data may wait for one of these units.
            cover.pins.iter().for_each(|&unit| core.release(unit));
        }
        if lacks_parity {
            let jobs = cover.jobs.clone();
            self.wait_for_other_parity(core, row, covered, jobs, rescued);
        } else if !any_rescued {
            cover.jobs.iter().for_each(|&job| core.part_done(job));
        }
        if self.does_any_wait(moves) && (any_rescued || !lacks_parity) {
            core.out.push(Effect::SettleRescued);
        }
        core.out.push(Effect::EndCover { cover: id });
    }

    /// Whoever waited for the cover has been told: the cover after it waits for one thing less.
    pub fn end_cover(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, id: CoverId) {
        self.covers.give(id);
        self.open.iter_mut().filter(|row| row.before == Some(id)).for_each(|row| row.before = None);
        if let Some(next) = self.covers[id].next.take() {
            self.part_of_cover_ended(core, moves, next);
        }
    }
}
