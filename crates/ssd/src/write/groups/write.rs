//! Writing data pages of block groups: to the map, to the sums, to flash.

use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::core::{Core, data_of, oob_covering};
use crate::write::group_log::{Feed, Placed, write_pointer_of};
use crate::write::groups::{CodewordKey, Groups, Layout, OpenSums, row_of_group};
use crate::write::moves::Moves;
use device::image::Contents;
use device::slab::{ImageId, JobId};
use ftl::Stream;
use nand::{Member, OobTag};
use protect::Strip;
use std::sync::Arc;
use vocab::{Cause, Grid, StripSet, SuperblockId};

/// A page of a group: strip `position` of page stripe `page`. It has what its layout says of it, and not the layout: that is
/// shared, and one more or less to share it is written to memory that other drives' threads may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripPage {
    pub group: SuperblockId,
    /// Index in [`Groups::codes`].
    pub code: usize,
    pub page: u32,
    pub position: u32,
    pub strip: Strip,
}

impl StripPage {
    pub fn new(layout: &Layout, page: u32, position: u32) -> Self {
        Self { group: layout.group, code: layout.code, page, position, strip: layout.stripe.strips[position as usize] }
    }

    /// The codeword that the page is of.
    pub fn key(&self, grid: &Grid) -> CodewordKey {
        (row_of_group(grid, self.group, self.page), self.strip.codeword)
    }
}

/// Whether sums that begin take room in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheRoom {
    /// They take it now.
    Taken,
    /// It was set aside when the group was opened.
    SetAside,
}

impl<P: FlashPayload> Groups<P> {
    /// Hands the job's pages to the host's open group, until a page stripe ends.
    pub fn place(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        while core.jobs[job].next < core.jobs[job].pages.len() {
            if !self.can_put(core, Stream::Host) {
                core.collect_if_short(0);
                return Placed::NoRoom;
            }
            if self.put_host_page(core, job) == Placed::Again {
                return Placed::Again;
            }
        }
        Placed::All
    }

    /// Writes moved pages to the collector's open group, until a page stripe ends.
    pub fn place_moves(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, feed: Feed) -> Placed {
        loop {
            let waiting = moves.pages_to_write(&core.map, core.device.grid.slots_per_page(), feed);
            if waiting == 0 {
                return Placed::All;
            }
            if !self.can_put(core, Stream::Gc) {
                return Placed::NoRoom;
            }
            if self.put_moved_page(core, moves) == Placed::Again {
                return Placed::Again;
            }
        }
    }

    /// Whether the stream has an open group, and the cache takes the sums of its next page.
    fn can_put(&mut self, core: &mut Core<P>, stream: Stream) -> bool {
        let write_pointer = write_pointer_of(&core.map, stream);
        if self.open[write_pointer].is_none() && !self.open_group(core, stream, write_pointer) {
            return false;
        }
        // Where both streams write to one group, the host must leave the collector its room
        // page by page: a page stripe may be half full.
        if core.map.open_row(stream).is_none() {
            return false;
        }
        let open = self.open[write_pointer].as_ref().expect("just opened");
        let parity = self.codes[open.layout.code].0.parity;
        // Nearly always there is room: then no one need know whether it is needed.
        self.used[write_pointer] + parity <= self.room || {
            let strip = StripPage::new(&open.layout, open.page, open.layout.stripe.order[open.next as usize]);
            self.held.contains_key(&strip.key(&core.device.grid))
        }
    }

    /// The write pointer holds this many more pages of sums.
    pub fn hold(&mut self, write_pointer: usize, pages: u32) {
        self.used[write_pointer] += pages;
        let held = self.used.iter().sum();
        self.stats.most_held = self.stats.most_held.max(held);
    }

    /// Begins the sums of a codeword.
    pub fn begin_sums(
        &mut self,
        core: &mut Core<P>,
        key: CodewordKey,
        layout: &Arc<Layout>,
        write_pointer: usize,
        room: CacheRoom,
    ) {
        let parity = self.codes[layout.code].0.parity;
        if room == CacheRoom::Taken {
            self.hold(write_pointer, parity);
        }
        core.map.pin(layout.group.0);
        let sums = OpenSums {
            layout: Arc::clone(layout),
            stream: write_pointer,
            sums: vec![P::default(); (parity * core.device.grid.slots_per_page()) as usize],
            members: Vec::new(),
            data: StripSet::EMPTY,
            missing: layout.stripe.data_of(key.1),
            parities: None,
            stay: false,
            first: self.info[layout.group.index()].expect("an open group").written + 1,
        };
        self.held.insert(key, sums);
    }

    fn put_host_page(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        let (image, strip) = self.next_strip(core, 0);
        while !core.device.images.is_full(image) {
            let next = core.jobs[job].next;
            let Some(page) = core.jobs[job].pages.get(next) else { break };
            let (lpn, payload) = (page.lpn, page.payload.clone());
            core.jobs[job].next += 1;
            core.jobs[job].remaining += 1;
            let contents = Contents { tag: OobTag::data(lpn), payload, update: core.rank_for(job, next) };
            self.put_slot(core, strip, image, contents, Some(job));
        }
        let cause = core.jobs[job].cause();
        self.send_data(core, Stream::Host, strip, image, Holds::Data, cause)
    }

