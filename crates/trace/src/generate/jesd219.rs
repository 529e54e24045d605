//! A workload like the enterprise one of JEDEC JESD219.
//!
//! Sizes: 4 KiB 67 %, 8 KiB 10 %, 16 KiB 7 %, 32 KiB 3 %, 64 KiB 3 %, and 0.5 to 3.5 KiB 10 %
//! (512 B 4 %, the others 1 % each). Addresses: 50 % of the requests to the first 5 % of the
//! range, 30 % to the next 15 %, 20 % to the rest, uniform within each. Requests of 4 KiB and
//! more are aligned to 4 KiB. The standard reads 40 %; here `read_fraction` says.

use super::{GeneratorKind, Shape, Weighted, bad};
use vocab::{Bytes, SECTOR_BYTES, Stream};

pub(super) const KIND: GeneratorKind = GeneratorKind {
    name: "jesd219-like",
    about: "enterprise endurance workload: 0.5 to 64 KiB, half of it to 5 % of the range; writes only, unless read_fraction is set",
    build: |workload, _| {
        let range = workload.slots * (workload.slot_size.0 / SECTOR_BYTES);
        if range < LEAST.0 / SECTOR_BYTES {
            return Err(bad("slots", workload.slots, "a range of at least 2MiB, so that each zone holds 64KiB"));
        }
        let none = || bad("sizes", "no weight", "the sizes of JESD219");
        Ok(Box::new(Jesd219 { sizes: Weighted::new(&SIZES).ok_or_else(none)?, range }))
    },
};

/// Smallest range: its first 5 % hold the largest request.
const LEAST: Bytes = Bytes(2 << 20);

/// Sectors and percent.
const SIZES: [(u64, f64); 12] = [
    (1, 4.0),
    (2, 1.0),
    (3, 1.0),
    (4, 1.0),
    (5, 1.0),
    (6, 1.0),
    (7, 1.0),
    (8, 67.0),
    (16, 10.0),
    (32, 7.0),
    (64, 3.0),
    (128, 3.0),
];

/// Sectors of 4 KiB, the alignment of everything that is not smaller.
const ALIGNMENT: u64 = 8;

struct Jesd219 {
    sizes: Weighted,
    /// Sectors in all.
    range: u64,
}

impl Jesd219 {
    /// First sector and end of the zone of the next request, in whole 4 KiB.
    fn zone(&self, stream: &mut Stream) -> (u64, u64) {
        let percent = |share: u64| (u128::from(self.range) * u128::from(share) / 100) as u64 / ALIGNMENT * ALIGNMENT;
        let draw = stream.unit();
        if draw < 0.5 {
            (0, percent(5))
        } else if draw < 0.8 {
            (percent(5), percent(20))
        } else {
            (percent(20), self.range)
        }
    }
}

impl Shape for Jesd219 {
    fn next(&mut self, stream: &mut Stream) -> (u64, u32) {
        let (first, end) = self.zone(stream);
        let sectors = self.sizes.draw(stream);
        let size = u64::from(sectors);
        let step = if size < ALIGNMENT { 1 } else { ALIGNMENT };
        (first + stream.below((end - first - size) / step + 1) * step, sectors)
    }
}
