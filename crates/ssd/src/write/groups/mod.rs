//! Writing block groups: the scheme says which page of the page stripe comes next and when its
//! parity is due, this file puts pages there and holds the sums until the parity is in flash.
//!
//! The sums lie in a power-safe cache. So a write is answered once its page is in flash (or
//! lost with its die) and summed; an open page stripe waits for data as long as it takes.

pub(crate) mod life;
pub(crate) mod mount;
pub(crate) mod scrub;
pub(crate) mod session;
pub(crate) mod solve;

use crate::core::owner::Owner;
use crate::core::{data_of, oob_covering};
use crate::engine::Engine;
use crate::session::SetupError;
use crate::write::groups::solve::{Rebuilds, TermGather};
use crate::write::rescue::Hurt;
use ::coding::ErasureCode;
use device::contents::HostPayload;
use device::image::Contents;
use device::slab::{Id, NONE, Slab};
use ftl::{Stream, UnitId};
use nand::{FlashArray, Member, OobTag};
use protect::{GroupCode, GroupScheme, PageStripe, Protection};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vocab::{Cause, Ppn, StripSet, StripeId, SuperblockId};

/// What was written to block groups, and how long sums stayed in the parity cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStats {
    /// Groups opened.
    pub opened: u64,
    /// Data pages programmed, of the host or moved.
    pub data_pages: u64,
    /// Parity pages across dies.
    pub parity_pages: u64,
    /// Parity pages at the end of blocks.
    pub block_parity_pages: u64,
    /// Most data page writes to one group from the first that enters a sum across dies to the
    /// one after which its parity is programmed, both counted.
    pub longest_parity_residence: u64,
    /// The same of the sums of blocks.
    pub longest_block_residence: u64,
    /// Most pages of sums held at one time.
    pub most_held: u32,
    /// Closed groups of a code that goes first.
    pub outdated: u32,
    /// Groups collected and erased.
    pub collected: u64,
    /// Of these, groups of a code that went first.
    pub collected_outdated: u64,
}

/// A group and its parity map.
#[derive(Debug)]
pub(crate) struct Layout {
    pub group: SuperblockId,
    /// Index in [`Groups::codes`].
    pub code: usize,
    pub stripe: PageStripe,
}

/// What is kept of every group in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupInfo {
    pub code: usize,
    /// Dies whose blocks belong to it, dead ones included.
    pub members: StripSet,
    /// Data pages written so far.
    pub written: u64,
}

/// The group that a stream writes.
#[derive(Clone, Debug)]
pub(crate) struct OpenGroup {
    pub layout: Arc<Layout>,
    pub page: u32,
    /// Data pages of the page stripe written so far.
    pub next: u32,
}

/// The sums of one codeword of a page stripe, from its first data page until its parity is in
/// flash.
#[derive(Clone, Debug)]
pub(crate) struct Held<P> {
    pub layout: Arc<Layout>,
    pub stream: usize,
    /// Parity by parity, slot by slot.
    pub sums: Vec<P>,
    /// What the sums are of, on a drive that is to be mounted.
    pub members: Vec<Member>,
    /// Dies whose data pages are in the sums.
    pub data: StripSet,
    /// Data pages that are not in flash yet.
    pub missing: u32,
    /// Parity pages under way; `None` before they are due.
    pub parities: Option<u32>,
    /// Which write of the group came first.
    pub first: u64,
}

/// The sums of the blocks of a group with a block code.
#[derive(Clone, Debug)]
pub(crate) struct BlockSums<P> {
    /// Data strip by data strip, slot by slot.
    pub sums: Vec<P>,
    /// What they are sums of, all strips together, on a drive that is to be mounted.
    pub members: Vec<Member>,
    /// Strips whose parity is in flash, or lost.
    pub done: StripSet,
    pub codewords_left: u32,
}

