//! Page images: pages being put together in the controller.

use crate::slab::{ImageId, JobId, OfImage, Slab};
use nand::{Member, Oob, OobTag, Payload, Program};
use rustc_hash::FxHashMap;
use vocab::{Ppn, SimTime};

/// Contents of a slot to program.
#[derive(Clone, Debug)]
pub struct Contents<P> {
    /// Logical page or stripe.
    pub tag: OobTag,
    /// The bytes, or what stands for them.
    pub payload: P,
    /// Rank of the write that made it; what is moved keeps its own.
    pub update: u64,
}

/// A page being put together in the controller: what a program command will store.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The OOB bytes of the page.
    pub oob: Oob,
    /// Slots filled so far.
    pub filled: u32,
    /// The page it is to be programmed into.
    pub ppn: Ppn,
}

impl Default for Image {
    fn default() -> Self {
        Self { oob: Oob::default(), filled: 0, ppn: Ppn(0) }
    }
}

/// Page images with their slots, slot `i` of image `n` at `n * slots + i`.
#[derive(Clone, Debug)]
pub struct Images<P> {
    /// The images.
    pub slab: Slab<Image, OfImage>,
    tags: Vec<OobTag>,
    payload: Vec<P>,
    jobs: Vec<Option<JobId>>,
    pins: Vec<Option<u32>>,
    /// Rank of the write that gave each slot its contents.
    updates: Vec<u64>,
    /// Of parity on a drive that is to be mounted: the members of its codeword.
    members: FxHashMap<ImageId, Vec<Member>>,
    slots: usize,
}

impl<P: Payload> Images<P> {
    /// No images, of pages with this many slots.
    pub fn new(slots: u32) -> Self {
        Self {
            slab: Slab::default(),
            tags: vec![],
            payload: vec![],
            jobs: vec![],
            pins: vec![],
            updates: vec![],
            members: FxHashMap::default(),
            slots: slots as usize,
        }
    }

    /// An empty image for `ppn`.
    #[inline]
    pub fn open(&mut self, ppn: Ppn, oob: Oob) -> ImageId {
        let id = self.slab.take();
        let image = &mut self.slab[id];
        // Field by field: a copy of the whole would wait for fields that were written just now.
        let Oob { sequence, coverage, ecc } = oob;
        (image.oob.sequence, image.oob.coverage, image.oob.ecc) = (sequence, coverage, ecc);
        (image.filled, image.ppn) = (0, ppn);
        if self.tags.len() < (id.index() + 1) * self.slots {
            self.make_room(id);
        }
        id
    }

    /// Slots for an image that was not used before.
    #[cold]
    fn make_room(&mut self, id: ImageId) {
        let end = (id.index() + 1) * self.slots;
        self.tags.resize(end, OobTag::FILLER);
        self.payload.resize(end, P::default());
        self.jobs.resize(end, None);
        self.pins.resize(end, None);
        self.updates.resize(end, 0);
    }

    /// Puts a page into the next slot; the slot's number. `job` waits for the program, `pin` is
    /// the unit to release after it.
    #[inline(always)]
    pub fn fill(&mut self, id: ImageId, contents: Contents<P>, job: Option<JobId>, pin: Option<u32>) -> u32 {
        let Contents { tag, payload, update } = contents;
        let index = self.slab[id].filled;
        let at = id.index() * self.slots + index as usize;
        self.tags[at] = tag;
        self.payload[at] = payload;
        self.jobs[at] = job;
        self.pins[at] = pin;
        self.updates[at] = update;
        self.slab[id].filled = index + 1;
        index
    }

    /// Whether every slot of the page is filled.
    #[inline]
    pub fn is_full(&self, id: ImageId) -> bool {
        self.slab[id].filled as usize == self.slots
    }

    /// The die takes the image up: it gets its rank among programs, and slots that were not filled
    /// are blanked, so that the whole image can be programmed.
    #[inline]
    pub fn seal(&mut self, id: ImageId, sequence: u64) {
        let image = &mut self.slab[id];
        image.oob.sequence = sequence;
        if (image.filled as usize) < self.slots {
            self.blank_rest(id, sequence);
        }
    }

    #[cold]
    fn blank_rest(&mut self, id: ImageId, sequence: u64) {
        let first = id.index() * self.slots;
        for at in first + self.slab[id].filled as usize..first + self.slots {
            self.tags[at] = OobTag::FILLER;
            self.payload[at] = P::default();
            self.jobs[at] = None;
            self.pins[at] = None;
            self.updates[at] = sequence;
        }
    }

    /// The image that is to be programmed into the page.
    pub fn of_page(&self, ppn: Ppn) -> Option<ImageId> {
        self.slab.used().find(|&id| self.slab[id].ppn == ppn)
    }

    /// Rank of the contents of each slot.
    #[inline(always)]
    pub fn updates(&self, id: ImageId) -> &[u64] {
        &self.updates[id.index() * self.slots..(id.index() + 1) * self.slots]
    }

    /// Another unit is to be released after the program.
    pub fn set_pin(&mut self, id: ImageId, index: u32, pin: Option<u32>) {
        self.pins[id.index() * self.slots + index as usize] = pin;
    }

    /// The image is parity of these.
    pub fn set_members(&mut self, id: ImageId, members: Vec<Member>) {
        self.members.insert(id, members);
    }

    /// The program of the image.
    #[inline(always)]
    pub fn program(&self, id: ImageId, ppn: Ppn, oob: Oob, now: SimTime) -> Program<'_, P> {
        let (tags, payload) = self.contents(id);
        let members = if self.members.is_empty() { None } else { self.members.get(&id) };
        let members = members.map_or(&[][..], Vec::as_slice);
        Program { ppn, tags, payload, updates: Some(self.updates(id)), members, oob, now }
    }

    /// The image is done with.
    #[inline]
    pub fn give(&mut self, id: ImageId) {
        if !self.members.is_empty() {
            self.members.remove(&id);
        }
        self.slab.give(id);
    }

    /// Tags and payloads, slot by slot.
    #[inline(always)]
    pub fn contents(&self, id: ImageId) -> (&[OobTag], &[P]) {
        let range = id.index() * self.slots..(id.index() + 1) * self.slots;
        (&self.tags[range.clone()], &self.payload[range])
    }

    /// Tag, waiting job and pinned unit of a slot.
    #[inline]
    pub fn slot(&self, id: ImageId, index: u32) -> (OobTag, Option<JobId>, Option<u32>) {
        let at = id.index() * self.slots + index as usize;
        (self.tags[at], self.jobs[at], self.pins[at])
    }
}
