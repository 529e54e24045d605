//! Flash as someone finds it who takes it apart page by page: for checks that share no arithmetic with the engine.

use crate::core::flash::FlashPayload;
use crate::core::sorted::sorted;
use crate::engine::Engine;
use crate::session::{Session, inside};
use crate::write::groups::GroupInfo;
use nand::{FlashArray, PageRole, PageScan, Scan};
use protect::Strip;
use std::collections::BTreeMap;
use vocab::{Ppn, StripSet, SuperblockId};

/// A page that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPage {
    /// Contents of each slot, and its bytes; none at all are zeros.
    pub slots: Vec<(PageRole, Vec<u8>)>,
    /// Strips, or dies, that the page covers by its own account.
    pub coverage: StripSet,
}

/// Which symbol of which codeword each die of a block group holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParityMap {
    /// Data symbols of a codeword.
    pub data: u32,
    /// Parity symbols of a codeword.
    pub parity: u32,
    /// The dies.
    pub strips: Vec<Strip>,
}

/// All pages that can be read, and the parity maps of block groups by superblock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawFlash {
    /// Pages that are programmed, whole, and not lost.
    pub pages: BTreeMap<Ppn, RawPage>,
    /// Of a drive that writes block groups.
    pub groups: BTreeMap<u32, ParityMap>,
}

impl Session {
    /// Contents of flash, read past the engine and its page ECC.
    #[must_use]
    pub fn raw_flash(&self) -> RawFlash {
        inside!(self.inner(), prepared => raw_flash(&prepared.engine))
    }
}

fn raw_flash<P: FlashPayload>(engine: &Engine<P>) -> RawFlash {
    let (core, groups) = (&engine.core, engine.writer.groups_if_any());
    let page = |ppn: Ppn| {
        let PageScan::Valid(found) = core.device.array.scan_page(ppn) else { return None };
        let roles = found.tags.iter().map(|tag| tag.role());
        let slots = roles.zip(core.device.array.payload(ppn)).map(|(role, payload)| (role, payload.raw())).collect();
        Some((ppn, RawPage { slots, coverage: found.oob.coverage }))
    };
    let map = |(group, info): (u32, Option<GroupInfo>)| {
        let (groups, info) = (groups?, info?);
        let (code, stripe) = (groups.codes[info.code].0, groups.stripe_of(SuperblockId(group), &info));
        Some((group, ParityMap { data: code.data, parity: code.parity, strips: stripe.strips }))
    };
    RawFlash {
        pages: sorted((0..core.device.grid.geometry().pages()).map(Ppn).filter_map(page)),
        groups: sorted((0..).zip(groups.iter().flat_map(|groups| groups.info.iter().copied())).filter_map(map)),
    }
}
