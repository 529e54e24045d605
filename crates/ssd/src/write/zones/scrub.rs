//! Proof of code zones: valid code is the sum of the data as they are now.

use crate::engine::Engine;
use crate::proof::{CodePage, Scrub};
use device::contents::HostPayload;
use ftl::Place;
use nand::FlashArray;
use protect::code_zones::{CodeGroupId, CodeLine, CodeZones};
use vocab::{Lpn, Ppn};

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    /// Every page of valid code.
    pub(crate) fn code_pages(&self, zones: &CodeZones) -> Vec<CodePage> {
        let layout = zones.layout();
        let groups = (0..layout.data_zones() * layout.zone_groups()).map(CodeGroupId);
        let coded = groups.filter_map(|group| zones.stamp(group));
        let pages = coded.flat_map(|stamp| {
            let lines = (0..layout.stripe_pages()).map(move |page| CodeLine { group: stamp.group, page });
            lines.flat_map(move |line| {
                layout.graph().code().iter().enumerate().map(move |(i, sum)| {
                    let page = |block| layout.block_page(line, stamp.code_zone, block);
                    let place = self.core.map.lookup(page(layout.graph().data() + i));
                    let is_user = |lpn: &Lpn| lpn.0 < self.core.map.user_slots();
                    CodePage { place, of: sum.iter().map(page).filter(is_user).collect() }
                })
            })
        });
        pages.collect()
    }

    pub(crate) fn scrub_zones(&self, zones: &CodeZones) -> Result<Scrub, String> {
        assert!(self.has_no_lazy_reads() && self.has_no_encodes(), "scrub the drive after it was drained");
        let mut found = Scrub::default();
        for CodePage { place, of } in self.code_pages(zones) {
            let page = |place| match place {
                Place::At(slot) => Some(self.core.device.grid.page_of(slot).0),
                _ => None,
            };
            let data: Vec<Place> = of.iter().map(|lpn| self.core.map.lookup(*lpn)).collect();
            if place == Place::Unmapped {
                return Err(format!("valid code of {of:?} has no place"));
            }
            let (Some(code), false) = (page(place), data.contains(&Place::Missing)) else {
                found.broken += 1;
                continue;
            };
            let data: Vec<Ppn> = data.into_iter().filter_map(page).collect();
            match self.is_sum(&data, code) {
                Some(true) => found.sound += 1,
                Some(false) => return Err(format!("code at {place:?} is not the sum of {of:?}")),
                None => found.broken += 1,
            }
        }
        Ok(found)
    }
}
