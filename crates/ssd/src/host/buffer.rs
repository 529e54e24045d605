//! The write buffer's pages: what each holds, how old it is, and who waits for it to be durable. `evict` says when
//! pages come and go.

use crate::config::{Buffer, BufferKind};
use crate::core::changes::Changes;
use crate::core::flash::FlashPayload;
use crate::core::jobs::{PageWrite, Turn};
use crate::host::dirty_strips::DirtyStrips;
use crate::write::host_side::EvictedWith;
use device::slab::JobId;
use protect::{StripeScheme, WriteBack};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
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
    /// Whether its slot is free, because a die has it in its program buffer.
    launched: bool,
    /// Jobs answered when it is durable.
    waiters: Vec<JobId>,
}

/// A job that waits for room in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub job: JobId,
    pub pages: usize,
    /// Those of them that the buffer did not have when the job last tried; since then it can only have lost some.
    pub new: usize,
    /// The first of them.
    pub lpn: Lpn,
}

/// The write buffer of one drive.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer<P> {
    kind: BufferKind,
    /// Pages it holds; `None`: the scheme says, it is its own write cache.
    capacity: Option<usize>,
    /// Where a write to a page makes all dirty pages of its stripe as young: stripe-level LRU.
    stripes: Option<DirtyStrips>,
    entries: FxHashMap<u32, Entry<P>>,
    /// Dirty pages, least recently written first.
    dirty: BTreeMap<u64, u32>,
    clock: u64,
    /// Pages whose slots are free already.
    launched: usize,
    /// Pages it held at most since someone last asked.
    most: usize,
    /// Jobs that wait for room.
    waiting: VecDeque<Waiting>,
    /// Pages of all of them.
    wanted: usize,
    /// Pages under way that keep every die at work.
    at_work: usize,
    /// Share of it that may be dirty before the oldest pages leave, in quarters.
    dirty_quarters: usize,
    /// Pages that came, left, or have another age or other contents, where someone saves them.
    touched: Changes<u32>,
}

/// How an eviction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Flash has its pages.
    Durable,
    /// Flash did not take them. Another die may.
    Failed,
    /// There is no room for them on any die.
    NoRoom,
    /// A page of its stripe has no die to lie on and no parity to stand in for it. Waiting would not change that;
    /// reads report what is lost.
    Homeless,
}

/// Follow-up of a page whose eviction has ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Followup {
    /// Jobs that need not, or cannot, wait for it any longer.
    pub waiters: Vec<JobId>,
    /// Whether it is to leave the buffer again at once, because someone still waits for it.
    pub again: bool,
}

impl<P: FlashPayload> WriteBuffer<P> {
    /// `at_work`: pages under way that keep every die at work.
    pub fn new(buffer: &Buffer, slot_size: Bytes, at_work: usize, scheme: Option<&dyn StripeScheme>) -> Self {
        let cached = scheme.filter(|scheme| scheme.has_write_cache());
        let own = cached.is_some() && buffer.kind == BufferKind::Off;
        Self {
            kind: if own { BufferKind::Plp } else { buffer.kind },
            capacity: (!own).then_some((buffer.size.0 / slot_size.0) as usize),
            stripes: cached.map(|scheme| DirtyStrips::new(scheme.data_strips())),
            entries: FxHashMap::default(),
            dirty: BTreeMap::new(),
            clock: 0,
            launched: 0,
            most: 0,
            waiting: VecDeque::new(),
            wanted: 0,
            at_work,
            dirty_quarters: if cached.is_some_and(|scheme| scheme.write_back() == WriteBack::OnDemand) { 4 } else { 3 },
            touched: Changes::default(),
        }
    }

    /// From now on the buffer notes which pages it touches.
    pub fn note_touched(&mut self) {
        self.touched.watch();
    }

    /// Pages that were touched since someone last asked, in order.
    pub fn take_touched(&mut self) -> Vec<u32> {
        let mut touched = self.touched.take();
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    #[inline]
    fn note(&mut self, lpn: u32) {
        self.touched.note(lpn);
    }

    pub fn kind(&self) -> BufferKind {
        self.kind
    }

    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.kind == BufferKind::Off
    }

