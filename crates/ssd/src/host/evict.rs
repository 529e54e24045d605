//! The write buffer at work: it answers writes before flash does, and gathers pages on their way.
//!
//! Pages leave it oldest first once more than three quarters of it are dirty, together with what the scheme can
//! write along: the dirty pages of the same static stripe, or a row's worth. While a request waits for room, pages leave
//! until two program units for each die are under way, however few stay dirty: then the drive is the bottleneck, and what
//! could still be merged in the buffer is worth less than a die at work. A scheme may bring a write cache of its
//! own, or rules for the drive's: then a stripe is as old as its last write, and long requests pass through, answered
//! when flash has them.

use crate::core::Core;
use crate::core::effects::{Effect, Parcel};
use crate::core::flash::FlashPayload;
use crate::core::jobs::{Asker, Turn};
use crate::host::Host;
use crate::host::buffer::{Ending, Waiting};
use crate::write::Writer;
use crate::write::host_side::EvictedWith;
use device::facts::RequestKind;
use device::slab::JobId;
use device::waits::Wait;
use vocab::{Lba, Lpn};

/// Whether the write buffer took in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TakenIn {
    Yes,
    /// There was no room: the job waits.
    No,
}

impl<P: FlashPayload> Host<P> {
    /// Takes a write or discard into the buffer, or lets it wait for room.
    pub(super) fn buffer_job(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId) {
        core.jobs[job].remaining += 1;
        if self.buffer.has_waiting() {
            self.await_room(core, job, Turn::Last, 0);
        } else {
            self.take_in(core, writer, job, Turn::Last);
        }
    }

    /// Takes in the job that waits first for room, if there is any now; then the next.
    pub fn retry_buffer(&mut self, core: &mut Core<P>, writer: &Writer<P>) {
        let capacity = self.buffer_capacity(writer);
        if self.buffer.has_no_room_for_waiting(capacity) {
            core.out.push(Effect::MakeRoom);
        } else if let Some(job) = self.buffer.next_waiting()
            && self.take_in(core, writer, job, Turn::First) == TakenIn::Yes
        {
            core.out.push(Effect::RetryBuffer);
        }
    }

    /// While a job waits for room, the page that leaves next does so, then the one after it.
    pub fn make_room(&mut self, core: &mut Core<P>, writer: &Writer<P>) {
        let capacity = self.buffer_capacity(writer);
        let dead = core.device.losses.dead().len();
        let evicted_with = |lpn| writer.in_use(core).evicted_with(lpn, &core.device.grid, dead);
        if let Some(lpn) = self.buffer.leaves_for_waiting(capacity, evicted_with) {
            self.evict(core, writer, lpn);
            core.out.push(Effect::MakeRoom);
        }
    }

    /// There is no room in the buffer for the job that waits first, and there never will be.
    pub fn fail_buffer_waiter(&mut self, core: &mut Core<P>) {
        if let Some(job) = self.buffer.next_waiting() {
            core.jobs[job].failed = true;
            core.job_waited(job, Wait::Buffer);
            self.leave(core, job);
        }
    }

    /// Whether anything waits for room in the buffer.
    pub fn has_waiting_for_buffer(&self) -> bool {
        self.buffer.has_waiting()
    }

    /// Takes in a job if there is room; else it waits, in its turn, while pages leave.
    fn take_in(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, turn: Turn) -> TakenIn {
        if core.jobs[job].kind == RequestKind::Discard {
            core.job_worked(job, Wait::Buffer);
            core.out.push(Effect::Place { job });
            core.part_done(job);
            return TakenIn::Yes;
        }
        let capacity = self.buffer_capacity(writer);
        if self.passes_buffer(core, writer, job, capacity) {
            self.pass_buffer(core, job);
            return TakenIn::Yes;
        }
        let new = core.jobs[job].pages.iter().filter(|page| self.buffer.get(page.lpn).is_none()).count();
        // A request larger than the buffer passes through an empty one.
        let taken = self.buffer.taken_slots();
        if taken + new > capacity && taken > 0 {
            self.await_room(core, job, turn, new);
            core.out.push(Effect::MakeRoom);
            return TakenIn::No;
        }
        self.put_in_buffer(core, job);
        self.answer_from_buffer(core, job, self.buffer.watermark(capacity));
        TakenIn::Yes
    }

