//! Copies in flash to which a page goes back whose program failed and whose contents find no other place.

use crate::care::Care;
use crate::core::Core;
use crate::core::flash::FlashPayload;
use ftl::UnitState;
use nand::{FlashArray, OobTag};
use vocab::{BlockAddr, Slot};

impl<P: FlashPayload> Care<P> {
    /// The newest copy of such contents in flash that is not newer, with its rank, `but` that one. It may have been superseded
    /// by what failed just now while it was on its way itself; then its block is kept only because no one has erased it yet.
    pub fn newest_copy(&self, core: &Core<P>, tag: OobTag, update: u64, but: Slot) -> Option<(Slot, u64)> {
        let (array, grid) = (&core.device.array, &core.device.grid);
        let mut newest = None;
        for block in (0..grid.geometry().blocks()).map(BlockAddr).filter(|&block| self.keeps_pages(core, block)) {
            for ppn in (0..grid.pages_per_block()).map(|page| grid.ppn(block, page)).filter(|&ppn| core.device.is_stored(ppn)) {
                for index in (0..grid.slots_per_page()).filter(|&index| array.tags(ppn)[index as usize] == tag) {
                    let (rank, slot) = (array.update(ppn, index), grid.slot(ppn, index));
                    if slot != but && rank <= update {
                        newest = newest.max(Some((rank, array.page(ppn).oob.sequence, slot)));
                    }
                }
            }
        }
        newest.map(|(rank, _, slot)| (slot, rank))
    }

    /// Whether the pages of a block of a region log may be used: its die answers, and it is not being erased.
    fn keeps_pages(&self, core: &Core<P>, block: BlockAddr) -> bool {
        let unit = core.map.unit_of_block(block);
        let erased = self.collectors.iter().any(|collector| collector.erases(unit));
        let used = matches!(core.map.unit(unit).state, UnitState::Open | UnitState::Closed | UnitState::Condemned);
        used && !erased && core.device.array.answers(core.device.grid.ppn(block, 0))
    }
}
