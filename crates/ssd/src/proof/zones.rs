//! Proofs of code zones: their code, and reads with alternatives.

use crate::core::flash::FlashPayload;
use crate::engine::Engine;
use crate::proof::{AlternativesInFlight, CodePage};

/// Every page of valid code.
pub(crate) fn code_pages<P: FlashPayload>(engine: &Engine<P>) -> Vec<CodePage> {
    let pages = engine.writer.code_pages(&engine.core);
    pages.into_iter().map(|(place, of)| CodePage { place, of }).collect()
}

/// Extra resources of reads in progress, beyond the wanted pages.
pub(crate) fn alternatives_in_flight<P: FlashPayload>(engine: &Engine<P>) -> AlternativesInFlight {
    let (extra_reads, code_of) = engine.reads.lazy.in_flight();
    AlternativesInFlight { extra_reads, code_of }
}
