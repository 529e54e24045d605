//! Names that the pages of a stripe have for each other: each names the contents that the stripe was made of when it
//! was programmed. A mount goes by these names.

use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::write::stripes::Stripes;
use crate::write::stripes::partial::StripeVersions;
use device::slab::ImageId;
use ftl::Place;
use nand::{Member, OobTag, PageRole};
use vocab::{Lpn, Slot, StripSet, StripeId};

impl<P: FlashPayload> Stripes<P> {
    /// The current contents have this rank; 0: there are none.
    pub fn note_version(&mut self, role: PageRole, rank: u64) {
        let version = match role {
            PageRole::Data(lpn) => self.versions.get_mut(lpn.index()),
            PageRole::Parity(stripe) => self.parity_versions.get_mut(stripe.index()),
            PageRole::Filler => None,
        };
        version.into_iter().for_each(|version| *version = rank);
    }

    /// Versions that make up the stripe since the update of this rank.
    pub fn versions_of_stripe(&self, core: &Core<P>, stripe: StripeId, rank: u64) -> StripeVersions {
        let stored = |strip| self.place_of_strip(core, stripe, strip) != Place::Unmapped;
        let version = |strip| if stored(strip) { self.version_of_strip(core, stripe, strip) } else { 0 };
        let strips = (0..self.data_strips()).map(version).collect();
        StripeVersions { strips, parity: self.parity_versions[stripe.index()], rank }
    }

    /// Rank of the contents of a strip, parity among them.
    pub fn version_of_strip(&self, core: &Core<P>, stripe: StripeId, strip: u32) -> u64 {
        let version = match self.lpn_of(core, stripe, strip).filter(|_| strip < self.data_strips()) {
            Some(lpn) => self.versions.get(lpn.index()),
            None => self.parity_versions.get(stripe.index()),
        };
        version.copied().unwrap_or(0)
    }

    /// Rank of the newest contents of a stripe.
    pub fn newest_of_stripe(&self, core: &Core<P>, stripe: StripeId) -> u64 {
        (0..self.data_strips()).map(|strip| self.version_of_strip(core, stripe, strip)).max().unwrap_or(0)
    }

    /// The image is a page of the stripe: it names what the stripe is made of once the update of this
    /// rank has written these strips. Strips are found by their number: where they lie is not said.
    pub fn tell_strips(&self, core: &mut Core<P>, image: ImageId, stripe: StripeId, written: StripSet, rank: u64) {
        if !core.is_mountable() {
            return;
        }
        let version = |strip: u32, lpn: Lpn| {
            let is_stored = core.map.lookup(lpn) != Place::Unmapped;
            if written.contains(strip) { Some(rank) } else { is_stored.then(|| self.versions[lpn.index()]) }
        };
        let members = self.members_of_stripe(core, stripe, version);
        core.device.images.set_members(image, members);
    }

    /// The image is the stored parity once more: where a partial parity has newer contents of a strip, it
    /// sums the older ones.
    pub fn tell_strips_of_stored_parity(&self, core: &mut Core<P>, image: ImageId, stripe: StripeId) {
        if !core.is_mountable() {
            return;
        }
        let partial = self.held.get(stripe);
        let version = |strip: u32, lpn: Lpn| {
            let old = partial.and_then(|partial| partial.old_place(strip));
            match old.unwrap_or_else(|| core.map.lookup(lpn)) {
                Place::Unmapped => None,
                Place::At(slot) if old.is_some() => {
                    let (ppn, index) = core.device.grid.page_of(slot);
                    Some(core.device.update_at(ppn, index))
                }
                // The sum's contents of that strip are lost, and so is their rank: it differs from the rank of the newer
                // contents. Ranks are given once, so no other contents of the strip have it either.
                Place::Missing if old.is_some() => Some(self.versions[lpn.index()] - 1),
                _ => Some(self.versions[lpn.index()]),
            }
        };
        let members = self.members_of_stripe(core, stripe, version);
        core.device.images.set_members(image, members);
    }

    fn members_of_stripe(&self, core: &Core<P>, stripe: StripeId, version: impl Fn(u32, Lpn) -> Option<u64>) -> Vec<Member> {
        let member = |strip: u32| {
            let lpn = self.lpn_of(core, stripe, strip)?;
            Some(Member { slot: Slot(u32::MAX), tag: OobTag::data(lpn), update: version(strip, lpn)? })
        };
        (0..self.data_strips()).filter_map(member).collect()
    }
}
