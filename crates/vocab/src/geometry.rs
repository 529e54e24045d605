//! The shape of a drive, and every conversion between physical addresses.

use crate::{BlockAddr, Bytes, ChannelId, DieId, Ppn, Slot, SuperblockId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the planes of a die work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneUse {
    /// A die runs one command on one plane at a time; planes only number its blocks.
    Single,
    /// Same-index blocks of all planes are erased, and same-index pages programmed, as one
    /// (multi-plane commands): to the map, block and page are `planes` times as large.
    Ganged,
}

/// Shape of a drive: a tree of channels, dies, planes, blocks and pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels, each a bus shared by its dies.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of each die.
    pub planes: u32,
    /// How the planes of a die work together.
    pub plane_use: PlaneUse,
    /// Blocks of each plane.
    pub blocks_per_plane: u32,
    /// Pages of each block.
    pub pages_per_block: u32,
    /// Data bytes of one page of one plane.
    pub page_size: Bytes,
    /// Out-of-band bytes beside each page.
    pub oob_size: Bytes,
    /// Bytes of one logical page (slot); divides the page size.
    pub slot_size: Bytes,
}

/// A geometry that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometryError {
    /// The field at fault.
    pub field: &'static str,
    /// What is wrong and what would be valid.
    pub reason: String,
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "geometry.{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for GeometryError {}

impl Geometry {
    /// Checks that every count is positive and every address fits its type.
    ///
    /// # Errors
    /// Names the first field at fault.
    pub fn check(&self) -> Result<(), GeometryError> {
        let fail = |field, reason: String| Err(GeometryError { field, reason });
        let counts = [
            ("channels", self.channels, 256),
            ("dies_per_channel", self.dies_per_channel, 256),
            ("planes", self.planes, 64),
            ("blocks_per_plane", self.blocks_per_plane, 1 << 24),
            ("pages_per_block", self.pages_per_block, 1 << 16),
        ];
        for (field, value, most) in counts {
            if value == 0 || value > most {
                return fail(field, format!("found {value}, valid are 1 to {most}"));
            }
        }
        if self.blocks_per_plane < 4 {
            return fail("blocks_per_plane", format!("found {}, at least 4 are needed", self.blocks_per_plane));
        }
        if self.slot_size.0 < crate::SECTOR_BYTES
            || !self.slot_size.0.is_multiple_of(crate::SECTOR_BYTES)
            || self.slot_size.0 > 1 << 20
        {
            return fail("slot_size", format!("found {}, valid are multiples of 512B up to 1MiB", self.slot_size));
        }
        if self.page_size.0 == 0 || !self.page_size.0.is_multiple_of(self.slot_size.0) || self.page_size.0 > 1 << 22 {
            return fail(
                "page_size",
                format!("found {}, valid are multiples of slot_size {} up to 4MiB", self.page_size, self.slot_size),
            );
        }
        if self.oob_size.0 > 1 << 16 {
            return fail("oob_size", format!("found {}, valid are up to 64KiB", self.oob_size));
        }
        let slots = [self.channels, self.dies_per_channel, self.planes, self.blocks_per_plane, self.pages_per_block]
            .iter()
            .fold((self.page_size.0 / self.slot_size.0) as u128, |product, &n| product * u128::from(n));
        if slots >= 1 << 30 {
            return fail("blocks_per_plane", format!("{slots} slots in all, at most {} can be addressed", (1u64 << 30) - 1));
        }
        Ok(())
    }

    /// Dies of the drive.
    #[must_use]
    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    fn gang(&self) -> u32 {
        match self.plane_use {
            PlaneUse::Single => 1,
            PlaneUse::Ganged => self.planes,
        }
    }

    /// Blocks of one die as the map sees them.
    #[must_use]
    pub fn blocks_per_die(&self) -> u32 {
        self.blocks_per_plane * (self.planes / self.gang())
    }

