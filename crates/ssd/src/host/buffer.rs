//! The write buffer: answers writes before flash does, and gathers pages on their way.
//!
//! Pages leave it oldest first once more than three quarters of it are dirty, together with
//! what the scheme can write along: the dirty pages of the same static stripe, or a row's worth.
//! A scheme may bring a write cache of its own, or rules for the drive's: then a stripe is as old
//! as its last write, and long requests pass through, answered when flash has them.

use crate::config::{Buffer, BufferKind};
use crate::core::jobs::{Asker, PageWrite};
use crate::engine::Engine;
use device::contents::HostPayload;
use device::facts::RequestKind;
use device::slab::Id;
use nand::FlashArray;
use protect::{Protection, StripeScheme};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use vocab::{Bytes, Lpn};

/// One buffered page.
#[derive(Clone, Debug)]
struct Entry<P> {
    /// Which write of the buffer these contents are.
    version: u32,
    payload: P,
    /// When it was last written, as a key of `dirty`; `None` while nothing is left to write.
    dirty: Option<u64>,
    /// Evictions of it under way.
    flying: u32,
    /// Jobs answered when it is durable.
    waiters: Vec<Id>,
}

/// The write buffer of one drive.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer<P> {
    kind: BufferKind,
    /// Pages it holds; `None`: the scheme says, it is its own write cache.
    capacity: Option<usize>,
    /// Whether a write to a page makes all pages of its stripe as young: stripe-level LRU.
    by_stripe: bool,
    entries: FxHashMap<u32, Entry<P>>,
    /// Dirty pages, least recently written first.
    dirty: BTreeMap<u64, u32>,
    clock: u64,
    /// Jobs that wait for room.
    waiting: VecDeque<Id>,
}

impl<P: HostPayload> WriteBuffer<P> {
    pub fn new(buffer: &Buffer, slot_size: Bytes, scheme: Option<&dyn StripeScheme>) -> Self {
        let by_stripe = scheme.is_some_and(StripeScheme::has_write_cache);
        let own = by_stripe && buffer.kind == BufferKind::Off;
        Self {
            kind: if own { BufferKind::PowerSafe } else { buffer.kind },
            capacity: (!own).then_some((buffer.size.0 / slot_size.0) as usize),
            by_stripe,
            entries: FxHashMap::default(),
            dirty: BTreeMap::new(),
            clock: 0,
            waiting: VecDeque::new(),
        }
    }

    pub fn kind(&self) -> BufferKind {
        self.kind
    }

    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<&P> {
        if self.kind == BufferKind::Off {
            return None;
        }
        self.entries.get(&lpn.0).map(|entry| &entry.payload)
    }

    /// All pages, those on their way to flash first, then dirty ones, least recently written first.
    pub fn pages_by_age(&self) -> Vec<(Lpn, P)> {
        let mut pages: Vec<(Option<u64>, u32)> = Vec::with_capacity(self.entries.len());
        #[expect(clippy::iter_over_hash_type, reason = "sorted right below")]
        for (&lpn, entry) in &self.entries {
            pages.push((entry.dirty, lpn));
        }
        pages.sort_unstable();
        pages.into_iter().map(|(_, lpn)| (Lpn(lpn), self.entries[&lpn].payload.clone())).collect()
    }

    /// Takes in what a buffer of before the cut held.
    pub fn restore(&mut self, pages: Vec<(Lpn, P)>) {
        for (lpn, payload) in pages {
            self.put(&PageWrite { lpn, version: 0, payload, from: 0, to: 0 });
        }
    }

    /// A page that is about to be discarded is not evicted any more: it would come back.
    pub fn freeze(&mut self, lpn: Lpn) {
        if let Some(key) = self.entries.get_mut(&lpn.0).and_then(|entry| entry.dirty.take()) {
            self.dirty.remove(&key);
        }
    }

    fn touch(&mut self, lpn: u32) {
        let entry = self.entries.get_mut(&lpn).expect("a buffered page");
        if let Some(key) = entry.dirty.take() {
            self.dirty.remove(&key);
        }
        self.clock += 1;
        entry.dirty = Some(self.clock);
        self.dirty.insert(self.clock, lpn);
    }

