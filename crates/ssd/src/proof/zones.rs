//! Proof of code zones: valid code is the sum of the data as they are now.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::proof::{AlternativesInFlight, Audit, CodePage};
use ftl::Place;
use vocab::Ppn;

impl<P: FlashPayload> Engine<P> {
    /// Every page of valid code.
    pub(crate) fn code_pages(&self) -> Vec<CodePage> {
        let pages = self.writer.zones.as_ref().map(|zones| zones.code_pages(&self.core)).unwrap_or_default();
        pages.into_iter().map(|(place, of)| CodePage { place, of }).collect()
    }

    pub(crate) fn audit_zones(&self) -> Result<Audit, String> {
        assert!(self.has_no_lazy_reads() && self.has_no_encodes(), "audit the drive after it was drained");
        let mut found = Audit::default();
        for CodePage { place, of } in self.code_pages() {
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

    /// What reads in progress use beyond what they want.
    pub(crate) fn alternatives_in_flight(&self) -> AlternativesInFlight {
        let (extra_reads, code_of) = self.reads.lazy.in_flight();
        AlternativesInFlight { extra_reads, code_of }
    }

    /// Whether no read with alternatives is under way.
    fn has_no_lazy_reads(&self) -> bool {
        self.reads.lazy.is_empty() && !self.core.device.has_withdrawn()
    }

    /// Whether no group is being encoded.
    fn has_no_encodes(&self) -> bool {
        self.writer.zones.as_ref().is_none_or(|zones| zones.encoder.is_idle())
    }
}
