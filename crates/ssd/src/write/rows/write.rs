//! Writing a row: the scheme says what comes next, this file puts it there and sums the parity.

use crate::core::flash::FlashPayload;
use crate::core::owner::{Holds, Owner};
use crate::core::{Core, data_of, oob_covering};
use crate::rules::SafetyRule;
use crate::write::group_log::{Feed, Placed, write_pointer_of};
use crate::write::moves::Moves;
use crate::write::rows::Rows;
use device::image::Contents;
use device::slab::{ImageId, JobId};
use ftl::{RowPlace, Stream};
use nand::{Member, OobTag};
use protect::{OpenRow, RowStep};
use vocab::{Cause, DieId, StripSet, StripeId};

impl<P: FlashPayload> Rows<P> {
    /// Hands the job's pages to rows, until a row ends.
    pub fn place(&mut self, core: &mut Core<P>, job: JobId) -> Placed {
        loop {
            let left = core.jobs[job].pages.len() - core.jobs[job].next;
            if self.open[0].places.is_empty() && left == 0 {
                return Placed::All;
            }
            let has_row =
                if self.open[0].places.is_empty() { self.open_row(core, Stream::Host) } else { !self.is_kept_for_moves(core) };
            if !has_row {
                core.collect_if_short(0);
                return Placed::NoRoom;
            }
            let waiting = (left as u32).div_ceil(core.device.grid.slots_per_page());
            match self.next_step(0, waiting) {
                RowStep::Data => self.put_host_data(core, job),
                RowStep::Parity => self.put_parity(core, 0),
                RowStep::NextRow => {
                    self.end_row(core, Stream::Host);
                    return Placed::Again;
                }
                RowStep::Wait => return Placed::All,
            }
        }
    }

    /// Writes moved pages to rows, until a row ends.
    pub fn place_moves(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, feed: Feed) -> Placed {
        let write_pointer = write_pointer_of(&core.map, Stream::Gc);
        loop {
            let waiting = moves.pages_to_write(&core.map, core.device.grid.slots_per_page(), feed);
            let row = &self.open[write_pointer];
            let is_open = !row.places.is_empty();
            let last_is_free = is_open && row.used + 1 >= row.places.len() as u32;
            if waiting == 0 && !last_is_free {
                break;
            }
            if !is_open && !self.open_row(core, Stream::Gc) {
                // Only possible with many bad blocks: the pages wait for the next erase.
                return Placed::NoRoom;
            }
            match self.next_step(write_pointer, waiting) {
                RowStep::Data => self.put_moved_data(core, moves, write_pointer),
                RowStep::Parity => self.put_parity(core, write_pointer),
                RowStep::NextRow => {
                    self.end_row(core, Stream::Gc);
                    return Placed::Again;
                }
                RowStep::Wait => break,
            }
        }
        if feed == Feed::All && self.open[write_pointer].waits_for_parity() {
            self.put_parity(core, write_pointer);
        }
        Placed::All
    }

    /// Gives every open row the parity that it still waits for. True if there was any.
    pub fn cover_open_rows(&mut self, core: &mut Core<P>) -> bool {
        let waiting: Vec<usize> = (0..2).filter(|&write_pointer| self.open[write_pointer].waits_for_parity()).collect();
        waiting.iter().for_each(|&write_pointer| self.put_parity(core, write_pointer));
        !waiting.is_empty()
    }

    /// Ends the row that the stream writes, with parity over all its data; only a row of `superblock`, if one is
    /// given. A row that lost a page takes no more data: they would have no protection from the start.
    pub fn end_open_row(&mut self, core: &mut Core<P>, stream: Stream, superblock: Option<u32>) {
        let write_pointer = write_pointer_of(&core.map, stream);
        let Some(place) = self.open[write_pointer].places.first() else { return };
        if superblock.is_none_or(|superblock| core.map.rows().superblock_of(place.row).0 == superblock) {
            if self.open[write_pointer].waits_for_parity() {
                self.put_parity(core, write_pointer);
            }
            self.end_row(core, stream);
        }
    }

