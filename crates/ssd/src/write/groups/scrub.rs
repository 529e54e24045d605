//! The scrub of block groups: every parity is computed anew from flash. For tests.

use crate::engine::Engine;
use crate::proof::{HeldSum, Scrub};
use device::contents::HostPayload;
use nand::{FlashArray, OobTag};
use protect::{GroupPage, PageStripe};
use vocab::{DieId, Lpn, Ppn, SuperblockId};

/// A group as a scrub sees it.
struct Scrubbed {
    group: SuperblockId,
    code: usize,
    stripe: PageStripe,
}

impl<P: HostPayload, A: FlashArray<P>> Engine<P, A> {
    pub(crate) fn scrub_groups(&self) -> Result<Scrub, String> {
        let mut found = Scrub::default();
        for group in (0..self.core.device.grid.blocks_per_die()).map(SuperblockId) {
            let Some(info) = self.writer.groups.info[group.index()] else { continue };
            let code = self.writer.groups.codes[info.code].0;
            let stripe = self.group_scheme().page_stripe(&code, group, info.members).expect("as when it was opened");
            let scrubbed = Scrubbed { group, code: info.code, stripe };
            for page in 0..self.core.device.grid.pages_per_block() {
                for codeword in 0..scrubbed.stripe.codewords {
                    self.scrub_codeword(&scrubbed, page, codeword, &mut found)?;
                }
            }
            if code.block && !self.writer.groups.is_unsettled(group, self.rows_of(group)) {
                self.scrub_blocks(&scrubbed, &mut found)?;
            }
        }
        found.uncovered = self.uncovered_pages();
        Ok(found)
    }

    fn rows_of(&self, group: SuperblockId) -> std::ops::Range<u32> {
        let pages = self.core.device.grid.pages_per_block();
        group.0 * pages..(group.0 + 1) * pages
    }

    fn ppn_in(&self, group: &Scrubbed, page: GroupPage) -> Ppn {
        let die = group.stripe.strips[page.strip as usize].die;
        self.core.device.grid.ppn(self.core.device.grid.block(die, group.group.0), page.page)
    }

    /// Compares the parities of a codeword with the sum of its data, in flash or in the cache.
    fn scrub_codeword(&self, group: &Scrubbed, page: u32, codeword: u32, found: &mut Scrub) -> Result<(), String> {
        let (code, erasure) = &self.writer.groups.codes[group.code];
        let (row, slots) =
            (group.group.0 * self.core.device.grid.pages_per_block() + page, self.core.device.grid.slots_per_page() as usize);
        let held = self.writer.groups.held.get(&(row, codeword));
        let mut sums = vec![P::default(); code.parity as usize * slots];
        let (mut members, mut lost) = (0u32, 0);
        let members_of = (0..).zip(&group.stripe.strips).filter(|(_, strip)| strip.codeword == codeword);
        for (index, strip) in members_of.clone().filter(|(_, strip)| strip.symbol < code.data) {
            let ppn = self.ppn_in(group, GroupPage { page, strip: index });
            lost += u32::from(self.core.device.failed_programs.contains_key(&ppn.0));
            // A page that a cut spoilt may be there and in no sum.
            let summed = held.is_none_or(|held| held.data.contains(u32::from(strip.die.0)));
            if !self.core.device.is_stored(ppn) || !summed || self.is_torn(ppn) {
                continue;
            }
            members += 1;
            for parity in 0..code.parity as usize {
                let c = erasure.coefficient(parity, strip.symbol as usize);
                for (slot, payload) in self.core.device.array.page(ppn).payload.iter().enumerate() {
                    sums[parity * slots + slot].add_scaled(payload, c);
                }
            }
        }
        // A cut may have met the erase of a group that was being collected.
        let erased = held.is_some_and(|held| held.data.len() > members);
        if lost > 0 || erased {
            found.broken += 1;
            return Ok(());
        }
        for (index, strip) in members_of.filter(|(_, strip)| strip.symbol >= code.data) {
            let ppn = self.ppn_in(group, GroupPage { page, strip: index });
            let first = (strip.symbol - code.data) as usize * slots;
            let stored: &[P] = match held {
                Some(held) => &held.sums[first..first + slots],
                // A cut may have met the erase of the group.
                None if self.is_torn(ppn) || self.core.device.is_stored(ppn) && self.covers_more_than(ppn, members) => {
                    found.broken += 1;
                    continue;
                }
                None if self.core.device.is_stored(ppn) => self.core.device.array.page(ppn).payload,
                None if members == 0 => continue,
                None => {
                    found.broken += 1;
                    continue;
                }
            };
            if stored != &sums[first..first + slots] {
                return Err(format!("{ppn} is not parity {} of its codeword in row {row}", strip.symbol - code.data));
            }
            found.sound += 1;
        }
        Ok(())
    }

    /// Whether the page tells nothing: a cut tore it, or the erase of its block.
    fn is_torn(&self, ppn: Ppn) -> bool {
        self.core.device.is_stored(ppn) && self.core.device.array.page(ppn).tags.iter().all(|&tag| tag == OobTag::FILLER)
    }