    #[inline]
    pub(super) fn is_volatile(&self) -> bool {
        self.kind == BufferKind::Volatile
    }

    /// Pages that the buffer was built for; `None`: the scheme says, it is its own write cache.
    pub(super) fn capacity(&self) -> Option<usize> {
        self.capacity
    }

    /// Dirty pages above which the oldest leave a buffer of this capacity.
    pub(super) fn watermark(&self, capacity: usize) -> usize {
        capacity * self.dirty_quarters / 4
    }

    /// Whether the scheme has rules for the buffer.
    pub(super) fn is_write_cache(&self) -> bool {
        self.stripes.is_some()
    }

    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<&P> {
        if self.kind == BufferKind::Off {
            return None;
        }
        self.entries.get(&lpn.0).map(|entry| &entry.payload)
    }

    /// Pages it has, those on their way to flash among them.
    pub fn pages(&self) -> usize {
        self.entries.len()
    }

    /// Pages that take a slot of the buffer.
    pub(super) fn taken_slots(&self) -> usize {
        self.entries.len() - self.launched
    }

    /// A die has taken up the program of a page: its slot is free, unless the page was written again in the meantime.
    pub(super) fn launched(&mut self, lpn: Lpn) {
        if let Some(entry) = self.entries.get_mut(&lpn.0)
            && entry.dirty.is_none()
            && !std::mem::replace(&mut entry.launched, true)
        {
            self.launched += 1;
        }
    }

    /// Pages it held at most since this was last asked.
    pub fn take_most(&mut self) -> usize {
        let now = self.taken_slots();
        std::mem::replace(&mut self.most, now)
    }

    /// A job waits for room, in its turn.
    pub(super) fn await_room(&mut self, waiting: Waiting, turn: Turn) {
        self.wanted += waiting.pages;
        match turn {
            Turn::First => self.waiting.push_front(waiting),
            Turn::Last => self.waiting.push_back(waiting),
        }
    }

    /// Whether there is certainly no room for the job that waits first.
    pub(super) fn has_no_room_for_waiting(&self, capacity: usize) -> bool {
        let taken = self.taken_slots();
        taken > 0 && self.waiting.front().is_some_and(|waiting| taken + waiting.new > capacity)
    }

    /// Pages on their way to flash whose slots are taken, and those that are about to be discarded.
    fn under_way(&self) -> usize {
        self.taken_slots().saturating_sub(self.dirty.len())
    }

    #[cfg(test)]
    pub(super) fn set_at_work(&mut self, pages: usize) {
        self.at_work = pages;
    }

    /// The page that leaves next to make room for the jobs that wait; `None` where enough are under way.
    ///
    /// A scheme's write cache makes room for all of them at once: how much leaves side by side says how fast it leaves.
    /// Elsewhere all dies are to be at work. Less than a write's worth stays while others are under way, since a row that ends
    /// early needs a parity of its own, and so does the stripe that the first job writes to, since the job may complete it.
    pub(super) fn leaves_for_waiting(&self, capacity: usize, evicted_with: impl Fn(Lpn) -> EvictedWith) -> Option<u32> {
        let first = self.waiting.front()?;
        let oldest = self.oldest()?;
        if self.is_write_cache() {
            let dirty = capacity.saturating_sub(first.new + self.wanted - first.pages);
            return (self.dirty.len() > dirty).then_some(oldest);
        }
        if self.under_way() >= self.at_work {
            return None;
        }
        match evicted_with(first.lpn) {
            EvictedWith::Oldest { each, .. } => {
                let is_whole = self.dirty.len() >= each;
                (is_whole || self.under_way() == 0).then_some(oldest)
            }
            EvictedWith::Stripe(awaited) => {
                let other = self.dirty.values().copied().find(|lpn| !awaited.contains(lpn));
                other.or_else(|| (self.under_way() == 0).then_some(oldest))
            }
        }
    }