/// A data page of a group whose program was under way: the parity cache has its contents.
#[derive(Clone, Debug)]
pub(crate) struct Redo<P> {
    pub ppn: Ppn,
    /// Row and codeword of its sums.
    pub key: (u32, u32),
    /// Slot by slot.
    pub payload: Vec<P>,
}

/// What the parity cache and the table of groups, both power-safe, keep through a cut.
#[derive(Clone, Debug)]
pub(crate) struct GroupRemains<P> {
    pub codes: Vec<(GroupCode, ErasureCode)>,
    pub first_code: usize,
    pub now: usize,
    pub asked: bool,
    pub info: Vec<Option<GroupInfo>>,
    pub held: BTreeMap<(u32, u32), Held<P>>,
    pub blocks: BTreeMap<u32, BlockSums<P>>,
    pub redo: Vec<Redo<P>>,
}

impl<P> GroupRemains<P> {
    /// The sums are gone, and with them the pages that they were to be corrected by.
    pub fn lose_sums(&mut self) {
        self.held.clear();
        self.blocks.clear();
        self.redo.clear();
    }
}

/// Block groups being written, and the parity cache.
#[derive(Clone, Debug)]
pub(crate) struct Groups<P> {
    /// Every code a group of the drive may have; a group keeps its index.
    pub codes: Vec<(GroupCode, ErasureCode)>,
    /// Where the codes of the scheme begin: those before are of groups older than the scheme.
    pub first_code: usize,
    /// The code of the scheme now in use.
    pub now: usize,
    pub asked: bool,
    pub info: Vec<Option<GroupInfo>>,
    pub open: [Option<OpenGroup>; 2],
    /// By row and codeword.
    pub held: BTreeMap<(u32, u32), Held<P>>,
    /// By group.
    pub blocks: BTreeMap<u32, BlockSums<P>>,
    /// Pages of sums that each stream may hold, and holds.
    pub room: u32,
    pub used: [u32; 2],
    pub migrating: bool,
    /// Pages that a cut met on their way to flash and whose groups are not collected yet.
    pub redo: Vec<Redo<P>>,
    pub stats: GroupStats,
    /// Groups whose sums a cut took: their data have no parity.
    pub bare: BTreeSet<UnitId>,
    pub gathers: Slab<TermGather<P>>,
    pub rebuilds: Rebuilds,
}

impl<P> Held<P> {
    /// Where its pages lie.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.layout)
    }
}

impl<P: HostPayload> Groups<P> {
    /// The parity cache of a drive of `groups` groups; `streams` write to groups of their own.
    ///
    /// # Errors
    /// A cache too small for the open groups, with the least that would do.
    pub fn new(protection: &Protection, groups: u32, streams: u32, name: &str) -> Result<Self, SetupError> {
        let mut codes: Vec<GroupCode> = Vec::new();
        let (mut room, mut sum_time) = (0, vocab::Nanos(0));
        if let Protection::Groups(scheme) = protection {
            codes.extend(scheme.codes());
            room = room_of(&**scheme, streams, name)?;
            sum_time = scheme.sum_time();
        }
        let info = if codes.is_empty() { 0 } else { groups as usize };
        Ok(Self {
            codes: codes.into_iter().map(with_algebra).collect(),
            first_code: 0,
            now: 0,
            asked: false,
            info: vec![None; info],
            open: [None, None],
            held: BTreeMap::new(),
            blocks: BTreeMap::new(),
            room,
            used: [0; 2],
            migrating: false,
            redo: Vec::new(),
            stats: GroupStats::default(),
            bare: BTreeSet::new(),
            gathers: Slab::default(),
            rebuilds: Rebuilds::new(sum_time),
        })
    }

    /// What of it is power-safe.
    pub fn remains(&self, in_flight: Vec<Redo<P>>) -> GroupRemains<P> {
        GroupRemains {
            codes: self.codes.clone(),
            first_code: self.first_code,
            now: self.now,
            asked: self.asked,
            info: self.info.clone(),
            held: self.held.clone(),
            blocks: self.blocks.clone(),
            redo: self.redo.iter().cloned().chain(in_flight).collect(),
        }
    }

