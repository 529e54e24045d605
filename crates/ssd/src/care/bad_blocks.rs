//! Blocks that fail in service: a program that failed goes elsewhere, and what the block
//! still held is collected out of turn, which brings it back onto good flash.

use crate::care::Care;
use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::pages::PageWriter;
use device::command::Verb;
use device::slab::ImageId;
use ftl::UnitId;
use ftl::UnitState;
use nand::{FlashArray, OobTag};
use std::collections::BTreeSet;
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

/// Contents lie in slot `to` instead of `from`. Newer contents superseded them and go back to them if they find no
/// place themselves: these keep the block where the old ones are. The unit that they kept before, to be released.
pub(crate) fn move_pin<P: FlashPayload>(
    core: &mut Core<P>,
    pages: &PageWriter,
    tag: OobTag,
    update: u64,
    from: Slot,
    to: Slot,
) -> Option<UnitId> {
    let kept = core.map.unit_of(to);
    let left = keep_for_newer(core, pages, tag, update, from, Some(kept))?;
    core.map.pin(kept);
    Some(left)
}

/// Contents that were to lie in slot `failed` have no place. Newer contents superseded them and go back, if they find
/// no place themselves, to what these had superseded: that is in the pinned unit `kept`, or was nothing. The unit to be
/// released: the one that the newer contents kept before, or `kept` if there are none under way.
pub(crate) fn pass_pin_on<P: FlashPayload>(
    core: &mut Core<P>,
    pages: &PageWriter,
    tag: OobTag,
    update: u64,
    failed: Slot,
    kept: Option<UnitId>,
) -> Option<UnitId> {
    keep_for_newer(core, pages, tag, update, failed, kept).or(kept)
}

/// The newest contents of the same page that are older, and are under way themselves: what the page goes back to if they
/// reach flash. Their slot, which is where the map has them if they are current, and their rank.
pub(crate) fn older_under_way<P: FlashPayload>(
    core: &Core<P>,
    pages: &PageWriter,
    tag: OobTag,
    update: u64,
) -> Option<(Slot, u64)> {
    let images = &core.device.images;
    let slots =
        images_under_way(core, pages).into_iter().flat_map(|id| (0..images.slab[id].filled).map(move |index| (id, index)));
    let older = slots.filter(|&(id, index)| images.slot(id, index).0 == tag && images.updates(id)[index as usize] < update);
    let (id, index) = older.max_by_key(|&(id, index)| images.updates(id)[index as usize])?;
    Some((core.device.grid.slot(images.slab[id].ppn, index), images.updates(id)[index as usize]))
}

/// The contents that superseded those of slot `from`, if they are under way and keep its unit, keep another from now
/// on. The unit that they kept before.
fn keep_for_newer<P: FlashPayload>(
    core: &mut Core<P>,
    pages: &PageWriter,
    tag: OobTag,
    update: u64,
    from: Slot,
    kept: Option<UnitId>,
) -> Option<UnitId> {
    let left = core.map.unit_of(from);
    let images = &core.device.images;
    let slots =
        images_under_way(core, pages).into_iter().flat_map(|id| (0..images.slab[id].filled).map(move |index| (id, index)));
    let newer = slots.filter(|&(id, index)| images.slot(id, index).0 == tag && images.updates(id)[index as usize] > update);
    let (id, index) = newer.min_by_key(|&(id, index)| images.updates(id)[index as usize])?;
    if images.slot(id, index).2 != Some(left) {
        return None;
    }
    core.device.images.set_pin(id, index, kept);
    Some(left)
}

/// Pages that are filled, or on their way, or wait for another place.
fn images_under_way<P: FlashPayload>(core: &Core<P>, pages: &PageWriter) -> BTreeSet<ImageId> {
    let device = &core.device;
    let of_dies = device.commands_of_dies().into_iter().map(|id| device.commands[id]);
    let commands = of_dies.chain(device.displaced.iter().copied());
    let programs = commands.filter(|command| command.verb == Verb::Program).map(|command| command.image);
    programs.chain(pages.open_images()).collect()
}
