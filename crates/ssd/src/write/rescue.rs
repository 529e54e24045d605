//! Rescue: pages of rows and block groups whose program failed go to another row or group.
//!
//! The rest of its codeword solves for such a page, unless another page of the codeword is lost, too. So
//! what the controller still has is written elsewhere at once. Until it is in flash, the old versions of its
//! pages stay, and whoever wrote them is not answered.

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::target::Target;
use crate::write::moves::{Move, Moves};
use device::image::Contents;
use device::slab::{ImageId, JobId};
use ftl::{Place, UnitId};
use nand::{FlashArray, PageRole};
use vocab::Lpn;

/// Work that waits until rescued pages are in flash.
#[derive(Clone, Debug, Default)]
pub(crate) struct AwaitsRescue {
    /// The rescued pages.
    pub lpns: Vec<Lpn>,
    /// Units with old versions of them: one pin for each entry.
    pub pins: Vec<UnitId>,
    /// Jobs that wrote them: one part for each entry.
    pub jobs: Vec<JobId>,
}

impl<P: FlashPayload> Moves<P> {
    /// The program of an image failed. Where its die answers, the data that are still current are queued for
    /// another place. The logical pages that the image held; none where the die is dead.
    pub fn rescue(&mut self, core: &mut Core<P>, image: ImageId) -> Vec<Lpn> {
        let (ppn, mut lpns) = (core.device.images.slab[image].ppn, Vec::new());
        if !core.device.array.answers(ppn) {
            return lpns;
        }
        for index in 0..core.device.images.slab[image].filled {
            let (tag, from) = (core.device.images.slot(image, index).0, core.device.grid.slot(ppn, index));
            let PageRole::Data(lpn) = tag.role() else { continue };
            lpns.push(lpn);
            if core.map.is_valid(from) {
                let payload = core.device.images.contents(image).1[index as usize].clone();
                let update = core.device.images.updates(image)[index as usize];
                self.queue.push_back(Move { contents: Contents { tag, payload, update }, from });
                (self.rescuing, core.retry) = (true, true);
            }
        }
        lpns
    }

    /// Lets the first one go that waits for pages that are all safe now: its old versions may be erased, its
    /// jobs are answered. Then the engine looks for the next. False where all have to wait on.
    pub fn let_one_go(&mut self, core: &mut Core<P>, is_safe: impl Fn(&Core<P>, Lpn) -> bool) -> bool {
        let is_done = |waiting: &AwaitsRescue| waiting.lpns.iter().all(|&lpn| is_safe(core, lpn));
        let Some(at) = self.waiting.iter().position(is_done) else { return false };
        let done = self.waiting.remove(at);
        done.pins.into_iter().for_each(|unit| core.release(unit));
        done.jobs.into_iter().for_each(|job| core.part_done(job));
        core.out.push(Effect::SettleRescued);
        true
    }

    /// Rescued pages find no room, perhaps because a collector waits for a unit that their old versions
    /// keep. Where codewords bring all the pages back, nothing waits any more, as with any page that is lost.
    /// Otherwise the old versions stay, and the jobs are told that there is no room. True if that changed
    /// anything.
    pub fn give_up(
        &mut self,
        core: &mut Core<P>,
        mut waiting: AwaitsRescue,
        is_solvable: impl Fn(&Core<P>, Lpn) -> bool,
    ) -> bool {
        let stand_in = waiting.lpns.iter().all(|&lpn| is_solvable(core, lpn));
        let any = stand_in || !waiting.jobs.is_empty();
        for job in std::mem::take(&mut waiting.jobs) {
            if !stand_in {
                (core.jobs[job].failed, core.jobs[job].no_room) = (true, true);
            }
            core.part_done(job);
        }
        if stand_in {
            waiting.pins.into_iter().for_each(|unit| core.out.push(Effect::Release { unit }));
        } else {
            self.waiting.push(waiting);
        }
        any
    }

    /// The contents that a repair wants, if they wait to be written to another place.
    pub fn rescued_contents(&self, core: &Core<P>, target: Target) -> Option<P> {
        if !self.rescuing {
            return None;
        }
        let lpn = core.lpn_wanted(target);
        let place = match (target, lpn) {
            (Target::Move { slot, .. }, _) => Place::At(slot),
            (_, lpn) => core.map.lookup(lpn?),
        };
        // A page whose block was erased and written again while it waited is no longer stored there.
        let lies_there = |page: &&Move<P>| {
            Place::At(page.from) == place && lpn.is_none_or(|lpn| page.contents.tag.role() == PageRole::Data(lpn))
        };
        self.queue.iter().find(lies_there).map(|page| page.contents.payload.clone())
    }
}