    fn put_moved_page(&mut self, core: &mut Core<P>, moves: &mut Moves<P>) -> Placed {
        let (image, strip) = self.next_strip(core, write_pointer_of(&core.map, Stream::Gc));
        while !core.device.images.is_full(image) {
            let Some(page) = moves.queue.pop_front() else { break };
            self.put_slot(core, strip, image, page.contents, None);
        }
        let cause = core.moving[0].cause;
        self.send_data(core, Stream::Gc, strip, image, Holds::MovedData, cause)
    }

    /// The next data page of the open group, as an empty image.
    fn next_strip(&mut self, core: &mut Core<P>, write_pointer: usize) -> (ImageId, StripPage) {
        let open = self.open[write_pointer].as_ref().expect("an open group");
        let strip = StripPage::new(&open.layout, open.page, open.layout.stripe.order[open.next as usize]);
        let key = strip.key(&core.device.grid);
        if !self.held.contains_key(&key) {
            let layout = Arc::clone(&open.layout);
            self.begin_sums(core, key, &layout, write_pointer, CacheRoom::Taken);
        }
        let ppn = core.map.rows().page(key.0, strip.strip.die);
        (core.device.images.open(ppn, oob_covering(StripSet::EMPTY)), strip)
    }

    /// Adds a page to an image: to the map, to the sums and to the image.
    fn put_slot(&mut self, core: &mut Core<P>, strip: StripPage, image: ImageId, contents: Contents<P>, job: Option<JobId>) {
        let index = core.device.images.slab[image].filled;
        let slot = core.next_slot_of(image);
        let lpn = data_of(contents.tag).expect("groups hold host data and parity");
        let pin = core.map.publish(lpn, slot).pinned;
        let member = Member { slot, tag: contents.tag, update: contents.update };
        self.add_to_sums(core, strip, member, &contents.payload);
        if let Some(blocks) = self.blocks.get_mut(&strip.group.0) {
            let at = blocks.at(&self.codes[strip.code].0, strip.position, strip.page, core.device.grid.slots_per_page());
            blocks.sums[at + index as usize].add(&contents.payload);
            if core.is_mountable() {
                blocks.members.push(member);
            }
        }
        core.device.images.fill(image, contents, job, pin);
    }

    /// Adds one slot of a page to the sums of its codeword.
    pub fn add_to_sums(&mut self, core: &Core<P>, strip: StripPage, member: Member, payload: &P) {
        let index = core.device.grid.page_of(member.slot).1;
        let slots = core.device.grid.slots_per_page() as usize;
        let key = strip.key(&core.device.grid);
        let erasure = &self.codes[strip.code].1;
        let held = self.held.get_mut(&key).expect("sums of a codeword being written");
        for parity in 0..erasure.parity() {
            let c = erasure.coefficient(parity, strip.strip.symbol as usize);
            held.sums[parity * slots + index as usize].add_scaled(payload, c);
        }
        held.data.insert(u32::from(strip.strip.die.0));
        if core.is_mountable() {
            held.members.push(member);
        }
    }

    /// Queues the program of a data page and goes on to the next. Says whether the page stripe has ended.
    fn send_data(
        &mut self,
        core: &mut Core<P>,
        stream: Stream,
        strip: StripPage,
        image: ImageId,
        holds: Holds,
        cause: Cause,
    ) -> Placed {
        let write_pointer = write_pointer_of(&core.map, stream);
        let open = self.open[write_pointer].as_mut().expect("an open group");
        open.next += 1;
        if open.next == open.layout.stripe.data {
            (open.page, open.next) = (open.page + 1, 0);
        }
        let stripe_ends = open.next == 0;
        self.info[strip.group.index()].as_mut().expect("an open group").written += 1;
        self.stats.data_pages += 1;
        core.moving[0].under_way += u32::from(holds == Holds::MovedData);
        submit_strip(core, image, strip, holds, cause);
        let code = self.codes[strip.code].0;
        let last = strip.page + 1 == code.data_stripes(core.device.grid.pages_per_block());
        if last && code.block > 0 {
            // On the same die, behind the last page they are the sums of: nothing has to be waited for.
            let layout = Arc::clone(&self.open[write_pointer].as_ref().expect("an open group").layout);
            let pages = core.device.grid.pages_per_block();
            (pages - code.block..pages)
                .for_each(|page| self.put_block_parity(core, &layout, page, strip.position, write_pointer));
        }
        if !stripe_ends {
            return Placed::All;
        }
        core.map.next_row(stream);
        if last {
            self.open[write_pointer] = None;
            (0..code.block).for_each(|_| core.map.next_row(stream));
        }
        core.collect_if_short(0);
        Placed::Again
    }
}

/// Queues the program of a page of a group.
pub(crate) fn submit_strip<P: FlashPayload>(core: &mut Core<P>, image: ImageId, strip: StripPage, holds: Holds, cause: Cause) {
    let (row, codeword) = strip.key(&core.device.grid);
    core.submit_program(image, Owner::GroupPage { row, codeword: codeword as u8, holds }, cause);
}
