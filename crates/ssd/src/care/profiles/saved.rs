//! Copies of page profiles as bytes, and back: their part of `docs/spec/memory.md`.

use super::{ProfileCopy, Profiles};
use crate::core::bytes::{Read, Reader, Writer};
use crate::core::sorted::sorted;
use ecc::PartialProfile;
use vocab::{Capability, Ppn, SimTime};

/// Counts of a window are below this: no window is that long.
const COUNT_END: u32 = 1 << 24;

/// Writes a whole copy.
pub(crate) fn put(to: &mut Writer, copy: &ProfileCopy) {
    to.u64(copy.at.0);
    to.list(copy.pages.iter(), |to, ppn| to.u32(ppn.0));
    to.list(copy.partials.iter(), |to, (ppn, profile)| {
        let PartialProfile { p_next, errc, failc, reads, codewords } = *profile;
        to.u32(ppn.0);
        to.u8(p_next.0);
        to.u8(failc);
        [errc, reads, codewords].into_iter().for_each(|count| to.u32(count));
    });
}

/// Reads one back, on a drive of this many pages of flash.
pub(crate) fn get(from: &mut Reader<'_>, pages: u32) -> Read<ProfileCopy> {
    let at = SimTime(from.u64("time of a copy of page profiles")?);
    let reserved = from.list("reserved pages", |from| Ok(Ppn(from.below(pages, "reserved page")?)))?;
    let partials = from.list("page profiles", |from| {
        let ppn = Ppn(from.below(pages, "page of a profile")?);
        let (p_next, failc) = (Capability(from.u8("capability of the next program")?), from.kind(128, "failures of a window")?);
        let (errc, reads) = (from.below(COUNT_END, "errors of a window")?, from.below(COUNT_END, "reads of a window")?);
        let codewords = from.below(COUNT_END, "codewords of a window")?;
        Ok((ppn, PartialProfile { p_next, errc, failc, reads, codewords }))
    })?;
    from.end()?;
    Ok(ProfileCopy { at, partials: sorted(partials), pages: reserved })
}

impl Profiles {
    /// Whole copies, the newest last.
    pub fn copies(&self) -> &[ProfileCopy] {
        &self.whole
    }

    /// The reserved blocks of a drive that was opened, with these whole copies, the newest last.
    pub fn with_copies(&self, whole: Vec<ProfileCopy>) -> Self {
        Self { whole, ..self.clone() }
    }
}
