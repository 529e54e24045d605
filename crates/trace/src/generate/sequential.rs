//! One request after the other; back to the start where the next does not fit.

use super::{GeneratorKind, Shape};
use vocab::{SECTOR_BYTES, Stream};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "sequential",
    about: "ascending addresses without gaps, over and over; request_size",
    build: |workload, _| {
        let sectors = workload.sectors("request_size", workload.request_size)?;
        let range = workload.slots * (workload.slot_size.0 / SECTOR_BYTES);
        Ok(Box::new(Sequential { next: 0, sectors: sectors as u32, range }))
    },
};

struct Sequential {
    next: u64,
    sectors: u32,
    range: u64,
}

impl Shape for Sequential {
    fn next(&mut self, _: &mut Stream) -> (u64, u32) {
        let size = u64::from(self.sectors);
        let start = if self.next + size > self.range { 0 } else { self.next };
        self.next = start + size;
        (start, self.sectors)
    }
}
