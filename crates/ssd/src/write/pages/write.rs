//! Writing without redundancy: each page goes to the die with the least waiting.

use crate::core::flash::FlashPayload;
use crate::core::jobs::Job;
use crate::core::owner::{Holds, Owner};
use crate::core::{Core, oob_covering};
use crate::write::group_log::Placed;
use crate::write::pages::{HostPage, PageWriter};
use device::facts::StreamWork;
use device::image::Contents;
use device::slab::{ImageId, JobId};
use ftl::{Stream, UnitState};
use nand::OobTag;
use vocab::{Cause, StreamId};

/// Of the pages that are placed, which one's place is looked up before its turn.
const PLACED_AHEAD: usize = 3;

/// Where the next page of the host goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostImage {
    /// Into this image, which was open.
    Open(ImageId),
    /// Into this image, for which a page of the log was taken. The log may be short now.
    Taken(ImageId, usize),
    /// No log has room.
    NoRoom,
}

/// No log has room: those that are short are collected.
pub(crate) fn no_room<P: FlashPayload>(core: &mut Core<P>) -> Placed {
    (0..core.device.dies().len()).for_each(|log| core.collect_if_short(log));
    Placed::NoRoom
}

impl PageWriter {
    /// Puts the job's pages into images of region logs, from where it stopped before. Where a page of a log was taken and the log is
    /// short of space, its collector starts before the job goes on; where no log has room, all that are short are collected.
    #[inline]
    pub fn place<P: FlashPayload>(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        if core.jobs[job].next == 0 {
            // Pages that left a buffer together arrived long ago: the map's entries are no longer in the processor's cache.
            core.jobs[job].pages.iter().skip(1).for_each(|page| core.map.prefetch(page.lpn));
        }
        while core.jobs[job].next < core.jobs[job].pages.len() {
            let job_at = &core.jobs[job];
            if let Some(later) = job_at.pages.get(job_at.next + PLACED_AHEAD) {
                let _ = core.map.prefetch_place(later.lpn);
            }
            let stream = core.stream_wanted(job_at.pages[job_at.next].lpn);
            let (image, taken_of) = match self.host_image(core, stream) {
                HostImage::Open(image) => (image, None),
                HostImage::Taken(image, log) if self.is_all_that_its_unit_holds(core, image) => (image, Some(log)),
                HostImage::Taken(_, log) if core.map.is_short(log) => {
                    core.collect_if_short(log);
                    return Placed::Again;
                }
                HostImage::Taken(image, _) => (image, None),
                HostImage::NoRoom => return no_room(core),
            };
            let update = core.device.next_rank();
            let Job { pages, next, remaining, .. } = &mut core.jobs[job];
            let page = &mut pages[*next];
            page.rank = update;
            *next += 1;
            *remaining += 1;
            let (lpn, payload) = (page.lpn, page.payload.clone());
            let pin = core.map.publish(lpn, core.next_slot_of(image)).pinned;
            core.note_stream(lpn, stream, StreamWork::Written);
            core.device.images.fill(image, Contents { tag: OobTag::data(lpn), payload, update }, Some(job), pin);
            self.send_host_image(core, stream, image);
            if let Some(log) = taken_of.filter(|&log| core.map.is_short(log)) {
                core.collect_if_short(log);
                return Placed::Again;
            }
        }
        Placed::All
    }

    /// Whether the page was the last of a unit that holds nothing else by now. To GC such a unit is garbage until
    /// something is put into the page: it would be erased before that is programmed. A unit in SLC mode may be folded as soon as
    /// it is full, and then the page would be passed over.
    fn is_all_that_its_unit_holds<P: FlashPayload>(&self, core: &Core<P>, image: ImageId) -> bool {
        let block = core.device.block_of(core.device.images.slab[image].ppn);
        let unit = core.map.unit(core.map.unit_of_block(block));
        unit.state == UnitState::Closed && (unit.valid == 0 || unit.slc)
    }

    /// The image the next host page of the stream goes into.
    #[inline(always)]
    pub fn host_image<P: FlashPayload>(&mut self, core: &mut Core<P>, stream: StreamId) -> HostImage {
        if let Some(image) = self.host.of(stream).open {
            core.also_beside(image, stream);
            return HostImage::Open(image);
        }
        let Some(log) = self.next_log(core, stream) else { return HostImage::NoRoom };
        let ppn = core.map.take_page(log, Stream::HostIn(stream)).expect("a log with room has a page");
        let fills = !core.device.latencies.unit.ends_plane_page(core.device.grid.split(ppn).1);
        let image = core.device.images.open(ppn, oob_covering(core.beside_stream(stream)));
        *self.host.of_mut(stream) = HostPage { open: Some(image), log, fills, sent: false };
        HostImage::Taken(image, log)
    }

    /// The log of the next page: that of the last one until the page of its plane is full, so that pages written together are
    /// sensed together; else the one with the least waiting.
    #[inline]
    fn next_log<P: FlashPayload>(&mut self, core: &Core<P>, of: StreamId) -> Option<usize> {
        let HostPage { fills, log, .. } = *self.host.of(of);
        let stream = Stream::HostIn(of);
        if fills && core.map.has_room(log, stream) {
            return Some(log);
        }
        self.least_waiting(core, stream)
    }

    /// The log with room whose die has the least waiting, in turn among equals. Each die has one log.
    #[inline]
    pub fn least_waiting<P: FlashPayload>(&mut self, core: &Core<P>, stream: Stream) -> Option<usize> {
        let backlogs = core.device.backlogs();
        let (before, from_turn) = backlogs.split_at(self.turn);
        let least = backlogs.iter().fold(u32::MAX, |least, &backlog| least.min(backlog));
        let first = |dies: &[u32]| dies.iter().position(|&backlog| backlog == least);
        let first = first(from_turn).map(|at| self.turn + at).or_else(|| first(before))?;
        // That die nearly always has room: then no other need be asked.
        let best = if core.map.has_room(first, stream) { first } else { self.least_waiting_with_room(core, stream)? };
        self.turn = if best + 1 == backlogs.len() { 0 } else { best + 1 };
        Some(best)
    }

    #[cold]
    fn least_waiting_with_room<P: FlashPayload>(&self, core: &Core<P>, stream: Stream) -> Option<usize> {
        let backlogs = core.device.backlogs();
        let in_turn = (self.turn..backlogs.len()).chain(0..self.turn);
        in_turn.filter(|&die| core.map.has_room(die, stream)).min_by_key(|&die| backlogs[die])
    }

    /// Queues the program of the host image: with the first page in it, so that an idle die
    /// takes it up as soon as the request is placed; without time, when it is full.
    #[inline]
    pub fn send_host_image<P: FlashPayload>(&mut self, core: &mut Core<P>, stream: StreamId, image: ImageId) {
        let (page, full) = (self.host.of_mut(stream), core.device.images.is_full(image));
        if !page.sent && (full || core.device.timed) {
            let log = page.log as u16;
            core.submit_program(image, Owner::Page { log, holds: Holds::Data }, Cause::Host);
            page.sent = true;
        }
        if full {
            page.open = None;
        }
    }
}
