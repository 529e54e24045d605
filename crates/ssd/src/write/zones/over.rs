//! Code zones over rows or block groups (decision 12): these find places for all pages, and code pages are written as
//! pages of the host are, as a job of all the code of a group. Code says nothing of where its data lie: a read looks up
//! both.

use crate::config::{Drive, shape};
use crate::core::Core;
use crate::core::flash::FlashPayload;
use crate::core::ids::EncodeId;
use crate::core::jobs::{Asker, PageWrite};
use crate::write::zones::Zones;
use device::facts::RequestKind;
use device::slab::JobId;
use protect::code_zones::CodeZones;
use protect::{SchemeChoice, SchemeError};
use vocab::{DieId, Lba, Lpn};

/// The code zones over a scheme, where it has them as an addition.
pub(crate) fn code_over(drive: &Drive, scheme: &SchemeChoice) -> Result<Option<CodeZones>, SchemeError> {
    protect::registry::code_over(scheme, shape(drive))
}

impl<P: FlashPayload> Zones<P> {
    /// Whether another way of writing finds the places of pages.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The die that a read of the page goes to; `None`: none.
    pub(crate) fn die_of(&self, core: &Core<P>, lpn: Lpn) -> Option<DieId> {
        if !self.over {
            return Some(self.segment_of(core, lpn).1);
        }
        core.page_of(core.map.lookup(lpn)).map(|ppn| core.device.grid.die_of(ppn))
    }

    /// The job that writes the code of a group, which is computed.
    pub(crate) fn code_job(&mut self, core: &mut Core<P>, encode: EncodeId) -> JobId {
        let (pages, now) = (self.encoder.take_code(encode), core.device.now);
        let id = core.jobs.take();
        core.jobs[id].reset(Asker::Encoder { encode }, RequestKind::Write, now);
        let sectors = core.device.grid.geometry().sectors_per_slot();
        let page = |(lpn, payload)| PageWrite { lpn, version: 0, payload, from: 0, to: sectors, rank: 0 };
        core.jobs[id].pages.extend(pages.into_iter().map(page));
        core.job_begins(id, now, Lba(0), 0);
        id
    }

    /// Code of data that have changed in the meantime is not written: late pages would replace other code (I17).
    pub(crate) fn drop_stale_pages(&self, core: &mut Core<P>, job: JobId, encode: EncodeId) {
        if !self.is_being_encoded(encode) {
            drop_pages(core, job);
        }
    }

    /// Notes where the pages of a job lie that have just got a place.
    pub(crate) fn note_code_places(&mut self, core: &Core<P>, job: JobId, encode: EncodeId) {
        let job = &core.jobs[job];
        let placed = job.pages[..job.next].iter().map(|page| page.lpn);
        self.encoder.note_places(encode, placed.map(|lpn| (lpn, core.map.lookup(lpn))));
    }
}

#[cfg(test)]
impl<P> Zones<P> {
    /// From now on another way of writing finds the places of pages.
    pub(crate) fn put_over(&mut self) {
        self.over = true;
    }
}

/// Pages of code that have no place yet will never have one.
pub(crate) fn drop_pages<P: FlashPayload>(core: &mut Core<P>, job: JobId) {
    let job = &mut core.jobs[job];
    job.failed |= job.next < job.pages.len();
    job.pages.truncate(job.next);
}