    /// The job's pages are in the buffer: it is answered, once so few pages are dirty, and where it is a forced write
    /// and the buffer is volatile, once its pages are durable.
    fn answer_from_buffer(&mut self, core: &mut Core<P>, id: JobId, dirty: usize) {
        let job = &core.jobs[id];
        let forced = job.fua && self.buffer.is_volatile();
        if !forced && self.buffer.dirty_pages() <= dirty {
            self.leave(core, id);
            return;
        }
        if forced {
            let written = job.pages.iter().rev().filter(|page| !self.is_void(core, page));
            let pages = written.map(|page| page.lpn).collect();
            core.out.send(Parcel::AwaitDurable { job: id, pages });
        }
        core.out.push(Effect::EvictDownTo { dirty: dirty as u32 });
        core.out.push(Effect::LetPagesGo { job: id });
        core.part_done(id);
    }

    /// There is no room for the job, `new` of whose pages the buffer does not have: it waits in its turn.
    fn await_room(&mut self, core: &mut Core<P>, job: JobId, turn: Turn, new: usize) {
        if turn == Turn::Last {
            self.hold_pages(core, job);
        }
        let pages = &core.jobs[job].pages;
        let lpn = pages.first().map_or(Lpn(0), |page| page.lpn);
        self.buffer.await_room(Waiting { job, pages: pages.len(), new, lpn }, turn);
    }

    fn put_in_buffer(&mut self, core: &mut Core<P>, job: JobId) {
        core.job_worked(job, Wait::Buffer);
        for page in &core.jobs[job].pages {
            if self.is_void(core, page) {
                continue;
            }
            if self.reads_ahead {
                core.out.push(Effect::ForgetReadAhead { lpn: page.lpn });
            }
            self.buffer.write(page);
        }
    }

    /// Pages that the buffer holds.
    pub fn buffer_capacity(&self, writer: &Writer<P>) -> usize {
        let own = || writer.write_cache().map_or(0, |cache| cache.pages as usize);
        self.buffer.capacity().unwrap_or_else(own)
    }

    /// Whether the request is too long for the scheme's write cache, or that is off.
    fn passes_buffer(&self, core: &Core<P>, writer: &Writer<P>, job: JobId, capacity: usize) -> bool {
        if !self.buffer.is_write_cache() {
            return false;
        }
        let long = writer.write_cache().is_some_and(|cache| core.jobs[job].pages.len() > cache.bypass_over as usize);
        long || capacity == 0
    }

    /// Writes the request to flash at once and answers it when it is durable. Until then the buffer shows its pages,
    /// so that no older copy is seen or written after it.
    fn pass_buffer(&mut self, core: &mut Core<P>, job: JobId) {
        self.put_in_buffer(core, job);
        let lpns: Vec<u32> = core.jobs[job].pages.iter().map(|page| page.lpn.0).collect();
        for &lpn in &lpns {
            self.buffer.await_durable(Lpn(lpn), job).expect("just buffered");
        }
        core.jobs[job].remaining += lpns.len() as u32;
        self.launch(core, &lpns, true);
        core.out.push(Effect::LetPagesGo { job });
        core.part_done(job);
    }

    /// The job is answered when these pages are durable, the last one coming first. Each leaves the buffer, if it is
    /// dirty, before the next one is looked at.
    pub fn await_durable(&mut self, core: &mut Core<P>, writer: &Writer<P>, job: JobId, mut pages: Vec<Lpn>) {
        while let Some(lpn) = pages.pop() {
            let Some(dirty) = self.buffer.await_durable(lpn, job) else {
                // It left with a page of its stripe, and no flash took it.
                core.jobs[job].failed = true;
                continue;
            };
            core.jobs[job].remaining += 1;
            if dirty {
                self.evict(core, writer, lpn.0);
                core.out.send(Parcel::AwaitDurable { job, pages });
                return;
            }
        }
    }

    /// A flush: every write answered before becomes durable.
    pub fn flush(&mut self, core: &mut Core<P>, job: JobId) {
        if !self.buffer.is_volatile() {
            return;
        }
        let pages = self.buffer.not_durable();
        for &lpn in &pages {
            self.buffer.await_durable(lpn, job).expect("just listed");
            core.jobs[job].remaining += 1;
            core.out.push(Effect::EvictIfDirty { lpn });
        }
    }