    /// Whether parity of the group is not all in flash yet.
    pub fn is_unsettled(&self, group: SuperblockId, rows: std::ops::Range<u32>) -> bool {
        self.blocks.contains_key(&group.0)
            || self.open.iter().flatten().any(|open| open.layout.group == group)
            || self.held.range((rows.start, 0)..(rows.end, 0)).next().is_some()
    }
}

pub(crate) fn with_algebra(code: GroupCode) -> (GroupCode, ErasureCode) {
    (code, ErasureCode::new(code.data as usize, code.parity as usize))
}

/// Pages of sums for each stream.
pub(crate) fn room_of(scheme: &dyn GroupScheme, streams: u32, name: &str) -> Result<u32, SetupError> {
    let most = |f: &dyn Fn(&GroupCode) -> u32| scheme.codes().iter().map(f).max().unwrap_or(0);
    let least = most(&GroupCode::least_held);
    // Enough that page stripes under way on all dies, and a group being closed, stop nobody.
    let plenty = most(&|code| 2 * code.least_held() + 6 * code.codewords * code.parity);
    match scheme.cache_pages() {
        None => Ok(plenty),
        Some(pages) if pages < least * streams => Err(SetupError::new(format!(
            "scheme {name}, parity_cache: found {pages}, valid are {} and more: {streams} open groups hold {least} pages of sums each",
            least * streams
        ))),
        Some(pages) => Ok(pages / streams),
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn group_scheme(&self) -> &dyn GroupScheme {
        let Protection::Groups(scheme) = &self.writer.protection else { unreachable!("groups belong to group schemes") };
        &**scheme
    }

    pub(crate) fn has_groups(&self) -> bool {
        matches!(self.writer.protection, Protection::Groups(_))
    }

    /// Hands the job's pages to the host's open group; false if it has to wait for space, or
    /// for room in the parity cache.
    pub(crate) fn place_in_groups(&mut self, job: Id) -> bool {
        while self.core.jobs[job].next < self.core.jobs[job].pages.len() {
            if !self.can_put(Stream::Host) {
                self.start_collecting_if_short(0);
                return false;
            }
            self.put_host_page(job);
        }
        true
    }

    /// Writes moved pages to the collector's open group; with `all`, down to the last.
    pub(crate) fn feed_group_moves(&mut self, all: bool) {
        let slots = self.core.device.grid.slots_per_page() as usize;
        loop {
            self.writer.moves.retain(|page| self.core.map.is_valid(page.from));
            let waiting = if all { self.writer.moves.len().div_ceil(slots) } else { self.writer.moves.len() / slots };
            if waiting == 0 || !self.can_put(Stream::Gc) {
                return;
            }
            self.put_moved_page();
        }
    }

    /// Whether the stream has an open group, and the cache takes the sums of its next page.
    fn can_put(&mut self, stream: Stream) -> bool {
        let writer = self.writer(stream);
        if self.writer.groups.open[writer].is_none() && !self.open_group(stream, writer) {
            return false;
        }
        // Where both streams write to one group, the host must leave the collector its room
        // page by page: a page stripe may be half full.
        if self.core.map.open_row(stream).is_none() {
            return false;
        }
        let open = self.writer.groups.open[writer].as_ref().expect("just opened");
        let strip = open.layout.stripe.strips[open.layout.stripe.order[open.next as usize] as usize];
        let row = self.row_of_group(open.layout.group, open.page);
        let parity = self.writer.groups.codes[open.layout.code].0.parity;
        self.writer.groups.held.contains_key(&(row, strip.codeword))
            || self.writer.groups.used[writer] + parity <= self.writer.groups.room
    }

    pub(crate) fn row_of_group(&self, group: SuperblockId, page: u32) -> u32 {
        group.0 * self.core.device.grid.pages_per_block() + page
    }

    pub(crate) fn hold(&mut self, writer: usize, pages: u32) {
        self.writer.groups.used[writer] += pages;
        let held = self.writer.groups.used.iter().sum();
        self.writer.groups.stats.most_held = self.writer.groups.stats.most_held.max(held);
    }

    /// The sums of a codeword, empty ones if need be. `room` says whether they take room in the
    /// cache, or have it already.
    fn held(&mut self, layout: &Arc<Layout>, page: u32, codeword: u32, writer: usize, room: bool) {
        let key = (self.row_of_group(layout.group, page), codeword);
        if self.writer.groups.held.contains_key(&key) {
            return;
        }
        let parity = self.writer.groups.codes[layout.code].0.parity;
        if room {
            self.hold(writer, parity);
        }
        self.core.map.pin(layout.group.0);
        let held = Held {
            layout: Arc::clone(layout),
            stream: writer,
            sums: vec![P::default(); (parity * self.core.device.grid.slots_per_page()) as usize],
            members: Vec::new(),
            data: StripSet::EMPTY,
            missing: layout.stripe.data_of(codeword),
            parities: None,
            first: self.writer.groups.info[layout.group.index()].expect("an open group").written + 1,
        };
        self.writer.groups.held.insert(key, held);
    }

    fn put_host_page(&mut self, job: Id) {
        let (image, position) = self.next_strip(0);
        while !self.core.device.images.is_full(image) {
            let Some(page) = self.core.jobs[job].pages.get(self.core.jobs[job].next) else { break };
            let (lpn, payload) = (page.lpn, page.payload.clone());
            self.core.jobs[job].next += 1;
            self.core.jobs[job].remaining += 1;
            let contents = Contents { tag: OobTag::data(lpn), payload, update: self.core.device.next_rank() };
            self.put_in_strip(0, position, image, contents, job);
        }
        self.strip_filled(Stream::Host, position, image, Cause::Host);
    }

    fn put_moved_page(&mut self) {
        let writer = self.writer(Stream::Gc);
        let (image, position) = self.next_strip(writer);
        while !self.core.device.images.is_full(image) {
            let Some(page) = self.writer.moves.pop_front() else { break };
            self.put_in_strip(writer, position, image, page.contents, NONE);
        }
        let cause = self.core.moving[0].cause;
        self.strip_filled(Stream::Gc, position, image, cause);
    }

    /// The next data page of the open group, as an empty image, and its strip.
    fn next_strip(&mut self, writer: usize) -> (Id, u32) {
        let open = self.writer.groups.open[writer].as_ref().expect("an open group");
        let (layout, page) = (Arc::clone(&open.layout), open.page);
        let position = layout.stripe.order[open.next as usize];
        let strip = layout.stripe.strips[position as usize];
        self.held(&layout, page, strip.codeword, writer, true);
        let oob = oob_covering(0);
        let ppn = self.core.map.rows().page(self.row_of_group(layout.group, page), strip.die);
        (self.core.device.images.open(ppn, oob), position)
    }

    /// Adds a page to an image: in the map, in the sums, in the image.
    fn put_in_strip(&mut self, writer: usize, position: u32, image: Id, contents: Contents<P>, job: Id) {
        let index = self.core.device.images.slab[image].filled;
        let slot = self.core.device.grid.slot(self.core.device.images.slab[image].ppn, index);
        let lpn = data_of(contents.tag).expect("groups hold host data and parity");
        let pin = self.core.map.publish(lpn, slot).pinned.unwrap_or(NONE);
        let open = self.writer.groups.open[writer].as_ref().expect("an open group");
        let (layout, page) = (Arc::clone(&open.layout), open.page);
        let member = Member { slot, tag: contents.tag, update: contents.update };
        self.add_to_sums(&layout, page, position, member, &contents.payload);
        if let Some(blocks) = self.writer.groups.blocks.get_mut(&layout.group.0) {
            blocks.sums[(position * self.core.device.grid.slots_per_page() + index) as usize].add(&contents.payload);
            if self.core.is_mountable() {
                blocks.members.push(member);
            }
        }
        self.core.device.images.fill(image, contents, job, pin);
    }

    fn add_to_sums(&mut self, layout: &Layout, page: u32, position: u32, member: Member, payload: &P) {
        let index = self.core.device.grid.page_of(member.slot).1;
        let strip = layout.stripe.strips[position as usize];
        let slots = self.core.device.grid.slots_per_page() as usize;
        let key = (self.row_of_group(layout.group, page), strip.codeword);
        let erasure = &self.writer.groups.codes[layout.code].1;
        let held = self.writer.groups.held.get_mut(&key).expect("sums of a codeword being written");
        for parity in 0..erasure.parity() {
            let c = erasure.coefficient(parity, strip.symbol as usize);
            held.sums[parity * slots + index as usize].add_scaled(payload, c);
        }
        held.data.insert(u32::from(strip.die.0));
        if self.core.is_mountable() {
            held.members.push(member);
        }
    }

    /// Queues the program of a data page and moves on to the next.
    fn strip_filled(&mut self, stream: Stream, position: u32, image: Id, cause: Cause) {
        let writer = self.writer(stream);
        let open = self.writer.groups.open[writer].as_mut().expect("an open group");
        let (layout, page) = (Arc::clone(&open.layout), open.page);
        open.next += 1;
        if open.next == layout.stripe.data {
            (open.page, open.next) = (open.page + 1, 0);
        }
        let stripe_ends = open.next == 0;
        self.writer.groups.info[layout.group.index()].as_mut().expect("an open group").written += 1;
        self.writer.groups.stats.data_pages += 1;
        let moved = cause != Cause::Host;
        self.core.moving[0].under_way += u32::from(moved);
        self.submit_strip(image, &layout, page, position, false, moved, cause);
        let code = self.writer.groups.codes[layout.code].0;
        let last = page + 1 == code.data_stripes(self.core.device.grid.pages_per_block());
        if last && code.block {
            // On the same die, behind the last page it is the sum of: nothing has to be waited for.
            self.put_block_parity(&layout, position, writer);
        }
        if stripe_ends {
            self.core.map.next_row(stream);
            if last {
                self.writer.groups.open[writer] = None;
                (0..u32::from(code.block)).for_each(|_| self.core.map.next_row(stream));
            }
            self.start_collecting_if_short(0);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what a command says about its page")]
    fn submit_strip(&mut self, image: Id, layout: &Layout, page: u32, position: u32, parity: bool, moved: bool, cause: Cause) {
        let codeword = layout.stripe.strips[position as usize].codeword as u8;
        let row = self.row_of_group(layout.group, page);
        self.core.submit_program(image, Owner::GroupPage { row, codeword, parity, moved }, cause);
    }

    /// Writes the sum of a block as its last page, a data page of the last page stripe.
    fn put_block_parity(&mut self, layout: &Arc<Layout>, position: u32, writer: usize) {
        let page = self.core.device.grid.pages_per_block() - 1;
        let strip = layout.stripe.strips[position as usize];
        self.held(layout, page, strip.codeword, writer, false);
        let row = self.row_of_group(layout.group, page);
        let oob = oob_covering(1 << strip.die.0);
        let image = self.core.device.images.open(self.core.map.rows().page(row, strip.die), oob);
        let slots = self.core.device.grid.slots_per_page();
        let (tag, update) = (OobTag::parity(StripeId(row)), self.core.device.next_rank());
        for index in 0..slots {
            let payload = self.writer.groups.blocks[&layout.group.0].sums[(position * slots + index) as usize].clone();
            let slot = self.core.next_slot_of(image);
            self.add_to_sums(layout, page, position, Member { slot, tag, update }, &payload);
            self.core.device.images.fill(image, Contents { tag, payload, update }, NONE, NONE);
        }
        if self.core.is_mountable() {
            let (block, _) = self.core.device.grid.split(self.core.device.images.slab[image].ppn);
            let is_in = |member: &&Member| self.core.device.grid.split(self.core.device.grid.page_of(member.slot).0).0 == block;
            let members = self.writer.groups.blocks[&layout.group.0].members.iter().filter(is_in).copied().collect();
            self.core.device.images.set_members(image, members);
        }
        let written = self.writer.groups.info[layout.group.index()].expect("an open group").written;
        let turn = layout.stripe.order.iter().position(|&p| p == position).expect("a data strip") as u64;
        let stats = &mut self.writer.groups.stats;
        stats.block_parity_pages += 1;
        stats.longest_block_residence = stats.longest_block_residence.max(written - turn);
        self.submit_strip(image, layout, page, position, false, false, Cause::Parity);
    }

    /// A page of a group is programmed, or lost with its die.
    pub(crate) fn strip_program_done(&mut self, image: Id, key: (u32, u32), parity: bool, moved: bool, done: bool) {
        let ppn = self.core.device.images.slab[image].ppn;
        if !done {
            // The sums have it, or will: a read solves for it.
            self.core.device.note_failed(image);
        }
        let rescued = if done { Vec::new() } else { self.rescue(image) };
        let mut hurt = Hurt { lpns: rescued, ..Hurt::default() };
        let is_rescued = !hurt.lpns.is_empty();
        if parity {
            self.parity_in_flash(key);
        } else {
            let lost = !done && self.is_beyond_repair(key);
            for index in 0..self.core.device.images.slab[image].filled {
                let (_, job, pin) = self.core.device.images.slot(image, index);
                if lost {
                    self.lose_program(image, index, moved);
                }
                if is_rescued {
                    hurt.pins.extend((pin != NONE).then_some(pin));
                    hurt.jobs.extend((job != NONE).then_some(job));
                    continue;
                }
                if pin != NONE {
                    self.release(pin);
                }
                if job != NONE {
                    self.core.jobs[job].failed |= lost;
                    self.part_done(job);
                }
            }
            if is_rescued {
                self.writer.rescue.hurt.push(hurt);
            }
            self.settle_hurt();
            self.data_in_flash(key, ppn);
        }
        if moved {
            self.core.moving[0].under_way -= 1;
            self.collect(0);
        }
    }

    /// Whether more strips of the codeword are on dead dies than its code brings back.
    fn is_beyond_repair(&self, key: (u32, u32)) -> bool {
        let layout = &self.writer.groups.held[&key].layout;
        let dead = layout.stripe.strips.iter().filter(|strip| strip.codeword == key.1 && self.core.device.is_dead(strip.die));
        dead.count() as u32 > self.writer.groups.codes[layout.code].0.parity
    }

    fn data_in_flash(&mut self, key: (u32, u32), ppn: vocab::Ppn) {
        let held = self.writer.groups.held.get_mut(&key).expect("sums outlive their data's programs");
        held.missing -= 1;
        let (missing, layout, stream) = (held.missing, Arc::clone(&held.layout), held.stream);
        let (block, page) = self.core.device.grid.split(ppn);
        if page + 1 == self.core.device.grid.pages_per_block()
            && let Some(blocks) = self.writer.groups.blocks.get_mut(&layout.group.0)
        {
            // A block's parity: its sum may leave the cache.
            let strip = layout.stripe.strip_on(self.core.device.grid.split_block(block).0).expect("a member");
            blocks.done.insert(strip);
            self.writer.groups.used[stream] -= 1;
        }
        if self.group_scheme().parity_due(missing) {
            self.put_due_parity(key, &layout);
        }
        self.go_on_after_cache();
    }

    /// Writes the parity that is due of one codeword's page stripes, in order: a block takes its
    /// pages in order, and where a group was given up a later stripe may be ready first.
    pub(crate) fn put_due_parity(&mut self, key: (u32, u32), layout: &Arc<Layout>) {
        let pages = self.core.device.grid.pages_per_block();
        let rows = (layout.group.0 * pages, 0)..((layout.group.0 + 1) * pages, 0);
        let waits = |(other, held): (&(u32, u32), &Held<P>)| {
            (other.1 == key.1 && held.parities.is_none()).then_some((*other, held.missing))
        };
        while let Some((next, missing)) = self.writer.groups.held.range(rows.clone()).find_map(waits) {
            if !self.group_scheme().parity_due(missing) {
                return;
            }
            self.put_group_parity(next, layout);
        }
    }

    /// Writes the parity pages of a codeword.
    fn put_group_parity(&mut self, key: (u32, u32), layout: &Arc<Layout>) {
        let slots = self.core.device.grid.slots_per_page() as usize;
        let code = self.writer.groups.codes[layout.code].0;
        let written = self.writer.groups.info[layout.group.index()].expect("a group with sums").written;
        let held = self.writer.groups.held.get_mut(&key).expect("sums of a codeword");
        held.parities = Some(code.parity);
        let (coverage, first) = (held.data.0 as u32, held.first);
        let stats = &mut self.writer.groups.stats;
        stats.parity_pages += u64::from(code.parity);
        stats.longest_parity_residence = stats.longest_parity_residence.max((written + 1).saturating_sub(first));
        let page = key.0 % self.core.device.grid.pages_per_block();
        for position in layout.stripe.data..layout.stripe.strips.len() as u32 {
            let strip = layout.stripe.strips[position as usize];
            if strip.codeword != key.1 {
                continue;
            }
            let oob = oob_covering(coverage);
            let image = self.core.device.images.open(self.core.map.rows().page(key.0, strip.die), oob);
            let parity = (strip.symbol - code.data) as usize;
            let (tag, update) = (OobTag::parity(StripeId(key.0)), self.core.device.next_rank());
            for index in 0..slots {
                let payload = self.writer.groups.held[&key].sums[parity * slots + index].clone();
                self.core.device.images.fill(image, Contents { tag, payload, update }, NONE, NONE);
            }
            if self.core.is_mountable() {
                self.core.device.images.set_members(image, self.writer.groups.held[&key].members.clone());
            }
            self.submit_strip(image, layout, page, position, true, false, Cause::Parity);
        }
    }

    /// A parity page is in flash, or lost with its die. After the last, the sums leave the cache.
    fn parity_in_flash(&mut self, key: (u32, u32)) {
        let held = self.writer.groups.held.get_mut(&key).expect("sums outlive their parity's programs");
        let left = held.parities.as_mut().expect("parity was due");
        *left -= 1;
        if *left > 0 {
            return;
        }
        let held = self.writer.groups.held.remove(&key).expect("found above");
        let group = held.layout.group.0;
        self.writer.groups.used[held.stream] -= self.writer.groups.codes[held.layout.code].0.parity;
        if key.0 % self.core.device.grid.pages_per_block() + 1 == self.core.device.grid.pages_per_block()
            && let Some(blocks) = self.writer.groups.blocks.get_mut(&group)
        {
            blocks.codewords_left -= 1;
            if blocks.codewords_left == 0 {
                self.writer.groups.blocks.remove(&group);
                self.release(group);
            }
        }
        self.release(group);
        self.go_on_after_cache();
    }

    /// There may be room in the cache for what waited.
    fn go_on_after_cache(&mut self) {
        self.core.retry |= !self.host.stalled.is_empty();
        if !self.writer.moves.is_empty() {
            self.feed_group_moves(false);
            self.collect(0);
        }
    }
}