    /// Blocks of the drive as the map sees them.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.blocks_per_die() * self.dies()
    }

    /// Pages of the drive.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// Logical pages that one program command stores.
    #[must_use]
    pub fn slots_per_page(&self) -> u32 {
        (self.page_size.0 / self.slot_size.0) as u32 * self.gang()
    }

    /// Slots of the drive.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.pages() * self.slots_per_page()
    }

    /// Data bytes that one program command stores.
    #[must_use]
    pub fn program_size(&self) -> Bytes {
        Bytes(self.page_size.0 * u64::from(self.gang()))
    }

    /// Data bytes of the whole drive.
    #[must_use]
    pub fn raw_size(&self) -> Bytes {
        Bytes(u64::from(self.slots()) * self.slot_size.0)
    }

    /// Sectors of one logical page.
    #[must_use]
    pub fn sectors_per_slot(&self) -> u32 {
        (self.slot_size.0 / crate::SECTOR_BYTES) as u32
    }

    /// The die's channel: neighbouring dies sit on different channels.
    #[inline]
    #[must_use]
    pub fn channel_of(&self, die: DieId) -> ChannelId {
        ChannelId(die.0 % self.channels as u16)
    }

    /// Block `index` of a die.
    #[inline]
    #[must_use]
    pub fn block(&self, die: DieId, index: u32) -> BlockAddr {
        debug_assert!(index < self.blocks_per_die());
        BlockAddr(u32::from(die.0) * self.blocks_per_die() + index)
    }

    /// The die a block belongs to.
    #[inline]
    #[must_use]
    pub fn die_of(&self, block: BlockAddr) -> DieId {
        DieId((block.0 / self.blocks_per_die()) as u16)
    }

    /// The superblock a block belongs to: its index within its die.
    #[inline]
    #[must_use]
    pub fn superblock_of(&self, block: BlockAddr) -> SuperblockId {
        SuperblockId(block.0 % self.blocks_per_die())
    }

    /// Page `page` of a block.
    #[inline]
    #[must_use]
    pub fn ppn(&self, block: BlockAddr, page: u32) -> Ppn {
        debug_assert!(page < self.pages_per_block);
        Ppn(block.0 * self.pages_per_block + page)
    }

    /// The block of a page, and the page's number within it.
    #[inline]
    #[must_use]
    pub fn split(&self, ppn: Ppn) -> (BlockAddr, u32) {
        (BlockAddr(ppn.0 / self.pages_per_block), ppn.0 % self.pages_per_block)
    }

    /// Slot `index` of a page.
    #[inline]
    #[must_use]
    pub fn slot(&self, ppn: Ppn, index: u32) -> Slot {
        debug_assert!(index < self.slots_per_page());
        Slot(ppn.0 * self.slots_per_page() + index)
    }

    /// The page of a slot, and the slot's number within it.
    #[inline]
    #[must_use]
    pub fn page_of(&self, slot: Slot) -> (Ppn, u32) {
        (Ppn(slot.0 / self.slots_per_page()), slot.0 % self.slots_per_page())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(plane_use: PlaneUse) -> Geometry {
        Geometry {
            channels: 3,
            dies_per_channel: 2,
            planes: 2,
            plane_use,
            blocks_per_plane: 5,
            pages_per_block: 7,
            page_size: Bytes(16384),
            oob_size: Bytes(64),
            slot_size: Bytes(4096),
        }
    }

    #[test]
    fn every_slot_has_one_place_and_every_place_one_slot() {
        for plane_use in [PlaneUse::Single, PlaneUse::Ganged] {
            let g = small(plane_use);
            let mut next = 0;
            for die in 0..g.dies() as u16 {
                for index in 0..g.blocks_per_die() {
                    let block = g.block(DieId(die), index);
                    assert_eq!((g.die_of(block), g.superblock_of(block)), (DieId(die), SuperblockId(index)));
                    for page in 0..g.pages_per_block {
                        let ppn = g.ppn(block, page);
                        assert_eq!(g.split(ppn), (block, page));
                        for i in 0..g.slots_per_page() {
                            assert_eq!(g.slot(ppn, i), Slot(next));
                            assert_eq!(g.page_of(Slot(next)), (ppn, i));
                            next += 1;
                        }
                    }
                }
            }
            assert_eq!(next, g.slots());
            assert_eq!(g.raw_size(), Bytes(3 * 2 * 2 * 5 * 7 * 16384));
        }
    }

    #[test]
    fn impossible_shapes_are_refused_by_name() {
        let good = small(PlaneUse::Single);
        assert_eq!(good.check(), Ok(()));
        let cases: [(&str, Geometry); 4] = [
            ("channels", Geometry { channels: 0, ..good }),
            ("page_size", Geometry { page_size: Bytes(5000), ..good }),
            ("slot_size", Geometry { slot_size: Bytes(100), ..good }),
            ("blocks_per_plane", Geometry { blocks_per_plane: 1 << 24, pages_per_block: 1 << 12, ..good }),
        ];
        for (field, geometry) in cases {
            assert_eq!(geometry.check().unwrap_err().field, field);
        }
    }
}
