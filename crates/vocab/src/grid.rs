//! A geometry ready for hot loops: the same conversions without a division.

use crate::{BlockAddr, ChannelId, DieId, Geometry, Ppn, Slot, SuperblockId};

/// Division of 32-bit numbers by a constant known at run time, as a multiplication.
///
/// With `m = ceil(2^64 / d)`, `n / d = (n * m) >> 64` for all 32-bit `n` and `d > 1`
/// (Granlund and Montgomery, PLDI 1994).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divider {
    divisor: u32,
    magic: u64,
}

impl Divider {
    /// Division by this number.
    ///
    /// # Panics
    /// If that is 0.
    #[must_use]
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0);
        Self { divisor, magic: if divisor == 1 { 0 } else { u64::MAX / u64::from(divisor) + 1 } }
    }

    /// The number divided by.
    #[inline(always)]
    #[must_use]
    pub fn divisor(self) -> u32 {
        self.divisor
    }

    /// Quotient and remainder of `n`.
    #[inline(always)]
    #[must_use]
    pub fn split(self, n: u32) -> (u32, u32) {
        if self.magic == 0 {
            return (n, 0);
        }
        let quotient = ((u128::from(n) * u128::from(self.magic)) >> 64) as u32;
        (quotient, n - quotient * self.divisor)
    }
}

/// A [`Geometry`] with its conversions prepared. `Geometry` says what each one means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    geometry: Geometry,
    by_slots_per_page: Divider,
    by_pages_per_block: Divider,
    by_slots_per_block: Divider,
    by_blocks_per_die: Divider,
    slots_per_page: u32,
    dies: u32,
    /// The channel of each die.
    channels: Vec<u16>,
}

impl Grid {
    /// Prepares a checked geometry.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        Self {
            by_slots_per_page: Divider::new(geometry.slots_per_page()),
            by_pages_per_block: Divider::new(geometry.pages_per_block),
            by_slots_per_block: Divider::new(geometry.pages_per_block * geometry.slots_per_page()),
            by_blocks_per_die: Divider::new(geometry.blocks_per_die()),
            slots_per_page: geometry.slots_per_page(),
            dies: geometry.dies(),
            channels: (0..geometry.dies()).map(|die| geometry.channel_of(DieId(die as u16)).0).collect(),
            geometry,
        }
    }

    /// The grid with more channels, each with as many dies as the others: every address stays
    /// what it was. New dies are numbered behind the old ones, in turn over the new channels.
    ///
    /// # Panics
    /// If there are to be fewer channels than before.
    #[must_use]
    pub fn grown(&self, channels: u32) -> Self {
        let (old, dies) = (self.geometry.channels, self.dies);
        assert!(channels >= old, "{channels} channels, {old} before");
        let mut grown = Self::new(Geometry { channels, ..self.geometry });
        grown.channels.clone_from(&self.channels);
        grown.channels.extend((dies..grown.dies).map(|die| (old + (die - dies) % (channels - old)) as u16));
        grown
    }

    /// The shape itself.
    #[must_use]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Dies of the drive.
    #[inline(always)]
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.dies
    }

    /// Logical pages in one physical page.
    #[inline(always)]
    #[must_use]
    pub fn slots_per_page(&self) -> u32 {
        self.slots_per_page
    }

    /// Pages of one block.
    #[inline(always)]
    #[must_use]
    pub fn pages_per_block(&self) -> u32 {
        self.by_pages_per_block.divisor
    }

    /// Blocks of one die.
    #[inline(always)]
    #[must_use]
    pub fn blocks_per_die(&self) -> u32 {
        self.by_blocks_per_die.divisor
    }

    /// The die's channel.
    #[inline]
    #[must_use]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(self.channels[die.index()])
    }

    /// Block `index` of a die.
    #[inline(always)]
    #[must_use]
    pub fn block(&self, die: DieId, index: u32) -> BlockAddr {
        BlockAddr(u32::from(die.0) * self.blocks_per_die() + index)
    }

    /// The die of a block, and the block's superblock.
    #[inline(always)]
    #[must_use]
    pub fn split_block(&self, block: BlockAddr) -> (DieId, SuperblockId) {
        let (die, index) = self.by_blocks_per_die.split(block.0);
        (DieId(die as u16), SuperblockId(index))
    }

    /// The die of a page.
    #[inline(always)]
    #[must_use]
    pub fn die_of(&self, ppn: Ppn) -> DieId {
        self.split_block(self.split(ppn).0).0
    }

    /// Page `page` of a block.
    #[inline(always)]
    #[must_use]
    pub fn ppn(&self, block: BlockAddr, page: u32) -> Ppn {
        Ppn(block.0 * self.pages_per_block() + page)
    }

    /// The block of a page, and the page's number within it.
    #[inline(always)]
    #[must_use]
    pub fn split(&self, ppn: Ppn) -> (BlockAddr, u32) {
        let (block, page) = self.by_pages_per_block.split(ppn.0);
        (BlockAddr(block), page)
    }

    /// The block of a slot.
    #[inline(always)]
    #[must_use]
    pub fn block_of(&self, slot: Slot) -> BlockAddr {
        BlockAddr(self.by_slots_per_block.split(slot.0).0)
    }

    /// Slot `index` of a page.
    #[inline(always)]
    #[must_use]
    pub fn slot(&self, ppn: Ppn, index: u32) -> Slot {
        Slot(ppn.0 * self.slots_per_page + index)
    }

    /// The page of a slot, and the slot's number within it.
    #[inline(always)]
    #[must_use]
    pub fn page_of(&self, slot: Slot) -> (Ppn, u32) {
        let (ppn, index) = self.by_slots_per_page.split(slot.0);
        (Ppn(ppn), index)
    }
}

