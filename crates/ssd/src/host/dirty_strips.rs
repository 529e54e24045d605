//! Which pages of static stripes are dirty in the write buffer.

use rustc_hash::FxHashMap;
use vocab::StripSet;

/// Which pages of each stripe are dirty: a write asks for that once, instead of for each page of its stripe.
#[derive(Clone, Debug)]
pub(super) struct DirtyStrips {
    /// Data strips of a stripe.
    width: u32,
    /// Of each stripe with any.
    of: FxHashMap<u32, StripSet>,
}

impl DirtyStrips {
    pub fn new(width: u32) -> Self {
        Self { width, of: FxHashMap::default() }
    }

    pub fn insert(&mut self, lpn: u32) {
        self.of.entry(lpn / self.width).or_default().insert(lpn % self.width);
    }

    pub fn remove(&mut self, lpn: u32) {
        if let Some(strips) = self.of.get_mut(&(lpn / self.width)) {
            strips.remove(lpn % self.width);
            if strips.is_empty() {
                self.of.remove(&(lpn / self.width));
            }
        }
    }

    /// The dirty pages of the page's stripe but itself, in order.
    pub fn mates(&self, lpn: u32) -> impl Iterator<Item = u32> + use<> {
        let (stripe, strip) = (lpn / self.width, lpn % self.width);
        let first = stripe * self.width;
        let strips = self.of.get(&stripe).copied().unwrap_or_default().minus(StripSet::one(strip));
        strips.iter().map(move |strip| first + strip)
    }
}
