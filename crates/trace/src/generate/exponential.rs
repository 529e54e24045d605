//! Sizes drawn from an exponential distribution, at any sector: the random requests of DiskSim.

use super::{GeneratorKind, Shape};
use vocab::Stream;

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "exponential",
    about: "uniformly random sectors, exponential sizes of at least a sector; request_size is their mean",
    build: |workload, _| {
        let mean = workload.sectors("request_size", workload.request_size)?;
        let range = workload.slots * (workload.slot_size.0 / vocab::SECTOR_BYTES);
        Ok(Box::new(Exponential { mean, range, most: range.min(crate::REQUEST_LIMIT.0 / vocab::SECTOR_BYTES) }))
    },
};

struct Exponential {
    /// Mean size, before it is rounded up to sectors.
    mean: u64,
    /// Sectors in all.
    range: u64,
    /// Sectors of a request at most.
    most: u64,
}

impl Shape for Exponential {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        // 1 - unit lies in (0, 1], so the logarithm is finite.
        let size = -(1.0 - stream.unit()).ln() * self.mean as f64;
        let sectors = (size.ceil() as u64).clamp(1, self.most);
        (stream.below(self.range - sectors + 1), sectors as u32)
    }
}
