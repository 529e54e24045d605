//! Jobs that write or discard the same page are carried out in order of arrival.
//!
//! A job that finds one of its pages held by another, or that has to wait for something else, queues for all its
//! pages; what arrives later for one of them queues behind it. Once the map (or the write buffer) shows what the job
//! writes, it lets its pages go, and jobs that hold all their pages then go on.

use crate::core::Core;
use crate::core::effects::Effect;
use crate::core::flash::FlashPayload;
use crate::core::jobs::Asker;
use crate::host::{Host, Next};
use crate::write::Writer;
use device::facts::RequestKind;
use device::slab::JobId;
use vocab::Lpn;

/// Kind of order between writes of the same page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderedBy {
    /// The locks of this file.
    PageLocks,
    /// Updates of static stripes, no buffer being in between: those of one stripe are serial, and they complete
    /// partly written pages.
    StripeUpdates,
}

impl<P: FlashPayload> Host<P> {
    /// Orders a write or discard behind earlier ones of the same pages that the map does not show yet, then
    /// completes partly written pages.
    #[inline]
    pub fn enter(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId) -> Next {
        if self.ordered_by == OrderedBy::StripeUpdates {
            return self.pass_on(core, writer, job);
        }
        let wait = !self.page_locks.is_empty() && core.jobs[job].lpns().any(|lpn| self.page_locks.is_held(lpn));
        let is_partial = core.jobs[job].next_partial(0, self.requests.sectors_per_slot).is_some();
        if !wait && !is_partial && !core.jobs[job].failed {
            return self.pass_on(core, writer, job);
        }
        if wait || is_partial {
            self.hold_pages(core, job);
        }
        if core.jobs[job].order.missing > 0 {
            core.jobs[job].remaining += 1;
            return Next::Nothing;
        }
        self.complete_pages(core, writer, job)
    }

    /// Hands a job that has its pages, all of them complete, to the write buffer or to the way of writing.
    #[inline]
    pub fn pass_on(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId) -> Next {
        if !self.buffer.is_off() && core.jobs[job].asker == Asker::Host {
            self.buffer_job(core, writer, job);
            Next::Nothing
        } else {
            Next::Place
        }
    }

    /// Queues for all pages of the job, so that nothing later overtakes it.
    pub fn hold_pages(&mut self, core: &mut Core<P>, id: JobId) {
        let job = &mut core.jobs[id];
        if job.kind == RequestKind::Discard && job.versions.is_empty() {
            job.versions = (job.range.0..job.range.1).map(|lpn| self.oracle.sent(Lpn(lpn))).collect();
        }
        if job.order.holds_pages || job.asker != Asker::Host || self.ordered_by == OrderedBy::StripeUpdates {
            return;
        }
        job.order.holds_pages = true;
        let held_by_others = job.lpns().filter(|&lpn| !self.page_locks.queue(lpn, id)).count();
        job.order.missing += held_by_others as u32;
    }

    /// The job's pages are in the map or in the buffer, or never will be: what queues behind it goes on.
    pub fn let_pages_go(&mut self, core: &mut Core<P>, job: JobId) {
        if std::mem::take(&mut core.jobs[job].order.holds_pages) {
            self.let_pages_go_from(core, job, 0);
        }
    }

    /// As [`Self::let_pages_go`], from this page on. A job that holds all its pages then goes on before the next page
    /// is let go.
    pub fn let_pages_go_from(&mut self, core: &mut Core<P>, job: JobId, mut page: u32) {
        while let Some(lpn) = core.jobs[job].lpn(page as usize) {
            page += 1;
            let Some(next) = self.page_locks.release(lpn) else { continue };
            core.jobs[next].order.missing -= 1;
            if core.jobs[next].order.missing == 0 {
                core.jobs[next].merges = 1;
                core.job_followed(next, job);
                core.out.push(Effect::CompleteFrom { job: next, page: 0 });
                core.part_done(next);
                core.out.push(Effect::LetPagesGoFrom { job, page });
                return;
            }
        }
    }

    /// The job lets its pages go, and one part of it is done.
    #[inline]
    pub fn leave(&mut self, core: &mut Core<P>, job: JobId) {
        if core.jobs[job].order.holds_pages {
            core.out.push(Effect::LetPagesGo { job });
            core.part_done(job);
        } else {
            self.part_done(core, job);
        }
    }

    /// There is no space for the job now: it waits behind what already does.
    pub fn stall(&mut self, core: &mut Core<P>, job: JobId) {
        self.hold_pages(core, job);
        if core.jobs[job].kind == RequestKind::Discard {
            let (first, end) = core.jobs[job].range;
            (first..end).for_each(|lpn| self.buffer.freeze(Lpn(lpn)));
        }
        self.stalled.push_back(job);
    }
}

#[cfg(test)]
mod tests {
    use crate::config::BufferKind;
    use crate::host::testing::HostAlone;
    use device::contents::Tag;
    use device::slab::JobId;
    use std::ops::Range;
    use vocab::Streams;

    /// The jobs of a naive queue that may go on: those that share no page with an earlier one.
    fn may_go_on(queue: &[(JobId, Range<u32>)]) -> Vec<JobId> {
        let shares = |one: &Range<u32>, other: &Range<u32>| one.start < other.end && other.start < one.end;
        let is_first = |at: usize| !queue[..at].iter().any(|(_, earlier)| shares(earlier, &queue[at].1));
        (0..queue.len()).filter(|&at| is_first(at)).map(|at| queue[at].0).collect()
    }

    /// Random writes and discards of few pages, which land in any order, against a queue that is searched from the
    /// front. Catches a job that overtakes an earlier one of the same page, one that no one wakes, and one that is
    /// answered before it landed.
    #[test]
    fn jobs_of_the_same_page_go_on_in_order_of_arrival() {
        let mut draws = Streams::new(5).stream("order");
        let mut alone = HostAlone::<Tag>::new("none", BufferKind::Off);
        let mut queue: Vec<(JobId, Range<u32>)> = Vec::new();
        let (mut longest, mut landed) = (0, 0);
        for _ in 0..4000 {
            let first = draws.below(8) as u32;
            let pages = first..first + 1 + draws.below(3) as u32;
            if draws.chance(0.5) && queue.len() < 20 {
                let is_write = draws.chance(0.7);
                let job = if is_write { alone.write(pages.clone()) } else { alone.discard(pages.clone()) };
                queue.push((job, pages));
            } else if let Some(&job) = alone.placing.get(draws.below(alone.placing.len().max(1) as u64) as usize) {
                queue.retain(|(queued, _)| *queued != job);
                alone.land(job);
                landed += 1;
            }
            longest = longest.max(queue.len());
            let mut placing = alone.placing.clone();
            placing.sort_by_key(|job| queue.iter().position(|(queued, _)| queued == job));
            assert_eq!(placing, may_go_on(&queue));
            assert_eq!(alone.answered().len(), landed);
        }
        assert_eq!(longest, 20, "jobs wait for each other");
    }
}
