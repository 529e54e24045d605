//! Several request sizes, uniformly random addresses.

use super::{GeneratorKind, Shape, Weighted, bad};
use vocab::{SECTOR_BYTES, Stream};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "mixed",
    about: "uniformly random addresses, sizes drawn by weight; smaller than a slot: at any sector; sizes",
    build: |workload, _| {
        let mut sizes = Vec::with_capacity(workload.sizes.len());
        for &(size, weight) in &workload.sizes {
            sizes.push((workload.sectors("sizes", size)?, weight));
        }
        let none = || bad("sizes", "no valid weight", "a list with weights of at least 0 and not all 0");
        let per_slot = workload.slot_size.0 / SECTOR_BYTES;
        let sizes = Weighted::new(&sizes).ok_or_else(none)?;
        Ok(Box::new(Mixed { sizes, per_slot, range: workload.slots * per_slot }))
    },
};

struct Mixed {
    sizes: Weighted,
    per_slot: u64,
    /// Sectors in all.
    range: u64,
}

impl Shape for Mixed {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        let sectors = self.sizes.draw(stream);
        let size = u64::from(sectors);
        let step = if size < self.per_slot { 1 } else { self.per_slot };
        (stream.below((self.range - size) / step + 1) * step, sectors)
    }
}