    /// Evicts a page if it is dirty still.
    pub fn evict_if_dirty(&mut self, core: &mut Core<P>, writer: &Writer<P>, lpn: Lpn) {
        if self.buffer.is_dirty(lpn.0) {
            self.evict(core, writer, lpn.0);
        }
    }

    /// Evicts pages, oldest first, until this many dirty ones are left.
    pub fn evict_down_to(&mut self, core: &mut Core<P>, writer: &Writer<P>, dirty: usize) {
        if self.buffer.dirty_pages() > dirty {
            let oldest = self.buffer.oldest().expect("more pages are dirty than none");
            self.evict(core, writer, oldest);
            core.out.push(Effect::EvictDownTo { dirty: dirty as u32 });
        }
    }

    /// Writes the page to flash, with what the scheme can write along.
    fn evict(&mut self, core: &mut Core<P>, writer: &Writer<P>, lpn: u32) {
        let dead = core.device.losses.dead().len();
        match writer.in_use(core).evicted_with(Lpn(lpn), &core.device.grid, dead) {
            EvictedWith::Oldest { most, each } => {
                for pages in self.buffer.oldest_with(lpn, most).chunks(each) {
                    self.launch(core, pages, false);
                }
            }
            EvictedWith::Stripe(pages) => self.launch(core, &self.buffer.dirty_among(pages), false),
        }
    }

    /// Sends dirty pages to flash as one write; `long`: they passed through the buffer.
    fn launch(&mut self, core: &mut Core<P>, lpns: &[u32], long: bool) {
        let id = core.jobs.take();
        let job = &mut core.jobs[id];
        job.reset(Asker::Buffer, RequestKind::Write, core.device.now);
        job.long = long;
        job.pages.extend(lpns.iter().map(|&lpn| self.buffer.launch(lpn, self.requests.sectors_per_slot)));
        core.job_begins(id, core.device.now, Lba(0), 0);
        core.out.push(Effect::Place { job: id });
        core.part_done(id);
    }

    /// A die has taken up the program of a page that leaves: who waits for room may have it.
    pub fn eviction_launched(&mut self, core: &mut Core<P>, lpn: Lpn) {
        if self.buffer.is_write_cache() {
            self.buffer.launched(lpn);
            if self.has_waiting_for_buffer() {
                core.out.push(Effect::RetryBuffer);
            }
        }
    }

    /// An eviction is durable, or failed for lack of space.
    pub(super) fn evicted(&mut self, core: &mut Core<P>, id: JobId) {
        let job = &mut core.jobs[id];
        let ending = match job.failed {
            false => Ending::Durable,
            true if job.homeless => Ending::Homeless,
            true if job.no_room || job.next < job.pages.len() => Ending::NoRoom,
            true => Ending::Failed,
        };
        let pages = std::mem::take(&mut job.pages);
        let mut retry = self.has_waiting_for_buffer();
        for page in &pages {
            // A page that never got a rank has no place yet, wherever the rest of the job went.
            let ending = if ending == Ending::Homeless && page.rank == 0 { Ending::NoRoom } else { ending };
            let followup = self.buffer.landed(page, ending);
            for job in followup.waiters {
                core.jobs[job].failed |= ending != Ending::Durable;
                self.part_done(core, job);
            }
            if followup.again {
                core.out.push(Effect::EvictIfDirty { lpn: page.lpn });
                retry = true;
            }
        }
        core.jobs[id].pages = pages;
        if retry {
            core.out.push(Effect::RetryBuffer);
        }
    }

    /// A page is not discarded after all: it is to be written again, later. Whoever waits for it to be durable fails.
    pub(super) fn thaw(&mut self, core: &mut Core<P>, lpn: Lpn) {
        for job in self.buffer.thaw(lpn) {
            core.jobs[job].failed = true;
            self.part_done(core, job);
        }
    }

