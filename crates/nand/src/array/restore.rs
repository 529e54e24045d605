//! Blocks put back as their pages tell.

use super::contents::Stored;
use super::{MemoryArray, Payload};
use crate::power::Scar;
use crate::{Member, OobPage, OobSlot, OobTag, Program};
use vocab::{BlockAddr, Ppn, StripSet};

/// What was found of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Every byte reads as erased.
    Erased,
    /// Neither erased nor with right checksums.
    Unreadable,
    /// Its OOB bytes, and the members that it names.
    Valid(OobPage, Vec<Member>),
}

/// A block as its pages tell, to be put back.
pub(crate) struct Restored<P> {
    contents: Stored<P>,
    scars: Vec<(Ppn, Scar)>,
    is_half_erased: bool,
    /// Pages up to the last one that is not erased.
    pages: u32,
}

impl<P: Payload> MemoryArray<P> {
    /// The state of a block that its pages tell; `None`: it is erased. A block whose first page is not valid, or with an erased
    /// page before others, is half erased.
    pub(crate) fn restored(&self, block: BlockAddr, mut found: Vec<Found>) -> Option<Restored<P>> {
        let last = found.iter().rposition(|page| *page != Found::Erased)?;
        let mut contents = self.erased_contents();
        let valid = || found.iter().filter_map(|page| if let Found::Valid(oob, _) = page { Some(oob) } else { None });
        contents.sequence.start(valid().map(|oob| oob.sequence).min().unwrap_or(0));
        if let Some(first) = valid().next() {
            (contents.pe, contents.first_program_s) = (first.pe, first.first_program_s);
            (contents.slc, contents.slc_cycles) = (u8::from(first.slc), first.slc_cycles);
            contents.ecc.iter_mut().for_each(|ecc| ecc.written_s.fill(first.first_program_s));
        }
        let (mut scars, mut is_half_erased) = (Vec::new(), !matches!(found[0], Found::Valid(..)));
        found.truncate(last + 1);
        for (page, found) in found.into_iter().enumerate() {
            let ppn = self.grid.ppn(block, page as u32);
            let Found::Valid(oob, members) = found else {
                is_half_erased |= found == Found::Erased;
                scars.push((ppn, if found == Found::Erased { Scar::Blank } else { Scar::Torn }));
                continue;
            };
            // No program of ours leaves ranks so far apart.
            if !contents.sequence.set(page, oob.sequence) {
                scars.push((ppn, Scar::Torn));
                continue;
            }
            let recovery = contents.recovery.as_mut().expect("an image keeps updates");
            if !members.is_empty() {
                recovery.members.insert(page as u32, members.into());
            }
            recovery.pe_max[page] = oob.pe_max;
            contents.ecc.iter_mut().for_each(|ecc| ecc.capability[page] = oob.ecc_profile);
            contents.coverage.set(page, StripSet(oob.coverage.into()));
            for (i, &OobSlot { tag, update, .. }) in oob.slots.iter().enumerate() {
                contents.tags[page * self.slots_per_page + i] = tag;
                recovery.update[page * self.slots_per_page + i] = update;
            }
        }
        let contents = Stored::Open(Box::new(contents)).close();
        Some(Restored { contents, scars, is_half_erased, pages: last as u32 + 1 })
    }

    /// Puts a block that was never programmed into that state; its age stays unknown.
    pub(crate) fn put_back(&mut self, block: BlockAddr, restored: Restored<P>) {
        let Restored { contents, scars, is_half_erased, pages } = restored;
        let info = &mut self.blocks[block.index()];
        (info.next_page, info.slc) = (pages, contents.get().slc);
        self.contents[block.index()] = Some(contents);
        scars.into_iter().for_each(|(ppn, scar)| self.scars.add(ppn, scar));
        if is_half_erased {
            self.scars.add_half_erased(block);
        }
    }

    /// Replaces what a programmed page carries.
    pub(crate) fn refill(&mut self, block: BlockAddr, page: u32, payload: &[P]) {
        let slots = page as usize * self.slots_per_page..(page as usize + 1) * self.slots_per_page;
        self.change_contents(block).payload[slots].clone_from_slice(payload);
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
