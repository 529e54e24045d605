//! The shape of a drive, and every conversion between physical addresses.

use crate::{BlockAddr, Bytes, ChannelId, DieId, Ppn, Slot, SuperblockId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the planes of a die work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneUse {
    /// A die runs one command on one plane at a time; planes only number its blocks.
    Single,
    /// Same-index blocks of all planes are erased, and same-index pages programmed, as one
    /// (multi-plane commands): to the map, block and page are `planes` times as large.
    Ganged,
}

/// Shape of a drive: a tree of channels, dies, planes, blocks and pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Channels, each a bus shared by its dies.
    #[schemars(range(min = 1, max = Self::CHANNELS_MAX))]
    pub channels: u32,
    /// Dies on each channel.
    #[schemars(range(min = 1, max = Self::DIES_PER_CHANNEL_MAX))]
    pub dies_per_channel: u32,
    /// Planes of each die.
    #[schemars(range(min = 1, max = Self::PLANES_MAX))]
    pub planes: u32,
    /// How the planes of a die work together.
    pub plane_use: PlaneUse,
    /// Blocks of each plane.
    #[schemars(range(min = Self::BLOCKS_PER_PLANE_MIN, max = Self::BLOCKS_PER_PLANE_MAX))]
    pub blocks_per_plane: u32,
    /// Pages of each block.
    #[schemars(range(min = 1, max = Self::PAGES_PER_BLOCK_MAX))]
    pub pages_per_block: u32,
    /// Data bytes of one page of one plane.
    #[schemars(extend("formatMinimum" = Bytes(crate::SECTOR_BYTES), "formatMaximum" = Self::PAGE_MAX, "x-valid" = "a multiple of `slot_size`"))]
    pub page_size: Bytes,
    /// Out-of-band bytes beside each page.
    #[schemars(extend("formatMaximum" = Self::OOB_MAX))]
    pub oob_size: Bytes,
    /// Bytes of one logical page (slot); divides the page size.
    #[schemars(extend("formatMinimum" = Bytes(crate::SECTOR_BYTES), "formatMaximum" = Self::SLOT_MAX, "x-valid" = "a multiple of 512B"))]
    pub slot_size: Bytes,
}

/// A geometry that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("geometry.{field}: {reason}")]
pub struct GeometryError {
    /// The field at fault.
    pub field: &'static str,
    /// The defect, and the valid values.
    pub reason: String,
}

impl Geometry {
    /// Most channels.
    pub const CHANNELS_MAX: u32 = 256;
    /// Most dies on a channel: with all channels, `DieId` numbers them.
    pub const DIES_PER_CHANNEL_MAX: u32 = 256;
    /// Most planes of a die.
    pub const PLANES_MAX: u32 = 64;
    /// Fewest blocks of a plane: some are kept free, one is written.
    pub const BLOCKS_PER_PLANE_MIN: u32 = 4;
    /// Most blocks of a plane.
    pub const BLOCKS_PER_PLANE_MAX: u32 = 1 << 24;
    /// Most pages of a block.
    pub const PAGES_PER_BLOCK_MAX: u32 = 1 << 16;
    /// Largest page of a plane.
    pub const PAGE_MAX: Bytes = Bytes(1 << 22);
    /// Most OOB bytes beside a page.
    pub const OOB_MAX: Bytes = Bytes(1 << 16);
    /// Largest logical page.
    pub const SLOT_MAX: Bytes = Bytes(1 << 20);

    /// Checks that every count is positive and every address fits its type.
    ///
    /// # Errors
    /// Names the first field at fault.
    pub fn check(&self) -> Result<(), GeometryError> {
        let fail = |field, reason: String| Err(GeometryError { field, reason });
        let counts = [
            ("channels", self.channels, Self::CHANNELS_MAX),
            ("dies_per_channel", self.dies_per_channel, Self::DIES_PER_CHANNEL_MAX),
            ("planes", self.planes, Self::PLANES_MAX),
            ("blocks_per_plane", self.blocks_per_plane, Self::BLOCKS_PER_PLANE_MAX),
            ("pages_per_block", self.pages_per_block, Self::PAGES_PER_BLOCK_MAX),
        ];
        for (field, value, most) in counts {
            if value == 0 || value > most {
                return fail(field, format!("found {value}, valid are 1 to {most}"));
            }
        }
        if self.blocks_per_plane < Self::BLOCKS_PER_PLANE_MIN {
            let least = Self::BLOCKS_PER_PLANE_MIN;
            return fail("blocks_per_plane", format!("found {}, at least {least} are needed", self.blocks_per_plane));
        }
        if self.slot_size.0 < crate::SECTOR_BYTES
            || !self.slot_size.0.is_multiple_of(crate::SECTOR_BYTES)
            || self.slot_size > Self::SLOT_MAX
        {
            return fail("slot_size", format!("found {}, valid are multiples of 512B up to {}", self.slot_size, Self::SLOT_MAX));
        }
        if self.page_size.0 == 0 || !self.page_size.0.is_multiple_of(self.slot_size.0) || self.page_size > Self::PAGE_MAX {
            return fail(
                "page_size",
                format!("found {}, valid are multiples of slot_size {} up to {}", self.page_size, self.slot_size, Self::PAGE_MAX),
            );
        }
        if self.oob_size > Self::OOB_MAX {
            return fail("oob_size", format!("found {}, valid are up to {}", self.oob_size, Self::OOB_MAX));
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
