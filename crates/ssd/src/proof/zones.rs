//! Proof of code zones: valid code is the sum of the data as they are now.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::proof::{AlternativesInFlight, Audit, CodePage};
use ftl::Place;
use vocab::Ppn;

/// Every page of valid code.
pub(crate) fn code_pages<P: FlashPayload>(engine: &Engine<P>) -> Vec<CodePage> {
    let pages = engine.writer.zones.as_ref().map(|zones| zones.code_pages(&engine.core)).unwrap_or_default();
    pages.into_iter().map(|(place, of)| CodePage { place, of }).collect()
}

pub(crate) fn audit_zones<P: FlashPayload>(engine: &Engine<P>) -> Result<Audit, String> {
    assert!(has_no_lazy_reads(engine) && has_no_encodes(engine), "audit the drive after it was drained");
    let mut found = Audit::default();
    for CodePage { place, of } in code_pages(engine) {
        let page = |place| match place {
            Place::At(slot) => Some(engine.core.device.grid.page_of(slot).0),
            _ => None,
        };
        let data: Vec<Place> = of.iter().map(|lpn| engine.core.map.lookup(*lpn)).collect();
        if place == Place::Unmapped {
            return Err(format!("valid code of {of:?} has no place"));
        }
        let (Some(code), false) = (page(place), data.contains(&Place::Missing)) else {
            found.broken += 1;
            continue;
        };
        let data: Vec<Ppn> = data.into_iter().filter_map(page).collect();
        match engine.core.is_sum(&data, code) {
            Some(true) => found.sound += 1,
            Some(false) => return Err(format!("code at {place:?} is not the sum of {of:?}")),
            None => found.broken += 1,
        }
    }
    Ok(found)
}

/// What reads in progress use beyond what they want.
pub(crate) fn alternatives_in_flight<P: FlashPayload>(engine: &Engine<P>) -> AlternativesInFlight {
    let (extra_reads, code_of) = engine.reads.lazy.in_flight();
    AlternativesInFlight { extra_reads, code_of }
}

/// Whether no read with alternatives is under way.
fn has_no_lazy_reads<P: FlashPayload>(engine: &Engine<P>) -> bool {
    engine.reads.lazy.is_empty() && !engine.core.device.has_withdrawn()
}

/// Whether no group is being encoded.
fn has_no_encodes<P: FlashPayload>(engine: &Engine<P>) -> bool {
    engine.writer.zones.as_ref().is_none_or(|zones| zones.encoder.is_idle())
}
