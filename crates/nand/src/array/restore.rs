//! Blocks put back as their pages tell.

use super::contents::Stored;
use super::{MemoryArray, Payload};
use crate::scar::Scar;
use crate::{Member, OobPage, OobSlot, OobTag, Program};
use vocab::{BlockAddr, StripSet};

/// State of a page by its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PageState {
    /// Every byte reads as erased.
    #[default]
    Erased,
    /// Neither erased nor with right checksums.
    Unreadable,
    /// It was programmed.
    Valid,
}

/// State of a page, as found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub state: PageState,
    /// Its OOB bytes, if it is valid.
    pub oob: OobPage,
}

impl<P: Payload> MemoryArray<P> {
    /// Puts a block that was never programmed into the state its pages tell; its age stays
    /// unknown. A block whose first page is not valid, or with an erased page before others, is
    /// half erased.
    pub(crate) fn restore(&mut self, block: BlockAddr, found: &[Found]) {
        let Some(last) = found.iter().rposition(|page| page.state != PageState::Erased) else { return };
        let mut contents = self.erased_contents();
        let valid = || found.iter().filter(|page| page.state == PageState::Valid).map(|page| &page.oob);
        contents.sequence.start(valid().map(|oob| oob.sequence).min().unwrap_or(0));
        if let Some(first) = valid().next() {
            (contents.pe, contents.first_program_s) = (first.pe, first.first_program_s);
            (contents.slc, contents.slc_cycles) = (u8::from(first.slc), first.slc_cycles);
            contents.ecc.iter_mut().for_each(|ecc| ecc.written_s.fill(first.first_program_s));
        }
        let mut is_half_erased = found[0].state != PageState::Valid;
        for (page, Found { state, oob }) in found[..=last].iter().enumerate() {
            let ppn = self.grid.ppn(block, page as u32);
            if *state != PageState::Valid {
                is_half_erased |= *state == PageState::Erased;
                self.scars.add(ppn, if *state == PageState::Erased { Scar::Blank } else { Scar::Torn });
                continue;
            }
            // No program of ours leaves ranks so far apart.
            if !contents.sequence.set(page, oob.sequence) {
                self.scars.add(ppn, Scar::Torn);
                continue;
            }
            let recovery = contents.recovery.as_mut().expect("an image keeps updates");
            recovery.pe_max[page] = oob.pe_max;
            contents.ecc.iter_mut().for_each(|ecc| ecc.capability[page] = oob.ecc_profile);
            contents.coverage.set(page, StripSet(oob.coverage.into()));
            for (i, &OobSlot { tag, update, .. }) in oob.slots.iter().enumerate() {
                contents.tags[page * self.slots_per_page + i] = tag;
                recovery.update[page * self.slots_per_page + i] = update;
            }
        }
        let slc = contents.slc;
        self.contents[block.index()] = Some(Stored::Open(Box::new(contents)).close());
        let info = &mut self.blocks[block.index()];
        (info.next_page, info.slc) = (last as u32 + 1, slc);
        if is_half_erased {
            self.scars.add_half_erased(block);
        }
    }

    /// The array keeps payload from now on, of which nothing is there yet.
    pub(crate) fn with_payload(mut self) -> Self {
        let slots = self.grid.pages_per_block() as usize * self.slots_per_page;
        for stored in self.contents.iter_mut().flatten().filter(|_| !self.keeps_payload) {
            stored.change().payload = vec![P::default(); slots].into();
        }
        self.keeps_payload = true;
        self
    }

    /// Replaces the contents and names of a programmed page.
    pub(crate) fn refill(&mut self, block: BlockAddr, page: u32, payload: &[P], members: &[Member]) {
        let slots = self.slots_of(page as usize);
        let contents = self.change_contents(block);
        contents.payload[slots].clone_from_slice(payload);
        if let Some(recovery) = contents.recovery.as_mut().filter(|_| !members.is_empty()) {
            recovery.members.insert(page, members.into());
        }
    }

    /// The OOB bytes of a page that is about to be programmed, with a checksum for each slot.
    pub(crate) fn oob_of(&self, program: &Program<'_, P>, data_crc: &[u32]) -> OobPage {
        let &Program { ppn, tags, updates, oob, now, .. } = program;
        let (block, page) = self.grid.split(ppn);
        self.assert_programmable(ppn);
        let info = &self.blocks[block.index()];
        let (pe, slc_cycles, first_program_s) = match &self.contents[block.index()] {
            Some(stored) if page > 0 => (stored.get().pe, stored.get().slc_cycles, stored.get().first_program_s),
            _ => (info.pe, info.slc_cycles, super::whole_seconds(now)),
        };
        let update = |i: usize| updates.map_or(oob.sequence, |updates| updates[i]);
        let slot = |(i, (&tag, &data_crc)): (usize, (&OobTag, &u32))| OobSlot { tag, data_crc, update: update(i) };
        OobPage {
            ecc_profile: oob.ecc,
            coverage: u32::try_from(oob.coverage.0).expect("drives in files have at most 32 dies"),
            sequence: oob.sequence,
            pe,
            slc: info.is_slc(),
            slc_cycles,
            pe_max: self.pe_max,
            first_program_s,
            slots: tags.iter().zip(data_crc).enumerate().map(slot).collect(),
        }
    }
}
