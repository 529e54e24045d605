//! Pages that a write covers in part get the rest from their old contents before they go on.

use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::owner::Owner;
use crate::core::target::Target;
use crate::core::{Command, Core};
use crate::host::{Host, Next};
use crate::write::Writer;
use device::slab::JobId;
use device::waits::Wait;
use ftl::Place;
use nand::{FlashArray, ReadOutcome};
use vocab::{Cause, Lpn};

impl<P: FlashPayload> Host<P> {
    /// Reads what completes partly written pages, then passes the job on.
    #[inline]
    pub fn complete_pages(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId) -> Next {
        // A page that is solved for may arrive at once, before the next page was looked at.
        core.jobs[job].merges = 1;
        self.complete_pages_from(core, writer, job, 0)
    }

    /// As [`Self::complete_pages`], from this page on. A page that has to be solved for is solved for before the next
    /// one is looked at.
    #[inline]
    pub fn complete_pages_from(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, mut page: usize) -> Next {
        while let Some(found) = core.jobs[job].next_partial(page, self.requests.sectors_per_slot) {
            page = found + 1;
            if let Some(target) = self.complete_page(core, writer, job, found) {
                core.out.send(Parcel::Solve { target });
                core.out.push(Effect::CompleteFrom { job, page: page as u32 });
                return Next::Nothing;
            }
        }
        self.one_merge_less(core, writer, job)
    }