    /// The die takes no further page of the row that a write pointer writes; only of a row of `superblock`, if one is
    /// given: then it was but a block that failed, and else the die.
    pub fn narrow(
        &mut self,
        core: &mut Core<P>,
        moves: &mut Moves<P>,
        write_pointer: usize,
        die: DieId,
        superblock: Option<u32>,
    ) {
        let row = &mut self.open[write_pointer];
        let is_meant = |row: u32| superblock.is_none_or(|superblock| core.map.rows().superblock_of(row).0 == superblock);
        if row.places.first().is_none_or(|place| !is_meant(place.row)) {
            return;
        }
        let used = row.used as usize;
        let mut index = 0;
        row.places.retain(|place| {
            index += 1;
            index <= used || place.die != die
        });
        if row.uncovered == 0 || used < row.places.len() {
            return;
        }
        // The only page left was that of the die. The row's data, all on other dies, stay without parity. The
        // one loss that the scheme covers has just happened, unless it was but a block.
        let cover = row.cover.take().expect("data without parity wait for a cover");
        row.uncovered = 0;
        self.covers[cover].leave_without_parity(row.data, superblock.is_some());
        self.part_of_cover_ended(core, moves, cover);
    }

    /// Whether writes are answered before parity covers them, which no sound drive does.
    fn answers_early(&self, core: &Core<P>) -> bool {
        self.scheme.answers_before_parity() || core.breaks(SafetyRule::Cover)
    }

    fn next_step(&self, write_pointer: usize, waiting: u32) -> RowStep {
        let row = &self.open[write_pointer];
        self.scheme.next(&OpenRow { width: row.places.len() as u32, used: row.used, uncovered: row.uncovered, waiting })
    }

    /// Whether the host must not write to the row that is open though it has pages left: where both streams share a write pointer, the
    /// collector may have begun it in the last free superblock. If a cut undoes what it moved, that superblock is to hold nothing
    /// that is needed.
    fn is_kept_for_moves(&self, core: &Core<P>) -> bool {
        self.open[0].is_for_moves && !core.map.has_room(0, Stream::Host)
    }

    /// Opens a row for the stream, which has none; false if there is no space for one.
    fn open_row(&mut self, core: &mut Core<P>, stream: Stream) -> bool {
        let write_pointer = write_pointer_of(&core.map, stream);
        let is_for_moves = stream == Stream::Gc && !core.map.has_room(0, Stream::Host);
        let (number, width) = loop {
            let Some((superblock, number)) = core.map.open_row(stream) else { return false };
            let number = core.map.rows().row(superblock, number);
            let width = core.map.rows().members_of_row(number).len();
            if width > 0 {
                break (number, width);
            }
            // All blocks of a row beside others are bad.
            core.map.next_row(stream);
        };
        let rotation = self.scheme.rotation(core.map.rows().page_number(number));
        let row = &mut self.open[write_pointer];
        row.places.extend((0..width).map(|used| core.map.rows().place(number, used, rotation)));
        row.sum.clear();
        row.sum.resize(core.device.grid.slots_per_page() as usize, P::default());
        row.members.clear();
        (row.used, row.uncovered, row.data, row.is_for_moves) = (0, 0, StripSet::EMPTY, is_for_moves);
        true
    }

    /// The next page of the row, as an empty image.
    fn next_image(&mut self, core: &mut Core<P>, write_pointer: usize, coverage: StripSet) -> (ImageId, RowPlace) {
        let row = &mut self.open[write_pointer];
        let place = row.places[row.used as usize];
        row.used += 1;
        (core.device.images.open(place.ppn, oob_covering(coverage)), place)
    }