    fn covers_more_than(&self, parity: Ppn, members: u32) -> bool {
        self.core.device.array.page(parity).oob.coverage.count_ones() > members
    }

    /// Every block of a whole group sums up to nothing; parity blocks do where all that they sum are whole.
    fn scrub_blocks(&self, group: &Scrubbed, found: &mut Scrub) -> Result<(), String> {
        let data = self.writer.groups.codes[group.code].0.data;
        let strips = &group.stripe.strips;
        let all_of = |strip: usize| -> Vec<Ppn> {
            let pages = 0..self.core.device.grid.pages_per_block();
            pages.map(|page| self.ppn_in(group, GroupPage { page, strip: strip as u32 })).collect()
        };
        let is_there = |&ppn: &Ppn| self.core.device.is_stored(ppn) && !self.is_torn(ppn);
        let is_whole: Vec<bool> = (0..strips.len()).map(|strip| all_of(strip).iter().all(is_there)).collect();
        for (strip, of) in strips.iter().enumerate() {
            let summed = |other: usize| strips[other].codeword == of.codeword && strips[other].symbol < data;
            let sums_whole = of.symbol < data || (0..strips.len()).filter(|&other| summed(other)).all(|other| is_whole[other]);
            if !is_whole[strip] || !sums_whole {
                found.broken += 1;
                continue;
            }
            let all = all_of(strip);
            let mut sums = vec![P::default(); self.core.device.grid.slots_per_page() as usize];
            for ppn in &all {
                sums.iter_mut().zip(self.core.device.array.page(*ppn).payload).for_each(|(sum, payload)| sum.add(payload));
            }
            if !sums.iter().all(P::is_zero) {
                return Err(format!("the pages of the block of {} do not sum up to nothing", all[0]));
            }
            found.sound += 1;
        }
        Ok(())
    }

    /// Logical pages in a codeword that has no parity, in flash or held.
    fn uncovered_pages(&self) -> u32 {
        let is_uncovered = |lpn: u32| {
            let ftl::Place::At(slot) = self.core.map.lookup(Lpn(lpn)) else { return false };
            let (block, page) = self.core.device.grid.split(self.core.device.grid.page_of(slot).0);
            let (die, group) = self.core.device.grid.split_block(block);
            let info = self.writer.groups.info[group.index()].expect("a group with valid pages");
            let code = self.writer.groups.codes[info.code].0;
            let stripe = self.group_scheme().page_stripe(&code, group, info.members).expect("as when it was opened");
            let strip = stripe.strip_on(die).expect("a member");
            let codeword = stripe.strips[strip as usize].codeword;
            let key = (group.0 * self.core.device.grid.pages_per_block() + page, codeword);
            let parity = |strip: u32| {
                stripe.strips[strip as usize].codeword == codeword
                    && self.core.device.is_programmed(
                        self.core.device.grid.ppn(self.core.device.grid.block(stripe.strips[strip as usize].die, group.0), page),
                    )
            };
            !self.writer.groups.held.contains_key(&key) && !(stripe.data..stripe.strips.len() as u32).any(parity)
        };
        (0..self.core.map.user_slots()).filter(|&lpn| is_uncovered(lpn)).count() as u32
    }

    /// Sums in the parity cache, of a drive at rest.
    pub(crate) fn held_sums(&self) -> Vec<HeldSum> {
        let rows = self.writer.groups.held.iter().map(|((row, _), held)| HeldSum {
            members: held.data.iter().map(|die| self.core.map.rows().page(*row, DieId(die as u16))).collect(),
            sums: held.sums.len() as u32 / self.core.device.grid.slots_per_page(),
        });
        let blocks = self.writer.groups.blocks.iter().flat_map(|(&group, blocks)| {
            let group = SuperblockId(group);
            let info = self.writer.groups.info[group.index()].expect("a group with sums");
            let code = self.writer.groups.codes[info.code].0;
            let stripe = self.group_scheme().page_stripe(&code, group, info.members).expect("as when it was opened");
            let open = (0..stripe.data).filter(|&strip| !blocks.done.contains(strip));
            let page =
                |page, strip: u32| self.core.map.rows().page(self.row_of_group(group, page), stripe.strips[strip as usize].die);
            let last = self.core.device.grid.pages_per_block() - 1;
            let written =
                |ppn: &Ppn| self.core.device.is_programmed(*ppn) || self.core.device.failed_programs.contains_key(&ppn.0);
            let sum = |strip| HeldSum { members: (0..last).map(|n| page(n, strip)).filter(written).collect(), sums: 1 };
            open.map(sum).collect::<Vec<_>>()
        });
        rows.chain(blocks).collect()
    }

    /// Whether the page is in a sum in the parity cache.
    pub(crate) fn is_held(&self, ppn: Ppn) -> bool {
        let (row, die) = self.core.map.rows().row_of(ppn);
        self.writer.groups.held.range((row, 0)..(row + 1, 0)).any(|(_, held)| held.data.contains(u32::from(die.0)))
    }
}