    /// The job that waits first for room waits no longer.
    pub(super) fn next_waiting(&mut self) -> Option<JobId> {
        let waiting = self.waiting.pop_front()?;
        self.wanted -= waiting.pages;
        Some(waiting.job)
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Dirty pages in the buffer.
    #[inline]
    pub(super) fn dirty_pages(&self) -> usize {
        self.dirty.len()
    }

    pub(super) fn is_dirty(&self, lpn: u32) -> bool {
        self.entries.get(&lpn).is_some_and(|entry| entry.dirty.is_some())
    }

    /// The dirty page that was written least recently.
    pub(super) fn oldest(&self) -> Option<u32> {
        self.dirty.first_key_value().map(|(_, &lpn)| lpn)
    }

    /// The page and the oldest other dirty ones, `most` in all.
    pub(super) fn oldest_with(&self, lpn: u32, most: usize) -> Vec<u32> {
        let others = self.dirty.values().copied().filter(|&other| other != lpn);
        std::iter::once(lpn).chain(others.take(most - 1)).collect()
    }

    /// The dirty pages among these.
    pub(super) fn dirty_among(&self, lpns: Range<u32>) -> Vec<u32> {
        lpns.filter(|&lpn| self.is_dirty(lpn)).collect()
    }

    /// All pages that are not durable: dirty ones, least recently written first, then those on their way to flash.
    pub(super) fn not_durable(&self) -> Vec<Lpn> {
        let mut pages: Vec<u32> = self.dirty.values().copied().collect();
        #[expect(clippy::iter_over_hash_type, reason = "sorted right below")]
        for (&lpn, entry) in &self.entries {
            if entry.dirty.is_none() {
                pages.push(lpn);
            }
        }
        pages[self.dirty.len()..].sort_unstable();
        pages.into_iter().map(Lpn).collect()
    }

    /// All pages, those on their way to flash first, then dirty ones, least recently written first.
    pub fn pages_by_age(&self) -> Vec<(Lpn, P)> {
        let mut pages = self.pages_with_ages();
        pages.sort_by_key(|&(_, age, _)| age);
        pages.into_iter().map(|(lpn, _, payload)| (Lpn(lpn), payload.clone())).collect()
    }

    /// All pages in the order of their numbers, each with its age: dirty ones have the greater one the later they were written,
    /// those on their way to flash 0.
    pub fn pages_with_ages(&self) -> Vec<(u32, u64, &P)> {
        let mut pages = Vec::with_capacity(self.entries.len());
        #[expect(clippy::iter_over_hash_type, reason = "sorted right below")]
        for (&lpn, entry) in &self.entries {
            pages.push((lpn, entry.dirty.unwrap_or(0), &entry.payload));
        }
        pages.sort_unstable_by_key(|&(lpn, ..)| lpn);
        pages
    }

    /// A page with its age, as of [`Self::pages_with_ages`].
    pub fn page_with_age(&self, lpn: u32) -> Option<(u64, &P)> {
        self.entries.get(&lpn).map(|entry| (entry.dirty.unwrap_or(0), &entry.payload))
    }

    /// Takes in what a buffer of before the cut held. Each page keeps its age, whatever its mates'.
    pub fn restore(&mut self, pages: Vec<(Lpn, P)>) {
        for (lpn, payload) in pages {
            self.put(&PageWrite { lpn, version: 0, payload, from: 0, to: 0, rank: 0 });
        }
    }

    /// A page that is about to be discarded is not evicted any more: it would come back.
    pub(super) fn freeze(&mut self, lpn: Lpn) {
        if let Some(key) = self.entries.get_mut(&lpn.0).and_then(|entry| entry.dirty.take()) {
            self.cleaned(lpn.0, key);
        }
    }

    /// A page that was written last at `key` has nothing left to write.
    fn cleaned(&mut self, lpn: u32, key: u64) {
        self.note(lpn);
        self.dirty.remove(&key);
        if let Some(stripes) = &mut self.stripes {
            stripes.remove(lpn);
        }
    }

    /// A page that was frozen is dirty again, as if just written: it is not discarded after all. Those that waited
    /// for it to be durable.
    pub(super) fn thaw(&mut self, lpn: Lpn) -> Vec<JobId> {
        let Some(entry) = self.entries.get_mut(&lpn.0).filter(|entry| entry.dirty.is_none()) else { return Vec::new() };
        let waiters = std::mem::take(&mut entry.waiters);
        self.touch(lpn.0);
        waiters
    }

    fn touch(&mut self, lpn: u32) {
        self.note(lpn);
        let entry = self.entries.get_mut(&lpn).expect("a buffered page");
        match (entry.dirty.take(), &mut self.stripes) {
            (Some(key), _) => drop(self.dirty.remove(&key)),
            (None, Some(stripes)) => stripes.insert(lpn),
            (None, None) => {}
        }
        self.launched -= usize::from(std::mem::take(&mut entry.launched));
        self.clock += 1;
        entry.dirty = Some(self.clock);
        self.dirty.insert(self.clock, lpn);
    }

    /// The page is written: nothing is as young, except, in a scheme's write cache, its mates.
    pub(super) fn write(&mut self, page: &PageWrite<P>) {
        self.put(page);
        // The dirty pages of its stripe become as young as the page.
        let mates = self.stripes.as_ref().map(|stripes| stripes.mates(page.lpn.0));
        mates.into_iter().flatten().for_each(|mate| self.touch(mate));
    }

    fn put(&mut self, page: &PageWrite<P>) {
        let fresh = || Entry { version: 0, payload: P::default(), dirty: None, flying: 0, launched: false, waiters: Vec::new() };
        let entry = self.entries.entry(page.lpn.0).or_insert_with(fresh);
        entry.version = self.clock as u32 + 1;
        entry.payload = page.payload.clone();
        self.touch(page.lpn.0);
        self.most = self.most.max(self.taken_slots());
    }

    /// The job is answered when the page is durable. Whether the page is dirty; `None` if the buffer does not have it.
    pub(super) fn await_durable(&mut self, lpn: Lpn, job: JobId) -> Option<bool> {
        let entry = self.entries.get_mut(&lpn.0)?;
        entry.waiters.push(job);
        Some(entry.dirty.is_some())
    }

    /// Marks a page as on its way to flash; what to write, all of `sectors`.
    pub(super) fn launch(&mut self, lpn: u32, sectors: u32) -> PageWrite<P> {
        let entry = self.entries.get_mut(&lpn).expect("a buffered page");
        let key = entry.dirty.take().expect("only dirty pages are evicted");
        entry.flying += 1;
        let (version, payload) = (entry.version, entry.payload.clone());
        self.cleaned(lpn, key);
        PageWrite { lpn: Lpn(lpn), version, payload, from: 0, to: sectors, rank: 0 }
    }

    /// Drops a page; those that waited for it to be durable. `None` if the buffer does not have it.
    pub(super) fn drop_page(&mut self, lpn: Lpn) -> Option<Vec<JobId>> {
        let entry = self.entries.remove(&lpn.0)?;
        self.note(lpn.0);
        self.launched -= usize::from(entry.launched);
        if let Some(key) = entry.dirty {
            self.cleaned(lpn.0, key);
        }
        Some(entry.waiters)
    }

    /// The eviction of a page has ended. The page stays where flash did not take it, and where it was written again
    /// in the meantime.
    pub(super) fn landed(&mut self, page: &PageWrite<P>, ending: Ending) -> Followup {
        let lpn = page.lpn.0;
        let Some(entry) = self.entries.get_mut(&lpn) else { return Followup::default() };
        entry.flying = entry.flying.saturating_sub(1);
        let is_same = entry.version == page.version && entry.dirty.is_none();
        match ending {
            Ending::Durable | Ending::Homeless if is_same => {
                Followup { waiters: self.drop_page(page.lpn).unwrap_or_default(), again: false }
            }
            Ending::Durable => {
                let again = !entry.waiters.is_empty() && entry.dirty.is_some() && entry.flying == 0;
                Followup { waiters: Vec::new(), again }
            }
            Ending::Homeless => Followup { waiters: std::mem::take(&mut entry.waiters), again: false },
            // The buffer keeps what flash did not take. If all dies are full, whoever waits for these pages learns
            // that they will not become durable.
            Ending::Failed | Ending::NoRoom => {
                let waiters = if ending == Ending::NoRoom { std::mem::take(&mut entry.waiters) } else { Vec::new() };
                let again = !entry.waiters.is_empty();
                if is_same {
                    self.touch(lpn);
                }
                Followup { waiters, again }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing::{tiny_scheme, tiny_setup};
    use device::contents::HostPayload;
    use device::contents::Tag;
    use protect::Protection;

    /// Size of a page, and more of them than any test has under way.
    const PAGE: Bytes = Bytes(4096);
    const AT_WORK: usize = 1000;

    fn write(buffer: &mut WriteBuffer<Tag>, lpn: u32) {
        let payload = Tag::stamp(Lpn(lpn), 1, 8);
        buffer.write(&PageWrite { lpn: Lpn(lpn), version: 1, payload, from: 0, to: 8, rank: 0 });
    }

    fn by_age(buffer: &WriteBuffer<Tag>) -> Vec<u32> {
        buffer.dirty.values().copied().collect()
    }

    /// Catches mates that keep their age, and pages of other stripes that become young.
    #[test]
    fn in_a_scheme_s_write_cache_a_stripe_is_as_old_as_its_last_write() {
        let setup = tiny_setup("da-raid5", BufferKind::Off);
        let Protection::Stripes(scheme) = tiny_scheme(&setup) else { panic!("static stripes") };
        let mut cache = WriteBuffer::new(&setup.buffer, PAGE, AT_WORK, Some(&*scheme));
        assert_eq!((cache.kind(), cache.capacity()), (BufferKind::Plp, None));
        let n = scheme.data_strips();
        [0, n, 1, 2 * n].into_iter().for_each(|lpn| write(&mut cache, lpn));
        assert_eq!(by_age(&cache), [n, 1, 0, 2 * n]);
        let mut restored = WriteBuffer::new(&setup.buffer, PAGE, AT_WORK, Some(&*scheme));
        restored.restore(cache.pages_by_age());
        assert_eq!(by_age(&restored), [n, 1, 0, 2 * n], "a cut makes no page younger");
    }

    /// Something that may happen to a page of a buffer.
    fn anything(buffer: &mut WriteBuffer<Tag>, lpn: u32, draws: &mut vocab::Stream) {
        match draws.below(5) {
            0 if buffer.is_dirty(lpn) => {
                let page = buffer.launch(lpn, 8);
                let ending = if draws.chance(0.5) { Ending::Durable } else { Ending::Failed };
                buffer.landed(&page, ending);
            }
            1 => buffer.freeze(Lpn(lpn)),
            2 => drop(buffer.thaw(Lpn(lpn))),
            3 => drop(buffer.drop_page(Lpn(lpn))),
            _ => write(buffer, lpn),
        }
    }

    /// Who saves the pages of a buffer looks at those alone that it says it touched. Catches a page that comes, leaves or has
    /// another age and is not noted.
    #[test]
    fn pages_that_changed_are_among_those_that_were_touched() {
        let setup = tiny_setup("da-raid5", BufferKind::Off);
        let Protection::Stripes(scheme) = tiny_scheme(&setup) else { panic!("static stripes") };
        let mut buffer = WriteBuffer::new(&setup.buffer, PAGE, AT_WORK, Some(&*scheme));
        write(&mut buffer, 0);
        assert_eq!(buffer.take_touched(), Vec::<u32>::new(), "no one asked");
        buffer.note_touched();
        let mut saved: BTreeMap<u32, (u64, Tag)> =
            buffer.pages_with_ages().into_iter().map(|(lpn, age, page)| (lpn, (age, *page))).collect();
        let mut draws = vocab::Streams::new(8).stream("test/touched");
        for step in 0..2000 {
            let lpn = draws.below(20) as u32;
            anything(&mut buffer, lpn, &mut draws);
            if draws.chance(0.3) {
                for lpn in buffer.take_touched() {
                    match buffer.page_with_age(lpn) {
                        Some((age, page)) => drop(saved.insert(lpn, (age, *page))),
                        None => drop(saved.remove(&lpn)),
                    }
                }
                let all = buffer.pages_with_ages();
                assert!(all.into_iter().eq(saved.iter().map(|(&lpn, (age, page))| (lpn, *age, page))), "step {step}");
            }
        }
    }

    /// The oracle asks each page of a stripe. Catches a way for a page to become dirty, or clean, that stripes do not hear of.
    #[test]
    fn stripes_know_which_of_their_pages_are_dirty() {
        let setup = tiny_setup("da-raid5", BufferKind::Off);
        let Protection::Stripes(scheme) = tiny_scheme(&setup) else { panic!("static stripes") };
        let mut cache = WriteBuffer::new(&setup.buffer, PAGE, AT_WORK, Some(&*scheme));
        let (n, mut draws) = (scheme.data_strips(), vocab::Streams::new(7).stream("test/mates"));
        for step in 0..2000 {
            let lpn = draws.below(u64::from(3 * n)) as u32;
            anything(&mut cache, lpn, &mut draws);
            let asked = (lpn / n * n..lpn / n * n + n).filter(|&mate| mate != lpn && cache.is_dirty(mate)).collect::<Vec<_>>();
            assert_eq!(cache.stripes.as_ref().expect("a write cache").mates(lpn).collect::<Vec<_>>(), asked, "step {step}");
        }
        assert!(cache.dirty_pages() > 0);
    }

    /// Catches a rewritten page that its older version takes out of the buffer.
    #[test]
    fn a_page_written_again_while_on_its_way_stays() {
        let setup = tiny_setup("none", BufferKind::Volatile);
        let mut buffer = WriteBuffer::<Tag>::new(&setup.buffer, PAGE, AT_WORK, None);
        write(&mut buffer, 3);
        let old = buffer.launch(3, 8);
        write(&mut buffer, 3);
        assert_eq!(buffer.landed(&old, Ending::Durable), Followup::default());
        assert_eq!((buffer.taken_slots(), by_age(&buffer)), (1, vec![3]));
        let new = buffer.launch(3, 8);
        buffer.landed(&new, Ending::Durable);
        assert_eq!(buffer.taken_slots(), 0);
    }

    /// Catches a slot that is freed twice, one that stays free although the page was written again, and a count that an
    /// eviction, a discard or a failure leaves wrong.
    #[test]
    fn a_page_that_a_die_has_taken_up_takes_no_slot() {
        let setup = tiny_setup("none", BufferKind::Plp);
        let mut buffer = WriteBuffer::<Tag>::new(&setup.buffer, PAGE, AT_WORK, None);
        (0..4).for_each(|lpn| write(&mut buffer, lpn));
        let leaving: Vec<_> = (0..4).map(|lpn| buffer.launch(lpn, 8)).collect();
        assert_eq!(buffer.taken_slots(), 4, "they are queued for their dies");
        (0..4).for_each(|lpn| buffer.launched(Lpn(lpn)));
        buffer.launched(Lpn(0));
        assert_eq!((buffer.taken_slots(), buffer.pages_by_age().len()), (0, 4), "a cut still finds them");
        write(&mut buffer, 0);
        assert_eq!(buffer.taken_slots(), 1);
        buffer.landed(&leaving[0], Ending::Durable);
        buffer.landed(&leaving[1], Ending::Durable);
        buffer.landed(&leaving[2], Ending::Failed);
        buffer.drop_page(Lpn(3));
        assert_eq!((buffer.taken_slots(), by_age(&buffer)), (2, vec![0, 2]));
    }

    /// Catches an order that depends on the hash, and pages on their way that are left out: these are oldest.
    #[test]
    fn a_cut_finds_all_pages_by_age() {
        let setup = tiny_setup("none", BufferKind::Plp);
        let mut buffer = WriteBuffer::<Tag>::new(&setup.buffer, PAGE, AT_WORK, None);
        [5, 9, 2, 7].into_iter().for_each(|lpn| write(&mut buffer, lpn));
        buffer.launch(2, 8);
        let pages = buffer.pages_by_age();
        let lpns = |pages: &[(Lpn, Tag)]| pages.iter().map(|(lpn, _)| lpn.0).collect::<Vec<_>>();
        assert_eq!(lpns(&pages), [2, 5, 9, 7]);
        let mut restored = WriteBuffer::<Tag>::new(&setup.buffer, PAGE, AT_WORK, None);
        restored.restore(pages.clone());
        assert_eq!((restored.pages_by_age(), restored.dirty_pages()), (pages, 4));
    }
}
