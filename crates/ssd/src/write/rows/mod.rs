//! Writing rows of the group log: the scheme says what comes next, this file puts it there,
//! sums the parity and knows what waits for it.

pub(crate) mod loss;
pub(crate) mod mount;

use crate::core::owner::Owner;
use crate::core::rules::SafetyRule;
use crate::core::{data_of, oob_covering};
use crate::engine::Engine;
use crate::write::rescue::Hurt;
use crate::write::rows::loss::Bare;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::{Id, NONE, Slab};
use ftl::{RowPlace, Stream};
use nand::{FlashArray, Member, OobTag};
use protect::{OpenRow, Protection, RowStep};
use vocab::{Cause, DieId, Lpn, StripSet, StripeId};

/// The row that a stream writes.
#[derive(Clone, Debug)]
pub(crate) struct RowWriter<P> {
    /// Places of the row in writing order; empty: no row is open.
    places: Vec<RowPlace>,
    used: u32,
    uncovered: u32,
    /// Sum of all data of the row.
    sum: Vec<P>,
    /// Dies of the row that hold data.
    data: StripSet,
    /// What the sum is of, on a drive that is to be mounted.
    members: Vec<Member>,
    /// What waits for the row's next parity.
    cover: Id,
    /// The cover before it, unless that is done.
    before: Id,
}

impl<P> Default for RowWriter<P> {
    fn default() -> Self {
        let (sum, members) = (Vec::new(), Vec::new());
        Self { places: Vec::new(), used: 0, uncovered: 0, sum, members, data: StripSet::EMPTY, cover: NONE, before: NONE }
    }
}

/// Rows being written.
#[derive(Clone, Debug)]
pub(crate) struct Rows<P> {
    /// One for the host, and one for the collector where that has a frontier of its own.
    pub open: [RowWriter<P>; 2],
    pub covers: Slab<Cover>,
    /// What waits for its rows to be covered after all.
    pub bare: Vec<Bare>,
}

impl<P> Default for Rows<P> {
    fn default() -> Self {
        Self { open: [RowWriter::default(), RowWriter::default()], covers: Slab::default(), bare: Vec::new() }
    }
}

/// Data pages that one parity covers first: done when all of them and the parity are durable, and so
/// are all data of the row before them, which the parity sums as well (I10).
#[derive(Clone, Debug)]
pub(crate) struct Cover {
    /// Programs under way, one more until the parity is queued, and one for the cover before.
    remaining: u32,
    /// The cover of the same row that waits for this one.
    next: Id,
    jobs: Vec<Id>,
    pins: Vec<u32>,
    row: u32,
    covered: StripSet,
    parity: Option<DieId>,
    /// Whether the parity went to a bad block of a living die, or found no other.
    bare: bool,
    /// Pages whose program failed and that go to another row.
    rescued: Vec<Lpn>,
}

impl Default for Cover {
    fn default() -> Self {
        let (jobs, pins, covered) = (Vec::new(), Vec::new(), StripSet::EMPTY);
        Self { remaining: 0, next: NONE, jobs, pins, row: 0, covered, parity: None, bare: false, rescued: Vec::new() }
    }
}

impl<P> RowWriter<P> {
    /// Whether this is the row being written.
    pub fn writes(&self, row: u32) -> bool {
        self.places.first().is_some_and(|place| place.row == row)
    }

    pub fn waits_for_parity(&self) -> bool {
        self.uncovered > 0
    }

    pub fn has_room(&self) -> bool {
        (self.used as usize) < self.places.len()
    }