#[cfg(test)]
mod tests {
    use super::{Divider, Grid};
    use crate::{Bytes, ChannelId, DieId, Geometry, PlaneUse, Slot};

    /// Two channels of two dies of five blocks, with pages of this many bytes.
    fn geometry(page: u64, pages_per_block: u32) -> Geometry {
        Geometry {
            channels: 2,
            dies_per_channel: 2,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: 5,
            pages_per_block,
            page_size: Bytes(page),
            oob_size: Bytes(64),
            slot_size: Bytes(4096),
        }
    }

    #[test]
    fn a_grown_grid_keeps_addresses_and_channels() {
        let geometry = geometry(4096, 3);
        let (old, new) = (Grid::new(geometry), Grid::new(geometry).grown(5));
        for die in (0..4).map(DieId) {
            assert_eq!(old.channel_of(die), new.channel_of(die));
            assert_eq!(old.ppn(old.block(die, 3), 2), new.ppn(new.block(die, 3), 2));
        }
        let channels: Vec<_> = (0..10).map(|die| new.channel_of(DieId(die))).collect();
        assert_eq!(channels, [0, 1, 0, 1, 2, 3, 4, 2, 3, 4].map(ChannelId));
    }

    #[test]
    fn the_block_of_a_slot_is_that_of_its_page() {
        for (page, pages_per_block) in [(4096, 1), (4096, 256), (16384, 3)] {
            let geometry = geometry(page, pages_per_block);
            let grid = Grid::new(geometry);
            for slot in (0..geometry.slots()).map(Slot) {
                assert_eq!(grid.block_of(slot), grid.split(grid.page_of(slot).0).0);
            }
        }
    }

    #[test]
    fn division_by_multiplication_is_exact() {
        let divisors = (1..300).chain([1152, 4096, 65_535, 65_536, 999_983, u32::MAX - 1, u32::MAX]);
        for d in divisors {
            let near = (0..40u32).flat_map(|k| [k, u32::MAX - k, (d - 1).wrapping_mul(k), d.wrapping_mul(k)]);
            for n in near {
                assert_eq!(Divider::new(d).split(n), (n / d, n % d), "{n} / {d}");
            }
        }
    }
}