    fn put(&mut self, page: &PageWrite<P>) {
        let fresh = || Entry { version: 0, payload: P::default(), dirty: None, flying: 0, waiters: Vec::new() };
        let entry = self.entries.entry(page.lpn.0).or_insert_with(fresh);
        entry.version = self.clock as u32 + 1;
        entry.payload = page.payload.clone();
        self.touch(page.lpn.0);
    }

    /// Marks a page as on its way to flash; what to write.
    fn launch(&mut self, lpn: u32, per: u32) -> PageWrite<P> {
        let entry = self.entries.get_mut(&lpn).expect("a buffered page");
        let key = entry.dirty.take().expect("only dirty pages are evicted");
        self.dirty.remove(&key);
        entry.flying += 1;
        PageWrite { lpn: Lpn(lpn), version: entry.version, payload: entry.payload.clone(), from: 0, to: per }
    }
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Takes a write or discard into the buffer, or lets it wait for room.
    pub(crate) fn buffer_job(&mut self, job: Id) {
        self.core.jobs[job].remaining += 1;
        if !self.host.buffer.waiting.is_empty() || !self.buffer_takes(job) {
            self.hold_pages(job);
            self.host.buffer.waiting.push_back(job);
        }
    }

    /// A page is not discarded after all: it is to be written again, later. Whoever waits for it to be
    /// durable waits in vain.
    pub(crate) fn thaw(&mut self, lpn: Lpn) {
        let Some(entry) = self.host.buffer.entries.get_mut(&lpn.0).filter(|entry| entry.dirty.is_none()) else { return };
        let waiters = std::mem::take(&mut entry.waiters);
        self.host.buffer.touch(lpn.0);
        for job in waiters {
            self.core.jobs[job].failed = true;
            self.part_done(job);
        }
    }

    /// Drops a discarded page from the buffer.
    pub(crate) fn unbuffer(&mut self, lpn: Lpn) {
        let Some(entry) = self.host.buffer.entries.remove(&lpn.0) else { return };
        self.core.retry |= self.has_waiting_for_buffer();
        if let Some(key) = entry.dirty {
            self.host.buffer.dirty.remove(&key);
        }
        entry.waiters.into_iter().for_each(|job| self.part_done(job));
    }

    fn buffer_takes(&mut self, job: Id) -> bool {
        if self.core.jobs[job].kind == RequestKind::Discard {
            self.place_or_wait(job);
            self.part_done(job);
            return true;
        }
        if self.passes_buffer(job) {
            self.pass_buffer(job);
            return true;
        }
        let capacity = self.buffer_capacity();
        let pages = &self.core.jobs[job].pages;
        let new = pages.iter().filter(|page| !self.host.buffer.entries.contains_key(&page.lpn.0)).count();
        // A request larger than the buffer passes through an empty one.
        if self.host.buffer.entries.len() + new > capacity && !self.host.buffer.entries.is_empty() {
            self.evict_down_to(capacity.saturating_sub(new));
            return false;
        }
        self.put_in_buffer(job);
        if self.core.jobs[job].fua && self.host.buffer.kind == BufferKind::Volatile {
            self.wait_until_durable(job);
        }
        self.evict_down_to(capacity * 3 / 4);
        self.let_pages_go(job);
        self.part_done(job);
        true
    }

    fn put_in_buffer(&mut self, job: Id) {
        for index in 0..self.core.jobs[job].pages.len() {
            let page = self.core.jobs[job].pages[index].clone();
            if self.is_void(&page) {
                continue;
            }
            self.forget_read_ahead(page.lpn);
            self.host.buffer.put(&page);
            if self.host.buffer.by_stripe {
                self.rejuvenate_mates(page.lpn.0);
            }
        }
    }

    /// Makes the dirty pages of the page's stripe as young as the page.
    fn rejuvenate_mates(&mut self, lpn: u32) {
        let n = self.stripe_scheme().data_strips();
        for mate in lpn / n * n..lpn / n * n + n {
            if mate != lpn && self.host.buffer.entries.get(&mate).is_some_and(|entry| entry.dirty.is_some()) {
                self.host.buffer.touch(mate);
            }
        }
    }

    /// Pages the buffer holds.
    fn buffer_capacity(&self) -> usize {
        let own = || self.stripe_scheme().write_cache().map_or(0, |cache| cache.pages as usize);
        self.host.buffer.capacity.unwrap_or_else(own)
    }