    /// Reads the old contents of a partly written page, unless they are at hand. What has to be solved for, where
    /// they cannot be read.
    fn complete_page(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, page: usize) -> Option<Target> {
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

    fn old_contents_at_hand(&self, core: &Core<P>, writer: &Writer<P>, lpn: Lpn) -> Option<P> {
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
    pub fn merge_read_done(
        &mut self,
        core: &mut Core<P>,
        writer: &Writer<P>,
        command: &Command,
        job: JobId,
        page: usize,
        outcome: ReadOutcome,
    ) {
        if outcome.is_clean() {
            let old = core.device.array.payload(command.ppn)[usize::from(command.first)].clone();
            self.merge_done(core, writer, job, page, Some(&old));
        } else {
            let failed = Some(core.device.grid.slot(command.ppn, u32::from(command.first)));
            core.out.send(Parcel::Solve { target: Target::Merge { job, page: page as u32, failed } });
        }
    }

    /// The old contents are known, or lost permanently: then the page is not written, because what it would hold beside
    /// the new sectors is unknown.
    pub fn merge_done(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, page: usize, old: Option<&P>) {
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
    fn one_merge_less(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId) -> Next {
        core.jobs[job].merges -= 1;
        if core.jobs[job].merges == 0 {
            core.job_worked(job, Wait::Solving);
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::core::effects::Popped;
    use crate::host::testing::{HostAlone, SECTORS};
    use device::contents::HostPayload;
    use device::contents::PageBuf;
    use device::slab::CommandId;
    use vocab::{Fua, HostOp, Slot};

    const PARTIAL: HostOp = HostOp::Write(Fua::No);

    /// Whether sectors of a page are of this version; 0 stands for zeros.
    fn are_of(page: &PageBuf, lpn: u32, version: u32, sectors: std::ops::Range<usize>) -> bool {
        let zeros = vec![0; 4096];
        let stamp = PageBuf::stamp(Lpn(lpn), version, SECTORS);
        let expected = if version == 0 { &zeros[..] } else { stamp.bytes().expect("a stamp has bytes") };
        let range = sectors.start * 512..sectors.end * 512;
        page.bytes().expect("a written page has bytes")[range.clone()] == expected[range]
    }

    /// Catches sectors that are taken from the wrong side, and a buffer that is not asked.
    #[test]
    fn the_other_sectors_come_from_what_the_page_held() {
        let mut alone = HostAlone::<PageBuf>::new("none", BufferKind::Plp);
        let page = |alone: &HostAlone<PageBuf>| alone.host.buffer.get(Lpn(3)).expect("it was written").clone();
        alone.arrive(PARTIAL, 3 * SECTORS + 1..3 * SECTORS + 4);
        let first = page(&alone);
        assert!(are_of(&first, 3, 0, 0..1) && are_of(&first, 3, 1, 1..4) && are_of(&first, 3, 0, 4..8), "never written");
        alone.arrive(PARTIAL, 3 * SECTORS + 3..4 * SECTORS);
        let second = page(&alone);
        assert!(are_of(&second, 3, 1, 1..3) && are_of(&second, 3, 2, 3..8), "in the buffer");
        assert_eq!(alone.answered().len(), 2);
    }

    /// Catches a job that goes on before its old contents are there, and a merge of another page's contents.
    #[test]
    fn a_page_in_flash_is_read_first() {
        let mut alone = HostAlone::<PageBuf>::new("none", BufferKind::Off);
        alone.core.map.publish(Lpn(3), Slot(7));
        let job = alone.arrive(PARTIAL, 3 * SECTORS + 2..3 * SECTORS + 4);
        assert!(alone.placing.is_empty() && alone.solving.is_empty());
        let command = alone.core.device.commands[CommandId::new(0)];
        assert_eq!((command.owner, command.ppn), (Owner::Merge { job, page: 0 }, vocab::Ppn(7)));
        let old = PageBuf::stamp(Lpn(3), 9, SECTORS);
        alone.host.merge_done(&mut alone.core, &alone.writer, job, 0, Some(&old));
        alone.hand_on();
        assert_eq!(alone.placing, [job]);
        let merged = &alone.core.jobs[job].pages[0].payload;
        assert!(are_of(merged, 3, 9, 0..2) && are_of(merged, 3, 1, 2..4) && are_of(merged, 3, 9, 4..8));
    }

    /// Catches a page that is looked at before an earlier one was solved for: its read would be queued too early.
    #[test]
    fn a_page_is_solved_for_before_the_next_is_looked_at() {
        let mut alone = HostAlone::<PageBuf>::new("none", BufferKind::Off);
        alone.core.map.publish_missing(Lpn(3));
        alone.core.map.publish(Lpn(4), Slot(7));
        let job = alone.core.jobs.take();
        let HostAlone { core, host, writer, .. } = &mut alone;
        core.jobs[job].reset(crate::core::jobs::Asker::Host, device::facts::RequestKind::Write, vocab::SimTime(0));
        for (lpn, from, to) in [(3, 4, 8), (4, 0, 4)] {
            let page = crate::core::jobs::PageWrite { lpn: Lpn(lpn), version: 1, payload: PageBuf::default(), from, to, rank: 0 };
            core.jobs[job].pages.push(page);
        }
        assert_eq!(host.enter(core, writer, job), Next::Nothing);
        assert_eq!(core.device.commands.in_use(), 0);
        let first = core.out.pop();
        assert!(matches!(first, Some(Popped::Parcel(Parcel::Solve { target: Target::Merge { page: 0, .. } }))), "{first:?}");
        let second = core.out.pop();
        assert!(matches!(second, Some(Popped::Effect(Effect::CompleteFrom { page: 1, .. }))), "{second:?}");
        assert_eq!(host.complete_pages_from(core, writer, job, 1), Next::Nothing);
        assert_eq!(core.device.commands.in_use(), 1);
    }

    /// Catches a job that goes on before all its pages are solved for, and a page written although half of it is
    /// unknown.
    #[test]
    fn a_job_goes_on_once_all_its_lost_pages_are_solved_for() {
        for is_found in [true, false] {
            let mut alone = HostAlone::<PageBuf>::new("none", BufferKind::Off);
            for lpn in [3, 4] {
                alone.core.map.publish_missing(Lpn(lpn));
            }
            let id = alone.arrive(PARTIAL, 3 * SECTORS + 4..4 * SECTORS + 4);
            let target = |page| Target::Merge { job: id, page, failed: None };
            assert_eq!(alone.solving, [target(0), target(1)]);
            let old = PageBuf::default();
            for page in 0..2 {
                assert!(alone.placing.is_empty());
                alone.host.merge_done(&mut alone.core, &alone.writer, id, page, (page == 0 || is_found).then_some(&old));
                alone.hand_on();
            }
            assert_eq!(alone.placing.len(), usize::from(is_found));
            let failed = alone.answered();
            assert_eq!(failed, if is_found { vec![] } else { vec![(0, true)] });
            // A later write of the page does not wait for the one that failed.
            alone.write(4..5);
            assert_eq!(alone.placing.len(), 1);
        }
    }
}