    fn put_host_data(&mut self, core: &mut Core<P>, job: JobId) {
        let cover = self.cover(0);
        let (image, place) = self.next_image(core, 0, StripSet::EMPTY);
        if core.jobs[job].cover != Some(cover) && !self.answers_early(core) {
            core.jobs[job].cover = Some(cover);
            core.jobs[job].remaining += 1;
            self.covers[cover].jobs.push(job);
        }
        while !core.device.images.is_full(image) {
            let next = core.jobs[job].next;
            let Some(page) = core.jobs[job].pages.get(next) else { break };
            let (lpn, payload) = (page.lpn, page.payload.clone());
            core.jobs[job].next += 1;
            let contents = Contents { tag: OobTag::data(lpn), payload, update: core.rank_for(job, next) };
            self.put_slot(core, 0, image, contents);
        }
        let cause = core.jobs[job].cause();
        self.send_data(core, 0, image, place, Holds::Data, cause);
    }

    fn put_moved_data(&mut self, core: &mut Core<P>, moves: &mut Moves<P>, write_pointer: usize) {
        self.cover(write_pointer);
        let (image, place) = self.next_image(core, write_pointer, StripSet::EMPTY);
        while !core.device.images.is_full(image) {
            let Some(page) = moves.queue.pop_front() else { break };
            self.put_slot(core, write_pointer, image, page.contents);
        }
        let cause = core.moving[0].cause;
        self.send_data(core, write_pointer, image, place, Holds::MovedData, cause);
    }

    /// Adds a page to a row's image: to the map, to the parity sum and to the image.
    fn put_slot(&mut self, core: &mut Core<P>, write_pointer: usize, image: ImageId, contents: Contents<P>) {
        let index = core.device.images.slab[image].filled;
        let slot = core.next_slot_of(image);
        let lpn = data_of(contents.tag).expect("rows hold host data and parity");
        let published = core.map.publish(lpn, slot);
        let row = &mut self.open[write_pointer];
        self.covers[row.cover.expect("it was begun before")].pins.extend(published.pinned);
        // Members stay in flash until the superblock is erased, and their parity with it.
        row.sum[index as usize].add_member(&contents.payload);
        if core.is_mountable() {
            row.members.push(Member { slot, tag: contents.tag, update: contents.update });
        }
        core.device.images.fill(image, contents, None, None);
    }

    /// Queues the program of a data page.
    fn send_data(
        &mut self,
        core: &mut Core<P>,
        write_pointer: usize,
        image: ImageId,
        place: RowPlace,
        holds: Holds,
        cause: Cause,
    ) {
        let row = &mut self.open[write_pointer];
        let cover = row.cover.expect("it was begun before");
        row.uncovered += 1;
        row.data.insert(u32::from(place.die.0));
        self.covers[cover].wait_for_program();
        core.moving[0].under_way += u32::from(holds == Holds::MovedData);
        core.submit_program(image, Owner::Cover { cover, holds }, cause);
    }

    /// Writes the parity of all data of the row so far.
    fn put_parity(&mut self, core: &mut Core<P>, write_pointer: usize) {
        let cover = self.cover(write_pointer);
        let data = self.open[write_pointer].data;
        let (image, place) = self.next_image(core, write_pointer, data);
        let row = &mut self.open[write_pointer];
        let (tag, update) = (OobTag::parity(StripeId(place.row)), core.device.next_rank());
        for payload in row.sum.clone() {
            core.device.images.fill(image, Contents { tag, payload, update }, None, None);
        }
        if core.is_mountable() {
            core.device.images.set_members(image, row.members.clone());
        }
        row.uncovered = 0;
        row.cover = None;
        row.before = Some(cover);
        self.covers[cover].parity_is_sent(data, place.die);
        core.submit_program(image, Owner::Cover { cover, holds: Holds::Parity }, Cause::Parity);
    }

    /// Ends the row. Pages left over are programmed empty: a block takes its pages in order.
    fn end_row(&mut self, core: &mut Core<P>, stream: Stream) {
        let write_pointer = write_pointer_of(&core.map, stream);
        while self.open[write_pointer].has_room() {
            let (image, _) = self.next_image(core, write_pointer, StripSet::EMPTY);
            core.submit_program(image, Owner::NoOne, Cause::Padding);
        }
        self.open[write_pointer].places.clear();
        self.open[write_pointer].before = None;
        core.map.next_row(stream);
        core.collect_if_short(0);
    }
}
