//! Pins of contents that are under way in region logs: newer contents go back to the older ones that they superseded, if they find no
//! place themselves, and keep the unit of these until then.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::Writer;
use device::command::Verb;
use device::slab::ImageId;
use ftl::UnitId;
use nand::OobTag;
use std::collections::BTreeSet;
use vocab::Slot;

impl<P: FlashPayload> Writer<P> {
    /// Contents lie in slot `to` instead of `from`. Newer contents superseded them and go back to them if they find no
    /// place themselves: these keep the block where the old ones are. The unit that they kept before, to be released.
    pub fn move_pin(&self, core: &mut Core<P>, tag: OobTag, update: u64, from: Slot, to: Slot) -> Option<UnitId> {
        let kept = core.map.unit_of(to);
        let left = self.keep_for_newer(core, tag, update, from, Some(kept))?;
        core.map.pin(kept);
        Some(left)
    }

    /// The newest contents of the same page that are older, and are under way themselves: what the page goes back to if they
    /// reach flash. Their slot, which is where the map has them if they are current, and their rank.
    pub fn older_under_way(&self, core: &Core<P>, tag: OobTag, update: u64) -> Option<(Slot, u64)> {
        let images = &core.device.images;
        let older = self.slots_under_way(core, tag).into_iter().filter(|&(_, _, rank)| rank < update);
        let (id, index, rank) = older.max_by_key(|&(_, _, rank)| rank)?;
        Some((core.device.grid.slot(images.slab[id].ppn, index), rank))
    }

    /// Contents that were to lie in slot `failed` have no place. Newer contents superseded them and go back, if they find no place
    /// themselves, to what these had superseded, which is in unit `kept` or was nothing: they keep that unit from now on. The unit that
    /// they kept before, to be released; `None` if none are under way.
    pub fn keep_for_newer(
        &self,
        core: &mut Core<P>,
        tag: OobTag,
        update: u64,
        failed: Slot,
        kept: Option<UnitId>,
    ) -> Option<UnitId> {
        let left = core.map.unit_of(failed);
        let newer = self.slots_under_way(core, tag).into_iter().filter(|&(_, _, rank)| rank > update);
        let (id, index, _) = newer.min_by_key(|&(_, _, rank)| rank)?;
        if core.device.images.slot(id, index).2 != Some(left) {
            return None;
        }
        core.device.images.set_pin(id, index, kept);
        Some(left)
    }

    /// Slots of images with contents of such a page, with their ranks: of images that are filled, or on their way, or wait for another
    /// place, in the order of their numbers.
    fn slots_under_way(&self, core: &Core<P>, tag: OobTag) -> Vec<(ImageId, u32, u64)> {
        let (device, images) = (&core.device, &core.device.images);
        let of_dies = device.commands_of_dies().into_iter().map(|id| device.commands[id]);
        let commands = of_dies.chain(device.displaced.iter().copied());
        let programs = commands.filter(|command| command.verb == Verb::Program).map(|command| command.image);
        let under_way: BTreeSet<ImageId> = programs.chain(self.pages.open_images()).collect();
        let slots = under_way.into_iter().flat_map(|id| (0..images.slab[id].filled).map(move |index| (id, index)));
        let of_page = slots.filter(|&(id, index)| images.slot(id, index).0 == tag);
        of_page.map(|(id, index)| (id, index, images.updates(id)[index as usize])).collect()
    }
}