    /// Whether the request is too long for the scheme's write cache, or that is off.
    fn passes_buffer(&self, job: Id) -> bool {
        if !self.host.buffer.by_stripe {
            return false;
        }
        let cache = self.stripe_scheme().write_cache();
        let long = cache.is_some_and(|cache| self.core.jobs[job].pages.len() > cache.bypass_over as usize);
        long || self.buffer_capacity() == 0
    }

    /// Writes the request to flash at once and answers it when it is durable. Until then the
    /// buffer shows its pages, so that no older copy is seen or written after it.
    fn pass_buffer(&mut self, job: Id) {
        self.put_in_buffer(job);
        let lpns: Vec<u32> = self.core.jobs[job].pages.iter().map(|page| page.lpn.0).collect();
        for lpn in &lpns {
            self.host.buffer.entries.get_mut(lpn).expect("just buffered").waiters.push(job);
            self.core.jobs[job].remaining += 1;
        }
        self.launch(&lpns, true);
        self.let_pages_go(job);
        self.part_done(job);
    }

    /// The job is answered when its pages are durable.
    fn wait_until_durable(&mut self, job: Id) {
        let written = self.core.jobs[job].pages.iter().filter(|page| !self.is_void(page));
        let lpns: Vec<u32> = written.map(|page| page.lpn.0).collect();
        for lpn in lpns {
            let Some(entry) = self.host.buffer.entries.get_mut(&lpn) else {
                // It left with a page of its stripe, and no flash took it.
                self.core.jobs[job].failed = true;
                continue;
            };
            entry.waiters.push(job);
            self.core.jobs[job].remaining += 1;
            if entry.dirty.is_some() {
                self.evict(lpn);
            }
        }
    }

    /// A flush: every write answered before becomes durable.
    pub(crate) fn flush(&mut self, job: Id) {
        if self.host.buffer.kind != BufferKind::Volatile {
            return;
        }
        // In order of age, and after that those already on their way, by page: no hash order.
        let mut pending: Vec<u32> = self.host.buffer.dirty.values().copied().collect();
        #[expect(clippy::iter_over_hash_type, reason = "sorted right below")]
        for (lpn, entry) in &self.host.buffer.entries {
            if entry.dirty.is_none() {
                pending.push(*lpn);
            }
        }
        let dirty = self.host.buffer.dirty.len();
        pending[dirty..].sort_unstable();
        for &lpn in &pending {
            let entry = self.host.buffer.entries.get_mut(&lpn).expect("listed above");
            entry.waiters.push(job);
            self.core.jobs[job].remaining += 1;
        }
        for &lpn in &pending {
            self.evict_if_dirty(lpn);
        }
    }

    fn evict_if_dirty(&mut self, lpn: u32) {
        if self.host.buffer.entries.get(&lpn).is_some_and(|entry| entry.dirty.is_some()) {
            self.evict(lpn);
        }
    }

    fn evict_down_to(&mut self, dirty: usize) {
        while self.host.buffer.dirty.len() > dirty {
            let (_, &lpn) = self.host.buffer.dirty.first_key_value().expect("not empty");
            self.evict(lpn);
        }
    }

    /// Writes the page to flash, with what the scheme can write along.
    fn evict(&mut self, lpn: u32) {
        let along: Vec<u32> = match &self.writer.protection {
            // A page on every die: what keeps all of them at work.
            Protection::None => {
                self.oldest_with(lpn, (self.core.device.grid.dies() * self.core.device.grid.slots_per_page()) as usize)
            }
            Protection::Stripes(scheme) => {
                let n = scheme.data_strips();
                let mates = lpn / n * n..lpn / n * n + n;
                mates.filter(|mate| self.host.buffer.entries.get(mate).is_some_and(|entry| entry.dirty.is_some())).collect()
            }
            Protection::Rows(_) | Protection::Groups(_) => self.oldest_with(lpn, self.history_batch() as usize),
            // Each page has its own place to go to.
            Protection::Zones(_) => vec![lpn],
        };
        self.launch(&along, false);
    }

    /// Sends dirty pages to flash as one write; `long`: they passed through the buffer.
    fn launch(&mut self, lpns: &[u32], long: bool) {
        let job = self.core.jobs.take();
        self.core.jobs[job].reset(Asker::Buffer, RequestKind::Write, self.core.device.now);
        self.core.jobs[job].long = long;
        let per = self.core.device.grid.geometry().sectors_per_slot();
        for &lpn in lpns {
            let page = self.host.buffer.launch(lpn, per);
            self.core.jobs[job].pages.push(page);
        }
        self.place_or_wait(job);
        self.part_done(job);
    }

