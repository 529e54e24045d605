//! Pages that a write covers in part get the rest from their old contents before they go on.

use crate::core::effects::Effect;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, Core};
use crate::device::contents::HostPayload;
use crate::device::slab::Id;
use crate::host::{Host, Next};
use crate::write::Writer;
use ftl::Place;
use nand::FlashArray;
use vocab::{Cause, Lpn};

impl<P: HostPayload> Host<P> {
    /// Reads what completes partly written pages, then passes the job on.
    #[inline]
    pub fn complete_pages<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, writer: &Writer<P>, job: Id) -> Next {
        // What is solved for may be there at once, before the next page was looked at.
        core.jobs[job].merges = 1;
        self.complete_pages_from(core, writer, job, 0)
    }

    /// As [`Self::complete_pages`], from this page on. A page that has to be solved for is solved for before the next
    /// one is looked at.
    #[inline]
    pub fn complete_pages_from<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        job: Id,
        mut page: usize,
    ) -> Next {
        while let Some(found) = core.jobs[job].next_partial(page, self.requests.sectors_per_slot) {
            page = found + 1;
            if let Some(target) = self.complete_page(core, writer, job, found) {
                core.out.push(Effect::Solve { target });
                core.out.push(Effect::CompleteFrom { job, page: page as u32 });
                return Next::Nothing;
            }
        }
        self.one_merge_less(core, writer, job)
    }

    /// Reads the old contents of a partly written page, unless they are at hand. What has to be solved for, where
    /// they cannot be read.
    fn complete_page<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        job: Id,
        page: usize,
    ) -> Option<Target> {
        let lpn = core.jobs[job].pages[page].lpn;
        if let Some(old) = self.old_contents_at_hand(core, writer, lpn) {
            core.jobs[job].merge(page, &old);
            return None;
        }
        core.jobs[job].merges += 1;
        core.jobs[job].remaining += 1;
        let Place::At(slot) = core.map.lookup(lpn) else {
            return Some(Target::Merge { job, page: page as u32, failed: None });
        };
        let (ppn, first) = core.device.grid.page_of(slot);
        let owner = Owner::Merge { job, page: page as u16 };
        core.submit(Command { owner, ppn, first: first as u8, cause: Cause::HostRmw, ..Command::default() });
        None
    }

    fn old_contents_at_hand<A: FlashArray<P>>(&self, core: &Core<P, A>, writer: &Writer<P>, lpn: Lpn) -> Option<P> {
        if let Some(payload) = self.buffer.get(lpn) {
            return Some(payload.clone());
        }
        if core.is_hidden(lpn) {
            return Some(P::default());
        }
        match core.map.lookup(lpn) {
            Place::Unmapped => Some(P::default()),
            Place::Missing => None,
            Place::At(slot) => {
                let (ppn, index) = core.device.grid.page_of(slot);
                writer.unsent(core, ppn).map(|image| core.device.images.contents(image).1[index as usize].clone())
            }
        }
    }

    /// The old contents of a partly written page were read.
    pub fn merge_read_done<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        command: &Command,
        (job, page): (Id, usize),
        clean: bool,
    ) {
        if clean {
            let old = core.device.array.page(command.ppn).payload[usize::from(command.first)].clone();
            self.merge_done(core, writer, (job, page), Some(&old));
        } else {
            let failed = Some(core.device.grid.slot(command.ppn, u32::from(command.first)));
            core.out.push(Effect::Solve { target: Target::Merge { job, page: page as u32, failed } });
        }
    }

    /// The old contents are known, or lost for good: then the page is not written, because what it would hold beside
    /// the new sectors is unknown.
    pub fn merge_done<A: FlashArray<P>>(
        &mut self,
        core: &mut Core<P, A>,
        writer: &Writer<P>,
        (job, page): (Id, usize),
        old: Option<&P>,
    ) {
        match old {
            Some(old) => core.jobs[job].merge(page, old),
            None => core.jobs[job].failed = true,
        }
        if self.one_merge_less(core, writer, job) == Next::Place {
            core.out.push(Effect::Place { job });
        }
        core.part_done(job);
    }

    #[inline]
    fn one_merge_less<A: FlashArray<P>>(&mut self, core: &mut Core<P, A>, writer: &Writer<P>, job: Id) -> Next {
        core.jobs[job].merges -= 1;
        match (core.jobs[job].merges, core.jobs[job].failed) {
            (0, true) => {
                core.out.push(Effect::LetPagesGo { job });
                Next::Nothing
            }
            (0, false) => self.pass_on(core, writer, job),
            _ => Next::Nothing,
        }
    }
}
