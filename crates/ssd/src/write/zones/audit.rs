//! The audit of code zones: valid code is the sum of the data as they are now. For tests.

use crate::core::Core;
use crate::core::audit::Audit;
use crate::core::flash::FlashPayload;
use crate::write::zones::Zones;
use ftl::Place;
use vocab::Ppn;

impl<P: FlashPayload> Zones<P> {
    /// Computes all valid code again and compares it with what is stored.
    ///
    /// # Errors
    /// Code that is wrong, in words.
    pub fn audit(&self, core: &Core<P>) -> Result<Audit, String> {
        assert!(self.encoder.is_idle() && !core.device.has_withdrawn(), "audit the drive after it was drained");
        let mut found = Audit::default();
        for (place, of) in self.code_pages(core) {
            let data: Vec<Place> = of.iter().map(|lpn| core.map.lookup(*lpn)).collect();
            if place == Place::Unmapped {
                return Err(format!("valid code of {of:?} has no place"));
            }
            let (Some(code), false) = (core.page_of(place), data.contains(&Place::Missing)) else {
                found.broken += 1;
                continue;
            };
            let data: Vec<Ppn> = data.into_iter().filter_map(|place| core.page_of(place)).collect();
            match core.is_sum(&data, code) {
                Some(true) => found.sound += 1,
                Some(false) => return Err(format!("code at {place:?} is not the sum of {of:?}")),
                None => found.broken += 1,
            }
        }
        Ok(found)
    }
}