    /// All data of the row need another parity.
    pub fn uncover(&mut self) {
        self.uncovered = self.data.len();
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn writer(&self, stream: Stream) -> usize {
        usize::from(stream == Stream::Gc && self.core.map.separates_frontiers())
    }

    /// Hands the job's pages to rows; false if it has to wait for space.
    pub(crate) fn place_in_rows(&mut self, job: Id) -> bool {
        loop {
            let left = self.core.jobs[job].pages.len() - self.core.jobs[job].next;
            let row = &self.writer.rows.open[0];
            if row.places.is_empty() && left == 0 {
                return true;
            }
            if !self.open_row(Stream::Host) {
                self.start_collecting_if_short(0);
                return false;
            }
            let waiting = (left as u32).div_ceil(self.core.device.grid.slots_per_page());
            match self.next_step(0, waiting) {
                RowStep::Data => self.put_host_data(job),
                RowStep::Parity => self.put_parity(0),
                RowStep::NextRow => self.end_row(Stream::Host),
                RowStep::Wait => return true,
            }
        }
    }

    /// Whether writes are answered before parity covers them: what no sound drive does.
    fn is_hasty(&self) -> bool {
        let hasty = matches!(&self.writer.protection, Protection::Rows(scheme) if scheme.answers_before_parity());
        hasty || self.core.breaks(SafetyRule::Cover)
    }

    fn next_step(&self, writer: usize, waiting: u32) -> RowStep {
        let Protection::Rows(scheme) = &self.writer.protection else { unreachable!("rows belong to row schemes") };
        let row = &self.writer.rows.open[writer];
        scheme.next(&OpenRow { width: row.places.len() as u32, used: row.used, uncovered: row.uncovered, waiting })
    }

    /// Makes sure the stream has an open row; false if there is no space for one.
    fn open_row(&mut self, stream: Stream) -> bool {
        let writer = self.writer(stream);
        if !self.writer.rows.open[writer].places.is_empty() {
            return true;
        }
        let Some((superblock, page)) = self.core.map.open_row(stream) else { return false };
        let Protection::Rows(scheme) = &self.writer.protection else { unreachable!("rows belong to row schemes") };
        let rotation = scheme.rotation(page);
        let width = self.core.map.rows().members(superblock).len();
        let slots = self.core.device.grid.slots_per_page() as usize;
        let row = &mut self.writer.rows.open[writer];
        row.places.extend((0..width).map(|used| self.core.map.rows().place(superblock, page, used, rotation)));
        row.sum.clear();
        row.sum.resize(slots, P::default());
        row.members.clear();
        (row.used, row.uncovered, row.data) = (0, 0, StripSet::EMPTY);
        true
    }

    /// The next page of the row, as an empty image.
    fn next_image(&mut self, writer: usize, coverage: u32) -> (Id, RowPlace) {
        let oob = oob_covering(coverage);
        let row = &mut self.writer.rows.open[writer];
        let place = row.places[row.used as usize];
        row.used += 1;
        (self.core.device.images.open(place.ppn, oob), place)
    }

    /// What the next parity of the row will complete.
    pub(crate) fn cover(&mut self, writer: usize) -> Id {
        if self.writer.rows.open[writer].cover == NONE {
            let id = self.writer.rows.covers.take();
            let cover = &mut self.writer.rows.covers[id];
            (cover.remaining, cover.covered, cover.parity, cover.bare) = (1, StripSet::EMPTY, None, false);
            (cover.row, cover.next) = (self.writer.rows.open[writer].places[0].row, NONE);
            cover.jobs.clear();
            cover.pins.clear();
            self.writer.rows.open[writer].cover = id;
            let before = self.writer.rows.open[writer].before;
            if before != NONE {
                self.writer.rows.covers[before].next = id;
                self.writer.rows.covers[id].remaining += 1;
            }
        }
        self.writer.rows.open[writer].cover
    }

    fn put_host_data(&mut self, job: Id) {
        let cover = self.cover(0);
        let (image, place) = self.next_image(0, 0);
        if self.core.jobs[job].cover != cover && !self.is_hasty() {
            self.core.jobs[job].cover = cover;
            self.core.jobs[job].remaining += 1;
            self.writer.rows.covers[cover].jobs.push(job);
        }
        while !self.core.device.images.is_full(image) {
            let Some(page) = self.core.jobs[job].pages.get(self.core.jobs[job].next) else { break };
            let (lpn, payload) = (page.lpn, page.payload.clone());
            self.core.jobs[job].next += 1;
            let contents = Contents { tag: OobTag::data(lpn), payload, update: self.core.device.next_rank() };
            self.put_slot(0, image, contents);
        }
        self.data_page_done_filling(0, image, place, Cause::Host);
    }

    /// Adds a page to a row's image: in the map, in the parity sum, in the image.
    fn put_slot(&mut self, writer: usize, image: Id, contents: Contents<P>) {
        let index = self.core.device.images.slab[image].filled;
        let slot = self.core.device.grid.slot(self.core.device.images.slab[image].ppn, index);
        let lpn = data_of(contents.tag).expect("rows hold host data and parity");
        let published = self.core.map.publish(lpn, slot);
        let cover = self.cover(writer);
        self.writer.rows.covers[cover].pins.extend(published.pinned);
        self.writer.rows.open[writer].sum[index as usize].add(&contents.payload);
        if self.core.is_mountable() {
            self.writer.rows.open[writer].members.push(Member { slot, tag: contents.tag, update: contents.update });
        }
        self.core.device.images.fill(image, contents, NONE, NONE);
    }

    fn data_page_done_filling(&mut self, writer: usize, image: Id, place: RowPlace, cause: Cause) {
        let cover = self.cover(writer);
        let row = &mut self.writer.rows.open[writer];
        row.uncovered += 1;
        row.data.insert(u32::from(place.die.0));
        self.writer.rows.covers[cover].remaining += 1;
        if cause != Cause::Host {
            self.core.moving[0].under_way += 1;
        }
        self.core.submit_program(image, Owner::Cover { cover, parity: false }, cause);
    }

    /// Writes the parity of all data of the row so far.
    fn put_parity(&mut self, writer: usize) {
        let cover = self.cover(writer);
        let data = self.writer.rows.open[writer].data;
        let (image, place) = self.next_image(writer, data.0 as u32);
        let sum = self.writer.rows.open[writer].sum.clone();
        let (tag, update) = (OobTag::parity(StripeId(place.row)), self.core.device.next_rank());
        for payload in sum {
            self.core.device.images.fill(image, Contents { tag, payload, update }, NONE, NONE);
        }
        if self.core.is_mountable() {
            self.core.device.images.set_members(image, self.writer.rows.open[writer].members.clone());
        }
        self.writer.rows.open[writer].uncovered = 0;
        self.writer.rows.open[writer].cover = NONE;
        self.writer.rows.open[writer].before = cover;
        // The slot that `remaining` held for the parity becomes the parity's own program.
        self.writer.rows.covers[cover].covered = data;
        self.writer.rows.covers[cover].parity = Some(place.die);
        self.core.submit_program(image, Owner::Cover { cover, parity: true }, Cause::Parity);
    }

    /// Ends the row. Pages left over are programmed empty: a block takes its pages in order.
    fn end_row(&mut self, stream: Stream) {
        let writer = self.writer(stream);
        while (self.writer.rows.open[writer].used as usize) < self.writer.rows.open[writer].places.len() {
            let (image, _) = self.next_image(writer, 0);
            self.core.submit_program(image, Owner::Nobody, Cause::Parity);
        }
        self.writer.rows.open[writer].places.clear();
        self.writer.rows.open[writer].before = NONE;
        self.core.map.next_row(stream);
        self.start_collecting_if_short(0);
    }

    /// Writes moved pages to rows; with `all`, down to the last and with their parity.
    pub(crate) fn feed_moves(&mut self, all: bool) {
        if self.has_groups() {
            self.feed_group_moves(all);
            return;
        }
        let writer = self.writer(Stream::Gc);
        let slots = self.core.device.grid.slots_per_page() as usize;
        loop {
            self.writer.moves.retain(|page| self.core.map.is_valid(page.from));
            let waiting = if all { self.writer.moves.len().div_ceil(slots) } else { self.writer.moves.len() / slots };
            let row = &self.writer.rows.open[writer];
            let last_is_free = !row.places.is_empty() && row.used + 1 >= row.places.len() as u32;
            if waiting == 0 && !last_is_free {
                break;
            }
            if !self.open_row(Stream::Gc) {
                // Only possible with many bad blocks: go on after the next erase.
                return;
            }
            match self.next_step(writer, waiting as u32) {
                RowStep::Data => self.put_moved_data(writer),
                RowStep::Parity => self.put_parity(writer),
                RowStep::NextRow => self.end_row(Stream::Gc),
                RowStep::Wait => break,
            }
        }
        if all && self.writer.rows.open[writer].uncovered > 0 {
            self.put_parity(writer);
        }
    }

    fn put_moved_data(&mut self, writer: usize) {
        self.cover(writer);
        let (image, place) = self.next_image(writer, 0);
        while !self.core.device.images.is_full(image) {
            let Some(page) = self.writer.moves.pop_front() else { break };
            self.put_slot(writer, image, page.contents);
        }
        let cause = self.core.moving[0].cause;
        self.data_page_done_filling(writer, image, place, cause);
    }

    /// Gives every open row the parity it still waits for. True if there was any.
    pub(crate) fn cover_open_rows(&mut self) -> bool {
        let open: Vec<usize> = (0..2).filter(|&w| self.writer.rows.open[w].uncovered > 0).collect();
        for &writer in &open {
            self.put_parity(writer);
        }
        !open.is_empty()
    }

    /// A page of a row is programmed, or lost with its die.
    pub(crate) fn cover_program_done(&mut self, image: Id, cover: Id, parity: bool, moved: bool, done: bool) {
        if moved {
            self.core.moving[0].under_way -= 1;
        }
        if !done {
            // Data lost in flight are part of the row's parity: the map keeps their place and a
            // read solves for them. A lost parity covers nothing.
            let ppn = self.core.device.images.slab[image].ppn;
            self.core.device.note_failed(image);
            let rescued = self.rescue(image);
            self.writer.rows.covers[cover].rescued.extend(rescued);
            if parity {
                self.writer.rows.covers[cover].parity = None;
                // With the die, the one loss that the scheme covers has just happened.
                if self.core.device.array.answers(ppn) {
                    self.writer.rows.covers[cover].bare = true;
                    self.uncover_row(self.writer.rows.covers[cover].row);
                }
            }
        }
        self.writer.rows.covers[cover].remaining -= 1;
        if self.writer.rows.covers[cover].remaining == 0 {
            self.cover_done(cover);
        }
        if moved {
            self.collect(0);
        }
    }

    fn cover_done(&mut self, id: Id) {
        let cover = &mut self.writer.rows.covers[id];
        let (jobs, pins) = (std::mem::take(&mut cover.jobs), std::mem::take(&mut cover.pins));
        let (row, covered, parity, bare) = (cover.row, cover.covered, cover.parity, cover.bare);
        // A job with pages still to be placed waits for the next cover, be it of the same identity.
        jobs.iter().for_each(|&job| self.core.jobs[job].cover = NONE);
        if let Some(die) = parity {
            self.core.map.rows_mut().cover(row, covered, die);
            self.settle_hurt();
        }
        let rescued = std::mem::take(&mut self.writer.rows.covers[id].rescued);
        if !rescued.is_empty() {
            let waiting = if bare { Vec::new() } else { jobs.clone() };
            self.writer.rescue.hurt.push(Hurt { lpns: rescued.clone(), pins: pins.clone(), jobs: waiting });
            if bare {
                self.leave_bare(row, covered, &jobs, rescued);
            }
            self.settle_hurt();
        } else if bare {
            // Also here the pins go: the collector that moves the data may wait for one.
            pins.iter().for_each(|&unit| self.release(unit));
            self.leave_bare(row, covered, &jobs, Vec::new());
        } else {
            pins.iter().for_each(|&unit| self.release(unit));
            jobs.iter().for_each(|&job| self.part_done(job));
            self.settle_hurt();
        }
        // Hand the buffers back for the next cover.
        (self.writer.rows.covers[id].jobs, self.writer.rows.covers[id].pins) = (jobs, pins);
        self.writer.rows.covers.give(id);
        self.core.retry |= !self.reads.uncovered_repairs.is_empty();
        self.writer.rows.open.iter_mut().filter(|row| row.before == id).for_each(|row| row.before = NONE);
        let next = std::mem::replace(&mut self.writer.rows.covers[id].next, NONE);
        if next != NONE {
            self.writer.rows.covers[next].remaining -= 1;
            if self.writer.rows.covers[next].remaining == 0 {
                self.cover_done(next);
            }
        }
    }

    /// A die takes part in no open row from now on.
    pub(crate) fn drop_die_from_rows(&mut self, die: DieId) {
        self.core.map.retire_die(die);
        self.narrow_open_rows(die, None);
        self.end_rows_of(None);
    }

    /// The die takes no further page of the open rows: of all, or of those of one superblock.
    pub(crate) fn narrow_open_rows(&mut self, die: DieId, superblock: Option<u32>) {
        if self.has_groups() {
            if superblock.is_none() {
                self.core.map.rows_mut().keep_out(die);
            }
            self.settle_group_space();
            if superblock.is_none() {
                self.end_groups_on(die);
            }
            return;
        }
        for writer in 0..2 {
            let row = &mut self.writer.rows.open[writer];
            let first_row = superblock.map(|unit| unit * self.core.device.grid.pages_per_block());
            let is_meant =
                |row: u32| first_row.is_none_or(|first| (first..first + self.core.device.grid.pages_per_block()).contains(&row));
            if row.places.first().is_none_or(|place| !is_meant(place.row)) {
                continue;
            }
            let used = row.used as usize;
            let mut index = 0;
            row.places.retain(|place| {
                index += 1;
                index <= used || place.die != die
            });
            // The only page left was the dead die's: its data, all on other dies, stay without
            // parity. The one loss that the scheme covers has just happened, unless it was but a
            // block.
            if row.uncovered > 0 && used == row.places.len() {
                let cover = std::mem::replace(&mut row.cover, NONE);
                row.uncovered = 0;
                (self.writer.rows.covers[cover].covered, self.writer.rows.covers[cover].bare) = (row.data, superblock.is_some());
                self.writer.rows.covers[cover].remaining -= 1;
                if self.writer.rows.covers[cover].remaining == 0 {
                    self.cover_done(cover);
                }
            }
        }
    }

    /// Whether a stream writes the row now.
    pub(crate) fn is_open_row(&self, row: u32) -> bool {
        self.writer.rows.open.iter().any(|writer| writer.writes(row))
    }

    /// Ends open rows, all or those of one superblock, with parity over all their data. A row
    /// that lost a page takes no more data: they would be born without protection.
    pub(crate) fn end_rows_of(&mut self, superblock: Option<u32>) {
        if self.has_groups() {
            // What a dead die ends, `end_groups_on` decides.
            if let Some(group) = superblock {
                self.abandon_group(group);
            }
            return;
        }
        for stream in [Stream::Host, Stream::Gc] {
            let writer = self.writer(stream);
            let Some(place) = self.writer.rows.open[writer].places.first() else { continue };
            if superblock.is_none_or(|superblock| place.row / self.core.device.grid.pages_per_block() == superblock) {
                if self.writer.rows.open[writer].uncovered > 0 {
                    self.put_parity(writer);
                }
                self.end_row(stream);
            }
        }
    }
}