    /// Carries out the discard of a page, as far as the buffer and what reads must return are concerned.
    pub fn discard_page(&mut self, core: &mut Core<P>, job: JobId, lpn: Lpn) {
        if let Some(waiters) = self.buffer.drop_page(lpn) {
            core.retry |= self.has_waiting_for_buffer();
            waiters.into_iter().for_each(|job| self.part_done(core, job));
        }
        let job = &core.jobs[job];
        let sent = job.versions.get((lpn.0 - job.range.0) as usize).copied();
        let version = sent.unwrap_or_else(|| self.oracle.sent(lpn));
        self.oracle.discard(lpn, version);
    }

    /// Whether the page left the buffer by a discard while its eviction waited for room.
    pub fn was_discarded(&self, core: &Core<P>, job: JobId, lpn: Lpn) -> bool {
        core.jobs[job].asker == Asker::Buffer && self.buffer.get(lpn).is_none()
    }

    /// Pages of an eviction that were discarded while it waited are not written any more.
    pub fn drop_discarded(&mut self, core: &mut Core<P>, id: JobId) {
        let job = &mut core.jobs[id];
        if job.asker == Asker::Buffer {
            let mut page_number = 0;
            job.pages.retain(|page| {
                page_number += 1;
                page_number <= job.next || self.buffer.get(page.lpn).is_some()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BufferKind;
    use crate::host::testing::{HostAlone, SECTORS};
    use device::contents::Tag;
    use vocab::{Fua, HostOp};

    /// A drive without redundancy that evicts five pages at once, each by a write of its own, from a buffer of 16.
    fn plain(kind: BufferKind) -> HostAlone<Tag> {
        HostAlone::new("none", kind)
    }

    /// A drive whose evictions are writes of a row: four pages.
    fn rows(kind: BufferKind) -> HostAlone<Tag> {
        HostAlone::new("ds-raid", kind)
    }

    fn each(pages: impl IntoIterator<Item = u32>) -> Vec<Vec<u32>> {
        pages.into_iter().map(|lpn| vec![lpn]).collect()
    }

    /// Catches another threshold than three quarters, another order than that of the last writes, and a rewritten
    /// page that keeps its age.
    #[test]
    fn the_oldest_pages_leave_above_three_quarters() {
        let mut alone = plain(BufferKind::Plp);
        for lpn in [9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10, 11, 9] {
            alone.write(lpn..lpn + 1);
            assert!(alone.placing.is_empty(), "at most twelve are dirty");
        }
        alone.write(12..13);
        assert_eq!(alone.placing_lpns(), each([8, 7, 6, 5, 4]));
        assert_eq!(alone.answered().len(), 14, "all are answered from the buffer");
    }

    /// Catches an eviction that leaves dirty mates behind, or takes pages of other stripes along.
    #[test]
    fn a_page_leaves_with_the_dirty_pages_of_its_stripe() {
        let mut alone = HostAlone::<Tag>::new("raid5", BufferKind::Plp);
        for lpn in [5, 20, 21, 22, 23, 24, 25, 26, 27, 7, 4, 28] {
            alone.write(lpn..lpn + 1);
        }
        assert!(alone.placing.is_empty());
        alone.write(29..30);
        assert_eq!(alone.placing_lpns(), [[4, 5, 7]]);
    }

    /// Catches a full buffer that takes a write in, a request that overtakes one that waits for room, requests
    /// that are not told of the room, and pages that keep their slots until others of their eviction are durable.
    #[test]
    fn a_full_buffer_lets_requests_wait_in_order() {
        let mut alone = plain(BufferKind::Plp);
        alone.write_each(0..16);
        assert_eq!(alone.placing_lpns(), each(0..5));
        alone.write(20..26);
        alone.write(15..16);
        assert_eq!(alone.answered().len(), 16, "no room for six, and no one overtakes them");
        assert!(alone.host.has_waiting_for_buffer());
        let under_way = alone.placing.clone();
        for &job in &under_way[..5] {
            alone.land(job);
        }
        assert_eq!(alone.answered().len(), 16, "there is room for five");
        alone.land(under_way[5]);
        assert_eq!(alone.answered()[16..], [(16, false), (17, false)]);
        assert!(!alone.host.has_waiting_for_buffer());
    }

    /// Catches a quarter of the buffer under way, with dies that are idle, while the host waits; and a buffer that empties itself
    /// of all that could be merged where a part of it keeps the dies at work.
    #[test]
    fn while_a_request_waits_pages_leave_until_the_dies_have_enough() {
        for (at_work, under_way) in [(1000, 16), (9, 10)] {
            let mut alone = plain(BufferKind::Plp);
            alone.host.buffer.set_at_work(at_work);
            alone.write_each(0..16);
            assert_eq!(alone.placing.len(), 5, "no request waits");
            alone.write(20..21);
            assert_eq!(alone.placing_lpns(), each(0..under_way), "{at_work} are enough");
        }
    }

    /// Catches a part of a row that leaves, and gets a parity of its own, while whole rows are under way.
    #[test]
    fn less_than_a_row_stays_while_rows_are_under_way() {
        let mut alone = rows(BufferKind::Plp);
        for page in (0..15).step_by(3) {
            alone.write(page..page + 3);
        }
        assert_eq!(alone.placing_lpns(), [[0, 1, 2, 3]], "above three quarters");
        alone.write(20..23);
        assert_eq!(alone.placing_lpns(), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], "12 to 14 are no row");
        let under_way = alone.placing.clone();
        for job in under_way {
            alone.land(job);
        }
        assert_eq!(alone.answered().len(), 6, "the request is in");
    }

    /// Catches a stripe that is written in two parts because the first one leaves while the request with the second one waits.
    #[test]
    fn a_stripe_that_a_waiting_request_completes_stays() {
        let mut alone = HostAlone::<Tag>::new("raid5", BufferKind::Plp);
        for page in (0..14).step_by(2) {
            alone.write(page..page + 2);
        }
        assert_eq!(alone.placing_lpns(), [[0, 1, 2, 3]], "above three quarters");
        alone.write(14..18);
        assert_eq!(alone.placing_lpns(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 10, 11]]);
        assert!([12, 13].iter().all(|&lpn| alone.host.buffer.is_dirty(lpn)));
        let (first, second) = (alone.placing[0], alone.placing[1]);
        alone.land(first);
        alone.land(second);
        assert_eq!(alone.answered().len(), 8, "the request is in");
    }

    /// Four stripes of four pages fill a scheme's write cache of 16. Catches room that is made for one request at a time,
    /// so that the others wait for as many evictions, one after the other.
    #[test]
    fn a_write_cache_makes_room_for_all_that_wait_at_once() {
        let mut alone = HostAlone::<Tag>::new("da-raid5", BufferKind::Plp);
        alone.write_each(0..16);
        assert_eq!(alone.placing_lpns(), [[0, 1, 2, 3]], "above three quarters");
        for stripe in 4..8 {
            alone.write(4 * stripe..4 * stripe + 4);
        }
        assert_eq!(alone.answered().len(), 16);
        let first = alone.placing[0];
        // A die has taken up each page of the first stripe: there is room for one request, and the rest makes itself some.
        for lpn in 0..4 {
            alone.host.eviction_launched(&mut alone.core, Lpn(lpn));
            alone.hand_on();
        }
        assert_eq!(alone.answered().len(), 17, "before the pages are durable");
        assert_eq!(alone.placing_lpns()[1..], [[4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]);
        alone.land(first);
    }

    /// Catches a flush that is answered too early, or waits for what was written behind it.
    #[test]
    fn a_flush_waits_for_the_pages_that_were_dirty_before_it() {
        let mut alone = plain(BufferKind::Volatile);
        alone.write_each(0..13);
        assert_eq!(alone.placing_lpns(), each(0..5), "on their way already");
        alone.flush();
        assert_eq!(alone.placing_lpns()[5..], each(5..13));
        alone.write(13..14);
        let on_their_way = alone.placing.clone();
        for job in on_their_way {
            assert!(!alone.answered().contains(&(13, false)));
            alone.land(job);
        }
        assert_eq!(alone.answered().last(), Some(&(13, false)));
        assert!(alone.host.buffer.is_dirty(13) && alone.placing.is_empty());
    }

    /// Catches a flush that is answered when an older version of a page is durable.
    #[test]
    fn a_flush_waits_for_the_newest_version_of_a_page() {
        let mut alone = plain(BufferKind::Volatile);
        alone.write(3..4);
        alone.flush();
        let first = alone.placing[0];
        alone.write(3..4);
        alone.flush();
        alone.land(first);
        assert_eq!((alone.placing_lpns(), alone.answered().len()), (vec![vec![3]], 2), "both flushes wait");
        let second = alone.placing[0];
        alone.land(second);
        assert_eq!(alone.answered()[2..], [(1, false), (3, false)]);
    }

    /// Catches a forced write that is answered from a volatile buffer, and one that is answered once the first of
    /// its pages is durable.
    #[test]
    fn a_forced_write_is_answered_when_all_its_pages_are_durable() {
        let mut alone = HostAlone::<Tag>::new("raid5", BufferKind::Volatile);
        alone.arrive(HostOp::Write(Fua::Yes), 2 * SECTORS..6 * SECTORS);
        assert_eq!(alone.placing_lpns(), [[2, 3], [4, 5]]);
        let jobs = alone.placing.clone();
        alone.land(jobs[1]);
        assert!(alone.answered().is_empty());
        alone.land(jobs[0]);
        assert_eq!(alone.answered(), [(0, false)]);
    }

    /// Catches an eviction that writes a discarded page, which would come back, and one that forgets the others.
    #[test]
    fn a_page_that_is_discarded_while_its_eviction_waits_is_not_written() {
        let mut alone = rows(BufferKind::Volatile);
        alone.write_each(3..6);
        alone.flush();
        let eviction = alone.placing[0];
        let discard = alone.discard(4..5);
        assert_eq!(alone.placing, [eviction, discard]);
        alone.host.discard_page(&mut alone.core, discard, Lpn(4));
        alone.land(discard);
        assert!(alone.host.was_discarded(&alone.core, eviction, Lpn(4)));
        alone.host.drop_discarded(&mut alone.core, eviction);
        assert_eq!(alone.lpns(eviction), [3, 5]);
        assert!(alone.host.oracle.floor(Lpn(4)).discarded && alone.host.buffer.get(Lpn(4)).is_none());
        alone.land(eviction);
        assert_eq!(alone.answered().last(), Some(&(3, false)), "the flush");
        assert_eq!(alone.host.buffer.taken_slots(), 0);
    }

    /// Catches a page that leaves while its discard waits, and one that never leaves after the discard failed.
    #[test]
    fn a_page_whose_discard_waits_stays_in_the_buffer() {
        let mut alone = plain(BufferKind::Volatile);
        alone.write(4..5);
        let discard = alone.discard(4..5);
        alone.host.stall(&mut alone.core, discard);
        alone.flush();
        assert_eq!((alone.placing_lpns(), alone.answered().len()), (vec![vec![4]], 1), "only the discard is under way");
        alone.fail(discard);
        assert_eq!(alone.answered()[1..], [(2, true), (1, true)], "the flush would have waited for ever");
        alone.flush();
        assert_eq!(alone.placing_lpns(), [[4]]);
    }

    /// Catches a buffer that forgets what flash did not take, one that tries for ever where there is no room, and a
    /// flush that says all is well.
    #[test]
    fn pages_that_found_no_room_stay_in_the_buffer() {
        let mut alone = rows(BufferKind::Volatile);
        alone.write_each(0..3);
        alone.flush();
        let eviction = alone.placing[0];
        alone.fail(eviction);
        assert_eq!((alone.answered().last(), alone.placing.len()), (Some(&(3, true)), 0));
        assert_eq!((alone.host.buffer.taken_slots(), alone.host.buffer.dirty_pages()), (3, 3));
    }

    /// Catches a failed eviction that is not tried again although someone waits for its pages.
    #[test]
    fn pages_that_flash_did_not_take_leave_again_where_somebody_waits() {
        let mut alone = plain(BufferKind::Volatile);
        alone.write(2..3);
        alone.flush();
        let eviction = alone.placing[0];
        alone.core.jobs[eviction].failed = true;
        alone.land(eviction);
        assert_eq!((alone.placing_lpns(), alone.answered().len()), (vec![vec![2]], 1));
    }

    /// Catches a waiting request that stays although its room will never come.
    #[test]
    fn whoever_waits_first_for_room_can_be_failed() {
        let mut alone = plain(BufferKind::Plp);
        alone.write_each(0..16);
        alone.write_each(20..22);
        alone.host.fail_buffer_waiter(&mut alone.core);
        alone.hand_on();
        assert_eq!(alone.answered()[16..], [(16, true)]);
        assert!(alone.host.has_waiting_for_buffer(), "the second waits");
    }
}