    /// The page and the oldest other dirty ones, at most `most`.
    fn oldest_with(&self, lpn: u32, most: usize) -> Vec<u32> {
        let others = self.host.buffer.dirty.values().copied().filter(|&other| other != lpn);
        std::iter::once(lpn).chain(others.take(most - 1)).collect()
    }

    /// Whether the page left the buffer by a discard while its eviction waited for room.
    pub(crate) fn was_discarded(&self, job: Id, lpn: Lpn) -> bool {
        self.core.jobs[job].asker == Asker::Buffer && self.host.buffer.get(lpn).is_none()
    }

    /// Pages of an eviction that were discarded while it waited are not written any more.
    pub(crate) fn drop_discarded(&mut self, job: Id) {
        let next = self.core.jobs[job].next;
        let lpns: Vec<Lpn> = self.core.jobs[job].pages[next..].iter().map(|page| page.lpn).collect();
        for (index, lpn) in lpns.into_iter().enumerate().rev() {
            if self.was_discarded(job, lpn) {
                self.core.jobs[job].pages.remove(next + index);
            }
        }
    }

    /// An eviction is durable, or failed for want of space.
    pub(crate) fn evicted(&mut self, job: Id) {
        let failed = self.core.jobs[job].failed;
        let out_of_space = self.core.jobs[job].no_room || self.core.jobs[job].next < self.core.jobs[job].pages.len();
        let homeless = self.core.jobs[job].homeless;
        let pages = std::mem::take(&mut self.core.jobs[job].pages);
        let mut again = Vec::new();
        for page in &pages {
            let Some(entry) = self.host.buffer.entries.get_mut(&page.lpn.0) else { continue };
            entry.flying = entry.flying.saturating_sub(1);
            if failed && homeless {
                // Another page of its stripe, or this one, has no die to lie on and no parity to
                // stand in for it. Waiting would not change that; reads report what is lost.
                let waiters = if entry.version == page.version && entry.dirty.is_none() {
                    self.host.buffer.entries.remove(&page.lpn.0).map_or(Vec::new(), |entry| entry.waiters)
                } else {
                    std::mem::take(&mut entry.waiters)
                };
                for job in waiters {
                    self.core.jobs[job].failed = true;
                    self.part_done(job);
                }
            } else if failed {
                // The buffer keeps what flash did not take. Another die may; if all are full,
                // whoever waits for these pages learns that they will not become durable.
                let waiters = if out_of_space { std::mem::take(&mut entry.waiters) } else { Vec::new() };
                again.extend((!entry.waiters.is_empty()).then_some(page.lpn.0));
                if entry.dirty.is_none() && entry.version == page.version {
                    self.host.buffer.touch(page.lpn.0);
                }
                for job in waiters {
                    self.core.jobs[job].failed = true;
                    self.part_done(job);
                }
            } else if entry.version == page.version && entry.dirty.is_none() {
                let waiters = std::mem::take(&mut entry.waiters);
                self.host.buffer.entries.remove(&page.lpn.0);
                waiters.into_iter().for_each(|job| self.part_done(job));
            } else if !entry.waiters.is_empty() && entry.dirty.is_some() && entry.flying == 0 {
                again.push(page.lpn.0);
            }
        }
        self.core.jobs[job].pages = pages;
        for lpn in again {
            self.evict_if_dirty(lpn);
        }
        self.retry_buffer();
    }

    /// Whether anything waits for room in the buffer.
    pub(crate) fn has_waiting_for_buffer(&self) -> bool {
        !self.host.buffer.waiting.is_empty()
    }

    /// Takes in what waits for room, in order, as far as there is any.
    pub(crate) fn retry_buffer(&mut self) {
        while let Some(job) = self.host.buffer.waiting.pop_front() {
            if !self.buffer_takes(job) {
                self.host.buffer.waiting.push_front(job);
                break;
            }
        }
    }

    /// There is no room in the buffer and there never will be.
    pub(crate) fn fail_buffer_waiter(&mut self) {
        if let Some(job) = self.host.buffer.waiting.pop_front() {
            self.core.jobs[job].failed = true;
            self.let_pages_go(job);
            self.part_done(job);
        }
    }
}
